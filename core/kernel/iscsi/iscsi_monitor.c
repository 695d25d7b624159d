/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the session monitor by its lock, and iscsid by its process name. */
#include "kernel_iscsi.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* writable by root only, so that no other user can lock it */
#define LOCK "sys/module/scsi_transport_iscsi/uevent"

/* "2: FLOCK  ADVISORY  WRITE 812 00:16:4711 0 EOF" */
static int holder(int root, const struct stat *st)
{
	char *text = kernel_sys_read_all(root, "proc/locks"), *rest = text, *line;
	int found = 0;

	while ((line = strsep(&rest, "\n"))) {
		unsigned dev_major, dev_minor;
		unsigned long inode;
		int pid;

		if (sscanf(line, "%*u: FLOCK ADVISORY WRITE %d %x:%x:%lu ", &pid, &dev_major,
			    &dev_minor, &inode) == 4 &&
			pid > 0 && makedev(dev_major, dev_minor) == st->st_dev &&
			inode == st->st_ino)
			found = pid;
	}
	free(text);
	return found;
}

int kernel_iscsi_monitor(int root)
{
	struct stat st;

	return fstatat(root, LOCK, &st, 0) ? 0 : holder(root, &st);
}

int kernel_iscsi_monitor_lock(int root, struct diag *diag)
{
	int fd = openat(root, LOCK, O_WRONLY | O_CLOEXEC), err, pid;

	if (fd < 0 && errno == EACCES)
		return diag_set(diag, DIAG_PERMISSION, EACCES,
			"only root can be the monitor of iSCSI sessions");
	if (fd < 0)
		return diag_sys(diag, errno, "open the lock /" LOCK);
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	err = errno;
	close(fd);
	if (err != EWOULDBLOCK)
		return diag_sys(diag, err, "lock /" LOCK);
	pid = kernel_iscsi_monitor(root);
	if (pid)
		return diag_set(diag, DIAG_BUSY, EBUSY,
			"another monitor of iSCSI sessions is running: process %d", pid);
	return diag_set(diag, DIAG_BUSY, EBUSY,
		"another monitor of iSCSI sessions is running: it holds the lock /" LOCK);
}

/* Parse "812 (iscsid) S 1 …": state Z or X means that the process has ended. */
bool kernel_process_lives(int root, int pid)
{
	char text[64], *state;

	if (pid <= 0 || kernel_sys_read(root, text, sizeof(text), "proc/%d/stat", pid) <= 0)
		return false;
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] && state[2] != 'Z' && state[2] != 'X';
}

/* "Uid:\t0\t0\t0\t0": its real and effective user, as seen from here: root of a container differs
 * unless it is this host's root. */
static bool is_root(int root, int pid)
{
	unsigned real, effective;
	char text[1024], *line;

	if (kernel_sys_read(root, text, sizeof(text), "proc/%d/status", pid) <= 0)
		return false;
	line = strstr(text, "\nUid:");
	return line && sscanf(line, "\nUid: %u %u", &real, &effective) == 2 && !real && !effective;
}

/* The kernel's iSCSI works only in the initial network namespace. A process that can't be inspected
 * counts as being in ours. */
static bool in_other_network(int root, int pid)
{
	struct stat own, its;
	char path[40];

	snprintf(path, sizeof(path), "proc/%d/ns/net", pid);
	return !fstatat(root, "proc/self/ns/net", &own, 0) && !fstatat(root, path, &its, 0) &&
	       (own.st_ino != its.st_ino || own.st_dev != its.st_dev);
}

struct search {
	int root, pid;
};

static void check_process(const char *name, void *arg)
{
	struct search *search = arg;
	char comm[20], *end;
	long pid = strtol(name, &end, 10);

	if (search->pid || *end || pid <= 0 || pid > INT32_MAX ||
		kernel_sys_read(search->root, comm, sizeof(comm), "proc/%ld/comm", pid) <= 0)
		return;
	if (!strcmp(comm, "iscsid") && kernel_process_lives(search->root, (int)pid) &&
		is_root(search->root, (int)pid) && !in_other_network(search->root, (int)pid))
		search->pid = (int)pid;
}

int kernel_iscsid(int root)
{
	struct search search = { .root = root };

	kernel_sys_list(root, "proc", check_process, &search);
	return search.pid;
}
