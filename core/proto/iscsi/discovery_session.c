/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A discovery session over any carrier (RFC 7143, 4.3 and appendix C). */
#include "carrier.h"
#include "dial.h"
#include "login.h"
#include "targets.h"
#include <errno.h>
#include <stdio.h>

#define LOGOUT_MS 1000
/* After a logout wait for the target to close: Linux 6.12 may log a warning about its own state if
 * the initiator does. */
#define CLOSE_MS 200
#define TRIES    50
#define AGAIN_MS 20

static struct iscsi_discovery *discovery_of(struct iscsi_dial *dial)
{
	return container_of(dial, struct iscsi_discovery, dial);
}

static int connect_to(struct iscsi_dial *dial, uint32_t timeout_ms,
	const struct iscsi_carrier_events *events, struct diag *diag)
{
	return (dial->carrier == ISCSI_ISER ? iscsi_iser : iscsi_tcp)(&dial->conn, dial->loop,
		discovery_of(dial)->conf, &dial->result.at, timeout_ms, events, dial, diag);
}

static void send_pdu(
	struct iscsi_discovery *discovery, const void *bhs, const void *data, uint32_t len)
{
	struct iscsi_carrier_conn *conn = discovery->dial.conn;
	struct diag why = { 0 };

	if (!conn->ops->send_control(conn, bhs, data, len))
		return;
	diag_set(&why, DIAG_PROTOCOL, EPROTO,
		"the target sends requests faster than it reads the answers");
	iscsi_dial_finish(&discovery->dial, &why);
}

static void send_text(
	struct iscsi_discovery *discovery, uint32_t ttt, const char *text, uint32_t len)
{
	struct iscsi_text_req req = { .opcode = ISCSI_TEXT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(discovery->itt),
		.ttt = put_be32(ttt),
		.cmdsn = put_be32(discovery->dial.login->cmdsn),
		.exp_statsn = put_be32(discovery->exp_statsn) };

	loop_trace(discovery->dial.loop, "> text request%s",
		len ? ", SendTargets=All" : ", to be continued");
	send_pdu(discovery, &req, text, len);
}

static void log_out(struct iscsi_discovery *discovery)
{
	struct iscsi_dial *dial = &discovery->dial;
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(++discovery->itt),
		.cmdsn = put_be32(dial->login->cmdsn),
		.exp_statsn = put_be32(discovery->exp_statsn) };
	uint64_t until = loop_clock() + LOGOUT_MS * MSEC;

	dial->pending_request = NULL;
	loop_trace(dial->loop, "> logout request");
	send_pdu(discovery, &req, NULL, 0);
	if (!dial->until || until < dial->until)
		loop_timer_set(dial->loop, &dial->timer, until);
}

static void send_targets(struct loop_timer *timer)
{
	static const char all[] = "SendTargets=All";
	struct iscsi_discovery *discovery =
		container_of(timer, struct iscsi_discovery, retry_timer);

	if (discovery->dial.why.err) /* about to finish */
		return;
	discovery->tries++;
	send_text(discovery, ISCSI_NO_TAG, all, sizeof(all));
}

static int logged_in(struct iscsi_dial *dial, struct diag *diag)
{
	struct iscsi_discovery *discovery = discovery_of(dial);

	(void)diag;
	dial->conn->ops->enable_full_feature(dial->conn, dial->conn->recv_limit);
	discovery->itt = 2;
	discovery->exp_statsn = dial->result.agreed.exp_statsn;
	if (!discovery->list) {
		log_out(discovery);
		return 0;
	}
	dial->pending_request = "SendTargets";
	send_targets(&discovery->retry_timer);
	return 0;
}

static int add_text(struct iscsi_discovery *discovery, const struct iscsi_text_rsp *rsp,
	const uint8_t *data, uint32_t len, struct diag *why)
{
	bool final = rsp->flags & ISCSI_FINAL;
	uint32_t ttt = get_be32(rsp->ttt);

	if (get_be32(rsp->itt) != discovery->itt)
		return diag_set(
			why, DIAG_PROTOCOL, EPROTO, "answer to a text request that was not sent");
	if (final && (rsp->flags & ISCSI_CONTINUE || ttt != ISCSI_NO_TAG))
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"text with both the final and the continue bit");
	if (!final && (ttt == ISCSI_NO_TAG || !len))
		return diag_set(why, DIAG_PROTOCOL, EPROTO, "empty text with the continue bit");
	return iscsi_text_add(&discovery->text, data, len, ISCSI_TARGETS_TEXT, why);
}

