/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator's side of DH-HMAC-CHAP (Base 2.1, 8.3.5.5): authenticate a queue between its
 * Connect and its first other command. Each message is a command of its own: Authentication Send or
 * Receive. */
#include "nvme.h"
#include "offload.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum step {
	SEND_NEGOTIATE,
	RECEIVE_CHALLENGE,
	CALCULATE,
	SEND_REPLY,
	RECEIVE_SUCCESS1,
	SEND_SUCCESS2,
	SEND_FAILURE2
};

/* The slow part: our public value and the session key. */
struct job {
	struct offload offload; /* first member */
	struct nvme_auth *auth;
	uint8_t hash, group;
	int err;
	uint8_t exponent[NVME_CHAP_PRIVATE], peer[NVME_CHAP_DH_MAX];
	uint8_t value[NVME_CHAP_DH_MAX], session_key[NVME_CHAP_HASH_MAX];
};

struct nvme_auth {
	struct nvme_qp *qp;
	struct job *job; /* NULL: none */
	uint8_t step, sc_c, hash, group;
	uint16_t tid;
	uint32_t seq[2];                          /* S1, S2 */
	uint8_t challenge[2][NVME_CHAP_HASH_MAX]; /* the controller's, ours */
	uint8_t expected[NVME_CHAP_HASH_MAX];     /* response of the controller */
	struct nvme_key psk;                      /* generated; len 0: none */
	struct diag why;                          /* reason of SEND_FAILURE2 */
	uint8_t in[NVME_AUTH_BUFFER];
};

static bool mutual(const struct nvme_auth *auth)
{
	return auth->qp->conf->secret[1];
}

static void fail(struct nvme_auth *auth, const struct diag *why)
{
	loop_trace(auth->qp->loop, "%s: queue %u: %s", auth->qp->conf->where, auth->qp->qid,
		why->text);
	nvme_qp_fail(auth->qp, why);
}

static void submit(struct nvme_auth *auth, enum step step, uint8_t fctype, size_t len)
{
	struct nvme_qp *qp = auth->qp;
	struct nvme_slot *slot = inflight_take(&qp->queue->inflight, qp, qp->deadline_ns);
	const struct nvmf_auth_sqe sqe = { .opcode = NVME_FABRICS,
		.fctype = fctype,
		.spsp0 = NVMF_AUTH_SPSP,
		.spsp1 = NVMF_AUTH_SPSP,
		.secp = NVMF_AUTH_SECP,
		.len = put_le32((uint32_t)len) };

	auth->step = (uint8_t)step;
	memcpy(slot->sqe, &sqe, sizeof(sqe));
	slot->data = (struct nvme_data){ qp->scratch->base, (uint32_t)len, fctype == NVMF_AUTH_SEND,
		qp->scratch };
	qp->queue->carrier->submit(qp->queue, slot);
}

static void send_message(struct nvme_auth *auth, enum step step, struct nvme_auth_msg *msg)
{
	msg->tid = auth->tid;
	submit(auth, step, NVMF_AUTH_SEND, nvme_auth_put(auth->qp->scratch->base, msg));
}

static void receive(struct nvme_auth *auth, enum step step)
{
	memset(auth->qp->scratch->base, 0, sizeof(auth->in));
	submit(auth, step, NVMF_AUTH_RECEIVE, sizeof(auth->in));
}

/* The connection ends once the target has the reason. */
static void refuse(struct nvme_auth *auth, enum nvme_auth_reason reason, const struct diag *why)
{
	auth->why = *why;
	send_message(auth, SEND_FAILURE2,
		&(struct nvme_auth_msg){ .kind = NVME_AUTH_FAILURE2, .reason = reason });
}

static void refuse_message(struct nvme_auth *auth, enum nvme_auth_reason reason, const char *text)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_PROTOCOL, EPROTO, "authentication: %s", text);
	refuse(auth, reason, &why);
}

static void negotiate(struct nvme_auth *auth)
{
	struct nvme_auth_msg msg = { .kind = NVME_AUTH_NEGOTIATE,
		.sc_c = auth->sc_c,
		.hashes = 3,
		.groups = 6,
		.hash_ids = { NVME_CHAP_SHA256, NVME_CHAP_SHA384, NVME_CHAP_SHA512 },
		.group_ids = { NVME_CHAP_2048, NVME_CHAP_3072, NVME_CHAP_4096, NVME_CHAP_6144,
			NVME_CHAP_8192, NVME_CHAP_NULL } };

	if (auth->sc_c) { /* the last ones are SHA-512 and null */
		msg.hashes--;
		msg.groups--;
	}
	send_message(auth, SEND_NEGOTIATE, &msg);
}

