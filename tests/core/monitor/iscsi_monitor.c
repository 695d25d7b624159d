/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The session monitor between a fake /sys and a fake kernel behind NETLINK_ISCSI: events in,
 * commands out. */
/* Link: leap */
#include "iscsi_kernel.h"
#include "iscsi_monitor_session.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEVICE "sys/devices/platform/host3/session7/iscsi_session/session7/"
#define LINK   "sys/class/iscsi_session/session7"
#define CONN   "sys/class/iscsi_connection/connection7:0/"
#define MSEC   1000000ull

static struct tree tree;
static struct diag why;
static struct loop *loop;
static struct iscsi_monitor *monitor;
static char log_text[4000];
static volatile int waited;
static const char *awaited;
static unsigned overs;

static void put(const char *dir, const char *name, const char *text)
{
	char path[200];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	tree_file(&tree, path, text);
}

static void say(void *arg, const char *line)
{
	(void)arg;
	snprintf(log_text + strlen(log_text), sizeof(log_text) - strlen(log_text), "%s\n", line);
	if (awaited && !text_missing(line, awaited))
		waited = 1;
}

static void over(void *arg)
{
	(void)arg;
	overs++;
	if (!awaited)
		waited = 1;
}

static const struct iscsi_monitor_events events = { NULL, say, over };

static void make_session(void)
{
	static const char *const file[][3] = { { DEVICE, "state", "LOGGED_IN\n" },
		{ DEVICE, "target_state", "SCANNED\n" },
		{ DEVICE, "targetname", "iqn.2026-11.example:t1\n" },
		{ DEVICE, "initiatorname", "iqn.2026-11.example:me\n" },
		{ DEVICE, "ifacename", "iser\n" }, { DEVICE, "tpgt", "1\n" },
		{ DEVICE, "recovery_tmo", "33\n" }, { DEVICE, "username", "(null)\n" },
		{ DEVICE, "password", "(null)\n" }, { DEVICE, "username_in", "(null)\n" },
		{ DEVICE, "password_in", "(null)\n" }, { CONN, "state", "up\n" },
		{ CONN, "persistent_address", "10.0.0.1\n" }, { CONN, "persistent_port", "3260\n" },
		{ CONN, "address", "10.0.0.1\n" }, { CONN, "port", "3260\n" },
		{ "sys/class/scsi_host/host3/", "proc_name", "iscsi_iser\n" } };

	for (unsigned i = 0; i < sizeof(file) / sizeof(*file); i++)
		put(file[i][0], file[i][1], file[i][2]);
	tree_link(&tree, LINK, "../../devices/platform/host3/session7/iscsi_session/session7");
}

static void setup(void)
{
	char handle[8];

	tree = tree_new();
	why = (struct diag){ 0 };
	iscsi_kernel_start();
	snprintf(handle, sizeof(handle), "%d\n", ISCSI_ISER);
	put("sys/class/iscsi_transport/iser/", "handle", handle);
	make_session();
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &why), 0);
	cr_assert_eq(
		iscsi_monitor_new(&monitor, loop, tree.root, &events, &why), 0, "%s", why.text);
}

static void fini(void)
{
	iscsi_monitor_free(monitor);
	loop_free(loop);
	iscsi_kernel_stop();
	tree_free(&tree);
}
TestSuite(monitor, .init = setup, .fini = fini);

/* Wait for a message with these words. NULL: wait until there is no session. */
static bool comes(const char *words)
{
	awaited = words;
	waited = words && lines_saying(log_text, words);
	return loop_wait(loop, &waited, loop_clock() + 3000 * MSEC);
}

static void rest(unsigned ms)
{
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + ms * MSEC);
}

static void session_event(uint32_t type)
{
	struct iscsi_if_msg msg = { .type = type };

	msg.r.session.sid = 7;
	if (type == ISCSI_IF_SESSION_DESTROYED) {
		msg.r.gone.host = 3;
		msg.r.gone.sid = 7;
	}
	iscsi_kernel_event(&msg, NULL, NULL, 0);
}

static void pdu_event(const void *bhs)
{
	struct iscsi_if_msg msg = { .type = ISCSI_IF_RECV_PDU };

	msg.r.recv.conn.sid = 7;
	iscsi_kernel_event(&msg, bhs, NULL, 0);
}

