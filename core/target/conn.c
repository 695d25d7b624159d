/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A connection on its worker's loop, from carrier->open() until it is released. Each command has a
 * timeout while it waits for its peer. */
#include "frame.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int target_conn_alloc_cmds(struct target_conn *conn, unsigned slots, struct diag *diag)
{
	size_t io_size = target_conn_io_size(conn);

	conn->cmds = calloc(slots, conn->carrier->cmd_size);
	conn->lower = calloc(slots, io_size);
	conn->quota = calloc(conn->target->stores, sizeof(*conn->quota));
	if (conn->target->proto->quota_per_conn)
		conn->host_quota = calloc(conn->target->stores, sizeof(*conn->host_quota));
	if (!conn->cmds || !conn->lower || !conn->quota ||
		(conn->target->proto->quota_per_conn && !conn->host_quota)) {
		free(conn->cmds);
		free(conn->lower);
		free(conn->quota);
		free(conn->host_quota);
		conn->cmds = conn->lower = NULL;
		conn->quota = NULL;
		conn->host_quota = NULL;
		return diag_sys(diag, ENOMEM, "a connection of %u commands", slots);
	}
	conn->slots = slots;
	conn->most = slots < TARGET_EARLY_COMMANDS ? slots : TARGET_EARLY_COMMANDS;
	return 0;
}

/* The connection's own pool is not mapped for an exposed disk, as its target could read all of it:
 * immediate data is copied. */
int target_conn_map(struct target_conn *conn, unsigned i, struct diag *diag)
{
	const struct target *target = conn->target;
	const struct target_disk *disk = &target->disk[i];
	struct target_worker *worker = conn->worker;
	struct target_conn_quota *conn_quota = &conn->quota[disk->store];
	size_t first = (size_t)(worker - target->worker) * target->stores;
	struct target_quota *quota = &conn->admission.host->quota[first + disk->store];
	int err = 0;

	if (!conn_quota->store) {
		if (conn->host_quota) {
			conn->host_quota[disk->store].up = quota->up;
			quota = &conn->host_quota[disk->store];
		}
		target_buffers_join(&worker->store[disk->store], conn_quota, quota);
		conn_quota->conn = conn;
	}
	if (conn->pool && !disk->exposed)
		err = lane_map(worker->lane[i], conn->pool, diag);
	if (conn->pool && !disk->exposed && !err)
		conn->mapped |= 1u << i;
	return err;
}

struct pool *target_conn_pool(const struct target_conn *conn, unsigned index)
{
	return index < conn->target->stores ? conn->worker->store[index].pool : NULL;
}

void target_conn_wake(struct target_conn *conn)
{
	loop_work_add(conn->loop, &conn->turn);
}

void target_conn_finish(struct target_conn *conn)
{
	if (conn->state >= TARGET_ENDING)
		return;
	conn->state = TARGET_ENDING;
	target_conn_wake(conn);
}

/* Make an orphan of the command's request at the disk if it may change blocks. */
static void make_orphan(struct target_cmd *cmd, enum bdev_order order, uint64_t off, uint64_t len)
{
	if (cmd->state == TARGET_CMD_WORK && cmd->changes_len && cmd->split.lane)
		bdev_orphan(cmd->disk->bdev, &cmd->orphan, order, &cmd->split.io, off, len);
}

/* The command submits no more. Cancel its request if that is gated; else make it an orphan. */
static void abandon(struct target_cmd *cmd, enum bdev_order order)
{
	const struct io *io = &cmd->split.io;

	if (cmd->state != TARGET_CMD_WORK || !cmd->split.lane)
		return;
	split_stop(&cmd->split);
	if (bdev_cancel_gated(cmd->split.lane, &cmd->split.io))
		bdev_orphan_end(&cmd->orphan);
	else
		make_orphan(cmd, order, io->off, io->len);
}

/* At a disk, cancel only reads: a write whose path was lost may still be executed. */
bool target_cmd_abort(struct target_cmd *cmd, uint32_t status)
{
	struct split *split = &cmd->split;

	if (target_conn_is_closing(cmd->conn))
		return false;
	if (cmd->state == TARGET_CMD_WAIT_BUFFER) {
		target_cmd_finish(cmd, status);
		return true;
	}
	if (cmd->state == TARGET_CMD_WORK && split->lane && split->kind == IO_READ)
		return bdev_cancel(split->lane, &split->io);
	make_orphan(cmd, BDEV_CLIENT, cmd->changes_off, cmd->changes_len);
	return false;
}

void target_cmd_stop(struct target_cmd *cmd)
{
	abandon(cmd, BDEV_ALL);
}

/* The connection ends. */
static void cut_short(struct target_conn *conn)
{
	for (unsigned i = 0; i < conn->prepared; i++)
		abandon(target_cmd_at(conn, i), BDEV_CLIENT);
}

