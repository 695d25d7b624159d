/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI targets on kernel command lines, in dracut's words and in Debian's. */
#include "iscsi_conf.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define IQN "iqn.2009-06.dracut:target"

static struct iscsi_boot_config w;
static struct diag why;

static void read_both(const char *cmdline, const char *debian)
{
	why = (struct diag){ 0 };
	kernel_iscsi_boot_free(&w);
	cr_assert_eq(
		kernel_iscsi_cmdline(&w, cmdline, debian, &why), 0, "%s: %s", cmdline, why.text);
}

static void read_words(const char *cmdline)
{
	read_both(cmdline, NULL);
}

static void is(unsigned i, const char *host, unsigned port, const char *name, const char *from)
{
	cr_assert_lt(i, w.count, "%s", w.notes);
	cr_assert_str_eq(w.entry[i].host, host);
	cr_assert_eq(w.entry[i].port, port, "%u", w.entry[i].port);
	cr_assert_str_eq(w.entry[i].name, name);
	text_says(w.entry[i].from, from);
}

Test(iscsi_conf, roots)
{
	read_words("quiet root=iscsi:10.0.0.1::::" IQN "0 ip=dhcp\n");
	cr_assert_eq(w.count, 1);
	is(0, "10.0.0.1", 0, IQN "0", "command_line:_root=iscsi:");
	read_words("root=UUID=1 netroot=iscsi:10.0.0.1::::" IQN "0 netroot=iser:10.0.0.2::::" IQN
		   "1 netroot=iscsi:10.0.0.1::::" IQN "0");
	cr_assert_eq(w.count, 2, "what is named twice counts once");
	is(0, "10.0.0.1", 0, IQN "0", "command_line:_netroot=iscsi:");
	is(1, "10.0.0.2", 0, IQN "1", "command_line:_netroot=iser:");
	cr_assert(!w.entry[0].iser && w.entry[1].iser);
	read_words("iscsiroot=10.0.0.1::::" IQN "0");
	is(0, "10.0.0.1", 0, IQN "0", "command_line:_iscsiroot=iscsi:");
	read_words("root=iscsi:10.0.0.1::3260:0:" IQN "0 root=UUID=2");
	cr_assert_eq(w.count, 1, "Debian's several root=");
	read_words("\"netroot=iscsi:10.0.0.1::::" IQN "0\" root=/dev/sda1");
	cr_assert_eq(w.count, 1, "quoted");
	cr_assert_eq(w.problems, 0);
	kernel_iscsi_boot_free(&w);
}

Test(iscsi_conf, nothing_is_wanted)
{
	static const char *const row[] = { "", "root=/dev/sda1 quiet", "root=nbd:10.0.0.1:disk",
		"netroot=dhcp", "rd.iscsi.firmware=0", "rd.iscsi.initiator=iqn.2024-01.a:b" };

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		read_words(row[i]);
		cr_assert(!w.count && !w.firmware && !w.problems, "%s", row[i]);
	}
	kernel_iscsi_boot_free(&w);
}

Test(iscsi_conf, firmware)
{
	static const char *const row[] = { "rd.iscsi.firmware", "rd.iscsi.firmware=1",
		"rd.iscsi.firmware=yes", "iscsi_firmware", "netroot=iscsi", "root=iscsi",
		"netroot=iscsi:", "netroot=iscsi:ibft", "root=iscsi:iscsi", "iscsi_auto" };

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		read_words(row[i]);
		cr_assert(w.firmware && !w.count && !w.problems, "%s", row[i]);
	}
	cr_assert(w.network, "iscsi_auto");
	read_words("ip=ibft rd.iscsi.firmware");
	cr_assert(w.network);
	read_words("rd.iscsi.ibft=1 rd.iscsi.mp=1 rd.iscsi.waitnet=0");
	cr_assert(w.network && !w.firmware);
	text_says(w.notes, "rd.iscsi.mp rd.iscsi.waitnet");
	kernel_iscsi_boot_free(&w);
}

Test(iscsi_conf, words_of_dracut)
{
	read_words("rd.iscsi.initiator=iqn.2024-01.a:b rd.iscsi.target.name=" IQN
		   "0 rd.iscsi.target.ip=10.0.0.1 rd.iscsi.target.port=3261 "
		   "rd.iscsi.target.group=7 rd.iscsi.username=joe rd.iscsi.password=s3cret "
		   "rd.iscsi.in.username=disk rd.iscsi.in.password=s4cret "
		   "rd.iscsi.login_retry_max=5 "
		   "rd.iscsi.param=node.session.timeo.replacement_timeout=30 "
		   "rd.iscsi.param=node.session.cmds_max=64");
	cr_assert_eq(w.count, 1);
	is(0, "10.0.0.1", 3261, IQN "0", "command_line: rd.iscsi.target.name");
	cr_assert_eq(w.entry[0].tpgt, 7);
	cr_assert_str_eq(w.entry[0].user[0], "joe");
	cr_assert_str_eq(w.entry[0].secret[0], "s3cret");
	cr_assert_str_eq(w.entry[0].user[1], "disk");
	cr_assert_str_eq(w.entry[0].secret[1], "s4cret");
	cr_assert_str_eq(w.initiator, "iqn.2024-01.a:b");
	text_says(w.initiator_from, "command_line");
	cr_assert_eq(w.retry_max, 5);
	cr_assert_eq(w.params, 2);
	cr_assert_str_eq(w.param[0], "node.session.timeo.replacement_timeout=30");
	cr_assert_str_eq(w.param[1], "node.session.cmds_max=64");
	kernel_iscsi_boot_free(&w);
}

