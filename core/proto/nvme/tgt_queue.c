/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A queue of the target and its commands from arrival to reply: data comes and goes in pieces of a
 * buffer, what is done with each is the operation's. Everything here runs on the queue's loop. */
#include "tgt.h"
#include <errno.h>
#include <stdlib.h>

#define MSEC 1000000ull

int nvme_tgt_queue_room(struct nvme_tgt_queue *queue, unsigned slots, struct diag *diag)
{
	uint32_t io_size = (queue->target->io_size + 7) & ~7u;

	queue->cmds = calloc(slots, queue->carrier->cmd_size);
	queue->lower = calloc(slots, io_size ? io_size : 8);
	if (!queue->cmds || !queue->lower)
		return diag_sys(diag, ENOMEM, "a queue of %u commands", slots);
	queue->slots = slots;
	for (unsigned i = slots; i--;) {
		struct nvme_tgt_cmd *cmd = nvme_tgt_cmd_at(queue, i);

		cmd->queue = queue;
		cmd->xfer.share = &queue->share;
		cmd->split.io.lower = queue->lower + (size_t)i * io_size;
		cmd->split.io.own = &cmd->orphan;
		cmd->next = queue->free;
		queue->free = cmd;
	}
	return 0;
}

static int map(struct nvme_tgt_queue *queue, struct diag *diag)
{
	const struct nvme_tgt_subsys *subsys = queue->ctrl->subsys;

	for (unsigned i = 0; queue->pool && i < subsys->count; i++) {
		unsigned index = subsys->ns[i]->index;
		int err = lane_map(queue->worker->lane[index], queue->pool, diag);

		if (err)
			return err;
		queue->mapped |= 1u << index;
	}
	return 0;
}

static void turn_later(struct nvme_tgt_queue *queue)
{
	loop_work_add(queue->loop, &queue->turn);
}

void nvme_tgt_queue_fail(
	struct nvme_tgt_queue *queue, enum diag_code code, int err, const char *text)
{
	if (nvme_tgt_queue_gone(queue))
		return;
	diag_set(&queue->why, code, err, "%s", text);
	queue->state = QUEUE_CLOSING;
	nvme_tgt_queue_fence(queue);
	for (unsigned i = 0; i < queue->slots; i++)
		split_stop(&nvme_tgt_cmd_at(queue, i)->split);
	if (queue->ctrl && !queue->qid)
		nvme_tgt_ctrl_kill_io(queue->ctrl);
	queue->carrier->close(queue);
}

static uint64_t patience(const struct nvme_tgt_queue *queue)
{
	return queue->target->opt.stall_ms * MSEC;
}

static void stalled(struct nvme_tgt_queue *queue)
{
	nvme_tgt_queue_fail(queue, DIAG_TIMEOUT, ETIMEDOUT,
		"timed out waiting for the host's part of a transfer");
}

/* A command waits for the host. Each has its own time, whatever else the host does: else one byte
 * now and then would hold buffers for ever. As all have the same, the list is sorted; the watch is
 * moved only when it fires. */
static void peer_due(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_queue *queue = cmd->queue;

	cmd->due_ns = loop_now(queue->loop);
	cmd->due_next = NULL;
	cmd->due_link = queue->due_end;
	*queue->due_end = cmd;
	queue->due_end = &cmd->due_next;
	if (!queue->watch.on)
		loop_timer_set(queue->loop, &queue->watch, cmd->due_ns + patience(queue));
}

static void peer_done(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_queue *queue = cmd->queue;

	*cmd->due_link = cmd->due_next;
	*(cmd->due_next ? &cmd->due_next->due_link : &queue->due_end) = cmd->due_link;
	cmd->waited_ns += loop_now(queue->loop) - cmd->due_ns;
	if (cmd->waited_ns > patience(queue))
		stalled(queue);
}

