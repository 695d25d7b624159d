/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The login of one connection against a kernel and a target made here; TCP is connected to a
 * listener on loopback. */
/* Link: leap */
#include "attach_iscsi.h"
#include "iscsi_kernel.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct loop *loop;
static struct kernel_iscsi *nl;
static struct iscsi_link link_;
static struct iscsi_session_params params;
static struct iscsi_identity from = { .initiator = "iqn.x:me" };
static volatile int over;
static int listener;

static void done(struct iscsi_link *link)
{
	cr_assert_eq(link, &link_);
	over = 1;
}

static void init(void)
{
	socklen_t len = sizeof(params.portal.ss);

	iscsi_kernel_start();
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(kernel_iscsi_open(&nl, loop, NULL, NULL), 0);
	params = (struct iscsi_session_params){ .target = "iqn.x:t", .tpgt = -1, .from = &from };
	iscsi_settings_init(&params.set);
	link_ = (struct iscsi_link){
		.params = &params, .nl = nl, .done = done, .transport = ISCSI_TCP
	};
	addr_parse(&params.portal, "127.0.0.1:0", 0, NULL);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(listener, (struct sockaddr *)&params.portal.ss, params.portal.len), 0);
	cr_assert_eq(listen(listener, 9), 0);
	getsockname(listener, (struct sockaddr *)&params.portal.ss, &len);
}

static void fini(void)
{
	iscsi_link_end(&link_);
	kernel_iscsi_close(nl);
	loop_free(loop);
	iscsi_kernel_stop();
	close(listener);
}
TestSuite(iscsi_link, .init = init, .fini = fini);

static int run(void)
{
	iscsi_link_start(&link_);
	cr_assert(loop_wait(loop, &over, loop_clock() + 20000000000ull));
	return -link_.dial.why.err;
}

static void nothing_left(void)
{
	cr_assert(!iscsi_kernel.sessions && !iscsi_kernel.conns && !iscsi_kernel.eps &&
			  !iscsi_kernel.bound,
		"%u sessions, %u connections, %u endpoints", iscsi_kernel.sessions,
		iscsi_kernel.conns, iscsi_kernel.eps);
	cr_assert_eq(iscsi_kernel.misuse, 0);
}

static void is_set(enum iscsi_if_param param, const char *text)
{
	cr_assert_str_eq(iscsi_kernel.set[param], text, "parameter %d", param);
}

Test(iscsi_link, the_kernel_gets_all_settings)
{
	char port[8];

	from.auth = (struct iscsi_auth){ .user = "joe", .secret = "longenoughsecret" };
	params.set.replacement_timeout = -1;
	params.netdev = NULL;
	cr_assert_eq(run(), 0, "%s", link_.dial.why.text);
	cr_assert(iscsi_kernel.started && iscsi_kernel.sessions == 1 && iscsi_kernel.conns == 1);
	cr_assert(link_.id.sid == 1 && link_.host == 6 && link_.dial.result.agreed.tpgt == 1 &&
		  link_.dial.result.agreed.tsih == 3 && link_.dial.result.answers);
	snprintf(port, sizeof(port), "%u",
		ntohs(((struct sockaddr_in *)&params.portal.ss)->sin_port));
	is_set(ISCSI_IF_TARGET_NAME, "iqn.x:t");
	is_set(ISCSI_IF_INITIATOR_NAME, "iqn.x:me");
	is_set(ISCSI_IF_PERSISTENT_ADDRESS, "127.0.0.1");
	is_set(ISCSI_IF_PERSISTENT_PORT, port);
	is_set(ISCSI_IF_IFACE_NAME, "default");
	is_set(ISCSI_IF_USERNAME, "joe");
	is_set(ISCSI_IF_PASSWORD, "longenoughsecret");
	is_set(ISCSI_IF_PASSWORD_IN, "");
	is_set(ISCSI_IF_RECOVERY_TMO, "-1");
	is_set(ISCSI_IF_PING_TMO, "5");
	is_set(ISCSI_IF_ABORT_TMO, "15");
	is_set(ISCSI_IF_TPGT, "1");
	is_set(ISCSI_IF_MAX_RECV, "262144");
	is_set(ISCSI_IF_MAX_XMIT, "32768");
	is_set(ISCSI_IF_MAX_BURST, "131072");
	is_set(ISCSI_IF_FIRST_BURST, "65536");
	is_set(ISCSI_IF_INITIAL_R2T, "1");
	is_set(ISCSI_IF_PDU_IN_ORDER, "1");
	is_set(ISCSI_IF_EXP_STATSN, "42");
	cr_assert(!memcmp(iscsi_kernel.isid, "\0\2\x3d\0\0\1", 6),
		"the session's number, as iscsid makes it");
	from.auth = (struct iscsi_auth){ 0 };
}

