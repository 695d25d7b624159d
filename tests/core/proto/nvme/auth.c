/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator's side of DH-HMAC-CHAP at controllers that break it: each is refused with the
 * reason of the specification, and named. The queue's carrier is in memory. */
#include "nvme.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#define NQN  "nqn.t"
#define HOST "nqn.host"

/* What the controller does, in place of what is right. */
enum lie {
	NONE,
	OTHER_TRANSACTION,
	UNKNOWN_HASH,
	UNKNOWN_GROUP,
	SHORT_HASH,
	DH_WITH_NULL,
	WEAK_DH,
	SUCCESS_FIRST,
	UNKNOWN_MESSAGE,
	CHALLENGE_TWICE,
	FAILURE,
	NO_PROOF,
	WRONG_PROOF,
	BAD_STATUS,
	CLOSES_AFTER_REPLY,
	CLOSES_AFTER_FAILURE2,
	SECURE_CHANNEL,
};

static struct nvme_key secrets[2] = { { .len = 32, .hash = 1, .key = "host" },
	{ .len = 48, .hash = 0, .key = "controller" } };
static struct loop *loop;
static struct nvme_conf conf;
static struct nvme_qp qp;
static struct nvme_queue queue;
static struct loop_work work;
static struct nvme_slot *slot;
static enum lie lie;
static bool started, closing;
static volatile int ended;
static struct nvme_auth_msg seen, reply, failure2; /* of the host; `in` has the last one's bytes */
static uint8_t in[NVME_AUTH_BUFFER], challenge[64];

static void answer_negotiate(struct nvme_auth_msg *msg)
{
	static uint8_t weak[256] = { [255] = 1 };

	*msg = (struct nvme_auth_msg){ .kind = NVME_AUTH_CHALLENGE,
		.tid = (uint16_t)(seen.tid + (lie == OTHER_TRANSACTION)),
		.hash = lie == UNKNOWN_HASH ? 9 : NVME_CHAP_SHA384,
		.group = lie == UNKNOWN_GROUP ? 0x20
			 : lie == WEAK_DH     ? NVME_CHAP_2048
					      : NVME_CHAP_NULL,
		.seq = 5,
		.hash_len = lie == SHORT_HASH ? 32 : 48,
		.challenge = challenge,
		.dh_len = lie == DH_WITH_NULL || lie == WEAK_DH ? 256 : 0,
		.dh = weak };
	if (lie == SUCCESS_FIRST)
		msg->kind = NVME_AUTH_SUCCESS1;
	if (lie == FAILURE) {
		msg->kind = NVME_AUTH_FAILURE1;
		msg->reason = NVME_AUTH_NO_HASH;
	}
}

static void answer_reply(struct nvme_auth_msg *msg)
{
	static uint8_t response[64];
	const struct nvme_chap_round round = { .controller = true,
		.hash = NVME_CHAP_SHA384,
		.tid = seen.tid,
		.seq = seen.seq,
		.challenge = seen.challenge,
		.hostnqn = HOST,
		.subnqn = NQN };

	if (lie == CHALLENGE_TWICE) {
		answer_negotiate(msg);
		return;
	}
	cr_assert_eq(nvme_chap_respond(response, &secrets[1], &round), 0);
	response[7] ^= lie == WRONG_PROOF || lie == CLOSES_AFTER_FAILURE2;
	*msg = (struct nvme_auth_msg){ .kind = NVME_AUTH_SUCCESS1,
		.tid = seen.tid,
		.hash_len = 48,
		.valid = seen.valid && lie != NO_PROOF,
		.response = response };
}

static void end_queue(const char *text)
{
	diag_set(&queue.why, DIAG_CLOSED, ECONNRESET, "%s", text);
	queue.ev->down(&queue);
}

static void receive(void)
{
	struct nvme_auth_msg msg;
	uint8_t out[NVME_AUTH_MSG_MAX];

	if (seen.kind == NVME_AUTH_NEGOTIATE)
		answer_negotiate(&msg);
	else
		answer_reply(&msg);
	memcpy(slot->data.p, out, nvme_auth_put(out, &msg));
	if (lie == UNKNOWN_MESSAGE)
		slot->data.p[1] = 77;
}

