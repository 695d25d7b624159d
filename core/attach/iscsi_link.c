/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The login of one connection of the kernel's, driven by its events: for a new session and for one
 * whose connection was lost. */
#include "iscsi_link.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MSEC    1000000ull
#define SEC     1000000000ull
#define EARLIER 200 /* ms: the carrier's own deadline comes first and knows better why */

enum link_state { LINK_CONNECT, LINK_LOGIN, LINK_OVER };

static void dial(struct iscsi_link *);

/* The ISID of every login of a session: 00 02 3d and its number, as iscsid makes it. The target
 * then lets either of the two take over the other's session (RFC 7143, 6.3.5). */
static void make_isid(uint32_t sid, uint8_t isid[6])
{
	const uint8_t made[6] = { 0x00, 0x02, 0x3d, (uint8_t)(sid >> 16), (uint8_t)(sid >> 8),
		(uint8_t)sid };

	memcpy(isid, made, sizeof(made));
}

/* Ends it after the upcall that is running; no error: the connection is live. */
static void finish(struct iscsi_link *link, const struct diag *why)
{
	if (link->state == LINK_OVER)
		return;
	link->state = LINK_OVER;
	if (why)
		link->why = *why;
	loop_work_add(link->loop, &link->later);
}

static void forget_login(struct iscsi_link *link)
{
	if (link->signin) {
		link->answers |= iscsi_signin_answers(link->signin);
		link->status = iscsi_signin_status(link->signin);
	}
	iscsi_signin_free(link->signin);
	link->signin = NULL;
}

static void hang_up(struct iscsi_link *link)
{
	if (link->conn)
		link->conn->dm.ops->connection_terminate(&link->conn->dm);
	link->conn = NULL;
	forget_login(link);
}

/* The end of the next attempt to log in. */
static uint64_t attempt_end(const struct iscsi_link *link)
{
	uint64_t end = loop_clock() + (uint64_t)link->set->login_timeout * SEC;

	return link->until && link->until < end ? link->until : end;
}

static uint32_t attempt_ms(uint64_t end)
{
	uint64_t now = loop_clock();

	return end > now + (EARLIER + 1) * MSEC ? (uint32_t)((end - now) / MSEC) - EARLIER : 1;
}

static void arrived(struct iscsi_hops *hops)
{
	struct iscsi_link *link = container_of(hops, struct iscsi_link, hops);

	if (hops->why.err) {
		finish(link, &hops->why);
		return;
	}
	link->at = hops->visited[hops->count];
	dial(link);
}

static void follow(struct iscsi_link *link)
{
	uint64_t end = attempt_end(link);

	link->moved = false;
	link->state = LINK_CONNECT;
	loop_trace(link->loop, "redirected to %s", iscsi_signin_moved(link->signin));
	iscsi_hops_on(&link->hops, link->loop, iscsi_signin_moved(link->signin), link->numbers,
		attempt_ms(end));
	hang_up(link);
	loop_timer_set(link->loop, &link->timer, end);
}

static void later(struct loop_work *work)
{
	struct iscsi_link *link = container_of(work, struct iscsi_link, later);

	if (link->moved) {
		follow(link);
		return;
	}
	iscsi_hops_end(&link->hops);
	loop_timer_del(link->loop, &link->timer);
	if (link->why.err) {
		hang_up(link);
	} else {
		forget_login(link);
		kernel_iscsi_leave(link->conn);
		link->conn = NULL;
	}
	link->done(link);
}

static void late(struct loop_timer *timer)
{
	struct iscsi_link *link = container_of(timer, struct iscsi_link, timer);
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "timed out waiting for the answer to %s",
		link->state == LINK_CONNECT ? "the connection request" : "the login");
	finish(link, &why);
}

static void offer(const struct iscsi_settings *set, struct iscsi_offer *offer)
{
	*offer = (struct iscsi_offer){ .header_digest = (uint8_t)set->header_digest,
		.data_digest = (uint8_t)set->data_digest,
		.initial_r2t = set->initial_r2t,
		.immediate_data = set->immediate_data,
		.first_burst =
			set->first_burst < set->max_burst ? set->first_burst : set->max_burst,
		.max_burst = set->max_burst,
		.max_recv = set->max_recv,
		.max_r2t = set->max_r2t,
		.target_recv = set->max_xmit ? set->max_xmit : ISCSI_PDU_DATA };
}

