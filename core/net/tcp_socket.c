/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Create sockets to connect, TCP or (for streams) unix domain, and describe their errors; for
 * streams and software iWARP. */
#include "tcp.h"
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool scope_missing(const struct addr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)&addr->ss;

	return in6->sin6_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) &&
	       !in6->sin6_scope_id;
}

void tcp_reset_on_close(int fd)
{
	setsockopt(
		fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
}

uint64_t tcp_progress(int fd, uint64_t bytes)
{
	int in = 0, out = 0;

	ioctl(fd, SIOCINQ, &in);
	ioctl(fd, SIOCOUTQ, &out);
	return bytes + (uint64_t)in - (uint64_t)out;
}

void tcp_probe(int fd, uint32_t idle_ms)
{
	int seconds = idle_ms < 2000 ? 1 : (int)(idle_ms / 1000);

	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
}

bool tcp_is_unacknowledged(int fd, uint32_t ms)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	       (info.tcpi_unacked || info.tcpi_probes) && info.tcpi_last_ack_recv >= ms;
}

bool tcp_peer_closed(int fd)
{
	struct pollfd watch = { .fd = fd, .events = POLLRDHUP };

	return poll(&watch, 1, 0) > 0;
}

int tcp_error(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err ? err : ECONNRESET;
}

void tcp_failed(struct diag *diag, int err, const struct addr *peer, bool up)
{
	bool local = peer->ss.ss_family == AF_UNIX;
	char to[ADDR_TEXT];

	switch (err) {
	case ECONNREFUSED:
		if (local)
			diag_set(diag, DIAG_REFUSED, err,
				"connection refused: nothing listens there");
		else
			diag_connect(diag, err);
		break;
	case EAGAIN: /* unix(7): the listener's backlog is full */
		diag_set(diag, DIAG_BUSY, EBUSY,
			"%s accepts no more connections: its backlog is full", addr_text(peer, to));
		break;
	case ETIMEDOUT:
		if (up)
			diag_set(diag, DIAG_CLOSED, err, "the peer no longer answers");
		else
			diag_connect(diag, err);
		break;
	case ECONNRESET:
	case EPIPE:
		diag_set(diag, DIAG_CLOSED, ECONNRESET, "connection reset by the peer");
		break;
	default:
		if (up)
			diag_sys(diag, err, "TCP");
		else
			diag_connect(diag, err);
		if (err == EINVAL && scope_missing(peer))
			diag_hint(diag, "a link-local address needs an interface: [%s%%eth0]",
				addr_host(peer, to));
	}
}

/* Room for several replies of 256 KiB: with less than one, both sides would wait for each other.
 * The receive buffer of a unix socket has no effect. */
#define UNIX_BYTES (1 << 20)

/* TCP_USER_TIMEOUT is left alone: it would also disconnect a peer that is alive but does not read
 * for that time. */
void tcp_tune(int fd, const struct addr *addr)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 30 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 10 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
	};
	int size = UNIX_BYTES;

	if (addr->ss.ss_family != AF_UNIX) {
		for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
			setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				sizeof(options[i].value));
	} else if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size))) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	}
}

static int configure(int fd, const struct stream_dial *dial, struct diag *diag)
{
	bool v6 = dial->dst.ss.ss_family == AF_INET6;
	int on = 1, tos = dial->tos;
	char from[ADDR_TEXT];

	tcp_tune(fd, &dial->dst);
	if (dial->dst.ss.ss_family == AF_UNIX)
		return 0;
	if (tos && setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS, &tos,
			   sizeof(tos)))
		return diag_sys(diag, errno, "type of service %d", tos);
	if (dial->iface && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dial->iface,
				   (socklen_t)strlen(dial->iface)))
		return errno == ENODEV ? diag_set(diag, DIAG_NO_DEVICE, ENODEV,
						 "no network interface '%s'", dial->iface)
				       : diag_sys(diag, errno, "network interface %s", dial->iface);
	if (dial->src.ss.ss_family) {
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
		if (bind(fd, (const struct sockaddr *)&dial->src.ss, dial->src.len))
			return diag_sys(
				diag, errno, "source address %s", addr_host(&dial->src, from));
	}
	return 0;
}

int tcp_socket(int *fd, const struct stream_dial *dial, struct diag *diag)
{
	int err;

	*fd = socket(dial->dst.ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return diag_sys(diag, errno, "socket");
	err = configure(*fd, dial, diag);
	if (err) {
		close(*fd);
		*fd = -1;
	}
	return err;
}
