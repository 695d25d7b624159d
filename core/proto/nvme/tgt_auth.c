/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's side of DH-HMAC-CHAP (Base 2.1, 8.3.5.5), of each queue. Until its host has
 * authenticated, a queue is a connection in its handshake: it has a time limit, counts as pending,
 * and belongs to no host. Secrets are looked up on the target's loop, and hosts admitted there. A
 * host that is not in the list gets a random secret, so that answers do not reveal names. */
#include "offload.h"
#include "tgt.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* What the queue expects, or has to send. */
enum state {
	IDLE, /* Negotiate, which is also allowed in the others but FAILURE and FAILED */
	CHALLENGE,
	REPLY,
	SUCCESS1,
	SUCCESS2,
	FAILURE1,
	FAILED
};

/* The slow part: our public value, or the session key of the peer's. */
struct nvme_tgt_auth_job {
	struct offload offload; /* first member */
	struct nvme_tgt_auth *auth;
	uint8_t hash, group;
	bool has_peer;
	int err;
	uint8_t exponent[NVME_CHAP_PRIVATE], peer[NVME_CHAP_DH_MAX];
	uint8_t value[NVME_CHAP_DH_MAX], session_key[NVME_CHAP_HASH_MAX];
};

bool nvme_tgt_auth_failed(const struct nvme_tgt_auth *auth)
{
	return auth->state == FAILURE1 || auth->state == FAILED;
}

/* The Send is executed; its host receives the next message. */
static void end_send(struct nvme_tgt_auth *auth)
{
	struct nvme_tgt_cmd *cmd = auth->cmd;

	auth->cmd = NULL;
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}

static void put(struct nvme_tgt_auth *auth, enum state state, struct nvme_auth_msg *msg)
{
	msg->tid = auth->tid;
	auth->out_len = (uint16_t)nvme_auth_put(auth->out, msg);
	auth->state = (uint8_t)state;
}

static void fail_as(struct nvme_tgt_auth *auth, enum nvme_auth_reason reason, const char *text)
{
	put(auth, FAILURE1,
		&(struct nvme_auth_msg){ .kind = NVME_AUTH_FAILURE1, .reason = reason });
	loop_trace(auth->queue->base.loop, "%s: '%s' failed to authenticate: %s",
		auth->queue->base.name, auth->queue->connect.hostnqn, text);
	end_send(auth);
}

static void fail(struct nvme_tgt_auth *auth, enum nvme_auth_reason reason)
{
	fail_as(auth, reason, nvme_auth_reason_text(reason));
}

/* Secure channel concatenation is not possible. */
static void fail_concatenation(struct nvme_tgt_auth *auth, const char *why)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", nvme_auth_reason_text(NVME_AUTH_CONCATENATION), why);
	fail_as(auth, NVME_AUTH_CONCATENATION, text);
}

/* --- calculations */

static void job_work(struct offload *offload)
{
	struct nvme_tgt_auth_job *job = (struct nvme_tgt_auth_job *)offload;

	job->err = job->has_peer ? nvme_chap_session_key(job->session_key, job->hash, job->group,
					   job->exponent, job->peer)
				 : nvme_chap_public(job->value, job->group, job->exponent);
}

static void job_free(struct offload *offload)
{
	explicit_bzero(offload, sizeof(struct nvme_tgt_auth_job));
	free(offload);
}

static void challenge(struct nvme_tgt_auth *auth, const uint8_t *dh)
{
	put(auth, CHALLENGE,
		&(struct nvme_auth_msg){ .kind = NVME_AUTH_CHALLENGE,
			.hash = auth->hash,
			.group = auth->group,
			.seq = auth->seq[0],
			.hash_len = (uint8_t)nvme_chap_hash_len(auth->hash),
			.dh_len = (uint16_t)nvme_chap_group_len(auth->group),
			.challenge = auth->challenge[0],
			.dh = dh });
	end_send(auth);
}

static int respond(const struct nvme_tgt_auth *auth, bool controller, const uint8_t *session_key,
	uint8_t to[NVME_CHAP_HASH_MAX])
{
	const struct nvme_chap_round round = { .controller = controller,
		.hash = auth->hash,
		.sc_c = auth->sc_c,
		.tid = auth->tid,
		.seq = auth->seq[controller],
		.challenge = auth->challenge[controller],
		.session_key = session_key,
		.hostnqn = auth->queue->connect.hostnqn,
		.subnqn = auth->queue->connect.subnqn };

	return nvme_chap_respond(to, &auth->secret[controller], &round);
}

