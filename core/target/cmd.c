/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Execute a command in pieces of one data buffer, see enum target_cmd_state, and submit its
 * requests to the disk. */
#include "frame.h"
#include "target_rdma.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Prepare the next command that was never used, so that those which the peer never needs take no
 * memory. */
static struct target_cmd *prepare_cmd(struct target_conn *conn)
{
	unsigned i = conn->prepared++;
	struct target_cmd *cmd = target_cmd_at(conn, i);

	cmd->conn = conn;
	cmd->split.io.lower = conn->lower + i * target_conn_io_size(conn);
	cmd->split.io.own = &cmd->orphan;
	if (conn->rdma.cmds)
		cmd->rdma = &conn->rdma.cmds[i];
	return cmd;
}

struct target_cmd *target_cmd_alloc(struct target_conn *conn)
{
	struct target_cmd *cmd = conn->free;

	if (!target_conn_can_alloc(conn))
		return NULL;
	if (cmd)
		conn->free = cmd->next;
	else
		cmd = prepare_cmd(conn);
	conn->used++;
	cmd->state = TARGET_CMD_RECEIVING;
	cmd->flags = 0;
	cmd->immediate = cmd->fenced = false;
	cmd->data_len = cmd->at = cmd->piece = cmd->own = 0;
	cmd->waited_ns = 0;
	cmd->disk = NULL;
	cmd->changes_len = 0;
	cmd->split.lane = NULL;
	return cmd;
}

/* Release what other commands wait for: its orphan and its buffer. */
static void release_resources(struct target_cmd *cmd)
{
	bdev_orphan_end(&cmd->orphan);
	target_buffers_release(&cmd->buf_request);
	if (__builtin_expect(cmd->own_data != NULL, 0)) {
		free(cmd->own_data);
		cmd->own_data = NULL;
	}
}

void target_cmd_drop(struct target_cmd *cmd)
{
	struct target_conn *conn = cmd->conn;

	release_resources(cmd);
	cmd->state = TARGET_CMD_FREE;
	cmd->next = conn->free;
	conn->free = cmd;
	conn->used--;
	if (conn->carrier->resume || conn->state >= TARGET_ENDING)
		target_conn_wake(conn);
}

void target_cmd_forget(struct target_cmd *cmd)
{
	if (cmd->conn->carrier->forget)
		cmd->conn->carrier->forget(cmd);
	target_cmd_drop(cmd);
}

void target_cmd_finish(struct target_cmd *cmd, uint32_t status)
{
	struct target_conn *conn = cmd->conn;

	if (target_conn_is_closing(conn)) {
		target_cmd_drop(cmd);
		return;
	}
	release_resources(cmd);
	conn->target->proto->complete(cmd, status);
	cmd->state = TARGET_CMD_REPLY;
	target_cmd_arm_timeout(cmd);
	conn->carrier->reply(cmd);
	target_conn_wake(conn);
}

static void execute(struct target_cmd *cmd)
{
	cmd->state = TARGET_CMD_WORK;
	cmd->conn->target->proto->work(cmd);
}

/* Whether to copy immediate data, which may be in memory that is not mapped for the disk. Data of a
 * command with TARGET_HALF that writes nothing is only compared. */
static bool copied(const struct target_cmd *cmd)
{
	return cmd->disk && cmd->disk->exposed && (!(cmd->flags & TARGET_HALF) || cmd->changes_len);
}

static void next_piece(struct target_cmd *cmd)
{
	struct target_conn *conn = cmd->conn;
	uint32_t cap = cmd->own, left = cmd->data_len - cmd->at;

	if (cmd->immediate) {
		cmd->piece = cmd->data_len;
		if (copied(cmd)) {
			memcpy(cmd->buf_request.buf.p, cmd->p, cmd->piece);
			cmd->p = cmd->buf_request.buf.p;
			cmd->pool = cmd->buf_request.buf.pool;
		}
		execute(cmd);
		return;
	}
	if (!cap) {
		cap = cmd->flags & TARGET_HALF ? cmd->buf_request.buf.cap / 2
					       : cmd->buf_request.buf.cap;
		cmd->p = cmd->buf_request.buf.p;
		cmd->pool = cmd->buf_request.buf.pool;
	}
	cmd->piece = left < cap ? left : cap;
	if (!(cmd->flags & TARGET_OUT)) {
		execute(cmd);
		return;
	}
	bdev_orphan_end(&cmd->orphan); /* others must wait only for the disk, not for this peer */
	cmd->state = TARGET_CMD_PULL;
	target_cmd_arm_timeout(cmd);
	conn->carrier->pull(cmd, cmd->piece);
	target_conn_wake(conn);
}

static void buffer_ready(struct target_buf_request *buf_request)
{
	struct target_cmd *cmd = container_of(buf_request, struct target_cmd, buf_request);

	if (target_conn_is_closing(cmd->conn))
		target_cmd_finish(cmd, 0);
	else
		next_piece(cmd);
}

void target_cmd_run(struct target_cmd *cmd)
{
	struct target_conn *conn = cmd->conn;
	uint32_t status;

	if (target_conn_is_closing(conn) ||
		(conn->state == TARGET_ENDING && !conn->target->proto->drain_queued)) {
		target_cmd_drop(cmd);
		return;
	}
	cmd->state = TARGET_CMD_WORK;
	status = conn->target->proto->decode(cmd);
	if (status) {
		target_cmd_finish(cmd, status);
		return;
	}
	if (!cmd->data_len) {
		execute(cmd);
		return;
	}
	cmd->buf_request.ready = buffer_ready;
	if (cmd->own)
		next_piece(cmd);
	else if (cmd->immediate && !(cmd->flags & TARGET_HALF) && !copied(cmd))
		next_piece(cmd);
	else if (target_buffers_take(&conn->quota[cmd->disk->store], &cmd->buf_request))
		next_piece(cmd);
	else
		cmd->state = TARGET_CMD_WAIT_BUFFER;
}

