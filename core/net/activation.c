/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listening sockets that the service manager has opened: sd_listen_fds(3). */
#include "listener.h"
#include "tcp.h"
#include "uri.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST 3
#define MAX   64

static struct inherited {
	int fd; /* -1: in use */
	struct addr at;
} inherited[MAX];
static unsigned count;

static int get_option(int fd, int option)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) ? -errno : value;
}

static bool get_address(int fd, struct addr *at)
{
	int family = get_option(fd, SO_DOMAIN);

	if ((family != AF_INET && family != AF_INET6 && family != AF_UNIX) ||
		get_option(fd, SO_TYPE) != SOCK_STREAM || get_option(fd, SO_ACCEPTCONN) != 1)
		return false;
	*at = (struct addr){ .len = sizeof(at->ss) };
	return !getsockname(fd, (struct sockaddr *)&at->ss, &at->len);
}

static int inherit(int fd, struct diag *diag)
{
	struct inherited *one = &inherited[count];

	if (!get_address(fd, &one->at)) {
		diag_set(diag, DIAG_USAGE, EINVAL,
			"file descriptor %d of LISTEN_FDS is not a listening stream socket", fd);
		diag_hint(diag, "a socket unit needs ListenStream= and Accept=no");
		return -EINVAL;
	}
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		return diag_sys(diag, errno, "file descriptor %d of LISTEN_FDS", fd);
	one->fd = fd;
	count++;
	return 0;
}

int listeners_inherit(struct diag *diag)
{
	const char *pid = getenv("LISTEN_PID"), *number = getenv("LISTEN_FDS");
	uint64_t own, fds = 0;
	int err = 0;

	if (!pid || !number || parse_u64(pid, 1, INT32_MAX, &own, NULL) ||
		own != (uint64_t)getpid())
		return 0;
	if (parse_u64(number, 0, MAX, &fds, diag))
		return diag_ctx(diag, "LISTEN_FDS"), -EINVAL;
	for (unsigned i = 0; !err && i < fds; i++)
		err = inherit(FIRST + (int)i, diag);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return err;
}

static const char *path_of(const struct addr *at)
{
	return ((const struct sockaddr_un *)(const void *)&at->ss)->sun_path;
}

static bool is_same(const struct addr *one, const struct addr *other)
{
	if (one->ss.ss_family != AF_UNIX || other->ss.ss_family != AF_UNIX)
		return addr_same(one, other);
	return *path_of(one) && !strcmp(path_of(one), path_of(other));
}

int inherited_take(const struct addr *at)
{
	for (unsigned i = 0; i < count; i++) {
		int fd = inherited[i].fd;

		if (fd < 0 || !is_same(&inherited[i].at, at))
			continue;
		inherited[i].fd = -1;
		return fd;
	}
	return -1;
}

int listeners_check_inherited(struct diag *diag)
{
	char text[ADDR_TEXT];

	for (unsigned i = 0; i < count; i++)
		if (inherited[i].fd >= 0)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"file descriptor %d of LISTEN_FDS listens at %s, and no option "
				"has this address",
				FIRST + (int)i, addr_text(&inherited[i].at, text));
	return 0;
}
