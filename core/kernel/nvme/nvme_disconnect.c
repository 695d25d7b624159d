/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ending connections: which are meant, who would lose something, and the end itself. */
#include "child.h"
#include "loop.h"
#include "nvme.h"
#include "sys/holders.h"
#include "sys/node.h"
#include "sys/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS  100
#define CLAIM_MS  2000
#define UNDO_MS   5000
#define GLANCE_MS 1000 /* somebody who only looks at a new disk, as udev does, is done with it */
#define STEP_MS   50

/* The kernel gives the number of a connection that has gone to the next one. */
static bool still_it(int root, const struct nvmf_ctrl *ctrl)
{
	struct nvmf_ctrl now;

	return !kernel_nvmf_look(root, ctrl->name, &now) && !strcmp(now.nqn, ctrl->nqn) &&
	       !strcmp(now.hostnqn, ctrl->hostnqn) && !strcmp(now.transport, ctrl->transport) &&
	       !strcmp(now.traddr, ctrl->traddr) && !strcmp(now.trsvcid, ctrl->trsvcid);
}

static int delete (int root, const void *arg, void *out)
{
	const struct nvmf_ctrl *ctrl = arg;

	(void)out;
	return still_it(root, ctrl) ? -kernel_nvme_write(root, "1",
					      NVME_CLASS "/%s/delete_controller", ctrl->name)
				    : ENOENT;
}

struct left {
	struct nvmf_disk *disks;
	unsigned count, major, minor; /* the two: of the controller itself */
};

static void note_nodes(int root, const char *ctrl, struct left *left)
{
	char text[32];

	*left = (struct left){ 0 };
	kernel_nvmf_disks(root, ctrl, &left->disks, &left->count, NULL);
	if (kernel_sys_read(root, text, sizeof(text), NVME_CLASS "/%s/dev", ctrl) > 0)
		sscanf(text, "%u:%u", &left->major, &left->minor);
}

/* A disk may live on over another path. */
static void drop_nodes(int root, const char *ctrl, const struct left *left)
{
	char path[64];

	snprintf(path, sizeof(path), "dev/%s", ctrl);
	kernel_node_drop(root, path, left->major, left->minor, false);
	for (unsigned i = 0; i < left->count; i++) {
		snprintf(path, sizeof(path), "sys/class/block/%s", left->disks[i].name);
		if (kernel_sys_exists(root, path))
			continue;
		snprintf(path, sizeof(path), "dev/%s", left->disks[i].name);
		kernel_node_drop(root, path, left->disks[i].major, left->disks[i].minor, true);
	}
}

int kernel_nvmf_disconnect(
	int root, const struct nvmf_ctrl *ctrl, uint64_t until, struct diag *diag)
{
	struct child_call call = {
		.fn = delete, .arg = ctrl, .until = until, .grace_ms = GRACE_MS
	};
	uint64_t since = loop_clock();
	struct left left;
	int err;

	if (!still_it(root, ctrl))
		return 0;
	note_nodes(root, ctrl->name, &left);
	err = child_call_run(&call, &root, 1);
	if (!err || err == -ENOENT || err == -ENODEV || !still_it(root, ctrl)) {
		drop_nodes(root, ctrl->name, &left);
		err = 0;
	}
	free(left.disks);
	if (!err)
		return 0;
	switch (-err) {
	case ETIMEDOUT:
		diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"timed out after %.3g s waiting for the kernel to remove it",
			(double)(loop_clock() - since) / 1e9);
		return diag_hint(diag, "I/O waits for the target; make it fail with --force");
	case EBUSY:
		return diag_set(diag, DIAG_BUSY, EBUSY, "the kernel is still connecting it");
	case EACCES:
	case EPERM:
		return diag_set(diag, DIAG_PERMISSION, EPERM, "only root can disconnect");
	default:
		return diag_sys(diag, -err, "disconnect");
	}
}

/* The connection counts as lost from the next look on, and while it is, no request waits. */
void kernel_nvmf_hurry(int root, const struct nvmf_ctrl *ctrl)
{
	if (!still_it(root, ctrl))
		return;
	kernel_nvme_write(root, "0", NVME_CLASS "/%s/fast_io_fail_tmo", ctrl->name);
	kernel_nvme_write(root, "1", NVME_CLASS "/%s/ctrl_loss_tmo", ctrl->name);
}

struct paths {
	int root;
	const struct nvmf_ctrl *gone;
	unsigned count;
	const char *disk;
	bool other;
};

static bool is_gone(const struct paths *paths, const char *ctrl)
{
	for (unsigned i = 0; i < paths->count; i++)
		if (!strcmp(paths->gone[i].name, ctrl))
			return true;
	return false;
}

static void look_for_path(const char *ctrl, void *arg)
{
	struct paths *paths = arg;
	struct nvmf_disk *disks;
	struct nvmf_ctrl here;
	unsigned count;

	if (paths->other || is_gone(paths, ctrl) || kernel_nvmf_look(paths->root, ctrl, &here) ||
		strcmp(here.state, "live") ||
		kernel_nvmf_disks(paths->root, ctrl, &disks, &count, NULL))
		return;
	for (unsigned i = 0; i < count; i++)
		paths->other |= !strcmp(disks[i].name, paths->disk);
	free(disks);
}