void target_cmd_pulled(struct target_cmd *cmd, uint32_t status)
{
	target_cmd_disarm_timeout(cmd);
	cmd->state = TARGET_CMD_WORK;
	if (status || target_conn_is_closing(cmd->conn))
		target_cmd_finish(cmd, status);
	else
		execute(cmd);
}

void target_cmd_worked(struct target_cmd *cmd, uint32_t status)
{
	struct target_conn *conn = cmd->conn;
	bool last;

	if (status || target_conn_is_closing(conn) || !cmd->data_len) {
		target_cmd_finish(cmd, status);
		return;
	}
	last = cmd->at + cmd->piece == cmd->data_len;
	if (cmd->flags & TARGET_OUT) {
		cmd->at += cmd->piece;
		if (last)
			target_cmd_finish(cmd, 0);
		else
			next_piece(cmd);
		return;
	}
	if (last)
		conn->target->proto->complete(cmd, 0);
	cmd->state = last ? TARGET_CMD_REPLY : TARGET_CMD_PUSH;
	target_cmd_arm_timeout(cmd);
	conn->carrier->push(cmd, cmd->piece, last);
	target_conn_wake(conn);
}

void target_cmd_pushed(struct target_cmd *cmd)
{
	target_cmd_disarm_timeout(cmd);
	cmd->state = TARGET_CMD_WORK;
	cmd->at += cmd->piece;
	if (target_conn_is_closing(cmd->conn))
		target_cmd_finish(cmd, 0);
	else
		next_piece(cmd);
}

void target_cmd_replied(struct target_cmd *cmd)
{
	target_cmd_disarm_timeout(cmd);
	target_cmd_drop(cmd);
}

bool target_cmd_release_buffer(struct target_cmd *cmd, uint32_t len)
{
	if (len && cmd->p == cmd->buf_request.buf.p) {
		cmd->own_data = malloc(len);
		if (!cmd->own_data)
			return false;
		memcpy(cmd->own_data, cmd->p, len);
		cmd->p = cmd->own_data;
		cmd->pool = NULL;
	}
	target_buffers_release(&cmd->buf_request);
	return true;
}

static void requeued(struct target_buf_request *buf_request)
{
	struct target_cmd *cmd = container_of(buf_request, struct target_cmd, buf_request);

	cmd->state = TARGET_CMD_WORK;
	if (target_conn_is_closing(cmd->conn))
		target_cmd_finish(cmd, 0);
	else
		cmd->then(cmd);
}

/* A fenced orphan must not wait for a buffer: its client's later requests wait for it and may hold
 * all buffers of the host. Others waited only for its request at the disk. */
void target_cmd_requeue(struct target_cmd *cmd, void (*then)(struct target_cmd *))
{
	struct target_conn_quota *conn_quota = &cmd->conn->quota[cmd->disk->store];

	if (cmd->fenced && cmd->orphan.bdev) {
		then(cmd);
		return;
	}
	bdev_orphan_end(&cmd->orphan);
	target_buffers_release(&cmd->buf_request);
	cmd->then = then;
	cmd->buf_request.ready = requeued;
	if (target_buffers_take(conn_quota, &cmd->buf_request))
		then(cmd);
	else
		cmd->state = TARGET_CMD_WAIT_BUFFER;
}

static void io_done(struct split *split)
{
	struct target_cmd *cmd = container_of(split, struct target_cmd, split);
	struct target_conn *conn = cmd->conn;
	const struct io *io = &split->io;

	if (io->status && io->status != -ECANCELED && !target_conn_is_closing(conn))
		target_count(&conn->worker->count.errors, 1);
	if (io->status)
		target_cmd_worked(cmd, conn->target->proto->status(io));
	else if (target_conn_is_closing(conn) || !cmd->then)
		target_cmd_worked(cmd, 0);
	else
		cmd->then(cmd);
}

void target_cmd_io(struct target_cmd *cmd, enum io_kind kind, uint8_t io_flags, uint64_t off,
	uint64_t len, struct buf buf, void (*then)(struct target_cmd *))
{
	struct split *split = &cmd->split;

	cmd->then = then;
	if (!cmd->orphan.bdev)
		cmd->orphan.client = target_conn_client(cmd->conn);
	split->lane = cmd->conn->worker->lane[cmd->disk->index];
	split->kind = (uint8_t)kind;
	split->flags = io_flags;
	split->off = off;
	split->len = len;
	split->buf = buf;
	split->done = io_done;
	split_start(split);
}

void target_cmd_read(struct target_cmd *cmd, uint64_t off)
{
	struct io_count *count = &cmd->conn->worker->count;

	if (!cmd->at)
		target_count(&count->reads, 1);
	target_count(&count->read_bytes, cmd->piece);
	target_cmd_io(cmd, IO_READ, 0, off + cmd->at, cmd->piece,
		(struct buf){ cmd->p, cmd->piece, cmd->pool }, NULL);
}

/* A disk without FUA needs only one flush, after the last piece. */
void target_cmd_write(struct target_cmd *cmd, uint64_t off, bool fua)
{
	struct io_count *count = &cmd->conn->worker->count;
	bool last = cmd->at + cmd->piece == cmd->data_len;

	if (!cmd->at)
		target_count(&count->writes, 1);
	target_count(&count->written_bytes, cmd->piece);
	fua &= last || cmd->disk->bdev->lim.fua;
	target_cmd_io(cmd, IO_WRITE, fua ? IO_FUA : 0, off + cmd->at, cmd->piece,
		(struct buf){ cmd->p, cmd->piece, cmd->pool }, NULL);
}