Test(iscsi_link, over_iser_the_kernel_connects)
{
	params.carrier = ISCSI_ISER;
	link_.transport = ISCSI_ISER;
	cr_assert_eq(run(), 0, "%s", link_.dial.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_BOUND_SESSION], 1);
	is_set(ISCSI_IF_IFACE_NAME, "iser");
	is_set(ISCSI_IF_MAX_XMIT, "8192");
	iscsi_link_end(&link_);
	cr_assert_eq(iscsi_kernel.sessions, 1, "what has succeeded stays");
}

Test(iscsi_link, on_an_old_kernel_too_no_endpoint_is_left)
{
	params.carrier = ISCSI_ISER;
	link_.transport = ISCSI_ISER;
	iscsi_kernel.status = 0x0202;
	iscsi_kernel.old = true;
	cr_assert_eq(run(), -EPERM);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_EP_DISCONNECT], 1);
	cr_assert(!iscsi_kernel.sessions && !iscsi_kernel.eps);
}

Test(iscsi_link, and_on_a_new_one_none_of_somebody_else)
{
	params.carrier = ISCSI_ISER;
	link_.transport = ISCSI_ISER;
	iscsi_kernel.status = 0x0202;
	cr_assert_eq(run(), -EPERM);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_EP_DISCONNECT], 1);
	nothing_left();
}

Test(iscsi_link, an_endpoint_that_the_kernel_has_ended_is_only_disconnected)
{
	params.carrier = ISCSI_ISER;
	link_.transport = ISCSI_ISER;
	iscsi_kernel.hangs_up = true;
	cr_assert_eq(run(), -ECONNRESET);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_EP_DISCONNECT], 1);
	nothing_left();
}

Test(iscsi_link, a_target_without_rdma_extensions)
{
	params.carrier = ISCSI_ISER;
	link_.transport = ISCSI_ISER;
	iscsi_kernel.no_rdma = true;
	cr_assert_eq(run(), -EOPNOTSUPP);
	nothing_left();
}

Test(iscsi_link, an_endpoint_that_does_not_come_up)
{
	params.carrier = ISCSI_ISER;
	link_.transport = ISCSI_ISER;
	iscsi_kernel.code[ISCSI_IF_EP_POLL] = -1;
	cr_assert_eq(run(), -ECONNREFUSED);
	diag_says(&link_.dial.why, DIAG_REFUSED, NULL, "127.0.0.1: RDMA");
	nothing_left();
}

Test(iscsi_link, an_endpoint_that_takes_for_ever)
{
	params.carrier = ISCSI_ISER;
	link_.transport = ISCSI_ISER;
	iscsi_kernel.code[ISCSI_IF_EP_POLL] = 0;
	link_.until = loop_clock() + 300000000;
	cr_assert_eq(run(), -ETIMEDOUT);
	diag_says(&link_.dial.why, DIAG_TIMEOUT, NULL, "127.0.0.1: RDMA");
	cr_assert_gt(iscsi_kernel.count[ISCSI_IF_EP_POLL], 2);
	nothing_left();
}

Test(iscsi_link, nobody_listens)
{
	close(listener);
	cr_assert_eq(run(), -ECONNREFUSED);
	diag_says(&link_.dial.why, DIAG_REFUSED, NULL, "connection_refused firewall");
	listener = -1;
	nothing_left();
}

