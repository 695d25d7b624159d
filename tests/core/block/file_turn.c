/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Turns of changes to a file: which wait for which, in what order, and what is counted only. */
#include "file_turn.h"
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#define CACHED true
#define DIRECT false

static struct file_turns *turns;
static struct file_pace pace[2];
static uint64_t folio; /* ranges in different ones don't overlap */

static struct stat status(dev_t dev, ino_t ino)
{
	return (struct stat){ .st_mode = S_IFREG, .st_dev = dev, .st_ino = ino };
}

static void setup(void)
{
	struct stat st = status(1, 2);

	folio = (uint64_t)sysconf(_SC_PAGESIZE) << 11;
	turns = file_turns_get(&st);
	cr_assert(turns);
	file_turns_direct(turns, true);
	for (unsigned i = 0; i < 2; i++)
		file_pace_add(turns, &pace[i]);
}

static void fini(void)
{
	for (unsigned i = 0; i < 2; i++)
		file_pace_del(turns, &pace[i]);
	file_turns_put(turns);
}
TestSuite(file_turn, .init = setup, .fini = fini);

static bool take(struct file_turn *turn, unsigned lane, bool cached, uint64_t off)
{
	return file_turn_take(turns, &pace[lane], turn, cached, off, 512);
}

static void end(struct file_turn *turn, unsigned lane)
{
	file_turn_end(turns, &pace[lane], turn);
}

Test(file_turn, one_for_each_file_of_the_process)
{
	struct stat same = status(1, 2), another = status(1, 3);
	struct stat device = { .st_mode = S_IFBLK, .st_dev = 1, .st_ino = 2, .st_rdev = 7 };
	struct file_turns *second = file_turns_get(&same);

	cr_assert_eq(second, turns);
	cr_assert_not(file_turns_known(&another));
	cr_assert_not(file_turns_known(&device));
	file_turns_put(second);
	cr_assert(file_turns_known(&same));
	second = file_turns_get(&device);
	cr_assert_neq(second, turns);
	device.st_ino = 5; /* another node of the device */
	cr_assert(file_turns_known(&device));
	file_turns_put(second);
	cr_assert_not(file_turns_known(&device));
}

Test(file_turn, direct_changes_alone_are_only_counted)
{
	struct file_turn turn[64] = { 0 };

	for (unsigned i = 0; i < 64; i++)
		cr_assert(take(&turn[i], i % 2, DIRECT, 0));
	cr_assert_eq(pace[0].direct, 32);
	cr_assert_eq(pace[1].direct, 32);
	for (unsigned i = 0; i < 64; i++)
		end(&turn[i], i % 2);
	cr_assert_eq(pace[0].direct, 0);
	cr_assert_eq(pace[1].direct, 0);
}

Test(file_turn, a_cached_change_waits_for_the_direct_ones_of_all_lanes)
{
	struct file_turn direct[2] = { 0 }, cached = { 0 }, behind = { 0 };

	cr_assert(take(&direct[0], 0, DIRECT, 0));
	cr_assert(take(&direct[1], 1, DIRECT, 0));
	cr_assert_not(take(&cached, 0, CACHED, 0));
	end(&direct[0], 0);
	cr_assert_not(file_turn_has(turns, &cached));
	cr_assert_not(
		take(&behind, 1, DIRECT, folio - 512), "it would overtake the one that waits");
	end(&direct[1], 1);
	cr_assert(file_turn_has(turns, &cached));
	cr_assert_not(file_turn_has(turns, &behind));
	end(&cached, 0);
	cr_assert(file_turn_has(turns, &behind));
	end(&behind, 1);
	end(&behind, 1);
}

Test(file_turn, once_registered_only_those_that_share_a_folio_wait)
{
	struct file_turn first = { 0 }, direct[3] = { 0 }, cached[3] = { 0 };

	cr_assert(take(&first, 0, CACHED, 0));
	cr_assert(take(&direct[0], 1, DIRECT, folio));
	cr_assert(take(&direct[1], 1, DIRECT, 2 * folio));
	cr_assert(take(&cached[0], 0, CACHED, 512), "as the first one");
	cr_assert_not(take(&cached[1], 0, CACHED, folio + 512));
	cr_assert(take(&cached[2], 0, CACHED, 3 * folio));
	cr_assert_not(take(&direct[2], 1, DIRECT, 4 * folio - 256), "which ends in the next folio");
	end(&cached[2], 0);
	cr_assert(file_turn_has(turns, &direct[2]));
	end(&direct[0], 1);
	cr_assert(file_turn_has(turns, &cached[1]));
	end(&first, 0);
	end(&cached[0], 0);
	end(&cached[1], 0);
	end(&direct[1], 1);
	end(&direct[2], 1);
}

Test(file_turn, a_change_that_gives_up_lets_the_next_one_go)
{
	struct file_turn direct = { 0 }, cached = { 0 }, next = { 0 };

	cr_assert(take(&direct, 0, DIRECT, 0));
	cr_assert_not(take(&cached, 0, CACHED, 0));
	cr_assert_not(take(&next, 0, DIRECT, 0));
	end(&cached, 0);
	cr_assert(file_turn_has(turns, &next));
	end(&next, 0);
	end(&direct, 0);
}

Test(file_turn, long_after_the_last_cached_change_they_are_only_counted)
{
	struct file_turn direct = { 0 }, cached = { 0 };
	unsigned registered = 0;

	cr_assert(take(&cached, 0, CACHED, 0));
	end(&cached, 0);
	for (; registered < 100000 && !pace[0].direct; registered++) {
		end(&direct, 0);
		cr_assert(take(&direct, 0, DIRECT, 0));
	}
	cr_assert_gt(registered, 100);
	cr_assert_eq(pace[0].direct, 1);
	cr_assert_not(take(&cached, 1, CACHED, folio), "the other's range is unknown");
	end(&direct, 0);
	cr_assert(file_turn_has(turns, &cached));
	end(&cached, 1);
}

Test(file_turn, without_direct_io_nothing_waits)
{
	struct file_turn turn[2] = { 0 };

	file_turns_direct(turns, false);
	cr_assert(take(&turn[0], 0, CACHED, 0));
	cr_assert(take(&turn[1], 0, CACHED, 0));
	end(&turn[0], 0);
	end(&turn[1], 0);
}

static unsigned inside[2], overlaps; /* atomic: changes of each kind to one folio */

static void *change(void *arg)
{
	const unsigned lane = *(unsigned *)arg;

	for (unsigned i = 0; i < 20000; i++) {
		const bool cached = lane ? i % 64 == 0 : i % 4096 == 0;
		struct file_turn turn = { 0 };

		if (!take(&turn, lane, cached, 0))
			while (!file_turn_has(turns, &turn))
				sched_yield();
		__atomic_add_fetch(&inside[cached], 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&inside[!cached], __ATOMIC_SEQ_CST))
			__atomic_add_fetch(&overlaps, 1, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&inside[cached], 1, __ATOMIC_SEQ_CST);
		end(&turn, lane);
	}
	return NULL;
}

Test(file_turn, two_threads)
{
	unsigned lane[2] = { 0, 1 };
	pthread_t thread[2];

	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, change, &lane[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	cr_assert_eq(overlaps, 0);
}
