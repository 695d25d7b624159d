/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whole sessions against a kernel, a target and a /sys made here: what they share, what stays, what
 * is undone. */
/* Link: leap */
#include "attach_iscsi.h"
#include "iscsi_kernel.h"
#include "kernel_iscsi.h"
#include "leap.h"
#include "says.h"
#include "tree.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
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
static struct iscsi_identity from = { .initiator = "iqn.x:me" };
static struct attach_iscsi job[3];
static int listener;

static void unit(const char *name, const char *type)
{
	char path[100];

	snprintf(path, sizeof(path), "sys/class/scsi_device/%s/device/type", name);
	tree_file(&tree, path, type);
}

/* The kernel creates session1 and host6. A session found during its creation has no portal yet. */
static void setup(void)
{
	socklen_t len = sizeof(job[0].params.portal.ss);

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
	job[0].params =
		(struct iscsi_session_params){ .target = "iqn.x:t", .tpgt = -1, .from = &from };
	job[0].luns.lun = 1;
	iscsi_settings_init(&job[0].params.set);
	addr_parse(&job[0].params.portal, "127.0.0.1:0", 0, NULL);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(listener, (struct sockaddr *)&job[0].params.portal.ss,
			     job[0].params.portal.len),
		0);
	cr_assert_eq(listen(listener, 9), 0);
	getsockname(listener, (struct sockaddr *)&job[0].params.portal.ss, &len);
	job[1].params = job[2].params = job[0].params;
	job[1].luns.lun = job[2].luns.lun = 3;
}

static void fini(void)
{
	attach_luns_free(&job[0].luns);
	attach_luns_free(&job[1].luns);
	attach_luns_free(&job[2].luns);
	loop_free(loop);
	iscsi_kernel_stop();
	close(listener);
	tree_free(&tree);
}
TestSuite(iscsi, .init = setup, .fini = fini);

static void attach_within(unsigned ms, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		job[i].due = true;
	cr_assert_eq(
		iscsi_attach(loop, tree.root, job, count, loop_clock() + ms * (SEC / 1000), &why),
		0, "%s", why.text);
}

static void attach(unsigned count)
{
	attach_within(10000, count);
}

Test(iscsi, two_units_of_one_target_are_one_session)
{
	attach(2);
	cr_assert(!job[0].attach.why.err && !job[1].attach.why.err, "%s%s", job[0].attach.why.text,
		job[1].attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 1);
	cr_assert(!job[0].existed && job[1].existed && job[1].sid == 1 && job[1].luns.host == 6);
	cr_assert_eq(iscsi_kernel.sessions, 1);
}

Test(iscsi, which_stays_when_one_of_them_is_there)
{
	for (unsigned missing = 0; missing < 2; missing++) {
		iscsi_kernel_start();
		job[missing].luns.lun = 7;
		attach(2);
		cr_assert_eq(
			job[missing].attach.why.err, ENOENT, "%s", job[missing].attach.why.text);
		cr_assert(!job[!missing].attach.why.err, "%s", job[!missing].attach.why.text);
		cr_assert_eq(iscsi_kernel.sessions, 1);
		job[missing].luns.lun = 1;
		job[missing].attach.why = (struct diag){ 0 };
		attach_luns_free(&job[!missing].luns);
	}
}

Test(iscsi, and_goes_when_none_is)
{
	job[0].luns.lun = job[1].luns.lun = 7;
	attach(2);
	cr_assert(job[0].attach.why.err == ENOENT && job[1].attach.why.err == ENOENT);
	cr_assert(!iscsi_kernel.sessions && !iscsi_kernel.conns && !job[0].attach.users[0]);
}

Test(iscsi, two_sessions_that_are_asked_for_are_two)
{
	static const struct iscsi_identity other = { .initiator = "iqn.x:you" };

	job[1].params.nth = 1;
	attach(2);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2);
	attach_luns_free(&job[0].luns);
	attach_luns_free(&job[1].luns);
	iscsi_kernel_start();
	job[1].params.nth = 0;
	job[1].params.from = &other;
	attach(2);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2, "others log in");
}

Test(iscsi, a_login_that_fails_fails_for_both)
{
	iscsi_kernel.status = 0x0202;
	attach(2);
	cr_assert(job[0].attach.why.err == EPERM && job[1].attach.why.err == EPERM &&
		  job[1].result.status == 0x0202);
	cr_assert(!iscsi_kernel.sessions && !job[1].existed);
}