static void handle_text(struct iscsi_discovery *discovery, const struct iscsi_bhs *bhs,
	const uint8_t *data, uint32_t len)
{
	const struct iscsi_text_rsp *rsp = (const void *)bhs;
	struct diag why = { 0 };

	if (add_text(discovery, rsp, data, len, &why))
		iscsi_dial_finish(&discovery->dial, &why);
	else if (rsp->flags & ISCSI_FINAL)
		log_out(discovery);
	else
		send_text(discovery, get_be32(rsp->ttt), NULL, 0);
}

static void handle_nop(struct iscsi_discovery *discovery, const struct iscsi_bhs *bhs)
{
	const struct iscsi_nop *in = (const void *)bhs;
	struct iscsi_nop out = { .opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(ISCSI_NO_TAG),
		.ttt = in->ttt,
		.sn = put_be32(discovery->dial.login->cmdsn),
		.exp_sn = put_be32(discovery->exp_statsn) };

	memcpy(out.lun, in->lun, sizeof(out.lun));
	if (get_be32(in->ttt) != ISCSI_NO_TAG)
		send_pdu(discovery, &out, NULL, 0);
}

/* Linux's iSER target (6.12) receives requests before it has finished a login that it has answered;
 * until then any text is too long for it (iscsi_post_login_handler()). */
static bool should_retry(const struct iscsi_discovery *discovery, const struct iscsi_bhs *bhs)
{
	return ISCSI_OPCODE(bhs->opcode) == ISCSI_REJECT &&
	       ((const struct iscsi_reject *)bhs)->reason == ISCSI_REJECT_PROTOCOL &&
	       discovery->dial.carrier == ISCSI_ISER && !discovery->text.len &&
	       discovery->tries < TRIES;
}

static void refuse(struct iscsi_discovery *discovery, const struct iscsi_bhs *bhs)
{
	struct diag why = { 0 };

	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_REJECT)
		diag_set(&why, DIAG_REFUSED, EPROTO, "the target rejects a PDU: %s",
			iscsi_reject_text(((const struct iscsi_reject *)bhs)->reason));
	else if (ISCSI_OPCODE(bhs->opcode) == ISCSI_ASYNC)
		diag_set(&why, DIAG_CLOSED, ECONNRESET,
			"the target requests a logout before it has answered");
	else
		diag_set(&why, DIAG_PROTOCOL, EPROTO, "unexpected PDU with opcode 0x%02x",
			ISCSI_OPCODE(bhs->opcode));
	iscsi_dial_finish(&discovery->dial, &why);
}

static void handle_pdu(
	struct iscsi_dial *dial, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	struct iscsi_discovery *discovery = discovery_of(dial);
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);

	if (opcode == ISCSI_NOP_IN) {
		handle_nop(discovery, bhs);
		return;
	}
	discovery->exp_statsn = get_be32(((const struct iscsi_text_rsp *)bhs)->statsn) + 1;
	if (!dial->pending_request) {
		uint64_t end = loop_clock() + CLOSE_MS * MSEC;

		if (end < dial->timer.at_ns)
			loop_timer_set(dial->loop, &dial->timer, end);
	} else if (opcode == ISCSI_TEXT_RSP) {
		handle_text(discovery, bhs, data, len);
	} else if (should_retry(discovery, bhs)) {
		loop_timer_set(dial->loop, &discovery->retry_timer, loop_clock() + AGAIN_MS * MSEC);
	} else {
		refuse(discovery, bhs);
	}
}

static void ended(struct iscsi_dial *dial)
{
	struct iscsi_discovery *discovery = discovery_of(dial);

	loop_timer_del(dial->loop, &discovery->retry_timer);
	discovery->complete = 1;
	if (discovery->done)
		discovery->done(discovery);
}

void iscsi_discovery_start(struct iscsi_discovery *discovery)
{
	static const struct iscsi_dial_ops ops = {
		.connect = connect_to, .logged_in = logged_in, .pdu = handle_pdu, .done = ended
	};

	discovery->dial.ops = &ops;
	discovery->retry_timer.fire = send_targets;
	iscsi_dial_start(&discovery->dial);
}

int iscsi_discovery_parse(
	struct iscsi_discovery *discovery, struct iscsi_target_list *found, struct diag *diag)
{
	const struct iscsi_login_result *result = &discovery->dial.result;
	int err = iscsi_targets_parse(&discovery->text, &result->at, found, diag);

	found->at = result->at;
	found->redirects = result->redirects;
	memcpy(found->route, result->route, sizeof(found->route));
	memcpy(found->alg, result->agreed.alg, sizeof(found->alg));
	return err;
}

void iscsi_discovery_end(struct iscsi_discovery *discovery)
{
	loop_timer_del(discovery->dial.loop, &discovery->retry_timer);
	iscsi_dial_end(&discovery->dial);
	iscsi_text_free(&discovery->text);
}
