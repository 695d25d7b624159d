/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The in-flight table: slots and their number, completion of commands, order of deadlines, and
 * waiting for a slot. */
/* Link: leap */
#include "inflight.h"
#include <criterion/criterion.h>

struct slot {
	struct inflight_slot flight; /* first */
	uint64_t own[3];
};

static struct loop *loop;
static void *overdue_owner;
static int lates;

static void overdue(struct inflight *inflight, struct inflight_slot *slot)
{
	overdue_owner = slot->owner;
	lates++;
	loop_stop(inflight->loop);
}

static void init(struct inflight *inflight, uint16_t count)
{
	static const struct loop_options options = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	cr_assert_eq(inflight_init(inflight, loop, count, sizeof(struct slot), overdue, NULL), 0);
}

static void fini(struct inflight *inflight)
{
	inflight_fini(inflight);
	loop_free(loop);
}

Test(inflight, every_slot_once_then_none)
{
	int owner[3];
	struct inflight inflight;
	struct slot *a, *b;

	init(&inflight, 2);
	a = inflight_take(&inflight, &owner[0], 0);
	b = inflight_take(&inflight, &owner[1], 0);
	cr_assert_neq(a->flight.tag, b->flight.tag);
	cr_assert_lt(a->flight.tag, 2);
	cr_assert_lt(b->flight.tag, 2);
	cr_assert_null(inflight_take(&inflight, &owner[2], 0));
	cr_assert_eq(inflight_find(&inflight, a->flight.tag), a);
	cr_assert_eq(a->flight.owner, &owner[0]);
	cr_assert_eq(inflight_drop(&inflight, &a->flight), &owner[0]);
	cr_assert_null(inflight_find(&inflight, a->flight.tag));
	cr_assert_eq(inflight_take(&inflight, &owner[2], 0), a);
	cr_assert_eq(inflight_find(&inflight, b->flight.tag), b);
	cr_assert_eq(b->flight.owner, &owner[1]);
	cr_assert_null(inflight_find(&inflight, 2), "beyond the table");
	cr_assert_null(inflight_find(&inflight, 65535), "beyond the table");
	fini(&inflight);
}

Test(inflight, what_the_protocol_keeps_stays)
{
	struct inflight inflight;
	struct slot *slot;
	int owner;

	init(&inflight, 3);
	for (unsigned i = 0; i < 3; i++) {
		slot = inflight_slot(&inflight, i);
		cr_assert_eq(slot->own[0] | slot->own[1] | slot->own[2], 0);
		slot->own[0] = slot->own[1] = slot->own[2] = i + 1;
	}
	for (int round = 0; round < 4; round++) {
		slot = inflight_take(&inflight, &owner, 0);
		cr_assert_eq(slot->own[0], slot->flight.tag + 1u);
		cr_assert_eq(slot->own[2], slot->flight.tag + 1u);
		if (round % 2)
			inflight_drop(&inflight, &slot->flight);
	}
	fini(&inflight);
}

/* Reply and `sent` come in any order. */
Test(inflight, a_command_is_over_once_it_is_answered_and_all_of_it_has_left)
{
	struct inflight inflight;
	struct slot *slot;
	int owner;

	init(&inflight, 1);
	slot = inflight_take(&inflight, &owner, 0);
	cr_assert(inflight_replied(&slot->flight), "nothing to wait for");
	inflight_drop(&inflight, &slot->flight);

	slot = inflight_take(&inflight, &owner, 0);
	slot->flight.unsent = 1;
	cr_assert_not(inflight_sent(&slot->flight));
	cr_assert(inflight_replied(&slot->flight));
	inflight_drop(&inflight, &slot->flight);

	slot = inflight_take(&inflight, &owner, 0);
	slot->flight.unsent = 2;
	cr_assert_not(inflight_sent(&slot->flight));
	cr_assert_not(inflight_replied(&slot->flight));
	cr_assert_null(inflight_find(&inflight, 0), "one reply is all it gets");
	cr_assert_null(inflight_take(&inflight, &owner, 0), "its memory is still in use");
	cr_assert(inflight_sent(&slot->flight));
	inflight_drop(&inflight, &slot->flight);
	cr_assert_not_null(inflight_take(&inflight, &owner, 0));
	cr_assert_eq(inflight_find(&inflight, 0), slot, "a new command");
	fini(&inflight);
}

Test(inflight, the_limit_moves)
{
	struct inflight inflight;
	struct slot *slot[4];
	int owner;

	init(&inflight, 4);
	inflight_limit(&inflight, 0);
	cr_assert_null(inflight_take(&inflight, &owner, 0));
	inflight_limit(&inflight, 2);
	for (int i = 0; i < 2; i++)
		cr_assert_not_null(slot[i] = inflight_take(&inflight, &owner, 0));
	cr_assert_null(inflight_take(&inflight, &owner, 0));
	inflight_limit(&inflight, 3);
	cr_assert_not_null(slot[2] = inflight_take(&inflight, &owner, 0));
	inflight_limit(&inflight, 1);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(inflight_find(&inflight, slot[i]->flight.tag), slot[i],
			"those that are out stay");
	for (int i = 0; i < 2; i++) {
		inflight_drop(&inflight, &slot[i]->flight);
		cr_assert_null(inflight_take(&inflight, &owner, 0));
	}
	inflight_drop(&inflight, &slot[2]->flight);
	cr_assert_not_null(slot[0] = inflight_take(&inflight, &owner, 0));
	cr_assert_null(inflight_take(&inflight, &owner, 0));
	inflight_limit(&inflight, 1000000);
	for (int i = 1; i < 4; i++)
		cr_assert_not_null(slot[i] = inflight_take(&inflight, &owner, 0));
	cr_assert_null(inflight_take(&inflight, &owner, 0), "never more than there are");
	fini(&inflight);
}

