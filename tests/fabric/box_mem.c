/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A system call of the program: its arguments in the program's memory, and its answer. */
#include "box.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE    4096
#define VECTORS 16

void mem_answer(struct box *box, const struct seccomp_notif *call, int64_t value, int err)
{
	struct seccomp_notif_resp answer = { .id = call->id, .val = value, .error = err };

	/* fails when a signal took it out of the call */
	ioctl(box->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void mem_pass(struct box *box, const struct seccomp_notif *call)
{
	struct seccomp_notif_resp answer = { .id = call->id,
		.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	ioctl(box->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

bool mem_alive(struct box *box, const struct seccomp_notif *call)
{
	return !ioctl(box->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id);
}

bool mem_read(const struct seccomp_notif *call, uint64_t from, void *to, size_t len)
{
	struct iovec here = { to, len }, there = { (void *)(uintptr_t)from, len };

	return process_vm_readv((pid_t)call->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

bool mem_write(const struct seccomp_notif *call, uint64_t to, const void *from, size_t len)
{
	struct iovec here = { (void *)(uintptr_t)from, len },
		     there = { (void *)(uintptr_t)to, len };

	return process_vm_writev((pid_t)call->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

ssize_t mem_gather(const struct seccomp_notif *call, void *to, size_t room)
{
	struct iovec part[VECTORS] = { { (void *)(uintptr_t)call->data.args[1],
		call->data.args[2] } };
	size_t count = 1, len = 0;

	if (call->data.nr == SYS_writev) {
		count = call->data.args[2];
		if (count > VECTORS ||
			!mem_read(call, call->data.args[1], part, count * sizeof(*part)))
			return -EFAULT;
	}
	for (size_t i = 0; i < count; i++) {
		if (part[i].iov_len > room - len)
			return -EINVAL;
		if (part[i].iov_len && !mem_read(call, (uintptr_t)part[i].iov_base,
					       (char *)to + len, part[i].iov_len))
			return -EFAULT;
		len += part[i].iov_len;
	}
	return (ssize_t)len;
}

static void read_string(const struct seccomp_notif *call, uint64_t from, char *to, size_t room)
{
	size_t got = 0;

	while (got < room - 1) {
		size_t part = PAGE - (from + got) % PAGE;

		if (part > room - 1 - got)
			part = room - 1 - got;
		if (!mem_read(call, from + got, to + got, part))
			break;
		got += part;
		if (memchr(to + got - part, 0, part))
			return;
	}
	to[got] = 0;
}

void mem_path(const struct seccomp_notif *call, char path[BOX_PATH])
{
	bool at = call->data.nr == SYS_openat;
	int dir = at ? (int)call->data.args[0] : AT_FDCWD;
	char link[64], given[BOX_PATH];
	ssize_t len;

	read_string(call, call->data.args[at], given, sizeof(given));
	snprintf(link, sizeof(link), dir == AT_FDCWD ? "/proc/%u/cwd" : "/proc/%u/fd/%d", call->pid,
		dir);
	len = given[0] == '/' ? 0 : readlink(link, path, BOX_PATH - 1);
	if (len <= 1) /* absolute, or below the root */
		len = 0;
	snprintf(path + len, BOX_PATH - (size_t)len, given[0] == '/' ? "%s" : "/%s", given);
}
