/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From a SCSI host to block devices that can be opened, without udev. The kernel attaches disks in
 * the background: a unit is there before its block device, that before its size is known. */
#include "child.h"
#include "scsi.h"
#include "sys/node.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP_MS   10 /* between looks, at first 1 */
#define OPEN_MS   2000
#define SETTLE_MS 1000 /* without a new unit, of a host that is still being scanned */

struct waiting {
	int root;
	unsigned host;
	uint64_t lun, until, changed;
	bool scanned;
	unsigned seen;
	char lacks[64]; /* what is waited for */
};

static int try_open(int root, const void *path, void *out)
{
	int fd = openat(root, path, O_RDONLY | O_CLOEXEC);

	(void)out;
	return fd < 0 ? errno : 0;
}

/* A drive without a medium has no size, and cannot be opened: that it is there is all. Of others
 * the size is known before the block is. */
static bool opens(const struct waiting *w, const struct scsi_lun *lun)
{
	uint64_t bound = loop_clock() + OPEN_MS * 1000000ull;
	struct child_call call = { .fn = try_open, .grace_ms = 10 };
	char node[48], dev_file[64];
	int err;

	if (!lun->node[0])
		return false;
	snprintf(node, sizeof(node), "dev/%s", lun->node);
	snprintf(dev_file, sizeof(dev_file), "sys/class/block/%s/dev", lun->node);
	if (kernel_node_make(w->root, node, dev_file, true))
		return false;
	call.arg = node;
	call.until = w->until && w->until < bound ? w->until : bound;
	err = child_call_run(&call, &w->root, 1);
	return err == -ENOMEDIUM || (!err && lun->size && lun->block);
}

static const struct scsi_lun *unit(const struct scsi_lun *luns, unsigned count, uint64_t number)
{
	for (unsigned i = 0; i < count; i++)
		if (luns[i].lun == number)
			return &luns[i];
	return NULL;
}

static int no_such(
	const struct waiting *w, const struct scsi_lun *luns, unsigned count, struct diag *diag)
{
	char text[200] = "none";
	size_t used = 0;

	if (!count) {
		diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"the target reports no disk to this initiator");
		return diag_hint(diag, "check the LUN mapping in the target's access list");
	}
	for (unsigned i = 0; i < count && used < sizeof(text) - 24; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%" PRIu64, i ? ", " : "", luns[i].lun);
	return diag_set(diag, DIAG_NOT_FOUND, ENOENT,
		"the target reports no LUN %" PRIu64 " to this initiator: available: %s", w->lun,
		text);
}

/* No more units come. */
static bool settled(struct waiting *w, unsigned count)
{
	if (count != w->seen) {
		w->seen = count;
		w->changed = loop_clock();
	}
	return w->scanned || loop_clock() - w->changed >= SETTLE_MS * 1000000ull;
}

/* 1 = done, 0 = not yet, or -errno. */
static int look(struct waiting *w, const struct scsi_lun *luns, unsigned count, struct diag *diag)
{
	bool all = w->lun == SCSI_LUN_ALL, still = settled(w, count);
	const struct scsi_lun *one = all ? NULL : unit(luns, count, w->lun);

	if (!kernel_scsi_host(w->root, w->host))
		return diag_set(diag, DIAG_CLOSED, ENODEV, "the kernel removed host%u", w->host);
	if (still && (all ? !count : !one))
		return no_such(w, luns, count, diag);
	if (!all && !one)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		const struct scsi_lun *lun = &luns[i];

		if ((!all && lun != one) || !lun->disk || opens(w, lun))
			continue;
		snprintf(w->lacks, sizeof(w->lacks), "LUN %" PRIu64 "%s%s", lun->lun,
			lun->node[0] ? ", " : "", lun->node);
		return 0;
	}
	return !all || still;
}

/* Callers that catch signals in a loop have them blocked, and can't run the loop here. */
static bool interrupted(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) ||
					    sigismember(&set, SIGHUP));
}

int kernel_scsi_wait(int root, unsigned host, uint64_t lun, bool scanned, uint64_t until,
	struct scsi_lun **luns, unsigned *count, struct diag *diag)
{
	struct timespec step = { .tv_nsec = 1000000 };
	struct waiting w = { .root = root,
		.host = host,
		.lun = lun,
		.scanned = scanned,
		.until = until,
		.changed = loop_clock() };
	uint64_t since = loop_clock();
	int done;

	*luns = NULL;
	*count = 0;
	done = kernel_scsi_ready(root, diag);
	while (!done) {
		free(*luns);
		done = kernel_scsi_luns(root, host, luns, count, diag);
		if (!done)
			done = look(&w, *luns, *count, diag);
		if (done > 0)
			return 0;
		if (!done && until && loop_clock() >= until)
			done = diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
				"%s: no usable block device after %.3g s",
				w.lacks[0] ? w.lacks : "the target",
				(double)(loop_clock() - since) / 1e9);
		if (!done && interrupted())
			done = diag_set(diag, DIAG_CLOSED, EINTR, "interrupted");
		if (!done)
			nanosleep(&step, NULL);
		step.tv_nsec =
			step.tv_nsec < STEP_MS * 1000000 / 2 ? step.tv_nsec * 2 : STEP_MS * 1000000;
	}
	free(*luns);
	*luns = NULL;
	*count = 0;
	return done;
}
