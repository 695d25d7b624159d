/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls that wait in the kernel for the disk of a ublk device: flush of its page cache, stop. They
 * run in a child, as the server must keep serving, and a process can't end while one of its threads
 * or io_urings waits for a disk that does not respond. */
#include "child.h"
#include "ublk.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct wait {
	struct child_call call;
	volatile int done;
};

static void ended(struct child_call *call)
{
	container_of(call, struct wait, call)->done = 1;
}

/* Runs in the child; returns an errno. */
static int sync_device(int dev, const void *arg, void *out)
{
	int fd = openat(dev, arg, O_RDONLY | O_CLOEXEC);

	(void)out;
	if (fd < 0)
		return errno == ENOENT || errno == ENXIO ? 0 : errno;
	return fsync(fd) < 0 ? errno : 0;
}

static int stop_device(int dev, const void *arg, void *out)
{
	const uint32_t *id = arg;
	struct ublk_dev_info info;
	struct ublk_ctl ctl;
	struct loop *loop;
	int rc = loop_new(&loop, &(struct loop_options){ 0 }, NULL);

	(void)out;
	if (!rc)
		rc = ublk_ctl_open(&ctl, loop, dev, NULL);
	if (!rc)
		rc = ublk_ctl_info(&ctl, *id, &info, 0);
	if (rc >= 0)
		rc = ublk_ctl_run(&ctl, UBLK_CTL_STOP_DEV, *id, 0, NULL, 0, 0);
	return rc < 0 ? -rc : 0;
}

static int run_aside(struct loop *loop, int dev, int (*fn)(int, const void *, void *),
	const void *arg, uint64_t deadline)
{
	struct wait wait = { .call = { .fn = fn, .arg = arg, .until = deadline, .done = ended } };
	int rc = child_call_start(&wait.call, loop, &dev, 1);

	if (rc)
		return rc;
	loop_wait(loop, &wait.done, 0);
	return wait.call.err;
}

int ublk_sync(struct loop *loop, int dev, uint32_t id, uint64_t deadline)
{
	char name[UBLK_PATH];

	snprintf(name, sizeof(name), "ublkb%u", id);
	return run_aside(loop, dev, sync_device, name, deadline);
}

int ublk_halt(struct loop *loop, int dev, uint32_t id, uint64_t deadline)
{
	return run_aside(loop, dev, stop_device, &id, deadline);
}
