/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A discovery session over whatever carries it (RFC 7143, 4.3 and Appendix C). */
#include "ask.h"
#include "targets.h"
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#define MSEC      1000000ull
#define LOGOUT_MS 1000
/* after a logout it is the target's turn to close: Linux's (6.12) was seen to warn of its own state
 * when we did */
#define CLOSE_MS 200
#define SPARE_MS 200 /* the carrier's own deadline comes first and knows better why */

static void dial(struct iscsi_ask *);

/* Ends it after the upcall that is running; no error: all is done. */
static void finish(struct iscsi_ask *ask, const struct diag *why)
{
	if (ask->state == ISCSI_ASK_OVER)
		return;
	ask->state = ISCSI_ASK_OVER;
	if (why)
		ask->why = *why;
	loop_work_add(ask->loop, &ask->later);
}

static void hang_up(struct iscsi_ask *ask)
{
	if (ask->dm)
		ask->dm->ops->connection_terminate(ask->dm);
	ask->dm = NULL;
	iscsi_login_end(&ask->login);
}

static uint32_t left_ms(const struct iscsi_ask *ask)
{
	uint64_t now = loop_clock();

	return !ask->until               ? 0
	       : ask->until > now + MSEC ? (uint32_t)((ask->until - now) / MSEC)
					 : 1;
}

static void arrived(struct iscsi_hops *hops)
{
	struct iscsi_ask *ask = container_of(hops, struct iscsi_ask, hops);

	if (hops->why.err) {
		finish(ask, &hops->why);
		return;
	}
	ask->at = hops->visited[hops->count];
	dial(ask);
}

static void later(struct loop_work *work)
{
	struct iscsi_ask *ask = container_of(work, struct iscsi_ask, later);

	if (ask->moved) {
		ask->moved = false;
		ask->state = ISCSI_ASK_CONNECT;
		loop_trace(ask->loop, "redirected to %s", ask->login.redirect);
		iscsi_hops_on(&ask->hops, ask->loop, ask->login.redirect, false, left_ms(ask));
		hang_up(ask);
		return;
	}
	iscsi_hops_end(&ask->hops);
	hang_up(ask);
	loop_timer_del(ask->loop, &ask->timer);
	ask->state = ISCSI_ASK_OVER;
	ask->over = 1;
	if (ask->done)
		ask->done(ask);
}

static void late(struct loop_timer *timer)
{
	static const char *const what[] = { "the connection request", "the login", "SendTargets",
		"", "" };
	struct iscsi_ask *ask = container_of(timer, struct iscsi_ask, timer);
	struct diag why = { 0 };

	if (ask->state < ISCSI_ASK_LOGOUT)
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "timed out waiting for the answer to %s",
			what[ask->state]);
	finish(ask, &why);
}

static void send_pdu(struct iscsi_ask *ask, const void *bhs, const void *data, uint32_t len)
{
	struct diag why = { 0 };

	if (!ask->dm->ops->send_control(ask->dm, bhs, data, len))
		return;
	diag_set(&why, DIAG_PROTOCOL, EPROTO,
		"the target sends requests faster than it reads the answers");
	finish(ask, &why);
}

static void send_login(struct iscsi_ask *ask)
{
	loop_trace(ask->loop, "> login request, stage %u%s", ISCSI_CSG(ask->login.req.flags),
		ask->login.req.flags & ISCSI_FINAL ? ", final" : "");
	send_pdu(ask, &ask->login.req, ask->login.data, iscsi_login_len(&ask->login));
}

static void send_text(struct iscsi_ask *ask, uint32_t ttt, const char *text, uint32_t len)
{
	struct iscsi_text_req req = { .opcode = ISCSI_TEXT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ask->itt),
		.ttt = put_be32(ttt),
		.cmdsn = put_be32(ask->login.cmdsn),
		.exp_statsn = put_be32(ask->exp_statsn) };

	loop_trace(ask->loop, "> text request%s", len ? ", SendTargets=All" : ", to be continued");
	send_pdu(ask, &req, text, len);
}

