/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The session monitor: connect the events of the kernel and the clock to the decisions
 * (iscsi_recovery.c), and these to logins. */
#include "iscsi_monitor.h"
#include "iscsi_monitor_session.h"
#include "kernel_iscsi.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct iscsi_monitor {
	struct recovery recovery;
	struct loop *loop;
	int root;
	const struct iscsi_monitor_events *ev;
	struct kernel_iscsi *nl;
	struct kernel_iscsi_watch watch;
	struct loop_timer timer;
	struct loop_work settle;
};

static struct iscsi_monitor *monitor_of(struct recovery *recovery)
{
	return container_of(recovery, struct iscsi_monitor, recovery);
}

static struct recovery_session *create_session(struct recovery *recovery, unsigned sid)
{
	struct monitor_session *session = calloc(1, sizeof(*session));

	(void)recovery;
	if (!session)
		return NULL;
	session->recovery.sid = sid;
	session->header_digest = session->data_digest = VALUE_UNKNOWN;
	return &session->recovery;
}

static void destroy_session(struct recovery *recovery, struct recovery_session *s)
{
	(void)recovery;
	free(container_of(s, struct monitor_session, recovery));
}

static int get_state(
	struct recovery *recovery, struct recovery_session *s, struct session_state *at)
{
	struct iscsi_monitor *monitor = monitor_of(recovery);
	struct monitor_session *session = container_of(s, struct monitor_session, recovery);
	const struct kernel_iscsi_session *is = &session->kernel;
	int err = iscsi_monitor_session_read(session, monitor->root);

	if (err)
		return err;
	*at = (struct session_state){ .logged_in = !strcmp(is->state, "LOGGED_IN"),
		.expired = !strcmp(is->state, "FREE"),
		.unbinding = !strcmp(is->target_state, "UNBINDING") ||
			     !strcmp(is->target_state, "UNBOUND"),
		.creator_alive = is->creator != getpid() &&
				 kernel_process_lives(monitor->root, is->creator) };
	return 0;
}

static int iscsid_pid(struct recovery *recovery)
{
	return kernel_iscsid(monitor_of(recovery)->root);
}

static void login_done(struct iscsi_link *link)
{
	struct monitor_session *session = container_of(link, struct monitor_session, link);
	struct iscsi_monitor *monitor = link->user;
	struct diag why = link->dial.why;

	iscsi_link_end(link);
	iscsi_monitor_session_wipe(session);
	iscsi_recovery_login_done(
		&monitor->recovery, &session->recovery, -why.err, &why, loop_clock());
	loop_work_add(monitor->loop, &monitor->settle);
}

static int start_login(
	struct recovery *recovery, struct recovery_session *s, uint32_t limit_ms, struct diag *diag)
{
	struct iscsi_monitor *monitor = monitor_of(recovery);
	struct monitor_session *session = container_of(s, struct monitor_session, recovery);
	int err = iscsi_monitor_session_prepare(session, monitor->root, limit_ms, diag);

	if (err) {
		iscsi_monitor_session_wipe(session);
		return err;
	}
	session->link.nl = monitor->nl;
	session->link.done = login_done;
	session->link.user = monitor;
	iscsi_link_start(&session->link);
	return 0;
}

static void cancel_login(struct recovery *recovery, struct recovery_session *s)
{
	struct monitor_session *session = container_of(s, struct monitor_session, recovery);

	(void)recovery;
	iscsi_link_end(&session->link);
	iscsi_monitor_session_wipe(session);
}

/* The kernel fills in ITT and sequence numbers. */
static int send_logout(struct recovery *recovery, struct recovery_session *s)
{
	struct iscsi_monitor *monitor = monitor_of(recovery);
	struct monitor_session *session = container_of(s, struct monitor_session, recovery);
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.cid = put_be16((uint16_t)session->kernel.cid) };
	struct iscsi_if_msg msg = { 0 };
	int err = iscsi_monitor_session_prepare(session, monitor->root, 0, NULL);

	iscsi_monitor_session_wipe(session);
	if (err)
		return err;
	msg.transport = session->link.transport;
	msg.u.pdu.conn = session->link.id;
	msg.u.pdu.header = sizeof(req);
	return kernel_iscsi_command(monitor->nl, ISCSI_IF_SEND_PDU, &msg, &req, sizeof(req));
}

static void log_line(struct recovery *recovery, const char *line)
{
	struct iscsi_monitor *monitor = monitor_of(recovery);

	monitor->ev->log(monitor->ev->arg, line);
}

static const struct recovery_ops ops = { create_session, destroy_session, get_state, iscsid_pid,
	start_login, cancel_login, send_logout, log_line };

static void settle(struct loop_work *work)
{
	struct iscsi_monitor *monitor = container_of(work, struct iscsi_monitor, settle);
	uint64_t at;

	iscsi_recovery_run(&monitor->recovery, loop_clock());
	at = iscsi_recovery_next(&monitor->recovery);
	if (at)
		loop_timer_set(monitor->loop, &monitor->timer, at);
	else
		loop_timer_del(monitor->loop, &monitor->timer);
	if (!monitor->recovery.first)
		monitor->ev->idle(monitor->ev->arg);
}