/* The login is under way, and the others wait for it. */
static void give_up(struct loop_timer *timer)
{
	if (!iscsi_kernel.count[ISCSI_IF_SEND_PDU]) {
		loop_timer_set(loop, timer, loop_clock() + SEC / 100);
		return;
	}
	iscsi_kernel.mute = false;
	attach_cancel(&job[0].attach);
}

Test(iscsi, others_log_in_when_the_first_is_given_up)
{
	struct loop_timer timer = { .fire = give_up };

	tree_file(&tree, "sys/devices/platform/host6/session2/iscsi_session/session2/state",
		"LOGGED_IN\n");
	tree_link(&tree, "sys/class/iscsi_session/session2",
		"../../devices/platform/host6/session2/iscsi_session/session2");
	iscsi_kernel.mute = true;
	loop_timer_set(loop, &timer, loop_clock() + SEC / 100);
	attach(3);
	cr_assert_eq(job[0].attach.why.err, EINTR, "%s", job[0].attach.why.text);
	cr_assert(!job[1].attach.why.err && !job[2].attach.why.err, "%s%s", job[1].attach.why.text,
		job[2].attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2);
	cr_assert(iscsi_kernel.sessions == 1 && !job[1].existed && job[2].existed);
	cr_assert(job[1].sid == 2 && job[2].sid == 2);
}

/* Two begin when the first has failed. */
static void start_others(struct attach *attach)
{
	(void)attach;
	iscsi_kernel.status = 0;
	iscsi_kernel.sid = 0;
	attach_start(&job[1].attach);
	attach_start(&job[2].attach);
}

Test(iscsi, three_of_which_the_first_fails)
{
	struct attach *first = &job[0].attach;

	for (unsigned i = 0; i < 3; i++)
		job[i].attach = (struct attach){ .proto = &attach_iscsi_row,
			.loop = loop,
			.root = tree.root,
			.deadline = loop_clock() + 10 * SEC };
	first->done = start_others;
	iscsi_kernel.status = 0x0301;
	cr_assert_eq(attach_run(loop, &first, 1, NULL), 0);
	cr_assert(job[0].attach.why.err && job[0].result.status == 0x0301);
	cr_assert(!job[1].attach.why.err && !job[2].attach.why.err, "%s%s", job[1].attach.why.text,
		job[2].attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2);
	cr_assert(!job[1].result.status && !job[2].result.status && iscsi_kernel.sessions == 1);
}

static unsigned failures;

static bool retry(struct attach *attach)
{
	cr_assert(attach->why.err);
	failures++;
	iscsi_kernel.status = 0;
	iscsi_kernel.sid = 0; /* /sys has session1 */
	return true;
}

static void let_retry(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		job[i].attach.retry_ms = 50;
		job[i].attach.retrying = retry;
	}
	iscsi_kernel.status = 0x0301;
}

Test(iscsi, three_that_fail_and_retry)
{
	let_retry(3);
	attach(3);
	for (unsigned i = 0; i < 3; i++)
		cr_assert(!job[i].attach.why.err && !job[i].result.status && job[i].sid == 1, "%s",
			job[i].attach.why.text);
	cr_assert_eq(failures, 3);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2);
	cr_assert(iscsi_kernel.sessions == 1 && iscsi_kernel.conns == 1);
}

static bool interrupt(struct attach *attach)
{
	(void)attach;
	if (++failures == 3)
		kill(getpid(), SIGINT);
	return true;
}

/* One retries, one waits for its disk: the session that it has made is undone. */
Test(iscsi, interrupted_during_retries)
{
	uint64_t begun = loop_clock();

	unit("6:0:0:1", "0\n"); /* its block device does not come */
	job[1].params.portal = (struct addr){ 0 };
	job[1].host = "127.0.0.1";
	job[1].port = 1; /* no listener */
	job[1].attach.retry_ms = 50;
	job[1].attach.retrying = interrupt;
	attach(2);
	cr_assert_eq(failures, 3);
	for (unsigned i = 0; i < 2; i++)
		diag_says(&job[i].attach.why, DIAG_CLOSED, NULL, "interrupted");
	cr_assert(!iscsi_kernel.sessions && !iscsi_kernel.conns && iscsi_kernel.logouts == 1);
	cr_assert(loop_clock() - begun < 8 * SEC);
}