static int respond(
	const struct nvme_auth *auth, bool controller, const uint8_t *session_key, uint8_t *to)
{
	const struct nvme_conf *conf = auth->qp->conf;
	const struct nvme_chap_round round = { .controller = controller,
		.hash = auth->hash,
		.sc_c = auth->sc_c,
		.tid = auth->tid,
		.seq = auth->seq[controller],
		.challenge = auth->challenge[controller],
		.session_key = session_key,
		.hostnqn = conf->hostnqn,
		.subnqn = conf->subnqn };

	return nvme_chap_respond(to, conf->secret[controller], &round);
}

static int generate_psk(struct nvme_auth *auth, const uint8_t *session_key)
{
	auth->psk.len = (uint8_t)nvme_chap_hash_len(auth->hash);
	return nvme_chap_generate_psk(
		auth->psk.key, auth->hash, session_key, auth->challenge[0], auth->challenge[1]);
}

/* dh: our public value; NULL: null group. A challenge whose sequence number is 0 is only for the
 * generated PSK. */
static void send_reply(struct nvme_auth *auth, const uint8_t *dh, const uint8_t *session_key)
{
	uint8_t response[NVME_CHAP_HASH_MAX];
	struct nvme_auth_msg msg = { .kind = NVME_AUTH_REPLY,
		.hash_len = (uint8_t)nvme_chap_hash_len(auth->hash),
		.dh_len = (uint16_t)nvme_chap_group_len(auth->group),
		.valid = mutual(auth) || auth->sc_c,
		.seq = auth->seq[1],
		.response = response,
		.challenge = mutual(auth) || auth->sc_c ? auth->challenge[1] : NULL,
		.dh = dh };
	int err = respond(auth, false, session_key, response);
	struct diag why = { 0 };

	if (!err && mutual(auth))
		err = respond(auth, true, session_key, auth->expected);
	if (!err && auth->sc_c)
		err = generate_psk(auth, session_key);
	if (!err) {
		send_message(auth, SEND_REPLY, &msg);
		return;
	}
	diag_sys(&why, -err, "authentication");
	fail(auth, &why);
}

static void job_work(struct offload *offload)
{
	struct job *job = container_of(offload, struct job, offload);

	job->err = nvme_chap_public(job->value, job->group, job->exponent);
	if (!job->err)
		job->err = nvme_chap_session_key(
			job->session_key, job->hash, job->group, job->exponent, job->peer);
}

static void job_free(struct offload *offload)
{
	struct job *job = container_of(offload, struct job, offload);

	explicit_bzero(job, sizeof(*job));
	free(job);
}

static void job_done(struct offload *offload)
{
	struct job *job = container_of(offload, struct job, offload);
	struct nvme_auth *auth = job->auth;
	struct diag why = { 0 };

	auth->job = NULL;
	if (auth->qp->state != QP_OPENING) {
		/* it is ending */
	} else if (job->err == -ERANGE) {
		refuse_message(auth, NVME_AUTH_PAYLOAD,
			"the target's Diffie-Hellman value would reveal the shared secret");
	} else if (job->err) {
		diag_sys(&why, -job->err, "authentication");
		fail(auth, &why);
	} else {
		send_reply(auth, job->value, job->session_key);
	}
	job_free(&job->offload);
}

static void calculate(struct nvme_auth *auth, const uint8_t *peer)
{
	struct job *job = calloc(1, sizeof(*job));
	struct diag why = { 0 };
	int err = job ? 0 : diag_sys(&why, ENOMEM, "authentication");

	auth->step = CALCULATE;
	if (!err && getrandom(job->exponent, sizeof(job->exponent), GRND_NONBLOCK) !=
			    sizeof(job->exponent))
		err = diag_sys(&why, EAGAIN, "authentication: get random numbers");
	if (!err) {
		job->offload.work = job_work;
		job->offload.done = job_done;
		job->offload.free = job_free;
		job->auth = auth;
		job->hash = auth->hash;
		job->group = auth->group;
		memcpy(job->peer, peer, (size_t)nvme_chap_group_len(auth->group));
		err = offload_start(&job->offload, auth->qp->loop, &why);
	}
	if (!err) {
		auth->job = job;
		return;
	}
	if (job)
		job_free(&job->offload);
	fail(auth, &why);
}

