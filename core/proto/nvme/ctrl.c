/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A controller: bring up its admin queue step by step (Base 2.1, 3.5.2), keep it alive, receive
 * events, shut it down. ini.c and discovery.c handle its namespaces and logs. */
#include "nvme.h"
#include "psk.h"
#include <errno.h>
#include <stdio.h>

#define POLL_MS  10
#define AGAIN_MS 100
#define STOP_MS  2000
#define SPARE    2 /* slots for nvme_ctrl_send() and the keep-alive */

const char *nvme_step_name(uint8_t step)
{
	static const char *const names[] = {
		[STEP_RESOLVE] = "resolve host name",
		[STEP_CONNECT] = "connect",
		[STEP_SECURE] = "connect again with TLS",
		[STEP_CAP] = "read controller capabilities",
		[STEP_ENABLE] = "enable controller",
		[STEP_READY] = "wait until ready",
		[STEP_IDENTIFY] = "identify controller",
		[STEP_QUEUES] = "set number of queues",
		[STEP_EVENTS] = "enable asynchronous events",
		[STEP_UP] = "up",
		[STEP_SHUTDOWN] = "start shutdown",
		[STEP_SHUT] = "wait for shutdown",
		[STEP_DOWN] = "down",
	};

	return names[step];
}

static void step_to(struct nvme_ctrl *ctrl, enum nvme_step step)
{
	ctrl->step = step;
	loop_trace(ctrl->loop, "%s: %s", ctrl->conf.where, nvme_step_name(step));
}

void nvme_ctrl_fail(struct nvme_ctrl *ctrl, const struct diag *why)
{
	if (ctrl->step == STEP_RESOLVE)
		resolve_fail(&ctrl->resolve, ctrl->loop, why);
	if (ctrl->step == STEP_SECURE && !ctrl->why.err)
		ctrl->why = *why; /* instead of connecting again */
	nvme_qp_fail(&ctrl->qp, why);
}

int nvme_check(const struct nvme_req *req, const struct nvme_cqe *cqe, struct diag *diag)
{
	uint32_t status = get_le16(cqe->status) >> 1;

	if (!NVME_STATUS_CODE(status))
		return 0;
	if (req->fabrics)
		status |= NVME_STATUS_OF_FABRICS;
	return nvme_status_diag(diag, status, req->what);
}

struct nvme_sqe nvme_identify(uint8_t cns, uint32_t nsid, uint8_t csi)
{
	return (struct nvme_sqe){ .opcode = NVME_ADMIN_IDENTIFY,
		.nsid = put_le32(nsid),
		.cdw10 = put_le32(cns),
		.cdw11 = put_le32((uint32_t)csi << 24) };
}

static void command(struct nvme_ctrl *ctrl, struct nvme_req *req, const struct nvme_sqe *sqe,
	uint32_t in, uint64_t deadline_ns)
{
	struct nvme_queue *queue = ctrl->qp.queue;
	struct nvme_slot *slot;
	struct diag why = { 0 };

	if (ctrl->qp.state != QP_UP)
		return; /* it is already ending; `down` informs the owner */
	slot = inflight_take(&queue->inflight, req, deadline_ns);
	if (!slot) {
		diag_set(&why, DIAG_BUSY, EBUSY, "%s: the admin queue is full", req->what);
		nvme_ctrl_fail(ctrl, &why);
		return;
	}
	req->fabrics = sqe->opcode == NVME_FABRICS;
	*slot->sqe = *sqe;
	slot->data = (struct nvme_data){ in ? ctrl->qp.scratch->base : NULL, in, false,
		ctrl->qp.scratch };
	queue->carrier->submit(queue, slot);
}

static uint64_t admin_deadline(const struct nvme_ctrl *ctrl)
{
	uint64_t until = loop_now(ctrl->loop) + NVME_ADMIN_MS * MSEC;

	return ctrl->deadline_ns && ctrl->deadline_ns < until ? ctrl->deadline_ns : until;
}

static void last_send(struct nvme_ctrl *ctrl)
{
	command(ctrl, ctrl->last.req, &ctrl->last.sqe, ctrl->last.in, ctrl->last.deadline_ns);
}

static void last_fired(struct loop_timer *timer)
{
	last_send(container_of(timer, struct nvme_ctrl, last.timer));
}

