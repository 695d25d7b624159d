/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What each form of configuration says is to be connected. */
#include "nvme_conf.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "discover transport=rdma traddr=10.0.0.1 …" */
static const char *text_of(const struct nvmf_entry *entry)
{
	static char text[1024];

	snprintf(text, sizeof(text), "%s", entry->discover ? "discover" : "connect");
	if (entry->uri)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", entry->uri);
	for (int key = 0; key < NVMF_KEYS; key++)
		if (entry->value[key])
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s%s%s",
				kernel_nvmf_key_name(key), *entry->value[key] ? "=" : "",
				entry->value[key]);
	return text;
}

static void is(struct nvmf_entries *all, unsigned at, const char *expected)
{
	cr_assert_lt(at, all->count, "there are only %u", all->count);
	cr_assert_str_eq(text_of(&all->entry[at]), expected);
}

static struct nvmf_entries lines(const char *text)
{
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };
	char *copy = strdup(text);

	cr_assert_eq(kernel_nvmf_conf_lines(&all, copy, "d.conf", &diag), 0, "%s", diag.text);
	free(copy);
	return all;
}

Test(nvme_conf, lines_of_options_in_every_spelling)
{
	struct nvmf_entries all =
		lines("# a comment\n\n"
		      "-t rdma -a 10.0.0.1 -s 4420 -q nqn.host\n"
		      "--transport=tcp --traddr=10.0.0.2 --host_iface=eth0 --hdr-digest -l=30\n"
		      "  -ttcp\t-a10.0.0.3 --nr-io-queues 4 # what it offers\r\n"
		      "nvme+rdma://10.0.0.4:4420?loss=5 --persistent -p --raw=x\n");

	cr_assert_eq(all.count, 4);
	is(&all, 0, "discover transport=rdma traddr=10.0.0.1 trsvcid=4420 hostnqn=nqn.host");
	is(&all, 1,
		"discover transport=tcp traddr=10.0.0.2 host_iface=eth0 ctrl_loss_tmo=30 "
		"hdr_digest");
	is(&all, 2, "discover transport=tcp traddr=10.0.0.3 nr_io_queues=4");
	is(&all, 3, "discover nvme+rdma://10.0.0.4:4420?loss=5");
	text_says(all.entry[2].from, "d.conf 5");
	text_says(all.notes, "d.conf 6 --persistent");
	cr_assert(strstr(all.notes, " -p"), "%s", all.notes);
	kernel_nvmf_conf_free(&all);
}

Test(nvme_conf, an_option_without_its_argument_damages_its_line)
{
	struct nvmf_entries all = lines("-t rdma -a 10.0.0.1\n-t tcp -a  \n-t tcp -a 10.0.0.3\n");

	cr_assert_eq(all.count, 3);
	is(&all, 0, "discover transport=rdma traddr=10.0.0.1");
	cr_assert_str_eq(all.entry[1].from, "d.conf line 2");
	diag_says(all.entry[1].damage, DIAG_USAGE, NULL, "traddr argument");
	is(&all, 2, "discover transport=tcp traddr=10.0.0.3");
	cr_assert(!all.entry[0].damage && !all.entry[2].damage);
	kernel_nvmf_conf_free(&all);
}

static const char json[] = "[{\"hostnqn\":\"nqn.host\",\"hostid\":\"h1\",\"dhchap_key\":\"DHHC-1:"
			   "00:x:\",\"subsystems\":["
			   " {\"nqn\":\"nqn.a\",\"application\":\"x\",\"ports\":["
			   "  "
			   "{\"transport\":\"rdma\",\"traddr\":\"10.0.0.1\",\"trsvcid\":\"4420\","
			   "\"nr_io_queues\":0,\"ctrl_loss_tmo\":-1,\"tos\":0,\"tls\":"
			   "false},"
			   "  "
			   "{\"transport\":\"tcp\",\"traddr\":\"10.0.0.2\",\"host_iface\":\"none\","
			   "\"data_digest\":true,\"queue_size\":64,\"dhchap_key\":"
			   "\"DHHC-1:00:y:\"}]},"
			   " {\"nqn\":\"nqn.2014-08.org.nvmexpress.discovery\",\"ports\":[{"
			   "\"transport\":\"tcp\",\"traddr\":\"10.0.0.3\"}]},"
			   " {\"nqn\":\"nqn.own.discovery\",\"ports\":[{\"transport\":\"tcp\","
			   "\"traddr\":\"10.0.0.4\",\"discovery\":true,\"persistent\":true}]"
			   "}"
			   "]},{\"hostnqn\":\"nqn.other\"}]";

