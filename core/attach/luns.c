/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Wait for the block devices of a SCSI host. The kernel attaches disks in the background: a LUN
 * exists before its block device, and the device before its size is known. */
#include "attach_row.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_NS 1000000000ull /* without a new LUN, while the host is being scanned */

static const struct scsi_lun *find_lun(const struct attach_luns *luns)
{
	for (unsigned i = 0; i < luns->count; i++)
		if (luns->list[i].lun == luns->lun)
			return &luns->list[i];
	return NULL;
}

static int no_such(const struct attach_luns *luns, struct diag *diag)
{
	char text[200] = "none";
	size_t used = 0;

	if (!luns->count) {
		diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"the target reports no disk to this initiator");
		return diag_hint(diag, "check the LUN mapping in the target's access list");
	}
	for (unsigned i = 0; i < luns->count && used < sizeof(text) - 24; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%" PRIu64,
			i ? ", " : "", luns->list[i].lun);
	return diag_set(diag, DIAG_NOT_FOUND, ENOENT,
		"the target reports no LUN %" PRIu64 " to this initiator: available: %s", luns->lun,
		text);
}

static bool has_settled(struct attach_luns *luns)
{
	if (luns->count != luns->last_count || !luns->changed_at) {
		luns->last_count = luns->count;
		luns->changed_at = loop_clock();
	}
	return luns->scanned || loop_clock() - luns->changed_at >= SETTLE_NS;
}

static void set_missing(struct attach_luns *luns, const struct scsi_lun *lun)
{
	snprintf(luns->missing, sizeof(luns->missing), "LUN %" PRIu64 "%s%s", lun->lun,
		lun->node[0] ? ", " : "", lun->node);
}

int attach_luns_poll(struct attach *attach, struct attach_luns *luns)
{
	bool all = luns->lun == SCSI_LUN_ALL, settled;
	const struct scsi_lun *one;
	int err;

	attach_luns_free(luns);
	luns->missing[0] = 0;
	err = kernel_scsi_luns(attach->root, luns->host, &luns->list, &luns->count, &attach->why);
	if (err)
		return err;
	settled = has_settled(luns);
	one = all ? NULL : find_lun(luns);
	if (!kernel_scsi_host(attach->root, luns->host))
		return diag_set(
			&attach->why, DIAG_CLOSED, ENODEV, "the kernel removed host%u", luns->host);
	if (settled && (all ? !luns->count : !one))
		return no_such(luns, &attach->why);
	if (!all && !one)
		return 0;
	for (unsigned i = 0; i < luns->count; i++) {
		const struct scsi_lun *lun = &luns->list[i];

		if ((!all && lun != one) || !lun->disk)
			continue;
		if (!lun->node[0] || !lun->block) { /* the queue is the last to appear in sysfs */
			set_missing(luns, lun);
			return 0;
		}
		attach_disk(attach, lun->node);
	}
	return !all || settled;
}

void attach_luns_timeout_error(struct attach *attach, struct attach_luns *luns)
{
	const char *closed = attach_unopened(attach);
	char text[DIAG_SECONDS];

	for (unsigned i = 0; i < luns->count && !luns->missing[0]; i++)
		if (closed[0] && !strcmp(luns->list[i].node, closed))
			set_missing(luns, &luns->list[i]);
	diag_set(&attach->why, DIAG_TIMEOUT, ETIMEDOUT, "%s: no usable block device after %s",
		luns->missing[0] ? luns->missing : "the target",
		diag_seconds((loop_clock() - attach->since) / 1000000, text));
}

void attach_luns_free(struct attach_luns *luns)
{
	free(luns->list);
	luns->list = NULL;
	luns->count = 0;
}

void attach_luns_devices(
	const struct attach_luns *luns, void (*each)(const char *path, void *arg), void *arg)
{
	char path[64];

	for (unsigned i = 0; i < luns->count; i++) {
		const struct scsi_lun *lun = &luns->list[i];

		if (!lun->node[0] || (luns->lun != SCSI_LUN_ALL && luns->lun != lun->lun))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", lun->node);
		each(path, arg);
	}
}
