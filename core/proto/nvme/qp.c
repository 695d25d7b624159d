/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pair: one carrier queue whose first command is Connect (Base 2.1, 6.3), with tags and
 * deadlines for the rest. It does not know what commands mean; any breach of the protocol ends it
 * with a named reason. */
#include "nvme.h"
#include <errno.h>

void nvme_qp_fail(struct nvme_qp *qp, const struct diag *why)
{
	if (qp->state != QP_OPENING && qp->state != QP_UP)
		return;
	qp->why = *why;
	qp->state = QP_CLOSING;
	qp->queue->carrier->close(qp->queue);
}

static void late(struct tags *tags, void *owner)
{
	struct nvme_qp *qp = container_of(tags, struct nvme_qp, tags);
	const struct nvme_req *req = owner;
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "%s: no answer in time", req->what);
	nvme_qp_fail(qp, &why);
}

bool nvme_qp_start(struct nvme_qp *qp, struct nvme_req *req, struct nvme_sqe *sqe,
	const struct nvme_data *data, uint64_t deadline_ns)
{
	uint16_t cid = tags_take(&qp->tags, req, deadline_ns);

	if (cid == TAG_NONE)
		return false;
	sqe->flags |= NVME_PSDT_SGL;
	sqe->cid = put_le16(cid);
	qp->queue->carrier->submit(qp->queue, cid, sqe, data);
	return true;
}

static void connected(struct nvme_req *req, const struct nvme_cqe *cqe)
{
	struct nvme_qp *qp = container_of(req, struct nvme_qp, connect);
	struct nvmf_connect_reply reply;
	struct diag why = { 0 };

	if (!cqe)
		return;
	nvmf_connect_reply_get(&reply, cqe, sizeof(*cqe), &why);
	if (reply.status) {
		nvmf_connect_diag(&why, &reply, &qp->hello);
	} else if (reply.auth) {
		diag_set(&why, DIAG_AUTH, EACCES,
			"the target requires authentication (DH-HMAC-CHAP), which is not supported "
			"yet");
	} else {
		qp->cntlid = reply.cntlid;
		qp->state = QP_UP;
		qp->ev->up(qp);
		return;
	}
	nvme_qp_fail(qp, &why);
}

static void queue_up(struct nvme_queue *queue)
{
	struct nvme_qp *qp = queue->user;
	struct nvmf_connect_sqe sqe;
	struct nvme_data data = { qp->scratch->base, sizeof(struct nvmf_connect_data), true,
		qp->scratch };
	struct diag why = { 0 };

	if (queue->carrier->map && queue->carrier->map(queue, qp->scratch, &why)) {
		nvme_qp_fail(qp, &why);
		return;
	}
	qp->mapped = true;
	if (tags_init(&qp->tags, qp->loop, queue->depth - 1, late, &why)) {
		nvme_qp_fail(qp, &why);
		return;
	}
	qp->hello.depth = queue->depth;
	nvmf_connect_put(&sqe, (void *)qp->scratch->base, &qp->hello);
	nvme_qp_start(qp, &qp->connect, (struct nvme_sqe *)(void *)&sqe, &data, qp->deadline_ns);
	nvme_qp_flush(qp);
}

static void queue_reply(struct nvme_queue *queue, uint16_t cid, const struct nvme_cqe *cqe)
{
	struct nvme_qp *qp = queue->user;
	struct nvme_req *req = tags_owner(&qp->tags, cid);
	uint16_t sqhd = get_le16(cqe->sqhd);
	struct diag why = { 0 };

	if (qp->state != QP_OPENING && qp->state != QP_UP)
		return;
	if (!req) {
		diag_set(&why, DIAG_PROTOCOL, EPROTO,
			"reply to command %u, which is not in flight on queue %u", cid, qp->qid);
		nvme_qp_fail(qp, &why);
		return;
	}
	if (sqhd != NVME_SQHD_NONE && sqhd >= queue->depth) {
		diag_set(&why, DIAG_PROTOCOL, EPROTO,
			"reply with invalid queue head %u: the queue has %u entries", sqhd,
			queue->depth);
		nvme_qp_fail(qp, &why);
		return;
	}
	tags_drop(&qp->tags, cid);
	req->done(req, cqe);
}

static void queue_idle(struct nvme_queue *queue)
{
	struct nvme_qp *qp = queue->user;

	if (qp->state == QP_UP)
		qp->ev->idle(qp);
}

static void queue_down(struct nvme_queue *queue)
{
	struct nvme_qp *qp = queue->user;

	if (qp->state != QP_CLOSING)
		qp->why = queue->why;
	diag_ctx(&qp->why, "%s", qp->conf->where);
	qp->state = QP_DOWN;
	for (uint16_t cid = 0; cid < qp->tags.count; cid++) {
		struct nvme_req *req = tags_owner(&qp->tags, cid);

		if (!req)
			continue;
		tags_drop(&qp->tags, cid);
		req->done(req, NULL);
	}
	qp->ev->down(qp);
}

static const struct nvme_queue_events events = { queue_up, queue_reply, queue_idle, queue_down };

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
	qp->connect = (struct nvme_req){ connected, "connect" };
	/* Tags bound what is in flight. Over TCP the last data of a read may then say success by
	 * itself (TCP Transport 3.3.2.2). */
	qp->hello = (struct nvmf_connect){
		.qid = qid, .cntlid = cntlid, .kato_ms = qid ? 0 : conf->kato_ms, .no_sqfc = true
	};
	memcpy(qp->hello.hostid, conf->hostid, sizeof(qp->hello.hostid));
	memcpy(qp->hello.subnqn, conf->subnqn, sizeof(qp->hello.subnqn));
	memcpy(qp->hello.hostnqn, conf->hostnqn, sizeof(qp->hello.hostnqn));
	err = pool_new(&qp->scratch, scratch, 1, diag);
	if (err)
		return err;
	err = conf->carrier->open(&qp->queue, loop, conf, qid, depth, ms, &events, qp, diag);
	if (err) {
		pool_free(qp->scratch);
		qp->scratch = NULL;
		return err;
	}
	qp->state = QP_OPENING;
	return 0;
}

void nvme_qp_fini(struct nvme_qp *qp)
{
	if (qp->queue) {
		if (qp->mapped && qp->queue->carrier->unmap)
			qp->queue->carrier->unmap(qp->queue, qp->scratch);
		qp->queue->carrier->free(qp->queue);
	}
	tags_fini(&qp->tags);
	if (qp->scratch)
		pool_free(qp->scratch);
	*qp = (struct nvme_qp){ .state = QP_IDLE };
}
