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

/* One TCP port, or a unix socket. A port is for NVMe/TCP or iSCSI and software iWARP together: what
 * a connection is shows in its first bytes ("MPA ID Req Frame", RFC 5044 section 7.1). An iWARP one
 * becomes an ep_incoming once its request has arrived whole. */
struct ep_incoming;
struct tcp_listener;
struct tcp_listen {
	struct addr at;
	/* A plain stream; the descriptor is the receiver's. NULL: none wanted. */
	void (*stream)(int fd, const struct addr *peer, void *user);
	void (*iwarp)(struct ep_incoming *, void *user);     /* NULL: none wanted */
	bool (*starved)(const struct diag *why, void *user); /* as of struct ways, as is dropped */
	void (*dropped)(void *user);
	void *user;
	uint32_t timeout_ms; /* for the first bytes, and the MPA request */
	bool no_crc;         /* software iWARP: CRCs only if the peer wants them */
	bool freebind;       /* also at an IP address that this machine does not have yet */
	unsigned mode;       /* of a unix socket's file */
};
/* The file of a dead process's unix socket is replaced; a live one is -EADDRINUSE. It is removed
 * with the listener if it is still the same. */
int tcp_listen(struct tcp_listener **, struct loop *, const struct tcp_listen *, struct diag *);
const struct addr *tcp_listener_addr(const struct tcp_listener *);
void tcp_listener_free(struct tcp_listener *);
