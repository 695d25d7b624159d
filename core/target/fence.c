/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fences: one message visits all workers in turn, so that no allocation can fail half way. All that
 * was posted to a worker before the fence began has run there when the message arrives. */
#include "frame.h"

static void fence_done(struct loop_msg *msg)
{
	struct target_fence *fence = container_of(msg, struct target_fence, hop);

	fence->done(fence);
}

static void fence_worker(struct loop_msg *msg)
{
	struct target_fence *fence = container_of(msg, struct target_fence, hop);
	const struct target *target = fence->target;
	struct target_conn *conn = target->worker[fence->worker++].conns;

	for (; conn; conn = conn->next)
		if (fence->match(fence, conn))
			target_conn_fence(conn);
	if (fence->worker == target->workers) {
		msg->run = fence_done;
		loop_post(fence->home, msg);
	} else {
		loop_post(target->worker[fence->worker].loop, msg);
	}
}

void target_fence(struct target *target, struct target_fence *fence)
{
	fence->target = target;
	fence->worker = 0;
	fence->hop.run = fence_worker;
	loop_post(target->worker[0].loop, &fence->hop);
}
