/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI row: modules, an existing session or a login, the LUN scan, and the logout. Attachments
 * of a loop that need the same session share one login. Other processes are excluded by a lock, as
 * two that find no session would both create one. */
#include "iscsi_steps.h"
#include "kernel_iscsi.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOGIN_LOCK_MS    50  /* between attempts to get the login lock */
#define RESTORED_POLL_MS 100 /* while another process recovers the session */
#define LOGOUT_MS        5000
#define REMOVAL_POLL_MS  20   /* while the kernel removes the session */
#define REMOVAL_MIN_MS   1000 /* minimum for that, even after the deadline */

struct iscsi_initiator { /* of a loop */
	struct loop_local local;
	struct kernel_iscsi *nl; /* NULL: not open */
	int login_locks;
	struct attach_iscsi *first; /* in progress, in the order of their start */
};

static struct attach_iscsi *iscsi_of(struct attach *attach)
{
	return container_of(attach, struct attach_iscsi, attach);
}

static void wait_ms(struct attach_iscsi *iscsi, uint64_t ms, void (*fire)(struct loop_timer *))
{
	iscsi->timer.fire = fire;
	loop_timer_set(iscsi->attach.loop, &iscsi->timer, attach_limit(&iscsi->attach, ms));
}

static bool is_expired(const struct attach *attach)
{
	return attach->until && loop_clock() >= attach->until;
}

/* ---- State shared by the attachments of a loop. */

static void initiator_free(struct loop_local *local)
{
	free(container_of(local, struct iscsi_initiator, local));
}

static int join(struct attach_iscsi *iscsi)
{
	struct attach *attach = &iscsi->attach;
	struct loop_local *local = loop_local_find(attach->loop, &attach_iscsi_row);
	struct iscsi_initiator *initiator =
		local ? container_of(local, struct iscsi_initiator, local) : NULL;
	struct attach_iscsi **at;

	if (iscsi->initiator)
		return 0;
	if (!initiator) {
		initiator = calloc(1, sizeof(*initiator));
		if (!initiator)
			return diag_sys(&attach->why, ENOMEM, "iSCSI sessions");
		initiator->local =
			(struct loop_local){ .key = &attach_iscsi_row, .fini = initiator_free };
		loop_local_add(attach->loop, &initiator->local);
	}
	if (!initiator->first)
		initiator->login_locks = kernel_iscsi_login_lock_open(attach->root);
	for (at = &initiator->first; *at; at = &(*at)->next)
		;
	*at = iscsi;
	iscsi->next = NULL;
	iscsi->initiator = initiator;
	return 0;
}

static int open_netlink(struct attach_iscsi *iscsi)
{
	struct iscsi_initiator *initiator = iscsi->initiator;

	return initiator->nl ? 0
			     : kernel_iscsi_open(&initiator->nl, iscsi->attach.loop, NULL,
				       &iscsi->attach.why);
}

static void iscsi_connect(struct attach *);

static void iscsi_release(struct attach *attach)
{
	struct attach_iscsi *iscsi = iscsi_of(attach), **at;
	struct iscsi_initiator *initiator = iscsi->initiator;
	bool needed = false;

	child_call_cancel(&iscsi->scan);
	if (!initiator)
		return;
	for (at = &initiator->first; *at != iscsi; at = &(*at)->next)
		;
	*at = iscsi->next;
	for (struct attach_iscsi *other = initiator->first; other; other = other->next) {
		if (other->leader == iscsi && other->following)
			iscsi_connect(&other->attach); /* without a leader, or behind another */
		else if (other->leader == iscsi)
			other->leader = NULL;
		needed |= other->holds_login_lock && other->login_lock_id == iscsi->login_lock_id;
		if (other->sid == iscsi->sid && !attach->why.err && !attach->detaching)
			other->attach.made = false; /* keep the session */
	}
	if (iscsi->holds_login_lock && !needed)
		kernel_iscsi_login_unlock(initiator->login_locks, iscsi->login_lock_id);
	iscsi->holds_login_lock = iscsi->following = iscsi->connecting = iscsi->connected = false;
	iscsi->initiator = NULL;
	if (initiator->first)
		return;
	if (initiator->login_locks >= 0)
		close(initiator->login_locks);
	if (initiator->nl)
		kernel_iscsi_close(initiator->nl);
	initiator->nl = NULL;
}

