/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* boot: attach what firmware and kernel command line name, as an initramfs does before it mounts
 * the root file system. */
#include "applet.h"
#include "attach_boot.h"
#include "disk_open.h"
#include "iscsi_monitor.h"
#include "kernel_boot.h"
#include "kernel_identity.h"
#include "kernel_iscsi_conf.h"
#include "kernel_nbft.h"
#include "tls_monitor.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 60000

struct boot_options {
	struct opt_common common;
	const char *mount;
	struct opt_list skip;
	bool needs, network;
};

#define AT(field) offsetof(struct boot_options, field)
static const struct opt rows[] = {
	{ "mount", 0, OPT_TEXT, AT(mount), "DIR", "mount an NFS root on this directory" },
	{ "skip", 0, OPT_LIST, AT(skip), "nvmf|iscsi|nfs",
		"leave the parameters for these to another program; repeatable" },
	{ "needs", 0, OPT_FLAG, AT(needs), NULL,
		"print the modules, kernel parameters and files that an initramfs needs for these "
		"devices or URIs; default those of the root file system" },
	{ "network", 0, OPT_FLAG, AT(network), NULL,
		"print dracut's parameters for the network interfaces of NBFT and iBFT" },
	{ "timeout", 0, OPT_MSEC, AT(common.timeout_ms), "SECONDS",
		"time limit; 0: none; default rd.rdmastor.timeout=, else 60", 0, OPT_MSEC_MAX },
	{ 0 },
};
#undef AT

struct booting {
	struct call *call;
	struct boot boot;
	struct boot_params params;
	struct boot_disk *operand;
	struct kernel_serving serving;
	struct loop_signal signal;
};

/* An operand as copied from a kernel command line. */
static const char *bare(const char *operand)
{
	static const char parameter[] = "rd.rdmastor=";
	size_t len = strlen(parameter);

	return operand + (strncmp(operand, parameter, len) ? 0 : len);
}

static void report_retry(const struct boot_job *job)
{
	const struct booting *b = container_of(job->boot, struct booting, boot);

	call_note(b->call, "%s: %s: trying again", job->why.object, job->why.text);
}

static void caught(struct loop_signal *signal, int signo)
{
	struct booting *b = container_of(signal, struct booting, signal);

	(void)signo;
	boot_stop(&b->boot);
}

static int read_params(struct booting *b, int root)
{
	struct call *call = b->call;
	const struct boot_options *opts = call->opts;
	uint32_t ms = opts->common.timeout_ms;
	bool never = opts->common.no_timeout;
	int err = kernel_boot_params_read(root, &b->params, call->diag);

	if (b->params.timeout.err)
		call_warn(
			call, "%s: ignored: %s", b->params.timeout.object, b->params.timeout.text);
	b->operand = calloc(call->operands + 1, sizeof(*b->operand));
	if (!err && !b->operand)
		err = diag_sys(call->diag, ENOMEM, "operands");
	if (err)
		return err;
	for (unsigned i = 0; i < call->operands; i++) {
		kernel_boot_disk(&b->operand[i], bare(call->operand[i]), "operand");
		boot_check_disk(&b->operand[i]);
	}
	for (unsigned i = 0; i < b->params.disks; i++)
		boot_check_disk(&b->params.disk[i]);
	for (unsigned i = 0; i < opts->skip.count; i++) {
		b->boot.skip_nvmf |= !strcmp(opts->skip.item[i], "nvmf");
		b->boot.skip_iscsi |= !strcmp(opts->skip.item[i], "iscsi");
		b->boot.skip_nfs |= !strcmp(opts->skip.item[i], "nfs");
	}
	never |= !ms && b->params.never;
	ms = ms ? ms : b->params.timeout_ms ? b->params.timeout_ms : WAIT_MS;
	b->boot.deadline = never ? 0 : loop_clock() + ms * MSEC;
	b->boot.dir = opts->mount;
	b->boot.dry_run = opts->common.dry_run;
	b->boot.notes = call->notes;
	b->boot.root = root;
	return 0;
}

