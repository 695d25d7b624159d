/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Adding a key, multiplying by an odd number, and xoring with a right shift are bijections on k
 * bits. Results beyond the last block are mapped again until they are inside (cycle walking): fewer
 * than two rounds on average. */
#include "load_order.h"

/* splitmix64 */
static uint64_t next_key(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

void load_order_init(struct load_order *order, uint64_t count, uint64_t seed)
{
	unsigned bits = count > 1 ? 64 - (unsigned)__builtin_clzll(count - 1) : 1;

	order->count = count;
	order->mask = UINT64_MAX >> (64 - bits);
	order->shift = (uint8_t)((bits + 1) / 2);
	for (unsigned i = 0; i < 3; i++)
		order->key[i] = next_key(&seed);
}

uint64_t load_order_at(const struct load_order *order, uint64_t n)
{
	static const uint64_t odd[3] = { 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu,
		0xff51afd7ed558ccdu };

	do {
		for (unsigned i = 0; i < 3; i++) {
			n = (n + order->key[i]) * odd[i] & order->mask;
			n ^= n >> order->shift;
		}
	} while (n >= order->count);
	return n;
}
