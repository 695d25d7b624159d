/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Disks with several paths: compare their identities, and find the devices that join the paths. The
 * NVMe driver makes them at once, multipathd in the background. */
#include "attach_multipath.h"
#include "grow.h"
#include "kernel_multipath.h"
#include "kernel_nvmf.h"
#include "kernel_status.h"
#include "kernel_sys.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAP_MS  5000 /* for multipathd to make a map */
#define POLL_MS 50
#define SECTOR  512

int multipath_add(struct multipath *mp, const struct multipath_path *path, struct diag *diag)
{
	struct multipath_path *more = grow(mp->path, mp->count);

	if (!more)
		return diag_sys(diag, ENOMEM, "paths");
	*more = *path;
	more->first = mp->count - 1;
	return 0;
}

int multipath_add_luns(struct multipath *mp, const char *via, const char *target,
	struct attach_luns *luns, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; i < luns->count && !err; i++) {
		struct scsi_lun *lun = &luns->list[i];

		if (!lun->node[0] || (luns->lun != SCSI_LUN_ALL && luns->lun != lun->lun))
			continue;
		err = multipath_add(mp,
			&(struct multipath_path){ .via = via,
				.target = target,
				.unit = lun->lun,
				.node = lun->node,
				.wwid = lun->wwid,
				.joined = &lun->joined },
			diag);
	}
	return err;
}

void multipath_free(struct multipath *mp)
{
	free(mp->path);
	mp->path = NULL;
	mp->count = 0;
}

static bool same_unit(const struct multipath_path *a, const struct multipath_path *b)
{
	return a->target[0] && !strcmp(a->target, b->target) && a->unit == b->unit;
}

static bool same_disk(const struct multipath_path *a, const struct multipath_path *b)
{
	if (!strcmp(a->via, b->via))
		return false;
	if (!strcmp(a->node, b->node))
		return true;
	return a->wwid[0] && b->wwid[0] ? !strcmp(a->wwid, b->wwid) : same_unit(a, b);
}

static int refuse(const struct multipath *mp, const struct multipath_path *a,
	const struct multipath_path *b, struct diag *diag)
{
	diag_set(diag, DIAG_MISMATCH, EXDEV,
		"%s %" PRIu64 " is /dev/%s (%s) over %s, but /dev/%s (%s) over %s: not one disk",
		mp->nvme ? "namespace" : "LUN", a->unit, a->node, a->wwid, a->via, b->node, b->wwid,
		b->via);
	diag_ctx(diag, "%s", a->target);
	if (mp->nvme) /* the ports of a SCSI target may number LUNs differently */
		diag_hint(diag, "end the connection to the wrong one: rdmastor %s %s", mp->detach,
			b->via);
	return -EXDEV;
}

static int compare(struct multipath *mp, struct diag *diag)
{
	for (unsigned i = 1; i < mp->count; i++) {
		struct multipath_path *path = &mp->path[i];

		for (unsigned j = 0; j < i; j++) {
			struct multipath_path *other = &mp->path[j];

			if (same_disk(other, path)) {
				path->first = other->first;
				mp->path[path->first].others++;
				break;
			}
			if (same_unit(other, path) && strcmp(other->via, path->via) != 0)
				return refuse(mp, other, path, diag);
		}
	}
	return 0;
}

static bool has_several(const struct multipath *mp)
{
	bool several = false;

	for (unsigned i = 0; i < mp->count; i++)
		several |= mp->path[i].others;
	return several;
}

static bool is_path_of(const struct multipath *mp, unsigned i, unsigned first)
{
	return mp->path[i].first == first;
}

/* Whether all paths of a disk are the one device of the driver. */
static bool is_one_node(const struct multipath *mp, unsigned first)
{
	bool one = true;

	for (unsigned i = 0; i < mp->count; i++)
		one &= !is_path_of(mp, i, first) || !strcmp(mp->path[i].node, mp->path[first].node);
	return one;
}

