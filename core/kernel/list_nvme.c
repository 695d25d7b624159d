/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe-oF connections for the list: what nvme_sysfs.c reads, the paths of multipath, and how long a lost one is waited for. */
#include "kernel_nvmf.h"
#include "list.h"
#include "nvme.h"
#include "sys.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOG_MAX (4u << 20)
#define COPY(to, from) snprintf(to, sizeof(to), "%.*s", (int)sizeof(to) - 1, from)

static int seconds(int value)
{
	return value == NVMF_OFF ? LIST_NEVER : value == NVMF_UNKNOWN ? LIST_UNKNOWN : value;
}

static struct list_link make_link(const struct listing *list, const struct nvmf_ctrl *ctrl)
{
	struct list_link link = list_link_new(ctrl->name, "nvme", ctrl->transport);

	COPY(link.state, ctrl->state);
	COPY(link.target, ctrl->nqn);
	COPY(link.host, ctrl->hostnqn);
	COPY(link.address, ctrl->traddr);
	COPY(link.service, ctrl->trsvcid);
	COPY(link.source, ctrl->src_addr[0] ? ctrl->src_addr : ctrl->host_traddr);
	COPY(link.netdev, ctrl->host_iface);
	link.queues = ctrl->queues;
	link.loss.retry_s = seconds(ctrl->reconnect_delay);
	link.loss.fail_s = seconds(ctrl->fast_io_fail_tmo);
	link.loss.give_up_s = seconds(ctrl->ctrl_loss_tmo);
	if (!strcmp(ctrl->transport, "rdma"))
		list_find_device(list, "nvme_rdma", &link);
	if (!strcmp(ctrl->state, "connecting") || !strcmp(ctrl->state, "resetting"))
		list_nvme_lost(list->root, &link);
	return link;
}

/* Without multipath the disk is its own path, and has no state of its own. */
static void add_disk(struct listing *list, int link, const char *ctrl, const struct nvmf_disk *disk)
{
	struct list_path path = { .link = link, .unit = disk->nsid };
	unsigned subsystem, number, unit;

	if (sscanf(disk->name, "nvme%un%u", &subsystem, &unit) == 2 && sscanf(ctrl, "nvme%u", &number) == 1) {
		snprintf(path.node, sizeof(path.node), "nvme%uc%un%u", subsystem, number, unit);
		sys_read(list->root, path.state, sizeof(path.state), NVME_CLASS "/%s/%s/ana_state", ctrl, path.node);
	}
	if (!path.state[0])
		COPY(path.node, disk->name);
	list_add_path(list, path, disk->name);
}

void list_nvme(struct listing *list)
{
	struct nvmf_ctrl *ctrls;
	unsigned count;

	if (kernel_nvmf_list(list->root, &ctrls, &count, NULL)) {
		list->failed = true;
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		struct list_link link = make_link(list, &ctrls[i]);
		int at = list_add_link(list, &link);
		struct nvmf_disk *disks;
		unsigned found;

		if (kernel_nvmf_disks(list->root, ctrls[i].name, &disks, &found, NULL)) {
			list->failed = true;
			continue;
		}
		for (unsigned d = 0; d < found; d++)
			add_disk(list, at, ctrls[i].name, &disks[d]);
		if (!found)
			list_add_path(list, (struct list_path){ .link = at }, "");
		free(disks);
	}
	free(ctrls);
}

static int clip(int64_t seconds)
{
	return seconds < 0 ? 0 : seconds > INT32_MAX ? INT32_MAX : (int)seconds;
}

/* Each attempt is made retry_s after what went before it, and the connection is given up when there were so many that give_up_s is reached
 * (Linux 6.12, nvmf_should_reconnect()). Requests fail fail_s after the first loss. No clock of ours goes like the log's, so that it is
 * believed for no longer than until the next attempt. */
static void count_down(uint64_t now_us, uint64_t lost_us, uint64_t wait_us, struct list_loss *loss)
{
	const int64_t most = loss->retry_s > 0 && loss->give_up_s >= 0 ? ((int64_t)loss->give_up_s + loss->retry_s - 1) / loss->retry_s : -1;
	int64_t waited = now_us > wait_us ? (int64_t)((now_us - wait_us) / 1000000) : 0;

	if (loss->retry_s > 0 && waited > loss->retry_s)
		waited = loss->retry_s;
	if (most >= 0)
		loss->give_up_left_s = clip((most - loss->attempts) * loss->retry_s - waited);
	if (loss->fail_s >= 0)
		loss->fail_left_s = clip(loss->fail_s - (int64_t)((wait_us - lost_us) / 1000000) - waited);
}

/* Records as /dev/kmsg has them, oldest first: "4,1234,98765,-;nvme nvme0: Reconnecting in 10 seconds...": the third number is µs since
 * boot. */
void list_nvme_lost_at(uint64_t now_us, char *log, struct list_link *link)
{
	uint64_t at = 0, lost = 0, wait = 0;
	char *rest = log, *line, begin[48];
	unsigned tried = 0;
	bool is_lost = false;

	snprintf(begin, sizeof(begin), "nvme %s: ", link->name);
	while ((line = strsep(&rest, "\n"))) {
		char *text = strchr(line, ';');

		if (!text || strncmp(text + 1, begin, strlen(begin)) || sscanf(line, "%*u,%*u,%" SCNu64, &at) != 1)
			continue;
		text += 1 + strlen(begin);
		if (!strncmp(text, "Successfully reconnected", 24) || !strncmp(text, "creating ", 9) || !strncmp(text, "new ctrl", 8)) {
			is_lost = false;
			tried = 0;
		} else if (!strncmp(text, "Reconnecting in ", 16)) {
			lost = is_lost ? lost : at;
			wait = at;
			is_lost = true;
		} else {
			sscanf(text, "Failed reconnect attempt %u", &tried);
		}
	}
	if (!is_lost || wait < lost)
		return;
	link->loss.attempts = tried > INT32_MAX ? INT32_MAX : (int)tried;
	count_down(now_us, lost, wait, &link->loss);
}

/* One record a read; EPIPE: some were lost. */
static char *read_log(int root)
{
	int fd = openat(root, "dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(LOG_MAX), record[8192];
	size_t len = 0;
	ssize_t got;

	while (text && ((got = read(fd, record, sizeof(record))) > 0 || (got < 0 && (errno == EPIPE || errno == EINTR)))) {
		if (got < 0)
			continue;
		if (len + (size_t)got >= LOG_MAX)
			break;
		memcpy(text + len, record, (size_t)got);
		len += (size_t)got;
	}
	if (text)
		text[len] = 0;
	if (fd >= 0)
		close(fd);
	return text;
}

void list_nvme_lost(int root, struct list_link *link)
{
	char *log = read_log(root);
	struct timespec now;

	/* the nearest to the log's clock: both stand while the machine sleeps, and nobody sets them right */
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	if (log)
		list_nvme_lost_at((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000, log, link);
	free(log);
}
