/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The order in which a random load visits blocks: a keyed permutation without memory per block, so
 * each pass visits every block exactly once. */
#pragma once
#include <stdint.h>

struct load_order {
	uint64_t count, mask, key[3];
	uint8_t shift;
};

/* Create a permutation of 0 … count - 1 (count > 0), which depends on the seed. */
void load_order_init(struct load_order *, uint64_t count, uint64_t seed);
/* Get the block at position n < count. */
uint64_t load_order_at(const struct load_order *, uint64_t n);
