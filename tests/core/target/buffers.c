/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sharing of data buffers: order, limits, and an honest host next to hosts that are not, on a clock
 * of the test's own. */
/* Link: leap */
#include "buffers.h"
#include "leap.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define EACH   4096
#define MS     1000000ull
#define MANY   128 /* commands of one connection */
#define PIECES 8   /* commands of one request */

static struct loop *loop;
static struct target_buffers store;

/* A connection, and how its peer behaves. */
struct conn {
	struct target_conn_quota conn_quota;
	struct buf_request {
		struct target_buf_request buf_request;
		struct conn *conn;
		uint64_t due,
			asked; /* the peer does its part then; when it was taken or waited for */
		bool used;
	} buf_request[MANY];
	unsigned depth;    /* commands in flight */
	uint64_t takes_ns; /* the peer's time for its part of one; UINT64_MAX: never */
	unsigned takes;    /* of so many commands, and then never; 0: always */
	unsigned quick;    /* of so many it takes 1 ms, and of the next that time; 0: of none */
	uint64_t rate;     /* bytes it moves in a millisecond */
	uint64_t moved, worst, served;
	uint64_t wait[PIECES], worst_request; /* of the last ones; their sum */
	uint64_t ended_ns;                    /* 0: it was not */
	bool first_only;                      /* it is waited for with one command at a time */
};

static uint64_t moved(struct target_conn_quota *conn_quota)
{
	return container_of(conn_quota, struct conn, conn_quota)->moved;
}

static void end_conn(struct target_conn_quota *conn_quota)
{
	struct conn *conn = container_of(conn_quota, struct conn, conn_quota);

	cr_assert(!conn->ended_ns);
	conn->ended_ns = loop_now(loop);
}

static void begin(unsigned count)
{
	static const struct loop_options options = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	store = (struct target_buffers){ .loop = loop, .moved = moved, .end = end_conn };
	cr_assert_eq(target_buffers_init(&store, EACH, (uint16_t)count, NULL), 0);
}

static void end(void)
{
	cr_assert_eq(store.free, store.pool->count);
	cr_assert_null(store.peer);
	target_buffers_fini(&store);
	loop_free(loop);
}

static void turns(void)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + 1);
}

static struct target_buf_request *order[4 * MANY];
static unsigned readies;

static void ready(struct target_buf_request *buf_request)
{
	cr_assert(buf_request->buf.p);
	cr_assert(!buf_request->waiting);
	order[readies++] = buf_request;
}

#define HOSTS 40
/* Each host has a network of its own, unless a test says otherwise. */
static struct target_quota quota[HOSTS], network[HOSTS];

static void host_in(struct target_quota *host, struct target_quota *net)
{
	host->up = net;
}

static void join(struct target_conn_quota *conn_quota, unsigned host)
{
	if (!quota[host].up)
		host_in(&quota[host], &network[host]);
	target_buffers_join(&store, conn_quota, &quota[host]);
}

static bool take(struct target_conn_quota *conn_quota, struct target_buf_request *buf_request)
{
	buf_request->ready = ready;
	return target_buffers_take(conn_quota, buf_request);
}

Test(target_buffers, a_connection_s_commands_are_served_in_order)
{
	struct target_conn_quota conn_quota;
	struct target_buf_request c[12] = { 0 };

	begin(4);
	join(&conn_quota, 0);
	for (unsigned i = 0; i < 12; i++)
		cr_assert_eq(take(&conn_quota, &c[i]), i < 3, "%u", i);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < i; k++)
			cr_assert_neq(c[i].buf.p, c[k].buf.p);
	turns();
	cr_assert_eq(readies, 0);
	target_buffers_release(&c[5]); /* leaves the line */
	target_buffers_release(&c[11]);
	for (unsigned i = 0; i < 12; i++) {
		target_buffers_release(&c[i]);
		cr_assert_null(c[i].buf.p);
		turns();
	}
	cr_assert_eq(readies, 12 - 3 - 2);
	for (unsigned i = 1; i < readies; i++)
		cr_assert_lt(order[i - 1], order[i]);
	target_buffers_leave(&conn_quota);
	end();
}