/* "nvme0n1: mounted on /; nvme0n2: swap" */
static bool told(const char *text, const char *disk)
{
	size_t len = strlen(disk);

	for (const char *at = text; (at = strstr(at, disk)); at += len)
		if ((at == text || at[-1] == ' ') && at[len] == ':')
			return true;
	return false;
}

static void append(char *text, size_t len, const char *disk, const char *who)
{
	size_t at = strlen(text);

	snprintf(text + at, len - at, "%s%s: %s", at ? "; " : "", disk, who);
}

static int claim(int root, const void *node, void *out)
{
	int fd = openat(root, node, O_RDONLY | O_EXCL | O_CLOEXEC);

	(void)out;
	return fd < 0 ? errno : 0;
}

/* Somebody's who is not seen from here: a mount of another mount namespace, ZFS, a target of the
 * kernel's. */
static bool claimed(int root, const char *disk, uint64_t until)
{
	char node[48], dev_file[64];
	struct child_call call = { .fn = claim, .arg = node, .until = until, .grace_ms = GRACE_MS };

	snprintf(node, sizeof(node), "dev/%.32s", disk);
	snprintf(dev_file, sizeof(dev_file), "sys/class/block/%.32s/dev", disk);
	return !kernel_node_make(root, node, dev_file, true) &&
	       child_call_run(&call, &root, 1) == -EBUSY;
}

void kernel_nvmf_users(
	int root, const struct nvmf_ctrl *ctrls, unsigned count, char *text, size_t len)
{
	uint64_t until = loop_clock() + CLAIM_MS * 1000000ull;

	text[0] = 0;
	for (unsigned i = 0; i < count; i++) {
		struct nvmf_disk *disks;
		unsigned ndisks;

		if (kernel_nvmf_disks(root, ctrls[i].name, &disks, &ndisks, NULL))
			continue;
		for (unsigned d = 0; d < ndisks; d++) {
			struct paths paths = {
				.root = root, .gone = ctrls, .count = count, .disk = disks[d].name
			};
			char who[400];

			kernel_sys_list(root, NVME_CLASS, look_for_path, &paths);
			if (paths.other || told(text, disks[d].name))
				continue;
			kernel_holders_of(root, disks[d].major, disks[d].minor, who, sizeof(who));
			if (!who[0])
				kernel_openers_of(
					root, disks[d].major, disks[d].minor, who, sizeof(who));
			if (!who[0] && claimed(root, disks[d].name, until))
				snprintf(who, sizeof(who),
					"claimed by an unknown user in the kernel or another mount "
					"namespace");
			if (who[0])
				append(text, len, disks[d].name, who);
		}
		free(disks);
	}
}

void kernel_nvmf_undo(int root, const struct nvmf_ctrl *ctrl, struct diag *diag)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	uint64_t until = loop_clock() + GLANCE_MS * 1000000ull;
	char who[100];

	do
		kernel_nvmf_users(root, ctrl, 1, who, sizeof(who));
	while (who[0] && loop_clock() < until && !nanosleep(&step, NULL));
	if (who[0])
		diag_hint(diag, "%s stays connected because it is in use: %s", ctrl->name, who);
	else
		kernel_nvmf_disconnect(root, ctrl, loop_clock() + UNDO_MS * 1000000ull, NULL);
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

struct search {
	int root;
	const char *disk;
	char (*ctrl)[16];
	unsigned max, count;
};

static void look_for_disk(const char *ctrl, void *arg)
{
	struct search *search = arg;
	struct nvmf_disk *disks;
	unsigned count;
	bool has = false;

	if (search->count == search->max || strlen(ctrl) > 15 ||
		kernel_nvmf_disks(search->root, ctrl, &disks, &count, NULL))
		return;
	for (unsigned i = 0; i < count; i++)
		has |= !strcmp(disks[i].name, search->disk);
	free(disks);
	if (has)
		snprintf(search->ctrl[search->count++], 16, "%s", ctrl);
}

static void look_for_path_name(const char *ctrl, void *arg)
{
	struct search *search = arg;
	char path[128];

	snprintf(path, sizeof(path), NVME_CLASS "/%.20s/%.40s", ctrl, search->disk);
	if (search->count < search->max && strlen(ctrl) < 16 &&
		kernel_sys_exists(search->root, path))
		snprintf(search->ctrl[search->count++], 16, "%s", ctrl);
}

/* A file elsewhere that happens to be called so is no device. */
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

	if (!kernel_nvmf_look(root, name, &found)) {
		snprintf(ctrl[search.count++], 16, "%s", found.name);
	} else if (sscanf(name, "nvme%uc%un%u%c", &a, &b, &c, &end) == 3) {
		kernel_sys_list(root, NVME_CLASS, look_for_path_name, &search);
	} else if (sscanf(name, "nvme%un%u%c", &a, &b, &end) == 2 ||
		   sscanf(name, "nvme%un%up%u%c", &a, &b, &c, &end) == 3) {
		snprintf(disk, sizeof(disk), "nvme%un%u", a, b);
		search.disk = disk;
		kernel_sys_list(root, NVME_CLASS, look_for_disk, &search);
	}
	free(real);
	return search.count ? (int)search.count : -ENOENT;
}
