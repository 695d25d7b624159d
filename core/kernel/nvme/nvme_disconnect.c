/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Disconnect: select the connections, find users of their disks, and delete the controllers. */
#include "disks/holders.h"
#include "disks/node.h"
#include "grow.h"
#include "kernel_sys.h"
#include "nvme.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel reuses the number of a removed controller, so compare more than that. */
bool kernel_nvmf_same(int root, const struct nvmf_ctrl *ctrl)
{
	struct nvmf_ctrl now;

	return !kernel_nvmf_read_ctrl(root, ctrl->name, &now) && !strcmp(now.nqn, ctrl->nqn) &&
	       !strcmp(now.hostnqn, ctrl->hostnqn) && !strcmp(now.transport, ctrl->transport) &&
	       !strcmp(now.traddr, ctrl->traddr) && !strcmp(now.trsvcid, ctrl->trsvcid);
}

int kernel_nvmf_delete(int root, const struct nvmf_ctrl *ctrl)
{
	return kernel_nvmf_same(root, ctrl)
		       ? kernel_nvme_write(
				 root, "1", NVME_CLASS "/%s/delete_controller", ctrl->name)
		       : -ENOENT;
}

void kernel_nvmf_delete_number(int root, int instance)
{
	kernel_nvme_write(root, "1", NVME_CLASS "/nvme%d/delete_controller", instance);
}

void kernel_nvmf_nodes_note(int root, const char *ctrl, struct nvmf_nodes *nodes)
{
	char text[32];

	*nodes = (struct nvmf_nodes){ 0 };
	kernel_nvmf_disks(root, ctrl, &nodes->disks, &nodes->count, NULL);
	if (kernel_sys_read(root, text, sizeof(text), NVME_CLASS "/%s/dev", ctrl) > 0)
		sscanf(text, "%u:%u", &nodes->major, &nodes->minor);
}

/* A disk may still be reachable over another path: keep its node. */
void kernel_nvmf_nodes_drop(int root, const char *ctrl, const struct nvmf_nodes *nodes)
{
	char path[64];

	snprintf(path, sizeof(path), "dev/%s", ctrl);
	kernel_node_drop(root, path, nodes->major, nodes->minor, false);
	for (unsigned i = 0; i < nodes->count; i++) {
		snprintf(path, sizeof(path), "sys/class/block/%s", nodes->disks[i].name);
		if (kernel_sys_exists(root, path))
			continue;
		snprintf(path, sizeof(path), "dev/%s", nodes->disks[i].name);
		kernel_node_drop(root, path, nodes->disks[i].major, nodes->disks[i].minor, true);
	}
}

/* While the connection is lost, fail requests at once and give up at the next attempt to reconnect.
 */
void kernel_nvmf_fail_fast(int root, const struct nvmf_ctrl *ctrl)
{
	if (!kernel_nvmf_same(root, ctrl))
		return;
	kernel_nvme_write(root, "0", NVME_CLASS "/%s/fast_io_fail_tmo", ctrl->name);
	kernel_nvme_write(root, "1", NVME_CLASS "/%s/ctrl_loss_tmo", ctrl->name);
}

/* Whether a user that can't be listed has claimed the disk: a mount in another mount namespace,
 * ZFS, a kernel target. */
static bool is_claimed(int root, const char *disk)
{
	char node[48], dev_file[64];
	int fd;

	snprintf(node, sizeof(node), "dev/%.32s", disk);
	snprintf(dev_file, sizeof(dev_file), "sys/class/block/%.32s/dev", disk);
	if (kernel_node_make(root, node, dev_file, true))
		return false;
	fd = openat(root, node, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (fd < 0)
		return errno == EBUSY;
	close(fd);
	return false;
}

static bool has_disk(int root, const char *ctrl, const char *disk)
{
	struct nvmf_disk *disks;
	unsigned count;
	bool has = false;

	if (kernel_nvmf_disks(root, ctrl, &disks, &count, NULL))
		return false;
	for (unsigned i = 0; i < count; i++)
		has |= !strcmp(disks[i].name, disk);
	free(disks);
	return has;
}

struct search {
	int root;
	const char *disk;
	char (*ctrl)[16]; /* controllers found */
	const struct nvmf_ctrl *gone;
	unsigned max, count; /* most and actual number of `ctrl` */
	bool other;
};

/* Look for a path to the disk over a live controller that stays. */
static void find_path(const char *ctrl, void *arg)
{
	struct search *search = arg;
	char state[16];

	for (unsigned i = 0; i < search->count; i++)
		if (!strcmp(search->gone[i].name, ctrl))
			return;
	search->other |= !search->other && !kernel_nvmf_state(search->root, ctrl, state) &&
			 !strcmp(state, "live") && has_disk(search->root, ctrl, search->disk);
}

static bool has_other_path(int root, const struct nvmf_ctrl *gone, unsigned count, const char *disk)
{
	struct search search = { .root = root, .gone = gone, .count = count, .disk = disk };

	kernel_sys_list(root, NVME_CLASS, find_path, &search);
	return search.other;
}

struct lost_disks {
	struct nvmf_disk *disk;
	struct disk_users *users; /* of each disk */
	unsigned count;
};

/* The disks that no other connection reaches. */
static int find_lost(
	int root, const struct nvmf_ctrl *ctrls, unsigned count, struct lost_disks *lost)
{
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++) {
		struct nvmf_disk *disks, *more;
		unsigned ndisks;

		if (kernel_nvmf_disks(root, ctrls[i].name, &disks, &ndisks, NULL))
			continue;
		for (unsigned d = 0; d < ndisks && !err; d++) {
			unsigned known = 0;

			while (known < lost->count &&
				strcmp(lost->disk[known].name, disks[d].name) != 0)
				known++;
			if (known < lost->count ||
				has_other_path(root, ctrls, count, disks[d].name))
				continue;
			more = grow(lost->disk, lost->count);
			if (more)
				*more = disks[d];
			else
				err = -ENOMEM;
		}
		free(disks);
	}
	lost->users = calloc(lost->count + 1, sizeof(*lost->users));
	for (unsigned i = 0; lost->users && i < lost->count; i++) {
		lost->users[i] = (struct disk_users){ .major = lost->disk[i].major,
			.minor = lost->disk[i].minor };
		memcpy(lost->users[i].node, lost->disk[i].name, sizeof(lost->users[i].node));
	}
	return lost->users ? err : -ENOMEM;
}