static void admit(struct loop_msg *);

static int generate_psk(struct nvme_tgt_auth *auth, const uint8_t *session_key)
{
	const struct nvmf_connect *connect = &auth->queue->connect;
	uint8_t psk[NVME_CHAP_HASH_MAX];
	int err = nvme_chap_generate_psk(
		psk, auth->hash, session_key, auth->challenge[0], auth->challenge[1]);

	if (!err)
		err = nvme_psk_derive_generated(psk, nvme_chap_hash_len(auth->hash),
			connect->hostnqn, connect->subnqn, &auth->psk);
	explicit_bzero(psk, sizeof(psk));
	return err;
}

/* The verdict goes to the target's loop in any case, which takes the same time. */
static void verify(struct nvme_tgt_auth *auth, const uint8_t *session_key)
{
	uint8_t right[NVME_CHAP_HASH_MAX];
	unsigned len = nvme_chap_hash_len(auth->hash);
	int err = respond(auth, false, session_key, right);

	auth->proven = !err && nvme_chap_equal(right, auth->response, len) && auth->known;
	if (auth->proven && auth->mutual)
		auth->proven =
			auth->secret[1].len && !respond(auth, true, session_key, auth->response);
	if (auth->proven && auth->sc_c)
		auth->proven = !generate_psk(auth, session_key);
	explicit_bzero(right, sizeof(right));
	auth->hop.run = admit;
	loop_post(auth->queue->base.target->loop, &auth->hop);
}

static void job_done(struct offload *offload)
{
	struct nvme_tgt_auth_job *job = (struct nvme_tgt_auth_job *)offload;
	struct nvme_tgt_auth *auth = job->auth;

	auth->job = NULL;
	if (target_conn_is_closing(&auth->queue->base))
		end_send(auth);
	else if (job->err)
		fail(auth, job->err == -ERANGE ? NVME_AUTH_PAYLOAD : NVME_AUTH_FAILED);
	else if (job->has_peer)
		verify(auth, job->session_key);
	else
		challenge(auth, job->value);
	job_free(offload);
}

/* peer: its public value; NULL: calculate ours */
static void calculate(struct nvme_tgt_auth *auth, const uint8_t *peer)
{
	struct nvme_tgt_auth_job *job = calloc(1, sizeof(*job));

	if (!job) {
		fail(auth, NVME_AUTH_FAILED);
		return;
	}
	job->offload.work = job_work;
	job->offload.done = job_done;
	job->offload.free = job_free;
	job->offload.client = auth->queue->base.admission.peer_addr;
	job->auth = auth;
	job->hash = auth->hash;
	job->group = auth->group;
	job->has_peer = peer;
	memcpy(job->exponent, auth->exponent, sizeof(job->exponent));
	if (peer)
		memcpy(job->peer, peer, (size_t)nvme_chap_group_len(auth->group));
	if (offload_start(&job->offload, auth->queue->base.loop, NULL)) {
		job_free(&job->offload);
		fail(auth, NVME_AUTH_FAILED);
		return;
	}
	auth->job = job;
}

/* --- Negotiate: to the target's loop for the secrets, back for the Challenge */

static bool set_random(struct nvme_tgt_auth *auth)
{
	struct {
		uint8_t challenge[NVME_CHAP_HASH_MAX], exponent[NVME_CHAP_PRIVATE],
			secret[NVME_CHAP_HASH_MAX];
	} random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return false;
	memcpy(auth->challenge[0], random.challenge, sizeof(random.challenge));
	memcpy(auth->exponent, random.exponent, sizeof(random.exponent));
	if (!auth->known) {
		auth->secret[0].len = 32;
		auth->secret[0].hash = NVME_CHAP_SHA256;
		memcpy(auth->secret[0].key, random.secret, 32);
	}
	explicit_bzero(&random, sizeof(random));
	return true;
}

/* S1 is never 0. */
static uint32_t next_seq(struct nvme_target *target)
{
	uint32_t seq;

	do
		seq = __atomic_add_fetch(&target->last_seq, 1, __ATOMIC_RELAXED);
	while (!seq);
	return seq;
}

