/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The keeper: the kernel's events and the loop's clock in, logins out; what is to be done when is
 * iscsi_keep.c's. */
#include "iscsi_keeper.h"
#include "iscsi_kept.h"
#include "kernel_iscsi.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct iscsi_keeper {
	struct keep keep;
	struct loop *loop;
	int root;
	const struct iscsi_keeper_events *ev;
	struct kernel_iscsi *nl;
	struct kernel_iscsi_watch watch;
	struct loop_timer timer;
	struct loop_work settle;
};

static struct iscsi_keeper *keeper_of(struct keep *keep)
{
	return container_of(keep, struct iscsi_keeper, keep);
}

static struct keep_session *made(struct keep *keep, unsigned sid)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	(void)keep;
	if (!kept)
		return NULL;
	kept->s.sid = sid;
	kept->header_digest = kept->data_digest = VALUE_UNKNOWN;
	return &kept->s;
}

static void gone(struct keep *keep, struct keep_session *s)
{
	(void)keep;
	free(container_of(s, struct kept, s));
}

static int look(struct keep *keep, struct keep_session *s, struct keep_look *at)
{
	struct iscsi_keeper *keeper = keeper_of(keep);
	struct kept *kept = container_of(s, struct kept, s);
	const struct kernel_iscsi_session *is = &kept->is;
	int err = iscsi_kept_look(kept, keeper->root);

	if (err)
		return err;
	*at = (struct keep_look){ .live = !strcmp(is->state, "LOGGED_IN"),
		.expired = !strcmp(is->state, "FREE"),
		.leaving = !strcmp(is->target_state, "UNBINDING") ||
			   !strcmp(is->target_state, "UNBOUND"),
		.making = is->creator != getpid() &&
			  kernel_process_lives(keeper->root, is->creator) };
	return 0;
}

static int iscsid(struct keep *keep)
{
	return kernel_iscsid(keeper_of(keep)->root);
}

static void over(struct iscsi_link *link)
{
	struct kept *kept = container_of(link, struct kept, link);
	struct iscsi_keeper *keeper = link->user;
	struct diag why = link->dial.why;

	iscsi_link_end(link);
	iscsi_kept_forget(kept);
	iscsi_keep_tried(&keeper->keep, &kept->s, -why.err, &why, loop_clock());
	loop_work_add(keeper->loop, &keeper->settle);
}

static int begin(struct keep *keep, struct keep_session *s, uint32_t limit_ms, struct diag *diag)
{
	struct iscsi_keeper *keeper = keeper_of(keep);
	struct kept *kept = container_of(s, struct kept, s);
	int err = iscsi_kept_prepare(kept, keeper->root, limit_ms, diag);

	if (err) {
		iscsi_kept_forget(kept);
		return err;
	}
	kept->link.nl = keeper->nl;
	kept->link.done = over;
	kept->link.user = keeper;
	iscsi_link_start(&kept->link);
	return 0;
}

static void end(struct keep *keep, struct keep_session *s)
{
	struct kept *kept = container_of(s, struct kept, s);

	(void)keep;
	iscsi_link_end(&kept->link);
	iscsi_kept_forget(kept);
}

/* The kernel fills in tag and numbers. */
static int logout(struct keep *keep, struct keep_session *s)
{
	struct iscsi_keeper *keeper = keeper_of(keep);
	struct kept *kept = container_of(s, struct kept, s);
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.cid = put_be16((uint16_t)kept->is.cid) };
	struct iscsi_if_msg msg = { 0 };
	int err = iscsi_kept_prepare(kept, keeper->root, 0, NULL);

	iscsi_kept_forget(kept);
	if (err)
		return err;
	msg.transport = kept->link.transport;
	msg.u.pdu.conn = kept->link.id;
	msg.u.pdu.header = sizeof(req);
	return kernel_iscsi_command(keeper->nl, ISCSI_IF_SEND_PDU, &msg, &req, sizeof(req));
}

static void say(struct keep *keep, const char *line)
{
	struct iscsi_keeper *keeper = keeper_of(keep);

	keeper->ev->say(keeper->ev->arg, line);
}

static const struct keep_ops ops = { made, gone, look, iscsid, begin, end, logout, say };

static void settle(struct loop_work *work)
{
	struct iscsi_keeper *keeper = container_of(work, struct iscsi_keeper, settle);
	uint64_t at;

	iscsi_keep_time(&keeper->keep, loop_clock());
	at = iscsi_keep_next(&keeper->keep);
	if (at)
		loop_timer_set(keeper->loop, &keeper->timer, at);
	else
		loop_timer_del(keeper->loop, &keeper->timer);
	if (!keeper->keep.first)
		keeper->ev->over(keeper->ev->arg);
}

static void fire(struct loop_timer *timer)
{
	struct iscsi_keeper *keeper = container_of(timer, struct iscsi_keeper, timer);

	settle(&keeper->settle);
}

