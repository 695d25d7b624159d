/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where the target listens: what comes in is handed to the carriers, and hosts are told when there
 * is another way. */
#include "tgt.h"

#define HELLO_MS 10000

_Static_assert((int)NVME_TARGET_RDMA_VERBS == WAY_VERBS &&
		       (int)NVME_TARGET_RDMA_IWARP == WAY_IWARP && (int)NVME_TARGET_TCP == WAY_TCP,
	"the same");

static void incoming_stream(int fd, const struct addr *peer, void *user)
{
	nvme_tgt_tcp_incoming(user, fd, peer);
}

static void incoming_rdma(struct ep_incoming *incoming, void *user)
{
	nvme_tgt_rdma_incoming(user, incoming);
}

static bool starved(const struct diag *why, void *user)
{
	return nvme_tgt_starved(user, why);
}

static void dropped(void *user)
{
	nvme_tgt_dropped(user);
}

/* The discovery log tells of it. */
static void changed(struct ways *ways)
{
	struct nvme_target *target = ways->user;

	__atomic_fetch_add(&target->genctr, 1, __ATOMIC_RELEASE);
	nvme_tgt_ctrl_notify(target, NULL);
}

int nvme_tgt_listen(struct nvme_target *target, uint32_t timeout_ms, struct diag *diag)
{
	for (unsigned i = 0; i < target->opt.listens; i++)
		target->listen[i] = (struct ways){ .at = target->opt.listen[i].at,
			.want = target->opt.listen[i].ways,
			.stream = incoming_stream,
			.rdma = incoming_rdma,
			.starved = starved,
			.dropped = dropped,
			.changed = changed,
			.user = target,
			.timeout_ms = HELLO_MS,
			.no_crc = target->opt.listen[i].no_crc };
	return ways_open(target->listen, target->opt.listens, target->loop, timeout_ms, diag);
}