static void begin_challenge(struct loop_msg *msg)
{
	struct nvme_tgt_auth *auth = container_of(msg, struct nvme_tgt_auth, hop);

	if (target_conn_is_closing(&auth->queue->base)) {
		end_send(auth);
		return;
	}
	if (auth->plain) {
		fail_concatenation(auth, nvme_tgt_carrier_of(auth->queue) == &nvme_tgt_tcp
						 ? "this host has to ask for it"
						 : "this host needs it, which only TCP has");
		return;
	}
	auth->seq[0] = next_seq(nvme_tgt_of(auth->queue));
	if (!set_random(auth))
		fail(auth, NVME_AUTH_FAILED);
	else if (auth->group)
		calculate(auth, NULL);
	else
		challenge(auth, NULL);
}

static bool is_plain(const struct nvme_tgt_auth *auth)
{
	return !auth->sc_c && nvme_tgt_host_must_concatenate(auth->queue);
}

/* For the log. On the target's loop. */
static void report(const struct nvme_tgt_auth *auth, const char *text)
{
	const struct target_conn *conn = &auth->queue->base;
	struct diag why = { 0 };

	diag_set(&why, DIAG_AUTH, EACCES, "host '%s' %s", auth->queue->connect.hostnqn, text);
	diag_ctx(&why, "%s", conn->name);
	target_admission_report_refusal(conn->target->admission, &why);
}

static void look_up(struct loop_msg *msg)
{
	struct nvme_tgt_auth *auth = container_of(msg, struct nvme_tgt_auth, hop);
	const struct nvme_host *host = nvme_tgt_host_find(auth->queue);

	auth->known = host && host->secret[0].len;
	memset(auth->secret, 0, sizeof(auth->secret));
	if (auth->known)
		memcpy(auth->secret, host->secret, sizeof(auth->secret));
	auth->plain = is_plain(auth);
	if (auth->plain)
		report(auth,
			nvme_tgt_carrier_of(auth->queue) == &nvme_tgt_tcp
				? "refused, as it does not ask for secure channel concatenation"
				: "refused, as it needs secure channel concatenation, which only "
				  "TCP has");
	msg->run = begin_challenge;
	loop_post(auth->queue->base.loop, msg);
}

/* The host's first hash that is known and allowed; 0: none. */
static uint8_t choose_hash(const struct target_chap *chap, const struct nvme_auth_msg *msg)
{
	for (unsigned i = 0; i < msg->hashes; i++)
		if (nvme_chap_hash_len(msg->hash_ids[i]) &&
			(!msg->sc_c || nvme_chap_hash_concatenates(msg->hash_ids[i])) &&
			(!chap->hash || chap->hash == msg->hash_ids[i]))
			return msg->hash_ids[i];
	return 0;
}

/* The fastest group of the host that is not the null group, so that unknown hosts can't choose slow
 * ones; the null group if there is no other. -1: none. */
static int choose_group(const struct target_chap *chap, const struct nvme_auth_msg *msg)
{
	int best = -1;

	for (unsigned i = 0; i < msg->groups; i++) {
		uint8_t group = msg->group_ids[i];

		if (nvme_chap_group_len(group) < 0 ||
			(msg->sc_c && !nvme_chap_group_concatenates(group)) ||
			(chap->one_group && chap->group != group))
			continue;
		if (best <= 0 || (group && group < best))
			best = group ? group : best < 0 ? 0 : best;
	}
	return best;
}

/* Why this queue can't generate a PSK for TLS; NULL: it can. */
static const char *concatenation_obstacle(const struct nvme_tgt_auth *auth, uint8_t sc_c)
{
	const struct nvme_tgt_queue *queue = auth->queue;

	if (nvme_tgt_carrier_of(queue) != &nvme_tgt_tcp)
		return "only over TCP";
	if (queue->qid)
		return "only on the admin queue";
	if (sc_c == NVME_AUTH_REPLACE_TLS_PSK)
		return queue->concatenated ? NULL : "the queue uses no generated PSK";
	return sc_c != NVME_AUTH_NEW_TLS_PSK ? "the PSK must be a new one, or replace one"
	       : queue->identity             ? "the queue uses TLS already"
	       : queue->ctrl                 ? "the queue has authenticated without it"
					     : NULL;
}

