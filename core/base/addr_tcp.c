/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The socket options of every TCP connection, accepted or connected. */
#include "uri.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* TCP_USER_TIMEOUT is left alone: it would also disconnect a peer that is alive but does not read
 * for that time. */
void addr_tcp_tune(int fd)
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

	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			sizeof(options[i].value));
}