/* A newcomer goes behind those that wait, even if a buffer was given back in the same turn. */
Test(target_buffers, no_newcomer_jumps_the_line)
{
	struct target_conn_quota conn_quota[2];
	struct target_buf_request c[4] = { 0 }, last = { 0 };

	begin(4);
	for (unsigned i = 0; i < 2; i++)
		join(&conn_quota[i], i);
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(take(&conn_quota[0], &c[i]), i < 2);
	cr_assert(take(&conn_quota[1], &last));
	turns();
	target_buffers_release(&c[0]);
	target_buffers_release(&last);
	cr_assert(!take(&conn_quota[1], &last));
	turns();
	cr_assert_eq(readies, 2);
	cr_assert_eq(order[0], &c[2]);
	cr_assert_eq(order[1], &last);
	for (unsigned i = 0; i < 4; i++)
		target_buffers_release(&c[i]);
	target_buffers_release(&last);
	turns();
	for (unsigned i = 0; i < 4; i++)
		target_buffers_release(&c[i]);
	for (unsigned i = 0; i < 2; i++)
		target_buffers_leave(&conn_quota[i]);
	end();
}

/* Whatever others wait for, hosts are served in turn, and the connections of a host in turn. */
Test(target_buffers, hosts_in_turn)
{
	struct target_conn_quota conn_quota[3];
	struct target_buf_request c[3][24] = { 0 };
	unsigned got[3] = { 0 };

	begin(16);
	join(&conn_quota[0], 0);
	join(&conn_quota[1], 1);
	join(&conn_quota[2], 1);
	for (unsigned h = 0; h < 3; h++)
		for (unsigned i = 0; i < 24; i++)
			take(&conn_quota[h], &c[h][i]);
	turns();
	for (unsigned round = 0; round < 8; round++) {
		readies = 0;
		for (unsigned h = 0; h < 3; h++)
			for (unsigned i = 0; i < 24; i++)
				if (c[h][i].buf.p)
					target_buffers_release(&c[h][i]);
		turns();
		for (unsigned i = 0; i < readies; i++)
			for (unsigned h = 0; h < 3; h++)
				got[h] += order[i] >= c[h] && order[i] < c[h] + 24;
		if (round == 1)
			break;
	}
	cr_assert_eq(got[0], got[1] + got[2], "%u: %u+%u", got[0], got[1], got[2]);
	cr_assert_leq(abs((int)got[1] - (int)got[2]), 1);
	cr_assert_gt(got[0], 8);
	for (unsigned h = 0; h < 3; h++)
		for (unsigned i = 0; i < 24; i++)
			if (c[h][i].waiting)
				target_buffers_release(&c[h][i]);
	for (unsigned h = 0; h < 3; h++) {
		for (unsigned i = 0; i < 24; i++)
			target_buffers_release(&c[h][i]);
		target_buffers_leave(&conn_quota[h]);
	}
	end();
}

