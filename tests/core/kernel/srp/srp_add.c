/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logging in through add_target: what is written, and each reason that the kernel's log gives for
 * an errno. */
#include "kernel_log.h"
#include "kernel_srp.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADD_TARGET "sys/class/infiniband_srp/srp-mlx5_0-1/add_target"

static struct tree tree;
static const struct srp_local local = { "mlx5_0", 1 };
static struct diag why;

static void setup(void)
{
	tree = tree_new();
	why = (struct diag){ 0 };
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(srp_add, .init = setup, .fini = fini);

/* As the kernel logs while it tries. */
static void log_line(const char *line)
{
	int fd = openat(tree.root, "dev/kmsg", O_WRONLY | O_APPEND);

	cr_assert_eq(write(fd, line, strlen(line)), (ssize_t)strlen(line));
	close(fd);
}

/* With what the log says at that time. */
static int add(const char *log)
{
	struct kernel_log mark = { 0 };
	char words[2048];
	int err;

	why = (struct diag){ 0 };
	kernel_log_mark(tree.root, &mark);
	err = kernel_srp_add(tree.root, &local, "id_ext=1,pkey=ffff");
	if (log)
		log_line(log);
	kernel_log_since(&mark, kernel_srp_logged, words, sizeof(words));
	return err ? kernel_srp_add_why(-err, words, &why) : 0;
}

Test(srp_add, the_line_is_written)
{
	char text[64] = "";
	int fd;

	tree_file(&tree, ADD_TARGET, "");
	cr_assert_eq(add(NULL), 0, "%s", why.text);
	fd = openat(tree.root, ADD_TARGET, O_RDONLY);
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	cr_assert_str_eq(text, "id_ext=1,pkey=ffff");
}

Test(srp_add, what_is_missing_is_named)
{
	cr_assert_eq(kernel_srp_ready(tree.root, &why), -ENOENT);
	diag_says(&why, DIAG_NO_MODULE, NULL, "module_ib_srp");
	tree_dir(&tree, "sys/class/infiniband_srp");
	cr_assert_eq(kernel_srp_supports(tree.root, &local, &why), -ENODEV);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "ib_srp /" ADD_TARGET);
	cr_assert_eq(kernel_srp_ready(tree.root, &why), 0);
	cr_assert_eq(mkdirat(tree.root, "sys/class/infiniband_srp/srp-mlx5_0-1", 0755), 0);
	tree_dir(&tree, ADD_TARGET);
	cr_assert_eq(kernel_srp_supports(tree.root, &local, &why), 0);
	cr_assert_eq(add(NULL), -EISDIR);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "add_target is_a_directory");
}

static void reason(const char *log, uint8_t code, const char *words)
{
	cr_assert_lt(add(log), 0);
	diag_says(&why, code, NULL, words);
}

Test(srp_add, reasons)
{
	tree_file(&tree, "dev/kmsg",
		"4,1,1,-;scsi host5: ib_srp: SRP LOGIN from a to b REJECTED, reason 0x00010006\n");
	tree_link(&tree, ADD_TARGET, "/dev/full");
	reason("", DIAG_IO, "add_target no_space_left");
	reason("4,2,2,-;scsi host6: ib_srp: SRP LOGIN from a to b REJECTED, reason 0x00010006\n "
	       "SUBSYSTEM=scsi\n DEVICE=+scsi:host6\n",
		DIAG_AUTH,
		"channel initiator ib_srp:_SRP_LOGIN_from_a_to_b_REJECTED,_reason_0x00010006");
	text_says(why.hint, "access_list");
	reason("4,2,2,-;scsi host6: ib_srp: SRP LOGIN from a to b REJECTED, reason 0x00010099\n",
		DIAG_REFUSED, "ib_srp:_SRP_LOGIN_from_a_to_b_REJECTED,_reason_0x00010099");
	reason("4,3,3,-;scsi host6:   REJ reason 0x8\n3,4,4,-;scsi host6: ib_srp: Connection 0/2 "
	       "to fe80::1 failed\n",
		DIAG_REFUSED, "service ib_srp:_REJ_reason_0x8");
	cr_assert_eq(why.err, ECONNREFUSED, "not add_target's");
	reason("4,3,3,-;scsi host6:   REJ reason: IB_CM_REJ_CONSUMER_DEFINED, opcode 0x00\n",
		DIAG_REFUSED, "IB_CM_REJ_CONSUMER_DEFINED");
	cr_assert_eq(why.err, ECONNREFUSED, "of RDMA/CM, not of a target");
	reason("4,3,3,-;scsi host6:   REJ reason 0x1c\n", DIAG_REFUSED, "ib_srp:_REJ_reason_0x1c");
	reason("4,3,3,-;scsi host6:   REJ reason 0x99\n", DIAG_REFUSED, "ib_srp:_REJ_reason_0x99");
	reason("4,3,3,-;scsi host6:   REJ reason: stale connection\n4,3,3,-;scsi host6: ib_srp: "
	       "giving up on stale connection\n",
		DIAG_REFUSED, "initiator ib_srp:_giving_up_on_stale_connection");
	reason("4,3,3,-;scsi host6: ib_srp: Path record query failed: sgid a, dgid b, pkey "
	       "0xffff\n",
		DIAG_UNREACHABLE, "path");
	reason("4,3,3,-;ib_srp: unknown parameter or missing value 'ch_count=1' in target creation "
	       "request\n",
		DIAG_UNSUPPORTED,
		"option "
		"ib_srp:_unknown_parameter_or_missing_value_'ch_count=1'_in_target_creation_"
		"request");
	reason("4,3,3,-;ib_srp: bad queue_size parameter '0'\n", DIAG_UNSUPPORTED,
		"option ib_srp:_bad_queue_size_parameter_'0'");
	reason("4,3,3,-;ib_srp: something new\n4,3,3,-;usb 1-1: other\n", DIAG_IO,
		"add_target ib_srp:_something_new no_space_left");
}

Test(srp_add, lines_of_other_logins)
{
	char two[] = "scsi host7: ib_srp: REJ reason 0x8\nscsi host8: ib_srp: REJ reason 0xc\n",
	     one[] = "scsi host6: ib_srp: REJ reason 0x8\nib_srp: bad port\n"
		     "scsi host7: ib_srp: REJ reason 0xc\nscsi host6: ib_srp: closed";
	char own[] = "scsi host6: ib_srp: SCSI scan failed\n";

	tree_dir(&tree, "sys/class/scsi_host/host6");
	kernel_srp_log_of_failed(tree.root, 6, own);
	cr_assert_str_eq(own, "scsi host6: ib_srp: SCSI scan failed\n");
	kernel_srp_log_of_failed(tree.root, -1, one);
	cr_assert_str_eq(one, "ib_srp: bad port\nscsi host7: ib_srp: REJ reason 0xc\n");
	kernel_srp_log_of_failed(tree.root, -1, two);
	cr_assert_str_eq(two, "");
}