/* False: the controller closes the connection instead of a completion. */
static bool execute(uint8_t fctype)
{
	if (fctype == NVMF_AUTH_RECEIVE) {
		receive();
	} else if (fctype == NVMF_AUTH_SEND) {
		memcpy(in, slot->data.p, slot->data.len);
		cr_assert_eq(nvme_auth_get(&seen, in, slot->data.len, NULL), 0);
		if (seen.kind == NVME_AUTH_REPLY)
			reply = seen;
		if (seen.kind == NVME_AUTH_FAILURE2)
			failure2 = seen;
	}
	return !(lie == CLOSES_AFTER_REPLY && reply.kind) &&
	       !(lie == CLOSES_AFTER_FAILURE2 && failure2.kind);
}

static void run(struct loop_work *of)
{
	struct nvme_slot *now = slot;
	uint8_t fctype;

	(void)of;
	if (closing) {
		end_queue("closed");
		return;
	}
	if (!started) {
		started = true;
		queue.ev->up(&queue);
		return;
	}
	fctype = ((const struct nvmf_auth_sqe *)(const void *)now->sqe)->fctype;
	if (!execute(fctype)) {
		end_queue("connection closed by the peer");
		return;
	}
	slot = NULL;
	now->cqe = (struct nvme_cqe){ .sqhd = put_le16(NVME_SQHD_NONE) };
	if (fctype == NVMF_CONNECT)
		now->cqe.result = put_le64(
			NVMF_AUTHREQ_ATR | (lie == SECURE_CHANNEL ? NVMF_AUTHREQ_ASCR : 0) | 1);
	else if (lie == BAD_STATUS)
		now->cqe.status = put_le16((uint16_t)(NVMF_AUTH_REQUIRED << 1));
	queue.reply(&queue, now);
}

static int carrier_open(struct nvme_queue **out, struct loop *on, const struct nvme_conf *of,
	uint16_t qid, uint16_t depth, uint32_t timeout_ms, const struct nvme_queue_events *ev,
	void *user, struct diag *diag)
{
	(void)timeout_ms;
	queue = (struct nvme_queue){ .carrier = of->carrier,
		.ev = ev,
		.conf = of,
		.loop = on,
		.user = user,
		.qid = qid,
		.depth = depth };
	cr_assert_eq(inflight_init(&queue.inflight, on, depth,
			     sizeof(struct nvme_slot) + sizeof(struct nvme_sqe), NULL, diag),
		0);
	for (unsigned tag = 0; tag < depth; tag++) {
		struct nvme_slot *each = inflight_slot(&queue.inflight, tag);

		each->sqe = (void *)(each + 1);
	}
	*out = &queue;
	work.run = run;
	loop_work_add(on, &work);
	return 0;
}

static void carrier_submit(struct nvme_queue *of, struct nvme_slot *given)
{
	cr_assert_null(slot);
	slot = given;
	loop_work_add(of->loop, &work);
}

static void carrier_close(struct nvme_queue *of)
{
	closing = true;
	loop_work_add(of->loop, &work);
}

static void carrier_free(struct nvme_queue *of)
{
	loop_work_del(of->loop, &work);
	inflight_fini(&of->inflight);
}

static const struct nvme_carrier carrier = { .name = "memory",
	.open = carrier_open,
	.submit = carrier_submit,
	.close = carrier_close,
	.free = carrier_free };

static void up(struct nvme_qp *of)
{
	(void)of;
	ended = 1;
}

static void down(struct nvme_qp *of)
{
	(void)of;
	ended = -1;
}

static const struct nvme_qp_events events = { .up = up, .down = down };

static void authenticate(enum lie with, bool mutual)
{
	struct diag why = { 0 };

	lie = with;
	started = closing = false;
	slot = NULL;
	ended = 0;
	seen = reply = failure2 = (struct nvme_auth_msg){ 0 };
	conf = (struct nvme_conf){
		.carrier = &carrier, .subnqn = NQN, .hostnqn = HOST, .where = "there"
	};
	conf.secret[0] = &secrets[0];
	if (mutual)
		conf.secret[1] = &secrets[1];
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ 0 }, &why), 0);
	cr_assert_eq(
		nvme_qp_open(&qp, loop, &conf, 0, 4, NVMF_CNTLID_ANY, 8192, 0, &events, &why), 0);
	cr_assert(loop_wait(loop, &ended, 0));
}

static void end(void)
{
	nvme_qp_fini(&qp);
	loop_free(loop);
}