Test(nvme_conf, json_of_hosts_subsystems_and_ports)
{
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_conf_json(&all, json, "c.json", &diag), 0, "%s", diag.text);
	cr_assert_eq(all.count, 4);
	is(&all, 0,
		"connect transport=rdma traddr=10.0.0.1 trsvcid=4420 nqn=nqn.a hostnqn=nqn.host "
		"hostid=h1 ctrl_loss_tmo=-1 tos=0 "
		"dhchap_secret=DHHC-1:00:x:");
	is(&all, 1,
		"connect transport=tcp traddr=10.0.0.2 nqn=nqn.a hostnqn=nqn.host hostid=h1 "
		"queue_size=64 data_digest "
		"dhchap_secret=DHHC-1:00:y:");
	is(&all, 2,
		"discover transport=tcp traddr=10.0.0.3 nqn=nqn.2014-08.org.nvmexpress.discovery "
		"hostnqn=nqn.host hostid=h1 "
		"dhchap_secret=DHHC-1:00:x:");
	is(&all, 3,
		"discover transport=tcp traddr=10.0.0.4 nqn=nqn.own.discovery hostnqn=nqn.host "
		"hostid=h1 dhchap_secret=DHHC-1:00:x:");
	text_says(all.notes, "c.json 'application'");
	kernel_nvmf_conf_free(&all);
}

Test(nvme_conf, json_with_an_invalid_port)
{
	static const char text[] =
		"[{\"hostnqn\":\"nqn.host\",\"subsystems\":[{\"nqn\":\"nqn.a\",\"ports\":["
		"{\"transport\":\"tcp\",\"traddr\":[1]},{\"transport\":\"tcp\",\"traddr\":\"10.0.0."
		"2\"}]}]}]";
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_conf_json(&all, text, "c.json", &diag), 0, "%s", diag.text);
	cr_assert_eq(all.count, 2);
	diag_says(all.entry[0].damage, DIAG_USAGE, NULL, "c.json traddr number");
	is(&all, 1, "connect transport=tcp traddr=10.0.0.2 nqn=nqn.a hostnqn=nqn.host");
	kernel_nvmf_conf_free(&all);
}

static void bad_json(const char *text, const char *words)
{
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_conf_json(&all, text, "c.json", &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, NULL, words);
	kernel_nvmf_conf_free(&all);
}

Test(nvme_conf, json_that_is_none)
{
	bad_json("[\n{\"a\":1,\n}]", "c.json 3");
	bad_json("[] x", "c.json 1");
	bad_json("{\"a\":1}", "c.json array host");
	bad_json("[{\"hostnqn\":[1]}]", "c.json hostnqn number");
}

Test(nvme_conf, json_cut_anywhere_does_no_harm)
{
	char cut[sizeof(json)];

	for (size_t len = 0; len < sizeof(json) - 1; len++) {
		struct nvmf_entries all = { 0 };

		memcpy(cut, json, len);
		cut[len] = 0;
		cr_assert_eq(kernel_nvmf_conf_json(&all, cut, "c.json", NULL), -EINVAL);
		kernel_nvmf_conf_free(&all);
	}
}

Test(nvme_conf, sections_a_line_says_before_its_section_before_the_host_before_defaults)
{
	char text[] = "; nvme-cli 3\n[Host]\nhostnqn = nqn.host\nkeep-alive-tmo = 9\n"
		      "[I/O Controller Defaults]\nqueue-size = 64\nhdr-digest = "
		      "true\nkeep-alive-tmo = 5\ntos=3\n"
		      "[Discovery Controller Defaults]\nctrl-loss-tmo = 8\n"
		      "[Discovery Controller]\ncontroller = "
		      "transport=tcp;traddr=10.0.0.1;trsvcid=8009\ncontroller = "
		      "transport=tcp;traddr=10.0.0.2\n"
		      "kxchap-secret = DHHC-1:00:x:\n"
		      "[Subsystem]\nnqn = nqn.a\ncontroller = "
		      "transport=rdma;traddr=10.0.0.3;queue-size=128\n"
		      "hdr-digest = no\ntos =\n"
		      "[Subsystem]\nnqn = nqn.b\ncontroller = nvme+tcp://10.0.0.4\n"
		      "[Colour]\nblue = yes\ncontroller = transport=tcp\n";
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_conf_ini(&all, text, "f.conf", &diag), 0, "%s", diag.text);
	cr_assert_eq(all.count, 4);
	is(&all, 0,
		"discover transport=tcp traddr=10.0.0.1 trsvcid=8009 hostnqn=nqn.host "
		"ctrl_loss_tmo=8 keep_alive_tmo=9 "
		"dhchap_secret=DHHC-1:00:x:");
	is(&all, 1,
		"discover transport=tcp traddr=10.0.0.2 hostnqn=nqn.host ctrl_loss_tmo=8 "
		"keep_alive_tmo=9 dhchap_secret=DHHC-1:00:x:");
	is(&all, 2,
		"connect transport=rdma traddr=10.0.0.3 nqn=nqn.a hostnqn=nqn.host queue_size=128 "
		"keep_alive_tmo=9");
	is(&all, 3,
		"connect nvme+tcp://10.0.0.4 nqn=nqn.b hostnqn=nqn.host queue_size=64 "
		"keep_alive_tmo=9 tos=3 hdr_digest");
	text_says(all.notes, "[Colour] controller [Discovery_Controller] [Subsystem]");
	kernel_nvmf_conf_free(&all);
}