static void refuse_concatenation(struct nvme_auth *auth, const struct nvme_auth_msg *msg)
{
	char text[160];

	snprintf(text, sizeof(text), "the target chose %s with %s, which %s",
		nvme_chap_hash_name(msg->hash), nvme_chap_group_name(msg->group),
		"can't generate a key for TLS (concat=)");
	refuse_message(auth, NVME_AUTH_CONCATENATION, text);
}

static void handle_challenge(struct nvme_auth *auth, const struct nvme_auth_msg *msg)
{
	int len = nvme_chap_group_len(msg->group);

	if (!nvme_chap_hash_len(msg->hash) || msg->hash_len != nvme_chap_hash_len(msg->hash)) {
		refuse_message(
			auth, NVME_AUTH_NO_HASH, "the target chose a hash that was not offered");
		return;
	}
	if (len < 0) {
		refuse_message(auth, NVME_AUTH_NO_GROUP,
			"the target chose a DH group that was not offered");
		return;
	}
	if (auth->sc_c && (!nvme_chap_hash_concatenates(msg->hash) ||
				  !nvme_chap_group_concatenates(msg->group))) {
		refuse_concatenation(auth, msg);
		return;
	}
	if (msg->dh_len != len) {
		refuse_message(auth, NVME_AUTH_PAYLOAD,
			"the target's Diffie-Hellman value has a wrong length");
		return;
	}
	loop_trace(auth->qp->loop, "%s: queue %u: DH-HMAC-CHAP with %s, %s%s",
		auth->qp->conf->where, auth->qp->qid, nvme_chap_hash_name(msg->hash),
		nvme_chap_group_name(msg->group), mutual(auth) ? ", mutual" : "");
	auth->hash = msg->hash;
	auth->group = msg->group;
	auth->seq[0] = msg->seq;
	memcpy(auth->challenge[0], msg->challenge, msg->hash_len);
	if (msg->group)
		calculate(auth, msg->dh);
	else
		send_reply(auth, NULL, NULL);
}

static void succeed(struct nvme_auth *auth)
{
	auth->qp->psk = auth->psk;
	nvme_qp_authenticated(auth->qp);
}

static void handle_success(struct nvme_auth *auth, const struct nvme_auth_msg *msg)
{
	unsigned len = nvme_chap_hash_len(auth->hash);
	struct diag why = { 0 };

	if (!mutual(auth)) {
		succeed(auth);
		return;
	}
	if (msg->valid && msg->hash_len == len &&
		nvme_chap_equal(msg->response, auth->expected, len)) {
		send_message(
			auth, SEND_SUCCESS2, &(struct nvme_auth_msg){ .kind = NVME_AUTH_SUCCESS2 });
		return;
	}
	diag_set(&why, DIAG_AUTH, EACCES,
		msg->valid ? "the target failed to authenticate itself: it is another target, or "
			     "the controller secret is wrong"
			   : "the target did not authenticate itself, although a controller secret "
			     "is configured");
	diag_hint(&why, "check dhchap-ctrl-secret-file=");
	refuse(auth, NVME_AUTH_FAILED, &why);
}

static void hint_secret(const struct nvme_auth *auth, struct diag *why)
{
	diag_hint(why, "check dhchap-secret-file= and the host NQN '%s'", auth->qp->conf->hostnqn);
}

static void handle_failure(struct nvme_auth *auth, uint8_t reason)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_AUTH, EACCES, "the target refused to authenticate this host: %s (%u)",
		nvme_auth_reason_text(reason), reason);
	if (reason == NVME_AUTH_FAILED)
		hint_secret(auth, &why);
	else if (reason == NVME_AUTH_CONCATENATION)
		diag_hint(&why,
			auth->sc_c ? "the target can't generate keys for TLS, or is limited to "
				     "SHA-512 or the null group: omit concat="
				   : "add concat=yes to the URI, if the target requires it");
	fail(auth, &why);
}