/* A name is looked up on the loop, for each attempt until it has an address. */
Test(iscsi, hosts_that_are_names)
{
	job[0].host = "localhost";
	job[0].port = addr_port(&job[0].params.portal);
	job[0].params.portal = (struct addr){ 0 };
	job[1].params.portal = (struct addr){ 0 };
	job[1].host = "no such host";
	attach(2);
	cr_assert(!job[0].attach.why.err && job[0].sid == 1, "%s", job[0].attach.why.text);
	cr_assert_eq(addr_port(&job[0].params.portal), job[0].port);
	cr_assert(job[1].attach.why.err && !job[1].params.portal.ss.ss_family);
	text_says(job[1].attach.why.text, "no_such_host");
}

/* The kernel is handed one address. */
Test(iscsi, the_address_of_a_name_that_answers)
{
	const struct addr answers = job[0].params.portal;
	struct addr *portal = &job[0].params.portal;

	cr_assert_eq(addr_resolve(portal, "127.0.0.2", addr_port(&answers), 1000, NULL), 0);
	cr_assert(addr_add(portal, (const struct sockaddr *)&answers.ss));
	attach(1);
	cr_assert(!job[0].attach.why.err && job[0].sid == 1, "%s", job[0].attach.why.text);
	cr_assert(!memcmp(&portal->ss, &answers.ss, answers.len) && !portal->others);
}

/* Over iSER: 127.0.0.2, then the address that answers. The kernel has no route at the first calls.
 */
static struct addr two_addresses(struct attach_iscsi *one, unsigned times)
{
	const struct addr answers = one->params.portal;
	struct addr *portal = &one->params.portal;

	tree_file(&tree, "sys/class/iscsi_transport/iser/handle", "1\n");
	tree_dir(&tree, "sys/class/infiniband/rxe0");
	one->params.carrier = ISCSI_ISER;
	cr_assert_eq(addr_resolve(portal, "127.0.0.2", addr_port(&answers), 1000, NULL), 0);
	cr_assert(addr_add(portal, (const struct sockaddr *)&answers.ss));
	iscsi_kernel.code[ISCSI_IF_EP_CONNECT] = -EHOSTUNREACH;
	iscsi_kernel.times = times;
	return answers;
}

Test(iscsi, the_other_address_of_a_name_over_iser)
{
	const struct addr answers = two_addresses(&job[0], 1), *portal = &job[0].params.portal;

	attach(1);
	cr_assert(!job[0].attach.why.err && job[0].sid == 1, "%s", job[0].attach.why.text);
	cr_assert(!memcmp(&portal->ss, &answers.ss, answers.len) && !portal->others);
	cr_assert_eq(iscsi_kernel.sessions, 1);
}

Test(iscsi, no_address_of_a_name_over_iser)
{
	const struct addr answers = two_addresses(&job[0], 2), *portal = &job[0].params.portal;
	char list[300], at[2][ADDR_TEXT];

	snprintf(
		list, sizeof(list), "%s, %s", addr_text(portal, at[0]), addr_text(&answers, at[1]));
	attach(1);
	diag_says(&job[0].attach.why, DIAG_NO_DEVICE, list, "RDMA");
	cr_assert(portal->others == 1 && !iscsi_kernel.sessions, "all are there to be retried");
}

/* The second one follows the login of the first to either address. */
Test(iscsi, two_units_at_the_other_address_of_a_name)
{
	two_addresses(&job[1], 0);
	two_addresses(&job[0], 1);
	attach(2);
	cr_assert(!job[0].attach.why.err && !job[1].attach.why.err, "%s%s", job[0].attach.why.text,
		job[1].attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_EP_CONNECT], 2, "one login at each address");
	cr_assert_eq(iscsi_kernel.sessions, 1);
}

static void mounted_disk(void)
{
	unit("6:0:0:0", "0\n");
	tree_file(&tree, "sys/class/scsi_device/6:0:0:0/device/block/sda/dev", "8:0\n");
	tree_file(&tree, "sys/class/scsi_device/6:0:0:0/device/block/sda/queue/logical_block_size",
		"512\n");
	tree_file(&tree, "sys/dev/block/8:0/uevent", "MAJOR=8\nMINOR=0\nDEVNAME=sda\n");
	tree_file(&tree, "proc/self/mountinfo", "36 35 8:0 / /mnt rw - ext4 /dev/sda rw\n");
}

