/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How a connection that others need the place of goes, on the only loop there is. */
/* Link: leap */
#include "target.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#define MSEC  1000000ull
#define SLOTS 100

struct conn {
	struct target_conn conn; /* first */
	struct loop_msg later, down;
};

static struct loop *loop;
static struct target target;
static volatile int evicted, fenced;
static struct addr peer = { .ss.ss_family = AF_UNIX, .len = sizeof(sa_family_t) };

static unsigned closes, resets;

static int refuse(struct target_conn *conn, struct diag *diag)
{
	(void)conn;
	return diag_set(diag, DIAG_CLOSED, ECONNABORTED, "refused");
}

static int admit(struct target_conn *conn, struct diag *diag)
{
	return target_conn_alloc_cmds(conn, 1, diag);
}

static void is_down(struct loop_msg *msg)
{
	target_conn_down(&container_of(msg, struct conn, down)->conn);
}

static void go_down(struct target_conn *conn)
{
	struct conn *c = (struct conn *)conn;

	c->down.run = is_down;
	loop_post(loop, &c->down);
}

static void close_conn(struct target_conn *conn)
{
	closes++;
	go_down(conn);
}

static void reset_conn(struct target_conn *conn)
{
	resets++;
	go_down(conn);
}

static void free_nothing(struct target_conn *conn)
{
	(void)conn;
}

static void newcomer(struct loop_msg *msg)
{
	(void)msg;
	evicted = target_make_room(&target, &peer);
}

static void behind(struct loop_msg *msg)
{
	msg->run = newcomer;
	loop_post(loop, msg);
}

/* On its only loop the target then takes one step with this message, one with the connection. */
static void left(struct target_conn *conn)
{
	struct conn *c = (struct conn *)conn;

	c->later.run = behind;
	loop_post(loop, &c->later);
}

static bool hung_up(struct target_conn *conn)
{
	(void)conn;
	return true;
}

static bool is_old(const struct target_fence *fence, const struct target_conn *conn)
{
	(void)fence;
	(void)conn;
	return true;
}

static void fence_back(struct target_fence *fence)
{
	(void)fence;
	fenced = true;
}

static const struct target_proto proto = {
	.name = "test", .handshake_name = "nothing", .closed = left
};

static void begin(const struct target_carrier *carrier)
{
	const struct loop_options loop_opt = { .name = "test" };
	const struct target_options opt = { .loops = &loop,
		.nloops = 1,
		.buffer = 4096,
		.buffers = 1,
		.connections = 1,
		.open_ms = 1000,
		.stall_ms = 1000 };
	struct conn *c = calloc(1, sizeof(*c));
	struct diag why;

	cr_assert(c);
	cr_assert_eq(loop_new(&loop, &loop_opt, NULL), 0);
	cr_assert_eq(target_start(&target, loop, &proto, &opt, 0, &why), 0, "%s", why.text);
	cr_assert(target_make_room(&target, &peer));
	target_conn_begin(&target, &c->conn, carrier, &peer);
}

static void end(void)
{
	struct target_status status;
	struct diag why;

	cr_assert(loop_wait(loop, &target.idle, loop_clock() + 1000 * MSEC));
	target_get_status(&target, &status);
	cr_assert_eq(status.refused, 0);
	cr_assert_eq(target_stop(&target, 1000, &why), 0, "%s", why.text);
	loop_free(loop);
}

/* A newcomer finds no place while the oldest connection, which has no handshake, is nearly gone. */
Test(target, evicted_when_nearly_gone)
{
	static const struct target_carrier carrier = { .name = "test", .open = refuse };

	begin(&carrier);
	cr_assert(loop_wait(loop, &evicted, loop_clock() + 1000 * MSEC));
	end();
}

/* It does not wait for its peer: few may be on their way out at a time. */
Test(target, evicted_without_a_farewell)
{
	static const struct target_carrier carrier = { .name = "test",
		.cmd_size = sizeof(struct target_cmd),
		.open = admit,
		.close = close_conn,
		.reset = reset_conn,
		.free = free_nothing };

	begin(&carrier);
	cr_assert(target_make_room(&target, &peer));
	end();
	cr_assert_eq(resets, 1);
	cr_assert_eq(closes, 0);
}

static int use_some(struct target_conn *conn, struct diag *diag)
{
	struct target_cmd *cmd[TARGET_EARLY_COMMANDS];
	int err = target_conn_alloc_cmds(conn, SLOTS, diag);

	cr_assert_eq(err, 0);
	cr_assert_eq(conn->prepared, 0);
	for (unsigned i = 0; i < TARGET_EARLY_COMMANDS; i++) {
		cmd[i] = target_cmd_alloc(conn);
		cr_assert_eq(cmd[i], target_cmd_at(conn, i));
		cr_assert_eq(cmd[i]->conn, conn);
		cr_assert_eq((uint8_t *)cmd[i]->split.io.lower, conn->lower + (size_t)i * 8);
		cr_assert_eq(conn->prepared, i + 1);
	}
	cr_assert_null(target_cmd_alloc(conn), "the limit before the handshake");
	target_cmd_drop(cmd[2]);
	cr_assert_eq(target_cmd_alloc(conn), cmd[2]);
	for (unsigned i = 0; i < TARGET_EARLY_COMMANDS; i++)
		target_cmd_drop(cmd[i]);
	return 0;
}

static void close_unused(struct target_conn *conn)
{
	cr_assert_eq(conn->prepared, TARGET_EARLY_COMMANDS);
	close_conn(conn);
}

/* So an idle connection takes little memory, whatever depth it has agreed on. */
Test(target, prepares_commands_at_their_first_use)
{
	static const struct target_carrier carrier = { .name = "test",
		.cmd_size = sizeof(struct target_cmd),
		.open = use_some,
		.hung_up = hung_up,
		.close = close_unused,
		.free = free_nothing };
	struct target_fence fence = { .match = is_old, .done = fence_back };

	begin(&carrier);
	fence.home = loop;
	target_fence(&target, &fence);
	cr_assert(loop_wait(loop, &fenced, loop_clock() + 1000 * MSEC));
	cr_assert_eq(closes, 1);
	end();
}

/* What its peer sent before it left is not carried out behind what the host does next. */
Test(target, fence_ends_who_hung_up)
{
	static const struct target_carrier carrier = { .name = "test",
		.cmd_size = sizeof(struct target_cmd),
		.open = admit,
		.hung_up = hung_up,
		.close = close_conn,
		.free = free_nothing };
	struct target_fence fence = { .match = is_old, .done = fence_back };

	begin(&carrier);
	fence.home = loop;
	target_fence(&target, &fence);
	cr_assert(loop_wait(loop, &fenced, loop_clock() + 1000 * MSEC));
	cr_assert_eq(closes, 1);
	end();
}

/* A command of another target has sent it, and that target does not know that this one stops. */
Test(target, stops_behind_a_fence)
{
	static const struct target_carrier carrier = { .name = "test", .open = refuse };
	struct target_fence fence = { .match = is_old, .done = fence_back };
	struct diag why;

	begin(&carrier);
	cr_assert(loop_wait(loop, &evicted, loop_clock() + 1000 * MSEC));
	cr_assert(loop_wait(loop, &target.idle, loop_clock() + 1000 * MSEC));
	fence.home = loop;
	target_fence(&target, &fence);
	cr_assert_eq(target_stop(&target, 1000, &why), 0, "%s", why.text);
	cr_assert_eq(fence.worker, 1);
	cr_assert(loop_wait(loop, &fenced, loop_clock() + 1000 * MSEC));
	loop_free(loop);
}