/* What one host may hold alone, and while there are others; and one of its connections. */
Test(target_buffers, limits)
{
	struct target_conn_quota conn_quota[4];
	struct target_buf_request c[4][64] = { 0 };

	begin(64);
	join(&conn_quota[0], 0);
	for (unsigned i = 0; i < 64; i++)
		take(&conn_quota[0], &c[0][i]);
	turns();
	cr_assert_eq(quota[0].held, 48);
	for (unsigned i = 0; i < 64; i++)
		if (c[0][i].waiting)
			target_buffers_release(&c[0][i]);
	join(&conn_quota[1], 1);
	for (unsigned i = 0; i < 64; i++)
		take(&conn_quota[1], &c[1][i]);
	turns();
	cr_assert_eq(quota[1].held, 8); /* its part of the reserve: the first one came before it */
	for (unsigned i = 0; i < 24; i++)
		target_buffers_release(&c[0][i]);
	turns();
	cr_assert_eq(quota[0].held, 24);
	cr_assert_eq(quota[1].held, 24, "%u", quota[1].held); /* all but the reserve is taken */
	cr_assert_eq(store.free, 16);
	join(&conn_quota[2], 2);
	join(&conn_quota[3], 2);
	for (unsigned i = 0; i < 64; i++)
		take(&conn_quota[2], &c[2][i]);
	turns();
	cr_assert_eq(quota[2].held, 5);
	for (unsigned i = 0; i < 64; i++)
		target_buffers_release(&c[0][i]);
	turns();
	cr_assert_eq(quota[1].held, 32);
	for (unsigned i = 0; i < 64; i++)
		if (c[1][i].waiting)
			target_buffers_release(&c[1][i]);
	for (unsigned i = 0; i < 64; i++)
		target_buffers_release(&c[1][i]);
	turns();
	cr_assert_eq(
		quota[2].held, 24); /* a quarter of the host's half is its other connection's */
	for (unsigned i = 0; i < 64; i++)
		take(&conn_quota[3], &c[3][i]);
	turns();
	cr_assert_eq(quota[2].held, 32);
	cr_assert_eq(conn_quota[3].quota.held, 8);
	for (unsigned h = 2; h < 4; h++)
		for (unsigned i = 0; i < 64; i++)
			if (c[h][i].waiting)
				target_buffers_release(&c[h][i]);
	for (unsigned h = 0; h < 4; h++) {
		for (unsigned i = 0; i < 64; i++)
			target_buffers_release(&c[h][i]);
		target_buffers_leave(&conn_quota[h]);
	}
	end();
}

/* One buffer is enough for any number of hosts. */
Test(target_buffers, a_single_one)
{
	struct target_conn_quota conn_quota[3];
	struct target_buf_request c[3] = { 0 };

	begin(1);
	for (unsigned i = 0; i < 3; i++) {
		join(&conn_quota[i], i);
		cr_assert_eq(take(&conn_quota[i], &c[i]), i == 0);
	}
	for (unsigned i = 0; i < 3; i++) {
		turns();
		cr_assert_eq(readies, i);
		target_buffers_release(&c[i]);
	}
	for (unsigned i = 0; i < 3; i++)
		target_buffers_leave(&conn_quota[i]);
	end();
}

/* --- hosts that run side by side for a while; a millisecond passes at a time */

static void served(struct buf_request *c)
{
	struct conn *conn = c->conn;
	uint64_t now = loop_now(loop), wait = now - c->asked;

	conn->worst = wait > conn->worst ? wait : conn->worst;
	conn->wait[conn->served++ % PIECES] = wait;
	wait = 0;
	for (unsigned i = 0; i < PIECES; i++)
		wait += conn->wait[i];
	conn->worst_request = wait > conn->worst_request ? wait : conn->worst_request;
	if (conn->takes && conn->served == conn->takes)
		conn->takes_ns = UINT64_MAX;
	c->due = conn->takes_ns == UINT64_MAX ? UINT64_MAX : now + conn->takes_ns;
	if (conn->quick && conn->served % (conn->quick + 1))
		c->due = now + MS;
	if (!conn->first_only || conn->conn_quota.quota.held == 1)
		target_buffers_begin_peer_wait(&c->buf_request);
}

static void claim_ready(struct target_buf_request *buf_request)
{
	served(container_of(buf_request, struct buf_request, buf_request));
}

static void name_join(struct conn *conn, struct target_quota *host)
{
	target_buffers_join(&store, &conn->conn_quota, host);
	for (unsigned i = 0; i < MANY; i++) {
		conn->buf_request[i].conn = conn;
		conn->buf_request[i].buf_request.ready = claim_ready;
	}
}

static void conn_join(struct conn *conn, unsigned host)
{
	if (!quota[host].up)
		host_in(&quota[host], &network[host]);
	name_join(conn, &quota[host]);
}

static void conn_drop(struct conn *conn)
{
	for (unsigned i = 0; i < MANY; i++) {
		target_buffers_release(&conn->buf_request[i].buf_request);
		conn->buf_request[i].used = false;
	}
	conn->depth = 0;
}

