/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names as typed and as meant. */
#include "word.h"
#include <criterion/criterion.h>

Test(word, underscore_is_hyphen)
{
	cr_assert(word_same("fast_io_fail", "fast-io-fail"));
	cr_assert(word_same("a-b", "a_b"));
	cr_assert_not(word_same("queue", "queues"));
	cr_assert_not(word_same("queues", "queue"));
	cr_assert(word_same("", ""));
}

Test(word, distance_counts_slips)
{
	cr_assert_eq(word_distance("timeout", "timeout"), 0);
	cr_assert_eq(word_distance("timeuot", "timeout"), 1, "swapped");
	cr_assert_eq(word_distance("timout", "timeout"), 1, "left out");
	cr_assert_eq(word_distance("timeoutt", "timeout"), 1, "doubled");
	cr_assert_eq(word_distance("tumeout", "timeout"), 1, "replaced");
	cr_assert_eq(word_distance("fast_io", "fast-io"), 0);
	cr_assert_eq(word_distance("", "abc"), 3);
	cr_assert_eq(word_distance("abc", ""), 3);
	cr_assert_eq(word_distance("an-option-that-is-far-too-long-for-this", "an-option"), 99);
	cr_assert_eq(
		word_distance("abcdefghijklmnopqrstuvwxyz01234", "abcdefghijklmnopqrstuvwxyz01234"),
		0, "31 letters fit");
}

Test(word, near_is_a_slip_or_a_beginning)
{
	cr_assert(word_near("timeuot", "timeout"));
	cr_assert(word_near("time", "timeout"));
	cr_assert(word_near("jsn", "json"));
	cr_assert_not(word_near("t", "timeout"));
	cr_assert_not(word_near("ro", "rw"));
	cr_assert_not(word_near("listen", "timeout"));
}

Test(word, among_takes_whole_words)
{
	cr_assert(word_among("rdma", "rdma|tcp"));
	cr_assert(word_among("tcp", "rdma|tcp"));
	cr_assert_not(word_among("rd", "rdma|tcp"));
	cr_assert_not(word_among("rdma|tcp", "rdma|tcp"));
	cr_assert_not(word_among("", "rdma|tcp"));
}
