/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A connection's life on its worker's loop: from the carrier's open() until nothing of it is left
 * here. The peer's part of each command has a time limit. */
#include "frame.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MSEC 1000000ull

int target_conn_room(struct target_conn *conn, unsigned slots, struct diag *diag)
{
	uint32_t io_size = (conn->target->io_size + 7) & ~7u;

	conn->cmds = calloc(slots, conn->carrier->cmd_size);
	conn->lower = calloc(slots, io_size ? io_size : 8);
	conn->holder = calloc(conn->target->stores, sizeof(*conn->holder));
	if (conn->target->proto->apart)
		conn->share = calloc(conn->target->stores, sizeof(*conn->share));
	if (!conn->cmds || !conn->lower || !conn->holder ||
		(conn->target->proto->apart && !conn->share)) {
		free(conn->cmds);
		free(conn->lower);
		free(conn->holder);
		free(conn->share);
		conn->cmds = conn->lower = NULL;
		conn->holder = NULL;
		conn->share = NULL;
		return diag_sys(diag, ENOMEM, "a connection of %u commands", slots);
	}
	conn->slots = slots;
	conn->most = TARGET_EARLY_COMMANDS;
	for (unsigned i = slots; i--;) {
		struct target_cmd *cmd = target_cmd_at(conn, i);

		cmd->conn = conn;
		cmd->split.io.lower = conn->lower + (size_t)i * io_size;
		cmd->split.io.own = &cmd->orphan;
		cmd->next = conn->free;
		conn->free = cmd;
	}
	return 0;
}

/* If the disk could reach the whole pool, the connection's own memory is not mapped, and immediate
 * data is copied. */
