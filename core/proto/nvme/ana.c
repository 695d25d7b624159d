/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asymmetric Namespace Access of an initiator (Base 2.1, 8.1.1): the state of the ANA group of the
 * namespace is the access of the path. */
#include "nvme.h"

#define PAUSE_MS 100  /* the log is read once in that time, whatever the controller reports */
#define POLL_MS  1000 /* while the path is closed: not every controller reports events */

static const struct {
	uint8_t access;
	const char *word;
} states[] = {
	[NVME_ANA_OPTIMIZED] = { BDEV_ACCESS_OPTIMIZED, "optimized" },
	[NVME_ANA_NON_OPTIMIZED] = { BDEV_ACCESS_NON_OPTIMIZED, "non-optimized" },
	[NVME_ANA_INACCESSIBLE] = { BDEV_ACCESS_CLOSED, "inaccessible" },
	[NVME_ANA_PERSISTENT_LOSS] = { BDEV_ACCESS_CLOSED, "persistent-loss" },
	[NVME_ANA_CHANGE] = { BDEV_ACCESS_CHANGING, "change" },
};

bool nvme_ana_reported(const struct nvme_dev *dev)
{
	return dev->ctrl.id.cmic & NVME_CMIC_ANA && dev->ns.anagrpid;
}

/* Controllers that ignore "groups only" append the numbers of their namespaces. */
uint32_t nvme_ana_log_len(const struct nvme_dev *dev)
{
	const struct nvme_ctrl_info *id = &dev->ctrl.id;
	uint64_t len = sizeof(struct nvme_ana_log) +
		       (uint64_t)id->nanagrpid * sizeof(struct nvme_ana_group) +
		       (uint64_t)(id->mnan ? id->mnan : id->nn) * sizeof(le32);
	uint32_t most = nvme_ctrl_max_data(&dev->ctrl);

	if (most > sizeof(dev->ana_log))
		most = sizeof(dev->ana_log);
	return len < most ? (uint32_t)len : most;
}

struct nvme_sqe nvme_ana_get_log(struct nvme_dev *dev)
{
	uint32_t dwords = nvme_ana_log_len(dev) / 4;

	dev->ana_again = false;
	dev->ana_read_ns = loop_now(dev->bdev.loop);
	return (struct nvme_sqe){ .opcode = NVME_ADMIN_GET_LOG,
		.nsid = put_le32(NVME_NSID_ALL),
		.cdw10 = put_le32(NVME_LOG_ANA | NVME_LOG_ANA_RGO | (dwords - 1) << 16) };
}

int nvme_ana_handle_log(struct nvme_dev *dev, bool *changed, struct diag *why)
{
	struct bdev *bdev = &dev->bdev;
	uint32_t len = nvme_ana_log_len(dev);
	uint8_t state;
	int err;

	nvme_ctrl_copy(&dev->ctrl, 0, dev->ana_log, len);
	err = nvme_ana_get(&state, dev->ana_log, len, dev->ns.anagrpid, why);
	if (err)
		return err;
	*changed = bdev->access_word != states[state].word;
	bdev->access_group = dev->ns.anagrpid;
	bdev->access = states[state].access;
	bdev->access_word = states[state].word;
	if (bdev->access > BDEV_ACCESS_NON_OPTIMIZED)
		loop_timer_set(bdev->loop, &dev->ana_timer, loop_now(bdev->loop) + POLL_MS * MSEC);
	return 0;
}

bool nvme_ana_may_read(struct nvme_dev *dev)
{
	uint64_t due = dev->ana_read_ns + PAUSE_MS * MSEC;

	if (!nvme_ana_reported(dev) || loop_now(dev->bdev.loop) >= due)
		return nvme_ana_reported(dev);
	loop_timer_set(dev->bdev.loop, &dev->ana_timer, due);
	return false;
}
