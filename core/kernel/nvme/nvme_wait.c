/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From a connection to block devices that can be opened, without udev: the controller is live, it
 * is asked which namespaces it shows this host, and each has its disk, its node, and opens. */
#include "child.h"
#include "nvme.h"
#include "sys/node.h"
#include "sys/sys.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS     10
#define OPEN_MS     2000
#define IDENTIFY_MS 5000
#define SETTLE_MS   500 /* of a controller that cannot be asked: nothing new for so long */
#define PAGE        4096

struct asking {
	char node[32];
	uint32_t after;
};

static int identify(int root, const void *arg, void *page)
{
	const struct asking *asking = arg;
	struct nvme_admin_cmd cmd = { .opcode = 0x06,
		.nsid = asking->after,
		.addr = (uintptr_t)page,
		.data_len = PAGE,
		.cdw10 = 2 };
	int fd = openat(root, asking->node, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return errno;
	rc = ioctl(fd, NVME_IOCTL_ADMIN_CMD, &cmd);
	return rc < 0 ? errno : rc ? EIO : 0;
}

static uint64_t sooner(uint64_t until, uint32_t ms)
{
	uint64_t bound = loop_clock() + ms * 1000000ull;

	return until && until < bound ? until : bound;
}

int kernel_nvme_active(int root, const char *ctrl, uint64_t until, uint32_t *nsid, unsigned max)
{
	struct asking asking = { 0 };
	uint32_t page[PAGE / 4];
	struct child_call call = {
		.fn = identify, .arg = &asking, .out = page, .out_len = PAGE, .grace_ms = 100
	};
	unsigned count = 0, at = 0;
	char dev_file[64];
	int err;

	snprintf(asking.node, sizeof(asking.node), "dev/%s", ctrl);
	snprintf(dev_file, sizeof(dev_file), NVME_CLASS "/%s/dev", ctrl);
	err = kernel_node_make(root, asking.node, dev_file, false);
	if (err)
		return err;
	do {
		memset(page, 0, PAGE);
		call.until = sooner(until, IDENTIFY_MS);
		err = child_call_run(&call, &root, 1);
		for (at = 0; !err && at < PAGE / 4 && count < max; at++) {
			uint32_t id = le32toh(page[at]);

			if (id <= asking.after) /* the list's end, or nonsense */
				break;
			nsid[count++] = asking.after = id;
		}
	} while (!err && at == PAGE / 4 && count < max);
	return err ? err : (int)count;
}

static int try_open(int root, const void *path, void *out)
{
	int fd = openat(root, path, O_RDONLY | O_CLOEXEC);

	(void)out;
	return fd < 0 ? errno : 0;
}

static bool opens(int root, const struct nvmf_disk *disk, uint64_t until)
{
	struct child_call call = { .fn = try_open, .grace_ms = 10 };
	char node[48], dev_file[64];

	call.arg = node;
	call.until = sooner(until, OPEN_MS);
	snprintf(node, sizeof(node), "dev/%s", disk->name);
	snprintf(dev_file, sizeof(dev_file), "sys/class/block/%s/dev", disk->name);
	return disk->size && !kernel_node_make(root, node, dev_file, true) &&
	       !child_call_run(&call, &root, 1);
}

struct waiting {
	int root;
	const char *ctrl;
	uint32_t nsid; /* the one that is waited for, 0 = all */
	uint64_t until, changed;
	uint32_t active[NVMF_DISKS];
	int actives; /* -EAGAIN: not asked yet */
	int ready;   /* of the active ones, the first that have opened */
	unsigned seen;
	char state[16];
};

static const struct nvmf_disk *disk_of(const struct nvmf_disk *disks, unsigned count, uint32_t nsid)
{
	for (unsigned i = 0; i < count; i++)
		if (disks[i].nsid == nsid)
			return &disks[i];
	return NULL;
}

/* The first that is not there or does not open yet; 0 = none. */
static uint32_t missing(struct waiting *w, const struct nvmf_disk *disks, unsigned count)
{
	for (; w->ready < w->actives; w->ready++) {
		uint32_t nsid = w->active[w->ready];
		const struct nvmf_disk *disk = disk_of(disks, count, nsid);

		if (w->nsid && nsid != w->nsid)
			continue;
		if (!disk || !opens(w->root, disk, w->until))
			return nsid;
	}
	return 0;
}

/* Nobody said how many there are: what there is opens, and no more come. */
static bool settled(struct waiting *w, const struct nvmf_disk *disks, unsigned count)
{
	if (count != w->seen) {
		w->seen = count;
		w->changed = loop_clock();
	}
	if (w->nsid) {
		const struct nvmf_disk *disk = disk_of(disks, count, w->nsid);

		return disk && opens(w->root, disk, w->until);
	}
	if (loop_clock() - w->changed < SETTLE_MS * 1000000ull)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (!opens(w->root, &disks[i], w->until))
			return false;
	return true;
}

static int no_such(const struct waiting *w, struct diag *diag)
{
	char text[200] = "none";
	size_t used = 0;

	for (int i = 0; i < w->actives && used < sizeof(text) - 16; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%u", i ? ", " : "", w->active[i]);
	return diag_set(diag, DIAG_NOT_FOUND, ENOENT,
		"namespace %u is not visible to this host; visible: %s", w->nsid, text);
}

static bool is_active(const struct waiting *w)
{
	for (int i = 0; i < w->actives; i++)
		if (w->active[i] == w->nsid)
			return true;
	return false;
}

/* 1 = done, 0 = not yet, or -errno. */
static int look(struct waiting *w, struct nvmf_disk **disks, unsigned *count, uint32_t *lacks,
	struct diag *diag)
{
	struct nvmf_ctrl ctrl;
	int err = kernel_nvmf_look(w->root, w->ctrl, &ctrl);

	if (err)
		return diag_set(diag, DIAG_CLOSED, ENODEV, "the kernel removed %s", w->ctrl);
	snprintf(w->state, sizeof(w->state), "%s", ctrl.state);
	if (!strcmp(ctrl.state, "dead") || !strncmp(ctrl.state, "delet", 5))
		return diag_set(
			diag, DIAG_CLOSED, ENODEV, "%s is being removed (%s)", w->ctrl, ctrl.state);
	if (strcmp(ctrl.state, "live"))
		return 0;
	if (w->actives == -EAGAIN)
		w->actives = kernel_nvme_active(w->root, w->ctrl, w->until, w->active, NVMF_DISKS);
	if (w->actives >= 0 && w->nsid && !is_active(w))
		return no_such(w, diag);
	err = kernel_nvmf_disks(w->root, w->ctrl, disks, count, diag);
	if (err)
		return err;
	if (w->actives < 0)
		return settled(w, *disks, *count);
	*lacks = missing(w, *disks, *count);
	return !*lacks;
}

int kernel_nvmf_wait(int root, const char *ctrl, uint32_t nsid, uint64_t until,
	struct nvmf_disk **disks, unsigned *count, struct diag *diag)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	struct waiting w = { .root = root,
		.ctrl = ctrl,
		.nsid = nsid,
		.until = until,
		.actives = -EAGAIN,
		.changed = loop_clock() };
	uint32_t lacks = 0;
	int done;

	for (;;) {
		*disks = NULL;
		*count = 0;
		done = look(&w, disks, count, &lacks, diag);
		if (done > 0)
			return 0;
		free(*disks);
		*disks = NULL;
		if (done < 0)
			return done;
		if (until && loop_clock() >= until)
			break;
		nanosleep(&step, NULL);
	}
	if (strcmp(w.state, "live"))
		return diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"timed out waiting for %s: its state is %s", ctrl, w.state);
	return diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
		"timed out waiting for the block device of namespace %u of %s",
		lacks ? lacks : nsid, ctrl);
}
