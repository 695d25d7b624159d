/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The STag table of one loop. A tag consists of an index into the table and a key that changes with
 * each use of the entry, so that a late message for released memory fails. Tagged offsets count
 * from the pool's first byte, so that peers learn no addresses. */
#include "stag.h"
#include "dom.h"
#include "grow.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STAGS_MAX 0x10000

static const char local_key;

static void stags_fini(struct loop_local *local)
{
	struct stags *stags = container_of(local, struct stags, local);

	dom_free(stags->loop, stags->dom);
	free(stags->region);
	free(stags);
}

int stags_of_loop(struct stags **out, struct loop *loop, struct diag *diag)
{
	struct loop_local *local = loop_local_find(loop, &local_key);
	struct stags *stags;
	int err;

	if (local) {
		*out = container_of(local, struct stags, local);
		return 0;
	}
	stags = calloc(1, sizeof(*stags));
	if (!stags)
		return diag_sys(diag, ENOMEM, "software iWARP");
	stags->loop = loop;
	err = dom_alloc(loop, &stags->dom, diag);
	if (err) {
		free(stags);
		return err;
	}
	stags->local = (struct loop_local){ .key = &local_key, .fini = stags_fini };
	loop_local_add(loop, &stags->local);
	*out = stags;
	return 0;
}

static uint32_t place(uint32_t stag)
{
	return (stag >> 8) - 1;
}

static struct stag_region *region_new(struct stags *stags, struct pool *pool)
{
	struct stag_region *region = calloc(1, sizeof(*region));
	uint32_t at = 0;

	while (at < stags->size && stags->region[at])
		at++;
	if (!region || at == STAGS_MAX ||
		(at == stags->size && !grow_by(stags->region, stags->size, at ? at : 8))) {
		free(region);
		return NULL;
	}
	*region = (struct stag_region){ .pool = pool,
		.stag = (at + 1) << 8 | (++stags->serial & 0xff) };
	stags->region[at] = region;
	pool->mr[stags->dom] = region;
	pool->key[stags->dom] = (struct mkey){ region->stag, region->stag, 0 };
	return region;
}

static void region_put(struct stags *stags, struct stag_region *region)
{
	struct pool *pool = region->pool;

	pool->refs[stags->dom]--;
	if (--region->refs)
		return;
	stags->region[place(region->stag)] = NULL;
	pool->mr[stags->dom] = NULL;
	pool->key[stags->dom] = (struct mkey){ 0 };
	free(region);
}

int stag_reg(struct stags *stags, struct stag_holds *holds, struct pool *pool, unsigned access,
	struct diag *diag)
{
	struct stag_region *region = pool->mr[stags->dom];
	struct stag_hold *hold;
	uint32_t at;

	if (!region)
		region = region_new(stags, pool);
	if (!region)
		return diag_sys(diag, ENOMEM, "registration");
	at = place(region->stag);
	region->refs++;
	pool->refs[stags->dom]++;
	if (at >= holds->size && !grow_by(holds->hold, holds->size, at + 1 - holds->size)) {
		region_put(stags, region);
		return diag_sys(diag, ENOMEM, "registration");
	}
	hold = &holds->hold[at];
	hold->refs++;
	hold->access |= (uint8_t)access;
	hold->invalidated = false;
	return 0;
}

void stag_unreg(struct stags *stags, struct stag_holds *holds, struct pool *pool)
{
	struct stag_region *region = pool->mr[stags->dom];
	struct stag_hold *hold = region && place(region->stag) < holds->size
					 ? &holds->hold[place(region->stag)]
					 : NULL;

	if (!hold || !hold->refs)
		return;
	if (!--hold->refs)
		*hold = (struct stag_hold){ 0 };
	region_put(stags, region);
}

static struct stag_hold *hold_of(const struct stags *stags, const struct stag_holds *holds,
	uint32_t stag, enum stag_fault *fault)
{
	uint32_t at = place(stag);
	struct stag_hold *hold;

	*fault = STAG_UNKNOWN;
	if (at >= stags->size || !stags->region[at] || stags->region[at]->stag != stag)
		return NULL;
	*fault = STAG_NOT_YOURS;
	hold = at < holds->size ? &holds->hold[at] : NULL;
	if (!hold || !hold->refs)
		return NULL;
	*fault = STAG_UNKNOWN;
	return hold->invalidated ? NULL : hold;
}

enum stag_fault stag_find(const struct stags *stags, const struct stag_holds *holds, uint32_t stag,
	uint64_t to, uint32_t len, unsigned access, uint8_t **p)
{
	enum stag_fault fault;
	const struct stag_hold *hold = hold_of(stags, holds, stag, &fault);
	const struct pool *pool;
	uint64_t end;

	if (!hold)
		return fault;
	if ((hold->access & access) != access)
		return STAG_RIGHTS;
	if (__builtin_add_overflow(to, len, &end))
		return STAG_WRAP;
	pool = stags->region[place(stag)]->pool;
	if (end > pool->len)
		return STAG_BOUNDS;
	*p = pool->base + to;
	return STAG_OK;
}

uint64_t stag_offset(const struct stags *stags, uint32_t stag, const void *p)
{
	uint32_t at = place(stag);

	if (at >= stags->size || !stags->region[at])
		return 0;
	return pool_raddr(stags->region[at]->pool, stags->dom, p);
}

enum stag_fault stag_invalidate(
	const struct stags *stags, const struct stag_holds *holds, uint32_t stag)
{
	enum stag_fault fault;
	struct stag_hold *hold = hold_of(stags, holds, stag, &fault);

	if (!hold)
		return fault;
	if (!(hold->access & (EP_REMOTE_READ | EP_REMOTE_WRITE)))
		return STAG_RIGHTS;
	hold->invalidated = true;
	return STAG_OK;
}
