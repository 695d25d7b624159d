/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the logical units of a SCSI host from sysfs, and find users of their disks. */
#include "scsi.h"
#include "disks/holders.h"
#include "disks/node.h"
#include "grow.h"
#include "kernel_multipath.h"
#include "kernel_sys.h"
#include "modules/modules.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNITS_MAX 4096
#define SECTOR    512 /* unit of /sys/block/X/size, independent of the disk's block size */

struct walk {
	int root;
	unsigned host;
	struct scsi_lun *list;
	unsigned count;
	int err;
};

static void first_name(const char *name, void *arg)
{
	char *to = arg;

	if (!*to)
		snprintf(to, 32, "%.31s", name);
}

static uint64_t read_number(int root, const char *dir, const char *name)
{
	char text[32];

	return kernel_sys_read(root, text, sizeof(text), "%s/%s", dir, name) > 0
		       ? strtoull(text, NULL, 10)
		       : 0;
}

static void read_block(int root, const char *device, struct scsi_lun *lun)
{
	char dir[200], text[32];

	snprintf(dir, sizeof(dir), "%s/block", device);
	kernel_sys_list(root, dir, first_name, lun->node);
	if (!lun->node[0])
		return;
	snprintf(dir, sizeof(dir), "%s/block/%s", device, lun->node);
	if (kernel_sys_read(root, text, sizeof(text), "%s/dev", dir) <= 0 ||
		sscanf(text, "%u:%u", &lun->major, &lun->minor) != 2)
		lun->node[0] = 0; /* the kernel is still creating it */
	lun->size = read_number(root, dir, "size") * SECTOR;
	lun->block = (uint32_t)read_number(root, dir, "queue/logical_block_size");
	lun->ro = read_number(root, dir, "ro");
}

/* Direct access, optical, optical memory, simplified direct access, zoned: the types that sd_mod
 * and sr_mod drive (SPC-4 table 139). */
static bool has_block(int type)
{
	return type == 0x00 || type == 0x05 || type == 0x07 || type == 0x0e || type == 0x14;
}

/* Whether the unit is usable: peripheral qualifier 0 (SPC-4 6.4.2). Kernels before 4.1 do not show
 * it. */
static bool connected(int root, const char *device)
{
	char data[9];

	return kernel_sys_read(root, data, sizeof(data), "%s/inquiry", device) <= 0 ||
	       !((unsigned char)data[0] >> 5);
}

static void read_unit(int root, struct scsi_lun *lun)
{
	char device[120], text[16];

	snprintf(device, sizeof(device), SCSI_UNITS "/%s/device", lun->name);
	lun->type = kernel_sys_read(root, text, sizeof(text), "%s/type", device) > 0
			    ? (int)strtol(text, NULL, 10)
			    : -1;
	lun->disk = has_block(lun->type) && connected(root, device);
	kernel_sys_read(root, lun->vendor, sizeof(lun->vendor), "%s/vendor", device);
	kernel_sys_read(root, lun->model, sizeof(lun->model), "%s/model", device);
	kernel_sys_read(root, lun->state, sizeof(lun->state), "%s/state", device);
	kernel_sys_read(root, lun->wwid, sizeof(lun->wwid), "%s/wwid", device);
	if (lun->disk)
		read_block(root, device, lun);
}

static void add_unit(const char *name, void *arg)
{
	struct walk *walk = arg;
	struct scsi_lun lun = { 0 }, *more;
	unsigned host, channel, id;
	char end;

	if (walk->err || strlen(name) >= sizeof(lun.name) ||
		sscanf(name, "%u:%u:%u:%" SCNu64 "%c", &host, &channel, &id, &lun.lun, &end) != 4 ||
		host != walk->host)
		return;
	more = walk->count < UNITS_MAX ? grow(walk->list, walk->count) : NULL;
	if (!more) {
		walk->err = walk->count < UNITS_MAX ? -ENOMEM : -E2BIG;
		return;
	}
	snprintf(lun.name, sizeof(lun.name), "%s", name);
	read_unit(walk->root, &lun);
	*more = lun;
}

static int by_number(const void *a, const void *b)
{
	const struct scsi_lun *left = a, *right = b;

	return left->lun < right->lun ? -1 : left->lun > right->lun;
}

int kernel_scsi_luns(
	int root, unsigned host, struct scsi_lun **luns, unsigned *count, struct diag *diag)
{
	struct walk walk = { .root = root, .host = host };

	kernel_sys_list(root, SCSI_UNITS, add_unit, &walk);
	*luns = walk.list;
	*count = walk.count;
	if (!walk.err) {
		if (walk.count)
			qsort(walk.list, walk.count, sizeof(*walk.list), by_number);
		return 0;
	}
	free(walk.list);
	*luns = NULL;
	*count = 0;
	return diag_sys(diag, -walk.err, "LUNs of host%u", host);
}

/* As udev's rules and scsi_id build it; for other kinds of identifiers the link would include the
 * vendor's blanks. */
void kernel_scsi_by_id(const struct scsi_lun *lun, char text[200])
{
	text[0] = 0;
	if (!strncmp(lun->wwid, "naa.", 4))
		snprintf(text, 200, "/dev/disk/by-id/wwn-0x%s", lun->wwid + 4);
	else if (!strncmp(lun->wwid, "eui.", 4))
		snprintf(text, 200, "/dev/disk/by-id/scsi-2%s", lun->wwid + 4);
}

bool kernel_scsi_loaded(int root)
{
	return kernel_sys_exists(root, "sys/bus/scsi/drivers/sd");
}