Test(iscsi_conf, a_string_outdoes_the_words)
{
	read_words("rd.iscsi.username=joe rd.iscsi.password=s3cret rd.iscsi.target.port=3261 "
		   "rd.iscsi.target.ip=10.0.0.9 iscsi_username=old "
		   "netroot=iscsi:jim:own@10.0.0.1::3262::" IQN "0 netroot=iscsi:::::" IQN "1");
	cr_assert_eq(w.count, 2);
	is(0, "10.0.0.1", 3262, IQN "0", "command_line:_netroot=iscsi:");
	cr_assert_str_eq(w.entry[0].user[0], "jim");
	cr_assert_str_eq(w.entry[0].secret[0], "own");
	is(1, "10.0.0.9", 3261, IQN "1", "command_line:_netroot=iscsi:");
	cr_assert_str_eq(w.entry[1].user[0], "joe", "the new word before the old");
	cr_assert_str_eq(w.entry[1].secret[0], "s3cret");
	kernel_iscsi_boot_free(&w);
}

Test(iscsi_conf, transports)
{
	read_words("rd.iscsi.transport=iser netroot=iscsi:10.0.0.1::::" IQN "0");
	cr_assert(w.entry[0].iser);
	read_words("rd.iscsi.param=iface.transport_name=iser netroot=iscsi:10.0.0.1::::" IQN "0");
	cr_assert(w.entry[0].iser && !w.params);
	read_words("rd.iscsi.transport=bnx2i netroot=iscsi:10.0.0.1::::" IQN "0");
	cr_assert(!w.entry[0].iser && !w.problems);
	text_says(w.notes, "rd.iscsi.transport=bnx2i iser tcp");
	kernel_iscsi_boot_free(&w);
}

Test(iscsi_conf, words_of_debian)
{
	read_words(
		"iscsi_initiator=iqn.2024-01.a:b iscsi_target_name=" IQN
		"0 iscsi_target_ip=10.0.0.1,10.0.0.2 iscsi_target_port=3261 iscsi_target_group=2 "
		"iscsi_username=joe iscsi_password=s3cret iscsi_in_username=disk "
		"iscsi_in_password=s4cret");
	cr_assert_eq(w.count, 2);
	is(0, "10.0.0.1", 3261, IQN "0", "command_line: iscsi_target_name");
	is(1, "10.0.0.2", 3261, IQN "0", "command_line: iscsi_target_name");
	cr_assert_str_eq(w.entry[1].secret[1], "s4cret");
	cr_assert_eq(w.entry[1].tpgt, 2);
	read_both("iscsi_target_port=3262",
		"# Debian\nISCSI_INITIATOR='iqn.2024-01.a:c'\n ISCSI_TARGET_NAME=\"" IQN
		"3\"\nISCSI_TARGET_IP='10.0.0.1  [fd00::1]' # two\n"
		"ISCSI_TARGET_PORT=3261\nISCSI_PASSWORD=$(cat /x)\nISCSI_USERNAME=`id`\n");
	cr_assert_eq(w.count, 2);
	is(0, "10.0.0.1", 3262, IQN "3", "iscsi.initramfs");
	is(1, "fd00::1", 3262, IQN "3", "iscsi.initramfs");
	cr_assert_str_eq(w.initiator, "iqn.2024-01.a:c");
	cr_assert_str_eq(w.initiator_from, "iscsi.initramfs");
	text_says(w.notes, "iscsi.initramfs ISCSI_PASSWORD ISCSI_USERNAME shell");
	read_both("quiet", "ISCSI_AUTO=true");
	cr_assert(w.firmware && w.network && !w.count);
	kernel_iscsi_boot_free(&w);
}

Test(iscsi_conf, one_wrong_string_does_not_keep_others)
{
	read_words(
		"netroot=iscsi:joe:s3cret@10.0.0.1 netroot=iscsi:::::" IQN
		"1 netroot=iscsi:10.0.0.1::::" IQN "0 rd.iscsi.param=x rd.iscsi.login_retry_max=y "
		"netroot=iscsi://10.0.0.1/" IQN);
	cr_assert_eq(w.count, 1);
	is(0, "10.0.0.1", 0, IQN "0", "command_line:_netroot=iscsi:");
	cr_assert_eq(w.problems, 5);
	text_says(w.notes,
		"'iscsi:joe@10.0.0.1' rd.iscsi.param=NAME=VALUE "
		"rd.iscsi.login_retry_max: 'y' iscsi:HOST:PROTOCOL:PORT:LUN:NAME URI " IQN
		"1 DHCP");
	cr_assert_null(strstr(w.notes, "s3cret"), "%s", w.notes);
	kernel_iscsi_boot_free(&w);
}

