/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What waits in the kernel for a ublk device's disk: writing back what the cache holds, a stop. By
 * a process of its own: a server has to serve meanwhile, and nobody could end while a thread or an
 * io_uring of its own waited for a disk that does not answer. */
#include "child.h"
#include "ublk.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

struct wait {
	struct loop_fd fd;
	volatile int over;
};

static void ended(struct loop_fd *fd, uint32_t events)
{
	(void)events;
	container_of(fd, struct wait, fd)->over = 1;
}

/* In the other process; gives an errno. */
static int sync_device(int dev, const void *arg)
{
	int fd = openat(dev, arg, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ENXIO ? 0 : errno;
	return fsync(fd) < 0 ? errno : 0;
}

static int stop_device(int dev, const void *arg)
{
	const uint32_t *id = arg;
	struct ublk_dev_info info;
	struct ublk_ctl ctl;
	struct loop *loop;
	int rc = loop_new(&loop, &(struct loop_options){ 0 }, NULL);

	if (!rc)
		rc = ublk_ctl_open(&ctl, loop, dev, NULL);
	if (!rc)
		rc = ublk_ctl_info(&ctl, *id, &info, 0);
	if (rc >= 0)
		rc = ublk_ctl_run(&ctl, UBLK_CTL_STOP_DEV, *id, 0, NULL, 0, 0);
	return rc < 0 ? -rc : 0;
}

static int aside(struct loop *loop, int dev, int (*fn)(int, const void *), const void *arg,
	uint64_t deadline)
{
	struct wait wait = { .fd = { .events = EPOLLIN, .ready = ended } };
	int rc, status = 0;
	pid_t pid;

	rc = child_aside(&pid, &wait.fd.fd, &dev, 1, fn, arg);
	if (rc)
		return rc;
	rc = loop_fd_add(loop, &wait.fd, NULL);
	if (!rc && !loop_wait(loop, &wait.over, deadline))
		rc = -ETIMEDOUT;
	loop_fd_del(loop, &wait.fd);
	close(wait.fd.fd);
	if (rc)
		return rc;
	child_ended(pid, &status);
	return -status;
}

int ublk_sync(struct loop *loop, int dev, uint32_t id, uint64_t deadline)
{
	char name[UBLK_PATH];

	snprintf(name, sizeof(name), "ublkb%u", id);
	return aside(loop, dev, sync_device, name, deadline);
}

int ublk_halt(struct loop *loop, int dev, uint32_t id, uint64_t deadline)
{
	return aside(loop, dev, stop_device, &id, deadline);
}
