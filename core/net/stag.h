/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Steering tags: which of our memory a peer may access. One table per loop; an endpoint's holds are
 * its own registrations. */
#pragma once
#include "ep.h"

struct stag_region { /* one registration of a pool: pool->mr[dom] */
	struct pool *pool;
	uint32_t stag, refs;
};

struct stags {
	struct loop_local local;
	struct loop *loop;
	struct stag_region **region; /* index: (stag >> 8) - 1 */
	uint32_t size, serial;
	uint8_t dom;
};

struct stag_hold {
	uint16_t refs;
	uint8_t access;
	/* the peer invalidated it: this endpoint can't use it until it registers the pool again */
	bool invalidated;
};

struct stag_holds {
	struct stag_hold *hold;
	uint32_t size;
};

enum stag_fault { STAG_OK, STAG_UNKNOWN, STAG_NOT_YOURS, STAG_RIGHTS, STAG_BOUNDS, STAG_WRAP };

int stags_of_loop(struct stags **, struct loop *, struct diag *);
int stag_reg(struct stags *, struct stag_holds *, struct pool *, unsigned access, struct diag *);
void stag_unreg(struct stags *, struct stag_holds *, struct pool *);
/* Find the memory [to, to + len) of the tag, if the endpoint may use it with all rights in
 * `access`. */
enum stag_fault stag_find(const struct stags *, const struct stag_holds *, uint32_t stag,
	uint64_t to, uint32_t len, unsigned access, uint8_t **p);
/* The tagged offset of p; 0 if the tag is unknown. */
uint64_t stag_offset(const struct stags *, uint32_t stag, const void *p);
enum stag_fault stag_invalidate(const struct stags *, const struct stag_holds *, uint32_t stag);