static void watch_fired(struct loop_timer *timer)
{
	struct nvme_tgt_queue *queue = container_of(timer, struct nvme_tgt_queue, watch);
	const struct nvme_tgt_cmd *first = queue->due;

	if (queue->state < QUEUE_LIVE)
		nvme_tgt_queue_fail(queue, DIAG_TIMEOUT, ETIMEDOUT,
			"timed out waiting for the Connect command");
	else if (first && loop_now(queue->loop) < first->due_ns + patience(queue))
		loop_timer_set(queue->loop, timer, first->due_ns + patience(queue));
	else if (first)
		stalled(queue);
}

struct nvme_tgt_cmd *nvme_tgt_cmd_take(struct nvme_tgt_queue *queue)
{
	struct nvme_tgt_cmd *cmd = queue->free;

	if (!cmd)
		return NULL;
	queue->free = cmd->next;
	queue->busy++;
	cmd->state = CMD_FETCH;
	cmd->inside = false;
	cmd->data_len = cmd->at = cmd->piece = 0;
	cmd->waited_ns = 0;
	cmd->op = NULL;
	cmd->cqe = (struct nvme_cqe){ 0 };
	return cmd;
}

void nvme_tgt_cmd_drop(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_queue *queue = cmd->queue;

	bdev_orphan_end(&cmd->orphan);
	xfer_give(&queue->worker->store, &cmd->xfer);
	cmd->state = CMD_FREE;
	cmd->next = queue->free;
	queue->free = cmd;
	queue->busy--;
	if (queue->carrier->resume || queue->state >= QUEUE_ENDING)
		turn_later(queue);
}

void nvme_tgt_cmd_result(struct nvme_tgt_cmd *cmd, uint64_t result)
{
	cmd->cqe.result = put_le64(result);
}

static void complete(struct nvme_tgt_cmd *cmd, uint32_t status)
{
	struct nvme_tgt_queue *queue = cmd->queue;

	cmd->cqe.sqhd = put_le16(queue->no_sqfc ? NVME_SQHD_NONE : queue->sqhd);
	cmd->cqe.cid = cmd->sqe.cid;
	cmd->cqe.status = put_le16((uint16_t)(status << 1));
}

void nvme_tgt_cmd_finish(struct nvme_tgt_cmd *cmd, uint32_t status)
{
	struct nvme_tgt_queue *queue = cmd->queue;

	if (nvme_tgt_queue_gone(queue)) {
		nvme_tgt_cmd_drop(cmd);
		return;
	}
	bdev_orphan_end(&cmd->orphan);
	xfer_give(&queue->worker->store, &cmd->xfer);
	complete(cmd, status);
	cmd->state = CMD_REPLY;
	peer_due(cmd);
	queue->carrier->reply(cmd);
	turn_later(queue);
}

static void next_piece(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_queue *queue = cmd->queue;
	uint32_t room = cmd->op->flags & OP_HALF ? cmd->xfer.buf.cap / 2 : cmd->xfer.buf.cap,
		 left = cmd->data_len - cmd->at;

	if (cmd->inside) {
		cmd->piece = cmd->data_len;
		cmd->state = CMD_WORK;
		cmd->op->work(cmd);
		return;
	}
	cmd->piece = left < room ? left : room;
	cmd->p = cmd->xfer.buf.p;
	cmd->pool = cmd->xfer.buf.pool;
	if (cmd->op->flags & OP_OUT) {
		bdev_orphan_end(&cmd->orphan); /* others wait for the disk, not for this host */
		cmd->state = CMD_PULL;
		peer_due(cmd);
		queue->carrier->pull(cmd, cmd->piece);
		turn_later(queue);
	} else {
		cmd->state = CMD_WORK;
		cmd->op->work(cmd);
	}
}

static void buffer_ready(struct xfer *x)
{
	next_piece(container_of(x, struct nvme_tgt_cmd, xfer));
}

static const struct nvme_tgt_op *find(const struct nvme_tgt_op *ops, uint8_t opcode)
{
	while (ops->name && ops->opcode != opcode)
		ops++;
	return ops->name ? ops : NULL;
}

