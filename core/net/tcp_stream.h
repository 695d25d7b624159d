/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A stream on its socket (tcp.c), and with TLS between both (tcp_tls.c). */
#pragma once
#include "tcp.h"
#include "tls_conn.h"

#define IOV_MAX_TURN 128

struct tcp {
	struct stream stream;
	struct loop_fd fd;
	struct tcp_connect *connect; /* until it is connected */
	struct loop_work work;       /* flushes, or reports `down` */
	struct stream_out *out, **out_end;
	size_t sent;    /* bytes of the first element that were sent */
	uint64_t moved; /* bytes sent to and received from the socket */
	struct addr dst;
	uint32_t in;             /* events to wait for */
	bool socket_closed;      /* the socket is closed: only `down` may follow */
	bool had_data;           /* the socket was readable */
	bool accepted;           /* not dialled */
	struct tls_conn *tls;    /* NULL: plain */
	struct loop_timer again; /* data was received that the owner has not read */
};

static inline struct tcp *tcp_of(struct stream *stream)
{
	return container_of(stream, struct tcp, stream);
}

/* tcp.c */
struct diag *tcp_why(struct tcp *); /* NULL after the first cause, which counts */
/* The socket is closed at once, so that nothing accesses the owner's memory any more. */
void tcp_end(struct tcp *);
void tcp_shutdown(struct tcp *); /* the same after the peer has got what was sent */
void tcp_broken(struct tcp *, int err);
void tcp_closed(struct tcp *);
uint32_t tcp_events(const struct tcp *); /* to wait for, besides EPOLLOUT */
unsigned tcp_gather(const struct tcp *, struct iovec iov[IOV_MAX_TURN], size_t *sum);
/* Remove what was sent from the list. The owner may send or close in `sent`. */
void tcp_retire(struct tcp *, size_t bytes);
void tcp_readable(struct tcp *);

/* tcp_tls.c */
void tcp_tls_receive(struct tcp *); /* during the handshake */
ssize_t tcp_tls_recv(struct tcp *, const struct iovec *, int count);
void tcp_tls_flush(struct tcp *);
/* As level-triggered events would: `readable` follows if data remains in TLS's buffer. */
void tcp_tls_read_again(struct tcp *);
/* Send what the socket takes at once, with the end of TLS. */
void tcp_tls_last(struct tcp *);