Test(iscsi, what_somebody_uses_is_not_undone)
{
	mounted_disk();
	job[0].luns.lun = 7;
	attach(1);
	cr_assert_eq(job[0].attach.why.err, ENOENT);
	cr_assert(job[0].attach.users[0] && iscsi_kernel.sessions == 1);
	text_says(job[0].attach.why.hint, "sda /mnt iser-logout_session1");
}

Test(iscsi, nothing_is_looked_for_where_nothing_was_begun)
{
	iscsi_kernel.no_socket = EPROTONOSUPPORT;
	attach(1);
	cr_assert_eq(job[0].attach.why.err, EPROTONOSUPPORT);
	diag_says(&job[0].attach.why, DIAG_NO_MODULE, NULL, "scsi_transport_iscsi");
	cr_assert(!job[0].luns.list && !iscsi_kernel.count[ISCSI_IF_CREATE_SESSION]);
}

static void found(const char *state, const char *target_state)
{
	char port[8];

	snprintf(port, sizeof(port), "%u\n", addr_port(&job[0].params.portal));
	tree_file(&tree, SESSION "state", state);
	tree_file(&tree, SESSION "target_state", target_state);
	tree_file(&tree, CONN "persistent_address", "127.0.0.1\n");
	tree_file(&tree, CONN "persistent_port", port);
}

Test(iscsi, one_that_is_there)
{
	found("LOGGED_IN\n", "SCANNED\n");
	attach(1);
	cr_assert(!job[0].attach.why.err && job[0].existed &&
			  !iscsi_kernel.count[ISCSI_IF_CREATE_SESSION],
		"%s", job[0].attach.why.text);
}

static const struct iscsi_identity mutual = { .initiator = "iqn.x:me",
	.auth = { .target_secret = "anothergoodsecret" } };

/* What only root can read of a session whose target has not authenticated itself. */
static void found_one_way(void)
{
	tree_file(&tree, SESSION "username", "joe\n");
	tree_file(&tree, SESSION "password", "longenoughsecret\n");
	tree_file(&tree, SESSION "username_in", "(null)\n");
	tree_file(&tree, SESSION "password_in", "(null)\n");
}

Test(iscsi, one_without_the_proof_that_is_asked_for)
{
	found("LOGGED_IN\n", "SCANNED\n");
	found_one_way();
	job[0].params.from = &mutual;
	attach(1);
	cr_assert_eq(job[0].attach.why.err, EALREADY);
	diag_says(&job[0].attach.why, DIAG_MISMATCH, NULL, "session1 authentication_of_the_target");
	cr_assert_not(job[0].attach.made);
	tree_file(&tree, SESSION "password_in", "anothergoodsecret\n");
	attach(1);
	cr_assert(!job[0].attach.why.err && job[0].existed, "%s", job[0].attach.why.text);
}

/* The first has logged in without it. */
Test(iscsi, one_of_two_units_asks_for_a_proof)
{
	found_one_way();
	job[1].params.from = &mutual;
	attach(2);
	cr_assert(!job[0].attach.why.err, "%s", job[0].attach.why.text);
	diag_says(&job[1].attach.why, DIAG_MISMATCH, NULL, "session1 authentication_of_the_target");
	cr_assert_eq(iscsi_kernel.sessions, 1, "and that of the first stays");
}

Test(iscsi, one_that_is_lost_and_that_nobody_keeps)
{
	found("FAILED\n", "SCANNED\n");
	attach(1);
	cr_assert(job[0].existed && !job[0].attach.why.err && job[0].luns.host == 6, "%s",
		job[0].attach.why.text);
	cr_assert(!iscsi_kernel.count[ISCSI_IF_CREATE_SESSION] && iscsi_kernel.started &&
		  iscsi_kernel.stop == ISCSI_IF_RECOVER);
}

Test(iscsi, and_the_target_does_not_answer)
{
	found("FAILED\n", "SCANNED\n");
	iscsi_kernel.status = 0x0301;
	attach(1);
	cr_assert(job[0].existed && job[0].attach.why.err &&
			  !iscsi_kernel.count[ISCSI_IF_DESTROY_SESSION],
		"%s", job[0].attach.why.text);
}