void nvme_ctrl_send(struct nvme_ctrl *ctrl, struct nvme_req *req, struct nvme_sqe *sqe, uint32_t in)
{
	loop_timer_del(ctrl->loop, &ctrl->last.timer);
	ctrl->last.req = req;
	ctrl->last.sqe = *sqe;
	ctrl->last.in = in;
	ctrl->last.deadline_ns = admin_deadline(ctrl);
	last_send(ctrl);
}

bool nvme_ctrl_try(struct nvme_ctrl *ctrl, struct nvme_req *req, const struct nvme_sqe *sqe)
{
	const struct inflight *inflight = &ctrl->qp.queue->inflight;

	if (ctrl->qp.state != QP_UP || inflight->used + SPARE >= inflight->limit)
		return false;
	command(ctrl, req, sqe, 0, 0);
	return true;
}

/* Whether the last command is sent again after this reply. */
static bool last_again(
	struct nvme_ctrl *ctrl, const struct nvme_req *req, const struct nvme_cqe *cqe)
{
	uint64_t at = loop_now(ctrl->loop) + AGAIN_MS * MSEC;

	if (req != ctrl->last.req ||
		!(nvme_status_again(get_le16(cqe->status) >> 1) & BDEV_RETRY) ||
		at >= ctrl->last.deadline_ns)
		return false;
	loop_timer_set(ctrl->loop, &ctrl->last.timer, at);
	return true;
}

void nvme_ctrl_copy(const struct nvme_ctrl *ctrl, size_t at, void *to, size_t len)
{
	memcpy(to, ctrl->qp.scratch->base + at, len);
	__asm__ volatile("" ::
				 : "memory"); /* keep the compiler from reading the pool again
						 instead of the copy */
}

uint32_t nvme_ctrl_max_data(const struct nvme_ctrl *ctrl)
{
	unsigned shift = 12 + NVME_CAP_MPSMIN(ctrl->cap) + ctrl->id.mdts;
	/* our own limit: a keyed descriptor has 24 bits, and longer transfers gain nothing */
	uint32_t most = 1u << 20;

	return ctrl->id.mdts && shift < 20 ? 1u << shift : most;
}

/* From the answer to a keep-alive to the next one. A controller that then stays silent until
 * conf.detect_ms have passed is lost. */
static uint32_t beat_ms(const struct nvme_conf *conf)
{
	return (conf->kato_ms < conf->detect_ms ? conf->kato_ms : conf->detect_ms) / 2;
}

static void beat_fired(struct loop_timer *timer)
{
	struct nvme_ctrl *ctrl = container_of(timer, struct nvme_ctrl, beat);
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_KEEP_ALIVE };

	if (!ctrl->keeping && ctrl->qp.state == QP_UP) {
		ctrl->keeping = true;
		command(ctrl, &ctrl->keep, &sqe, 0,
			loop_now(ctrl->loop) +
				(ctrl->conf.detect_ms - beat_ms(&ctrl->conf)) * MSEC);
	}
}

static void beat_set(struct nvme_ctrl *ctrl)
{
	if (ctrl->conf.kato_ms)
		loop_timer_set(ctrl->loop, &ctrl->beat,
			loop_now(ctrl->loop) + beat_ms(&ctrl->conf) * MSEC);
}

static void keep_alive_done(struct nvme_req *req, const struct nvme_cqe *cqe)
{
	struct nvme_ctrl *ctrl = container_of(req, struct nvme_ctrl, keep);
	struct diag why = { 0 };

	ctrl->keeping = false;
	if (!cqe)
		return;
	if (nvme_check(req, cqe, &why))
		nvme_ctrl_fail(ctrl, &why);
	else
		beat_set(ctrl);
}

static void listen_for_event(struct nvme_ctrl *ctrl)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_ASYNC_EVENT };

	command(ctrl, &ctrl->event, &sqe, 0, 0);
}

static void handle_notice(struct nvme_ctrl *ctrl, uint32_t info)
{
	if (info == NVME_NOTICE_NS_CHANGED && ctrl->ev->ns_changed)
		ctrl->ev->ns_changed(ctrl);
	else if (info == NVME_NOTICE_ANA && ctrl->ev->ana_changed)
		ctrl->ev->ana_changed(ctrl);
}