Test(inflight, tags_are_less_than_the_limit)
{
	struct inflight inflight;
	struct slot *slot[3];
	unsigned seed = 1;
	int owner;

	init(&inflight, 16);
	inflight_limit(&inflight, 3);
	for (int i = 0; i < 3; i++)
		slot[i] = inflight_take(&inflight, &owner, 0);
	for (int round = 0; round < 100; round++) {
		unsigned i = (unsigned)rand_r(&seed) % 3;

		cr_assert_lt(slot[i]->flight.tag, 3);
		inflight_drop(&inflight, &slot[i]->flight);
		slot[i] = inflight_take(&inflight, &owner, 0);
	}
	fini(&inflight);
}

Test(inflight, the_nearest_deadline_is_reported_whatever_the_order)
{
	int owner[4];
	struct inflight inflight;
	struct slot *first;
	uint64_t now;

	init(&inflight, 4);
	now = loop_clock();
	inflight_take(&inflight, &owner[0], now + 60000000000);
	first = inflight_take(&inflight, &owner[1], now + 1000000);
	inflight_take(&inflight, &owner[2], now + 2000000);
	inflight_take(&inflight, &owner[3], 0);
	loop_run(loop);
	cr_assert_eq(overdue_owner, &owner[1]);
	inflight_drop(&inflight, &first->flight);
	fini(&inflight);
}

/* `late` may give a slot more time: the next one's deadline still comes. */
Test(inflight, a_slot_that_gets_more_time)
{
	int owner[2];
	struct inflight inflight;
	struct slot *first;
	uint64_t now;

	init(&inflight, 2);
	now = loop_clock();
	first = inflight_take(&inflight, &owner[0], now + 1000000);
	inflight_take(&inflight, &owner[1], now + 2000000);
	loop_run(loop);
	cr_assert_eq(overdue_owner, &owner[0]);
	inflight_extend(&inflight, &first->flight, now + 3000000);
	loop_run(loop);
	cr_assert_eq(overdue_owner, &owner[1]);
	inflight_drop(&inflight, inflight.first);
	inflight_extend(&inflight, &first->flight, now + 4000000);
	loop_run(loop);
	cr_assert_eq(overdue_owner, &owner[0]);
	cr_assert_eq(lates % 3, 0);
	inflight_drop(&inflight, &first->flight);
	fini(&inflight);
}

Test(inflight, requests_answered_in_time_are_not_overdue)
{
	int owner[2];
	struct inflight inflight;
	struct slot *slot;
	uint64_t now;

	init(&inflight, 2);
	now = loop_clock();
	slot = inflight_take(&inflight, &owner[0], now + 1000000);
	inflight_take(&inflight, &owner[1], now + 5000000);
	inflight_drop(&inflight, &slot->flight);
	loop_run(loop);
	cr_assert_eq(overdue_owner, &owner[1]);
	cr_assert_eq(lates, 1);
	fini(&inflight);
}

Test(inflight, waiting_ios_come_out_in_order)
{
	struct inflight inflight;
	struct io io[3];

	init(&inflight, 1);
	for (int i = 0; i < 3; i++)
		inflight_enqueue(&inflight, &io[i]);
	cr_assert_eq(inflight_dequeue(&inflight), &io[0]);
	cr_assert_eq(inflight_dequeue(&inflight), &io[1]);
	inflight_enqueue(&inflight, &io[0]);
	cr_assert_eq(inflight_dequeue(&inflight), &io[2]);
	cr_assert_eq(inflight_dequeue(&inflight), &io[0]);
	cr_assert_null(inflight_dequeue(&inflight));
	fini(&inflight);
}

Test(inflight, waiting_ios_go_as_the_limit_allows)
{
	struct inflight inflight;
	struct slot *slot;
	struct io io[3];

	init(&inflight, 3);
	inflight_limit(&inflight, 1);
	for (int i = 0; i < 3; i++)
		inflight_enqueue(&inflight, &io[i]);
	cr_assert_eq(inflight_next(&inflight), &io[0]);
	slot = inflight_take(&inflight, &io[0], 0);
	cr_assert_null(inflight_next(&inflight));
	inflight_limit(&inflight, 2);
	cr_assert_eq(inflight_next(&inflight), &io[1]);
	inflight_take(&inflight, &io[1], 0);
	cr_assert_null(inflight_next(&inflight));
	inflight_drop(&inflight, &slot->flight);
	cr_assert_eq(inflight_next(&inflight), &io[2]);
	cr_assert_null(inflight_next(&inflight));
	fini(&inflight);
}
