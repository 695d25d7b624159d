/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The data buffers of a worker and the line for them. */
#include "buffers.h"
#include <criterion/criterion.h>

#define EACH    65536
#define COUNT   4
#define WAITERS 12

static struct loop *loop;
static struct target_buffers buffers;

static void begin(void)
{
	static const struct loop_options options = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	cr_assert_eq(target_buffers_init(&buffers, loop, EACH, COUNT, NULL), 0);
}

static void end(void)
{
	target_buffers_fini(&buffers);
	loop_free(loop);
}

static void turns(void)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + 3000000);
}

static struct target_share share[2];
static struct target_claim *order[WAITERS];
static unsigned readies;

static void ready(struct target_claim *claim)
{
	cr_assert(claim->buf.p);
	cr_assert(!claim->waiting);
	order[readies++] = claim;
}

Test(target_buffers, buffers_in_order_of_arrival)
{
	struct target_claim x[WAITERS] = { 0 };

	begin();
	for (unsigned i = 0; i < WAITERS; i++) {
		x[i].ready = ready;
		x[i].share = &share[i % 2];
		cr_assert_eq(target_buffers_take(&buffers, &x[i]), i < COUNT);
	}
	for (unsigned i = 0; i < COUNT; i++)
		for (unsigned k = 0; k < i; k++)
			cr_assert_neq(x[i].buf.p, x[k].buf.p);
	target_buffers_give(&buffers, &x[5]); /* leaves the line */
	target_buffers_give(&buffers, &x[WAITERS - 1]);
	for (unsigned i = 0; i < WAITERS; i++) {
		target_buffers_give(&buffers, &x[i]);
		cr_assert_null(x[i].buf.p);
		turns();
	}
	cr_assert_eq(readies, WAITERS - COUNT - 2);
	for (unsigned i = 1; i < readies; i++)
		cr_assert_lt(order[i - 1], order[i]);
	cr_assert_eq(buffers.free, COUNT);
	end();
}

/* Who comes while others wait goes behind them, even if a buffer was given back in the same turn.
 */
Test(target_buffers, nobody_jumps_the_line)
{
	struct target_claim x[COUNT + 2] = { 0 };

	begin();
	for (unsigned i = 0; i <= COUNT; i++) {
		x[i].ready = ready;
		x[i].share = &share[i % 2];
		target_buffers_take(&buffers, &x[i]);
	}
	x[COUNT + 1].ready = ready;
	x[COUNT + 1].share = &share[1];
	target_buffers_give(&buffers, &x[0]);
	cr_assert(!target_buffers_take(&buffers, &x[COUNT + 1]));
	turns();
	cr_assert_eq(readies, 1);
	cr_assert_eq(order[0], &x[COUNT]);
	for (unsigned i = 0; i < COUNT + 2; i++)
		target_buffers_give(&buffers, &x[i]);
	turns();
	end();
}

/* One connection that holds all it may does not keep another from the rest. */
Test(target_buffers, shares)
{
	struct target_claim hog[COUNT + 1] = { 0 }, other = { .ready = ready, .share = &share[1] };

	begin();
	for (unsigned i = 0; i <= COUNT; i++) {
		hog[i].ready = ready;
		hog[i].share = &share[0];
		cr_assert_eq(target_buffers_take(&buffers, &hog[i]), i < 3);
	}
	turns();
	cr_assert_eq(readies, 0);
	cr_assert(!target_buffers_take(
		&buffers, &other)); /* there is a line, which does not hold it up */
	turns();
	cr_assert_eq(readies, 1);
	cr_assert_eq(order[0], &other);
	target_buffers_give(&buffers, &hog[1]);
	turns();
	cr_assert_eq(readies, 2);
	cr_assert_eq(order[1], &hog[3]);
	target_buffers_give(&buffers, &other);
	for (unsigned i = 0; i <= COUNT; i++)
		target_buffers_give(&buffers, &hog[i]);
	turns();
	end();
}