static void event_done(struct nvme_req *req, const struct nvme_cqe *cqe)
{
	struct nvme_ctrl *ctrl = container_of(req, struct nvme_ctrl, event);
	uint32_t dw0;
	struct diag why = { 0 };

	if (!cqe)
		return;
	if (nvme_check(req, cqe, &why))
		return; /* without events a resize is not noticed, and ANA only by statuses */
	dw0 = (uint32_t)get_le64(cqe->result);
	loop_trace(ctrl->loop, "%s: event of type %u, %02xh, log %02xh", ctrl->conf.where,
		NVME_AER_TYPE(dw0), NVME_AER_INFO(dw0), NVME_AER_LOG(dw0));
	if (NVME_AER_TYPE(dw0) == NVME_AER_NOTICE && ctrl->step == STEP_UP)
		handle_notice(ctrl, NVME_AER_INFO(dw0));
	if (ctrl->qp.state == QP_UP)
		listen_for_event(ctrl);
}

static struct nvme_sqe property_get(uint32_t offset, bool wide)
{
	struct nvmf_property_sqe get = { .opcode = NVME_FABRICS,
		.fctype = NVMF_PROPERTY_GET,
		.attrib = wide,
		.offset = put_le32(offset) };
	struct nvme_sqe sqe;

	memcpy(&sqe, &get, sizeof(sqe));
	return sqe;
}

static struct nvme_sqe property_set(uint32_t offset, uint32_t value)
{
	struct nvmf_property_sqe set = { .opcode = NVME_FABRICS,
		.fctype = NVMF_PROPERTY_SET,
		.offset = put_le32(offset),
		.value = put_le64(value) };
	struct nvme_sqe sqe;

	memcpy(&sqe, &set, sizeof(sqe));
	return sqe;
}

static uint32_t configuration(const struct nvme_ctrl *ctrl)
{
	uint32_t cc =
		NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES | NVME_CAP_MPSMIN(ctrl->cap) << 7;

	/* Base 2.1, figure 41: with several I/O command sets "all supported" is the only choice
	 * besides none. */
	if (!(NVME_CAP_CSS(ctrl->cap) & NVME_CSS_NVM) && NVME_CAP_CSS(ctrl->cap) & NVME_CSS_IO_SETS)
		cc |= NVME_CC_CSS_ALL;
	return cc;
}

/* The bits of OAES are those of the feature. */
static uint32_t wanted_events(const struct nvme_ctrl *ctrl)
{
	uint32_t ana = ctrl->id.cmic & NVME_CMIC_ANA ? NVME_EVENT_ANA : 0;

	return ctrl->id.oaes & (NVME_EVENT_NS_ATTR | ana);
}

/* Send the command of the current step. */
static void step_send(struct nvme_ctrl *ctrl)
{
	struct nvme_sqe sqe = { 0 };
	uint32_t in = 0, most = ctrl->queues - 1;

	switch ((enum nvme_step)ctrl->step) {
	case STEP_CAP:
		sqe = property_get(NVME_CAP, true);
		break;
	case STEP_ENABLE:
		sqe = property_set(NVME_CC, configuration(ctrl));
		break;
	case STEP_READY:
	case STEP_SHUT:
		sqe = property_get(NVME_CSTS, false);
		break;
	case STEP_IDENTIFY:
		sqe = nvme_identify(NVME_CNS_CTRL, 0, 0);
		in = NVME_IDENTIFY_LEN;
		break;
	case STEP_QUEUES:
		sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_SET_FEATURES,
			.cdw10 = put_le32(NVME_FEATURE_QUEUES),
			.cdw11 = put_le32(most << 16 | most) };
		break;
	case STEP_EVENTS:
		sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_SET_FEATURES,
			.cdw10 = put_le32(NVME_FEATURE_ASYNC_EVENT),
			.cdw11 = put_le32(wanted_events(ctrl)) };
		break;
	case STEP_SHUTDOWN:
		sqe = property_set(NVME_CC, configuration(ctrl) | NVME_CC_SHN_NORMAL);
		break;
	case STEP_RESOLVE:
	case STEP_CONNECT:
	case STEP_SECURE:
	case STEP_UP:
	case STEP_DOWN:
		return;
	}
	ctrl->req.what = nvme_step_name(ctrl->step);
	nvme_ctrl_send(ctrl, &ctrl->req, &sqe, in);
}

static void poll_fired(struct loop_timer *timer)
{
	struct nvme_ctrl *ctrl = container_of(timer, struct nvme_ctrl, timer);

	if (ctrl->qp.state == QP_UP)
		step_send(ctrl);
}

static void schedule_poll(struct nvme_ctrl *ctrl)
{
	loop_timer_set(ctrl->loop, &ctrl->timer, loop_now(ctrl->loop) + POLL_MS * MSEC);
}

