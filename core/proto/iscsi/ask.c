/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A discovery session over whatever carries it (RFC 7143, 4.3 and Appendix C). */
#include "carrier.h"
#include "login.h"
#include "targets.h"
#include <errno.h>
#include <stdio.h>

#define MSEC      1000000ull
#define LOGOUT_MS 1000
/* after a logout it is the target's turn to close: Linux's (6.12) was seen to warn of its own state
 * when we did */
#define CLOSE_MS 200
#define TRIES    50
#define AGAIN_MS 20

static struct iscsi_ask *ask_of(struct iscsi_dial *dial)
{
	return container_of(dial, struct iscsi_ask, dial);
}

static int connect_to(struct iscsi_dial *dial, uint32_t timeout_ms,
	const struct datamover_events *events, struct diag *diag)
{
	return (dial->carrier == ISCSI_ISER ? iscsi_iser : iscsi_tcp)(
		&dial->dm, dial->loop, &dial->result.at, timeout_ms, events, dial, diag);
}

static void send_pdu(struct iscsi_ask *ask, const void *bhs, const void *data, uint32_t len)
{
	struct datamover *dm = ask->dial.dm;
	struct diag why = { 0 };

	if (!dm->ops->send_control(dm, bhs, data, len))
		return;
	diag_set(&why, DIAG_PROTOCOL, EPROTO,
		"the target sends requests faster than it reads the answers");
	iscsi_dial_finish(&ask->dial, &why);
}

static void send_text(struct iscsi_ask *ask, uint32_t ttt, const char *text, uint32_t len)
{
	struct iscsi_text_req req = { .opcode = ISCSI_TEXT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ask->itt),
		.ttt = put_be32(ttt),
		.cmdsn = put_be32(ask->dial.login->cmdsn),
		.exp_statsn = put_be32(ask->exp_statsn) };

	loop_trace(ask->dial.loop, "> text request%s",
		len ? ", SendTargets=All" : ", to be continued");
	send_pdu(ask, &req, text, len);
}

static void log_out(struct iscsi_ask *ask)
{
	struct iscsi_dial *dial = &ask->dial;
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(++ask->itt),
		.cmdsn = put_be32(dial->login->cmdsn),
		.exp_statsn = put_be32(ask->exp_statsn) };
	uint64_t until = loop_clock() + LOGOUT_MS * MSEC;

	dial->awaits = NULL;
	loop_trace(dial->loop, "> logout request");
	send_pdu(ask, &req, NULL, 0);
	if (!dial->until || until < dial->until)
		loop_timer_set(dial->loop, &dial->timer, until);
}

static void send_targets(struct loop_timer *timer)
{
	static const char all[] = "SendTargets=All";
	struct iscsi_ask *ask = container_of(timer, struct iscsi_ask, again);

	if (ask->dial.why.err) /* it is about to end */
		return;
	ask->tries++;
	send_text(ask, ISCSI_NO_TAG, all, sizeof(all));
}

static int logged_in(struct iscsi_dial *dial, struct diag *diag)
{
	struct iscsi_ask *ask = ask_of(dial);

	(void)diag;
	dial->dm->ops->enable_datamover(dial->dm, dial->dm->recv_limit);
	ask->itt = 2;
	ask->exp_statsn = dial->result.agreed.exp_statsn;
	if (!ask->list) {
		log_out(ask);
		return 0;
	}
	dial->awaits = "SendTargets";
	send_targets(&ask->again);
	return 0;
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
		iscsi_dial_finish(&ask->dial, &why);
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
		.sn = put_be32(ask->dial.login->cmdsn),
		.exp_sn = put_be32(ask->exp_statsn) };

	memcpy(out.lun, in->lun, sizeof(out.lun));
	if (get_be32(in->ttt) != ISCSI_NO_TAG)
		send_pdu(ask, &out, NULL, 0);
}

/* Linux's iSER target (6.12) takes requests while it has not ended the login that it has answered,
 * and any text is too long for it until then (iscsi_post_login_handler()). */
static bool came_too_early(const struct iscsi_ask *ask, const struct iscsi_bhs *bhs)
{
	return ISCSI_OPCODE(bhs->opcode) == ISCSI_REJECT &&
	       ((const struct iscsi_reject *)bhs)->reason == ISCSI_REJECT_PROTOCOL &&
	       ask->dial.carrier == ISCSI_ISER && !ask->text.len && ask->tries < TRIES;
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
	iscsi_dial_finish(&ask->dial, &why);
}

static void take_pdu(
	struct iscsi_dial *dial, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	struct iscsi_ask *ask = ask_of(dial);
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);

	if (opcode == ISCSI_NOP_IN) {
		take_nop(ask, bhs);
		return;
	}
	ask->exp_statsn = get_be32(((const struct iscsi_text_rsp *)bhs)->statsn) + 1;
	if (!dial->awaits) {
		uint64_t end = loop_clock() + CLOSE_MS * MSEC;

		if (end < dial->timer.at_ns)
			loop_timer_set(dial->loop, &dial->timer, end);
	} else if (opcode == ISCSI_TEXT_RSP) {
		take_text(ask, bhs, data, len);
	} else if (came_too_early(ask, bhs)) {
		loop_timer_set(dial->loop, &ask->again, loop_clock() + AGAIN_MS * MSEC);
	} else {
		refuse(ask, bhs);
	}
}

static void ended(struct iscsi_dial *dial)
{
	struct iscsi_ask *ask = ask_of(dial);

	loop_timer_del(dial->loop, &ask->again);
	ask->over = 1;
	if (ask->done)
		ask->done(ask);
}

void iscsi_ask_start(struct iscsi_ask *ask)
{
	static const struct iscsi_dial_ops ops = {
		.connect = connect_to, .logged_in = logged_in, .pdu = take_pdu, .done = ended
	};

	ask->dial.ops = &ops;
	ask->again.fire = send_targets;
	iscsi_dial_start(&ask->dial);
}

int iscsi_ask_found(struct iscsi_ask *ask, struct iscsi_found *found, struct diag *diag)
{
	const struct iscsi_login_result *result = &ask->dial.result;
	int err = iscsi_targets_get(&ask->text, &result->at, found, diag);

	found->at = result->at;
	found->redirects = result->redirects;
	memcpy(found->way, result->way, sizeof(found->way));
	memcpy(found->alg, result->agreed.alg, sizeof(found->alg));
	return err;
}

void iscsi_ask_end(struct iscsi_ask *ask)
{
	loop_timer_del(ask->dial.loop, &ask->again);
	iscsi_dial_end(&ask->dial);
	iscsi_text_free(&ask->text);
}
