/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What streams, listeners and software iWARP share: sockets made ready, the two calls that move
 * bytes, and words for what went wrong. */
#pragma once
#include "stream.h"
#include <sys/socket.h>
#include <sys/types.h>

int tcp_socket(int *fd, const struct stream_dial *, struct diag *); /* fd is -1 on failure */
void tcp_failed(struct diag *, int err, const struct addr *peer, bool up);
/* The options of a connected socket, or of one that will be. */
void tcp_tune(int fd, const struct addr *peer);
/* Makes close() reset the connection, and so drop what the peer has not got yet. */
void tcp_reset_on_close(int fd);
/* What the peer has sent and taken, of what has been received and sent here. */
uint64_t tcp_moved(int fd, uint64_t here);
bool tcp_has_hung_up(int fd); /* the peer, whether or not all it has sent has been read */

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

/* The file of a unix socket that was bound here; ino 0: it has none. */
struct unix_file {
	dev_t dev;
	ino_t ino;
};
int unix_bind(int fd, const struct addr *, unsigned mode, struct unix_file *, struct diag *);
void unix_remove(const struct addr *, const struct unix_file *);
