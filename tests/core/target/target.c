/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A connection's last way between the loops. */
#include "target.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

struct conn {
	struct target_conn conn; /* first */
	struct loop_msg later;
};

static struct loop *loop;
static struct target target;
static volatile int evicted;
static struct addr peer = { .ss.ss_family = AF_UNIX, .len = sizeof(sa_family_t) };

static int refuse(struct target_conn *conn, struct diag *diag)
{
	(void)conn;
	return diag_set(diag, DIAG_CLOSED, ECONNABORTED, "refused");
}

static void newcomer(struct loop_msg *msg)
{
	(void)msg;
	evicted = target_room(&target, &peer);
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

static const struct target_carrier carrier = { .name = "test", .open = refuse };
static const struct target_proto proto = { .name = "test", .hello = "nothing", .left = left };

/* A newcomer finds no place while the oldest connection, which has no handshake, is nearly gone. */
Test(target, evicted_when_nearly_gone)
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
	cr_assert(target_room(&target, &peer));
	target_conn_begin(&target, &c->conn, &carrier, &peer);
	cr_assert(loop_wait(loop, &evicted, loop_clock() + 1000000000));
	cr_assert(loop_wait(loop, &target.idle, loop_clock() + 1000000000));
	cr_assert_eq(target_refused(&target), 0);
	cr_assert_eq(target_stop(&target, 1000, &why), 0, "%s", why.text);
	loop_free(loop);
}
