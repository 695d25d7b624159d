/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Inspect and delete a device from a process that does not serve it. */
#include "ublk.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* until Linux 6.6 the driver checks for dead servers every 5 s; later ones are notified */
#define NOTICE_MS 6000
#define LOOK_MS   20

/* Its server or another process may delete the device at any time. An unprivileged device is named
 * to the driver by the path of its character device, which a deletion removes. While there is still
 * a block device, that path is only missing. */
static bool is_gone(const struct ublk_ctl *ctl, unsigned id, int rc)
{
	char node[UBLK_PATH];

	snprintf(node, sizeof(node), "ublkb%u", id);
	return rc == -ENODEV || (rc == -ENOENT && faccessat(ctl->dev, node, F_OK, 0));
}

static int look_at_device(
	struct ublk_ctl *ctl, unsigned id, struct ublk_dev_info *info, struct diag *diag)
{
	int rc = ublk_ctl_info(ctl, id, info, 0);

	if (is_gone(ctl, id, rc))
		return diag_set(diag, DIAG_NOT_FOUND, ENODEV, "no such device: /dev/ublkb%u", id);
	return rc < 0 ? diag_sys(diag, -rc, "query /dev/ublkb%u", id) : 0;
}

/* Does not block: the driver withholds a device's parameters while a stop waits for the disk, so
 * those are not queried. */
int ublk_query(int dev, struct loop *loop, unsigned id, struct ublk_info *info, struct diag *diag)
{
	struct ublk_dev_info found = { 0 };
	struct ublk_ctl ctl;
	int rc = ublk_ctl_open(&ctl, loop, dev, diag);

	if (rc)
		return rc;
	rc = look_at_device(&ctl, id, &found, diag);
	ublk_ctl_close(&ctl);
	ublk_fill_info(&found, info);
	return rc;
}

static int no_answer(unsigned id, int pid, struct diag *diag)
{
	diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
		"the server of /dev/ublkb%u, process %d, does not answer", id, pid);
	diag_hint(diag,
		"its disk may be unreachable: kill -9 %d and detach again (unwritten data is lost)",
		pid);
	return -ETIMEDOUT;
}

/* Without its server a device can't be flushed. Just after its server was killed it still counts as
 * live, and a flush would get no answer: wait until the kernel notices. */
static int flush(struct ublk_ctl *ctl, unsigned id, struct ublk_dev_info *info, uint64_t deadline,
	struct diag *diag)
{
	uint64_t until = loop_clock() + NOTICE_MS * MSEC;
	int rc = look_at_device(ctl, id, info, diag);

	while (!rc && info->state == UBLK_LIVE && kill(info->pid, 0) && errno == ESRCH &&
		loop_clock() < until) {
		ublk_pause(ctl->loop, LOOK_MS);
		rc = look_at_device(ctl, id, info, diag);
	}
	if (rc || info->state != UBLK_LIVE)
		return rc;
	rc = ublk_sync(ctl->loop, ctl->dev, id, deadline);
	if (rc == -ETIMEDOUT)
		return no_answer(id, info->pid, diag);
	return rc < 0 ? diag_sys(
				diag, -rc, "data of /dev/ublkb%u may not be on the disk: flush", id)
		      : 0;
}

int ublk_flush(int dev, struct loop *loop, unsigned id, uint32_t timeout_ms, struct diag *diag)
{
	struct ublk_dev_info info = { 0 };
	struct ublk_ctl ctl;
	int rc = ublk_ctl_open(&ctl, loop, dev, diag);

	if (rc)
		return rc;
	rc = flush(&ctl, id, &info, timeout_ms ? loop_clock() + timeout_ms * MSEC : 0, diag);
	ublk_ctl_close(&ctl);
	return rc;
}

static int delete (
	struct ublk_ctl *ctl, unsigned id, bool force, uint64_t deadline, struct diag *diag)
{
	struct ublk_dev_info info = { 0 };
	int rc = force ? look_at_device(ctl, id, &info, diag)
		       : flush(ctl, id, &info, deadline, diag);

	if (rc)
		return rc;
	rc = ublk_halt(ctl->loop, ctl->dev, id, deadline);
	if (rc == -ETIMEDOUT)
		return no_answer(id, info.pid, diag);
	if (is_gone(ctl, id, rc))
		return 0;
	if (rc < 0)
		return diag_sys(diag, -rc, "stop /dev/ublkb%u", id);
	rc = ublk_ctl_run(ctl, UBLK_CTL_DEL_DEV, id, 0, NULL, 0, deadline);
	if (rc == -ETIMEDOUT)
		return diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"/dev/ublkb%u is stopped, but a process still has it open: it is removed "
			"once closed",
			id);
	return rc < 0 && !is_gone(ctl, id, rc) ? diag_sys(diag, -rc, "delete /dev/ublkb%u", id) : 0;
}

int ublk_delete(
	int dev, struct loop *loop, unsigned id, bool force, uint32_t timeout_ms, struct diag *diag)
{
	struct ublk_ctl *ctl = calloc(1, sizeof(*ctl));
	int rc = ctl ? ublk_ctl_open(ctl, loop, dev, diag) : diag_sys(diag, ENOMEM, "ublk");

	if (!rc) {
		rc = delete (
			ctl, id, force, timeout_ms ? loop_clock() + timeout_ms * MSEC : 0, diag);
		ublk_ctl_close(ctl);
	}
	if (!ctl || !ctl->pending)
		free(ctl);
	return rc;
}
