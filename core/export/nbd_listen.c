/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD server's sockets: binding, unix sockets that were left behind, who may connect. */
#include "nbd.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64

static const char *unix_path(const struct addr *addr)
{
	return ((const struct sockaddr_un *)(const void *)&addr->ss)->sun_path;
}

/* A socket file is in the way: one whose server is dead is removed, a live server's is not. */
static int unix_replace(const struct addr *addr, struct diag *diag)
{
	const char *path = unix_path(addr);
	struct stat st;
	int fd, err;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : diag_sys(diag, errno, "%s", path);
	if (!S_ISSOCK(st.st_mode))
		return diag_set(diag, DIAG_BUSY, EADDRINUSE, "%s exists and is not a socket", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return diag_sys(diag, errno, "socket");
	err = connect(fd, (const struct sockaddr *)&addr->ss, addr->len) ? errno : 0;
	close(fd);
	if (err != ECONNREFUSED)
		return diag_set(
			diag, DIAG_BUSY, EADDRINUSE, "another server is listening on %s", path);
	if (unlink(path))
		return diag_sys(diag, errno, "remove the old socket %s", path);
	return 0;
}

/* The socket file has its mode from the start: a later chmod() could reach another file. */
static int bind_mode(int fd, const struct addr *addr, unsigned mode)
{
	mode_t old = umask(~mode & 0777);
	int err = bind(fd, (const struct sockaddr *)&addr->ss, addr->len) ? errno : 0;

	umask(old);
	return err;
}

static int unix_bind(struct nbd_listen *listen, int fd, unsigned mode, struct diag *diag)
{
	const struct addr *addr = &listen->addr;
	const char *path = unix_path(addr);
	struct stat st;
	int err;

	if (path[0]) {
		err = unix_replace(addr, diag);
		if (err)
			return err;
	}
	err = bind_mode(fd, addr, mode);
	if (err)
		return diag_sys(diag, err, "bind");
	if (!path[0])
		return 0;
	if (lstat(path, &st))
		return diag_sys(diag, errno, "%s", path);
	listen->dev = st.st_dev;
	listen->ino = st.st_ino;
	return 0;
}

static int tcp_bind(struct nbd_listen *listen, int fd, struct diag *diag)
{
	struct addr *addr = &listen->addr;
	int on = 1, off = 0;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* an address that does not exist yet is waited for; old kernels without the option refuse
	 * it at bind() */
	if (addr->ss.ss_family == AF_INET6) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on));
	} else {
		setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on));
	}
	if (bind(fd, (const struct sockaddr *)&addr->ss, addr->len))
		return diag_sys(diag, errno, "bind");
	addr->len = sizeof(addr->ss);
	if (getsockname(fd, (struct sockaddr *)&addr->ss, &addr->len))
		return diag_sys(diag, errno, "bind");
	return 0;
}

/* ":10809" is [::], which a kernel without IPv6 does not have. */
static int open_socket(struct addr *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)&addr->ss;
	int fd = socket(addr->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 && errno == EAFNOSUPPORT && addr->ss.ss_family == AF_INET6 &&
		IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)) {
		struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = in6->sin6_port };

		memcpy(&addr->ss, &in, sizeof(in));
		addr->len = sizeof(in);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	return fd;
}

int nbd_listen_open(struct nbd_listen *l, const struct addr *addr, unsigned mode, struct diag *diag)
{
	char text[ADDR_TEXT];
	int fd, err;

	l->addr = *addr;
	fd = open_socket(&l->addr);
	if (fd < 0) {
		err = diag_sys(diag, errno, "socket");
		return diag_ctx(diag, "%s", addr_text(addr, text));
	}
	err = addr->ss.ss_family == AF_UNIX ? unix_bind(l, fd, mode, diag) : tcp_bind(l, fd, diag);
	if (!err && listen(fd, BACKLOG))
		err = diag_sys(diag, errno, "listen");
	if (err) {
		close(fd);
		return diag_ctx(diag, "%s", addr_text(addr, text));
	}
	l->fd.fd = fd;
	l->fd.events = EPOLLIN;
	return 0;
}

void nbd_listen_close(struct nbd_listen *l)
{
	struct stat st;

	if (l->ino && !lstat(unix_path(&l->addr), &st) && st.st_dev == l->dev &&
		st.st_ino == l->ino)
		unlink(unix_path(&l->addr));
	close(l->fd.fd);
}

/* The address as 16 bytes, IPv4 mapped, so that one comparison does. */
static bool flatten(const struct sockaddr_storage *ss, uint8_t out[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (ss->ss_family == AF_INET6) {
		memcpy(out, &((const struct sockaddr_in6 *)(const void *)ss)->sin6_addr, 16);
		return true;
	}
	if (ss->ss_family != AF_INET)
		return false;
	memcpy(out, mapped, sizeof(mapped));
	memcpy(out + 12, &((const struct sockaddr_in *)(const void *)ss)->sin_addr, 4);
	return true;
}

static bool inside(const uint8_t *peer, const uint8_t *net, unsigned bits)
{
	if (memcmp(peer, net, bits / 8))
		return false;
	return !(bits % 8) || !((peer[bits / 8] ^ net[bits / 8]) >> (8 - bits % 8));
}

bool nbd_allowed(const struct nbd_options *opt, const struct sockaddr_storage *ss)
{
	uint8_t peer[16], net[16];

	if (!opt->allows || !flatten(ss, peer))
		return true;
	for (unsigned i = 0; i < opt->allows; i++) {
		const struct nbd_allow *allow = &opt->allow[i];

		if (flatten(&allow->net.ss, net) &&
			inside(peer, net,
				allow->prefix + (allow->net.ss.ss_family == AF_INET ? 96 : 0)))
			return true;
	}
	return false;
}

int nbd_allow_parse(struct nbd_allow *allow, const char *text, struct diag *diag)
{
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&allow->net.ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&allow->net.ss;
	const char *slash = strchrnul(text, '/');
	char host[INET6_ADDRSTRLEN];
	uint64_t bits, most;

	*allow = (struct nbd_allow){ 0 };
	snprintf(host, sizeof(host), "%.*s", (int)(slash - text), text);
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1)
		allow->net.ss.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1)
		allow->net.ss.ss_family = AF_INET6;
	else
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid address '%s': expected an IP address or a network such as "
			"10.0.0.0/8",
			text);
	allow->net.len = allow->net.ss.ss_family == AF_INET ? sizeof(*in) : sizeof(*in6);
	bits = most = allow->net.ss.ss_family == AF_INET ? 32 : 128;
	if (*slash && parse_u64(slash + 1, 0, most, &bits, NULL))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'%s': prefix length must be 0 to %u",
			text, (unsigned)most);
	allow->prefix = (uint8_t)bits;
	return 0;
}