Test(iscsi, one_with_an_incomplete_logout)
{
	found("LOGGED_IN\n", "UNBOUND\n");
	attach(1);
	cr_assert_eq(job[0].attach.why.err, EBUSY);
	diag_says(&job[0].attach.why, DIAG_BUSY, NULL, "session1 iser-logout_session1");
	cr_assert(!iscsi_kernel.count[ISCSI_IF_DESTROY_SESSION]);
}

Test(iscsi, a_host_of_the_same_number)
{
	unlinkat(tree.root, "sys/class/iscsi_session/session1", 0);
	attach(1);
	diag_says(&job[0].attach.why, DIAG_CLOSED, NULL, "session1");
	cr_assert(!job[0].luns.list && !job[0].luns.count, "units of a host that may be another's");
}

static void send_interrupt(struct loop_timer *timer)
{
	(void)timer;
	cr_assert_eq(kill(getpid(), SIGINT), 0);
}

Test(iscsi, interrupted_while_disks_are_waited_for)
{
	struct loop_timer timer = { .fire = send_interrupt };
	uint64_t begun = loop_clock();

	unit("6:0:0:1", "0\n"); /* its block device does not come */
	loop_timer_set(loop, &timer, begun + SEC / 3);
	attach(1);
	cr_assert_eq(job[0].attach.why.err, EINTR);
	diag_says(&job[0].attach.why, DIAG_CLOSED, NULL, "interrupted");
	cr_assert(!iscsi_kernel.sessions && loop_clock() - begun < 5 * SEC);
}

static void done(struct attach *attach)
{
	(void)attach;
}

/* session1, which was logged in to before. */
static int detach(unsigned ms, bool force)
{
	struct attach *list = &job[1].attach;

	job[1] = (struct attach_iscsi){ .attach = { .proto = &attach_iscsi_row,
						.loop = loop,
						.root = tree.root,
						.deadline = loop_clock() + ms * (SEC / 1000),
						.force = force,
						.done = done },
		.sid = 1,
		.luns.host = 6 };
	attach_detach(list);
	cr_assert_eq(attach_run(loop, &list, 1, NULL), 0);
	return -list->why.err;
}

/* It stays in /sys, as nothing here removes it. */
Test(iscsi, a_logout)
{
	attach(1);
	cr_assert_eq(detach(10000, false), -EBUSY);
	diag_says(&job[1].attach.why, DIAG_BUSY, NULL, "refuses session1");
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_UNBIND_SESSION], 1);
	cr_assert_eq(iscsi_kernel.logouts, 1);
	cr_assert(!iscsi_kernel.sessions && !iscsi_kernel.conns);
}

Test(iscsi, a_logout_of_a_session_that_is_lost)
{
	attach(1);
	unlinkat(tree.root, "sys/class/iscsi_session/session1", 0);
	cr_assert_eq(detach(10000, false), 0, "%s", job[1].attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_UNBIND_SESSION], 0, "there is no target to tell");
	cr_assert_eq(iscsi_kernel.logouts, 0);
	cr_assert(!iscsi_kernel.sessions && !iscsi_kernel.conns);
}

Test(iscsi, a_logout_without_an_answer)
{
	attach(1);
	iscsi_kernel.mute = true;
	cr_assert_eq(detach(200, false), -EBUSY);
	diag_says(&job[1].attach.why, DIAG_BUSY, NULL, "refuses session1");
	cr_assert_eq(iscsi_kernel.logouts, 1);
	cr_assert(!iscsi_kernel.sessions && !iscsi_kernel.conns, "it is ended nevertheless");
}

/* The kernel flushes disks for as long as they take. Other commands must not wait for that. */
Test(iscsi, a_removal_that_takes_long)
{
	attach(1);
	iscsi_kernel.flushes = true;
	cr_assert_eq(detach(300, false), -ETIMEDOUT);
	diag_says(&job[1].attach.why, DIAG_TIMEOUT, NULL, "waiting session1");
	text_says(job[1].attach.why.hint, "I/O disks");
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_DESTROY_SESSION_ASYNC], 1);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_DESTROY_SESSION], 0);
}

/* The kernel takes no request while it is not done with the one before. */
Test(iscsi, a_logout_that_is_never_sent)
{
	attach(1);
	iscsi_kernel.flushes = true;
	iscsi_kernel.refuse[ISCSI_IF_SEND_PDU] = EPERM;
	cr_assert_eq(detach(20, false), -ETIMEDOUT);
	diag_says(&job[1].attach.why, DIAG_TIMEOUT, NULL, "waiting session1");
}

