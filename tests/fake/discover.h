/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One discovery that is waited for. */
#pragma once
#include "nvmf.h"

struct waited {
	struct nvmf_discovery discovery;
	volatile int over;
};

static void waited_over(struct nvmf_discovery *discovery)
{
	container_of(discovery, struct waited, discovery)->over = 1;
}

/* hops 0: no referral is followed */
static int discover(struct loop *loop, struct uri *uri, const struct bdev_env *env, unsigned hops,
	struct nvmf_log *log, struct diag *why)
{
	struct waited wait = { .discovery = {
				       .referrals = hops, .max_hops = hops, .done = waited_over } };
	int err = nvmf_discovery_start(&wait.discovery, loop, uri, env, why);

	*log = (struct nvmf_log){ 0 };
	if (err)
		return err;
	loop_wait(loop, &wait.over, 0);
	*log = wait.discovery.log;
	*why = wait.discovery.why;
	return -why->err;
}