Test(iscsi_conf, what_is_wrong)
{
	static const struct {
		const char *cmdline, *words;
	} row[] = {
		{ "rd.iscsi.target.name=" IQN, "rd.iscsi.target.name= rd.iscsi.target.ip=" },
		{ "iscsi_target_name=\"a b\" iscsi_target_ip=h", "iscsi_target_name= 223" },
		{ "rd.iscsi.initiator=\"a b\"", "rd.iscsi.initiator= 223" },
		{ "netroot=iscsi:h::::" IQN " rd.iscsi.target.port=x",
			"rd.iscsi.target.port= 'x'" },
		{ "netroot=iscsi:h::::" IQN " iscsi_target_group=65536",
			"iscsi_target_group= 65535" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		cr_assert_lt(kernel_iscsi_cmdline(&w, row[i].cmdline, NULL, &why), 0, "%s",
			row[i].cmdline);
		diag_says(&why, DIAG_USAGE, NULL, row[i].words);
		kernel_iscsi_boot_free(&w);
	}
}

Test(iscsi_conf, too_long)
{
	char text[700] = "netroot=iscsi:h::::" IQN " rd.iscsi.password=";

	memset(text + strlen(text), 'a', 257);
	cr_assert_eq(kernel_iscsi_cmdline(&w, text, NULL, &why), -E2BIG);
	diag_says(&why, DIAG_USAGE, NULL, "rd.iscsi.password= 256");
	kernel_iscsi_boot_free(&w);
}

Test(iscsi_conf, of_a_machine)
{
	struct tree tree = tree_new();

	cr_assert_eq(kernel_iscsi_boot_read(tree.root, &w, &why), -ENOENT, "no /proc");
	tree_file(&tree, "proc/cmdline", "root=/dev/sda1\n");
	cr_assert_eq(kernel_iscsi_boot_read(tree.root, &w, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "command_line iSCSI");
	tree_file(&tree, "proc/cmdline", "rd.iscsi.firmware=1\n");
	cr_assert_eq(kernel_iscsi_boot_read(tree.root, &w, &why), 0);
	cr_assert_eq(w.problems, 1);
	text_says(w.notes, "firmware iBFT");
	kernel_iscsi_boot_free(&w);
	cr_assert_eq(kernel_iscsi_firmware(tree.root, &w, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "firmware iBFT");
	tree_file(&tree, "etc/iscsi/iscsi.initramfs",
		"ISCSI_TARGET_NAME=" IQN "2\nISCSI_TARGET_IP=10.0.0.2\n");
	tree_file(&tree, "sys/firmware/ibft/initiator/initiator-name", "iqn.2024-01.a:firmware\n");
	tree_file(&tree, "sys/firmware/ibft/target0/flags", "3\n");
	tree_file(&tree, "sys/firmware/ibft/target0/target-name", IQN "0\n");
	tree_file(&tree, "sys/firmware/ibft/target0/ip-addr", "10.0.0.3\n");
	cr_assert_eq(kernel_iscsi_boot_read(tree.root, &w, &why), 0);
	cr_assert_eq(w.count, 2);
	is(0, "10.0.0.2", 0, IQN "2", "iscsi.initramfs");
	is(1, "10.0.0.3", 3260, IQN "0", "iBFT target0 /sys/firmware/ibft");
	cr_assert_str_eq(w.initiator, "iqn.2024-01.a:firmware");
	cr_assert_str_eq(w.initiator_from, "iBFT");
	kernel_iscsi_boot_free(&w);
	cr_assert_eq(kernel_iscsi_firmware(tree.root, &w, &why), 0);
	cr_assert_eq(w.count, 1, "the firmware's alone");
	is(0, "10.0.0.3", 3260, IQN "0", "iBFT target0 /sys/firmware/ibft");
	kernel_iscsi_boot_free(&w);
	tree_file(&tree, "sys/firmware/ibft/target0/flags", "0\n");
	cr_assert_eq(kernel_iscsi_firmware(tree.root, &w, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "iBFT target");
	kernel_iscsi_boot_free(&w);
	tree_free(&tree);
}

static int note_line(const char *name, const char *value, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s:%s;", name, value);
	return !strcmp(name, "last") ? 7 : 0;
}

Test(iscsi_conf, iscsid_conf)
{
	struct tree tree = tree_new();
	char text[200] = "";

	cr_assert_eq(kernel_iscsi_conf_file(tree.root, NULL, note_line, text, &why), 0,
		"the usual file may be missing");
	cr_assert_eq(
		kernel_iscsi_conf_file(tree.root, "/etc/other", note_line, text, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "/etc/other no_such_file");
	tree_file(&tree, "etc/iscsi/iscsid.conf",
		"# a = b\n  node.startup = manual  \nname=value\r\n=\nx=\nno\nlast = 1\nafter = "
		"2\n");
	cr_assert_eq(kernel_iscsi_conf_file(tree.root, NULL, note_line, text, &why), 7);
	cr_assert_str_eq(text, "node.startup:manual;name:value;last:1;");
	tree_free(&tree);
}