/* Which operation it is, and whether it is its time. */
static uint32_t judge(struct nvme_tgt_cmd *cmd)
{
	const struct nvme_tgt_queue *queue = cmd->queue;
	const struct nvmf_property_sqe *fabrics = (const void *)&cmd->sqe;
	bool admin = !queue->qid, live = queue->state == QUEUE_LIVE;

	if (cmd->sqe.opcode == NVME_FABRICS)
		cmd->op = find(nvme_tgt_fabrics_ops, fabrics->fctype);
	else if (!live)
		return NVME_SEQUENCE;
	else
		cmd->op = find(admin ? nvme_tgt_admin_ops : nvme_tgt_io_ops, cmd->sqe.opcode);
	if (!cmd->op)
		return NVME_INVALID_OPCODE;
	if (NVME_FUSE(cmd->sqe.flags) || NVME_PSDT(cmd->sqe.flags) == 0xc0 ||
		(!NVME_PSDT(cmd->sqe.flags) && cmd->sqe.opcode != NVME_FABRICS &&
			cmd->op->flags & (OP_IN | OP_OUT)))
		return NVME_INVALID_FIELD;
	if (live == (cmd->sqe.opcode == NVME_FABRICS && fabrics->fctype == NVMF_CONNECT))
		return NVME_SEQUENCE;
	if (!live)
		return NVME_OK;
	if (nvme_tgt_is_discovery(queue->ctrl) && !(cmd->op->flags & OP_DISCOVERY))
		return NVME_INVALID_OPCODE;
	if (!(cmd->op->flags & OP_EARLY) &&
		!__atomic_load_n(&queue->ctrl->enabled, __ATOMIC_ACQUIRE))
		return NVME_SEQUENCE;
	return NVME_OK;
}

bool nvme_tgt_cmd_fits(const struct nvme_tgt_cmd *cmd, uint32_t room)
{
	return room == cmd->data_len || (room > cmd->data_len && cmd->op->flags & OP_WHOLE);
}

void nvme_tgt_cmd_run(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_queue *queue = cmd->queue;
	uint32_t status;

	if (queue->state >= QUEUE_ENDING) {
		nvme_tgt_cmd_drop(cmd);
		return;
	}
	cmd->state = CMD_WORK;
	if (queue->depth)
		queue->sqhd = (uint16_t)((queue->sqhd + 1) % queue->depth);
	if (queue->ctrl && !queue->qid)
		nvme_tgt_ctrl_heard(queue->ctrl);
	status = judge(cmd);
	if (!status)
		status = cmd->op->check(cmd, &cmd->data_len);
	if (!status && cmd->data_len)
		status = queue->carrier->descriptor(cmd);
	if (status) {
		nvme_tgt_cmd_finish(cmd, status);
		return;
	}
	if (!cmd->data_len) {
		cmd->op->work(cmd);
		return;
	}
	cmd->xfer.ready = buffer_ready;
	if (cmd->inside && !(cmd->op->flags & OP_HALF))
		next_piece(cmd);
	else if (xfer_take(&queue->worker->store, &cmd->xfer))
		next_piece(cmd);
	else
		cmd->state = CMD_LINE;
}

void nvme_tgt_cmd_pulled(struct nvme_tgt_cmd *cmd, uint32_t status)
{
	peer_done(cmd);
	cmd->state = CMD_WORK;
	if (status || nvme_tgt_queue_gone(cmd->queue))
		nvme_tgt_cmd_finish(cmd, status);
	else
		cmd->op->work(cmd);
}

void nvme_tgt_cmd_worked(struct nvme_tgt_cmd *cmd, uint32_t status)
{
	struct nvme_tgt_queue *queue = cmd->queue;
	bool last;

	if (status || nvme_tgt_queue_gone(queue) || !cmd->data_len) {
		nvme_tgt_cmd_finish(cmd, status);
		return;
	}
	last = cmd->at + cmd->piece == cmd->data_len;
	if (cmd->op->flags & OP_OUT) {
		cmd->at += cmd->piece;
		if (last)
			nvme_tgt_cmd_finish(cmd, NVME_OK);
		else
			next_piece(cmd);
		return;
	}
	if (last)
		complete(cmd, NVME_OK);
	cmd->state = last ? CMD_REPLY : CMD_PUSH;
	peer_due(cmd);
	queue->carrier->push(cmd, cmd->piece, last);
	turn_later(queue);
}

