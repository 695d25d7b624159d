/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Bytes of events and answers, whole, cut and lying; who hears what. */
/* Link: leap */
#include "iscsi_nl.h"
#include "iscsi_kernel.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static uint8_t bytes[ISCSI_NL_MAX];

static size_t put(uint16_t type, const struct iscsi_if_msg *msg, size_t more)
{
	struct nlmsghdr head = { .nlmsg_len = (uint32_t)(ISCSI_NL_HEAD + more),
		.nlmsg_type = type };

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), msg, sizeof(*msg));
	return head.nlmsg_len;
}

Test(iscsi_nl, events_name_their_session)
{
	struct kernel_iscsi_event event;
	struct iscsi_if_msg msg = { .type = ISCSI_IF_CONN_ERROR };

	msg.r.state.conn.sid = 5;
	msg.r.state.conn.cid = 1;
	msg.r.state.value = ISCSI_IF_CONN_CLOSED;
	cr_assert(kernel_iscsi_nl_event(bytes, put(0, &msg, 0), &event));
	cr_assert(event.type == ISCSI_IF_CONN_ERROR && event.sid == 5 && event.cid == 1 &&
		  event.value == 1020);
	msg = (struct iscsi_if_msg){ .type = ISCSI_IF_SESSION_DESTROYED };
	msg.r.gone.host = 3;
	msg.r.gone.sid = 8;
	cr_assert(kernel_iscsi_nl_event(bytes, put(0, &msg, 0), &event));
	cr_assert(event.sid == 8 && event.value == 3 && !event.cid);
	msg = (struct iscsi_if_msg){ .type = ISCSI_IF_SESSION_UNBOUND };
	msg.r.session.sid = 9;
	msg.r.session.host = 4;
	cr_assert(kernel_iscsi_nl_event(bytes, put(0, &msg, 0), &event));
	cr_assert(event.sid == 9 && event.value == 4 && !event.cid);
	for (uint32_t type = 0; type < 200; type++) {
		msg.type = type;
		if (kernel_iscsi_nl_event(bytes, put(0, &msg, 0), &event))
			cr_assert(type == 102 || (type >= 104 && type <= 106) || type == 109, "%u",
				type);
	}
}

Test(iscsi_nl, a_pdu_is_whole_or_none)
{
	struct kernel_iscsi_event event;
	struct iscsi_if_msg msg = { .type = ISCSI_IF_RECV_PDU };
	struct iscsi_bhs *bhs = (void *)(bytes + ISCSI_NL_HEAD);
	size_t len = put(0, &msg, ISCSI_BHS + 8);

	bhs->opcode = ISCSI_LOGIN_RSP;
	bhs->data_len = put_be24(6);
	cr_assert(kernel_iscsi_nl_event(bytes, len, &event));
	cr_assert(event.len == 6 && event.data == bytes + ISCSI_NL_HEAD + ISCSI_BHS &&
		  event.bhs == bhs);
	for (size_t cut = 0; cut < len; cut++)
		cr_assert_not(kernel_iscsi_nl_event(bytes, cut, &event), "%zu", cut);
	bhs->data_len = put_be24(9);
	cr_assert_not(kernel_iscsi_nl_event(bytes, len, &event), "longer than the message");
	bhs->data_len = put_be24(8);
	bhs->ahs_len = 1;
	cr_assert_not(kernel_iscsi_nl_event(bytes, len, &event), "a header that is not looked for");
	len = put(0, &msg, ISCSI_BHS - 1);
	cr_assert_not(kernel_iscsi_nl_event(bytes, len, &event), "less than a header");
	cr_assert_not(kernel_iscsi_nl_event(bytes, len + 40, &event), "its own length counts");
}

static int answer(uint16_t head, uint32_t type, int32_t iferror, int32_t code, size_t cut)
{
	struct iscsi_if_msg msg = { .type = type, .iferror = (uint32_t)iferror }, out;

	msg.r.code = code;
	return kernel_iscsi_nl_answer(bytes, put(head, &msg, 0) - cut,
		head == 99 ? ISCSI_IF_BIND_CONN : (enum iscsi_if_command)head, &out);
}

Test(iscsi_nl, answers)
{
	cr_assert_eq(answer(ISCSI_IF_BIND_CONN, ISCSI_IF_BIND_CONN, 0, 0, 0), 0);
	cr_assert_eq(answer(ISCSI_IF_BIND_CONN, ISCSI_IF_BIND_CONN, 0, -ENOTCONN, 0), -ENOTCONN);
	cr_assert_eq(answer(ISCSI_IF_CREATE_SESSION, ISCSI_IF_CREATE_SESSION, 0, 7, 0), 0,
		"a session number is not an error");
	cr_assert_eq(answer(ISCSI_IF_SET_PARAM, ISCSI_IF_ERROR, -ENOSYS, 0, 0), -ENOSYS);
	cr_assert_eq(answer(ISCSI_IF_SET_PARAM, ISCSI_IF_ERROR, 0, 0, 0), -EPROTO,
		"an error event with status 0");
	cr_assert_eq(answer(ISCSI_IF_SET_PARAM, ISCSI_IF_ERROR, 5, 0, 0), -EPROTO);
	cr_assert_eq(answer(ISCSI_IF_SET_PARAM, ISCSI_IF_ERROR, -4096, 0, 0), -EPROTO);
	cr_assert_eq(answer(ISCSI_IF_SET_PARAM, ISCSI_IF_BIND_CONN, 0, 0, 0), -EPROTO,
		"to something else");
	cr_assert_eq(answer(99, ISCSI_IF_BIND_CONN, 0, 0, 0), -EPROTO);
	for (size_t cut = 1; cut <= ISCSI_NL_HEAD; cut++)
		cr_assert_eq(answer(ISCSI_IF_BIND_CONN, ISCSI_IF_BIND_CONN, 0, 0, cut), -EPROTO);
}

static unsigned hooked, watched;
static struct kernel_iscsi *nl;
static struct loop *loop;

static void on_hook(struct kernel_iscsi_hook *hook, const struct kernel_iscsi_event *event)
{
	cr_assert_eq(hook->sid, event->sid);
	hooked++;
}

static void on_watch(struct kernel_iscsi_watch *watch, const struct kernel_iscsi_event *event)
{
	(void)watch;
	cr_assert_neq(event->sid, 5);
	watched++;
}

Test(iscsi_nl, events_go_to_their_hook_and_others_to_the_watch)
{
	struct kernel_iscsi_watch watch = { .event = on_watch };
	struct kernel_iscsi_hook one = { .sid = 4, .event = on_hook },
				 two = { .sid = 5, .event = on_hook };
	volatile int never = 0;

	iscsi_kernel_start();
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(kernel_iscsi_open(&nl, loop, &watch, NULL), 0);
	kernel_iscsi_hook(nl, &one);
	kernel_iscsi_hook(nl, &two);
	kernel_iscsi_unhook(nl, &one);
	kernel_iscsi_unhook(nl, &one);
	iscsi_kernel_error(4, ISCSI_IF_CONN_CLOSED);
	iscsi_kernel_error(5, ISCSI_IF_CONN_CLOSED);
	iscsi_kernel_error(6, ISCSI_IF_CONN_CLOSED);
	loop_wait(loop, &never, loop_clock() + 20000000);
	cr_assert_eq(hooked, 1);
	cr_assert_eq(watched, 2);
	kernel_iscsi_unhook(nl, &two);
	kernel_iscsi_close(nl);
	loop_free(loop);
	iscsi_kernel_stop();
}
