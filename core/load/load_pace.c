/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Times of starts at a constant mean rate. */
#include "load_pace.h"
#include "arith.h"

#define LN2 0.69314718055994530942

void load_pace_init(struct load_pace *pace, double rate, bool poisson, uint64_t now)
{
	*pace = (struct load_pace){ .next_ns = now, .interval_ns = 1e9 / rate, .poisson = poisson };
}

void load_pace_step(struct load_pace *pace, uint64_t dice)
{
	double ns = pace->interval_ns;

	if (pace->poisson)
		ns *= -LN2 * arith_log2(((double)(dice >> 11) + 1) * 0x1p-53);
	ns += pace->rest_ns;
	pace->next_ns += (uint64_t)ns;
	pace->rest_ns = ns - (double)(uint64_t)ns;
}

uint64_t load_pace_skip(struct load_pace *pace, uint64_t until)
{
	uint64_t count;

	if (pace->next_ns >= until)
		return 0;
	count = (uint64_t)((double)(until - pace->next_ns - 1) / pace->interval_ns) + 1;
	pace->next_ns = until;
	return count;
}
