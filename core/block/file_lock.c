/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Image locks compatible with qemu's (its block/file-posix.c). A program that uses the file in mode
 * n locks byte 100 + n; one that denies mode n to others locks byte 200 + n. All are shared locks,
 * so that any number of programs can set them. A program detects a conflict by querying which lock
 * an exclusive one would conflict with. */
#include "file_lock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

enum lock_mode { MODE_READ, MODE_WRITE, MODE_RESIZE = 3 };

#define SHARED_BYTES 100
#define DENY_BYTES   200

static struct flock byte(short type, int at)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };
}

static int set(int fd, int at)
{
	struct flock lock = byte(F_RDLCK, at);

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

static bool is_set(int fd, int at)
{
	struct flock lock = byte(F_WRLCK, at);

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int file_lock(int fd, bool force, struct diag *diag)
{
	static const int own[] = { SHARED_BYTES + MODE_READ, SHARED_BYTES + MODE_WRITE,
		DENY_BYTES + MODE_WRITE, DENY_BYTES + MODE_RESIZE };
	static const int others[] = { DENY_BYTES + MODE_READ, DENY_BYTES + MODE_WRITE,
		SHARED_BYTES + MODE_WRITE, SHARED_BYTES + MODE_RESIZE };
	bool locked = false;
	int err = 0;

	for (unsigned i = 0; !err && i < sizeof(own) / sizeof(*own); i++)
		err = set(fd, own[i]);
	if (force)
		return 0;
	for (unsigned i = 0; !err && i < sizeof(others) / sizeof(*others); i++)
		locked |= is_set(fd, others[i]);
	/* EAGAIN, EACCES: another kind of program has an exclusive lock on the whole file */
	if (locked || err == -EAGAIN || err == -EACCES)
		return diag_set(diag, DIAG_BUSY, EBUSY, "is in use by another program");
	return err;
}
