/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The data buffers of one worker, and the line for them. */
#include "buffers.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static bool may_have(const struct target_buffers *buffers, const struct target_claim *claim)
{
	return buffers->free && claim->share->held < buffers->most;
}

static void hand_out(struct target_buffers *buffers, struct target_claim *claim)
{
	claim->buf = pool_buf(buffers->pool, buffers->stack[--buffers->free]);
	claim->share->held++;
}

static void leave_line(struct target_buffers *buffers, struct target_claim **at)
{
	struct target_claim *claim = *at;

	*at = claim->next;
	if (!*at)
		buffers->line_end = at;
	claim->waiting = false;
}

/* Hands out what was given back. ready() may change the line, so each walk starts at its front. */
static void serve_line(struct loop_work *work)
{
	struct target_buffers *buffers = container_of(work, struct target_buffers, work);

	while (buffers->free) {
		struct target_claim **at = &buffers->line, *claim;

		while (*at && !may_have(buffers, *at))
			at = &(*at)->next;
		claim = *at;
		if (!claim)
			return;
		leave_line(buffers, at);
		hand_out(buffers, claim);
		claim->ready(claim);
	}
}

int target_buffers_init(struct target_buffers *buffers, struct loop *loop, uint32_t each,
	uint16_t count, struct diag *diag)
{
	int err = pool_new(&buffers->pool, each, count, diag);

	if (err)
		return err;
	buffers->stack = calloc(count, sizeof(*buffers->stack));
	if (!buffers->stack) {
		pool_free(buffers->pool);
		buffers->pool = NULL;
		return diag_sys(diag, ENOMEM, "%u data buffers", count);
	}
	buffers->loop = loop;
	buffers->most = count > 1 ? count - (count + 3u) / 4 : 1;
	buffers->line_end = &buffers->line;
	buffers->work.run = serve_line;
	for (buffers->free = 0; buffers->free < count; buffers->free++)
		buffers->stack[buffers->free] = (uint16_t)(count - 1 - buffers->free);
	return 0;
}

void target_buffers_fini(struct target_buffers *buffers)
{
	if (!buffers->pool)
		return;
	assert(buffers->free == buffers->pool->count && !buffers->line);
	loop_work_del(buffers->loop, &buffers->work);
	pool_free(buffers->pool);
	free(buffers->stack);
	buffers->pool = NULL;
}

bool target_buffers_take(struct target_buffers *buffers, struct target_claim *claim)
{
	if (!buffers->line && may_have(buffers, claim)) {
		hand_out(buffers, claim);
		return true;
	}
	claim->waiting = true;
	claim->next = NULL;
	*buffers->line_end = claim;
	buffers->line_end = &claim->next;
	if (may_have(buffers, claim)) /* those before it may only wait for their own */
		loop_work_add(buffers->loop, &buffers->work);
	return false;
}

void target_buffers_give(struct target_buffers *buffers, struct target_claim *claim)
{
	struct target_claim **at = &buffers->line;

	if (claim->waiting) {
		while (*at != claim)
			at = &(*at)->next;
		leave_line(buffers, at);
	}
	if (!claim->buf.p)
		return;
	buffers->stack[buffers->free++] =
		(uint16_t)((size_t)(claim->buf.p - buffers->pool->base) / buffers->pool->each);
	claim->buf.p = NULL;
	claim->share->held--;
	if (buffers->line)
		loop_work_add(buffers->loop, &buffers->work);
}