static void log_out(struct iscsi_ask *ask)
{
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(++ask->itt),
		.cmdsn = put_be32(ask->login.cmdsn),
		.exp_statsn = put_be32(ask->exp_statsn) };
	uint64_t until = loop_clock() + LOGOUT_MS * MSEC;

	ask->state = ISCSI_ASK_LOGOUT;
	loop_trace(ask->loop, "> logout request");
	send_pdu(ask, &req, NULL, 0);
	if (ask->state == ISCSI_ASK_LOGOUT && (!ask->until || until < ask->until))
		loop_timer_set(ask->loop, &ask->timer, until);
}

static void logged_in(struct iscsi_ask *ask)
{
	static const char all[] = "SendTargets=All";

	snprintf(ask->alg, sizeof(ask->alg), "%s",
		ask->login.by_chap ? iscsi_chap_name((unsigned)ask->login.chap.alg) : "");
	loop_trace(ask->loop, "logged in%s%s", *ask->alg ? ", by CHAP with " : "", ask->alg);
	ask->dm->ops->enable_datamover(ask->dm, ask->dm->recv_limit);
	ask->itt = 2;
	ask->exp_statsn = ask->login.exp_statsn;
	if (!ask->list) {
		log_out(ask);
		return;
	}
	ask->state = ISCSI_ASK_TEXT;
	send_text(ask, ISCSI_NO_TAG, all, sizeof(all));
}

static void take_login(
	struct iscsi_ask *ask, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	struct diag why = { 0 };
	int next = iscsi_login_take(&ask->login, bhs, data, len, &why);

	ask->answers |= ask->login.started;
	if (next < 0) {
		finish(ask, &why);
	} else if (next == ISCSI_LOGIN_MOVED) {
		ask->moved = true;
		finish(ask, NULL);
	} else if (next == ISCSI_LOGIN_DONE) {
		logged_in(ask);
	} else {
		send_login(ask);
	}
}

static int add_text(struct iscsi_ask *ask, const struct iscsi_text_rsp *rsp, const uint8_t *data,
	uint32_t len, struct diag *why)
{
	bool final = rsp->flags & ISCSI_FINAL;
	uint32_t ttt = get_be32(rsp->ttt);

	if (get_be32(rsp->itt) != ask->itt)
		return diag_set(
			why, DIAG_PROTOCOL, EPROTO, "answer to a text request that was not sent");
	if (final && (rsp->flags & ISCSI_CONTINUE || ttt != ISCSI_NO_TAG))
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"text with both the final and the continue bit");
	if (!final && (ttt == ISCSI_NO_TAG || !len))
		return diag_set(why, DIAG_PROTOCOL, EPROTO, "empty text with the continue bit");
	return iscsi_text_add(&ask->text, data, len, ISCSI_TARGETS_TEXT, why);
}

static void take_text(
	struct iscsi_ask *ask, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_text_rsp *rsp = (const void *)bhs;
	struct diag why = { 0 };

	if (add_text(ask, rsp, data, len, &why))
		finish(ask, &why);
	else if (rsp->flags & ISCSI_FINAL)
		log_out(ask);
	else
		send_text(ask, get_be32(rsp->ttt), NULL, 0);
}

static void take_nop(struct iscsi_ask *ask, const struct iscsi_bhs *bhs)
{
	const struct iscsi_nop *in = (const void *)bhs;
	struct iscsi_nop out = { .opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ISCSI_NO_TAG),
		.ttt = in->ttt,
		.sn = put_be32(ask->login.cmdsn),
		.exp_sn = put_be32(ask->exp_statsn) };

	memcpy(out.lun, in->lun, sizeof(out.lun));
	if (get_be32(in->ttt) != ISCSI_NO_TAG)
		send_pdu(ask, &out, NULL, 0);
}