int kernel_scsi_ready(int root, struct diag *diag)
{
	const char *why;

	if (kernel_scsi_loaded(root))
		return 0;
	why = kernel_module_load(root, "sd_mod");
	if (kernel_scsi_loaded(root))
		return 0;
	return kernel_module_missing("sd_mod", why, diag);
}

bool kernel_scsi_host(int root, unsigned host)
{
	char path[64];

	snprintf(path, sizeof(path), "sys/class/scsi_host/host%u", host);
	return kernel_sys_exists(root, path);
}

int kernel_scsi_scan(int root, unsigned host)
{
	char path[64];
	int fd, err = 0;

	snprintf(path, sizeof(path), "sys/class/scsi_host/host%u/scan", host);
	fd = openat(root, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, "- - -", 5) != 5)
		err = -errno;
	close(fd);
	return err;
}

/* Disks of hosts that end together: `owner` is the host. */
struct host_disks {
	struct disk_users *list;
	unsigned count;
	bool failed; /* out of memory */
};

static void add_disks(int root, unsigned host, struct host_disks *disks)
{
	struct scsi_lun *luns = NULL;
	unsigned count;

	disks->failed |= kernel_scsi_luns(root, host, &luns, &count, NULL) != 0;
	for (unsigned i = 0; !disks->failed && i < count; i++) {
		struct disk_users *more = luns[i].node[0] ? grow(disks->list, disks->count) : NULL;

		disks->failed |= luns[i].node[0] && !more;
		if (!more)
			continue;
		*more = (struct disk_users){
			.owner = host, .major = luns[i].major, .minor = luns[i].minor
		};
		memcpy(more->node, luns[i].node, sizeof(more->node));
	}
	free(luns);
}

static bool has_map(int root, const struct host_disks *disks)
{
	struct multipath_map map;
	bool has = false;

	for (unsigned i = 0; i < disks->count; i++)
		has |= kernel_multipath_of(root, disks->list[i].node, &map);
	return has;
}

/* Only a map joins the disks of several hosts. */
static struct host_disks disks_of(int root, unsigned host, const struct scsi_hosts *together)
{
	struct host_disks disks = { 0 };
	unsigned others;

	add_disks(root, host, &disks);
	others = has_map(root, &disks) ? together->count : 0;
	for (unsigned i = 0; i < others; i++)
		if (together->host[i] != host)
			add_disks(root, together->host[i], &disks);
	return disks;
}

void kernel_scsi_users(
	int root, unsigned host, const struct scsi_hosts *together, char *text, size_t len)
{
	struct host_disks disks = disks_of(root, host, together);

	if (disks.failed) {
		snprintf(text, len, "users of its disks are unknown");
	} else {
		kernel_disk_users(root, disks.list, disks.count);
		kernel_disk_users_text(disks.list, disks.count, host, text, len);
	}
	free(disks.list);
}

int kernel_scsi_flush(
	int root, unsigned host, const struct scsi_hosts *together, bool force, struct diag *diag)
{
	struct host_disks disks = disks_of(root, host, together);
	int err = disks.failed ? diag_sys(diag, ENOMEM, "disks of host%u", host) : 0;

	for (unsigned i = 0; i < disks.count && !err; i++)
		if (disks.list[i].owner == host)
			err = kernel_disk_flush(
				root, disks.list, disks.count, disks.list[i].node, force, diag);
	free(disks.list);
	return err;
}

bool kernel_scsi_has_root(int root, unsigned host)
{
	struct scsi_lun *luns;
	unsigned count;
	bool has = false;

	if (kernel_scsi_luns(root, host, &luns, &count, NULL))
		return true;
	for (unsigned i = 0; i < count && !has; i++)
		has = luns[i].node[0] && kernel_holders_root(root, luns[i].major, luns[i].minor);
	free(luns);
	return has;
}

struct search {
	int root;
	const char *node;
	int host;
};

static void find_unit(const char *name, void *arg)
{
	struct search *search = arg;
	char dir[160], path[256];
	unsigned host, channel, id;
	uint64_t lun;

	if (search->host >= 0 || sscanf(name, "%u:%u:%u:%" SCNu64, &host, &channel, &id, &lun) != 4)
		return;
	snprintf(dir, sizeof(dir), SCSI_UNITS "/%.40s/device/block", name);
	snprintf(path, sizeof(path), "%s/%.40s", dir, search->node);
	if (kernel_sys_exists(search->root, path)) {
		search->host = (int)host;
		return;
	}
	/* a partition's directory is inside its disk's and begins with its name */
	for (size_t len = strlen(search->node);
		len && search->node[len - 1] >= '0' && search->node[len - 1] <= '9'; len--) {
		snprintf(path, sizeof(path), "%s/%.*s/%.40s", dir, (int)(len - 1), search->node,
			search->node);
		if (kernel_sys_exists(search->root, path))
			search->host = (int)host;
	}
}

int kernel_scsi_host_of(int root, const char *device)
{
	char *real = strchr(device, '/') ? realpath(device, NULL) : NULL;
	const char *path = real ? real : device, *slash = strrchr(path, '/');
	struct search search = { .root = root, .node = slash ? slash + 1 : path, .host = -1 };

	if (*search.node)
		kernel_sys_list(root, SCSI_UNITS, find_unit, &search);
	free(real);
	return search.host >= 0 ? search.host : -ENOENT;
}

void kernel_scsi_drop_nodes(int root, const struct scsi_lun *luns, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char path[80];

		snprintf(path, sizeof(path), "sys/class/block/%s", luns[i].node);
		if (!luns[i].node[0] || kernel_sys_exists(root, path))
			continue;
		snprintf(path, sizeof(path), "dev/%s", luns[i].node);
		kernel_node_drop(root, path, luns[i].major, luns[i].minor, true);
	}
}