/* Choose the random ID of this host before the children, which inherit it. Report a name made from
 * it. */
static void choose_identity(const struct booting *b)
{
	kernel_identity_run();
	for (unsigned i = 0; i < b->boot.jobs; i++)
		if (b->boot.job[i].disk && !b->boot.job[i].done)
			disk_warn_random(b->call, b->boot.root, b->boot.job[i].disk->uri);
}

static int attach(struct booting *b)
{
	static const int signos[] = { SIGINT, SIGTERM, SIGHUP };
	struct call *call = b->call;
	unsigned failed;
	int err = boot_find_served(b->boot.root, b->boot.loop, &b->serving, call->diag);

	if (!err)
		err = boot_plan(
			&b->boot, &b->params, b->operand, call->operands, &b->serving, call->diag);
	if (!err && !b->boot.jobs)
		call_note(call, "nothing to attach: no rd.rdmastor= on the kernel command line");
	if (!err)
		err = loop_signal_add(b->boot.loop, &b->signal, signos, 3, call->diag);
	if (err)
		return err;
	choose_identity(b);
	boot_start(&b->boot);
	if (b->boot.pending)
		loop_run(b->boot.loop);
	loop_signal_del(b->boot.loop, &b->signal);
	failed = boot_show(&b->boot, call->out, call->diag);
	return !call->diag->err ? EXIT_DONE : failed < b->boot.jobs ? EXIT_PARTLY : EXIT_FAILED;
}

static void put_needs(struct out *out, const struct boot_needs *needs)
{
	static const char *const list[] = { "modules", "words", "files" };
	static const char *const line[] = { "module ", "word ", "file " };

	for (unsigned kind = 0; kind < BOOT_NEED_KINDS; kind++) {
		out_list(out, list[kind]);
		for (unsigned i = 0; i < needs->count; i++)
			if (needs->need[i].kind == kind)
				out_text(out, NULL, line[kind], "%s", needs->need[i].text);
		out_end(out);
	}
}

static int show_needs(struct call *call, int root)
{
	struct kernel_serving serving = { 0 };
	struct boot_needs needs = { 0 };
	struct loop *loop;
	int err = loop_new(&loop, &call->loop, call->diag);

	if (err)
		return err;
	err = boot_find_served(root, loop, &serving, call->diag);
	if (!err && !call->operands)
		err = boot_find_needs(root, NULL, &serving, &needs, call->diag);
	for (unsigned i = 0; !err && i < call->operands; i++)
		err = boot_find_needs(root, bare(call->operand[i]), &serving, &needs, call->diag);
	if (!err)
		put_needs(call->out, &needs);
	kernel_serving_free(&serving);
	free(needs.need);
	loop_free(loop);
	return err;
}

static int put_network_word(const char *word, void *arg)
{
	out_text(arg, NULL, "", "%s", word);
	return 0;
}

static int show_network(struct call *call, int root)
{
	int err;

	out_list(call->out, "words");
	err = kernel_boot_network_params(root, put_network_word, call->out, call->diag);
	out_end(call->out);
	return err == -ENOENT ? 0 : err;
}

static int check_call(const struct call *call)
{
	const struct boot_options *opts = call->opts;

	if (opts->network && (opts->needs || call->operands))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--network and %s can't be combined", opts->needs ? "--needs" : "disks");
	if ((opts->network || opts->needs) && (opts->mount || opts->skip.count))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"%s attaches nothing: omit --mount and --skip",
			opts->needs ? "--needs" : "--network");
	return 0;
}

