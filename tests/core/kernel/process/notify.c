/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Readiness over a socket with a path, an abstract one, and a descriptor. */
#include "kernel_process.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_at(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	strcpy(at.sun_path, name);
	if (name[0] == '@')
		at.sun_path[0] = 0;
	cr_assert_eq(bind(fd, (struct sockaddr *)&at,
			     offsetof(struct sockaddr_un, sun_path) + strlen(name)),
		0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void expect_message(int fd, const char *expected)
{
	char text[400] = "";

	cr_assert(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
	cr_assert_str_eq(text, expected);
}

Test(notify, sockets)
{
	char path[64], name[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/notify-%d", getpid());
	fd = listen_at(path);
	cr_assert_eq(kernel_notify_ready(-1, "exporting 1 disk", NULL), 0);
	expect_message(fd, "READY=1\nSTATUS=exporting 1 disk");
	close(fd);
	unlink(path);
	snprintf(name, sizeof(name), "@notify-%d", getpid());
	fd = listen_at(name);
	cr_assert_eq(kernel_notify_ready(-1, NULL, NULL), 0);
	expect_message(fd, "READY=1\nSTATUS=ready");
	close(fd);
}

Test(notify, a_descriptor_gets_a_line_and_is_closed)
{
	int fds[2];
	char text[8] = "";

	unsetenv("NOTIFY_SOCKET");
	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(kernel_notify_ready(fds[1], "ready", NULL), 0);
	cr_assert_eq(read(fds[0], text, sizeof(text)), 1);
	cr_assert_str_eq(text, "\n");
	cr_assert_eq(read(fds[0], text, sizeof(text)), 0);
}

Test(notify, failures_are_named)
{
	struct diag diag = { 0 };

	unsetenv("NOTIFY_SOCKET");
	cr_assert_eq(kernel_notify_ready(1000, NULL, &diag), -EBADF);
	diag_says(&diag, DIAG_SYSTEM, NULL, "--ready-fd 1000");
	setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
	cr_assert_eq(kernel_notify_ready(-1, NULL, &diag), -ENOENT);
	diag_says(&diag, DIAG_NOT_FOUND, NULL, "/nonexistent/socket");
	setenv("NOTIFY_SOCKET", "relative", 1);
	cr_assert_eq(kernel_notify_ready(-1, NULL, &diag), -EINVAL);
}

Test(notify, any_text)
{
	char name[64];
	int fd;

	unsetenv("NOTIFY_SOCKET");
	cr_assert_eq(kernel_notify("WATCHDOG=1", NULL), 0, "no listener");
	snprintf(name, sizeof(name), "@notify-any-%d", getpid());
	fd = listen_at(name);
	cr_assert_eq(kernel_notify("STATUS=2 targets", NULL), 0);
	expect_message(fd, "STATUS=2 targets");
	close(fd);
}

Test(notify, the_watchdog_is_fed_by_the_watched_process)
{
	char pid[16];

	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	cr_assert_eq(kernel_watchdog_ms(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	cr_assert_eq(kernel_watchdog_ms(), 30000);
	setenv("WATCHDOG_PID", "1", 1);
	cr_assert_eq(kernel_watchdog_ms(), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	cr_assert_eq(kernel_watchdog_ms(), 30000);
}