static void lose(void)
{
	put(DEVICE, "state", "FAILED\n");
	iscsi_kernel_error(7, ISCSI_IF_CONN_CLOSED);
}

Test(monitor, logs_in_again)
{
	const uint8_t isid[] = { 0x00, 0x02, 0x3d, 0x00, 0x00, 0x07 };

	put(DEVICE, "username", "joe\n");
	put(DEVICE, "password", "twelve bytes\n");
	rest(10);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_STOP_CONN], 0, "what is logged in is left alone");
	lose();
	cr_assert(comes("session7 logged_in 1_try"), "%s", log_text);
	cr_assert_eq(
		lines_saying(log_text, "session7 connection closed target"), 1, "%s", log_text);
	cr_assert(iscsi_kernel.count[ISCSI_IF_STOP_CONN] == 1 &&
		  iscsi_kernel.count[ISCSI_IF_START_CONN] == 1 && iscsi_kernel.started);
	cr_assert(!iscsi_kernel.count[ISCSI_IF_CREATE_SESSION] &&
		  !iscsi_kernel.count[ISCSI_IF_CREATE_BOUND_SESSION]);
	cr_assert(!iscsi_kernel.count[ISCSI_IF_DESTROY_SESSION] &&
		  !iscsi_kernel.count[ISCSI_IF_DESTROY_CONN]);
	cr_assert_arr_eq(
		iscsi_kernel.isid, isid, sizeof(isid), "for the target it is the same session");
	cr_assert_str_eq(iscsi_kernel.set[ISCSI_IF_TARGET_NAME], "iqn.2026-11.example:t1");
	cr_assert_str_eq(iscsi_kernel.set[ISCSI_IF_INITIATOR_NAME], "iqn.2026-11.example:me");
	cr_assert_str_eq(iscsi_kernel.set[ISCSI_IF_PERSISTENT_ADDRESS], "10.0.0.1");
	cr_assert_str_eq(iscsi_kernel.set[ISCSI_IF_RECOVERY_TMO], "33");
	cr_assert_str_eq(iscsi_kernel.set[ISCSI_IF_USERNAME], "joe");
	cr_assert_str_eq(iscsi_kernel.set[ISCSI_IF_PASSWORD], "twelve bytes");
	cr_assert_eq(overs, 0);
}

Test(monitor, tries_again)
{
	iscsi_kernel.status = ISCSI_UNAVAILABLE;
	lose();
	cr_assert(comes("session7 login 0301"), "%s", log_text);
	cr_assert_eq(iscsi_kernel.stop, ISCSI_IF_RECOVER, "the session stays");
	iscsi_kernel.status = 0;
	cr_assert(comes("session7 logged_in 2_tries"), "%s", log_text);
}

Test(monitor, leaves_it_to_iscsid)
{
	put("proc/400/", "comm", "iscsid\n");
	put("proc/400/", "status", "Name:\tiscsid\nUid:\t0\t0\t0\t0\n");
	put("proc/400/", "stat", "400 (iscsid) S 1\n");
	lose();
	cr_assert(comes("iscsid 400"), "%s", log_text);
	rest(50);
	for (unsigned i = 0; i < ISCSI_KERNEL_COMMANDS; i++)
		cr_assert_eq(iscsi_kernel.count[i], 0, "command %u", i);
}

/* The process that creates the session is alive and receives the event, too. */
Test(monitor, leaves_a_session_in_the_making_to_its_maker)
{
	put(DEVICE, "creator", "500\n");
	put("proc/500/", "stat", "500 (iser-login) S 1\n");
	unlinkat(tree.root, LINK, 0);
	session_event(ISCSI_IF_SESSION_DESTROYED);
	cr_assert(comes(NULL));
	put(DEVICE, "state", "FREE\n");
	tree_link(&tree, LINK, "../../devices/platform/host3/session7/iscsi_session/session7");
	session_event(ISCSI_IF_SESSION_CREATED);
	iscsi_kernel_error(7, ISCSI_IF_CONN_FAILED);
	rest(50);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_STOP_CONN], 0);
	put("proc/500/", "stat", "500 (iser-login) Z 1\n");
	cr_assert(comes("session7 logged_in"), "%s", log_text);
}

