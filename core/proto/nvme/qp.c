/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pair: one carrier queue whose first command is Connect (Base 2.1, 6.3), with deadlines for
 * the others, and authenticates if the target requires it. It does not interpret commands; any
 * protocol violation ends it with a specific reason. */
#include "nvme.h"
#include <errno.h>

#define LARGE 4096 /* bytes of an answer that needs more than one packet, usually */

void nvme_qp_fail(struct nvme_qp *qp, const struct diag *why)
{
	if (qp->state != QP_OPENING && qp->state != QP_UP)
		return;
	qp->why = *why;
	qp->state = QP_CLOSING;
	qp->queue->carrier->close(qp->queue);
}

static void command_timeout(struct inflight *inflight, struct inflight_slot *slot)
{
	struct nvme_qp *qp = container_of(inflight, struct nvme_queue, inflight)->user;
	const struct nvme_data *data = &container_of(slot, struct nvme_slot, flight)->data;
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "%s: no answer in time",
		qp->auth                  ? "authenticate"
		: qp->state == QP_OPENING ? "connect"
					  : qp->ev->name(slot->owner));
	if (qp->state == QP_UP && !qp->qid && !data->out && data->len >= LARGE)
		diag_hint_mtu(&why, qp->conf->host);
	nvme_qp_fail(qp, &why);
}

static void *sqhd_invalid(struct nvme_qp *qp, uint16_t sqhd)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_PROTOCOL, EPROTO,
		"reply with invalid queue head %u: the queue has %u entries", sqhd,
		qp->queue->depth);
	nvme_qp_fail(qp, &why);
	return NULL;
}

void *nvme_qp_end(struct nvme_qp *qp, struct nvme_slot *slot)
{
	uint16_t sqhd = get_le16(slot->cqe.sqhd);

	if (qp->state != QP_OPENING && qp->state != QP_UP)
		return NULL;
	if (sqhd != NVME_SQHD_NONE && sqhd >= qp->queue->depth)
		return sqhd_invalid(qp, sqhd);
	return inflight_drop(&qp->queue->inflight, &slot->flight);
}

static void go_up(struct nvme_qp *qp)
{
	qp->state = QP_UP;
	qp->queue->reply = qp->ev->reply;
	qp->ev->up(qp);
}

void nvme_qp_authenticated(struct nvme_qp *qp)
{
	nvme_auth_free(qp->auth);
	qp->auth = NULL;
	qp->authenticated = true;
	go_up(qp);
}

static int authenticate(
	struct nvme_qp *qp, const struct nvmf_connect_reply *reply, struct diag *why)
{
	if (reply->secure && !qp->conf->concat) {
		diag_set(why, DIAG_UNSUPPORTED, ENOTSUP,
			"the target requires secure channel concatenation");
		return diag_hint(why, qp->conf->carrier != &nvme_tcp ? "use NVMe/TCP: nvme+tcp://"
				      : qp->conf->psk
					      ? "replace tls-key-file= by concat=yes in the URI"
					      : "add concat=yes to the URI");
	}
	if (!qp->conf->secret[0]) {
		diag_set(why, DIAG_AUTH, EACCES,
			"the target requires authentication (DH-HMAC-CHAP), but no secret is "
			"configured");
		return diag_hint(why, "add dhchap-secret-file=FILE to the URI%s",
			qp->conf->carrier == &nvme_tcp && !qp->conf->psk
				? ", or tls-key-file=FILE if the target requires TLS"
				: "");
	}
	qp->queue->reply = nvme_auth_reply;
	return nvme_auth_start(qp, why);
}

/* Without authentication nothing would encrypt the connection. */
static int check_concatenation(const struct nvme_qp *qp, struct diag *why)
{
	if (!qp->conf->concat || qp->conf->tls || !strcmp(qp->conf->subnqn, NVMF_DISCOVERY_NQN))
		return 0;
	diag_set(why, DIAG_AUTH, EACCES,
		"the target does not ask this host to authenticate, so it can't generate a key for "
		"TLS (concat=)");
	return diag_hint(why, "enable authentication of this host on the target, or omit concat=, "
			      "which leaves the data unencrypted");
}

/* Targets may authenticate the admin queue only, and none of a discovery controller. */
static int check_proof(const struct nvme_qp *qp, struct diag *why)
{
	if (qp->qid || nvme_qp_concatenated(qp) || !qp->conf->secret[1] ||
		!strcmp(qp->conf->subnqn, NVMF_DISCOVERY_NQN))
		return 0;
	diag_set(why, DIAG_AUTH, EACCES,
		"the target does not authenticate itself, although a controller secret is "
		"configured");
	return diag_hint(why, "enable authentication of this host on the target, or omit "
			      "dhchap-ctrl-secret-file=");
}