/* ---- find, ready */

static void iscsi_find(struct attach *attach)
{
	struct attach_iscsi *iscsi = iscsi_of(attach);

	if (iscsi->found)
		iscsi->found(iscsi);
	attach_step(attach, 0);
}

static bool same_session(const struct attach_iscsi *one, const struct attach_iscsi *other)
{
	const struct iscsi_session_params *a = &one->params, *b = &other->params;
	const char *from = a->netdev ? a->netdev : "", *others = b->netdev ? b->netdev : "";
	char text[4][ADDR_TEXT];

	return a->carrier == b->carrier && a->nth == b->nth && !strcmp(a->target, b->target) &&
	       !strcmp(a->from->initiator, b->from->initiator) && !strcmp(from, others) &&
	       !strcmp(addr_text(&a->portal, text[0]), addr_text(&b->portal, text[1])) &&
	       !strcmp(addr_text(&a->src, text[2]), addr_text(&b->src, text[3]));
}

static int load(int root, const void *arg, void *out)
{
	const struct attach_iscsi *iscsi = arg;
	struct attach_iscsi_ready *ready = out;
	int err =
		kernel_iscsi_transport(root, iscsi->params.carrier, &ready->transport, &ready->why);

	if (!err && !iscsi->attach.no_wait)
		err = kernel_scsi_ready(root, &ready->why);
	return -err;
}

static void is_ready(struct attach *attach, int err)
{
	struct attach_iscsi *iscsi = iscsi_of(attach);

	if (err && attach->why.code == DIAG_NO_MODULE && err != -ETIMEDOUT && iscsi->no_module)
		iscsi->no_module(iscsi);
	if (err)
		iscsi_explain(iscsi);
	else
		attach_step(attach, 0);
}

static void iscsi_ready(struct attach *attach)
{
	struct attach_iscsi *iscsi = iscsi_of(attach);
	int err = join(iscsi);

	if (err) {
		attach_step(attach, err);
		return;
	}
	attach_luns_free(&iscsi->luns);
	iscsi->existed = iscsi->following = iscsi->connecting = iscsi->connected = false;
	iscsi->result = (struct iscsi_login_result){ 0 };
	iscsi->sid = iscsi->cid = 0;
	iscsi->leader = NULL;
	iscsi->link = (struct iscsi_link){ 0 };
	iscsi->ready = (struct attach_iscsi_ready){ 0 };
	attach_load(attach,
		&(struct child_call){ .fn = load,
			.arg = iscsi,
			.out = &iscsi->ready,
			.out_len = sizeof(iscsi->ready),
			.until = attach->until },
		kernel_iscsi_loaded(attach->root, iscsi->params.carrier) &&
			(attach->no_wait || kernel_scsi_loaded(attach->root)),
		is_ready);
}

/* ---- connect: an existing session or a login, then the LUN scan. */

static void find_session_or_log_in(struct attach_iscsi *);

static void is_session(struct attach_iscsi *iscsi, uint32_t sid, uint32_t host)
{
	iscsi->sid = sid;
	iscsi->luns = (struct attach_luns){ .host = host, .lun = iscsi->luns.lun, .scanned = true };
	snprintf(iscsi->attach.what, sizeof(iscsi->attach.what), "session%u", sid);
}

/* Whether the target has not authenticated itself in the existing session, as this login asks.
 * False also if that can't be read. */
static bool is_unauthenticated(const struct attach_iscsi *iscsi)
{
	struct kernel_iscsi_secrets secrets;
	bool mutual;

	if (!iscsi->params.from->auth.target_secret ||
		kernel_iscsi_secrets(iscsi->attach.root, iscsi->sid, &secrets, NULL))
		return false;
	mutual = secrets.target_secret[0];
	explicit_bzero(&secrets, sizeof(secrets));
	return !mutual;
}

static void refuse_session(struct attach_iscsi *iscsi)
{
	struct diag *why = &iscsi->attach.why;

	diag_set(why, DIAG_MISMATCH, EALREADY,
		"session%u to this target exists, without authentication of the target",
		iscsi->sid);
	diag_hint(why, "end it first: rdmastor iser-logout session%u", iscsi->sid);
}