static void negotiate(struct nvme_tgt_auth *auth, const struct nvme_auth_msg *msg)
{
	const struct target_chap *chap = &auth->queue->base.target->opt.chap;
	const char *obstacle = msg->sc_c ? concatenation_obstacle(auth, msg->sc_c) : NULL;
	int group = choose_group(chap, msg);

	auth->tid = msg->tid;
	auth->sc_c = msg->sc_c;
	explicit_bzero(&auth->psk, sizeof(auth->psk));
	auth->hash = choose_hash(chap, msg);
	if (obstacle) {
		fail_concatenation(auth, obstacle);
	} else if (!msg->hashes) {
		fail(auth, NVME_AUTH_NO_PROTOCOL);
	} else if (msg->sc_c && !auth->hash) {
		fail_concatenation(auth, "needs SHA-256 or SHA-384");
	} else if (msg->sc_c && group < 0) {
		fail_concatenation(auth, "needs a DH group other than the null group");
	} else if (!auth->hash) {
		fail(auth, NVME_AUTH_NO_HASH);
	} else if (group < 0) {
		fail(auth, NVME_AUTH_NO_GROUP);
	} else {
		auth->group = (uint8_t)group;
		auth->hop.run = look_up;
		loop_post(auth->queue->base.target->loop, &auth->hop);
	}
}

/* --- Reply: to the target's loop for admission, back for Success1 */

static void admitted(struct loop_msg *msg)
{
	struct nvme_tgt_auth *auth = container_of(msg, struct nvme_tgt_auth, hop);
	struct nvme_tgt_queue *queue = auth->queue;
	bool good = auth->proven && !auth->refused;

	explicit_bzero(auth->secret, sizeof(auth->secret));
	explicit_bzero(auth->exponent, sizeof(auth->exponent));
	if (good && !queue->ctrl && !auth->sc_c)
		nvme_tgt_queue_go_live(queue);
	if (target_conn_is_closing(&queue->base)) {
		end_send(auth);
	} else if (!good) {
		fail(auth, NVME_AUTH_FAILED);
	} else {
		put(auth, SUCCESS1,
			&(struct nvme_auth_msg){ .kind = NVME_AUTH_SUCCESS1,
				.hash_len = (uint8_t)nvme_chap_hash_len(auth->hash),
				.valid = auth->mutual,
				.response = auth->response });
		loop_trace(queue->base.loop, "%s: queue %u: '%s' has authenticated with %s, %s%s%s",
			queue->base.name, queue->qid, queue->connect.hostnqn,
			nvme_chap_hash_name(auth->hash), nvme_chap_group_name(auth->group),
			auth->mutual ? ", mutual" : "",
			auth->sc_c ? ", and has a key for TLS from that" : "");
		end_send(auth);
	}
}

static void admit(struct loop_msg *msg)
{
	struct nvme_tgt_auth *auth = container_of(msg, struct nvme_tgt_auth, hop);
	struct nvme_tgt_queue *queue = auth->queue;
	const struct nvme_host *host = nvme_tgt_host_find(queue);
	bool again = queue->bound && !queue->bound->pending;

	/* the file may have been read again since the Challenge */
	auth->proven = auth->proven && host && !is_plain(auth) &&
		       nvme_chap_equal((const void *)host->secret, (const void *)auth->secret,
			       sizeof(auth->secret));
	if (auth->proven) {
		auth->refused = (!again || auth->sc_c) && !nvme_tgt_ctrl_admit(queue, &auth->psk);
	} else {
		report(auth, "failed to authenticate");
	}
	msg->run = admitted;
	loop_post(queue->base.loop, msg);
}

static void handle_reply(struct nvme_tgt_auth *auth, const struct nvme_auth_msg *msg)
{
	unsigned len = nvme_chap_hash_len(auth->hash);

	if (msg->tid != auth->tid || msg->hash_len != len ||
		msg->dh_len != nvme_chap_group_len(auth->group) ||
		(auth->sc_c ? !msg->valid : msg->valid && !msg->seq)) {
		fail(auth, NVME_AUTH_PAYLOAD);
		return;
	}
	auth->mutual = msg->valid && msg->seq;
	auth->seq[1] = msg->seq;
	memcpy(auth->response, msg->response, len);
	memcpy(auth->challenge[1], msg->challenge, len);
	if (auth->group)
		calculate(auth, msg->dh);
	else
		verify(auth, NULL);
}

