/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The identity of a served disk: unchanged by a restart, different on another host even with the
 * same path. */
#include "kernel_identity.h"
#include "kernel_sys.h"
#include "names.h"
#include "process/hash.h"
#include "process/identity.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

struct fs_uuid { /* struct fsuuid2 of linux/fs.h, since 6.9 */
	uint8_t len, uuid[16];
};
#define GET_FS_UUID _IOR(0x15, 0, struct fs_uuid)

bool kernel_identity_device(
	int root, unsigned dev_major, unsigned dev_minor, char *text, unsigned len)
{
	/* disks of SCSI and NVMe, virtio, device mapper, md; then the same of a partition's disk */
	static const char *const names[] = { "wwid", "device/wwid", "serial", "dm/uuid",
		"md/uuid" };
	char value[160], number[16];

	for (unsigned up = 0; up < 2; up++)
		for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (kernel_sys_read(root, value, sizeof(value), "sys/dev/block/%u:%u/%s%s",
				    dev_major, dev_minor, up ? "../" : "", names[i]) <= 0)
				continue;
			if (!up)
				snprintf(text, len, "%s", value);
			else if (kernel_sys_read(root, number, sizeof(number),
					 "sys/dev/block/%u:%u/partition", dev_major, dev_minor) > 0)
				snprintf(text, len, "%s partition %s", value, number);
			else
				continue;
			return true;
		}
	return false;
}

/* Get the source of the mount with that device number if it is a path: "server:/export",
 * "/dev/sdb1", not "tmpfs". */
static bool mount_source(int root, dev_t dev, char source[256])
{
	char *all = kernel_sys_read_all(root, "proc/self/mountinfo"), *rest = all, *line;
	bool found = false;

	while (!found && (line = strsep(&rest, "\n"))) { /* proc_pid_mountinfo(5) */
		const char *end = strstr(line, " - ");
		unsigned dev_major, dev_minor;

		found = end && sscanf(line, "%*s %*s %u:%u", &dev_major, &dev_minor) == 2 &&
			makedev(dev_major, dev_minor) == dev &&
			sscanf(end, " - %*s %255s", source) == 1 && strchr(source, '/');
	}
	free(all);
	return found;
}

/* Whether inode numbers are persistent: FAT, exFAT and many FUSE file systems assign them on
 * access. */
static bool inode_lasts(unsigned long fs_type)
{
	return fs_type != MSDOS_SUPER_MAGIC && fs_type != EXFAT_SUPER_MAGIC &&
	       fs_type != FUSE_SUPER_MAGIC;
}

/* Some file systems use their device number as file system ID. Without a block device that number
 * is reused after an unmount. */
static bool fsid_lasts(const struct identity_file *file)
{
	uint64_t number = (minor(file->dev) & 0xff) | major(file->dev) << 8 |
			  (uint64_t)(minor(file->dev) & ~0xffu) << 12;

	return file->fsid && (major(file->dev) || file->fsid != number);
}

/* A file system created without a UUID reports zeroes. */
static bool has_uuid(const struct identity_file *file)
{
	static const uint8_t none[16];

	return file->fs_uuid && memcmp(file->fs_uuid, none, sizeof(none));
}

void kernel_identity_file(int root, const struct identity_file *file, char *text, size_t len)
{
	char uuid[UUID_TEXT], where[300], source[256];
	uint8_t boot[16] = { 0 };

	/* btrfs subvolumes share UUID and inode numbers; the file system ID tells them apart */
	if (has_uuid(file) && file->fs_type != BTRFS_SUPER_MAGIC)
		snprintf(where, sizeof(where), "file system %s", uuid_text(uuid, file->fs_uuid));
	else if (fsid_lasts(file))
		snprintf(where, sizeof(where), "file system id %016llx",
			(unsigned long long)file->fsid);
	else if (mount_source(root, file->dev, source))
		snprintf(where, sizeof(where), "file system %s", source);
	else
		snprintf(where, sizeof(where), "boot %s device %u:%u",
			kernel_identity_boot(root, boot) ? uuid_text(uuid, boot) : "unknown",
			major(file->dev), minor(file->dev));
	if (inode_lasts(file->fs_type))
		snprintf(text, len, "%s inode %llu", where, (unsigned long long)file->inode);
	else
		snprintf(text, len, "%s path %s", where, file->path);
}

