/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Execute a command in pieces of one data buffer: fetch, line, pull, work, push, reply. Also
 * submits its requests to the disk. */
#include "frame.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct target_cmd *target_cmd_take(struct target_conn *conn)
{
	struct target_cmd *cmd = target_conn_may_take(conn) ? conn->free : NULL;

	if (!cmd)
		return NULL;
	conn->free = cmd->next;
	conn->used++;
	cmd->state = TARGET_CMD_FETCH;
	cmd->flags = 0;
	cmd->inside = cmd->fenced = false;
	cmd->data_len = cmd->at = cmd->piece = cmd->own = 0;
	cmd->waited_ns = 0;
	cmd->disk = NULL;
	cmd->changes_len = 0;
	cmd->split.lane = NULL;
	return cmd;
}

/* Release what other commands wait for: its orphan at the disk, and its buffer. */
static void let_go(struct target_cmd *cmd)
{
	bdev_orphan_end(&cmd->orphan);
	target_buffers_give(&cmd->claim);
	if (__builtin_expect(cmd->kept != NULL, 0)) {
		free(cmd->kept);
		cmd->kept = NULL;
	}
}

void target_cmd_drop(struct target_cmd *cmd)
{
	struct target_conn *conn = cmd->conn;

	let_go(cmd);
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

	if (target_conn_gone(conn)) {
		target_cmd_drop(cmd);
		return;
	}
	let_go(cmd);
	conn->target->proto->complete(cmd, status);
	cmd->state = TARGET_CMD_REPLY;
	target_cmd_due(cmd);
	conn->carrier->reply(cmd);
	target_conn_wake(conn);
}

static void work_on(struct target_cmd *cmd)
{
	cmd->state = TARGET_CMD_WORK;
	cmd->conn->target->proto->work(cmd);
}

/* Whether to copy immediate data, which may be in memory that the disk must not reach. What a
 * command with TARGET_HALF does not write is only compared. */
static bool copied(const struct target_cmd *cmd)
{
	return cmd->disk && cmd->disk->exposed && (!(cmd->flags & TARGET_HALF) || cmd->changes_len);
}

static void next_piece(struct target_cmd *cmd)
{
	struct target_conn *conn = cmd->conn;
	uint32_t cap = cmd->own, left = cmd->data_len - cmd->at;

	if (cmd->inside) {
		cmd->piece = cmd->data_len;
		if (copied(cmd)) {
			memcpy(cmd->claim.buf.p, cmd->p, cmd->piece);
			cmd->p = cmd->claim.buf.p;
			cmd->pool = cmd->claim.buf.pool;
		}
		work_on(cmd);
		return;
	}
	if (!cap) {
		cap = cmd->flags & TARGET_HALF ? cmd->claim.buf.cap / 2 : cmd->claim.buf.cap;
		cmd->p = cmd->claim.buf.p;
		cmd->pool = cmd->claim.buf.pool;
	}
	cmd->piece = left < cap ? left : cap;
	if (!(cmd->flags & TARGET_OUT)) {
		work_on(cmd);
		return;
	}
	bdev_orphan_end(&cmd->orphan); /* others must wait only for the disk, not for this peer */
	cmd->state = TARGET_CMD_PULL;
	target_cmd_due(cmd);
	conn->carrier->pull(cmd, cmd->piece);
	target_conn_wake(conn);
}

/* Of a connection that has gone nothing more is submitted. */
static void buffer_ready(struct target_claim *claim)
{
	struct target_cmd *cmd = container_of(claim, struct target_cmd, claim);

	if (target_conn_gone(cmd->conn))
		target_cmd_finish(cmd, 0);
	else
		next_piece(cmd);
}

