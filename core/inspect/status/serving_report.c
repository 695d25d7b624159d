/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The socket on which a process reports its disks. */
#include "served.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_MS 5
#define BACKLOG  64

socklen_t kernel_serving_address(struct sockaddr_un *un, int pid)
{
	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* an abstract name begins with a zero byte and has none at its end */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1,
				   SERVING_PREFIX "%d", pid));
}

void kernel_report_owner(struct kernel_report *report)
{
	report->allowed[0] = getuid();
	report->allowed[1] = geteuid();
}

static bool is_allowed(const struct kernel_report *report, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return false;
	return !cred.uid || cred.uid == report->allowed[0] || cred.uid == report->allowed[1];
}

/* Send without blocking: what the socket does not accept is cut, and the reader reports an
 * incomplete answer. With this buffer that takes hundreds of kilobytes. */
static void answer(struct kernel_report *report, int fd)
{
	size_t len;
	char *text = report->text(report->user, &len);
	int room;

	if (!text)
		return;
	room = len < (1u << 20) ? (int)len * 2 : 2 << 20;
	if (len > 65536)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	(void)!send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	free(text);
}

static void resume(struct loop_timer *timer)
{
	struct kernel_report *report = container_of(timer, struct kernel_report, pause);

	loop_fd_change(report->loop, &report->fd, EPOLLIN);
}

static void ready(struct loop_fd *lfd, uint32_t events)
{
	struct kernel_report *report = container_of(lfd, struct kernel_report, fd);
	int fd = accept4(lfd->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	loop_fd_change(report->loop, lfd, 0);
	loop_timer_set(report->loop, &report->pause, loop_now(report->loop) + PAUSE_MS * MSEC);
	if (fd < 0)
		return;
	if (is_allowed(report, fd))
		answer(report, fd);
	close(fd);
}

int kernel_report_start(struct kernel_report *report, struct loop *loop, struct diag *diag)
{
	struct sockaddr_un un;
	socklen_t len = kernel_serving_address(&un, (int)getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return diag_sys(diag, errno, "status socket");
	if (bind(fd, (struct sockaddr *)&un, len) || listen(fd, BACKLOG)) {
		err = diag_sys(diag, errno, "status socket @%s", un.sun_path + 1);
		close(fd);
		return err;
	}
	report->loop = loop;
	report->fd = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .ready = ready };
	report->pause.fire = resume;
	err = loop_fd_add(loop, &report->fd, diag);
	report->on = !err;
	if (err)
		close(fd);
	return err;
}

void kernel_report_stop(struct kernel_report *report)
{
	if (!report->on)
		return;
	report->on = false;
	loop_timer_del(report->loop, &report->pause);
	loop_fd_del(report->loop, &report->fd);
	close(report->fd.fd);
}
