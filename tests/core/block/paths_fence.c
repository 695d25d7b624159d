/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A lost connection that another one of the target fences: writes wait only for that. If it can't
 * be fenced, they wait for the quiet time. */
/* Link: leap */
#include "flaky_rig.h"
#include <criterion/criterion.h>
#include <errno.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, NULL };

#define QUIET 5000

static bool keeps_identity;

/* fences: bits of the ways that can be fenced */
static void begin(struct rig *rig, const char *uri, unsigned fences)
{
	rig_init(rig);
	for (unsigned i = 0; i < 3; i++) {
		rig->way[i].quiesce_ms = QUIET;
		rig->way[i].fences = fences >> i & 1;
		rig->way[i].keeps_identity = keeps_identity;
	}
	atomic_store(&rig->way[0].hold, true);
	rig_open(rig, uri);
	rig_turn_for(rig, 100);
}

/* The first way dies with a write in flight. It refuses `away` attempts. */
static void lose(struct rig *rig, struct req *write, int away)
{
	req_submit(rig, write, IO_WRITE, 0);
	rig_turn_for(rig, 5);
	atomic_store(&rig->way[0].refuse, away);
	cr_assert(flaky_kill(&rig->way[0]));
}

static bool waited_for_quiet(struct rig *rig, const struct req *write)
{
	return write->done_ns >= atomic_load(&rig->way[0].died_ns) + QUIET * MSEC;
}

Test(paths_fence, another_path_fences_the_lost_one)
{
	struct req write, flush;
	struct rig rig;

	begin(&rig, "flaky://a/?path=b", 7);
	rig.way[1].fence_ms = 30;
	lose(&rig, &write, 1000);
	rig_turn_for(&rig, 20);
	req_submit(&rig, &flush, IO_FLUSH, 1);
	cr_assert_eq(atomic_load(&rig.way[1].done[IO_WRITE]), 1, "replayed at once");
	cr_assert_not(write.over, "not before the fence");
	cr_assert(req_wait(&rig, &write, 1000));
	cr_assert_eq(write.io.status, 0);
	cr_assert_eq(atomic_load(&rig.way[1].fences_made), 1);
	cr_assert(req_wait(&rig, &flush, 1000));
	rig_fini(&rig);
}

/* The new connection fences the one before. */
Test(paths_fence, the_path_itself_does_once_it_is_back)
{
	struct req write;
	struct rig rig;

	begin(&rig, "flaky://a/", 7);
	lose(&rig, &write, 2);
	atomic_store(&rig.way[0].hold, false);
	cr_assert(req_wait(&rig, &write, 2000));
	cr_assert_eq(write.io.status, 0);
	cr_assert_eq(atomic_load(&rig.way[0].fences_made), 1);
	rig_fini(&rig);
}

Test(paths_fence, a_target_that_cannot_is_waited_for)
{
	struct req write;
	struct rig rig;

	begin(&rig, "flaky://a/?path=b", 2);
	lose(&rig, &write, 1000);
	cr_assert(req_wait(&rig, &write, 2 * QUIET));
	cr_assert(waited_for_quiet(&rig, &write));
	cr_assert_eq(atomic_load(&rig.way[1].fences_made), 0);
	rig_fini(&rig);
}

Test(paths_fence, one_that_fails_is_not_believed)
{
	struct req write;
	struct rig rig;

	begin(&rig, "flaky://a/?path=b", 7);
	for (unsigned i = 1; i < 3; i++)
		atomic_store(&rig.way[i].fence_err, -EIO);
	lose(&rig, &write, 1000);
	cr_assert(req_wait(&rig, &write, 2 * QUIET));
	cr_assert(waited_for_quiet(&rig, &write));
	cr_assert_eq(atomic_load(&rig.way[1].fences_made), 0, "nor tried again and again");
	rig_fini(&rig);
}

/* The write was sent on two paths that were lost, and only one of them is fenced. */
Test(paths_fence, all_losses_of_a_write_count)
{
	struct req write;
	struct rig rig;

	begin(&rig, "flaky://a/?path=b&path=c", 5);
	atomic_store(&rig.way[1].hold, true);
	lose(&rig, &write, 1000);
	rig_turn_for(&rig, 50);
	atomic_store(&rig.way[1].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[1]));
	cr_assert(req_wait(&rig, &write, 2 * QUIET));
	cr_assert(waited_for_quiet(&rig, &write));
	cr_assert_geq(atomic_load(&rig.way[2].done[IO_WRITE]), 1);
	rig_fini(&rig);
}