/* Set the device of a disk, once all of its paths have it. */
static void find_device(struct multipath *mp, unsigned first)
{
	struct multipath_path *disk = &mp->path[first];
	struct multipath_map map = { 0 }, other;

	if (is_one_node(mp, first)) {
		snprintf(disk->device, sizeof(disk->device), "%s", disk->node);
		snprintf(disk->name, sizeof(disk->name), "/dev/%s", disk->node);
		if (mp->nvme && disk->wwid[0])
			snprintf(disk->by_id, sizeof(disk->by_id), "/dev/disk/by-id/nvme-%s",
				disk->wwid);
		return;
	}
	if (!kernel_multipath_of(mp->root, disk->node, &map))
		return;
	for (unsigned i = 0; i < mp->count; i++)
		if (is_path_of(mp, i, first) &&
			(!kernel_multipath_of(mp->root, mp->path[i].node, &other) ||
				strcmp(other.node, map.node) != 0))
			return;
	snprintf(disk->name, sizeof(disk->name), "/dev/mapper/%s", map.name);
	if (!kernel_sys_exists(mp->root, disk->name + 1))
		return; /* udev makes the link later */
	snprintf(disk->device, sizeof(disk->device), "%s", map.node);
	snprintf(disk->by_id, sizeof(disk->by_id), "/dev/disk/by-id/dm-uuid-%s", map.uuid);
}

static bool find_devices(struct multipath *mp)
{
	bool all = true;

	for (unsigned i = 0; i < mp->count; i++) {
		if (!mp->path[i].others || mp->path[i].device[0])
			continue;
		find_device(mp, i);
		all &= mp->path[i].device[0] != 0;
	}
	return all;
}

struct wait {
	struct multipath *mp;
	struct loop_timer timer;
	uint64_t until;
	volatile int ended;
};

static void look(struct loop_timer *timer)
{
	struct wait *wait = container_of(timer, struct wait, timer);
	uint64_t now = loop_clock();

	wait->ended = find_devices(wait->mp) || now >= wait->until;
	if (!wait->ended)
		loop_timer_set(wait->mp->loop, timer, now + POLL_MS * MSEC);
}

static void wait_for_maps(struct multipath *mp)
{
	uint64_t end = loop_clock() + MAP_MS * MSEC;
	struct wait wait = { .mp = mp,
		.timer.fire = look,
		.until = mp->deadline && mp->deadline < end ? mp->deadline : end };

	loop_timer_set(mp->loop, &wait.timer, loop_clock());
	loop_wait(mp->loop, &wait.ended, 0);
}

/* "sda, sdb" */
static void list_paths(const struct multipath *mp, unsigned first, bool via, char *text, size_t len)
{
	size_t at = 0;

	text[0] = 0;
	for (unsigned i = 0; i < mp->count && at < len; i++)
		if (is_path_of(mp, i, first))
			at += (size_t)snprintf(text + at, len - at, "%s%s", at ? ", " : "",
				via ? mp->path[i].via : mp->path[i].node);
}

/* "sda, sdb: one disk". Only an identifier shows that, and several targets may report the same. */
static void describe(const struct multipath *mp, unsigned first, char *text, size_t len)
{
	const struct multipath_path *disk = &mp->path[first];
	bool one = true;
	size_t at;

	list_paths(mp, first, false, text, len);
	for (unsigned i = 0; i < mp->count; i++)
		one &= !is_path_of(mp, i, first) || !strcmp(mp->path[i].target, disk->target);
	at = strlen(text);
	if (!disk->wwid[0])
		snprintf(text + at, len - at, ": one %s of one target, but without an identifier",
			mp->nvme ? "namespace" : "LUN");
	else if (!one)
		snprintf(text + at, len - at, ": several targets report the identifier %s",
			disk->wwid);
	else
		snprintf(text + at, len - at, ": one disk");
}