void target_cmd_run(struct target_cmd *cmd)
{
	struct target_conn *conn = cmd->conn;
	uint32_t status;

	if (target_conn_gone(conn) ||
		(conn->state == TARGET_ENDING && !conn->target->proto->answers)) {
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
		work_on(cmd);
		return;
	}
	cmd->claim.ready = buffer_ready;
	if (cmd->own)
		next_piece(cmd);
	else if (cmd->inside && !(cmd->flags & TARGET_HALF) && !copied(cmd))
		next_piece(cmd);
	else if (target_buffers_take(&conn->holder[cmd->disk->store], &cmd->claim))
		next_piece(cmd);
	else
		cmd->state = TARGET_CMD_LINE;
}

void target_cmd_pulled(struct target_cmd *cmd, uint32_t status)
{
	target_cmd_undue(cmd);
	cmd->state = TARGET_CMD_WORK;
	if (status || target_conn_gone(cmd->conn))
		target_cmd_finish(cmd, status);
	else
		work_on(cmd);
}

void target_cmd_worked(struct target_cmd *cmd, uint32_t status)
{
	struct target_conn *conn = cmd->conn;
	bool last;

	if (status || target_conn_gone(conn) || !cmd->data_len) {
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
	target_cmd_due(cmd);
	conn->carrier->push(cmd, cmd->piece, last);
	target_conn_wake(conn);
}

void target_cmd_pushed(struct target_cmd *cmd)
{
	target_cmd_undue(cmd);
	cmd->state = TARGET_CMD_WORK;
	cmd->at += cmd->piece;
	if (target_conn_gone(cmd->conn))
		target_cmd_finish(cmd, 0);
	else
		next_piece(cmd);
}

void target_cmd_over(struct target_cmd *cmd)
{
	target_cmd_undue(cmd);
	target_cmd_drop(cmd);
}

bool target_cmd_keep(struct target_cmd *cmd, uint32_t len)
{
	if (len && cmd->p == cmd->claim.buf.p) {
		cmd->kept = malloc(len);
		if (!cmd->kept)
			return false;
		memcpy(cmd->kept, cmd->p, len);
		cmd->p = cmd->kept;
		cmd->pool = NULL;
	}
	target_buffers_give(&cmd->claim);
	return true;
}

static void requeued(struct target_claim *claim)
{
	struct target_cmd *cmd = container_of(claim, struct target_cmd, claim);

	cmd->state = TARGET_CMD_WORK;
	if (target_conn_gone(cmd->conn))
		target_cmd_finish(cmd, 0);
	else
		cmd->then(cmd);
}

/* While its client's later requests, which may hold all buffers of the host, wait for the command,
 * it must not wait for one. Others waited only for what the disk had. */
void target_cmd_requeue(struct target_cmd *cmd, void (*then)(struct target_cmd *))
{
	struct target_holder *holder = &cmd->conn->holder[cmd->disk->store];

	if (cmd->fenced && cmd->orphan.bdev) {
		then(cmd);
		return;
	}
	bdev_orphan_end(&cmd->orphan);
	target_buffers_give(&cmd->claim);
	cmd->then = then;
	cmd->claim.ready = requeued;
	if (target_buffers_take(holder, &cmd->claim))
		then(cmd);
	else
		cmd->state = TARGET_CMD_LINE;
}

/* Of the commands at a disk only reads are cancelled: a write whose path was lost may still be
 * executed there. */
bool target_cmd_abort(struct target_cmd *cmd, uint32_t status)
{
	struct split *split = &cmd->split;

	if (target_conn_gone(cmd->conn))
		return false;
	if (cmd->state == TARGET_CMD_WORK)
		return split->lane && split->kind == IO_READ &&
		       bdev_cancel(split->lane, &split->io);
	if (cmd->state != TARGET_CMD_LINE)
		return false;
	target_cmd_finish(cmd, status);
	return true;
}

static void io_done(struct split *split)
{
	struct target_cmd *cmd = container_of(split, struct target_cmd, split);
	struct target_conn *conn = cmd->conn;
	const struct io *io = &split->io;

	if (io->status && io->status != -ECANCELED && !target_conn_gone(conn))
		target_count(&conn->worker->count.errors, 1);
	if (io->status)
		target_cmd_worked(cmd, conn->target->proto->status(io));
	else if (target_conn_gone(conn) || !cmd->then)
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
