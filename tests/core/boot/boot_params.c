/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our own words on the kernel command line, those of others that count, and the files in which
 * dracut keeps words. */
#include "kernel_boot.h"
#include "says.h"
#include "tree.h"
#include <errno.h>

static struct tree tree;
static struct boot_params words;
static struct diag why;

static void setup(void)
{
	tree = tree_new();
}

static void fini(void)
{
	kernel_boot_params_free(&words);
	tree_free(&tree);
}
TestSuite(boot_params, .init = setup, .fini = fini);

static void read_cmdline(const char *text)
{
	kernel_boot_params_free(&words);
	tree_file(&tree, "proc/cmdline", text);
	cr_assert_eq(kernel_boot_params_read(tree.root, &words, &why), 0, "%s", why.text);
}

Test(boot_params, ours)
{
	read_cmdline("quiet rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x xrd.rdmastor=a rd.rdmastor= "
		     "rd.rdmastor=\"iser://joe%pw@h/iqn.2024-01.a:b/0?x=a,b,via=nbd\" "
		     "rd.rdmastor.timeout=1.5 ro\n");
	cr_assert_eq(words.disks, 2);
	cr_assert_str_eq(words.disk[0].uri, "nvme+tcp://10.0.0.1/nqn.x");
	cr_assert_eq(words.disk[0].via, BOOT_KERNEL);
	cr_assert_str_eq(words.disk[0].from, "rd.rdmastor");
	cr_assert_str_eq(words.disk[1].uri, "iser://joe%pw@h/iqn.2024-01.a:b/0?x=a,b");
	cr_assert_eq(words.disk[1].via, BOOT_NBD);
	cr_assert_eq(words.timeout_ms, 1500);
	cr_assert(!words.never && !words.nvme && !words.iscsi && !words.nfs);
	read_cmdline("rd.rdmastor.timeout=5 rd.rdmastor.timeout=0");
	cr_assert(words.never && !words.timeout_ms);
}

Test(boot_params, of_others)
{
	static const struct {
		const char *cmdline;
		bool nvme, iscsi, nfs;
	} row[] = {
		{ "quiet root=/dev/sda1", false, false, false },
		{ "rd.nvmf.discover=tcp,10.0.0.1", true, false, false },
		{ "rd.nvmf.discover=tcp,10.0.0.1 rd.nonvmf", false, false, false },
		{ "netroot=iscsi:10.0.0.1::::iqn.2024-01.a:b", false, true, false },
		{ "netroot=iser:10.0.0.1", false, true, false }, /* invalid, as iser-login says */
		{ "rd.iscsi.firmware=1", false, true, false },
		{ "root=nfs:10.0.0.1:/srv", false, false, false },
		{ "root=nfs:10.0.0.1:/srv:proto=rdma,port=20049", false, false, true },
		{ "root=nfs:10.0.0.1:/srv:rdma", false, false, true },
		{ "root=nfs4:10.0.0.1:/srv nfsopts=proto=rdma6", false, false, true },
		{ "root=nfs+rdma://10.0.0.1/srv", false, false, true },
		{ "root=nfs+rdma://10.0.0.1", false, false, true }, /* invalid, too */
		{ "root=nfs4:10.0.0.1:/srv:proto=tcp", false, false, false },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		read_cmdline(row[i].cmdline);
		cr_assert_eq(words.nvme, row[i].nvme, "%s", row[i].cmdline);
		cr_assert_eq(words.iscsi, row[i].iscsi, "%s", row[i].cmdline);
		cr_assert_eq(words.nfs, row[i].nfs, "%s", row[i].cmdline);
	}
}

Test(boot_params, a_firmware_table_that_cant_be_read)
{
	tree_dir(&tree, "sys/firmware/acpi/tables/NBFT");
	read_cmdline("quiet");
	cr_assert(words.nvme, "nvmf-connect-all says why");
}

Test(boot_params, dracuts_files)
{
	tree_file(&tree, "etc/cmdline", "rd.rdmastor=ram:3");
	tree_file(&tree, "etc/cmdline.d/20-b.conf", "rd.rdmastor=ram:2\nroot=nfs:h:/a:rdma\n");
	tree_file(&tree, "etc/cmdline.d/10-a.conf", "rd.rdmastor=ram:1");
	tree_file(&tree, "etc/cmdline.d/10-a.conf.orig", "rd.rdmastor=ram:9");
	read_cmdline("rd.rdmastor=ram:4");
	cr_assert_eq(words.disks, 4);
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(words.disk[i].uri[4], (char)('1' + i), "%s", words.disk[i].uri);
	cr_assert(words.nfs);
}

Test(boot_params, an_invalid_time_limit_is_ignored)
{
	read_cmdline("rd.rdmastor.timeout=7 rd.rdmastor=ram:1 rd.rdmastor.timeout=soon "
		     "rd.rdmastor=ram:2");
	diag_says(&words.timeout, DIAG_USAGE, "rd.rdmastor.timeout=soon", "soon");
	cr_assert_eq(words.timeout_ms, 7000);
	cr_assert_eq(words.disks, 2);
	read_cmdline("rd.rdmastor.timeout=-1");
	diag_says(&words.timeout, DIAG_USAGE, "rd.rdmastor.timeout=-1", "-1");
	cr_assert(!words.timeout_ms && !words.never, "the default");
}

Test(boot_params, no_command_line)
{
	cr_assert_eq(kernel_boot_params_read(tree.root, &words, &why), -ENOENT);
}