/* The queue ends with that failure, and the controller got that reason; 0: no Failure2. */
static void refuses(
	enum lie with, bool mutual, uint8_t reason, enum diag_code code, const char *words)
{
	authenticate(with, mutual);
	cr_assert_eq(ended, -1);
	diag_says(&qp.why, code, "there", words);
	cr_assert_eq(failure2.reason, reason, "reason %u, not %u", failure2.reason, reason);
	cr_assert_not(qp.authenticated);
	end();
}

/* One-way, S2 is 0 and the challenge not valid; mutual, S2 is never 0. */
Test(nvme_auth, succeeds)
{
	for (unsigned i = 0; i < 8; i++) {
		bool both = i & 1;

		authenticate(NONE, both);
		cr_assert(ended == 1 && qp.authenticated);
		cr_assert_eq(reply.valid, both);
		cr_assert_eq(reply.seq != 0, both);
		cr_assert_eq(seen.kind, both ? NVME_AUTH_SUCCESS2 : NVME_AUTH_REPLY);
		end();
	}
}

Test(nvme_auth, challenges_that_are_wrong)
{
	refuses(OTHER_TRANSACTION, true, NVME_AUTH_PAYLOAD, DIAG_PROTOCOL, "another_transaction");
	refuses(UNKNOWN_HASH, true, NVME_AUTH_NO_HASH, DIAG_PROTOCOL, "hash not_offered");
	refuses(SHORT_HASH, true, NVME_AUTH_NO_HASH, DIAG_PROTOCOL, "hash not_offered");
	refuses(UNKNOWN_GROUP, true, NVME_AUTH_NO_GROUP, DIAG_PROTOCOL, "DH_group not_offered");
	refuses(DH_WITH_NULL, true, NVME_AUTH_PAYLOAD, DIAG_PROTOCOL, "wrong_length");
	refuses(WEAK_DH, true, NVME_AUTH_PAYLOAD, DIAG_PROTOCOL, "reveal");
}

Test(nvme_auth, messages_out_of_order)
{
	refuses(SUCCESS_FIRST, false, NVME_AUTH_MESSAGE, DIAG_PROTOCOL, "unexpected_message");
	refuses(CHALLENGE_TWICE, false, NVME_AUTH_MESSAGE, DIAG_PROTOCOL, "unexpected_message");
	refuses(UNKNOWN_MESSAGE, false, NVME_AUTH_MESSAGE, DIAG_PROTOCOL, "unknown");
}

Test(nvme_auth, refusals)
{
	refuses(FAILURE, true, 0, DIAG_AUTH, "refused no_usable_hash");
	refuses(BAD_STATUS, true, 0, DIAG_AUTH, "authentication required");
	refuses(SECURE_CHANNEL, true, 0, DIAG_UNSUPPORTED, "secure_channel");
	refuses(CLOSES_AFTER_REPLY, true, 0, DIAG_AUTH, "closed refused_the_secret");
}

/* Nothing but the proof of the controller is one. */
Test(nvme_auth, controllers_without_the_secret)
{
	refuses(NO_PROOF, true, NVME_AUTH_FAILED, DIAG_AUTH, "did_not_authenticate_itself");
	refuses(WRONG_PROOF, true, NVME_AUTH_FAILED, DIAG_AUTH, "controller_secret wrong");
	refuses(CLOSES_AFTER_FAILURE2, true, NVME_AUTH_FAILED, DIAG_AUTH,
		"controller_secret wrong");
}

/* Whatever state it is in. */
Test(nvme_auth, freed_while_it_calculates)
{
	volatile int never = 0;
	struct diag why = { 0 };

	lie = WEAK_DH;
	conf = (struct nvme_conf){ .carrier = &carrier, .subnqn = NQN, .hostnqn = HOST };
	conf.secret[0] = &secrets[0];
	for (unsigned turns = 1; turns < 8; turns++) {
		started = closing = false;
		slot = NULL;
		cr_assert_eq(loop_new(&loop, &(struct loop_options){ 0 }, &why), 0);
		cr_assert_eq(nvme_qp_open(&qp, loop, &conf, 0, 4, NVMF_CNTLID_ANY, 8192, 0, &events,
				     &why),
			0);
		for (unsigned i = 0; i < turns; i++)
			loop_wait(loop, &never, loop_clock());
		end();
	}
}
