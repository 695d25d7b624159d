/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whole sessions against a kernel, a target and a /sys made here: what they share, what stays, what
 * is undone. */
#include "iscsi_attach.h"
#include "iscsi_kernel.h"
#include "kernel_iscsi_session.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEC     1000000000ull
#define SESSION "sys/devices/platform/host6/session1/iscsi_session/session1/"
#define CONN    "sys/class/iscsi_connection/connection1:0/"

static struct tree tree;
static struct loop *loop;
static struct diag why;
static struct iscsi_from from = { .initiator = "iqn.x:me" };
static struct iscsi_want want[2];
static int listener;

static void unit(const char *name, const char *type)
{
	char path[100];

	snprintf(path, sizeof(path), "sys/class/scsi_device/%s/device/type", name);
	tree_file(&tree, path, type);
}

/* The kernel makes session1 and host6; where it is found before it is made, no portal is told yet.
 */
static void setup(void)
{
	socklen_t len = sizeof(want[0].portal.ss);

	tree = tree_new();
	tree_dir(&tree, "sys/bus/scsi/drivers/sd");
	tree_file(&tree, "proc/crypto", "name : crc32c\n");
	tree_file(&tree, "sys/class/iscsi_transport/tcp/handle", "0\n");
	tree_file(&tree, "sys/class/scsi_host/host6/proc_name", "iscsi_tcp\n");
	tree_file(&tree, "sys/class/scsi_host/host6/scan", "");
	tree_file(&tree, "sys/module/scsi_transport_iscsi/uevent", "");
	tree_file(&tree, SESSION "state", "LOGGED_IN\n");
	tree_file(&tree, SESSION "targetname", "iqn.x:t\n");
	tree_link(&tree, "sys/class/iscsi_session/session1",
		"../../devices/platform/host6/session1/iscsi_session/session1");
	unit("6:0:0:1", "1\n"); /* tapes: nothing has to open */
	unit("6:0:0:3", "1\n");
	iscsi_kernel_start();
	why = (struct diag){ 0 };
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	want[0] = (struct iscsi_want){ .target = "iqn.x:t", .tpgt = -1, .from = &from, .lun = 1 };
	iscsi_settings_init(&want[0].set);
	addr_parse(&want[0].portal, "127.0.0.1:0", 0, NULL);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(listener, (struct sockaddr *)&want[0].portal.ss, want[0].portal.len), 0);
	cr_assert_eq(listen(listener, 9), 0);
	getsockname(listener, (struct sockaddr *)&want[0].portal.ss, &len);
	want[1] = want[0];
	want[1].lun = 3;
}

static void fini(void)
{
	iscsi_want_free(&want[0]);
	iscsi_want_free(&want[1]);
	loop_free(loop);
	iscsi_kernel_stop();
	close(listener);
	tree_free(&tree);
}
TestSuite(iscsi_attach, .init = setup, .fini = fini, .timeout = 30);

static void attach(unsigned count)
{
	cr_assert_eq(iscsi_attach(loop, tree.root, want, count, loop_clock() + 10 * SEC, &why), 0,
		"%s", why.text);
}

Test(iscsi_attach, two_units_of_one_target_are_one_session)
{
	attach(2);
	cr_assert(!want[0].why.err && !want[1].why.err, "%s%s", want[0].why.text, want[1].why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 1);
	cr_assert(!want[0].existed && want[1].existed && want[1].sid == 1 && want[1].host == 6);
	cr_assert_eq(iscsi_kernel.sessions, 1);
}

Test(iscsi_attach, which_stays_when_one_of_them_is_there)
{
	for (unsigned missing = 0; missing < 2; missing++) {
		iscsi_kernel_start();
		want[missing].lun = 7;
		attach(2);
		cr_assert_eq(want[missing].why.err, ENOENT, "%s", want[missing].why.text);
		cr_assert(!want[!missing].why.err, "%s", want[!missing].why.text);
		cr_assert_eq(iscsi_kernel.sessions, 1);
		want[missing].lun = 1;
		want[missing].why = (struct diag){ 0 };
		iscsi_want_free(&want[!missing]);
	}
}

