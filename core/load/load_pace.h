/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A schedule of starts at a rate, which does not depend on answers: the time of a request that
 * starts late counts from when it should have started. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct load_pace {
	uint64_t next_ns; /* loop_clock() time of the next start */
	double interval_ns, rest_ns;
	bool poisson;
};

/* Start a schedule with `rate` starts per second, more than 0. poisson: times between starts are
 * exponentially distributed, as those of many independent clients; else they are equal. */
void load_pace_init(struct load_pace *, double rate, bool poisson, uint64_t now);
/* Go on to the next start. dice: random bits, used with poisson. */
void load_pace_step(struct load_pace *, uint64_t dice);
/* Skip the starts before `until` and return their number. */
uint64_t load_pace_skip(struct load_pace *, uint64_t until);