/* Take over the result of the leader. */
static void follow(struct attach_iscsi *iscsi)
{
	struct attach_iscsi *leader = iscsi->leader;

	iscsi->following = false;
	iscsi->attach.why = leader->attach.why;
	iscsi->result = leader->result;
	iscsi->existed = leader->existed || !leader->attach.why.err;
	iscsi->cid = leader->cid;
	is_session(iscsi, leader->sid, leader->luns.host);
	if (!iscsi->attach.why.err && is_unauthenticated(iscsi))
		refuse_session(iscsi);
	iscsi_step(iscsi);
}

void iscsi_step(struct attach_iscsi *iscsi)
{
	struct attach *attach = &iscsi->attach;
	struct attach_luns *luns = &iscsi->luns;

	iscsi->connecting = false;
	iscsi->connected = !attach->why.err;
	if (!attach->why.err && attach->no_wait)
		kernel_scsi_luns(attach->root, luns->host, &luns->list, &luns->count, NULL);
	for (struct attach_iscsi *other = iscsi->initiator->first; other; other = other->next)
		if (other->leader == iscsi && other->following)
			follow(other);
	attach_step(attach, -attach->why.err);
}

static void scanned(struct child_call *call)
{
	struct attach_iscsi *iscsi = container_of(call, struct attach_iscsi, scan);
	struct diag *why = &iscsi->attach.why;

	if (call->err == -ETIMEDOUT)
		diag_set(why, DIAG_TIMEOUT, ETIMEDOUT, "timed out: its disks are not listed yet");
	else if (call->err)
		diag_sys(why, -call->err, "scanning host%u", iscsi->luns.host);
	iscsi_step(iscsi);
}

static int scan_host(int root, const void *host, void *out)
{
	(void)out;
	return -kernel_scsi_scan(root, *(const unsigned *)host);
}

static void scan(struct attach_iscsi *iscsi)
{
	struct attach *attach = &iscsi->attach;
	bool waits = !attach->no_wait;

	iscsi->scan = (struct child_call){ .fn = scan_host,
		.arg = &iscsi->luns.host,
		.until = waits ? attach->until : 0,
		.detached = !waits,
		.done = scanned };
	iscsi->scan.err =
		child_call_start(&iscsi->scan, waits ? attach->loop : NULL, &attach->root, 1);
	if (iscsi->scan.err || !waits)
		scanned(&iscsi->scan);
}

/* Also for those that follow, as they have as much time. */
static void set_answered(struct attach_iscsi *iscsi)
{
	attach_answered(&iscsi->attach);
	for (struct attach_iscsi *other = iscsi->initiator->first; other; other = other->next)
		if (other->leader == iscsi && other->following)
			attach_answered(&other->attach);
}

static void linked(struct iscsi_link *link)
{
	struct attach_iscsi *iscsi = link->user;
	struct attach *attach = &iscsi->attach;

	iscsi->result = link->dial.result;
	if (link->dial.why.err) {
		attach->why = link->dial.why;
		iscsi_explain(iscsi);
		return;
	}
	set_answered(iscsi);
	attach->made = !iscsi->existed;
	iscsi->cid = link->id.cid;
	is_session(iscsi, link->id.sid, iscsi->existed ? iscsi->luns.host : link->host);
	scan(iscsi);
}

static void log_in(struct attach_iscsi *iscsi)
{
	if (open_netlink(iscsi)) {
		iscsi_step(iscsi);
		return;
	}
	iscsi->link = (struct iscsi_link){ .params = &iscsi->params,
		.nl = iscsi->initiator->nl,
		.transport = iscsi->ready.transport.handle,
		.recover = iscsi->existed,
		.id = { .sid = iscsi->sid, .cid = iscsi->cid },
		.until = iscsi->attach.until,
		.done = linked,
		.user = iscsi };
	iscsi_link_start(&iscsi->link);
}