/* Try claiming the disks last, as an open may block. */
void kernel_nvmf_users(int root, const struct nvmf_ctrl *ctrls, unsigned count, char *text,
	size_t len, bool *listed)
{
	struct lost_disks lost = { 0 };

	text[0] = 0;
	if (find_lost(root, ctrls, count, &lost)) {
		snprintf(text, len, "users of its disks are unknown");
		goto out;
	}
	kernel_disk_users(root, lost.users, lost.count);
	kernel_disk_users_text(lost.users, lost.count, 0, text, len);
	*listed = true;
	for (unsigned i = 0; i < lost.count; i++)
		if (!lost.users[i].text[0] && !lost.users[i].map[0] &&
			is_claimed(root, lost.disk[i].name))
			snprintf(lost.users[i].text, sizeof(lost.users[i].text),
				"claimed by an unknown user in the kernel or another mount "
				"namespace");
	kernel_disk_users_text(lost.users, lost.count, 0, text, len);
out:
	free(lost.disk);
	free(lost.users);
}

int kernel_nvmf_flush(
	int root, const struct nvmf_ctrl *ctrls, unsigned count, bool force, struct diag *diag)
{
	struct lost_disks lost = { 0 };
	int err = find_lost(root, ctrls, count, &lost);

	if (err)
		diag_sys(diag, -err, "disks");
	for (unsigned i = 0; i < lost.count && !err; i++)
		err = kernel_disk_flush(
			root, lost.users, lost.count, lost.disk[i].name, force, diag);
	free(lost.disk);
	free(lost.users);
	return err;
}

bool kernel_nvmf_has_root(int root, const char *ctrl)
{
	struct nvmf_disk *disks;
	unsigned count;
	bool has = false;

	if (kernel_nvmf_disks(root, ctrl, &disks, &count, NULL))
		return false;
	for (unsigned i = 0; i < count && !has; i++)
		has = kernel_holders_root(root, disks[i].major, disks[i].minor);
	free(disks);
	return has;
}

static void find_disk(const char *ctrl, void *arg)
{
	struct search *search = arg;

	if (search->count < search->max && strlen(ctrl) < 16 &&
		has_disk(search->root, ctrl, search->disk))
		snprintf(search->ctrl[search->count++], 16, "%s", ctrl);
}

static void find_path_name(const char *ctrl, void *arg)
{
	struct search *search = arg;
	char path[128];

	snprintf(path, sizeof(path), NVME_CLASS "/%.20s/%.40s", ctrl, search->disk);
	if (search->count < search->max && strlen(ctrl) < 16 &&
		kernel_sys_exists(search->root, path))
		snprintf(search->ctrl[search->count++], 16, "%s", ctrl);
}

/* A regular file of the same name is not a device. */
static const char *kernel_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return path;
	return (!strncmp(path, "/dev/", 5) && slash == path + 4) || !strncmp(path, "/sys/", 5)
		       ? slash + 1
		       : "";
}

int kernel_nvmf_of_device(int root, const char *device, char ctrl[][16], unsigned max)
{
	char *real = strchr(device, '/') ? realpath(device, NULL) : NULL;
	const char *name = kernel_name(real ? real : device);
	struct search search = { .root = root, .disk = name, .ctrl = ctrl, .max = max };
	struct nvmf_ctrl found;
	unsigned a, b, c;
	char disk[32], end;

	if (!kernel_nvmf_read_ctrl(root, name, &found)) {
		snprintf(ctrl[search.count++], 16, "%s", found.name);
	} else if (sscanf(name, "nvme%uc%un%u%c", &a, &b, &c, &end) == 3) {
		kernel_sys_list(root, NVME_CLASS, find_path_name, &search);
	} else if (sscanf(name, "nvme%un%u%c", &a, &b, &end) == 2 ||
		   sscanf(name, "nvme%un%up%u%c", &a, &b, &c, &end) == 3) {
		/* sscanf() also takes signs, blanks, leading zeroes and too large numbers */
		snprintf(disk, sizeof(disk), "nvme%un%u", a, b);
		search.disk = disk;
		if (!strncmp(name, disk, strlen(disk)))
			kernel_sys_list(root, NVME_CLASS, find_disk, &search);
	}
	free(real);
	return search.count ? (int)search.count : -ENOENT;
}
