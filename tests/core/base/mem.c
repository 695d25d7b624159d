/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory for data: where it begins and ends, and what the kernel is asked for it. */
#include "mem.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* Whether the mapping that begins there has the flag of smaps(5). */
static bool has_flag(const uint8_t *p, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512], with_blank[8];
	bool here = false, found = false;
	unsigned long from, to;

	cr_assert(f);
	snprintf(with_blank, sizeof(with_blank), " %s", flag);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = (uintptr_t)p >= from && (uintptr_t)p < to;
		else if (here && !strncmp(line, "VmFlags:", 8))
			found = strstr(line, with_blank);
	}
	fclose(f);
	return found;
}

static bool is_mapped(const uint8_t *p)
{
	unsigned char resident;

	return !mincore((void *)(uintptr_t)p, 1, &resident);
}

Test(mem, long_memory_begins_with_a_huge_page)
{
	static const size_t lens[] = { 2 * MIB, 2 * MIB + 4096, 5 * MIB, 64 * MIB + 1 };

	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t whole = (lens[i] + 4095) & ~(size_t)4095;
		uint8_t *p = mem_map(lens[i], MAP_NORESERVE);

		cr_assert(p);
		cr_assert_eq((uintptr_t)p % (2 * MIB), 0);
		cr_assert(is_mapped(p) && is_mapped(p + whole - 4096));
		cr_assert(has_flag(p, "dc"), "a child gets a copy");
		cr_assert(has_flag(p, "hg") || access("/sys/kernel/mm/transparent_hugepage", F_OK));
		p[0] = p[lens[i] - 1] = 1;
		cr_assert_eq(p[lens[i] / 2], 0);
		munmap(p, lens[i]);
		cr_assert_not(is_mapped(p) || is_mapped(p + whole - 4096));
	}
}

Test(mem, short_memory_has_plain_pages)
{
	uint8_t *p = mem_map(2 * MIB - 4096, 0);

	cr_assert(p);
	cr_assert(has_flag(p, "dc"));
	cr_assert_not(has_flag(p, "hg"));
	munmap(p, 2 * MIB - 4096);
}

static long mapped_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages;

	cr_assert(f && fscanf(f, "%ld", &pages) == 1);
	fclose(f);
	return pages;
}

Test(mem, the_alignment_leaves_nothing_mapped)
{
	long before = mapped_pages();

	for (unsigned i = 0; i < 100; i++)
		munmap(mem_map(2 * MIB + 4096, MAP_NORESERVE), 2 * MIB + 4096);
	cr_assert_lt(mapped_pages(), before + 10 * (long)(2 * MIB / 4096));
}

Test(mem, too_long)
{
	cr_assert_null(mem_map((size_t)1 << 62, MAP_NORESERVE));
	cr_assert_eq(errno, ENOMEM);
}

Test(mem, a_pool_is_such_memory)
{
	struct pool *pool;

	cr_assert_eq(pool_new(&pool, 131072, 64, NULL), 0);
	cr_assert_eq((uintptr_t)pool->base % (2 * MIB), 0);
	cr_assert_eq(pool->len, 8 * MIB);
	cr_assert(has_flag(pool->base, "dc"));
	cr_assert_eq(pool_buf(pool, 63).p, pool->base + 63 * 131072);
	pool_free(pool);
}