void nvme_tgt_cmd_pushed(struct nvme_tgt_cmd *cmd)
{
	peer_done(cmd);
	cmd->state = CMD_WORK;
	cmd->at += cmd->piece;
	if (nvme_tgt_queue_gone(cmd->queue))
		nvme_tgt_cmd_finish(cmd, NVME_OK);
	else
		next_piece(cmd);
}

void nvme_tgt_cmd_over(struct nvme_tgt_cmd *cmd)
{
	peer_done(cmd);
	nvme_tgt_cmd_drop(cmd);
}

/* Something is in work that the host waits for. */
static bool working(const struct nvme_tgt_queue *queue)
{
	for (unsigned i = 0; i < queue->slots; i++) {
		uint8_t state = nvme_tgt_cmd_at(queue, i)->state;

		if (state != CMD_FREE && state != CMD_FETCH && state != CMD_EVENT)
			return true;
	}
	return false;
}

/* Nothing of it is left here: what belongs to this loop is freed, the rest is the target's. */
static void finish(struct nvme_tgt_queue *queue)
{
	for (unsigned i = 0; i < NVME_TARGET_DISKS; i++) {
		if (queue->mapped & 1u << i)
			lane_unmap(queue->worker->lane[i], queue->pool);
	}
	loop_timer_del(queue->loop, &queue->watch);
	if (queue->opened)
		queue->carrier->free(queue);
	free(queue->cmds);
	free(queue->lower);
	*queue->link = queue->next;
	if (queue->next)
		queue->next->link = queue->link;
	queue->over = true;
	loop_trace(queue->loop, "%s: over%s%s", queue->name, queue->why.err ? ": " : "",
		queue->why.text);
	queue->hop.run = nvme_tgt_queue_over;
	loop_post(queue->target->loop, &queue->hop);
}

static bool stopping(const struct nvme_tgt_queue *queue)
{
	return __atomic_load_n(&queue->target->stopping, __ATOMIC_RELAXED);
}

static void turn(struct loop_work *work)
{
	struct nvme_tgt_queue *queue = container_of(work, struct nvme_tgt_queue, turn);

	if (queue->over)
		return;
	if (queue->state == QUEUE_DOWN) {
		if (!queue->busy && (!queue->ctrl || queue->qid || nvme_tgt_ctrl_shut(queue->ctrl)))
			finish(queue);
		return;
	}
	if (queue->state == QUEUE_ENDING && !working(queue))
		nvme_tgt_queue_fail(queue, DIAG_CLOSED, ECONNABORTED,
			stopping(queue) ? "the target is stopping" : "the host disconnected");
	if (nvme_tgt_queue_gone(queue))
		return;
	if (queue->carrier->resume)
		queue->carrier->resume(queue);
	if (queue->carrier->flush && !nvme_tgt_queue_gone(queue))
		queue->carrier->flush(queue);
}

static struct lane *lane_of(const struct nvme_tgt_cmd *cmd)
{
	return cmd->queue->worker->lane[cmd->disk->index];
}

/* A command that waits for a buffer or an event has done nothing yet. At a disk only reads are
 * cancelled: a write whose path was lost may still be executed there. */
bool nvme_tgt_cmd_abort(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_queue *queue = cmd->queue;

	if (nvme_tgt_queue_gone(queue))
		return false;
	if (cmd->state == CMD_WORK)
		return queue->qid && cmd->split.kind == IO_READ &&
		       bdev_cancel(lane_of(cmd), &cmd->split.io);
	if (cmd->state != CMD_LINE && cmd->state != CMD_EVENT)
		return false;
	if (cmd->state == CMD_EVENT)
		nvme_tgt_ctrl_forget(queue->ctrl, cmd);
	nvme_tgt_cmd_finish(cmd, NVME_ABORT_REQUESTED);
	return true;
}

