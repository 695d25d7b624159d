/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands to the ublk driver. The kernel executes each in a thread of its own, so a command may
 * wait for requests that are served here: starting a device ends after its partition table was
 * read. */
#include "ublk.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ENTRIES   4
#define WAY_ROUND "export --nbd-dev makes a block device without it"

void ublk_ctl_encode(struct io_uring_sqe *sqe, int fd, uint32_t op, const struct ublk_ctl_cmd *cmd)
{
	memset(sqe, 0, 2 * sizeof(*sqe)); /* SQE128 */
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = op;
	memcpy(sqe->cmd, cmd, sizeof(*cmd));
}

static void ready(struct loop_fd *fd, uint32_t events)
{
	struct ublk_ctl *ctl = container_of(fd, struct ublk_ctl, fd);
	struct io_uring_cqe *cqe;

	(void)events;
	while (!io_uring_peek_cqe(&ctl->ring, &cqe)) {
		ctl->result = cqe->res;
		ctl->pending = false;
		ctl->done = 1;
		io_uring_cqe_seen(&ctl->ring, cqe);
	}
}

void ublk_ctl_give_up(struct ublk_ctl *ctl, int result)
{
	if (!ctl->pending)
		return;
	ctl->result = result;
	ctl->done = 1;
}

int ublk_ctl_run(struct ublk_ctl *ctl, uint32_t op, uint32_t id, uint64_t data, void *payload,
	uint16_t len, uint64_t deadline)
{
	struct ublk_ctl_cmd cmd = {
		.dev_id = id, .queue_id = UINT16_MAX, .len = len, .data = data
	};
	bool to_device = op != UBLK_CTL_ADD_DEV && op != UBLK_CTL_GET_FEATURES;
	int rc;

	if (ctl->pending)
		return -EBUSY;
	if (to_device && (ctl->with_path || op == UBLK_CTL_GET_DEV_INFO2))
		cmd.path_len =
			(uint16_t)snprintf((char *)ctl->payload, UBLK_PATH, "/dev/ublkc%u", id) + 1;
	if (len)
		memcpy(ctl->payload + cmd.path_len, payload, len);
	cmd.len += cmd.path_len;
	cmd.addr = cmd.len ? (uintptr_t)ctl->payload : 0;
	ublk_ctl_encode(io_uring_get_sqe(&ctl->ring), ctl->control, op, &cmd);
	ctl->done = 0;
	rc = io_uring_submit(&ctl->ring);
	ctl->pending = rc >= 0;
	if (rc >= 0)
		rc = loop_wait(ctl->loop, &ctl->done, deadline) ? ctl->result : -ETIMEDOUT;
	if (rc >= 0 && len)
		memcpy(payload, ctl->payload + cmd.path_len, len);
	return rc;
}

int ublk_ctl_info(struct ublk_ctl *ctl, uint32_t id, struct ublk_dev_info *info, uint64_t deadline)
{
	int rc = ublk_ctl_run(ctl, UBLK_CTL_GET_DEV_INFO2, id, 0, info, sizeof(*info), deadline);

	if (rc >= 0)
		ctl->with_path = info->flags & UBLK_FEATURE_UNPRIVILEGED;
	return rc;
}

static int no_ring(int err, struct diag *diag)
{
	if (err == ENOSYS || err == EPERM || err == EACCES)
		diag_set(diag, DIAG_UNSUPPORTED, err,
			"io_uring is not permitted (%s): see kernel.io_uring_disabled and the "
			"container's seccomp profile",
			diag_errno_text(err));
	else
		diag_sys(diag, err, "create an io_uring with 128-byte entries");
	return diag_hint(diag, WAY_ROUND);
}

static int get_features(struct ublk_ctl *ctl, struct diag *diag)
{
	int rc = ublk_ctl_run(ctl, UBLK_CTL_GET_FEATURES, UINT32_MAX, 0, &ctl->features,
		sizeof(ctl->features), 0);

	if (rc >= 0 && ctl->features & UBLK_FEATURE_CMD_IOCTL_ENCODE)
		return 0;
	if (rc < 0 && !ctl->pending && !ctl->done) /* not submitted */
		return no_ring(-rc, diag);
	if (rc < 0 && rc != -EOPNOTSUPP && rc != -EINVAL && rc != -ENODEV)
		return diag_sys(diag, -rc, "query the features of the ublk driver");
	diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
		"the ublk driver of this kernel is too old: Linux 6.5 or later is needed");
	return diag_hint(diag, WAY_ROUND);
}

int ublk_ctl_open(struct ublk_ctl *ctl, struct loop *loop, int dev, struct diag *diag)
{
	int rc;

	*ctl = (struct ublk_ctl){ .loop = loop, .dev = dev };
	rc = io_uring_queue_init(ENTRIES, &ctl->ring, IORING_SETUP_SQE128);
	if (rc < 0)
		return no_ring(-rc, diag);
	io_uring_ring_dontfork(&ctl->ring);
	ctl->control = openat(dev, "ublk-control", O_RDWR | O_CLOEXEC);
	if (ctl->control < 0) {
		rc = diag_sys(diag, errno, "open /dev/ublk-control");
		io_uring_queue_exit(&ctl->ring);
		return rc;
	}
	ctl->fd = (struct loop_fd){ .fd = ctl->ring.ring_fd, .events = EPOLLIN, .ready = ready };
	rc = loop_fd_add(loop, &ctl->fd, diag);
	if (!rc)
		rc = get_features(ctl, diag);
	if (rc)
		ublk_ctl_close(ctl);
	return rc;
}

void ublk_ctl_close(struct ublk_ctl *ctl)
{
	loop_fd_del(ctl->loop, &ctl->fd);
	io_uring_queue_exit(&ctl->ring);
	close(ctl->control);
}