/* The session monitor is about to recover it. */
static void poll_restored(struct loop_timer *timer)
{
	struct attach_iscsi *iscsi = container_of(timer, struct attach_iscsi, timer);
	struct kernel_iscsi_session session;
	struct diag *why = &iscsi->attach.why;

	if (kernel_iscsi_session(iscsi->attach.root, iscsi->sid, &session)) {
		diag_set(why, DIAG_CLOSED, ENODEV, "session%u was logged out by another process",
			iscsi->sid);
	} else if (!strcmp(session.state, "LOGGED_IN")) {
		scan(iscsi);
		return;
	} else if (is_expired(&iscsi->attach)) {
		diag_set(why, DIAG_BUSY, EBUSY,
			"session%u to this target has lost its connection; its monitor, process "
			"%d, can't restore it",
			iscsi->sid, iscsi->monitor_pid);
		diag_hint(why, "end it with: rdmastor iser-logout session%u", iscsi->sid);
	} else {
		wait_ms(iscsi, RESTORED_POLL_MS, poll_restored);
		return;
	}
	iscsi_step(iscsi);
}

/* Use an existing session. If its connection is lost, log in, unless another process does that. */
static void reuse_session(struct attach_iscsi *iscsi, const struct kernel_iscsi_session *session)
{
	struct attach *attach = &iscsi->attach;

	set_answered(iscsi);
	iscsi->existed = true;
	iscsi->cid = session->cid;
	iscsi->result.at = iscsi->params.portal;
	is_session(iscsi, session->sid, session->host);
	iscsi->monitor_pid = kernel_iscsid(attach->root);
	if (!iscsi->monitor_pid)
		iscsi->monitor_pid = kernel_iscsi_monitor(attach->root);
	/* UNBINDING, UNBOUND: the kernel no longer scans it */
	if (!strncmp(session->target_state, "UNB", 3)) {
		diag_set(&attach->why, DIAG_BUSY, EBUSY,
			"session%u to this target is being logged out: its disks are already "
			"removed",
			session->sid);
		diag_hint(&attach->why,
			"finish the logout with: rdmastor iser-logout session%u; then log in again",
			session->sid);
		iscsi_step(iscsi);
	} else if (strcmp(session->state, "LOGGED_IN") != 0 && !iscsi->monitor_pid) {
		loop_trace(attach->loop, "session%u has lost its connection and has no monitor",
			session->sid);
		log_in(iscsi);
	} else if (is_unauthenticated(iscsi)) {
		refuse_session(iscsi);
		iscsi_step(iscsi);
	} else if (!strcmp(session->state, "LOGGED_IN")) {
		scan(iscsi);
	} else {
		wait_ms(iscsi, RESTORED_POLL_MS, poll_restored);
	}
}

static bool made_by_other(const struct attach_iscsi *iscsi, uint32_t sid)
{
	for (const struct attach_iscsi *other = iscsi->initiator->first; other; other = other->next)
		if (other != iscsi && !other->existed && other->link.id.sid == sid)
			return true;
	return false;
}

/* Find the nth session among those not created by this loop. */
static const struct kernel_iscsi_session *find_session(
	const struct attach_iscsi *iscsi, const struct kernel_iscsi_session *list, unsigned count)
{
	const struct kernel_iscsi_session *end = list + count;
	const struct iscsi_session_params *params = &iscsi->params;

	for (unsigned n = 0;; list++) {
		list = kernel_iscsi_session_find(list, (unsigned)(end - list),
			iscsi_own_name(params->from), iscsi_carrier_name(params->carrier),
			params->target, &params->portal);
		if (!list || (!made_by_other(iscsi, list->sid) && n++ == params->nth))
			return list;
	}
}

/* Return true while a failed attempt to the same target is being undone. */
static bool removal_pending(const struct attach_iscsi *iscsi)
{
	for (const struct attach_iscsi *other = iscsi->initiator->first; other; other = other->next)
		if (other->removing && other != iscsi &&
			!strcmp(other->params.target, iscsi->params.target))
			return true;
	return false;
}

static void retry_login_lock(struct loop_timer *timer)
{
	find_session_or_log_in(container_of(timer, struct attach_iscsi, timer));
}