Test(iscsi_attach, and_goes_when_none_is)
{
	want[0].lun = want[1].lun = 7;
	attach(2);
	cr_assert(want[0].why.err == ENOENT && want[1].why.err == ENOENT);
	cr_assert(!iscsi_kernel.sessions && !iscsi_kernel.conns && !want[0].stays);
}

Test(iscsi_attach, two_sessions_that_are_asked_for_are_two)
{
	static const struct iscsi_from other = { .initiator = "iqn.x:you" };

	want[1].nth = 1;
	attach(2);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2);
	iscsi_want_free(&want[0]);
	iscsi_want_free(&want[1]);
	iscsi_kernel_start();
	want[1].nth = 0;
	want[1].from = &other;
	attach(2);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2, "others log in");
}

Test(iscsi_attach, a_login_that_fails_fails_for_both)
{
	iscsi_kernel.status = 0x0202;
	attach(2);
	cr_assert(want[0].why.err == EPERM && want[1].why.err == EPERM && want[1].status == 0x0202);
	cr_assert(!iscsi_kernel.sessions && !want[1].existed);
}

Test(iscsi_attach, what_somebody_uses_is_not_undone)
{
	unit("6:0:0:0", "0\n");
	tree_file(&tree, "sys/class/scsi_device/6:0:0:0/device/block/sda/dev", "8:0\n");
	tree_file(&tree, "sys/dev/block/8:0/uevent", "MAJOR=8\nMINOR=0\nDEVNAME=sda\n");
	tree_file(&tree, "proc/self/mountinfo", "36 35 8:0 / /mnt rw - ext4 /dev/sda rw\n");
	want[0].lun = 7;
	attach(1);
	cr_assert_eq(want[0].why.err, ENOENT);
	cr_assert(want[0].stays && iscsi_kernel.sessions == 1);
	text_says(want[0].why.hint, "sda /mnt iser-logout_session1");
}

Test(iscsi_attach, nothing_is_looked_for_where_nothing_was_begun)
{
	iscsi_kernel.no_socket = EPROTONOSUPPORT;
	attach(1);
	cr_assert_eq(want[0].why.err, EPROTONOSUPPORT);
	diag_says(&want[0].why, DIAG_NO_MODULE, NULL, "scsi_transport_iscsi");
	cr_assert(!want[0].luns && !iscsi_kernel.count[ISCSI_IF_CREATE_SESSION]);
}

static void found(const char *state, const char *target_state)
{
	char port[8];

	snprintf(port, sizeof(port), "%u\n", addr_port(&want[0].portal));
	tree_file(&tree, SESSION "state", state);
	tree_file(&tree, SESSION "target_state", target_state);
	tree_file(&tree, CONN "persistent_address", "127.0.0.1\n");
	tree_file(&tree, CONN "persistent_port", port);
}

Test(iscsi_attach, one_that_is_there)
{
	found("LOGGED_IN\n", "SCANNED\n");
	attach(1);
	cr_assert(
		!want[0].why.err && want[0].existed && !iscsi_kernel.count[ISCSI_IF_CREATE_SESSION],
		"%s", want[0].why.text);
}

Test(iscsi_attach, one_that_is_lost_and_that_nobody_keeps)
{
	found("FAILED\n", "SCANNED\n");
	attach(1);
	cr_assert(want[0].existed && !want[0].why.err && want[0].host == 6, "%s", want[0].why.text);
	cr_assert(!iscsi_kernel.count[ISCSI_IF_CREATE_SESSION] && iscsi_kernel.started &&
		  iscsi_kernel.stop == ISCSI_IF_RECOVER);
}

Test(iscsi_attach, and_whose_target_does_not_answer)
{
	found("FAILED\n", "SCANNED\n");
	iscsi_kernel.status = 0x0301;
	attach(1);
	cr_assert(
		want[0].existed && want[0].why.err && !iscsi_kernel.count[ISCSI_IF_DESTROY_SESSION],
		"%s", want[0].why.text);
}

