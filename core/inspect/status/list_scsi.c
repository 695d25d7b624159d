/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Add SRP connections, and the disks of the SCSI hosts of the kernel's initiators. */
#include "kernel_scsi.h"
#include "kernel_srp.h"
#include "kernel_sys.h"
#include "list.h"
#include "names.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS "sys/class/scsi_host"

/* Units without a block device are skipped: a target's controller, a tape. */
void kernel_list_add_units(struct listing *list, int link, unsigned host, unsigned target)
{
	struct scsi_lun *luns;
	unsigned count, found = 0, id;
	int err = kernel_scsi_luns(list->root, host, &luns, &count, NULL);

	list->failed |= err == -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		struct list_path path = { .link = link, .unit = luns[i].lun };

		if (!luns[i].node[0] ||
			(target != LIST_ALL_TARGETS &&
				(sscanf(luns[i].name, "%*u:%*u:%u:", &id) != 1 || id != target)))
			continue;
		snprintf(path.node, sizeof(path.node), "%s", luns[i].node);
		snprintf(path.state, sizeof(path.state), "%s", luns[i].state);
		snprintf(path.hctl, sizeof(path.hctl), "%s", luns[i].name);
		kernel_list_read_scsi_path(list->root, &path);
		kernel_list_add_path(list, path, path.node);
		found++;
	}
	if (!found)
		kernel_list_add_path(list, (struct list_path){ .link = link }, "");
	free(luns);
}

static int seconds(int value)
{
	return value == VALUE_OFF ? VALUE_OFF : value == VALUE_UNKNOWN ? VALUE_UNKNOWN : value;
}

static void read_remote_port(int root, unsigned host, struct list_link *link)
{
	struct srp_rport rport;

	if (kernel_srp_rport(root, host, &rport))
		return;
	snprintf(link->state, sizeof(link->state), "%s", rport.state);
	link->loss.retry_s = seconds(rport.tmo.reconnect_delay);
	link->loss.fail_s = seconds(rport.tmo.fast_io_fail_tmo);
	link->loss.give_up_s = seconds(rport.tmo.dev_loss_tmo);
	if (!strcmp(rport.state, "running"))
		return;
	link->loss.attempts =
		rport.failed_reconnects < INT_MAX ? (int)rport.failed_reconnects : INT_MAX;
	kernel_list_lost(root, link, kernel_list_srp_lost_at);
	if (strcmp(rport.state, "blocked"))
		link->loss.fail_left_s = 0; /* requests fail now, or the device is gone */
}

/* ib_srp does not report the address of a target reached by RDMA/CM, so use the connection's if it
 * is the only one of its port. */
static void find_peer(const struct listing *list, struct list_link *link)
{
	const struct list_cm *found = NULL;
	char text[ADDR_TEXT];

	for (unsigned i = 0; i < list->cms; i++) {
		const struct list_cm *cm = &list->cm[i];
		char peer[ADDR_TEXT], other[ADDR_TEXT];

		if (strcmp(cm->owner, "ib_srp") || strcmp(cm->dev, link->rdma_dev) ||
			cm->port != link->rdma_port)
			continue;
		if (found && strcmp(addr_text(&found->peer, peer), addr_text(&cm->peer, other)))
			return;
		found = cm;
	}
	if (!found)
		return;
	addr_host(&found->peer, link->address);
	addr_host(&found->source, link->source);
	snprintf(link->service, sizeof(link->service), "%.5s",
		strrchr(addr_text(&found->peer, text), ':') + 1);
}

static void add_srp(struct listing *list, const struct kernel_srp *srp)
{
	struct list_link link = kernel_list_link_new(srp->host, "srp", "rdma");
	int number = kernel_srp_number(srp->host);
	char dir[80];

	if (number < 0)
		return;
	snprintf(dir, sizeof(dir), HOSTS "/%s", srp->host);
	snprintf(link.target, sizeof(link.target), "%016" PRIx64 "/%016" PRIx64, srp->ioc_guid,
		srp->id_ext);
	snprintf(link.rdma_dev, sizeof(link.rdma_dev), "%s", srp->dev);
	link.rdma_port = srp->port;
	link.queues = kernel_list_number(list->root, dir, "ch_count");
	if (srp->by_cm) {
		find_peer(list, &link);
	} else {
		gid_text(link.address, srp->dgid);
		kernel_sys_read(list->root, link.source, sizeof(link.source), "%s/sgid", dir);
		snprintf(link.service, sizeof(link.service), "%016" PRIx64, srp->service_id);
	}
	read_remote_port(list->root, (unsigned)number, &link);
	kernel_list_add_units(
		list, kernel_list_add_link(list, &link), (unsigned)number, LIST_ALL_TARGETS);
}

void kernel_list_srp(struct listing *list)
{
	struct kernel_srp *hosts;
	unsigned count;

	if (kernel_srp_list(list->root, &hosts, &count, NULL)) {
		list->failed = true;
		return;
	}
	for (unsigned i = 0; i < count; i++)
		add_srp(list, &hosts[i]);
	free(hosts);
}
