/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Buffer pools for the data path, and the locked-memory limit that applies to registering them. */
#include "mem.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20) /* the kernel knows how large they really are */

/* Align to a huge page: kernels before 6.7 don't. */
void *mem_map(size_t len, int mmap_flags)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), slack = len >= HUGE_PAGE ? HUGE_PAGE : 0, skip;
	uint8_t *p;

	len = (len + page - 1) & ~(page - 1);
	p = mmap(NULL, len + slack, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | mmap_flags, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (slack) {
		skip = -(uintptr_t)p & (HUGE_PAGE - 1);
		if (skip)
			munmap(p, skip);
		p += skip;
		munmap(p + len, slack - skip);
		madvise(p, len, MADV_HUGEPAGE);
	}
	/* after a fork, copy-on-write would move pages that a device or this process writes to */
	madvise(p, len, MADV_DONTFORK);
	return p;
}

int pool_new(struct pool **out, uint32_t each, uint32_t count, struct diag *diag)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (each + page - 1) & ~(page - 1), len;
	struct pool *pool;

	if (!each || !count || size > UINT32_MAX ||
		__builtin_mul_overflow(size, (size_t)count, &len))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid buffer pool: %u buffers of %u bytes", count, each);
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return diag_sys(diag, ENOMEM, "buffer pool");
	pool->base = mem_map(len, 0);
	if (!pool->base) {
		free(pool);
		return diag_sys(diag, ENOMEM, "%u buffers of %zu bytes", count, size);
	}
	pool->len = len;
	pool->each = (uint32_t)size;
	pool->count = count;
	*out = pool;
	return 0;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	for (int dom = 0; dom < POOL_DOMS; dom++)
		assert(!pool->refs[dom]);
	munmap(pool->base, pool->len);
	free(pool);
}

int mem_raise_memlock(size_t bytes, struct diag *diag)
{
	struct rlimit limit, all = { RLIM_INFINITY, RLIM_INFINITY };
	rlim_t before;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return diag_sys(diag, errno, "limit on locked memory");
	before = limit.rlim_cur;
	if (before == RLIM_INFINITY)
		return diag_set(diag, DIAG_NO_MEMORY, ENOMEM, "can't lock %zu KiB of memory",
			(bytes + 1023) / 1024);
	if (!setrlimit(RLIMIT_MEMLOCK, &all))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_cur > before && !setrlimit(RLIMIT_MEMLOCK, &limit))
		return 0;
	diag_set(diag, DIAG_NO_MEMORY, ENOMEM,
		"locked memory: %zu KiB more are needed, but the limit is %llu KiB",
		(bytes + 1023) / 1024, (unsigned long long)before / 1024);
	return diag_hint(diag, "raise the limit as root: ulimit -l unlimited; or run as root");
}