/* The sample that nvme-cli 3 installs has comments behind its values. */
Test(nvme_conf, comments_behind_values)
{
	char text[] = "[Host] # mine\nhostnqn = nqn.host#1 # a comment\n"
		      "[Discovery Controller Defaults]\nkeep-alive-tmo = 30   # DC default\n"
		      "ctrl-loss-tmo =\t# none\n\t# tos = 3\n"
		      "[Discovery Controller]\n"
		      "controller = transport=tcp;traddr=10.0.0.1 # ; trsvcid=8009\n";
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_conf_ini(&all, text, "f.conf", &diag), 0, "%s", diag.text);
	cr_assert_eq(all.count, 1);
	is(&all, 0, "discover transport=tcp traddr=10.0.0.1 hostnqn=nqn.host#1 keep_alive_tmo=30");
	cr_assert_str_eq(all.notes, "");
	kernel_nvmf_conf_free(&all);
}

/* Identity and secrets have no substitute: they stay, and fail with their targets. */
Test(nvme_conf, a_default_that_is_no_value)
{
	char text[] = "[Host]\nhostnqn = a b\ntos = 999\n[I/O Controller Defaults]\n"
		      "queue-size = many\nkeep-alive-tmo = 5\n"
		      "[Subsystem]\nnqn = nqn.a\ncontroller = transport=tcp;traddr=10.0.0.3\n"
		      "ctrl-loss-tmo = long\n";
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_conf_ini(&all, text, "f.conf", &diag), 0, "%s", diag.text);
	cr_assert_eq(all.count, 1);
	is(&all, 0,
		"connect transport=tcp traddr=10.0.0.3 nqn=nqn.a hostnqn=a b ctrl_loss_tmo=long "
		"keep_alive_tmo=5");
	cr_assert_eq(lines_saying(all.skipped, "f.conf line_3 tos"), 1);
	cr_assert_eq(lines_saying(all.skipped, "f.conf line_5 queue_size"), 1);
	kernel_nvmf_conf_free(&all);
}

static void bad_ini(const char *text, const char *words)
{
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };
	char copy[128];

	snprintf(copy, sizeof(copy), "%s", text);
	cr_assert_eq(kernel_nvmf_conf_ini(&all, copy, "f.conf", &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, NULL, words);
	kernel_nvmf_conf_free(&all);
}

Test(nvme_conf, sections_that_are_none)
{
	bad_ini("[Host]\n[Host\n", "f.conf 2 ']'");
	bad_ini("[Host]\nhello\n", "f.conf 2 'hello' KEY_=_VALUE");
}

static struct nvmf_entries cmdline(const char *text)
{
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };
	char *copy = strdup(text);

	cr_assert_eq(kernel_nvmf_conf_cmdline(&all, copy, &diag), 0, "%s", diag.text);
	free(copy);
	return all;
}

Test(nvme_conf, the_kernel_command_line_as_dracut_reads_it)
{
	struct nvmf_entries all = cmdline(
		"quiet root=nvmf rd.nvmf.discover=tcp,192.0.2.1 rd.nvmf.hostnqn=nqn.host "
		"rd.nvmf.hostid=h1 "
		"rd.nvmf.discover=rdma,[fd00::1],[fd00::2],4421 rd.nvmf.discover=rdma,10.0.0.1,,9 "
		"rd.nvmf.discover=fc,auto rd.nvmf.discover\n");

	cr_assert_eq(all.count, 3);
	is(&all, 0, "discover transport=tcp traddr=192.0.2.1 hostnqn=nqn.host hostid=h1");
	is(&all, 1,
		"discover transport=rdma traddr=fd00::1 trsvcid=4421 hostnqn=nqn.host hostid=h1 "
		"host_traddr=fd00::2");
	is(&all, 2, "discover transport=rdma traddr=10.0.0.1 trsvcid=9 hostnqn=nqn.host hostid=h1");
	text_says(all.notes, "rd.nvmf.discover=fc,auto rdma tcp");
	cr_assert(!all.off);
	kernel_nvmf_conf_free(&all);
	all = cmdline("rd.nvmf.discover=tpc,192.0.2.1 rd.nvmf.discover=tcp,192.0.2.1");
	cr_assert_eq(all.count, 2);
	diag_says(all.entry[0].damage, DIAG_USAGE, NULL, "rd.nvmf.discover=tpc,192.0.2.1 rdma tcp");
	cr_assert_null(all.entry[1].damage);
	kernel_nvmf_conf_free(&all);
	all = cmdline("rd.nonvmf rd.nvmf.discover=tcp,192.0.2.1");
	cr_assert(all.off);
	kernel_nvmf_conf_free(&all);
	all = cmdline("rd.nonvmf=0 nvmf.hostnqn=\"nqn.old\" rd.nvmf.discover=tcp,192.0.2.1");
	cr_assert(!all.off);
	is(&all, 0, "discover transport=tcp traddr=192.0.2.1 hostnqn=nqn.old");
	kernel_nvmf_conf_free(&all);
}