static int run(struct call *call)
{
	const struct boot_options *opts = call->opts;
	struct booting b = { .call = call,
		.boot = { .run = applet_exec, .on_retry = report_retry },
		.signal.caught = caught };
	int root, err = check_call(call);

	if (err)
		return err;
	root = kernel_root();
	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	if (opts->needs || opts->network) {
		err = opts->network ? show_network(call, root) : show_needs(call, root);
		close(root);
		return err;
	}
	secret_never_wait();
	err = read_params(&b, root);
	kernel_ibft_never_load();
	if (!err)
		err = loop_new(&b.boot.loop, &call->loop, call->diag);
	if (!err) {
		err = attach(&b);
		boot_free(&b.boot);
		kernel_serving_free(&b.serving);
		loop_free(b.boot.loop);
	}
	if (b.operand)
		explicit_bzero(b.operand, call->operands * sizeof(*b.operand));
	free(b.operand);
	kernel_boot_params_free(&b.params);
	for (unsigned i = 0; i < call->operands; i++)
		uri_hide(call->operand[i]); /* the monitors are forks of this process */
	if (b.boot.has_iscsi)
		iscsi_monitor_start(call, root, NULL);
	if (!opts->common.dry_run)
		tls_monitor_start(call, root, NULL);
	close(root);
	return err;
}

const struct applet applet_boot = {
	.name = "boot",
	.operands = "[URI[,via=kernel|ublk|nbd]|DEVICE]...",
	.summary = "attach the disks named on the kernel command line and by the firmware",
	.opts = rows,
	.opts_size = sizeof(struct boot_options),
	.examples = "  rdmastor boot --mount /sysroot\n"
		    "  rdmastor boot --dry-run\n"
		    "  rdmastor boot nvme+rdma://10.0.0.1/nqn.2024-01.com.example:disk1,via=ublk\n",
	.notes = "Kernel parameters:\n"
		 "  rd.rdmastor=URI[,via=kernel|ublk|nbd]\n"
		 "      attach this disk: through the kernel's initiator (default), as\n"
		 "      /dev/ublkbN or as /dev/nbdN; may be repeated\n"
		 "  rd.rdmastor.timeout=SECONDS\n"
		 "      time limit (default 60); 0: none\n"
		 "  rd.nvmf.discover=, rd.nvmf.hostnqn=, rd.nvmf.hostid=, rd.nvmf.nonbft\n"
		 "      NVMe-oF as in dracut; the firmware's NBFT is read without them\n"
		 "  netroot=iscsi:..., netroot=iser:..., root=iscsi:..., rd.iscsi.firmware=1\n"
		 "      iSCSI as in dracut: iscsi:[USER:SECRET@]HOST::[PORT]:[LUN]:IQN\n"
		 "  root=nfs:HOST:/PATH[:OPTIONS], nfsroot=\n"
		 "      NFS with rdma or proto=rdma among the options\n"
		 "  ip=dhcp, ip=IP::GATEWAY:MASK:NAME:INTERFACE:none\n"
		 "      the network, set up by the initramfs\n"
		 "Everyone can read the kernel command line: keep secrets in files.\n"
		 "\n"
		 "To boot from a disk, print its parameter: rdmastor boot --needs URI\n"
		 "In /etc/default/grub: GRUB_CMDLINE_LINUX=\"rd.rdmastor=URI root=LABEL=ROOT\"\n"
		 "  dracut (on Debian with the package dracut-network):\n"
		 "      update-grub; dracut -f; lsinitrd | grep rdmastor\n"
		 "      static address: ip=; always: add_dracutmodules+=\" rdmastor \"\n"
		 "  initramfs-tools:\n"
		 "      update-grub; update-initramfs -u; lsinitramfs /initrd.img | grep rdmastor\n"
		 "      or RDMASTOR=\"URI\" in /etc/initramfs-tools/conf.d/rdmastor; always:\n"
		 "      RDMASTOR=yes; never: RDMASTOR=none\n"
		 "  mkinitcpio, with ip=dhcp:\n"
		 "      HOOKS=(base systemd block sd-rdmastor filesystems) in\n"
		 "      /etc/mkinitcpio.conf, or rdmastor behind udev and net;\n"
		 "      grub-mkconfig -o /boot/grub/grub.cfg; mkinitcpio -P\n"
		 "Images without a remote disk are left as they are.\n"
		 "Before rebooting: rdmastor boot --dry-run URI\n",
	.schemes = SCHEME_ALL,
	.max = UINT8_MAX,
	.has_dry_run = true,
	.run = run,
};