static void refuse(struct iscsi_ask *ask, const struct iscsi_bhs *bhs)
{
	struct diag why = { 0 };

	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_REJECT)
		diag_set(&why, DIAG_REFUSED, EPROTO, "the target rejects a PDU: %s",
			iscsi_reject_word(((const struct iscsi_reject *)bhs)->reason));
	else if (ISCSI_OPCODE(bhs->opcode) == ISCSI_ASYNC)
		diag_set(&why, DIAG_CLOSED, ECONNRESET,
			"the target requests a logout before it has answered");
	else
		diag_set(&why, DIAG_PROTOCOL, EPROTO, "unexpected PDU with opcode 0x%02x",
			ISCSI_OPCODE(bhs->opcode));
	finish(ask, &why);
}

static void notified(
	struct datamover *dm, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	struct iscsi_ask *ask = dm->user;
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);

	if (ask->state == ISCSI_ASK_OVER)
		return;
	if (ask->state == ISCSI_ASK_LOGIN) {
		take_login(ask, bhs, data, len);
		return;
	}
	if (opcode == ISCSI_NOP_IN) {
		take_nop(ask, bhs);
		return;
	}
	ask->exp_statsn = get_be32(((const struct iscsi_text_rsp *)bhs)->statsn) + 1;
	if (ask->state == ISCSI_ASK_TEXT && opcode == ISCSI_TEXT_RSP)
		take_text(ask, bhs, data, len);
	else if (ask->state == ISCSI_ASK_LOGOUT)
		loop_timer_set(ask->loop, &ask->timer, loop_clock() + CLOSE_MS * MSEC);
	else
		refuse(ask, bhs);
}

static void up(struct datamover *dm)
{
	struct iscsi_ask *ask = dm->user;

	memcpy(ask->way, dm->way, sizeof(ask->way));
	loop_trace(ask->loop, "%s: %s", iscsi_carrier_word(ask->carrier), ask->way);
	ask->state = ISCSI_ASK_LOGIN;
	send_login(ask);
}

static void terminated(struct datamover *dm)
{
	struct iscsi_ask *ask = dm->user;

	if (ask->state == ISCSI_ASK_LOGIN && !ask->from->auth.user &&
		dm->why.code == DIAG_CLOSED) /* seen of Linux 6.12 */
		diag_hint(&dm->why, "the target may require CHAP: --user and --secret-file");
	finish(ask, ask->state < ISCSI_ASK_LOGOUT ? &dm->why : NULL);
}

static const struct datamover_events events = { up, notified, terminated };

static void dial(struct iscsi_ask *ask)
{
	struct iscsi_login_how how = { .initiator = ask->from->initiator,
		.auth = &ask->from->auth,
		.rdma = ask->carrier == ISCSI_ISER };
	struct diag why = { 0 };
	uint8_t random[32];

	ask->state = ISCSI_ASK_CONNECT;
	if ((ask->carrier == ISCSI_ISER ? iscsi_iser : iscsi_tcp)(
		    &ask->dm, ask->loop, &ask->at, left_ms(ask), &events, ask, &why)) {
		ask->dm = NULL;
		finish(ask, &why);
		return;
	}
	how.recv_max = ask->dm->recv_limit;
	if (getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
		diag_sys(&why, EAGAIN, "read random numbers");
		finish(ask, &why);
		return;
	}
	iscsi_login_start(&ask->login, &how, random);
	if (ask->until)
		loop_timer_set(ask->loop, &ask->timer, ask->until + SPARE_MS * MSEC);
}

void iscsi_ask_start(struct iscsi_ask *ask)
{
	ask->timer.fire = late;
	ask->later.run = later;
	iscsi_hops_begin(&ask->hops, &ask->at, arrived);
	dial(ask);
}

void iscsi_ask_end(struct iscsi_ask *ask)
{
	loop_work_del(ask->loop, &ask->later);
	loop_timer_del(ask->loop, &ask->timer);
	iscsi_hops_end(&ask->hops);
	hang_up(ask);
	iscsi_text_free(&ask->text);
}