static int handle_cap(struct nvme_ctrl *ctrl, uint64_t value, struct diag *why)
{
	ctrl->cap = value;
	/* Base 2.1, figure 36: a fabrics controller may have only the admin command set (no NVM):
	 * then there is no disk. */
	if (!ctrl->discovery && !(NVME_CAP_CSS(value) & (NVME_CSS_NVM | NVME_CSS_IO_SETS)))
		return diag_set(why, DIAG_UNSUPPORTED, ENOTSUP,
			"the controller does not support the NVM command set");
	if (NVME_CAP_MPSMIN(value) > 4)
		return diag_set(why, DIAG_UNSUPPORTED, ENOTSUP,
			"the controller's smallest memory page is 2^%u bytes, which is not "
			"supported",
			12 + NVME_CAP_MPSMIN(value));
	if (!ctrl->discovery && !NVME_CAP_MQES(value)) /* Base 2.1, figure 36: at least 1h */
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"the controller's queues have 1 entry: must be at least 2");
	step_to(ctrl, STEP_ENABLE);
	return 0;
}

static int handle_csts(struct nvme_ctrl *ctrl, uint32_t csts, struct diag *why)
{
	if (csts & NVME_CSTS_CFS)
		return diag_set(
			why, DIAG_IO, EIO, "the controller reports a fatal error (CSTS.CFS)");
	if (csts & NVME_CSTS_RDY) {
		step_to(ctrl, STEP_IDENTIFY);
		return 0;
	}
	if (loop_now(ctrl->loop) >= (ctrl->deadline_ns && ctrl->deadline_ns < ctrl->ready_ns
						    ? ctrl->deadline_ns
						    : ctrl->ready_ns))
		return diag_set(why, DIAG_TIMEOUT, ETIMEDOUT,
			"the controller did not become ready (its own limit is %g s)",
			NVME_CAP_TO(ctrl->cap) / 2.);
	schedule_poll(ctrl);
	return 0;
}

static int handle_identify(struct nvme_ctrl *ctrl, struct diag *why)
{
	uint8_t page[NVME_IDENTIFY_LEN];
	int err;

	nvme_ctrl_copy(ctrl, 0, page, sizeof(page));
	err = nvme_ctrl_get(&ctrl->id, page, sizeof(page), why);
	if (err)
		return err;
	if (ctrl->discovery) {
		step_to(ctrl, STEP_UP);
		return 0;
	}
	if (ctrl->id.cntrltype > NVME_CTRL_IO)
		return diag_set(why, DIAG_MISMATCH, EINVAL,
			"'%s' is %s controller: it has no disks", ctrl->conf.subnqn,
			ctrl->id.cntrltype == NVME_CTRL_DISCOVERY ? "a discovery"
								  : "an administrative");
	if (ctrl->id.capsule < sizeof(struct nvme_sqe) || ctrl->id.reply < sizeof(struct nvme_cqe))
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"the controller's capsules are too small: %u bytes, replies %u bytes",
			ctrl->id.capsule, ctrl->id.reply);
	if (!(ctrl->id.sgls & NVME_SGLS_SUPPORT) ||
		(ctrl->conf.carrier == &nvme_rdma && !(ctrl->id.sgls & NVME_SGLS_KEYED)))
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"the controller does not support the data descriptors that its transport "
			"requires (SGLS %08xh)",
			ctrl->id.sgls);
	step_to(ctrl, STEP_QUEUES);
	return 0;
}

static void handle_queue_count(struct nvme_ctrl *ctrl, uint32_t dw0)
{
	uint32_t submission = (dw0 & 0xffff) + 1, completion = (dw0 >> 16) + 1;
	uint32_t granted = submission < completion ? submission : completion;

	if (granted < ctrl->queues)
		ctrl->queues = (uint16_t)granted;
	step_to(ctrl, wanted_events(ctrl) ? STEP_EVENTS : STEP_UP);
}

static void closing(struct nvme_ctrl *ctrl)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_CLOSED, ECONNABORTED, "closed");
	nvme_ctrl_fail(ctrl, &why);
}

/* Handle the answer of one step. Then the next step is set, or the same one (polling), or the
 * controller has failed. */