Test(iscsi, a_kernel_that_removes_within_the_command)
{
	attach(1);
	iscsi_kernel.refuse[ISCSI_IF_DESTROY_SESSION_ASYNC] = ENOSYS;
	unlinkat(tree.root, "sys/class/iscsi_session/session1", 0);
	cr_assert_eq(detach(10000, false), 0, "%s", job[1].attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_DESTROY_SESSION], 1);
	cr_assert(!iscsi_kernel.sessions && !iscsi_kernel.conns);
}

/* The turn takes long; children go on. */
static void be_busy(struct loop_work *work)
{
	(void)work;
	usleep(1000);
	leap_now += SEC / 30;
}
static struct loop_work busy = { .run = be_busy };

static void make_busy(struct loop_timer *timer)
{
	loop_work_add(loop, &busy);
	loop_timer_set(loop, timer, loop_clock() + 1);
}

/* Its event and the look at /sys come in one turn of the loop. */
Test(iscsi, a_removal_that_is_noticed_twice)
{
	struct loop_timer timer = { .fire = make_busy };

	attach(1);
	unlinkat(tree.root, "sys/class/iscsi_session/session1", 0);
	loop_timer_set(loop, &timer, loop_clock());
	cr_assert_eq(detach(NO_LIMIT_MS, false), 0, "%s", job[1].attach.why.text);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + SEC / 10);
	loop_timer_del(loop, &timer);
}

/* By another process, with an event that is lost. */
Test(iscsi, a_session_that_is_being_removed)
{
	attach(1);
	iscsi_kernel.refuse[ISCSI_IF_DESTROY_SESSION_ASYNC] = EINVAL;
	unlinkat(tree.root, "sys/class/iscsi_session/session1", 0);
	cr_assert_eq(detach(10000, false), 0, "%s", job[1].attach.why.text);
}

Test(iscsi, no_logout_from_what_is_in_use)
{
	attach(1);
	mounted_disk();
	cr_assert_eq(detach(10000, false), -EBUSY);
	text_says(job[1].attach.users, "sda /mnt");
	cr_assert(iscsi_kernel.sessions == 1 && !iscsi_kernel.logouts);
	detach(10000, true);
	cr_assert(!iscsi_kernel.sessions && iscsi_kernel.logouts == 1);
}

/* One that waits for its disk has made the session; the other gets its own, and then the first is
 * given up. */
Test(iscsi, which_stays_when_its_maker_is_given_up)
{
	uint64_t until = loop_clock() + SEC / 2;

	unit("6:0:0:1", "0\n"); /* its block device does not come */
	attach_within(500, 2);
	cr_assert_eq(job[0].attach.why.err, ETIMEDOUT, "%s", job[0].attach.why.text);
	cr_assert(!job[1].attach.why.err, "%s", job[1].attach.why.text);
	cr_assert(loop_clock() >= until && iscsi_kernel.sessions == 1);
}

/* The first fails at once, while the other still waits for its disk. */
static void need_no_disk(struct loop_timer *timer)
{
	(void)timer;
	unit("6:0:0:1", "1\n");
}

static void one_fails_early(unsigned ms, bool comes)
{
	struct loop_timer timer = { .fire = need_no_disk };

	job[0].luns.lun = 7;
	job[1].luns.lun = 1;
	unit("6:0:0:1", "0\n"); /* its block device does not come */
	if (comes)
		loop_timer_set(loop, &timer, loop_clock() + SEC / 3);
	attach_within(ms, 2);
	cr_assert_eq(job[0].attach.why.err, ENOENT, "%s", job[0].attach.why.text);
}

Test(iscsi, which_is_left_to_one_that_waits)
{
	one_fails_early(10000, true);
	cr_assert(!job[1].attach.why.err, "%s", job[1].attach.why.text);
	cr_assert(iscsi_kernel.sessions == 1 && !iscsi_kernel.logouts);
}

Test(iscsi, who_undoes_it_in_the_end)
{
	one_fails_early(600, false);
	cr_assert_eq(job[1].attach.why.err, ETIMEDOUT);
	cr_assert(!iscsi_kernel.sessions && iscsi_kernel.logouts == 1);
}

Test(iscsi, a_host_that_can_not_be_scanned)
{
	unlinkat(tree.root, "sys/class/scsi_host/host6/scan", 0);
	attach(2);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(job[i].attach.why.err, ENOENT);
		text_says(job[i].attach.why.text, "host6");
	}
	cr_assert(!iscsi_kernel.sessions && iscsi_kernel.logouts == 1);
}