Test(nvme_conf, files_of_every_form_and_drop_ins_in_order)
{
	struct tree tree = tree_new();
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_conf_read(tree.root, NULL, &all, &diag), 0);
	cr_assert_eq(all.count, 0);
	tree_file(&tree, "etc/nvme/discovery.conf", "-t tcp -a 10.0.0.1\n");
	tree_file(&tree, "etc/nvme/config.json",
		" [{\"subsystems\":[{\"nqn\":\"nqn.a\",\"ports\":[{\"transport\":\"tcp\","
		"\"traddr\":\"10.0.0.2\"}]}]}]\n");
	tree_file(&tree, "etc/nvme/nvme-fabrics.conf",
		"# x\n[Discovery Controller]\ncontroller=transport=tcp;traddr=10.0.0.3\n");
	tree_file(&tree, "etc/nvme/nvme-fabrics.conf.d/20.conf",
		"[Discovery Controller]\ncontroller=transport=tcp;traddr=10.0.0.5\n");
	tree_file(&tree, "etc/nvme/nvme-fabrics.conf.d/10.conf",
		"[Discovery Controller]\ncontroller=transport=tcp;traddr=10.0.0.4\n");
	tree_file(&tree, "etc/nvme/nvme-fabrics.conf.d/README",
		"[Discovery Controller]\ncontroller=transport=tcp;traddr=10.0.0.9\n");
	cr_assert_eq(kernel_nvmf_conf_read(tree.root, NULL, &all, &diag), 0, "%s", diag.text);
	cr_assert_eq(all.count, 5);
	is(&all, 0, "connect transport=tcp traddr=10.0.0.2 nqn=nqn.a");
	is(&all, 1, "discover transport=tcp traddr=10.0.0.1");
	is(&all, 2, "discover transport=tcp traddr=10.0.0.3");
	is(&all, 3, "discover transport=tcp traddr=10.0.0.4");
	is(&all, 4, "discover transport=tcp traddr=10.0.0.5");
	text_says(all.entry[3].from, "/etc/nvme/nvme-fabrics.conf.d/10.conf 2");
	kernel_nvmf_conf_free(&all);
	cr_assert_eq(kernel_nvmf_conf_read(tree.root, "/etc/none", &all, &diag), -ENOENT);
	diag_says(&diag, DIAG_NOT_FOUND, NULL, "/etc/none no_such_file");
	cr_assert_eq(kernel_nvmf_conf_read(tree.root, "/etc/nvme", &all, &diag), -EISDIR);
	diag_says(&diag, DIAG_UNSUPPORTED, NULL, "/etc/nvme is_a_directory");
	tree_link(&tree, "endless", "/dev/zero");
	cr_assert_eq(kernel_nvmf_conf_read(tree.root, "/endless", &all, &diag), -EFBIG);
	diag_says(&diag, DIAG_USAGE, NULL, "/endless 1_MiB");
	tree_dir(&tree, "etc/nvme/nvme-fabrics.conf.d/30.conf");
	cr_assert_eq(kernel_nvmf_conf_read(tree.root, NULL, &all, &diag), -EISDIR,
		"an unreadable file is not skipped");
	kernel_nvmf_conf_free(&all);
	for (unsigned i = 0; i < 64; i++) {
		char name[64];

		snprintf(name, sizeof(name), "etc/nvme/nvme-fabrics.conf.d/a%u.conf", i);
		tree_file(&tree, name, "");
	}
	cr_assert_eq(kernel_nvmf_conf_read(tree.root, NULL, &all, &diag), -E2BIG,
		"none is left out silently");
	kernel_nvmf_conf_free(&all);
	tree_file(&tree, "proc/cmdline", "rd.nvmf.discover=tcp,10.0.0.7\n");
	cr_assert_eq(kernel_nvmf_conf_kernel(tree.root, &all, &diag), 0);
	is(&all, 0, "discover transport=tcp traddr=10.0.0.7");
	kernel_nvmf_conf_free(&all);
	tree_free(&tree);
}