static void file_text(
	int root, int fd, const char *path, const struct stat *st, char *text, size_t len)
{
	struct identity_file file = { .path = path, .inode = st->st_ino, .dev = st->st_dev };
	struct fs_uuid uuid = { 0 };
	struct statfs fs;

	if (!ioctl(fd, GET_FS_UUID, &uuid) && uuid.len == sizeof(uuid.uuid))
		file.fs_uuid = uuid.uuid;
	if (!fstatfs(fd, &fs)) {
		const uint32_t *half = (const void *)&fs.f_fsid;

		file.fsid = half[0] | (uint64_t)half[1] << 32;
		file.fs_type = (unsigned long)fs.f_type;
	}
	kernel_identity_file(root, &file, text, len);
}

/* A loop device is identified by its backing file and offset. */
static bool backing(int root, unsigned dev_major, unsigned dev_minor, char path[400])
{
	return kernel_sys_read(root, path, 400, "sys/dev/block/%u:%u/loop/backing_file", dev_major,
		       dev_minor) > 0 &&
	       path[0] == '/';
}

static void add_offset(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len)
{
	char offset[24];
	size_t at = strlen(text);

	if (kernel_sys_read(root, offset, sizeof(offset), "sys/dev/block/%u:%u/loop/offset",
		    dev_major, dev_minor) > 0 &&
		strcmp(offset, "0"))
		snprintf(text + at, len - at, " offset %s", offset);
}

int kernel_disk_text(int root, const char *path, char *text, size_t len, struct diag *diag)
{
	char file[400];
	struct stat st, in;
	int err = 0,
	    fd = openat(root, path[0] == '/' ? path + 1 : path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		err = diag_sys(diag, errno, "%s", path);
	else if (!S_ISBLK(st.st_mode))
		file_text(root, fd, path, &st, text, len);
	else if (kernel_identity_device(
			 root, major(st.st_rdev), minor(st.st_rdev), text, (unsigned)len))
		;
	else if (backing(root, major(st.st_rdev), minor(st.st_rdev), file)) {
		close(fd);
		fd = openat(root, file + 1, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && !fstat(fd, &in) && !S_ISBLK(in.st_mode))
			file_text(root, fd, file, &in, text, len);
		else
			snprintf(text, len, "%s", file);
		add_offset(root, major(st.st_rdev), minor(st.st_rdev), text, len);
	} else {
		snprintf(text, len, "block device %s", path);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

static void derive(struct disk_identity *id, const uint8_t machine[16], const char *own)
{
	static const char what[3][8] = { "uuid", "nguid", "serial" };
	uint8_t sum[3][32];

	for (unsigned i = 0; i < 3; i++) {
		uint8_t key[16 + sizeof(what[0])];

		memcpy(key, machine, 16);
		memcpy(key + 16, what[i], sizeof(what[i]));
		kernel_hash_hmac(sum[i], key, sizeof(key), own, strlen(own));
	}
	uuid_mark_random(sum[0]);
	memcpy(id->uuid, sum[0], sizeof(id->uuid));
	memcpy(id->nguid, sum[1], sizeof(id->nguid));
	hex_text(id->serial, sum[2], 10);
	nqn_of_uuid(id->nqn, id->uuid);
}

int kernel_disk_identity(
	int root, const char *path, const char *own, struct disk_identity *id, struct diag *diag)
{
	const char *from = "random";
	uint8_t machine[16] = { 0 };
	char found[420];
	const char *text = path ? found : own;
	int err = path ? kernel_disk_text(root, path, found, sizeof(found), diag) : 0;

	*id = (struct disk_identity){ 0 };
	if (err)
		return err;
	if (!text[0]) {
		id->lasts = DISK_IDENTITY_RUN;
	} else if (kernel_identity_machine(root, machine, &from)) {
		id->lasts = DISK_IDENTITY_ALWAYS;
	} else if (kernel_identity_boot(root, machine)) {
		id->lasts = DISK_IDENTITY_BOOT;
		from = "boot ID";
	}
	if (id->lasts == DISK_IDENTITY_RUN)
		getrandom(machine, sizeof(machine), 0);
	derive(id, machine, text);
	snprintf(id->from, sizeof(id->from), "%.80s%s%s", text, text[0] ? ", " : "", from);
	return 0;
}