static void conn_step(struct conn *conn, uint64_t now)
{
	conn->moved += conn->rate;
	/* what the end of a connection takes */
	if (conn->ended_ns && now - conn->ended_ns >= MS)
		conn_drop(conn);
	for (unsigned i = 0; i < conn->depth; i++) {
		struct buf_request *c = &conn->buf_request[i];

		if (c->used && c->buf_request.buf.p && now >= c->due) {
			target_buffers_release(&c->buf_request);
			c->used = false;
			conn->moved += conn->takes ? EACH : 0;
		}
		if (c->used && c->buf_request.waiting && now - c->asked > conn->worst)
			conn->worst = now - c->asked;
		if (c->used)
			continue;
		c->used = true;
		c->asked = now;
		if (target_buffers_take(&conn->conn_quota, &c->buf_request))
			served(c);
	}
}

static struct {
	struct loop_timer timer;
	struct conn *conn;
	unsigned count;
} all;

static void tick(struct loop_timer *timer)
{
	uint64_t now = loop_now(loop);

	for (unsigned i = 0; i < all.count; i++)
		conn_step(&all.conn[i], now);
	loop_timer_set(loop, timer, now + MS);
}

static void run_ms(unsigned ms)
{
	volatile int never = 0;

	all.timer.fire = tick;
	if (!all.timer.on)
		loop_timer_set(loop, &all.timer, loop_clock());
	loop_wait(loop, &never, loop_clock() + ms * MS);
}

static void hosts_begin(unsigned count, unsigned buffers)
{
	begin(buffers);
	all.conn = calloc(count, sizeof(*all.conn));
	all.count = count;
	for (unsigned i = 0; i < count; i++)
		conn_join(&all.conn[i], i);
}

static void hosts_end(void)
{
	loop_timer_del(loop, &all.timer);
	for (unsigned i = 0; i < all.count; i++) {
		conn_drop(&all.conn[i]);
		target_buffers_leave(&all.conn[i].conn_quota);
	}
	free(all.conn);
	end();
}

static void behave(struct conn *conn, unsigned depth, uint64_t takes_ns, uint64_t rate)
{
	conn->depth = depth;
	conn->takes_ns = takes_ns;
	conn->rate = rate;
}

/* The first is honest and starts last; all others behave alike. */
static void honest_among(unsigned bad, unsigned depth, uint64_t takes_ns, uint64_t rate)
{
	hosts_begin(bad + 1, 64);
	behave(&all.conn[0], 0, MS, 131072);
	for (unsigned i = 1; i <= bad; i++)
		behave(&all.conn[i], depth, takes_ns, rate);
	run_ms(20);
	all.conn[0].depth = 8;
	run_ms(5000);
	cr_assert(!all.conn[0].ended_ns);
	cr_assert_gt(all.conn[0].served, 1000);
	/* memory: the buffers, whatever was asked for */
	cr_assert_eq(store.pool->len, 64u * EACH);
	cr_assert_leq(store.free, 64);
}

static unsigned ended(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < all.count; i++)
		count += all.conn[i].ended_ns != 0;
	return count;
}

/* A few frozen hosts are not disconnected as long as the reserve is free. */
Test(target_buffers, frozen_hosts)
{
	for (unsigned k = 1; k <= 3; k++) {
		honest_among(k, MANY, UINT64_MAX, 0);
		cr_assert_leq(
			all.conn[0].worst, 10 * MS, "%u: %g ms", k, (double)all.conn[0].worst / MS);
		cr_assert_eq(ended(), 0, "%u of %u", ended(), k);
		hosts_end();
	}
}

/* However many freeze: the bound of the manual. */
Test(target_buffers, any_number_of_frozen_hosts)
{
	for (unsigned k = 4; k < HOSTS; k += 5) {
		honest_among(k, MANY, UINT64_MAX, 0);
		cr_assert_leq(all.conn[0].worst, 100 * MS, "%u: %g ms", k,
			(double)all.conn[0].worst / MS);
		hosts_end();
	}
}

