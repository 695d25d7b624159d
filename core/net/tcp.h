/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by streams, listeners and software iWARP: socket set-up, the two calls that move bytes,
 * and error texts. */
#pragma once
#include "stream.h"
#include <sys/socket.h>
#include <sys/types.h>

int tcp_socket(int *fd, const struct stream_dial *, struct diag *); /* fd is -1 on failure */
/* Connect to the first of dial->dst's addresses that answers. `done` follows, never from inside
 * this call, with the connected socket, which the callee owns, and its address; or with fd -1 if
 * all have failed or timed out. Fails at once if no socket can be created for any of them. */
struct tcp_connect;
int tcp_connect(struct tcp_connect **, struct loop *, const struct stream_dial *,
	void (*done)(void *user, int fd, const struct addr *at, const struct diag *why), void *user,
	struct diag *);
void tcp_connect_cancel(struct tcp_connect *); /* cancels `done`; NULL is allowed */
/* Whether a peer has closed the connection before `done` reported it. */
bool tcp_connect_peer_closed(const struct tcp_connect *);
int tcp_error(int fd); /* errno of a socket with EPOLLERR */
void tcp_failed(struct diag *, int err, const struct addr *peer, bool up);
/* Set the options of a socket: small messages leave at once, and a peer that vanished ends an idle
 * TCP connection after a minute (keep-alive). What a listening TCP socket accepts inherits them.
 * addr has the family. */
void tcp_tune(int fd, const struct addr *addr);
/* Make close() reset the connection, which drops unsent data. */
void tcp_reset_on_close(int fd);
/* Return a progress counter: the bytes that this process has received and sent, plus those in the
 * receive buffer, minus those that the peer has not acknowledged. */
uint64_t tcp_progress(int fd, uint64_t bytes);
/* As stream_probe() and stream_is_unacknowledged(). */
void tcp_probe(int fd, uint32_t idle_ms);
bool tcp_is_unacknowledged(int fd, uint32_t ms); /* false: a unix socket */
bool tcp_peer_closed(int fd); /* the peer has closed, even if unread data remains */

/* Usually there is one iovec, and the plain calls are cheaper, as the kernel copies no list. */
static inline ssize_t tcp_recv(int fd, const struct iovec *iov, int count)
{
	return count == 1 ? recv(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT)
			  : readv(fd, iov, count);
}

/* flags: MSG_EOR: data sent later does not join the last TCP segment. */
static inline ssize_t tcp_send(int fd, struct iovec *iov, size_t count, int flags)
{
	const struct msghdr msg = { .msg_iov = iov, .msg_iovlen = count };

	flags |= MSG_DONTWAIT | MSG_NOSIGNAL;
	return count == 1 ? send(fd, iov->iov_base, iov->iov_len, flags) : sendmsg(fd, &msg, flags);
}

/* The file of a unix socket bound by this process; ino 0: none. */
struct unix_file {
	dev_t dev;
	ino_t ino;
};
int unix_bind(int fd, const struct addr *, unsigned mode, struct unix_file *, struct diag *);
void unix_remove(const struct addr *, const struct unix_file *);
int unix_connect(int fd, const struct addr *); /* 0 or -errno */
/* Of the sockets of listeners_inherit(), the one that listens at this address, now the caller's;
 * -1: none. */
int inherited_take(const struct addr *);

/* One TCP port or unix socket. A port serves NVMe/TCP or iSCSI and software iWARP, distinguished by
 * the first bytes of a connection ("MPA ID Req Frame", RFC 5044 section 7.1). An iWARP connection
 * becomes an ep_incoming once its request is complete. */
struct ep_incoming;
struct tcp_listener;
struct tcp_listen {
	struct addr at;
	/* as of struct listener; NULL: refuse streams, or iWARP */
	void (*stream)(int fd, const struct addr *peer, void *user);
	void (*iwarp)(struct ep_incoming *, void *user);
	bool (*starved)(const struct diag *why, void *user);
	void (*dropped)(void *user);
	void *user;
	uint32_t timeout_ms; /* for the first bytes and the MPA request */
	bool no_crc;         /* software iWARP: use CRCs only if the peer requests them */
	bool freebind;       /* allow an IP address that this host does not have yet */
	unsigned mode;       /* mode of a unix socket's file */
};
/* Replace the socket file of a dead server; -EADDRINUSE: the server is alive. The file is removed
 * with the listener if it still is the same. */
int tcp_listen(struct tcp_listener **, struct loop *, const struct tcp_listen *, struct diag *);
const struct addr *tcp_listener_addr(const struct tcp_listener *);
void tcp_listener_free(struct tcp_listener *);
