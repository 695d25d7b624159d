/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who a served disk is: the same after a restart, another on another machine, whatever its path. */
#include "hash.h"
#include "identity.h"
#include "kernel.h"
#include "sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NQN "nqn.2014-08.org.nvmexpress:uuid:"

struct fs_uuid { /* struct fsuuid2 of linux/fs.h, since 6.9 */
	uint8_t len, uuid[16];
};
#define GET_FS_UUID _IOR(0x15, 0, struct fs_uuid)

bool identity_device(int root, unsigned dev_major, unsigned dev_minor, char *text, unsigned len)
{
	/* disks of SCSI and NVMe, virtio, device mapper, md; then those of the disk that a partition is of */
	static const char *const names[] = { "wwid", "device/wwid", "serial", "dm/uuid", "md/uuid" };
	char value[160], number[16];

	for (unsigned up = 0; up < 2; up++)
		for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (sys_read(root, value, sizeof(value), "sys/dev/block/%u:%u/%s%s", dev_major, dev_minor, up ? "../" : "", names[i]) <= 0)
				continue;
			if (!up)
				snprintf(text, len, "%s", value);
			else if (sys_read(root, number, sizeof(number), "sys/dev/block/%u:%u/partition", dev_major, dev_minor) > 0)
				snprintf(text, len, "%s partition %s", value, number);
			else
				continue;
			return true;
		}
	return false;
}

/* Of a file system without a UUID that can be asked for: what the kernel tells it apart by. */
static void file_text(int fd, const struct stat *st, char *text, size_t len)
{
	struct fs_uuid uuid = { 0 };
	struct statfs fs;
	uint64_t id = 0;
	char hex[UUID_TEXT + 1];

	if (!ioctl(fd, GET_FS_UUID, &uuid) && uuid.len == sizeof(uuid.uuid)) {
		snprintf(text, len, "file system %s inode %llu", identity_uuid_text(uuid.uuid, hex), (unsigned long long)st->st_ino);
		return;
	}
	if (!fstatfs(fd, &fs))
		memcpy(&id, &fs.f_fsid, sizeof(id));
	snprintf(text, len, "file system id %016llx inode %llu", (unsigned long long)id, (unsigned long long)st->st_ino);
}

/* A loop device is the file it is made of, or what lies in it from an offset on. */
static bool backing(int root, unsigned dev_major, unsigned dev_minor, char path[400])
{
	return sys_read(root, path, 400, "sys/dev/block/%u:%u/loop/backing_file", dev_major, dev_minor) > 0 && path[0] == '/';
}

static void add_offset(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len)
{
	char offset[24];
	size_t at = strlen(text);

	if (sys_read(root, offset, sizeof(offset), "sys/dev/block/%u:%u/loop/offset", dev_major, dev_minor) > 0 && strcmp(offset, "0"))
		snprintf(text + at, len - at, " offset %s", offset);
}

int kernel_disk_text(int root, const char *path, char *text, size_t len, struct diag *diag)
{
	char file[400];
	struct stat st, in;
	int err = 0, fd = openat(root, path[0] == '/' ? path + 1 : path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		err = diag_sys(diag, errno, "%s", path);
	else if (!S_ISBLK(st.st_mode))
		file_text(fd, &st, text, len);
	else if (identity_device(root, major(st.st_rdev), minor(st.st_rdev), text, (unsigned)len))
		;
	else if (backing(root, major(st.st_rdev), minor(st.st_rdev), file)) {
		close(fd);
		fd = openat(root, file + 1, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && !fstat(fd, &in) && !S_ISBLK(in.st_mode))
			file_text(fd, &in, text, len);
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
	char text[UUID_TEXT + 1];
	uint8_t sum[3][32];

	for (unsigned i = 0; i < 3; i++) {
		uint8_t key[16 + sizeof(what[0])];

		memcpy(key, machine, 16);
		memcpy(key + 16, what[i], sizeof(what[i]));
		hash_hmac(sum[i], key, sizeof(key), own, strlen(own));
	}
	identity_mark(sum[0]);
	memcpy(id->uuid, sum[0], sizeof(id->uuid));
	memcpy(id->nguid, sum[1], sizeof(id->nguid));
	for (unsigned i = 0; i < 10; i++)
		snprintf(id->serial + 2 * i, 3, "%02x", sum[2][i]);
	snprintf(id->nqn, sizeof(id->nqn), NQN "%s", identity_uuid_text(id->uuid, text));
}

int kernel_disk_identity(int root, const char *path, const char *own, struct disk_identity *id, struct diag *diag)
{
	const char *from = "nothing tells who this machine is";
	uint8_t machine[16] = { 0 };
	char found[420];
	const char *text = path ? found : own;
	int err = path ? kernel_disk_text(root, path, found, sizeof(found), diag) : 0;

	*id = (struct disk_identity){ 0 };
	if (err)
		return err;
	id->random = !identity_machine(root, machine, &from) || !text[0];
	if (id->random)
		getrandom(machine, sizeof(machine), 0);
	derive(id, machine, text);
	snprintf(id->from, sizeof(id->from), "%.80s%s%s", text, text[0] ? ", " : "", id->random && !text[0] ? "random" : from);
	return 0;
}