void nvme_tgt_queue_down(struct nvme_tgt_queue *queue)
{
	queue->state = QUEUE_DOWN;
	nvme_tgt_queue_fence(queue);
	if (queue->ctrl && !queue->qid)
		nvme_tgt_ctrl_quit(queue->ctrl);
	for (unsigned i = 0; i < queue->slots; i++) {
		struct nvme_tgt_cmd *cmd = nvme_tgt_cmd_at(queue, i);

		if (cmd->state == CMD_WORK && queue->qid)
			bdev_cancel(lane_of(cmd), &cmd->split.io);
		else if (cmd->state != CMD_FREE && cmd->state != CMD_WORK)
			nvme_tgt_cmd_drop(cmd);
	}
	queue->due = NULL;
	queue->due_end = &queue->due;
	turn_later(queue);
}

void nvme_tgt_queue_fence(struct nvme_tgt_queue *queue)
{
	uint64_t off, len;

	for (unsigned i = 0; !queue->over && queue->qid && i < queue->slots; i++) {
		struct nvme_tgt_cmd *cmd = nvme_tgt_cmd_at(queue, i);

		if (cmd->state == CMD_WORK && cmd->disk && !cmd->orphan.bdev &&
			nvme_tgt_cmd_changes(cmd, &off, &len))
			bdev_orphan(cmd->disk->bdev, &cmd->orphan, off, len);
	}
}

void nvme_tgt_queue_open(struct loop_msg *msg)
{
	struct nvme_tgt_queue *queue = container_of(msg, struct nvme_tgt_queue, hop);
	struct nvme_tgt_worker *worker = queue->worker;

	queue->link = &worker->queues;
	queue->next = worker->queues;
	if (queue->next)
		queue->next->link = &queue->next;
	worker->queues = queue;
	queue->turn.run = turn;
	queue->watch.fire = watch_fired;
	queue->due_end = &queue->due;
	queue->opened = !queue->carrier->open(queue, &queue->why);
	if (!queue->opened) {
		queue->state = QUEUE_DOWN;
		turn_later(queue);
		return;
	}
	loop_timer_set(
		queue->loop, &queue->watch, loop_now(queue->loop) + NVME_TGT_CONNECT_MS * MSEC);
}

static void go_live(struct nvme_tgt_queue *queue)
{
	struct diag why = { 0 };

	queue->state = QUEUE_LIVE;
	loop_timer_del(queue->loop, &queue->watch);
	if (!queue->qid)
		nvme_tgt_ctrl_heard(queue->ctrl);
	else if (map(queue, &why))
		nvme_tgt_queue_fail(queue, why.code, why.err, why.text);
}

void nvme_tgt_queue_answered(struct loop_msg *msg)
{
	struct nvme_tgt_queue *queue = container_of(msg, struct nvme_tgt_queue, ask_hop);
	struct nvme_tgt_cmd *cmd = queue->asking;
	const struct nvmf_connect_reply *answer = &queue->answer;

	if (answer->status) {
		if (queue->state == QUEUE_ASKING)
			queue->state = QUEUE_NEW;
	} else {
		queue->ctrl = queue->bound;
		queue->qid = queue->ask.qid;
		queue->no_sqfc = queue->ask.no_sqfc;
		queue->depth = queue->ask.depth;
		queue->sqhd = 1;
		if (queue->state == QUEUE_ASKING)
			go_live(queue);
		else if (queue->state == QUEUE_DOWN && !queue->qid)
			nvme_tgt_ctrl_quit(queue->ctrl);
	}
	nvmf_connect_reply_put(&cmd->cqe, answer);
	nvme_tgt_cmd_finish(cmd, answer->status);
}

void nvme_tgt_queue_ended(struct loop_msg *msg)
{
	struct nvme_tgt_queue *queue = container_of(msg, struct nvme_tgt_queue, end_hop);

	if (queue->over || nvme_tgt_queue_gone(queue))
		return;
	queue->state = QUEUE_ENDING;
	turn_later(queue);
}

void nvme_tgt_queue_killed(struct loop_msg *msg)
{
	struct nvme_tgt_queue *queue = container_of(msg, struct nvme_tgt_queue, kill_hop);

	if (!queue->over)
		nvme_tgt_queue_fail(queue, DIAG_CLOSED, ECONNABORTED,
			stopping(queue) ? "the target is stopping"
			: queue->ctrl
				? "its controller has ended"
				: "no Connect command, and another host needs the connection");
}