static void timer_fired(struct loop_timer *timer)
{
	struct iscsi_monitor *monitor = container_of(timer, struct iscsi_monitor, timer);

	settle(&monitor->settle);
}

static void handle_async(struct iscsi_monitor *monitor, unsigned sid, unsigned cid,
	const struct iscsi_async *message, uint64_t now)
{
	switch (message->event) {
	case ISCSI_ASYNC_LOGOUT:
	case ISCSI_ASYNC_NEGOTIATE: /* a new login negotiates, too */
		iscsi_recovery_logout_requested(
			&monitor->recovery, sid, get_be16(message->parameter[2]), now);
		break;
	case ISCSI_ASYNC_DROP:
		if (get_be16(message->parameter[0]) != cid)
			break;
		/* fall through */
	case ISCSI_ASYNC_DROP_ALL:
		iscsi_recovery_set_wait(&monitor->recovery, sid, get_be16(message->parameter[1]));
		break;
	default:
		break;
	}
}

static void handle_pdu(
	struct iscsi_monitor *monitor, const struct kernel_iscsi_event *event, uint64_t now)
{
	const struct iscsi_logout_rsp *rsp = (const void *)event->bhs;

	if (ISCSI_OPCODE(event->bhs->opcode) == ISCSI_ASYNC)
		handle_async(monitor, event->sid, event->cid, (const void *)event->bhs, now);
	else if (ISCSI_OPCODE(event->bhs->opcode) == ISCSI_LOGOUT_RSP)
		iscsi_recovery_logged_out(
			&monitor->recovery, event->sid, get_be16(rsp->time2wait), now);
}

static void on_event(struct kernel_iscsi_watch *watch, const struct kernel_iscsi_event *event)
{
	struct iscsi_monitor *monitor = container_of(watch, struct iscsi_monitor, watch);
	struct kernel_iscsi_session is;
	uint64_t now = loop_clock();

	switch (event->type) {
	case ISCSI_IF_SESSION_CREATED:
		if (!kernel_iscsi_session(monitor->root, event->sid, &is) &&
			iscsi_monitor_supports(&is))
			iscsi_recovery_add(&monitor->recovery, event->sid, now);
		break;
	case ISCSI_IF_SESSION_DESTROYED:
		iscsi_recovery_remove(&monitor->recovery, event->sid);
		break;
	case ISCSI_IF_SESSION_UNBOUND:
		iscsi_recovery_unbound(&monitor->recovery, event->sid);
		break;
	case ISCSI_IF_CONN_ERROR:
		iscsi_recovery_lost(
			&monitor->recovery, event->sid, kernel_iscsi_reason(event->value), now);
		break;
	case ISCSI_IF_RECV_PDU:
		handle_pdu(monitor, event, now);
		break;
	default:
		return;
	}
	loop_work_add(monitor->loop, &monitor->settle);
}

static int find_sessions(struct iscsi_monitor *monitor, struct diag *diag)
{
	struct kernel_iscsi_session *list;
	unsigned count;
	int err = kernel_iscsi_sessions(monitor->root, &list, &count, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++)
		if (iscsi_monitor_supports(&list[i]))
			iscsi_recovery_add(&monitor->recovery, list[i].sid, loop_clock());
	free(list);
	if (monitor->recovery.first)
		loop_work_add(monitor->loop, &monitor->settle);
	return 0;
}

static void on_events_lost(struct kernel_iscsi_watch *watch)
{
	struct iscsi_monitor *monitor = container_of(watch, struct iscsi_monitor, watch);

	iscsi_recovery_drop_missing(&monitor->recovery);
	loop_work_add(monitor->loop, &monitor->settle);
	if (find_sessions(monitor, NULL))
		log_line(&monitor->recovery, "events were lost and the sessions can't be read");
}

bool iscsi_monitor_is_idle(struct iscsi_monitor *monitor)
{
	return !find_sessions(monitor, NULL) && !monitor->recovery.first;
}

int iscsi_monitor_new(struct iscsi_monitor **out, struct loop *loop, int root,
	const struct iscsi_monitor_events *ev, struct diag *diag)
{
	struct iscsi_monitor *monitor = *out = calloc(1, sizeof(*monitor));
	int err;

	if (!monitor)
		return diag_sys(diag, ENOMEM, "monitor");
	monitor->recovery.ops = &ops;
	monitor->loop = loop;
	monitor->root = root;
	monitor->ev = ev;
	monitor->watch = (struct kernel_iscsi_watch){ .event = on_event, .lost = on_events_lost };
	monitor->timer.fire = timer_fired;
	monitor->settle.run = settle;
	err = kernel_iscsi_open(&monitor->nl, loop, &monitor->watch, diag);
	loop_work_add(loop, &monitor->settle);
	if (!err)
		err = find_sessions(monitor, diag);
	if (!err)
		return 0;
	iscsi_monitor_free(monitor);
	*out = NULL;
	return err;
}

void iscsi_monitor_free(struct iscsi_monitor *monitor)
{
	if (!monitor)
		return;
	iscsi_recovery_free(&monitor->recovery);
	loop_timer_del(monitor->loop, &monitor->timer);
	loop_work_del(monitor->loop, &monitor->settle);
	if (monitor->nl)
		kernel_iscsi_close(monitor->nl);
	free(monitor);
}