/* Of connections that have stopped, only as many as hosts wait. The last buffer is for hosts that
 * are known to be quick. */
Test(target_buffers, ends_no_more_than_needed)
{
	hosts_begin(18, 16);
	for (unsigned i = 0; i < 15; i++)
		behave(&all.conn[i], 1, UINT64_MAX, 0);
	run_ms(20);
	for (unsigned i = 15; i < 18; i++)
		behave(&all.conn[i], 1, MS, 131072);
	run_ms(2000);
	cr_assert_eq(ended(), 3, "%u", ended());
	for (unsigned i = 15; i < 18; i++)
		cr_assert(!all.conn[i].ended_ns && all.conn[i].served > 500);
	hosts_end();
}

/* Eight hosts every 20 ms take a few replies and then no more, until there are 24; the first host
 * has one command after the other from some time on. */
static void freezing_hosts(unsigned takes, unsigned from_ms)
{
	hosts_begin(25, 22);
	behave(&all.conn[0], 0, MS, 131072);
	for (unsigned ms = 0; ms < 500; ms++) {
		for (unsigned i = 0; i < 8 && ms % 20 == 0 && ms < 60; i++) {
			struct conn *conn = &all.conn[1 + ms / 20 * 8 + i];

			behave(conn, 16, MS, 0);
			conn->takes = takes;
		}
		if (ms == from_ms)
			all.conn[0].depth = 1;
		run_ms(1);
	}
}

/* What is freed for a host that waits is not given to others in addition to what they hold, so that
 * a request of several commands waits once. */
Test(target_buffers, a_request_of_several_commands)
{
	for (unsigned takes = 1; takes <= 10; takes += 3)
		for (unsigned from = 0; from < 100; from += 3) {
			freezing_hosts(takes, from);
			cr_assert_gt(all.conn[0].served, 100);
			cr_assert_leq(all.conn[0].worst_request, 100 * MS, "%u, from %u: %g ms",
				takes, from, (double)all.conn[0].worst_request / MS);
			hosts_end();
		}
}

/* Hosts that send a few bytes now and then, but never complete the requested data. */
Test(target_buffers, trickling_hosts)
{
	honest_among(30, MANY, UINT64_MAX, 16);
	cr_assert_leq(all.conn[0].worst, 100 * MS, "%g ms", (double)all.conn[0].worst / MS);
	hosts_end();
}

/* One that moves much, but never completes a thing: pings, say. */
Test(target_buffers, lying_hosts)
{
	honest_among(30, MANY, UINT64_MAX, 65536);
	cr_assert_leq(all.conn[0].worst, (TARGET_PART_MS + 100) * MS, "%g ms",
		(double)all.conn[0].worst / MS);
	hosts_end();
}

/* The same where replies leave in order, and only the first waits for the peer. */
Test(target_buffers, lying_clients_of_a_stream)
{
	hosts_begin(31, 64);
	behave(&all.conn[0], 0, MS, 131072);
	for (unsigned i = 1; i < all.count; i++) {
		behave(&all.conn[i], MANY, UINT64_MAX, 65536);
		all.conn[i].first_only = true;
	}
	run_ms(20);
	all.conn[0].depth = 8;
	run_ms(5000);
	cr_assert_leq(all.conn[0].worst, (TARGET_PART_MS + 100) * MS, "%g ms",
		(double)all.conn[0].worst / MS);
	cr_assert_gt(all.conn[0].served, 1000);
	hosts_end();
}

static void greedy(unsigned hosts)
{
	honest_among(hosts, MANY, MS, 131072 * 64);
	cr_assert_eq(ended(), 0);
	for (unsigned i = 1; i < all.count; i++) /* an equal part of what there is */
		cr_assert_lt(all.conn[i].served, 2 * all.conn[0].served + 100);
	cr_assert_leq(all.conn[0].worst, 100 * MS, "%g ms", (double)all.conn[0].worst / MS);
	hosts_end();
}

