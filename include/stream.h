/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A byte stream over TCP or a unix socket: non-blocking connect, scatter receive into the owner's
 * memory, and a send list that leaves with one sendmsg() per turn of the loop. All calls and
 * upcalls are on the loop's thread. */
#pragma once
#include "loop.h"
#include "tls.h"
#include "uri.h"
#include <sys/uio.h>

#define STREAM_IOV 4

struct stream_out { /* must stay valid until `sent` or `down` */
	struct stream_out *next;
	struct iovec iov[STREAM_IOV];
	uint8_t niov;
	bool unsignaled; /* no `sent`: valid until the peer's answer, which proves that it left */
};

struct stream;
struct stream_events {
	void (*up)(struct stream *);
	/* Level-triggered, and there may be nothing to read. Call stream_recv() until it returns 0,
	 * or less than there was room for; without room call stream_set_interest(). */
	void (*readable)(struct stream *);
	void (*sent)(struct stream *, struct stream_out *); /* the socket has taken all of it */
	/* Once, and last. why.err 0: the owner closed the stream. Returns the send list to its
	 * owner. */
	void (*down)(struct stream *);
	void (*secured)(struct stream *); /* the handshake of stream_start_tls() has succeeded */
};

enum stream_state { STREAM_CONNECTING, STREAM_UP, STREAM_CLOSING, STREAM_DOWN };

struct stream {
	const struct stream_events *ev;
	struct loop *loop;
	void *user;
	uint8_t state;
	struct diag why;
	struct addr peer; /* once up: of several addresses, the one that answered */
	char route[160];  /* "10.0.0.2:51234 to 10.0.0.1:4420 on eth0" */
	/* "TLS 1.3, TLS1-3-AES-128-GCM-SHA256, alice", the last being the peer's name; "": none */
	char security[TLS_IDENTITY + 64];
	/* The first certificates that the server has sent, its own first; until `down`. */
	const struct tls_certificate *chain;
	unsigned chain_len;
};

struct stream_dial {
	struct addr dst, src; /* dst: the first of its addresses that answers */
	const char *iface;    /* SO_BINDTODEVICE; NULL: by route */
	uint8_t tos;
	uint32_t timeout_ms; /* to `up`; 0: none */
};
/* Start to connect; `up` or `down` follows. Copies *dial and iface. */
int stream_dial(struct stream **, struct loop *, const struct stream_dial *,
	const struct stream_events *, void *user, struct diag *);
/* Make a stream of a connected, non-blocking socket, which it owns from here, also on failure. The
 * stream is STREAM_UP; `up` is not called. If the peer resets the connection, unread data is
 * lost. */
int stream_accept(struct stream **, struct loop *, int fd, const struct addr *peer,
	const struct stream_events *, void *user, struct diag *);
/* Receive, once up. Returns the number of bytes, 0 if there is no data now, -ENOTCONN after a close
 * by the owner, or -errno if the connection has ended; `down` follows, here with why set. */
ssize_t stream_recv(struct stream *, const struct iovec *, int count);
/* Return the first byte that stream_recv() would, and leave it there. -EAGAIN: there is no data
 * now; else as stream_recv(). Not with TLS. */
int stream_peek(struct stream *);
/* Queue a chain, sent at the end of the turn once up. No effect in CLOSING and DOWN. */
void stream_send(struct stream *, struct stream_out *chain);
/* Return a counter of bytes that the peer has sent and acknowledged. */
uint64_t stream_progress(struct stream *);
/* Have TCP send a keepalive probe whenever nothing came from the peer for that time, rounded down
 * to seconds, at least one. No effect on a unix socket. */
void stream_probe(struct stream *, uint32_t idle_ms);
/* Return whether data or a keepalive probe is unacknowledged, and the peer's TCP has acknowledged
 * nothing for that time; the data may just have been sent. */
bool stream_is_unacknowledged(struct stream *, uint32_t ms);
/* Return whether the peer sends nothing more, even if unread data remains. */
bool stream_peer_closed(struct stream *);
/* Events to wait for. STREAM_READ: data (default). STREAM_RDHUP: no `readable`, but the end of the
 * peer's stream ends this one, unread data included. STREAM_HUP: only an error or the end of both
 * directions does. */
enum stream_interest { STREAM_READ, STREAM_RDHUP, STREAM_HUP };
void stream_set_interest(struct stream *, enum stream_interest);
/* Continue with TLS (include/tls.h). Needs: the stream is up and has sent everything, and the owner
 * has read what precedes TLS, but no byte of TLS. Between this call and `secured` nothing is read,
 * and what is queued waits. A failure of the handshake ends the stream; the owner limits its time.
 */
struct stream_tls {
	struct tls_creds *creds;
	/* The name in the server's certificate, for a client; NULL: any. Copied. */
	const char *hostname;
	const void *client; /* of the handshake's calculations (include/offload.h) */
};
int stream_start_tls(struct stream *, const struct stream_tls *, struct diag *);
/* Once secured: return the identity of the pre-shared key, or the subject of the peer's
 * certificate, with '?' for bytes that can't be printed. "": it has neither. */
const char *stream_tls_peer(const struct stream *);
/* Once secured: return the cipher suite, "TLS_AES_128_GCM_SHA256", and whether the handshake used a
 * pre-shared key. */
const char *stream_tls_cipher(const struct stream *);
bool stream_tls_is_psk(const struct stream *);
/* Free a stream that is up and has nothing to send, and return its connection, now the caller's.
 * Not from inside an upcall. */
struct stream_detached {
	int fd;
	struct tls_conn *tls; /* NULL: plain */
};
struct stream_detached stream_detach(struct stream *);
/* As stream_accept(), for what was detached from a stream, on any loop. */
int stream_attach(struct stream **, struct loop *, const struct stream_detached *,
	const struct addr *peer, const struct stream_events *, void *user, struct diag *);
/* Close after sending what the socket takes at once; `down` follows, and no upcall before it. */
void stream_close(struct stream *);
/* Close a stream that has sent everything while its peer may still send: read and drop requests, as
 * closing a TCP socket with unread data resets it, and the peer could lose the last bytes. */
void stream_shutdown(struct stream *);
/* Close by a reset: what the peer has not received by now never arrives, not even if the network
 * recovers. For connections that are abandoned with requests in flight. */
void stream_reset(struct stream *);
/* Free at once, in any state. Not from inside an upcall other than `down`. */
void stream_free(struct stream *);
/* Let the helper connect to the unix socket at this path (helper.h). 0 or -ENOMEM. */
int stream_allow_connect(const char *path);
/* Let the helper listen at this path: replace the file of a dead server, create one with this mode,
 * remove that one. 0 or -ENOMEM. */
int stream_allow_listen(const char *path, unsigned mode);
