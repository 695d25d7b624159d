/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data-path memory: pools of equal buffers, made at connect, registered once per domain. A domain
 * is one RDMA device in one role on one loop; a submit reads pool->key[lane->dom]. A pool belongs
 * to one loop's thread. */
#pragma once
#include "diag.h"
#include <stddef.h>
#include <stdint.h>

#define POOL_DOMS 8    /* domains one loop can have */
#define DOM_NONE  0xff /* of a lane that needs no registration */

struct mkey {
	uint32_t lkey, rkey;
	/* what peers call the pool's first byte: verbs its address, software iWARP 0 */
	uint64_t raddr;
};

struct pool {
	uint8_t *base;
	size_t len;
	uint32_t each, count; /* each is a multiple of the page size */
	struct mkey key[POOL_DOMS];
	void *mr[POOL_DOMS];      /* the registration, its owner's type */
	uint16_t refs[POOL_DOMS]; /* how often this domain was asked for it */
};

/* A buffer handed to the data path: bytes [0, len) of p are used. */
struct buf {
	uint8_t *p;
	uint32_t cap;
	const struct pool *pool;
};

/* Zeroed memory for data: page-aligned, in huge pages where it is long enough, of this process only
 * (MADV_DONTFORK). For munmap(). NULL: errno says why. */
void *mem_map(size_t len, int mmap_flags);

/* of mem_map() */
int pool_new(struct pool **, uint32_t each, uint32_t count, struct diag *);
void pool_free(struct pool *); /* needs: unmapped everywhere */
static inline struct buf pool_buf(const struct pool *pool, uint32_t index)
{
	return (struct buf){ pool->base + (size_t)index * pool->each, pool->each, pool };
}
/* The remote address of p, which lies in the pool. */
static inline uint64_t pool_raddr(const struct pool *pool, uint8_t dom, const void *p)
{
	return pool->key[dom].raddr + (uint64_t)((const uint8_t *)p - pool->base);
}

/* RLIMIT_MEMLOCK was too small for so many bytes more: 0 when it could be raised, otherwise names
 * the number needed. */
int mem_lock_room(size_t bytes, struct diag *);
