/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logging in through add_target: what is written, and each reason that the kernel's log gives for
 * an errno. */
#include "kernel_srp.h"
#include "loop.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADD_TARGET "sys/class/infiniband_srp/srp-mlx5_0-1/add_target"
#define SEC        1000000000ull

static struct tree tree;
static struct loop *loop;
static struct diag why;
static int result, over;

static void setup(void)
{
	tree = tree_new();
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	why = (struct diag){ 0 };
	result = 1;
	over = 0;
}

static void fini(void)
{
	loop_free(loop);
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

static void done(struct kernel_srp_add *add, int err, struct diag *diag)
{
	(void)add;
	result = err;
	why = *diag;
	over = 1;
}

static int add(const char *log, uint32_t timeout_ms)
{
	struct kernel_srp_add one = { .done = done, .loop = loop };
	int err;

	over = 0;
	why = (struct diag){ 0 };
	err = kernel_srp_add_start(
		tree.root, &one, "mlx5_0", 1, "id_ext=1,pkey=ffff", timeout_ms, &why);
	if (err)
		return err;
	if (log)
		log_line(log);
	cr_assert(loop_wait(loop, &over, loop_clock() + 10 * SEC), "it hangs");
	return result;
}

Test(srp_add, the_line_is_written)
{
	char text[64] = "";
	int fd;

	tree_file(&tree, ADD_TARGET, "");
	cr_assert_eq(add(NULL, 5000), 0, "%s", why.text);
	fd = openat(tree.root, ADD_TARGET, O_RDONLY);
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	cr_assert_str_eq(text, "id_ext=1,pkey=ffff");
}

Test(srp_add, what_is_missing_is_named)
{
	cr_assert_eq(add(NULL, 5000), -ENOENT);
	diag_says(&why, DIAG_NO_MODULE, NULL, "module_ib_srp");
	tree_dir(&tree, "sys/class/infiniband_srp");
	cr_assert_eq(add(NULL, 5000), -ENODEV);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "ib_srp /" ADD_TARGET);
	cr_assert_eq(kernel_srp_ready(tree.root, &why), 0);
	cr_assert_eq(mkdirat(tree.root, "sys/class/infiniband_srp/srp-mlx5_0-1", 0755), 0);
	tree_dir(&tree, ADD_TARGET);
	cr_assert_eq(add(NULL, 5000), -EISDIR);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "add_target is_a_directory");
}

static void reason(const char *log, uint8_t code, const char *words)
{
	cr_assert_eq(add(log, 5000), -ENOSPC, "of /dev/full");
	diag_says(&why, code, NULL, words);
}

/* Written while the child is on its way to fail: what counts is that it is there when it has. */
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

/* An add_target that blocks for as long as the descriptor is open. */
static int make_block(void)
{
	char page[4096] = { 0 };
	int hold, n = 0;

	tree_dir(&tree, "sys/class/infiniband_srp/srp-mlx5_0-1");
	cr_assert_eq(mkfifoat(tree.root, ADD_TARGET, 0600), 0);
	hold = openat(tree.root, ADD_TARGET, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	while (write(hold, page, sizeof(page)) > 0)
		n++;
	cr_assert_gt(n, 0);
	return hold;
}

Test(srp_add, one_that_does_not_end_is_ended)
{
	int hold = make_block();

	cr_assert_eq(add(NULL, 100), -ETIMEDOUT);
	diag_says(&why, DIAG_TIMEOUT, NULL, "0.1_s");
	close(hold);
}

Test(srp_add, one_may_be_given_up)
{
	struct kernel_srp_add one = { .done = done, .loop = loop };

	kernel_srp_add_stop(&one);
	tree_file(&tree, ADD_TARGET, "");
	cr_assert_eq(kernel_srp_add_start(tree.root, &one, "mlx5_0", 1, "x", 1000, NULL), 0);
	kernel_srp_add_stop(&one);
	kernel_srp_add_stop(&one);
	cr_assert_not(loop_wait(loop, &over, loop_clock() + SEC / 20));
	cr_assert_eq(kernel_srp_add_start(tree.root, &one, "mlx5_0", 1, "x", 5000, NULL), 0);
	cr_assert(loop_wait(loop, &over, loop_clock() + 10 * SEC), "it hangs");
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "the one that was given up is gone, too");
	cr_assert_eq(errno, ECHILD);
}

/* While spare is set, it does not reach a process that the kernel keeps. */
int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);
static bool spare;

int __wrap_kill(pid_t pid, int sig)
{
	return spare ? 0 : __real_kill(pid, sig);
}

Test(srp_add, what_the_kernel_does_not_let_go_of_is_not_more_and_more)
{
	struct kernel_srp_add one = { .done = done, .loop = loop };
	pid_t slow = 0;

	int hold = make_block();

	spare = true;
	for (unsigned i = 0; i < KERNEL_SRP_LEFT; i++) {
		cr_assert_eq(
			kernel_srp_add_start(tree.root, &one, "mlx5_0", 1, "x", 60000, NULL), 0);
		slow = one.call.pid;
		kernel_srp_add_stop(&one);
	}
	cr_assert_eq(kernel_srp_add_start(tree.root, &one, "mlx5_0", 1, "x", 1000, &why), -EBUSY);
	diag_says(&why, DIAG_BUSY, NULL, "4");
	__real_kill(slow, SIGKILL);
	usleep(200000);
	cr_assert_eq(unlinkat(tree.root, ADD_TARGET, 0), 0);
	tree_file(&tree, ADD_TARGET, "");
	cr_assert_eq(kernel_srp_add_start(tree.root, &one, "mlx5_0", 1, "x", 5000, NULL), 0,
		"one of them has ended");
	cr_assert(loop_wait(loop, &over, loop_clock() + 10 * SEC), "it hangs");
	cr_assert_eq(result, 0);
	close(hold);
}