/* now: without waiting for the peer */
static void end_conn(
	struct target_conn *conn, bool now, enum diag_code code, int err, const char *text)
{
	const struct target_proto *proto = conn->target->proto;
	const struct target_carrier *carrier = conn->carrier;

	if (target_conn_is_closing(conn))
		return;
	diag_set(&conn->why, code, err, "%s", text);
	conn->state = TARGET_CLOSING;
	cut_short(conn);
	if (proto->closing)
		proto->closing(conn);
	(now && carrier->reset ? carrier->reset : carrier->close)(conn);
}

void target_conn_fail(struct target_conn *conn, enum diag_code code, int err, const char *text)
{
	end_conn(conn, false, code, err, text);
}

void target_conn_evict(struct target_conn *conn)
{
	end_conn(
		conn, true, DIAG_TIMEOUT, ETIMEDOUT, "held data buffers while another host waited");
}

static uint64_t stall_limit(const struct target_conn *conn)
{
	return conn->target->opt.stall_ms * MSEC;
}

static void stalled(struct target_conn *conn)
{
	target_conn_fail(conn, DIAG_TIMEOUT, ETIMEDOUT,
		"timed out waiting for the host's part of a transfer");
}

/* Each command has its own timeout; otherwise a peer could hold buffers forever by sending a byte
 * now and then. The list is sorted, as all timeouts are the same. The timer is set again only when
 * it fires. */
void target_cmd_arm_timeout(struct target_cmd *cmd)
{
	struct target_conn *conn = cmd->conn;

	target_buffers_begin_peer_wait(&cmd->buf_request);
	cmd->armed_ns = loop_now(conn->loop);
	cmd->armed_next = NULL;
	cmd->armed_link = conn->armed_end;
	*conn->armed_end = cmd;
	conn->armed_end = &cmd->armed_next;
	if (!conn->watch.on)
		loop_timer_set(conn->loop, &conn->watch, cmd->armed_ns + stall_limit(conn));
}

void target_cmd_disarm_timeout(struct target_cmd *cmd)
{
	struct target_conn *conn = cmd->conn;

	target_buffers_end_peer_wait(&cmd->buf_request);
	*cmd->armed_link = cmd->armed_next;
	*(cmd->armed_next ? &cmd->armed_next->armed_link : &conn->armed_end) = cmd->armed_link;
	cmd->waited_ns += loop_now(conn->loop) - cmd->armed_ns;
	if (cmd->waited_ns > stall_limit(conn))
		stalled(conn);
}

static void watch_fired(struct loop_timer *timer)
{
	struct target_conn *conn = container_of(timer, struct target_conn, watch);
	const struct target_cmd *first = conn->armed;
	char text[96];

	if (conn->state < TARGET_LIVE) {
		snprintf(text, sizeof(text), "timed out waiting for the %s",
			conn->target->proto->handshake_name);
		target_conn_fail(conn, DIAG_TIMEOUT, ETIMEDOUT, text);
	} else if (first && loop_now(conn->loop) < first->armed_ns + stall_limit(conn)) {
		loop_timer_set(conn->loop, timer, first->armed_ns + stall_limit(conn));
	} else if (first) {
		stalled(conn);
	}
}

/* Commands that arrived earlier have no timer yet. */
void target_conn_live(struct target_conn *conn, unsigned most)
{
	conn->state = TARGET_LIVE;
	conn->most = most < conn->slots ? most : conn->slots;
	loop_timer_del(conn->loop, &conn->watch);
	if (conn->armed)
		loop_timer_set(conn->loop, &conn->watch, conn->armed->armed_ns + stall_limit(conn));
}

/* Return whether the peer expects the reply to a command that is being executed. */
static bool working(const struct target_conn *conn)
{
	for (unsigned i = 0; i < conn->prepared; i++) {
		uint8_t state = target_cmd_at(conn, i)->state;

		if (state != TARGET_CMD_FREE && state != TARGET_CMD_RECEIVING &&
			state != TARGET_CMD_PARKED)
			return true;
	}
	return false;
}

/* No command is left: free what belongs to this loop; the target frees the rest. */
static void release_conn(struct target_conn *conn)
{
	for (unsigned i = 0; i < TARGET_DISKS; i++) {
		if (conn->mapped & 1u << i)
			lane_unmap(conn->worker->lane[i], conn->pool);
	}
	loop_timer_del(conn->loop, &conn->watch);
	if (conn->opened)
		conn->carrier->free(conn);
	for (unsigned i = 0; conn->quota && i < conn->target->stores; i++)
		target_buffers_leave(&conn->quota[i]);
	free(conn->quota);
	free(conn->host_quota);
	free(conn->cmds);
	free(conn->lower);
	*conn->link = conn->next;
	if (conn->next)
		conn->next->link = conn->link;
	conn->released = true;
	loop_trace(
		conn->loop, "%s: over%s%s", conn->name, conn->why.err ? ": " : "", conn->why.text);
	conn->hop.run = target_conn_begin_free;
	loop_post(conn->target->loop, &conn->hop);
}