static void handle_message(struct nvme_auth *auth)
{
	struct nvme_auth_msg msg;
	struct diag why = { 0 };
	int err;

	memcpy(auth->in, auth->qp->scratch->base, sizeof(auth->in));
	err = nvme_auth_get(&msg, auth->in, sizeof(auth->in), &why);
	if (err)
		refuse_message(auth,
			msg.kind == NVME_AUTH_UNKNOWN ? NVME_AUTH_MESSAGE : NVME_AUTH_PAYLOAD,
			why.text);
	else if (msg.tid != auth->tid)
		refuse_message(auth, NVME_AUTH_PAYLOAD, "the target answers another transaction");
	else if (msg.kind == NVME_AUTH_FAILURE1)
		handle_failure(auth, msg.reason);
	else if (msg.kind == NVME_AUTH_CHALLENGE && auth->step == RECEIVE_CHALLENGE)
		handle_challenge(auth, &msg);
	else if (msg.kind == NVME_AUTH_SUCCESS1 && auth->step == RECEIVE_SUCCESS1)
		handle_success(auth, &msg);
	else
		refuse_message(auth, NVME_AUTH_MESSAGE, "unexpected message of the target");
}

void nvme_auth_reply(struct nvme_queue *queue, struct nvme_slot *slot)
{
	struct nvme_qp *qp = queue->user;
	struct nvme_auth *auth = qp->auth;
	uint32_t status = get_le16(slot->cqe.status) >> 1;
	struct diag why = { 0 };

	if (!nvme_qp_end(qp, slot))
		return;
	if (auth->step == SEND_FAILURE2) {
		fail(auth, &auth->why);
		return;
	}
	if (NVME_STATUS_CODE(status)) {
		nvme_status_diag(&why, status | NVME_STATUS_OF_FABRICS, "authentication");
		fail(auth, &why);
		return;
	}
	switch ((enum step)auth->step) {
	case SEND_NEGOTIATE:
		receive(auth, RECEIVE_CHALLENGE);
		return;
	case SEND_REPLY:
		receive(auth, RECEIVE_SUCCESS1);
		return;
	case RECEIVE_CHALLENGE:
	case RECEIVE_SUCCESS1:
		handle_message(auth);
		return;
	case SEND_SUCCESS2:
		succeed(auth);
		return;
	case CALCULATE:
	case SEND_FAILURE2:
		return;
	}
}

/* In mutual mode S2 is never 0: targets take that for a host that does not ask for a proof. */
static bool set_random(struct nvme_auth *auth)
{
	struct {
		uint8_t challenge[NVME_CHAP_HASH_MAX];
		uint32_t seq;
		uint16_t tid;
	} random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return false;
	auth->tid = random.tid;
	if (mutual(auth))
		auth->seq[1] = random.seq ? random.seq : 1;
	if (mutual(auth) || auth->sc_c)
		memcpy(auth->challenge[1], random.challenge, sizeof(random.challenge));
	return true;
}

int nvme_auth_start(struct nvme_qp *qp, struct diag *diag)
{
	struct nvme_auth *auth = calloc(1, sizeof(*auth));

	if (!auth)
		return diag_sys(diag, ENOMEM, "authentication");
	qp->auth = auth;
	auth->qp = qp;
	if (qp->conf->concat && !qp->qid && !nvme_qp_concatenated(qp))
		auth->sc_c = NVME_AUTH_NEW_TLS_PSK;
	if (!set_random(auth))
		return diag_sys(diag, EAGAIN, "authentication: get random numbers");
	negotiate(auth);
	return 0;
}

/* Over RDMA, Linux's target (6.12) drops a host with a wrong secret before it answers. */
void nvme_auth_explain(const struct nvme_auth *auth, struct diag *why)
{
	bool responded = auth->step == SEND_REPLY || auth->step == RECEIVE_SUCCESS1;

	if (auth->step == SEND_FAILURE2) {
		*why = auth->why;
	} else if (responded && why->code == DIAG_CLOSED) {
		diag_set(why, DIAG_AUTH, EACCES,
			"the target closed the connection after this host's authentication "
			"response: it has probably refused the secret");
		hint_secret(auth, why);
	}
}

void nvme_auth_free(struct nvme_auth *auth)
{
	if (!auth)
		return;
	if (auth->job)
		offload_cancel(&auth->job->offload);
	explicit_bzero(auth, sizeof(*auth));
	free(auth);
}