static int step_done(struct nvme_ctrl *ctrl, const struct nvme_cqe *cqe, struct diag *why)
{
	uint64_t value = get_le64(cqe->result);

	switch ((enum nvme_step)ctrl->step) {
	case STEP_CAP:
		return handle_cap(ctrl, value, why);
	case STEP_ENABLE:
		/* 0 also means half a second, like in Linux's host */
		ctrl->ready_ns = loop_now(ctrl->loop) + (NVME_CAP_TO(ctrl->cap) + 1) * 500 * MSEC;
		step_to(ctrl, STEP_READY);
		return 0;
	case STEP_READY:
		return handle_csts(ctrl, (uint32_t)value, why);
	case STEP_IDENTIFY:
		return handle_identify(ctrl, why);
	case STEP_QUEUES:
		handle_queue_count(ctrl, (uint32_t)value);
		return 0;
	case STEP_EVENTS:
		listen_for_event(ctrl);
		step_to(ctrl, STEP_UP);
		return 0;
	case STEP_SHUTDOWN:
		step_to(ctrl, STEP_SHUT);
		return 0;
	case STEP_SHUT:
		if (value & NVME_CSTS_CFS)
			return diag_set(why, DIAG_IO, EIO,
				"the controller failed during shutdown (CSTS.CFS): data may not be "
				"on the disk");
		if (NVME_CSTS_SHST(value) == NVME_SHST_COMPLETE)
			closing(ctrl);
		else
			schedule_poll(ctrl);
		return 0;
	case STEP_RESOLVE:
	case STEP_CONNECT:
	case STEP_SECURE:
	case STEP_UP:
	case STEP_DOWN:
		return 0;
	}
	return 0;
}

static void replied(struct nvme_req *req, const struct nvme_cqe *cqe)
{
	struct nvme_ctrl *ctrl = container_of(req, struct nvme_ctrl, req);
	uint8_t before = ctrl->step;
	struct diag why = { 0 };
	int err;

	if (!cqe)
		return;
	err = nvme_check(req, cqe, &why);
	/* continue without events */
	if (err && before == STEP_EVENTS) {
		step_to(ctrl, STEP_UP);
		err = 0;
	} else if (!err) {
		err = step_done(ctrl, cqe, &why);
	}
	if (err) {
		nvme_ctrl_fail(ctrl, &why);
		return;
	}
	if (ctrl->qp.state != QP_UP || ctrl->step == before)
		return;
	if (ctrl->step == STEP_UP) {
		beat_set(ctrl);
		ctrl->ev->up(ctrl);
	} else {
		step_send(ctrl);
	}
}

/* All queues go to the address that has answered the first one. */
static void settle(struct nvme_ctrl *ctrl)
{
	struct nvme_conf *conf = &ctrl->conf;

	if (!conf->dst.others || !ctrl->qp.queue)
		return;
	addr_keep_peer(&conf->dst, &ctrl->qp.queue->peer);
	addr_text(&conf->dst, conf->where);
}

/* The queue that authenticated makes room for one that uses the generated PSK. */
static void secure(struct nvme_ctrl *ctrl)
{
	struct diag why = { 0 };

	if (!nvme_tls_new_generated(&ctrl->conf.tls, &ctrl->conf, &ctrl->qp.psk, &why)) {
		step_to(ctrl, STEP_SECURE);
		diag_set(&why, DIAG_CLOSED, ECONNABORTED, "connecting again with TLS");
	}
	nvme_qp_fail(&ctrl->qp, &why);
}

static void qp_up(struct nvme_qp *qp)
{
	struct nvme_ctrl *ctrl = container_of(qp, struct nvme_ctrl, qp);

	settle(ctrl);
	if (qp->psk.len) {
		secure(ctrl);
		return;
	}
	ctrl->cntlid = qp->cntlid;
	step_to(ctrl, STEP_CAP);
	step_send(ctrl);
}

static void qp_reply(struct nvme_queue *queue, struct nvme_slot *slot)
{
	struct nvme_qp *qp = queue->user;
	struct nvme_req *req = nvme_qp_end(qp, slot);
	struct nvme_cqe cqe = slot->cqe; /* done() may reuse the slot */

	if (req && !last_again(container_of(qp, struct nvme_ctrl, qp), req, &cqe))
		req->done(req, &cqe);
}

static void qp_lost(struct nvme_qp *qp, void *owner)
{
	struct nvme_req *req = owner;

	(void)qp;
	req->done(req, NULL);
}

static const char *req_name(const void *owner)
{
	return ((const struct nvme_req *)owner)->what;
}

static void down(struct nvme_ctrl *ctrl, const struct diag *why)
{
	ctrl->why = *why;
	ctrl->step = STEP_DOWN;
	loop_timer_del(ctrl->loop, &ctrl->timer);
	loop_timer_del(ctrl->loop, &ctrl->beat);
	loop_timer_del(ctrl->loop, &ctrl->last.timer);
	ctrl->ev->down(ctrl);
}