Test(target_buffers, greedy_hosts)
{
	honest_among(1, MANY, MS, 131072 * 64);
	cr_assert_eq(ended(), 0);
	cr_assert_leq(all.conn[0].worst, 3 * MS, "%g ms", (double)all.conn[0].worst / MS);
	hosts_end();
	greedy(HOSTS - 1);
}

/* Slow, but it moves as many bytes as is asked of it, and completes what it began in time: never
 * ended. */
Test(target_buffers, slow_hosts)
{
	honest_among(HOSTS - 1, 4, (TARGET_PART_MS - 50) * MS, TARGET_MOVED_LEAST / 30);
	cr_assert_eq(ended(), 0, "%u", ended());
	hosts_end();
}

/* --- one honest host among many host names: all at one address, which the honest host shares or
 * not, or each at its own */

#define NAMES 200

enum names { ELSEWHERE, HERE, EVERYWHERE };

static struct target_quota name[NAMES], name_network[NAMES];

static void names_join(enum names where)
{
	memset(name, 0, sizeof(name));
	memset(name_network, 0, sizeof(name_network));
	begin(64);
	all.conn = calloc(NAMES + 1, sizeof(*all.conn));
	all.count = NAMES + 1;
	conn_join(&all.conn[0], 0);
	for (unsigned i = 0; i < NAMES; i++) {
		host_in(&name[i], where == ELSEWHERE ? &network[1]
				  : where == HERE    ? &network[0]
						     : &name_network[i]);
		name_join(&all.conn[i + 1], &name[i]);
	}
}

static void come_back(struct conn *conn, struct target_quota *host)
{
	const struct conn as = *conn;

	conn_drop(conn);
	target_buffers_leave(&conn->conn_quota);
	memset(conn, 0, sizeof(*conn));
	name_join(conn, host);
	behave(conn, 2, as.takes_ns, as.rate);
	conn->quick = as.quick;
}

/* They always have something in work, are slow with it, and come back at once when they are
 * ended. */
static void beside_names(enum names where, uint64_t takes_ns, unsigned quick)
{
	names_join(where);
	for (unsigned i = 1; i < all.count; i++) {
		behave(&all.conn[i], 2, takes_ns, TARGET_MOVED_LEAST / 25);
		all.conn[i].quick = quick;
	}
	run_ms(20);
	behave(&all.conn[0], 1, MS, 131072);
	for (unsigned ms = 0; ms < 10000; ms += 5) {
		run_ms(5);
		if (ms == 2000) { /* it is known by now */
			cr_assert_leq(all.conn[0].worst, 2 * TARGET_SLOW_MS * MS, "%g ms",
				(double)all.conn[0].worst / MS);
			all.conn[0].worst = 0;
		}
		for (unsigned i = 1; i < all.count; i++)
			if (all.conn[i].ended_ns && loop_now(loop) - all.conn[i].ended_ns > 2 * MS)
				come_back(&all.conn[i], &name[i - 1]);
	}
	cr_assert(!all.conn[0].ended_ns);
	cr_assert_gt(all.conn[0].served, 1000);
}

static void slow_names(enum names where, unsigned most_ms)
{
	static const struct {
		unsigned ms, quick;
	} how[] = { { 1000, 0 }, { 240, 0 }, { 60, 0 }, { 1000, 8 }, { 240, 8 }, { 240, 1 } };

	for (unsigned i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		beside_names(where, how[i].ms * MS, how[i].quick);
		cr_assert_leq(all.conn[0].worst, most_ms * MS, "%u ms behind %u quick ones: %g ms",
			how[i].ms, how[i].quick, (double)all.conn[0].worst / MS);
		hosts_end();
	}
}

Test(target_buffers, beside_many_names_of_another_address)
{
	slow_names(ELSEWHERE, 3);
}

Test(target_buffers, beside_many_names_of_its_own_address)
{
	slow_names(HERE, 20);
}

Test(target_buffers, beside_many_addresses)
{
	slow_names(EVERYWHERE, 20);
}