static void async(struct iscsi_keeper *keeper, unsigned sid, unsigned cid,
	const struct iscsi_async *message, uint64_t now)
{
	switch (message->event) {
	case ISCSI_ASYNC_LOGOUT:
	case ISCSI_ASYNC_NEGOTIATE: /* which a new login is, too */
		iscsi_keep_asked_out(&keeper->keep, sid, get_be16(message->parameter[2]), now);
		break;
	case ISCSI_ASYNC_DROP:
		if (get_be16(message->parameter[0]) != cid)
			break;
		/* fall through */
	case ISCSI_ASYNC_DROP_ALL:
		iscsi_keep_drop(&keeper->keep, sid, get_be16(message->parameter[1]));
		break;
	default:
		break;
	}
}

static void pdu(struct iscsi_keeper *keeper, const struct kernel_iscsi_event *event, uint64_t now)
{
	const struct iscsi_logout_rsp *rsp = (const void *)event->bhs;

	if (ISCSI_OPCODE(event->bhs->opcode) == ISCSI_ASYNC)
		async(keeper, event->sid, event->cid, (const void *)event->bhs, now);
	else if (ISCSI_OPCODE(event->bhs->opcode) == ISCSI_LOGOUT_RSP)
		iscsi_keep_logged_out(&keeper->keep, event->sid, get_be16(rsp->time2wait), now);
}

static void heard(struct kernel_iscsi_watch *watch, const struct kernel_iscsi_event *event)
{
	struct iscsi_keeper *keeper = container_of(watch, struct iscsi_keeper, watch);
	struct kernel_iscsi_session is;
	uint64_t now = loop_clock();

	switch (event->type) {
	case ISCSI_IF_SESSION_CREATED:
		if (!kernel_iscsi_session(keeper->root, event->sid, &is) && iscsi_kept_can_be(&is))
			iscsi_keep_found(&keeper->keep, event->sid, now);
		break;
	case ISCSI_IF_SESSION_DESTROYED:
		iscsi_keep_gone(&keeper->keep, event->sid);
		break;
	case ISCSI_IF_SESSION_UNBOUND:
		iscsi_keep_leaving(&keeper->keep, event->sid);
		break;
	case ISCSI_IF_CONN_ERROR:
		iscsi_keep_lost(&keeper->keep, event->sid, kernel_iscsi_reason(event->value), now);
		break;
	case ISCSI_IF_RECV_PDU:
		pdu(keeper, event, now);
		break;
	default:
		return;
	}
	loop_work_add(keeper->loop, &keeper->settle);
}

static int find(struct iscsi_keeper *keeper, struct diag *diag)
{
	struct kernel_iscsi_session *list;
	unsigned count;
	int err = kernel_iscsi_sessions(keeper->root, &list, &count, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++)
		if (iscsi_kept_can_be(&list[i]))
			iscsi_keep_found(&keeper->keep, list[i].sid, loop_clock());
	free(list);
	if (keeper->keep.first)
		loop_work_add(keeper->loop, &keeper->settle);
	return 0;
}

static void missed(struct kernel_iscsi_watch *watch)
{
	struct iscsi_keeper *keeper = container_of(watch, struct iscsi_keeper, watch);

	iscsi_keep_missed(&keeper->keep);
	loop_work_add(keeper->loop, &keeper->settle);
	if (find(keeper, NULL))
		say(&keeper->keep, "events were lost and the sessions can't be read");
}

bool iscsi_keeper_idle(struct iscsi_keeper *keeper)
{
	return !find(keeper, NULL) && !keeper->keep.first;
}

int iscsi_keeper_new(struct iscsi_keeper **out, struct loop *loop, int root,
	const struct iscsi_keeper_events *ev, struct diag *diag)
{
	struct iscsi_keeper *keeper = *out = calloc(1, sizeof(*keeper));
	int err;

	if (!keeper)
		return diag_sys(diag, ENOMEM, "keeper");
	keeper->keep.ops = &ops;
	keeper->loop = loop;
	keeper->root = root;
	keeper->ev = ev;
	keeper->watch = (struct kernel_iscsi_watch){ .event = heard, .lost = missed };
	keeper->timer.fire = fire;
	keeper->settle.run = settle;
	err = kernel_iscsi_open(&keeper->nl, loop, &keeper->watch, diag);
	loop_work_add(loop, &keeper->settle);
	if (!err)
		err = find(keeper, diag);
	if (!err)
		return 0;
	iscsi_keeper_free(keeper);
	*out = NULL;
	return err;
}

void iscsi_keeper_free(struct iscsi_keeper *keeper)
{
	if (!keeper)
		return;
	iscsi_keep_free(&keeper->keep);
	loop_timer_del(keeper->loop, &keeper->timer);
	loop_work_del(keeper->loop, &keeper->settle);
	if (keeper->nl)
		kernel_iscsi_close(keeper->nl);
	free(keeper);
}
