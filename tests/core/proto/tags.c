/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The in-flight table: who gets which tag, whose deadline comes first, who waits. */
#include "tags.h"
#include <criterion/criterion.h>

static struct loop *loop;
static void *late_owner;
static int lates;

static void late(struct tags *tags, void *owner)
{
	late_owner = owner;
	lates++;
	loop_stop(tags->loop);
}

static void init(struct tags *tags, uint16_t count)
{
	static const struct loop_options options = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	cr_assert_eq(tags_init(tags, loop, count, late, NULL), 0);
}

static void fini(struct tags *tags)
{
	tags_fini(tags);
	loop_free(loop);
}

Test(tags, every_tag_once_then_none)
{
	int owner[3];
	struct tags tags;
	uint16_t a, b;

	init(&tags, 2);
	a = tags_take(&tags, &owner[0], 0);
	b = tags_take(&tags, &owner[1], 0);
	cr_assert_neq(a, b);
	cr_assert_lt(a, 2);
	cr_assert_lt(b, 2);
	cr_assert_eq(tags_take(&tags, &owner[2], 0), TAG_NONE);
	cr_assert_eq(tags_owner(&tags, a), &owner[0]);
	tags_drop(&tags, a);
	cr_assert_null(tags_owner(&tags, a));
	cr_assert_eq(tags_take(&tags, &owner[2], 0), a);
	cr_assert_eq(tags_owner(&tags, b), &owner[1]);
	cr_assert_null(tags_owner(&tags, 2), "beyond the table");
	cr_assert_null(tags_owner(&tags, 65535), "beyond the table");
	fini(&tags);
}

Test(tags, the_nearest_deadline_is_reported_whatever_the_order)
{
	int owner[4];
	struct tags tags;
	uint64_t now;
	uint16_t first;

	init(&tags, 4);
	now = loop_clock();
	tags_take(&tags, &owner[0], now + 60000000000);
	first = tags_take(&tags, &owner[1], now + 1000000);
	tags_take(&tags, &owner[2], now + 2000000);
	tags_take(&tags, &owner[3], 0);
	loop_run(loop);
	cr_assert_eq(late_owner, &owner[1]);
	tags_drop(&tags, first);
	fini(&tags);
}

Test(tags, what_was_answered_in_time_is_not_late)
{
	int owner[2];
	struct tags tags;
	uint64_t now;
	uint16_t tag;

	init(&tags, 2);
	now = loop_clock();
	tag = tags_take(&tags, &owner[0], now + 1000000);
	tags_take(&tags, &owner[1], now + 5000000);
	tags_drop(&tags, tag);
	loop_run(loop);
	cr_assert_eq(late_owner, &owner[1]);
	cr_assert_eq(lates, 1);
	fini(&tags);
}

Test(tags, waiting_ios_come_out_in_order)
{
	struct tags tags;
	struct io io[3];

	init(&tags, 1);
	for (int i = 0; i < 3; i++)
		tags_wait(&tags, &io[i]);
	cr_assert_eq(tags_next(&tags), &io[0]);
	cr_assert_eq(tags_next(&tags), &io[1]);
	tags_wait(&tags, &io[0]);
	cr_assert_eq(tags_next(&tags), &io[2]);
	cr_assert_eq(tags_next(&tags), &io[0]);
	cr_assert_null(tags_next(&tags));
	fini(&tags);
}