Test(iscsi_link, every_command_may_be_refused)
{
	static const enum iscsi_if_command commands[] = { ISCSI_IF_CREATE_SESSION,
		ISCSI_IF_CREATE_CONN, ISCSI_IF_BIND_CONN, ISCSI_IF_SET_PARAM, ISCSI_IF_SEND_PDU,
		ISCSI_IF_START_CONN };

	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		memset(iscsi_kernel.refuse, 0, sizeof(iscsi_kernel.refuse));
		iscsi_kernel.refuse[commands[i]] = ENOMEM;
		over = 0;
		link_.dial.why = (struct diag){ 0 };
		cr_assert_eq(run(), -ENOMEM, "command %d: %s", commands[i], link_.dial.why.text);
		nothing_left();
	}
}

Test(iscsi_link, no_way_to_leave_by)
{
	params.netdev = "nosuch0";
	cr_assert_lt(run(), 0);
	diag_says(&link_.dial.why, DIAG_NO_DEVICE, NULL, "interface 'nosuch0'");
	over = 0;
	params.netdev = NULL;
	link_.dial.why = (struct diag){ 0 };
	addr_parse(&params.src, "192.0.2.1:0", 0, NULL);
	cr_assert_lt(run(), 0);
	text_says(link_.dial.why.text, "address 192.0.2.1");
	nothing_left();
}

Test(iscsi_link, no_rdma_device_has_a_way)
{
	params.carrier = ISCSI_ISER;
	link_.transport = ISCSI_ISER;
	iscsi_kernel.refuse[ISCSI_IF_EP_CONNECT] = ENODEV;
	cr_assert_eq(run(), -ENODEV);
	diag_says(&link_.dial.why, DIAG_NO_DEVICE, NULL, "RDMA_device 127.0.0.1: no_such_device");
	nothing_left();
}

Test(iscsi_link, somebody_else_ends_it)
{
	struct iscsi_if_msg msg = { .type = ISCSI_IF_SESSION_DESTROYED };

	iscsi_kernel.mute = true;
	iscsi_link_start(&link_);
	cr_assert_not(loop_wait(loop, &over, loop_clock() + 50000000));
	msg.r.gone.sid = 1;
	iscsi_kernel_event(&msg, NULL, NULL, 0);
	cr_assert(loop_wait(loop, &over, loop_clock() + 5000000000ull));
	diag_says(&link_.dial.why, DIAG_CLOSED, NULL, "session");
	cr_assert(!iscsi_kernel.count[ISCSI_IF_DESTROY_SESSION] &&
		  !iscsi_kernel.count[ISCSI_IF_DESTROY_CONN]);
}

Test(iscsi_link, only_root)
{
	iscsi_kernel.refuse[ISCSI_IF_CREATE_SESSION] = EPERM;
	cr_assert_eq(run(), -EPERM);
	diag_says(&link_.dial.why, DIAG_PERMISSION, NULL, "root");
}

Test(iscsi_link, the_kernel_is_not_done_with_the_last_request)
{
	iscsi_kernel.code[ISCSI_IF_SEND_PDU] = -EPERM;
	iscsi_kernel.times = 5;
	cr_assert_eq(run(), 0, "%s", link_.dial.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_SEND_PDU], 7);
}

Test(iscsi_link, the_kernel_never_is)
{
	iscsi_kernel.code[ISCSI_IF_SEND_PDU] = -EPERM;
	iscsi_kernel.times = 1000000;
	cr_assert_eq(run(), -EPERM);
	nothing_left();
}

Test(iscsi_link, a_refused_login_has_its_status)
{
	iscsi_kernel.status = 0x0202;
	cr_assert_eq(run(), -EPERM);
	cr_assert(link_.dial.result.answers && link_.dial.result.status == 0x0202);
	nothing_left();
}

Test(iscsi_link, a_target_that_hangs_up)
{
	iscsi_kernel.hangs_up = true;
	cr_assert_eq(run(), -ECONNRESET);
	cr_assert(!link_.dial.result.answers);
	diag_says(&link_.dial.why, DIAG_CLOSED, NULL, "target connection login");
	text_says(link_.dial.why.hint, "CHAP --user --secret-file");
	nothing_left();
}