static void connected(struct nvme_queue *queue, struct nvme_slot *slot)
{
	struct nvme_qp *qp = queue->user;
	struct nvmf_connect_reply reply;
	struct diag why = { 0 };

	if (!nvme_qp_end(qp, slot))
		return;
	nvmf_connect_reply_get(&reply, &slot->cqe, sizeof(slot->cqe), &why);
	if (reply.status) {
		nvmf_connect_diag(&why, &reply, &qp->connect);
		nvme_qp_fail(qp, &why);
		return;
	}
	qp->cntlid = reply.cntlid;
	if (reply.auth || reply.secure) {
		if (authenticate(qp, &reply, &why))
			nvme_qp_fail(qp, &why);
	} else if (check_concatenation(qp, &why) || check_proof(qp, &why)) {
		nvme_qp_fail(qp, &why);
	} else {
		go_up(qp);
	}
}

static void queue_up(struct nvme_queue *queue)
{
	struct nvme_qp *qp = queue->user;
	struct nvme_slot *slot;
	struct diag why = { 0 };

	if (queue->carrier->map && queue->carrier->map(queue, qp->scratch, &why)) {
		nvme_qp_fail(qp, &why);
		return;
	}
	qp->mapped = true;
	inflight_limit(&queue->inflight, queue->depth - 1u);
	qp->connect.depth = queue->depth;
	slot = inflight_take(&queue->inflight, qp, qp->deadline_ns);
	nvmf_connect_put((void *)slot->sqe, (void *)qp->scratch->base, &qp->connect);
	slot->data = (struct nvme_data){ qp->scratch->base, sizeof(struct nvmf_connect_data), true,
		qp->scratch };
	queue->carrier->submit(queue, slot);
}

static void queue_idle(struct nvme_queue *queue)
{
	struct nvme_qp *qp = queue->user;

	if (qp->state == QP_UP && qp->ev->idle)
		qp->ev->idle(qp);
}

static void queue_down(struct nvme_queue *queue)
{
	struct nvme_qp *qp = queue->user;
	void *owner;

	if (qp->state != QP_CLOSING) {
		qp->why = queue->why;
		if (qp->auth)
			nvme_auth_explain(qp->auth, &qp->why);
	}
	nvme_auth_free(qp->auth);
	qp->auth = NULL;
	diag_ctx(&qp->why, "%s", qp->conf->where);
	qp->state = QP_DOWN;
	for (uint16_t tag = 0; tag < queue->inflight.count; tag++) {
		struct nvme_slot *slot = inflight_slot(&queue->inflight, tag);

		if (!slot->flight.owner)
			continue;
		owner = inflight_drop(&queue->inflight, &slot->flight);
		if (owner != qp) /* else it is its own Connect */
			qp->ev->lost(qp, owner);
	}
	qp->ev->down(qp);
}

static const struct nvme_queue_events events = { queue_up, queue_idle, queue_down };

int nvme_qp_open(struct nvme_qp *qp, struct loop *loop, const struct nvme_conf *conf, uint16_t qid,
	uint16_t depth, uint16_t cntlid, uint32_t scratch, uint64_t deadline_ns,
	const struct nvme_qp_events *ev, struct diag *diag)
{
	uint64_t now = loop_clock();
	uint32_t ms = !deadline_ns        ? 0
		      : deadline_ns > now ? (uint32_t)((deadline_ns - now) / 1000000) + 1
					  : 1;
	int err;

	*qp = (struct nvme_qp){ .ev = ev,
		.conf = conf,
		.loop = loop,
		.qid = qid,
		.cntlid = cntlid,
		.deadline_ns = deadline_ns };
	/* Slots limit the commands in flight, so no flow control is needed. Then, over TCP, the
	 * last data of a read may include its success status (TCP Transport 3.3.2.2). */
	qp->connect = (struct nvmf_connect){
		.qid = qid, .cntlid = cntlid, .kato_ms = qid ? 0 : conf->kato_ms, .no_sqfc = true
	};
	memcpy(qp->connect.hostid, conf->hostid, sizeof(qp->connect.hostid));
	memcpy(qp->connect.subnqn, conf->subnqn, sizeof(qp->connect.subnqn));
	memcpy(qp->connect.hostnqn, conf->hostnqn, sizeof(qp->connect.hostnqn));
	err = pool_new(&qp->scratch, scratch, 1, diag);
	if (err)
		return err;
	err = conf->carrier->open(&qp->queue, loop, conf, qid, depth, ms, &events, qp, diag);
	if (err) {
		pool_free(qp->scratch);
		qp->scratch = NULL;
		return err;
	}
	qp->queue->reply = connected;
	qp->queue->inflight.timed_out = command_timeout;
	qp->state = QP_OPENING;
	return 0;
}

void nvme_qp_fini(struct nvme_qp *qp)
{
	nvme_auth_free(qp->auth);
	if (qp->queue) {
		if (qp->mapped && qp->queue->carrier->unmap)
			qp->queue->carrier->unmap(qp->queue, qp->scratch);
		qp->queue->carrier->free(qp->queue);
	}
	if (qp->scratch)
		pool_free(qp->scratch);
	explicit_bzero(&qp->psk, sizeof(qp->psk));
	*qp = (struct nvme_qp){ .state = QP_IDLE };
}