Test(iscsi, scanned_in_the_background)
{
	job[0].attach.no_wait = job[1].attach.no_wait = true;
	job[1].luns.lun = 7;
	attach(2);
	for (unsigned i = 0; i < 2; i++)
		cr_assert(!job[i].attach.why.err && job[i].luns.count == 2, "%s",
			job[i].attach.why.text);
	cr_assert_eq(iscsi_kernel.sessions, 1);
}

Test(iscsi, modules_that_are_missing)
{
	unlinkat(tree.root, "sys/class/iscsi_transport/tcp/handle", 0);
	unlinkat(tree.root, "sys/class/iscsi_transport/tcp", AT_REMOVEDIR);
	attach(2);
	for (unsigned i = 0; i < 2; i++)
		diag_says(&job[i].attach.why, DIAG_NO_MODULE, NULL, "iscsi_tcp");
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 0);
}

/* Another process has the turn of a target for some time. Its lock belongs to an open file, so this
 * process can stand in for it. */
static struct other {
	struct loop_timer timer;
	uint64_t begun, turn;
	int turns;
	bool makes; /* the session */
} other;

static uint64_t turn_of(const struct attach_iscsi *iscsi)
{
	return kernel_iscsi_login_lock_id(iscsi->params.carrier == ISCSI_ISER ? "iser" : "tcp",
		iscsi->params.target, &iscsi->params.portal);
}

static void other_ends(struct loop_timer *timer)
{
	(void)timer;
	if (other.makes)
		found("LOGGED_IN\n", "SCANNED\n");
	kernel_iscsi_login_unlock(other.turns, other.turn);
}

static void other_begins(unsigned ms, bool makes)
{
	other = (struct other){ .timer.fire = other_ends,
		.turn = turn_of(&job[0]),
		.turns = kernel_iscsi_login_lock_open(tree.root),
		.makes = makes };
	cr_assert(kernel_iscsi_login_trylock(other.turns, other.turn));
	loop_timer_set(loop, &other.timer, loop_clock() + ms * (SEC / 1000));
}

Test(iscsi, what_another_process_makes_meanwhile_is_taken)
{
	other_begins(300, true);
	attach(2);
	cr_assert(!job[0].attach.why.err && job[0].existed && job[1].existed, "%s",
		job[0].attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 0);
}

Test(iscsi, or_made_when_it_has_not)
{
	other_begins(300, false);
	job[1].params.nth = 1;
	attach(2);
	cr_assert(!job[0].attach.why.err && !job[0].existed && !job[1].existed, "%s",
		job[0].attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2);
}

Test(iscsi, it_is_not_waited_for_without_end)
{
	other_begins(1500, false);
	attach_within(500, 1);
	loop_timer_del(loop, &other.timer);
	cr_assert_eq(job[0].attach.why.err, EBUSY);
	diag_says(&job[0].attach.why, DIAG_BUSY, NULL, "process target");
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 0);
}

/* That says nothing about the first address of a name, whose time would be over after 5 s. */
Test(iscsi, it_is_waited_for_longer_than_one_address)
{
	two_addresses(&job[0], 0);
	other_begins(7000, false);
	attach(1);
	cr_assert(!job[0].attach.why.err, "%s", job[0].attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_EP_CONNECT], 1);
}

/* Lets the second go when it gets the first. */
static void other_waits(struct loop_timer *timer)
{
	if (kernel_iscsi_login_trylock(other.turns, turn_of(&job[0])) &&
		loop_clock() - other.begun >= SEC / 2) {
		close(other.turns);
		return;
	}
	loop_timer_set(loop, timer, loop_clock() + SEC / 50);
}

Test(iscsi, two_that_wait_for_each_other_do_not_for_long)
{
	uint64_t begun = loop_clock();

	job[1].params.target = "iqn.x:u";
	other = (struct other){ .timer.fire = other_waits,
		.begun = begun,
		.turns = kernel_iscsi_login_lock_open(tree.root) };
	cr_assert(kernel_iscsi_login_trylock(other.turns, turn_of(&job[1])));
	loop_timer_set(loop, &other.timer, begun);
	attach(2);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 2);
	cr_assert(loop_clock() - begun < 5 * SEC);
}