static void warn(struct multipath *mp, unsigned first, bool daemon)
{
	static const char userspace[] =
		"attach it in userspace: rdmastor export 'URI?path=URI2' --ublk";
	struct multipath_path *disk = &mp->path[first];
	char paths[500];

	describe(mp, first, paths, sizeof(paths));
	if (daemon) {
		disk->missing = "map";
		out_warn(mp->notes, "%s, and multipathd has not joined them", paths);
		out_note(mp->notes, "hint: find out why with: multipath -v3");
	} else if (!mp->nvme) {
		disk->missing = "multipathd";
		out_warn(mp->notes, "%s: separate devices%s", paths,
			disk->wwid[0] ? ", as multipathd is not running" : "");
		if (disk->wwid[0])
			out_note(mp->notes, "hint: start multipathd, or %s", userspace);
	} else if (!kernel_nvmf_multipath(mp->root)) {
		disk->missing = "nvme_core.multipath";
		out_warn(mp->notes, "%s: separate devices, as nvme_core.multipath is off", paths);
		out_note(mp->notes, "hint: boot with nvme_core.multipath=Y, or %s", userspace);
	} else {
		disk->missing = "shared";
		out_warn(mp->notes,
			"%s: separate devices, as the target does not report it as shared", paths);
	}
}

int multipath_join(struct multipath *mp, struct diag *diag)
{
	int err = compare(mp, diag);
	bool daemon;

	if (err || !has_several(mp))
		return err;
	daemon =
		kernel_multipath_daemon(mp->root) && !(mp->nvme && kernel_nvmf_multipath(mp->root));
	if (!find_devices(mp) && daemon)
		wait_for_maps(mp);
	for (unsigned i = 0; i < mp->count; i++) {
		const struct multipath_path *disk = &mp->path[mp->path[i].first];

		if (mp->path[i].joined)
			*mp->path[i].joined = disk->device[0];
		if (mp->path[i].others && !disk->device[0])
			warn(mp, i, daemon);
	}
	return 0;
}

static void show_line(
	const struct multipath *mp, struct out *out, unsigned first, const char *print)
{
	const struct multipath_path *disk = &mp->path[first];
	char paths[300], text[32], size[16];
	uint64_t bytes = 0;

	if (print) {
		out_line(out, "%s",
			!strcmp(print, "by-id") && disk->by_id[0] ? disk->by_id : disk->name);
		return;
	}
	if (kernel_sys_read(mp->root, text, sizeof(text), "sys/class/block/%s/size", disk->device) >
		0)
		bytes = strtoull(text, NULL, 10) * SECTOR;
	list_paths(mp, first, is_one_node(mp, first), paths, sizeof(paths));
	out_line(out, "%s: %s, %u paths: %s%s%s", disk->name, out_human(bytes, size),
		disk->others + 1, paths, disk->by_id[0] ? ", " : "", disk->by_id);
}

static bool is_named_before(const struct multipath *mp, unsigned first)
{
	bool named = false;

	for (unsigned i = 0; i < first; i++)
		named |= mp->path[i].missing &&
			 !strcmp(mp->path[i].missing, mp->path[first].missing);
	return named;
}

void multipath_show(const struct multipath *mp, struct out *out, const char *print)
{
	struct kernel_list *list = NULL;

	if (!has_several(mp))
		return;
	kernel_list_new(mp->root, &list, NULL);
	out_list(out, "multipath");
	for (unsigned i = 0; i < mp->count; i++) {
		if (!mp->path[i].others || !mp->path[i].device[0])
			continue;
		show_line(mp, out, i, print);
		if (list)
			kernel_list_put_disk(out, list, mp->path[i].device);
	}
	out_end(out);
	kernel_list_free(list);
	out_list(out, "multipath_missing");
	for (unsigned i = 0; i < mp->count; i++)
		if (mp->path[i].missing && !is_named_before(mp, i))
			out_text(out, NULL, NULL, "%s", mp->path[i].missing);
	out_end(out);
}

bool multipath_end(const struct multipath *mp, struct out *out, bool failed, const struct diag *why,
	unsigned count, struct diag *diag)
{
	bool set = false, listed = false;

	for (unsigned i = 0; i < count; i++) {
		if (!why[i].err)
			continue;
		if (!failed && !set) {
			*diag = why[i];
			set = true;
			continue;
		}
		if (!listed)
			out_list(out, "other_errors");
		listed = true;
		out_error(out, NULL, &why[i]);
		out_note(mp->notes, "%s%s%s", why[i].object, why[i].object[0] ? ": " : "",
			why[i].text);
		if (why[i].hint[0])
			out_note(mp->notes, "%s", why[i].hint);
	}
	if (listed)
		out_end(out);
	return set;
}