static void turn(struct loop_work *work)
{
	struct target_conn *conn = container_of(work, struct target_conn, turn);
	const struct target_proto *proto = conn->target->proto;

	if (conn->released)
		return;
	if (conn->state == TARGET_DOWN) {
		if (!conn->used && !(proto->busy && proto->busy(conn)))
			release_conn(conn);
		return;
	}
	if (conn->carrier->resume && !target_conn_is_closing(conn))
		conn->carrier->resume(conn);
	if (conn->state == TARGET_ENDING && !working(conn))
		target_conn_fail(conn, DIAG_CLOSED, ECONNABORTED,
			target_stopping(conn->target) ? "the target is stopping"
						      : "the host disconnected");
	if (conn->carrier->flush && !target_conn_is_closing(conn))
		conn->carrier->flush(conn);
}

/* Cancel requests that the disk only holds. */
static void cancel_all(struct target_conn *conn)
{
	for (unsigned i = 0; i < conn->prepared; i++) {
		struct target_cmd *cmd = target_cmd_at(conn, i);

		if (cmd->state == TARGET_CMD_WORK && cmd->split.lane)
			bdev_cancel(cmd->split.lane, &cmd->split.io);
	}
}

void target_conn_down(struct target_conn *conn)
{
	const struct target_proto *proto = conn->target->proto;

	conn->state = TARGET_DOWN;
	cut_short(conn);
	if (proto->down)
		proto->down(conn);
	cancel_all(conn);
	for (unsigned i = 0; i < conn->prepared; i++) {
		struct target_cmd *cmd = target_cmd_at(conn, i);

		if (cmd->state != TARGET_CMD_FREE && cmd->state != TARGET_CMD_WORK)
			target_cmd_drop(cmd);
	}
	conn->armed = NULL;
	conn->armed_end = &conn->armed;
	target_conn_wake(conn);
}

void target_conn_fence(struct target_conn *conn)
{
	const struct target_carrier *carrier = conn->carrier;

	if (conn->opened && !target_conn_is_closing(conn) && carrier->hung_up &&
		carrier->hung_up(conn))
		target_conn_fail(conn, DIAG_CLOSED, ECONNABORTED, "the host disconnected");
	for (unsigned i = 0; i < conn->prepared; i++) {
		struct target_cmd *cmd = target_cmd_at(conn, i);
		bool work = cmd->state == TARGET_CMD_WORK || cmd->state == TARGET_CMD_WAIT_BUFFER;

		cmd->fenced |= work;
		if (target_conn_is_closing(conn))
			abandon(cmd, BDEV_CLIENT);
		else
			make_orphan(cmd, BDEV_CLIENT, cmd->changes_off, cmd->changes_len);
	}
}

void target_conn_abort_replies(struct target_conn *conn)
{
	for (unsigned i = 0; i < conn->prepared; i++)
		if (target_cmd_at(conn, i)->state == TARGET_CMD_WORK)
			return;
	target_conn_fail(conn, DIAG_CLOSED, ECONNABORTED,
		"the target is stopping, and the host does not take its replies");
}

void target_conn_open(struct loop_msg *msg)
{
	struct target_conn *conn = container_of(msg, struct target_conn, hop);
	struct target_worker *worker = conn->worker;

	conn->link = &worker->conns;
	conn->next = worker->conns;
	if (conn->next)
		conn->next->link = &conn->next;
	worker->conns = conn;
	conn->turn.run = turn;
	conn->watch.fire = watch_fired;
	conn->armed_end = &conn->armed;
	conn->opened = !conn->carrier->open(conn, &conn->why);
	if (!conn->opened) {
		conn->state = TARGET_DOWN;
		target_conn_wake(conn);
		return;
	}
	if (conn->state == TARGET_OPENING)
		loop_timer_set(conn->loop, &conn->watch,
			loop_now(conn->loop) + conn->target->opt.open_ms * MSEC);
}

void target_conn_ended(struct loop_msg *msg)
{
	struct target_conn *conn = container_of(msg, struct target_conn, end_hop);

	if (!conn->released)
		target_conn_finish(conn);
}

void target_conn_killed(struct loop_msg *msg)
{
	struct target_conn *conn = container_of(msg, struct target_conn, kill_hop);

	if (!conn->released)
		end_conn(conn, conn->kill_now, DIAG_CLOSED, ECONNABORTED,
			target_stopping(conn->target) ? "the target is stopping" : conn->kill_why);
}

void target_conn_abort(struct target_conn *conn)
{
	end_conn(conn, true, DIAG_CLOSED, ECONNABORTED, "the target is stopping");
	if (conn->state == TARGET_DOWN)
		cancel_all(conn);
}