/* The part of an address is shared by its names as all buffers are by addresses. */
Test(target_buffers, names_of_an_address)
{
	struct target_conn_quota conn_quota[5];
	struct target_buf_request c[5][64] = { 0 };

	begin(64);
	for (unsigned i = 0; i < 4; i++)
		host_in(&quota[i], &network[0]);
	for (unsigned h = 0; h < 5; h++)
		join(&conn_quota[h], h);
	for (unsigned h = 0; h < 4; h++)
		for (unsigned i = 0; i < 64; i++)
			take(&conn_quota[h], &c[h][i]);
	turns();
	cr_assert_geq(network[0].held, 24);
	cr_assert_leq(network[0].held, 32);
	for (unsigned h = 0; h < 4; h++)
		cr_assert_geq(quota[h].held, 2);
	cr_assert_leq(quota[0].held, 16);
	for (unsigned i = 0; i < 16; i++)
		cr_assert(take(&conn_quota[4], &c[4][i]), "%u", i);
	for (unsigned h = 0; h < 5; h++)
		for (unsigned i = 0; i < 64; i++)
			if (c[h][i].waiting)
				target_buffers_release(&c[h][i]);
	for (unsigned h = 0; h < 5; h++) {
		for (unsigned i = 0; i < 64; i++)
			target_buffers_release(&c[h][i]);
		target_buffers_leave(&conn_quota[h]);
	}
	end();
}

/* A name that stopped delays others of its address no longer than those of others. */
Test(target_buffers, frozen_names_of_its_own_address)
{
	for (unsigned k = 4; k < HOSTS - 1; k += 5) {
		for (unsigned i = 0; i < HOSTS - 1; i++)
			host_in(&quota[i], &network[0]);
		hosts_begin(HOSTS, 64);
		behave(&all.conn[HOSTS - 1], 8, MS, 131072); /* another address */
		for (unsigned i = 1; i <= k; i++)
			behave(&all.conn[i], MANY, UINT64_MAX, 0);
		run_ms(20);
		behave(&all.conn[0], 8, MS, 131072);
		run_ms(5000);
		cr_assert_leq(all.conn[0].worst, 100 * MS, "%u: %g ms", k,
			(double)all.conn[0].worst / MS);
		cr_assert_leq(all.conn[HOSTS - 1].worst, 10 * MS, "%u: %g ms", k,
			(double)all.conn[HOSTS - 1].worst / MS);
		hosts_end();
	}
}

/* Where no host waits without a buffer, none is ended, however slow. */
Test(target_buffers, no_contention_no_end)
{
	hosts_begin(2, 64);
	behave(&all.conn[0], 8, MS, 131072);
	behave(&all.conn[1], MANY, UINT64_MAX, 0);
	run_ms(20000);
	cr_assert_eq(ended(), 0);
	cr_assert_leq(all.conn[0].worst, 3 * MS);
	hosts_end();
}

/* Disks, not hosts, hold the buffers: no host is disconnected for that. */
Test(target_buffers, slow_disks_end_no_host)
{
	struct target_buf_request c[HOSTS][8] = { 0 };

	hosts_begin(HOSTS, 64);
	for (unsigned h = 0; h < HOSTS; h++)
		for (unsigned i = 0; i < 8; i++)
			take(&all.conn[h].conn_quota, &c[h][i]);
	turns();
	cr_assert_eq(store.free, 4);     /* the last ones are for quick hosts */
	for (unsigned i = 0; i < 8; i++) /* few of them wait for this host, which is slow */
		target_buffers_begin_peer_wait(&c[1][i]);
	cr_assert(store.peer);
	all.conn[1].rate = TARGET_MOVED_LEAST / 25;
	run_ms(3000);
	cr_assert_eq(ended(), 0);
	for (unsigned h = 0; h < HOSTS; h++)
		for (unsigned i = 0; i < 8; i++)
			if (c[h][i].waiting)
				target_buffers_release(&c[h][i]);
	for (unsigned h = 0; h < HOSTS; h++)
		for (unsigned i = 0; i < 8; i++)
			target_buffers_release(&c[h][i]);
	hosts_end();
}
