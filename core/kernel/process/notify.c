/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Report readiness to the process that started us: by sd_notify(3), and by a line on a descriptor
 * for s6 and scripts. */
#include "kernel_process.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int held = -1;

static int open_socket(const char *name, struct diag *diag)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int fd, err = 0;

	if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(to.sun_path))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid NOTIFY_SOCKET '%s': expected /PATH or @NAME", name);
	memcpy(to.sun_path, name, len);
	if (name[0] == '@')
		to.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return diag_sys(diag, errno, "notify %s", name);
	if (!connect(fd, (struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)))
		return fd;
	err = errno;
	close(fd);
	return diag_sys(diag, err, "notify %s", name);
}

static const char *socket_name(void)
{
	const char *name = getenv("NOTIFY_SOCKET");

	return name && *name ? name : NULL;
}

bool kernel_notify_wanted(void)
{
	return socket_name();
}

void kernel_notify_hold(void)
{
	if (socket_name() && held < 0)
		held = open_socket(socket_name(), NULL);
}

static int notify_socket(const char *name, const char *text, struct diag *diag)
{
	int fd = held < 0 ? open_socket(name, diag) : held, err;

	if (fd < 0)
		return fd;
	err = send(fd, text, strlen(text), MSG_NOSIGNAL) < 0
		      ? diag_sys(diag, errno, "notify %s", name)
		      : 0;
	if (fd != held)
		close(fd);
	return err;
}

int kernel_notify(const char *text, struct diag *diag)
{
	const char *name = socket_name();

	return name ? notify_socket(name, text, diag) : 0;
}

uint32_t kernel_watchdog_ms(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return (uint32_t)(strtoull(usec, NULL, 10) / 1000);
}

int kernel_notify_ready(int ready_fd, const char *status, struct diag *diag)
{
	char text[300];
	ssize_t rc;

	if (ready_fd >= 0) {
		do
			rc = write(ready_fd, "\n", 1);
		while (rc < 0 && errno == EINTR);
		if (rc < 0)
			return diag_sys(diag, errno, "--ready-fd %d", ready_fd);
		close(ready_fd);
	}
	snprintf(text, sizeof(text), "READY=1\nSTATUS=%.256s", status ? status : "ready");
	return kernel_notify(text, diag);
}
