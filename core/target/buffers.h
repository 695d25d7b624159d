/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The data buffers of one worker, of one size, and the only line for them. A command waits in the
 * order of arrival, and until its connection's share allows it: at most three quarters, so that a
 * slow or malicious host can't take them all. */
#pragma once
#include "target.h"

struct target_buffers {
	struct loop *loop;
	struct pool *pool;
	uint16_t *stack;     /* free ones, the warmest on top */
	unsigned free, most; /* most: of one share */
	struct target_claim *line, **line_end;
	struct loop_work work;
};
int target_buffers_init(
	struct target_buffers *, struct loop *, uint32_t each, uint16_t count, struct diag *);
/* allowed on a zeroed one; needs: all given back, the pool unmapped */
void target_buffers_fini(struct target_buffers *);
/* True: claim->buf is there. False: the claim is in the line, ready() comes. */
bool target_buffers_take(struct target_buffers *, struct target_claim *);
/* Gives the buffer back, or leaves the line, or nothing; needs: no transfer under way. */
void target_buffers_give(struct target_buffers *, struct target_claim *);