/* The path that fences is lost, too: the next one does it. */
Test(paths_fence, a_lost_fence_is_repeated_by_the_next_path)
{
	struct req write;
	struct rig rig;

	begin(&rig, "flaky://a/?path=b&path=c", 7);
	rig.way[1].fence_ms = 50;
	lose(&rig, &write, 1000);
	rig_turn_for(&rig, 20);
	atomic_store(&rig.way[1].refuse, 1000);
	cr_assert(flaky_kill(&rig.way[1]));
	cr_assert(req_wait(&rig, &write, 2000));
	cr_assert_eq(atomic_load(&rig.way[2].fences_made) >= 1, true);
	rig_fini(&rig);
}

/* Its next connection would end the one that is being fenced. */
Test(paths_fence, a_path_that_keeps_its_identity_is_not_reopened_before)
{
	struct req write;
	struct rig rig;
	int attempts;

	keeps_identity = true;
	begin(&rig, "flaky://a/?path=b", 7);
	rig_turn_for(&rig, 6000); /* so that it is reopened at once */
	attempts = atomic_load(&rig.way[0].attempts);
	for (unsigned i = 0; i < 2; i++) {
		atomic_store(&rig.way[0].hold, true);
		rig.way[1].fence_ms = i ? 4000 : 300;
		lose(&rig, &write, 0);
		rig_turn_for(&rig, 250);
		cr_assert_eq(atomic_load(&rig.way[0].attempts), attempts);
		atomic_store(&rig.way[0].hold, false);
		if (i)
			cr_assert(flaky_kill(&rig.way[1]), "the other one is lost, too");
		rig_turn_for(&rig, 300);
		cr_assert_eq(atomic_load(&rig.way[0].attempts), ++attempts);
		cr_assert(req_wait(&rig, &write, 2 * QUIET));
		rig_turn_for(&rig, 6000);
	}
	rig_fini(&rig);
}

/* What the user asks for holds with a fence, too. */
Test(paths_fence, quiesce_is_the_least)
{
	struct req write;
	struct rig rig;

	begin(&rig, "flaky://a/?path=b&quiesce=2", 7);
	lose(&rig, &write, 1000);
	cr_assert(req_wait(&rig, &write, 2 * QUIET));
	cr_assert_geq(write.done_ns, atomic_load(&rig.way[0].died_ns) + 2000 * MSEC);
	cr_assert_lt(write.done_ns, atomic_load(&rig.way[0].died_ns) + 3000 * MSEC);
	rig_fini(&rig);
}

/* A later connection of the path is another one: the fence of the first is not its own. */
Test(paths_fence, each_connection_is_fenced_on_its_own)
{
	struct req first, second;
	struct rig rig;

	begin(&rig, "flaky://a/?path=b", 7);
	lose(&rig, &first, 1);
	cr_assert(req_wait(&rig, &first, 1000));
	rig_turn_for(&rig, 2000);
	rig.way[1].fence_ms = 300;
	lose(&rig, &second, 1000);
	rig_turn_for(&rig, 100);
	cr_assert_not(second.over);
	cr_assert(req_wait(&rig, &second, 1000));
	cr_assert_geq(atomic_load(&rig.way[1].fences_made), 2);
	rig_fini(&rig);
}

/* The first connection could not be fenced; that the second one is says nothing of it. */
Test(paths_fence, a_later_fence_says_nothing_of_an_earlier_connection)
{
	struct req first, second;
	struct rig rig;
	uint64_t quiet;

	begin(&rig, "flaky://a/?path=b", 7);
	for (unsigned i = 0; i < 2; i++)
		atomic_store(&rig.way[i].fence_err, -EIO);
	lose(&rig, &first, 1);
	quiet = atomic_load(&rig.way[0].died_ns) + QUIET * MSEC;
	rig_turn_for(&rig, 2000);
	lose(&rig, &second, 1000);
	cr_assert(req_wait(&rig, &second, 1000));
	cr_assert_not(first.over);
	cr_assert(req_wait(&rig, &first, 2 * QUIET));
	cr_assert_geq(first.done_ns, quiet);
	rig_fini(&rig);
}

/* It is lost again while another path is still fencing its first connection. */
Test(paths_fence, a_second_loss_waits_for_the_fence_of_the_first)
{
	struct req first, second;
	struct rig rig;

	begin(&rig, "flaky://a/?path=b", 7);
	rig.way[1].fence_ms = 2000;
	lose(&rig, &first, 1);
	rig_turn_for(&rig, 1500);
	lose(&rig, &second, 1000);
	cr_assert_not(first.over);
	cr_assert(req_wait(&rig, &first, 1000));
	cr_assert_not(second.over);
	cr_assert(req_wait(&rig, &second, 3000));
	cr_assert_eq(atomic_load(&rig.way[1].fences_made), 2);
	rig_fini(&rig);
}
