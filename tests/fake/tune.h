/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's own timers run on the real clock, so with a fake clock none may be waited for: not
 * for an answer before a small segment leaves, nor for a window update. */
#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static inline void tune_tcp(int fd)
{
	int on = 1, room = 1 << 20;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
}