static const struct nvme_qp_events qp_events;

static int connect_to(struct nvme_ctrl *ctrl, struct diag *diag)
{
	step_to(ctrl, STEP_CONNECT);
	return nvme_qp_open(&ctrl->qp, ctrl->loop, &ctrl->conf, 0, NVME_ADMIN_DEPTH,
		NVMF_CNTLID_ANY, NVME_SCRATCH, ctrl->deadline_ns, &qp_events, diag);
}

static void qp_down(struct nvme_qp *qp)
{
	struct nvme_ctrl *ctrl = container_of(qp, struct nvme_ctrl, qp);
	struct diag why = qp->why;

	settle(ctrl);
	if (ctrl->step == STEP_CONNECT)
		resolve_mark_stale(ctrl->conf.host);
	if (ctrl->step == STEP_SECURE) {
		why = ctrl->why;
		if (!why.err)
			nvme_qp_fini(qp);
		if (!why.err && !connect_to(ctrl, &why))
			return;
	}
	down(ctrl, &why);
}

static const struct nvme_qp_events qp_events = {
	.up = qp_up, .reply = qp_reply, .lost = qp_lost, .name = req_name, .down = qp_down
};

static void resolved(struct resolve *resolve)
{
	struct nvme_ctrl *ctrl = container_of(resolve, struct nvme_ctrl, resolve);
	struct diag why = resolve->why;

	if (!why.err) {
		ctrl->conf.dst = resolve->addr;
		addr_text(&ctrl->conf.dst, ctrl->conf.where);
		connect_to(ctrl, &why);
	}
	if (why.err)
		down(ctrl, &why);
}

static int begin(struct nvme_ctrl *ctrl, struct diag *diag)
{
	if (ctrl->conf.dst.ss.ss_family)
		return connect_to(ctrl, diag);
	step_to(ctrl, STEP_RESOLVE);
	ctrl->resolve.done = resolved;
	return resolve_start(&ctrl->resolve, ctrl->loop, ctrl->conf.host, ctrl->conf.port,
		ctrl->conf.timeout_ms, diag);
}

int nvme_ctrl_open(struct nvme_ctrl *ctrl, struct loop *loop, bool discovery, uint16_t queues,
	const struct nvme_ctrl_events *ev, struct diag *diag)
{
	int err;

	ctrl->ev = ev;
	ctrl->loop = loop;
	ctrl->discovery = discovery;
	ctrl->queues = queues;
	ctrl->deadline_ns = ctrl->conf.timeout_ms ? loop_clock() + ctrl->conf.timeout_ms * MSEC : 0;
	ctrl->req.done = replied;
	ctrl->keep = (struct nvme_req){ keep_alive_done, "keep-alive" };
	ctrl->event = (struct nvme_req){ event_done, "asynchronous event request" };
	ctrl->timer.fire = poll_fired;
	ctrl->beat.fire = beat_fired;
	ctrl->last.timer.fire = last_fired;
	ctrl->conf.tls = NULL;
	err = ctrl->conf.psk ? nvme_tls_new(&ctrl->conf.tls, &ctrl->conf, diag) : 0;
	if (!err)
		err = begin(ctrl, diag);
	if (err) {
		nvme_tls_free(ctrl->conf.tls);
		ctrl->conf.tls = NULL;
	}
	return err;
}

void nvme_ctrl_stop(struct nvme_ctrl *ctrl)
{
	if (ctrl->step != STEP_UP) {
		closing(ctrl);
		return;
	}
	ctrl->deadline_ns = loop_now(ctrl->loop) + STOP_MS * MSEC;
	loop_timer_del(ctrl->loop, &ctrl->beat);
	step_to(ctrl, STEP_SHUTDOWN);
	step_send(ctrl);
}

void nvme_ctrl_fini(struct nvme_ctrl *ctrl)
{
	if (!ctrl->loop)
		return;
	resolve_cancel(&ctrl->resolve);
	loop_timer_del(ctrl->loop, &ctrl->timer);
	loop_timer_del(ctrl->loop, &ctrl->beat);
	loop_timer_del(ctrl->loop, &ctrl->last.timer);
	nvme_qp_fini(&ctrl->qp);
	nvme_tls_free(ctrl->conf.tls);
	ctrl->conf.tls = NULL;
}
