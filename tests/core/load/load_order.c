/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The order of a random load is a permutation, whatever the number of blocks, and looks random. */
#include "load_order.h"
#include <criterion/criterion.h>
#include <stdlib.h>

Test(load_order, every_block_exactly_once)
{
	static const uint64_t counts[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 100, 255, 256,
		257, 1000, 4097, 65537, 99991, 300000 };

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (uint64_t seed = 0; seed < 5; seed++) {
			struct load_order order;
			uint8_t *seen = calloc(1, counts[i]);

			load_order_init(&order, counts[i], seed * 0x123456789u);
			for (uint64_t n = 0; n < counts[i]; n++) {
				uint64_t block = load_order_at(&order, n);

				cr_assert_lt(block, counts[i]);
				cr_assert(!seen[block]++, "%lu blocks, seed %lu: block %lu twice",
					counts[i], seed, block);
			}
			free(seen);
		}
}

Test(load_order, stays_inside_a_huge_disk)
{
	static const uint64_t counts[] = { (1ull << 40) + 1, (1ull << 55) - 1, 1ull << 63,
		UINT64_MAX };

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct load_order order;

		load_order_init(&order, counts[i], 42);
		for (uint64_t n = 0; n < 10000; n++)
			cr_assert_lt(load_order_at(&order, n), counts[i]);
	}
}

/* Each eighth of the disk gets its share of every 8192 requests in a row, and neighbours rarely
 * follow each other. */
Test(load_order, looks_random)
{
	for (uint64_t seed = 0; seed < 8; seed++) {
		const uint64_t count = 1000003;
		uint64_t last = 0, near = 0, part[8] = { 0 };
		struct load_order order;

		load_order_init(&order, count, seed);
		for (uint64_t n = 0; n < 8192; n++) {
			uint64_t block = load_order_at(&order, n),
				 step = block > last ? block - last : last - block;

			part[block * 8 / count]++;
			near += step < count / 100;
			last = block;
		}
		for (unsigned i = 0; i < 8; i++)
			cr_assert(part[i] > 850 && part[i] < 1200,
				"seed %lu: part %u has %lu of 8192", seed, i, part[i]);
		cr_assert(near > 80 && near < 280,
			"seed %lu: %lu of 8192 are within 1 %% of the one before", seed, near);
	}
}

Test(load_order, another_seed_is_another_order)
{
	struct load_order a, b;
	unsigned same = 0;

	load_order_init(&a, 1000, 1);
	load_order_init(&b, 1000, 2);
	for (uint64_t n = 0; n < 1000; n++)
		same += load_order_at(&a, n) == load_order_at(&b, n);
	cr_assert_lt(same, 20);
}
