/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What every protocol on core/target has without a line of its own: fairness between hosts, time
 * limits, drain and stop, fences, limits, statistics. A protocol is a row of guest.h, and a program
 * of FRAME_TESTS(row). */
#pragma once
#include "guest.h"
#include <criterion/criterion.h>

/* What other hosts do. */
void frame_quiet(struct guest *);
void frame_silent(struct guest *);
void frame_frozen(struct guest *); /* its writes get no data */
void frame_half_frozen(struct guest *);
void frame_deaf(struct guest *); /* takes no replies */
void frame_greedy(struct guest *);
void frame_greedy_writes(struct guest *);

/* ended: a time limit ends what they do. */
void frame_beside(const struct guest_kind *, void (*how)(struct guest *), bool ended);
void frame_beside_slow(const struct guest_kind *);
void frame_beside_greedy(const struct guest_kind *, void (*how)(struct guest *));
void frame_beside_names(const struct guest_kind *, bool here); /* of its own address */
void frame_drains(const struct guest_kind *);
void frame_stops_under(const struct guest_kind *, void (*how)(struct guest *));
void frame_stops_with_a_late_disk(const struct guest_kind *);
void frame_stops_with_a_dead_disk(const struct guest_kind *);
void frame_fences(const struct guest_kind *);
void frame_makes_room(const struct guest_kind *);
void frame_gives_way(const struct guest_kind *);
void frame_counts(const struct guest_kind *);
void frame_threads(const struct guest_kind *);

#define FRAME(test, ...)                                                                           \
	Test(frame, test)                                                                          \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}
#define FRAME_TESTS(kind)                                                                          \
	extern const struct guest_kind kind;                                                       \
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
	FRAME(stops_with_a_late_disk, frame_stops_with_a_late_disk(&kind))                         \
	FRAME(stops_with_a_dead_disk, frame_stops_with_a_dead_disk(&kind))                         \
	FRAME(fences, frame_fences(&kind))                                                         \
	FRAME(makes_room, frame_makes_room(&kind))                                                 \
	FRAME(gives_way, frame_gives_way(&kind))                                                   \
	FRAME(counts, frame_counts(&kind))                                                         \
	FRAME(threads, frame_threads(&kind))