static void find_session_or_log_in(struct attach_iscsi *iscsi)
{
	struct attach *attach = &iscsi->attach;
	const struct kernel_iscsi_session *session;
	struct kernel_iscsi_session *list;
	unsigned count;

	bool removing = removal_pending(iscsi);

	if (removing ||
		!kernel_iscsi_login_trylock(iscsi->initiator->login_locks, iscsi->login_lock_id)) {
		set_answered(iscsi); /* what it waits for is not this address */
		if (!is_expired(attach)) {
			wait_ms(iscsi, LOGIN_LOCK_MS, retry_login_lock);
			return;
		}
		diag_set(&attach->why, DIAG_BUSY, EBUSY, "%s",
			removing ? "a former session to this target is still being removed"
				 : "another process is still logging in to this target");
		iscsi_step(iscsi);
		return;
	}
	iscsi->holds_login_lock = true;
	if (kernel_iscsi_sessions(attach->root, &list, &count, &attach->why)) {
		iscsi_step(iscsi);
		return;
	}
	session = find_session(iscsi, list, count);
	if (session)
		reuse_session(iscsi, session);
	else
		log_in(iscsi);
	free(list);
}

/* Find an attachment that logs in to the same session, or has. */
static struct attach_iscsi *find_leader(const struct attach_iscsi *iscsi)
{
	struct attach_iscsi *other = iscsi->initiator->first;

	while (other && (other == iscsi || !(other->connecting || other->connected) ||
				other->leader || !same_session(other, iscsi)))
		other = other->next;
	return other;
}

static void iscsi_connect(struct attach *attach)
{
	struct attach_iscsi *iscsi = iscsi_of(attach);

	iscsi->leader = find_leader(iscsi);
	iscsi->following = iscsi->leader && iscsi->leader->connecting;
	if (iscsi->following && (iscsi->leader->existed || iscsi->leader->attach.made))
		attach_answered(attach);
	if (iscsi->following)
		return;
	if (iscsi->leader) {
		follow(iscsi);
		return;
	}
	iscsi->connecting = true;
	iscsi->login_lock_id = kernel_iscsi_login_lock_id(iscsi_carrier_name(iscsi->params.carrier),
		iscsi->params.target, &iscsi->params.portal);
	find_session_or_log_in(iscsi);
}

/* ---- wait */

static bool shares(const struct attach_iscsi *iscsi, const struct attach_iscsi *other)
{
	return other != iscsi && other->sid == iscsi->sid && !other->attach.why.err &&
	       !other->attach.cancelled;
}

/* On failure, leave the session to another attachment that still waits for its disks. */
static void transfer_session(struct attach_iscsi *iscsi)
{
	struct attach_iscsi *successor = iscsi->initiator ? iscsi->initiator->first : NULL;

	while (successor && !shares(iscsi, successor))
		successor = successor->next;
	if (!successor || !iscsi->attach.made)
		return;
	iscsi->attach.made = false;
	successor->attach.made = true;
}

/* Check the session too: host numbers are reused, session numbers are not. */
static int iscsi_poll(struct attach *attach)
{
	struct attach_iscsi *iscsi = iscsi_of(attach);
	struct kernel_iscsi_session session;
	int all = attach_luns_poll(attach, &iscsi->luns);

	if (all && (kernel_iscsi_session(attach->root, iscsi->sid, &session) ||
			   session.host != iscsi->luns.host)) {
		attach_luns_free(&iscsi->luns);
		attach->made = false;
		all = diag_set(&attach->why, DIAG_CLOSED, ENODEV,
			"another process logged out session%u", iscsi->sid);
	}
	if (all < 0)
		transfer_session(iscsi);
	return all;
}

static void iscsi_timeout_error(struct attach *attach)
{
	attach_luns_timeout_error(attach, &iscsi_of(attach)->luns);
}

/* ---- users, undo */

static void iscsi_users(const struct attach *attach, int root, struct attach_users *found)
{
	const struct attach_iscsi *iscsi =
		(const struct attach_iscsi *)(const void *)attach; /* the first member */

	kernel_scsi_users(
		root, iscsi->luns.host, &iscsi->luns.together, found->text, sizeof(found->text));
}

static bool is_removed(const struct attach_iscsi *iscsi)
{
	struct kernel_iscsi_session session;

	return kernel_iscsi_session(iscsi->attach.root, iscsi->sid, &session) != 0;
}

/* The session was removed, or attach.why has the error. */
static void session_ended(struct attach_iscsi *iscsi)
{
	struct attach *attach = &iscsi->attach;

	loop_timer_del(attach->loop, &iscsi->timer);
	loop_work_del(attach->loop, &iscsi->work);
	kernel_iscsi_conn_free(iscsi->removing);
	iscsi->removing = NULL;
	kernel_scsi_drop_nodes(attach->root, iscsi->luns.list, iscsi->luns.count);
	attach_step(attach, -attach->why.err);
}