int target_conn_map(struct target_conn *conn, unsigned i, struct diag *diag)
{
	const struct target *target = conn->target;
	const struct target_disk *disk = &target->disk[i];
	struct target_worker *worker = conn->worker;
	struct target_holder *holder = &conn->holder[disk->store];
	size_t first = (size_t)(worker - target->worker) * target->stores;
	struct target_share *share = &conn->place.host->share[first + disk->store];
	int err = 0;

	if (!holder->store) {
		if (conn->share) {
			conn->share[disk->store].up = share->up;
			share = &conn->share[disk->store];
		}
		target_buffers_join(&worker->store[disk->store], holder, share);
		holder->conn = conn;
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

/* What a command has in work at the disk, if it changes blocks. ends: no further request of it
 * follows. */
static void make_orphan(struct target_cmd *cmd, enum bdev_order order, bool ends)
{
	const struct io *io = &cmd->split.io;

	if (cmd->state == TARGET_CMD_WORK && cmd->changes_len && cmd->split.lane)
		bdev_orphan(cmd->disk->bdev, &cmd->orphan, order, io,
			ends ? io->off : cmd->changes_off, ends ? io->len : cmd->changes_len);
}

void target_cmd_cut(struct target_cmd *cmd)
{
	if (cmd->state != TARGET_CMD_WORK || !cmd->split.lane)
		return;
	split_stop(&cmd->split);
	make_orphan(cmd, BDEV_ALL, true);
	bdev_cancel_gated(cmd->split.lane, &cmd->split.io);
}

/* The peer has left or soon will: make orphans of requests at the disk, and submit no more. */
static void cut_short(struct target_conn *conn)
{
	for (unsigned i = 0; i < conn->slots; i++) {
		struct target_cmd *cmd = target_cmd_at(conn, i);

		split_stop(&cmd->split);
		make_orphan(cmd, BDEV_CLIENT, true);
		if (cmd->state == TARGET_CMD_WORK && cmd->split.lane)
			bdev_cancel_gated(cmd->split.lane, &cmd->split.io);
	}
}

/* now: without waiting for the peer, as others need the buffers it holds */
static void end_conn(
	struct target_conn *conn, bool now, enum diag_code code, int err, const char *text)
{
	const struct target_proto *proto = conn->target->proto;
	const struct target_carrier *carrier = conn->carrier;

	if (target_conn_gone(conn))
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

/* Each command has its own limit, whatever else the peer does: otherwise one byte now and then
 * could hold buffers forever. As all limits are the same, the list is sorted; the timer is moved
 * only when it fires. */
void target_cmd_due(struct target_cmd *cmd)
{
	struct target_conn *conn = cmd->conn;

	target_buffers_peer(&cmd->claim);
	cmd->due_ns = loop_now(conn->loop);
	cmd->due_next = NULL;
	cmd->due_link = conn->due_end;
	*conn->due_end = cmd;
	conn->due_end = &cmd->due_next;
	if (!conn->watch.on)
		loop_timer_set(conn->loop, &conn->watch, cmd->due_ns + stall_limit(conn));
}

void target_cmd_undue(struct target_cmd *cmd)
{
	struct target_conn *conn = cmd->conn;

	target_buffers_peer_done(&cmd->claim);
	*cmd->due_link = cmd->due_next;
	*(cmd->due_next ? &cmd->due_next->due_link : &conn->due_end) = cmd->due_link;
	cmd->waited_ns += loop_now(conn->loop) - cmd->due_ns;
	if (cmd->waited_ns > stall_limit(conn))
		stalled(conn);
}

static void watch_fired(struct loop_timer *timer)
{
	struct target_conn *conn = container_of(timer, struct target_conn, watch);
	const struct target_cmd *first = conn->due;
	char text[96];

	if (conn->state < TARGET_LIVE) {
		snprintf(text, sizeof(text), "timed out waiting for the %s",
			conn->target->proto->hello);
		target_conn_fail(conn, DIAG_TIMEOUT, ETIMEDOUT, text);
	} else if (first && loop_now(conn->loop) < first->due_ns + stall_limit(conn)) {
		loop_timer_set(conn->loop, timer, first->due_ns + stall_limit(conn));
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
	if (conn->due)
		loop_timer_set(conn->loop, &conn->watch, conn->due->due_ns + stall_limit(conn));
}

/* Whether a command is being executed whose reply the peer expects. */
static bool working(const struct target_conn *conn)
{
	for (unsigned i = 0; i < conn->slots; i++) {
		uint8_t state = target_cmd_at(conn, i)->state;

		if (state != TARGET_CMD_FREE && state != TARGET_CMD_FETCH &&
			state != TARGET_CMD_KEPT)
			return true;
	}
	return false;
}

/* No command is in flight here: free what belongs to this loop; the target frees the rest. */
static void bury(struct target_conn *conn)
{
	for (unsigned i = 0; i < TARGET_DISKS; i++) {
		if (conn->mapped & 1u << i)
			lane_unmap(conn->worker->lane[i], conn->pool);
	}
	loop_timer_del(conn->loop, &conn->watch);
	if (conn->opened)
		conn->carrier->free(conn);
	for (unsigned i = 0; conn->holder && i < conn->target->stores; i++)
		target_buffers_leave(&conn->holder[i]);
	free(conn->holder);
	free(conn->share);
	free(conn->cmds);
	free(conn->lower);
	*conn->link = conn->next;
	if (conn->next)
		conn->next->link = conn->link;
	conn->over = true;
	loop_trace(
		conn->loop, "%s: over%s%s", conn->name, conn->why.err ? ": " : "", conn->why.text);
	conn->hop.run = target_conn_over;
	loop_post(conn->target->loop, &conn->hop);
}

static void turn(struct loop_work *work)
{
	struct target_conn *conn = container_of(work, struct target_conn, turn);
	const struct target_proto *proto = conn->target->proto;

	if (conn->over)
		return;
	if (conn->state == TARGET_DOWN) {
		if (!conn->used && !(proto->busy && proto->busy(conn)))
			bury(conn);
		return;
	}
	if (conn->carrier->resume && !target_conn_gone(conn))
		conn->carrier->resume(conn);
	if (conn->state == TARGET_ENDING && !working(conn))
		target_conn_fail(conn, DIAG_CLOSED, ECONNABORTED,
			target_stopping(conn->target) ? "the target is stopping"
						      : "the host disconnected");
	if (conn->carrier->flush && !target_conn_gone(conn))
		conn->carrier->flush(conn);
}

/* Get back the requests that the disk merely holds. */
static void cancel_all(struct target_conn *conn)
{
	for (unsigned i = 0; i < conn->slots; i++) {
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
	for (unsigned i = 0; i < conn->slots; i++) {
		struct target_cmd *cmd = target_cmd_at(conn, i);

		if (cmd->state != TARGET_CMD_FREE && cmd->state != TARGET_CMD_WORK)
			target_cmd_drop(cmd);
	}
	conn->due = NULL;
	conn->due_end = &conn->due;
	target_conn_wake(conn);
}

void target_conn_fence(struct target_conn *conn)
{
	const struct target_carrier *carrier = conn->carrier;

	if (conn->opened && !target_conn_gone(conn) && carrier->hung_up && carrier->hung_up(conn))
		target_conn_fail(conn, DIAG_CLOSED, ECONNABORTED, "the host disconnected");
	for (unsigned i = 0; i < conn->slots; i++) {
		struct target_cmd *cmd = target_cmd_at(conn, i);
		bool work = cmd->state == TARGET_CMD_WORK || cmd->state == TARGET_CMD_LINE;

		cmd->fenced |= work;
		make_orphan(cmd, BDEV_CLIENT, target_conn_gone(conn));
	}
}

void target_conn_hurry(struct target_conn *conn)
{
	for (unsigned i = 0; i < conn->slots; i++)
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
	conn->due_end = &conn->due;
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

	if (!conn->over)
		target_conn_finish(conn);
}

void target_conn_killed(struct loop_msg *msg)
{
	struct target_conn *conn = container_of(msg, struct target_conn, kill_hop);

	if (!conn->over)
		end_conn(conn, conn->kill_now, DIAG_CLOSED, ECONNABORTED,
			target_stopping(conn->target) ? "the target is stopping" : conn->kill_why);
}

void target_conn_quit(struct target_conn *conn)
{
	end_conn(conn, true, DIAG_CLOSED, ECONNABORTED, "the target is stopping");
	if (conn->state == TARGET_DOWN)
		cancel_all(conn);
}
