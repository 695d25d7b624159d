/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sockets on which a process reports its disks and takes commands. */
#include "served.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_MS 5
#define BACKLOG  64
#define LIMIT_MS 1000

socklen_t kernel_serving_address(struct sockaddr_un *un, int pid, const char *suffix)
{
	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* an abstract name begins with a zero byte and has none at its end */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1,
				   SERVING_PREFIX "%d%s", pid, suffix));
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

/* Take the next caller after a pause, so that callers can't keep the loop busy. */
static void pause_control(struct kernel_report *report)
{
	loop_fd_change(report->loop, &report->control, 0);
	loop_timer_set(report->loop, &report->limit, loop_now(report->loop) + PAUSE_MS * MSEC);
}

static void end_caller(struct kernel_report *report)
{
	loop_fd_del(report->loop, &report->caller);
	close(report->caller.fd);
	report->caller.fd = -1;
	pause_control(report);
}

/* The end of the pause, or of the time of a caller. */
static void limit_reached(struct loop_timer *timer)
{
	struct kernel_report *report = container_of(timer, struct kernel_report, limit);

	if (report->caller.fd >= 0)
		end_caller(report);
	else
		loop_fd_change(report->loop, &report->control, EPOLLIN);
}

static void execute(struct kernel_report *report, const char *command)
{
	char result[SERVING_RESULT] = "", text[SERVING_ANSWER];
	struct diag why = { 0 };
	int len;

	if (report->command(report->user, command, result, &why))
		len = snprintf(text, sizeof(text), "%s\n%d\n%s\n%s\n%s", diag_code_word(why.code),
			why.err, why.object, why.text, why.hint);
	else
		len = snprintf(text, sizeof(text), "ok\n%s", result);
	(void)!send(report->caller.fd, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void caller_ready(struct loop_fd *lfd, uint32_t events)
{
	struct kernel_report *report = container_of(lfd, struct kernel_report, caller);
	char command[SERVING_COMMAND];
	ssize_t n = recv(lfd->fd, command, sizeof(command) - 1, MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* a caller that has hung up reported that nothing was changed */
	if (n > 0 && !(events & EPOLLHUP) && n < (ssize_t)sizeof(command) &&
		!memchr(command, 0, (size_t)n)) {
		command[n] = 0;
		execute(report, command);
	}
	end_caller(report);
}

static void control_ready(struct loop_fd *lfd, uint32_t events)
{
	struct kernel_report *report = container_of(lfd, struct kernel_report, control);
	int fd = accept4(lfd->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	pause_control(report);
	if (fd < 0)
		return;
	report->caller = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .ready = caller_ready };
	if (!is_allowed(report, fd) || loop_fd_add(report->loop, &report->caller, NULL)) {
		report->caller.fd = -1;
		close(fd);
		return;
	}
	loop_timer_set(report->loop, &report->limit, loop_now(report->loop) + LIMIT_MS * MSEC);
}

static int listen_at(struct loop *loop, struct loop_fd *lfd, int type, const char *suffix,
	void (*on_ready)(struct loop_fd *, uint32_t), struct diag *diag)
{
	struct sockaddr_un un;
	socklen_t len = kernel_serving_address(&un, (int)getpid(), suffix);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return diag_sys(diag, errno, "socket");
	*lfd = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .ready = on_ready };
	if (bind(fd, (struct sockaddr *)&un, len) || listen(fd, BACKLOG))
		err = diag_sys(diag, errno, "socket @%s", un.sun_path + 1);
	else
		err = loop_fd_add(loop, lfd, diag);
	if (err)
		close(fd);
	return err;
}

int kernel_report_start(struct kernel_report *report, struct loop *loop, struct diag *diag)
{
	int err = listen_at(loop, &report->fd, SOCK_STREAM, "", ready, diag);

	report->loop = loop;
	report->pause.fire = resume;
	report->caller.fd = -1;
	report->limit.fire = limit_reached;
	report->on = !err;
	if (!err && report->command) {
		err = listen_at(loop, &report->control, SOCK_SEQPACKET, SERVING_CONTROL,
			control_ready, diag);
		report->controlled = !err;
	}
	return err;
}

void kernel_report_stop(struct kernel_report *report)
{
	if (!report->on)
		return;
	report->on = false;
	if (report->caller.fd >= 0)
		end_caller(report);
	if (report->controlled) {
		loop_timer_del(report->loop, &report->limit);
		loop_fd_del(report->loop, &report->control);
		close(report->control.fd);
	}
	loop_timer_del(report->loop, &report->pause);
	loop_fd_del(report->loop, &report->fd);
	close(report->fd.fd);
}