/* Poll sysfs, as events may be lost. */
static void poll_removal(struct loop_timer *timer)
{
	struct attach_iscsi *iscsi = container_of(timer, struct attach_iscsi, timer);
	struct attach *attach = &iscsi->attach;
	uint64_t now = loop_clock();

	if (!is_removed(iscsi) && (!iscsi->removal_deadline || now < iscsi->removal_deadline)) {
		loop_timer_set(attach->loop, timer, now + REMOVAL_POLL_MS * MSEC);
		return;
	}
	if (!is_removed(iscsi)) {
		char text[DIAG_SECONDS];

		diag_set(&attach->why, DIAG_TIMEOUT, ETIMEDOUT,
			"timed out after %s waiting for the kernel to remove session%u",
			diag_seconds((now - attach->since) / 1000000, text), iscsi->sid);
		diag_hint(&attach->why, "it is removed once I/O to its disks has ended");
	}
	session_ended(iscsi);
}

static void destroyed(struct loop_work *work)
{
	struct attach_iscsi *iscsi = container_of(work, struct attach_iscsi, work);

	if (!is_removed(iscsi))
		diag_set(&iscsi->attach.why, DIAG_BUSY, EBUSY,
			"the kernel refuses to remove session%u", iscsi->sid);
	session_ended(iscsi);
}

static void end_session(struct loop_work *work)
{
	struct attach_iscsi *iscsi = container_of(work, struct attach_iscsi, work);
	struct attach *attach = &iscsi->attach;
	uint64_t soon = loop_clock() + REMOVAL_MIN_MS * MSEC;
	int err = kernel_iscsi_remove(iscsi->removing);

	work->run = destroyed;
	iscsi->removal_deadline = attach->until && attach->until < soon ? soon : attach->until;
	iscsi->timer.fire = poll_removal;
	if (err && err != -EINVAL)
		loop_work_add(attach->loop, work);
	else
		loop_timer_set(attach->loop, &iscsi->timer, loop_clock() + REMOVAL_POLL_MS * MSEC);
}

static int iscsi_flush(const struct attach *attach, int root, struct diag *diag)
{
	const struct attach_iscsi *iscsi =
		(const struct attach_iscsi *)(const void *)attach; /* the first member */

	return kernel_scsi_flush(
		root, iscsi->luns.host, &iscsi->luns.together, attach->force, diag);
}

/* After the response, a timeout, or the end of the session. Deferred: the connection may be running
 * an upcall. */
static void logged_out(struct attach_iscsi *iscsi)
{
	loop_work_add(iscsi->attach.loop, &iscsi->work);
}

static void logout_timed_out(struct loop_timer *timer)
{
	logged_out(container_of(timer, struct attach_iscsi, timer));
}

static void log_out(struct attach_iscsi *iscsi)
{
	struct iscsi_carrier_conn *dm = &iscsi->removing->dm;
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.cid = put_be16((uint16_t)iscsi->removing->id.cid) };

	loop_trace(dm->loop, "> logout request, session%u", iscsi->sid);
	iscsi->removing->on_unbound = NULL;
	if (dm->ops->send_control(dm, &req, NULL, 0))
		logged_out(iscsi);
	else
		wait_ms(iscsi, LOGOUT_MS, logout_timed_out);
}

static void unbound(struct kernel_iscsi_conn *conn)
{
	log_out(conn->dm.user);
}

static void unbind_timed_out(struct loop_timer *timer)
{
	log_out(container_of(timer, struct attach_iscsi, timer));
}

static void up(struct iscsi_carrier_conn *dm)
{
	(void)dm;
}

static void notified(struct iscsi_carrier_conn *dm, const struct iscsi_bhs *bhs,
	const uint8_t *data, uint32_t len)
{
	(void)data;
	(void)len;
	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_LOGOUT_RSP)
		logged_out(dm->user);
}

static void terminated(struct iscsi_carrier_conn *dm)
{
	logged_out(dm->user);
}

