/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Add NVMe-oF connections, as read by nvme_sysfs.c, and their multipath paths. */
#include "kernel_nvmf.h"
#include "kernel_sys.h"
#include "list.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY(to, from) snprintf(to, sizeof(to), "%.*s", (int)sizeof(to) - 1, from)

static int seconds(int value)
{
	return value == VALUE_OFF ? VALUE_OFF : value == VALUE_UNKNOWN ? VALUE_UNKNOWN : value;
}

static void read_tls(const struct nvmf_ctrl *ctrl, struct list_tls *tls)
{
	tls->is = ctrl->tls;
	tls->key = ctrl->tls_key;
	tls->configured_key = ctrl->tls_configured_key;
	if (!tls->key || kernel_psk_identity(tls->key, tls->identity))
		tls->identity[0] = 0;
}

static int handshakes_answered(const struct listing *list)
{
	int answered = kernel_handshakes_answered(list->root);

	return answered == -EOPNOTSUPP ? 0 : answered < 0 ? -1 : answered;
}

static struct list_link make_link(const struct listing *list, const struct nvmf_ctrl *ctrl)
{
	struct list_link link = kernel_list_link_new(ctrl->name, "nvme", ctrl->transport);

	COPY(link.state, ctrl->state);
	COPY(link.target, ctrl->nqn);
	COPY(link.host, ctrl->hostnqn);
	COPY(link.address, ctrl->traddr);
	COPY(link.service, ctrl->trsvcid);
	COPY(link.source, ctrl->src_addr[0] ? ctrl->src_addr : ctrl->host_traddr);
	COPY(link.bound, ctrl->host_traddr);
	COPY(link.netdev, ctrl->host_iface);
	link.queues = ctrl->queues;
	read_tls(ctrl, &link.tls);
	link.loss.retry_s = seconds(ctrl->reconnect_delay);
	link.loss.fail_s = seconds(ctrl->fast_io_fail_tmo);
	link.loss.give_up_s = seconds(ctrl->ctrl_loss_tmo);
	if (!strcmp(ctrl->transport, "rdma"))
		kernel_list_find_device(list, "nvme_rdma", &link);
	if (!strcmp(ctrl->state, "connecting") || !strcmp(ctrl->state, "resetting"))
		kernel_list_lost(list->root, &link, kernel_list_nvme_lost_at);
	return link;
}

/* Without multipath the disk is its own path and has no state. */
static void add_disk(struct listing *list, int link, const char *ctrl, const struct nvmf_disk *disk)
{
	struct list_path path = { .link = link, .unit = disk->nsid };
	unsigned subsystem, number, unit;
	char dir[80];

	if (sscanf(disk->name, "nvme%un%u", &subsystem, &unit) == 2 &&
		sscanf(ctrl, "nvme%u", &number) == 1) {
		snprintf(path.node, sizeof(path.node), "nvme%uc%un%u", subsystem, number, unit);
		snprintf(dir, sizeof(dir), "sys/class/nvme/%.31s/%s", ctrl, path.node);
		kernel_list_read_nvme_path(list->root, dir, &path);
	}
	if (!path.state[0])
		COPY(path.node, disk->name);
	kernel_list_add_path(list, path, disk->name);
}

void kernel_list_nvme(struct listing *list)
{
	struct nvmf_ctrl *ctrls;
	bool any_tls = false;
	unsigned count;

	if (kernel_nvmf_list(list->root, &ctrls, &count, NULL)) {
		list->failed = true;
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		struct list_link link = make_link(list, &ctrls[i]);
		int at = kernel_list_add_link(list, &link);
		struct nvmf_disk *disks;
		unsigned found;

		any_tls |= link.tls.is;
		if (kernel_nvmf_disks(list->root, ctrls[i].name, &disks, &found, NULL)) {
			list->failed = true;
			continue;
		}
		for (unsigned d = 0; d < found; d++)
			add_disk(list, at, ctrls[i].name, &disks[d]);
		if (!found)
			kernel_list_add_path(list, (struct list_path){ .link = at }, "");
		free(disks);
	}
	if (any_tls)
		list->to->handshakes_answered = handshakes_answered(list);
	free(ctrls);
}