Test(iscsi_link, a_target_that_says_nothing)
{
	iscsi_kernel.mute = true;
	link_.until = loop_clock() + 300000000;
	cr_assert_eq(run(), -ETIMEDOUT);
	diag_says(&link_.dial.why, DIAG_TIMEOUT, NULL, "login");
	nothing_left();
}

Test(iscsi_link, another_portal_group)
{
	params.tpgt = 2;
	cr_assert_eq(run(), -ENOENT);
	diag_says(&link_.dial.why, DIAG_NOT_FOUND, NULL, "portal_group 1 2");
	nothing_left();
}

Test(iscsi_link, a_circle)
{
	char at[ADDR_TEXT];

	iscsi_kernel.moved = addr_text(&params.portal, at);
	cr_assert_eq(run(), -ELOOP, "%s", link_.dial.why.text);
	nothing_left();
}

Test(iscsi_link, a_redirect_to_a_portal_without_a_listener)
{
	struct addr closed = params.portal;
	socklen_t len = sizeof(closed.ss);
	char at[ADDR_TEXT];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr_set_port(&closed, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&closed.ss, closed.len), 0);
	getsockname(fd, (struct sockaddr *)&closed.ss, &len);
	iscsi_kernel.moved = addr_text(&closed, at);
	cr_assert_eq(run(), -ECONNREFUSED, "%s", link_.dial.why.text);
	diag_says(&link_.dial.why, DIAG_REFUSED, NULL, at);
	cr_assert_eq(link_.dial.result.redirects, 1);
	close(fd);
	nothing_left();
}

Test(iscsi_link, a_redirect_to_a_name_where_none_is_looked_up)
{
	iscsi_kernel.moved = "disk.example:3260";
	link_.numeric_only = true;
	cr_assert_eq(run(), -EAFNOSUPPORT);
	diag_says(&link_.dial.why, DIAG_UNSUPPORTED, NULL, "redirect disk.example:3260");
	nothing_left();
}

Test(iscsi_link, a_session_with_a_lost_connection)
{
	link_.recover = true;
	link_.id = (struct iscsi_if_conn){ .sid = 7 };
	cr_assert_eq(run(), 0, "%s", link_.dial.why.text);
	cr_assert(iscsi_kernel.stop == ISCSI_IF_RECOVER && iscsi_kernel.started &&
		  !iscsi_kernel.sessions && !iscsi_kernel.conns);
	cr_assert_eq(iscsi_kernel.isid[5], 7, "the same name for the target to know it again by");
}

Test(iscsi_link, and_the_target_does_not_come_back)
{
	link_.recover = true;
	link_.id = (struct iscsi_if_conn){ .sid = 7 };
	iscsi_kernel.status = 0x0301;
	cr_assert_eq(run(), -EAGAIN);
	cr_assert_eq(iscsi_kernel.stop, ISCSI_IF_RECOVER);
	cr_assert(!iscsi_kernel.count[ISCSI_IF_DESTROY_SESSION] &&
		  !iscsi_kernel.count[ISCSI_IF_DESTROY_CONN]);
}

Test(iscsi_link, lost_as_soon_as_it_is_live)
{
	link_.recover = true;
	link_.id = (struct iscsi_if_conn){ .sid = 7 };
	iscsi_kernel.leaves = true;
	cr_assert_eq(run(), -ECONNRESET, "a monitor would take it for live");
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_START_CONN], 1);
	cr_assert_eq(iscsi_kernel.stop, ISCSI_IF_RECOVER);
	cr_assert(!iscsi_kernel.started);
}

Test(iscsi_link, given_up_half_way)
{
	iscsi_kernel.mute = true;
	iscsi_link_start(&link_);
	cr_assert_not(loop_wait(loop, &over, loop_clock() + 50000000));
	cr_assert_eq(iscsi_kernel.sessions, 1);
	iscsi_link_end(&link_);
	nothing_left();
}
