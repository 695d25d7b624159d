/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data-path memory: pools of equal buffers, allocated at connect and registered once per domain. A
 * domain is one RDMA device in one role on one loop; an endpoint uses pool->key[ep->dom]. A pool
 * belongs to one loop's thread. */
#pragma once
#include "diag.h"
#include <stddef.h>

#define POOL_DOMS 8    /* domains per loop */
#define DOM_NONE  0xff /* of an endpoint without a domain yet */

struct mkey {
	uint32_t lkey, rkey;
	uint64_t raddr; /* remote address of the pool: its address with verbs, 0 with iWARP */
};

struct pool {
	uint8_t *base;
	size_t len;
	uint32_t each, count; /* each: bytes per buffer; pool_new() rounds up to whole pages */
	struct mkey key[POOL_DOMS];
	void *mr[POOL_DOMS];      /* the registration; its type is private to the backend */
	uint16_t refs[POOL_DOMS]; /* registrations by domain */
};

/* A buffer for the data path. */
struct buf {
	uint8_t *p;
	uint32_t cap;
	const struct pool *pool;
};

/* Map zeroed memory for data: page-aligned, in huge pages if long enough, not inherited by children
 * (MADV_DONTFORK). The caller unmaps it. NULL: errno is set. */
void *mem_map(size_t len, int mmap_flags);

int pool_new(struct pool **, uint32_t each, uint32_t count, struct diag *);
/* No registration may be left. */
void pool_free(struct pool *);
static inline struct buf pool_buf(const struct pool *pool, uint32_t index)
{
	return (struct buf){ pool->base + (size_t)index * pool->each, pool->each, pool };
}
/* The remote address of p, which lies in the pool. */
static inline uint64_t pool_raddr(const struct pool *pool, uint8_t dom, const void *p)
{
	return pool->key[dom].raddr + (uint64_t)((const uint8_t *)p - pool->base);
}

/* Raise RLIMIT_MEMLOCK after locking `bytes` has failed. -ENOMEM: it can't be raised; the diag has
 * the amount that is missing. */
int mem_raise_memlock(size_t bytes, struct diag *);