/* --- messages */

static void handle_success2(struct nvme_tgt_auth *auth, const struct nvme_auth_msg *msg)
{
	if (msg->tid != auth->tid) {
		fail(auth, NVME_AUTH_PAYLOAD);
		return;
	}
	auth->state = IDLE;
	end_send(auth);
}

static void handle_failure2(struct nvme_tgt_auth *auth, const struct nvme_auth_msg *msg)
{
	loop_trace(auth->queue->base.loop, "%s: '%s' refused the authentication: %s",
		auth->queue->base.name, auth->queue->connect.hostnqn,
		nvme_auth_reason_text(msg->reason));
	auth->state = FAILED;
	target_conn_finish(&auth->queue->base);
	end_send(auth);
}

static void handle_message(struct nvme_tgt_auth *auth, const uint8_t *bytes, size_t len)
{
	struct nvme_auth_msg msg;
	int err = nvme_auth_get(&msg, bytes, len, NULL);

	if (err)
		fail(auth, msg.kind == NVME_AUTH_UNKNOWN ? NVME_AUTH_MESSAGE : NVME_AUTH_PAYLOAD);
	else if (msg.kind == NVME_AUTH_NEGOTIATE)
		negotiate(auth, &msg);
	else if (msg.kind == NVME_AUTH_REPLY && auth->state == REPLY)
		handle_reply(auth, &msg);
	else if (msg.kind == NVME_AUTH_SUCCESS2 && auth->state == SUCCESS2)
		handle_success2(auth, &msg);
	else if (msg.kind == NVME_AUTH_FAILURE2)
		handle_failure2(auth, &msg);
	else
		fail(auth, NVME_AUTH_MESSAGE);
}

uint32_t nvme_tgt_auth_check(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	const struct nvmf_auth_sqe *sqe = (const void *)&cmd->sqe;

	if (sqe->spsp0 != NVMF_AUTH_SPSP || sqe->spsp1 != NVMF_AUTH_SPSP ||
		sqe->secp != NVMF_AUTH_SECP || !get_le32(sqe->len) ||
		get_le32(sqe->len) > NVME_AUTH_BUFFER)
		return NVME_INVALID_FIELD;
	*len = get_le32(sqe->len);
	return NVME_OK;
}

void nvme_tgt_auth_send(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_auth *auth = nvme_tgt_queue_of(cmd)->auth;

	if (auth->cmd || nvme_tgt_auth_failed(auth)) {
		nvme_tgt_cmd_worked(cmd, NVME_SEQUENCE);
		return;
	}
	auth->cmd = cmd;
	handle_message(auth, cmd->base.p, cmd->base.piece);
}

void nvme_tgt_auth_receive(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_auth *auth = nvme_tgt_queue_of(cmd)->auth;
	bool ready = auth->state == CHALLENGE || auth->state == SUCCESS1 || auth->state == FAILURE1;

	if (auth->cmd || !ready) {
		nvme_tgt_cmd_worked(cmd, NVME_SEQUENCE);
		return;
	}
	if (cmd->base.piece < auth->out_len) {
		nvme_tgt_cmd_worked(cmd, NVME_INVALID_FIELD);
		return;
	}
	memset(cmd->base.p, 0, cmd->base.piece);
	memcpy(cmd->base.p, auth->out, auth->out_len);
	if (auth->state == FAILURE1)
		target_conn_finish(&auth->queue->base);
	auth->state = auth->state == CHALLENGE  ? REPLY
		      : auth->state == FAILURE1 ? FAILED
		      : auth->mutual            ? SUCCESS2
						: IDLE;
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}

void nvme_tgt_auth_down(struct nvme_tgt_auth *auth)
{
	if (!auth->job)
		return;
	offload_cancel(&auth->job->offload);
	auth->job = NULL;
	end_send(auth);
}

struct nvme_tgt_auth *nvme_tgt_auth_new(struct nvme_tgt_queue *queue)
{
	struct nvme_tgt_auth *auth = calloc(1, sizeof(*auth));

	if (auth)
		auth->queue = queue;
	return auth;
}

void nvme_tgt_auth_free(struct nvme_tgt_auth *auth)
{
	if (!auth)
		return;
	explicit_bzero(auth, sizeof(*auth));
	free(auth);
}
