/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tests of what core/target provides for every protocol: fairness between hosts, time limits, drain
 * and stop, fences, limits, statistics. A protocol supplies a struct frame_kind (frame_client.h)
 * and a test program with FRAME_TESTS(kind). */
#pragma once
#include "frame_client.h"
#include <criterion/criterion.h>

/* Behaviour of the other hosts. */
void frame_quiet(struct frame_client *);
void frame_silent(struct frame_client *);
void frame_frozen(struct frame_client *); /* its writes get no data */
void frame_half_frozen(struct frame_client *);
void frame_deaf(struct frame_client *); /* takes no replies */
void frame_greedy(struct frame_client *);
void frame_greedy_writes(struct frame_client *);

/* ended: a time limit ends their connections. */
void frame_beside(const struct frame_kind *, void (*how)(struct frame_client *), bool ended);
void frame_beside_slow(const struct frame_kind *);
void frame_beside_greedy(const struct frame_kind *, void (*how)(struct frame_client *));
void frame_beside_names(const struct frame_kind *, bool here); /* of its own address */
void frame_drains(const struct frame_kind *);
void frame_stops_under(const struct frame_kind *, void (*how)(struct frame_client *));
void frame_stops_with_a_slow_disk(const struct frame_kind *);
void frame_stops_with_a_dead_disk(const struct frame_kind *);
void frame_fences(const struct frame_kind *);
void frame_makes_room(const struct frame_kind *);
void frame_gives_way(const struct frame_kind *);
void frame_counts(const struct frame_kind *);
void frame_threads(const struct frame_kind *);

#define FRAME(test, ...)                                                                           \
	Test(frame, test)                                                                          \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}
#define FRAME_TESTS(kind)                                                                          \
	extern const struct frame_kind kind;                                                       \
	FRAME(beside_silent, frame_beside(&kind, frame_silent, kind.open_limit))                   \
	FRAME(beside_idle, frame_beside(&kind, frame_quiet, false))                                \
	FRAME(beside_frozen, frame_beside(&kind, frame_frozen, kind.give_limit))                   \
	FRAME(beside_half_frozen, frame_beside(&kind, frame_half_frozen, kind.give_limit))         \
	FRAME(beside_deaf, frame_beside(&kind, frame_deaf, kind.take_limit))                       \
	FRAME(beside_slow, frame_beside_slow(&kind))                                               \
	FRAME(beside_greedy_reads, frame_beside_greedy(&kind, frame_greedy))                       \
	FRAME(beside_greedy_writes, frame_beside_greedy(&kind, frame_greedy_writes))               \
	FRAME(beside_names_of_another_address, frame_beside_names(&kind, false))                   \
	FRAME(beside_names_of_its_own_address, frame_beside_names(&kind, true))                    \
	FRAME(drains, frame_drains(&kind))                                                         \
	FRAME(stops_under_silent, frame_stops_under(&kind, frame_silent))                          \
	FRAME(stops_under_frozen, frame_stops_under(&kind, frame_frozen))                          \
	FRAME(stops_under_deaf, frame_stops_under(&kind, frame_deaf))                              \
	FRAME(stops_under_greedy, frame_stops_under(&kind, frame_greedy))                          \
	FRAME(stops_with_a_slow_disk, frame_stops_with_a_slow_disk(&kind))                         \
	FRAME(stops_with_a_dead_disk, frame_stops_with_a_dead_disk(&kind))                         \
	FRAME(fences, frame_fences(&kind))                                                         \
	FRAME(makes_room, frame_makes_room(&kind))                                                 \
	FRAME(gives_way, frame_gives_way(&kind))                                                   \
	FRAME(counts, frame_counts(&kind))                                                         \
	FRAME(threads, frame_threads(&kind))