/* Unbind the disks, log out from the target, then remove the session from the kernel. */
static void iscsi_undo(struct attach *attach)
{
	static const struct iscsi_carrier_events events = { up, notified, terminated };
	struct attach_iscsi *iscsi = iscsi_of(attach);
	struct kernel_iscsi_transport transport;
	struct kernel_iscsi_session session;
	bool live = !kernel_iscsi_session(attach->root, iscsi->sid, &session) &&
		    !strcmp(session.state, "LOGGED_IN");
	int err = join(iscsi);

	if (!err)
		err = kernel_iscsi_transport_find(
			attach->root, iscsi->params.carrier, &transport, &attach->why);
	if (!err)
		err = open_netlink(iscsi);
	if (!err)
		err = kernel_iscsi_adopt(&iscsi->removing, iscsi->initiator->nl, transport.handle,
			(struct iscsi_if_conn){ iscsi->sid, iscsi->cid }, &events, iscsi,
			&attach->why);
	if (err) {
		attach_step(attach, err);
		return;
	}
	attach_luns_free(&iscsi->luns);
	kernel_scsi_luns(
		attach->root, iscsi->luns.host, &iscsi->luns.list, &iscsi->luns.count, NULL);
	iscsi->removing->on_unbound = unbound;
	iscsi->work.run = end_session;
	if (!live) {
		logged_out(iscsi);
	} else if (kernel_iscsi_unbind(iscsi->removing)) {
		log_out(iscsi);
	} else if (attach->until) {
		iscsi->timer.fire = unbind_timed_out;
		loop_timer_set(attach->loop, &iscsi->timer, attach->until);
	}
}

static void iscsi_stop(struct attach *attach)
{
	struct attach_iscsi *iscsi = iscsi_of(attach);

	loop_timer_del(attach->loop, &iscsi->timer);
	loop_work_del(attach->loop, &iscsi->work);
	child_call_cancel(&iscsi->scan);
	iscsi_link_end(&iscsi->link);
	iscsi_explain_stop(iscsi);
	if (iscsi->removing)
		kernel_iscsi_conn_free(iscsi->removing);
	iscsi->removing = NULL;
	iscsi->connected = false;
	transfer_session(iscsi);
}

const struct attach_proto attach_iscsi_row = {
	.events = "scsi",
	.detached_by = "iser-logout",
	.find = iscsi_find,
	.ready = iscsi_ready,
	.connect = iscsi_connect,
	.poll = iscsi_poll,
	.set_timeout_error = iscsi_timeout_error,
	.users = iscsi_users,
	.flush = iscsi_flush,
	.undo = iscsi_undo,
	.stop = iscsi_stop,
	.release = iscsi_release,
};

void iscsi_attach_start(struct attach_group *group, struct loop *loop, int root,
	struct attach_iscsi *iscsi, unsigned count, uint64_t until)
{
	for (unsigned i = 0; i < count; i++) {
		struct attach *attach = &iscsi[i].attach;
		bool due = iscsi[i].due && (iscsi[i].host || iscsi[i].params.portal.ss.ss_family);

		iscsi[i].due = false;
		if (!due)
			continue;
		*attach = (struct attach){ .proto = &attach_iscsi_row,
			.loop = loop,
			.root = root,
			.addr = &iscsi[i].params.portal,
			.host = iscsi[i].host,
			.port = iscsi[i].port,
			.lookup_ms = iscsi[i].no_lookup_limit
					     ? 0
					     : (uint32_t)iscsi[i].params.set.login_timeout * 1000,
			.choose_by_tcp = iscsi[i].params.carrier == ISCSI_TCP && !attach->find_only,
			.deadline = until,
			.limit_ms = attach->limit_ms,
			.retry_ms = attach->retry_ms,
			.retrying = attach->retrying,
			.find_only = attach->find_only,
			.no_wait = attach->no_wait };
		attach_group_start(group, attach);
	}
}

static void ignore_end(struct attach_group *group)
{
	(void)group;
}

int iscsi_attach(struct loop *loop, int root, struct attach_iscsi *iscsi, unsigned count,
	uint64_t until, struct diag *diag)
{
	struct attach_group group = { .done = ignore_end };

	iscsi_attach_start(&group, loop, root, iscsi, count, until);
	return attach_run(loop, NULL, 0, diag);
}
