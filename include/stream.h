/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A byte stream over TCP or a unix socket for the protocols that have such a form: non-blocking
 * connect, scatter receive into the owner's memory, and an out-list that leaves as one sendmsg per
 * loop turn. */
#pragma once
#include "diag.h"
#include "loop.h"
#include "uri.h"
#include <sys/uio.h>

#define STREAM_IOV 4

struct stream_out { /* owned by the caller until `sent` */
	struct stream_out *next;
	struct iovec iov[STREAM_IOV];
	uint8_t niov;
	/* no `sent` wanted: free when the peer's answer has arrived, which proves that it left */
	bool quiet;
};

struct stream;
struct stream_events {
	void (*up)(struct stream *);
	/* call stream_recv() until it gives 0, or less than there was room for */
	void (*readable)(struct stream *);
	void (*sent)(struct stream *, struct stream_out *); /* the socket has taken all of it */
	/* Exactly once; s->why, why.err == 0: the owner closed it; the out-list is the owner's
	 * again. */
	void (*down)(struct stream *);
};

enum stream_state { STREAM_CONNECTING, STREAM_UP, STREAM_CLOSING, STREAM_DOWN };

struct stream {
	const struct stream_events *ev;
	struct loop *loop;
	void *user;
	uint8_t state;
	struct diag why;
	struct addr peer; /* once up: of several addresses, the one that has answered */
	char way[160];    /* "10.0.0.2:51234 to 10.0.0.1:4420 on eth0" */
};

struct stream_dial {
	struct addr dst, src; /* dst: the first of its addresses that answers */
	const char *iface; /* SO_BINDTODEVICE; NULL = by route */
	uint8_t tos;
	uint32_t timeout_ms; /* to `up`, 0 = none */
};
int stream_dial(struct stream **, struct loop *, const struct stream_dial *,
	const struct stream_events *, void *user, struct diag *);
/* Bytes received, 0 = nothing now, -errno = the connection is over (close it: `down` follows with
 * why set). */
ssize_t stream_recv(struct stream *, const struct iovec *, int count);
void stream_send(struct stream *, struct stream_out *chain); /* leaves at the end of the turn */
/* Bytes that the peer has sent and taken so far, as the kernel knows it. */
uint64_t stream_moved(struct stream *);
/* The peer sends nothing more, whether or not all it has sent has been read. */
bool stream_hung_up(struct stream *);
/* What is awaited of the peer: STREAM_READ until changed. With STREAM_WATCH there is no `readable`,
 * but the end of the peer's stream is still noticed and ends this one, with what was not read; with
 * STREAM_DEAF only an error or the end of both directions does. */
enum stream_hear { STREAM_READ, STREAM_WATCH, STREAM_DEAF };
void stream_hear(struct stream *, enum stream_hear);
/* The descriptor of a stream that is UP and has nothing to send becomes the caller's, and the
 * stream is freed: for who needs the socket alone. Not from inside its own upcalls. */
int stream_detach(struct stream *);
void stream_close(struct stream *); /* `down` follows, and no upcall before it */
/* The same when everything sent has left and the peer may still have requests on their way: closing
 * a TCP socket that has something unread resets it, and the peer could lose the last bytes. */
void stream_hang_up(struct stream *);
/* The same by a reset: what the peer has not got by now never arrives, also when the network is
 * back later. For a connection that is given up with requests on their way. */
void stream_reset(struct stream *);
/* at once, any state; not from inside an upcall other than `down` */
void stream_free(struct stream *);

/* A stream of a connected, non-blocking socket, which it takes over, also on failure; STREAM_UP
 * from the start, no `up` upcall. */
int stream_accept(struct stream **, struct loop *, int fd, const struct addr *peer,
	const struct stream_events *, void *user, struct diag *);
/* Refuse an accepted connection: reset and close it. Unlike an orderly close(), that leaves no
 * state behind. */
void stream_refuse(int fd);
