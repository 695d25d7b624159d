/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What streams and software iWARP share of TCP: a socket made ready to connect, the two calls that
 * move bytes, and words for what went wrong. */
#pragma once
#include "stream.h"
#include <sys/socket.h>

int tcp_socket(int *fd, const struct stream_dial *, struct diag *); /* fd is -1 on failure */
void tcp_failed(struct diag *, int err, const struct addr *peer, bool up);
/* Makes close() reset the connection, and so drop what the peer has not got yet. */
void tcp_reset_on_close(int fd);

/* One piece is the rule at low depth, and the plain calls are cheaper: the kernel has no list to
 * fetch. */
static inline ssize_t tcp_recv(int fd, const struct iovec *iov, int count)
{
	return count == 1 ? recv(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT)
			  : readv(fd, iov, count);
}

static inline ssize_t tcp_send(int fd, struct iovec *iov, size_t count)
{
	const struct msghdr msg = { .msg_iov = iov, .msg_iovlen = count };

	return count == 1 ? send(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL)
			  : sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}
