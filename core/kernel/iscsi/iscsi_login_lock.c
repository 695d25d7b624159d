/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Serialise logins to one target and portal across processes: two that both see no session would
 * both create one. */
#include "kernel_iscsi.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* writable by root only; this lock is independent of the session monitor's flock(2) */
#define LOCK_FILE "sys/module/scsi_transport_iscsi/uevent"

int kernel_iscsi_login_lock_open(int root)
{
	int fd = openat(root, LOCK_FILE, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static uint64_t mix(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	while (*text++);
	return hash;
}

uint64_t kernel_iscsi_login_lock_id(
	const char *transport, const char *target, const struct addr *portal)
{
	char at[ADDR_TEXT];

	return mix(mix(mix(0xcbf29ce484222325ull, transport), target), addr_text(portal, at)) >> 2;
}

static int lock(int fd, uint64_t id, short type)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)id, .l_len = 1
	};

	return fd < 0 || !fcntl(fd, F_OFD_SETLK, &lock) ? 0 : errno;
}

bool kernel_iscsi_login_trylock(int fd, uint64_t id)
{
	int err = lock(fd, id, F_WRLCK);

	return err != EAGAIN && err != EACCES;
}

void kernel_iscsi_login_unlock(int fd, uint64_t id)
{
	lock(fd, id, F_UNLCK);
}