Test(monitor, ends_with_the_last_session)
{
	session_event(ISCSI_IF_SESSION_UNBOUND);
	lose();
	rest(50);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_STOP_CONN], 0, "another process logs out");
	cr_assert_eq(overs, 0);
	cr_assert(!iscsi_monitor_is_idle(monitor));
	unlinkat(tree.root, LINK, 0);
	session_event(ISCSI_IF_SESSION_DESTROYED);
	cr_assert(comes(NULL));
	cr_assert_eq(overs, 1);
	cr_assert(iscsi_monitor_is_idle(monitor));
	make_session();
	cr_assert(!iscsi_monitor_is_idle(monitor), "a session without an event is found");
}

/* Sessions of an offload adapter, which recovers them itself. */
Test(monitor, does_not_stay_for_what_it_cannot_keep)
{
	unlinkat(tree.root, LINK, 0);
	session_event(ISCSI_IF_SESSION_DESTROYED);
	cr_assert(comes(NULL));
	put("sys/class/scsi_host/host3/", "proc_name", "bnx2i\n");
	tree_link(&tree, LINK, "../../devices/platform/host3/session7/iscsi_session/session7");
	session_event(ISCSI_IF_SESSION_CREATED);
	lose();
	rest(50);
	cr_assert(iscsi_monitor_is_idle(monitor));
	cr_assert_str_eq(log_text, "");
}

Test(monitor, sees_that_it_is_gone)
{
	iscsi_kernel.mute = true;
	lose();
	cr_assert(comes("session7 connection"));
	rest(20);
	cr_assert(iscsi_kernel.bound);
	unlinkat(tree.root, LINK, 0);
	cr_assert(comes(NULL), "%s", log_text);
	cr_assert(!iscsi_kernel.bound, "the login was given up");
}

static struct iscsi_async asks(uint8_t event, uint16_t first, uint16_t second, uint16_t third)
{
	return (struct iscsi_async){ .opcode = ISCSI_ASYNC,
		.flags = ISCSI_FINAL,
		.event = event,
		.parameter = { put_be16(first), put_be16(second), put_be16(third) } };
}

Test(monitor, logs_out_as_it_is_asked)
{
	struct iscsi_async message = asks(ISCSI_ASYNC_LOGOUT, 0, 0, 3);

	rest(10);
	pdu_event(&message);
	cr_assert(comes("session7 logged_in"), "%s", log_text);
	cr_assert_eq(lines_saying(log_text, "session7 target logout 3_s"), 1, "%s", log_text);
	cr_assert_eq(
		lines_saying(log_text, "session7 connection logged_out target"), 1, "%s", log_text);
	cr_assert_gt(iscsi_kernel.count[ISCSI_IF_SEND_PDU], 1);
}

Test(monitor, gives_the_target_the_time_it_wants)
{
	struct iscsi_async other = asks(ISCSI_ASYNC_DROP, 1, 60, 0),
			   all = asks(ISCSI_ASYNC_DROP_ALL, 0, 1, 0), nothing = asks(99, 0, 60, 60);
	uint64_t begun = loop_clock();

	pdu_event(&all);
	pdu_event(&other); /* of connection 1 */
	pdu_event(&nothing);
	lose();
	cr_assert(comes("session7 logged_in"), "%s", log_text);
	cr_assert_geq(loop_clock() - begun, 1000 * MSEC);
}

Test(monitor, why_it_cannot_begin)
{
	put("sys/module/scsi_transport_iscsi/", "uevent", "");
	unlinkat(tree.root, "sys/module/scsi_transport_iscsi/uevent", 0);
	cr_assert_eq(iscsi_monitor_spawn(tree.root, &(int){ 0 }, &why), -ENOENT);
	diag_says(
		&why, DIAG_NOT_FOUND, NULL, "/sys/module/scsi_transport_iscsi/uevent no_such_file");
}

Test(monitor, is_not_started_beside_iscsid)
{
	int pid = 0;

	put("proc/400/", "comm", "iscsid\n");
	put("proc/400/", "status", "Name:\tiscsid\nUid:\t0\t0\t0\t0\n");
	put("proc/400/", "stat", "400 (iscsid) S 1\n");
	cr_assert_eq(iscsi_monitor_spawn(tree.root, &pid, &why), -EALREADY);
	cr_assert_eq(pid, 400);
}