static void up(struct datamover *dm)
{
	struct iscsi_link *link = dm->user;
	struct iscsi_offer wishes;
	struct diag why = { 0 };
	uint8_t isid[6];
	int err;

	link->id = link->conn->id;
	if (!link->again)
		link->host = link->conn->host;
	memcpy(link->way, dm->way, sizeof(link->way));
	loop_trace(link->loop, "%s, session%u", dm->way, link->id.sid);
	link->state = LINK_LOGIN;
	make_isid(link->id.sid, isid);
	offer(link->set, &wishes);
	err = iscsi_link_describe(link, &why);
	if (!err)
		err = iscsi_signin_new(&link->signin, link->target, link->carrier, link->from,
			&wishes, isid, &why);
	if (!err)
		err = iscsi_signin_begin(link->signin, dm, &why);
	if (err)
		finish(link, &why);
}

static int logged_in(struct iscsi_link *link, struct diag *why)
{
	struct iscsi_agreed *agreed = &link->agreed;
	int err;

	iscsi_signin_agreed(link->signin, agreed);
	loop_trace(link->loop, "logged in%s%s", *agreed->alg ? ", by CHAP with " : "", agreed->alg);
	if (link->tpgt >= 0 && agreed->tpgt >= 0 && link->tpgt != agreed->tpgt)
		return diag_set(why, DIAG_NOT_FOUND, ENOENT,
			"the portal belongs to portal group %d, not %d", agreed->tpgt, link->tpgt);
	if (agreed->first_burst >
		agreed->max_burst) /* RFC 7143, 13.14: the kernel does not start it else */
		agreed->first_burst = agreed->max_burst;
	if (link->carrier == ISCSI_TCP && link->set->max_xmit &&
		link->set->max_xmit < agreed->max_xmit)
		agreed->max_xmit = link->set->max_xmit;
	err = iscsi_link_agree(link, why);
	return err ? err : kernel_iscsi_start(link->conn, why);
}

static void notified(
	struct datamover *dm, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	struct iscsi_link *link = dm->user;
	struct diag why = { 0 };
	int next;

	if (link->state != LINK_LOGIN)
		return;
	next = iscsi_signin_take(link->signin, bhs, data, len, &why);
	if (next == ISCSI_SIGNIN_MOVED)
		link->moved = true;
	else if (next == ISCSI_SIGNIN_DONE)
		next = logged_in(link, &why) ? -why.err : ISCSI_SIGNIN_DONE;
	if (next)
		finish(link, next < 0 ? &why : NULL);
}

static void terminated(struct datamover *dm)
{
	struct iscsi_link *link = dm->user;
	bool mute = link->state == LINK_LOGIN && dm->why.err == ECONNRESET;

	if (link->state == LINK_OVER && !link->moved &&
		!link->why.err) /* just logged in, and nobody else hears of it */
		link->why = dm->why;
	if (mute)
		diag_set(&dm->why, DIAG_CLOSED, ECONNRESET,
			"the target closed the connection instead of answering the login");
	if (mute && !link->from->auth.user) /* seen of Linux 6.12 */
		diag_hint(&dm->why, "the target may require CHAP: --user and --secret-file");
	else if (mute && link->carrier == ISCSI_ISER)
		diag_hint(&dm->why, "check the CHAP secret and the initiator name (--initiator): "
				    "over iSER Linux's target reports no reason");
	finish(link, &dm->why);
}

static const struct datamover_events events = { up, notified, terminated };

static void dial(struct iscsi_link *link)
{
	uint64_t end = attempt_end(link);
	struct kernel_iscsi_how how = { .kind = link->carrier == ISCSI_ISER ? KERNEL_ISCSI_ISER
									    : KERNEL_ISCSI_TCP,
		.transport = link->transport,
		.to = link->at,
		.src = link->src,
		.netdev = link->netdev,
		.cmds_max = (uint16_t)link->set->cmds_max,
		.queue_depth = (uint16_t)link->set->queue_depth,
		.again = link->again,
		.conn = link->id };
	struct diag why = { 0 };

	link->state = LINK_CONNECT;
	how.timeout_ms = attempt_ms(end);
	if (kernel_iscsi_dial(&link->conn, link->nl, &how, &events, link, &why)) {
		link->conn = NULL;
		finish(link, &why);
		return;
	}
	loop_timer_set(link->loop, &link->timer, end);
}

void iscsi_link_start(struct iscsi_link *link)
{
	link->timer.fire = late;
	link->later.run = later;
	link->at = link->portal;
	iscsi_hops_begin(&link->hops, &link->portal, arrived);
	dial(link);
}

void iscsi_link_end(struct iscsi_link *link)
{
	loop_work_del(link->loop, &link->later);
	loop_timer_del(link->loop, &link->timer);
	iscsi_hops_end(&link->hops);
	hang_up(link);
}