Test(iscsi_attach, one_whose_logout_was_left_half_done)
{
	found("LOGGED_IN\n", "UNBOUND\n");
	attach(1);
	cr_assert_eq(want[0].why.err, EBUSY);
	diag_says(&want[0].why, DIAG_BUSY, NULL, "session1 iser-logout_session1");
	cr_assert(!iscsi_kernel.count[ISCSI_IF_DESTROY_SESSION]);
}

Test(iscsi_attach, a_host_of_the_same_number)
{
	unlinkat(tree.root, "sys/class/iscsi_session/session1", 0);
	attach(1);
	diag_says(&want[0].why, DIAG_CLOSED, NULL, "session1");
	cr_assert(!want[0].luns && !want[0].count, "units of a host that may be another's");
}

Test(iscsi_attach, interrupted_while_disks_are_waited_for)
{
	uint64_t begun = loop_clock();
	pid_t child = fork();

	if (!child) {
		usleep(300000);
		_exit(kill(getppid(), SIGINT));
	}
	unit("6:0:0:1", "0\n"); /* its block device does not come */
	attach(1);
	waitpid(child, NULL, 0);
	cr_assert_eq(want[0].why.err, EINTR);
	diag_says(&want[0].why, DIAG_CLOSED, NULL, "interrupted");
	cr_assert(!iscsi_kernel.sessions && loop_clock() - begun < 5 * SEC);
}

/* Another process has its turn for so long, and makes the session meanwhile. */
static pid_t other(unsigned ms, bool makes)
{
	int ready[2];
	pid_t child;
	char byte;

	cr_assert_eq(pipe(ready), 0);
	child = fork();
	if (!child) {
		kernel_iscsi_turn_take(kernel_iscsi_turns(tree.root),
			kernel_iscsi_turn("tcp", want[0].target, &want[0].portal));
		cr_assert_eq(write(ready[1], "", 1), 1);
		usleep(ms * 1000);
		if (makes)
			found("LOGGED_IN\n", "SCANNED\n");
		_exit(0);
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

Test(iscsi_attach, what_another_process_makes_meanwhile_is_taken)
{
	pid_t child = other(300, true);

	attach(2);
	waitpid(child, NULL, 0);
	cr_assert(!want[0].why.err && want[0].existed && want[1].existed, "%s", want[0].why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 0);
}

Test(iscsi_attach, or_made_when_it_has_not)
{
	pid_t child = other(300, false);

	want[1].nth = 1;
	attach(2);
	waitpid(child, NULL, 0);
	cr_assert(!want[0].why.err && !want[0].existed && !want[1].existed, "%s", want[0].why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2);
}

Test(iscsi_attach, it_is_not_waited_for_without_end)
{
	pid_t child = other(1500, false);

	cr_assert_eq(iscsi_attach(loop, tree.root, want, 1, loop_clock() + SEC / 2, &why), 0);
	waitpid(child, NULL, 0);
	cr_assert_eq(want[0].why.err, EBUSY);
	diag_says(&want[0].why, DIAG_BUSY, NULL, "process target");
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 0);
}

Test(iscsi_attach, two_that_wait_for_each_other_do_not_for_long)
{
	uint64_t begun = loop_clock();
	struct addr there = want[0].portal;
	int turns = kernel_iscsi_turns(tree.root);
	pid_t child;

	want[1].target = "iqn.x:u";
	cr_assert(kernel_iscsi_turn_take(turns, kernel_iscsi_turn("tcp", want[1].target, &there)));
	child = fork();
	if (!child) { /* lets the second go when it gets the first */
		while (!kernel_iscsi_turn_take(
			       turns, kernel_iscsi_turn("tcp", want[0].target, &there)) ||
			loop_clock() - begun < SEC / 2)
			usleep(20000);
		_exit(0);
	}
	close(turns);
	attach(2);
	waitpid(child, NULL, 0);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2);
	cr_assert(loop_clock() - begun < 5 * SEC);
}
