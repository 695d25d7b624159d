/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the files of software iWARP: the endpoint (iwarp.c), connection set-up (iwarp_cm.c),
 * sending (ddp_tx.c) and receiving (ddp_rx.c). */
#pragma once
#include "backend.h"
#include "mpa.h"
#include "stag.h"
#include <sys/uio.h>

#define DDP_TX_IOV   128 /* iovecs of one sendmsg */
#define DDP_RX_STAGE 65536
#define IWARP_INLINE 256 /* longest inline op, bytes */
#define IWARP_READS  128 /* most reads in flight in each direction */

/* an op in flight; a copy, as the peer may answer an unsignaled op before it was sent */
struct ddp_entry {
	struct ep_op *op;        /* NULL: no `sent` upcall */
	uint64_t end;            /* the op was sent once so many bytes of the stream were */
	uint64_t raddr, sink_to; /* sink_to: tagged offset of a READ's local memory */
	uint32_t rkey, len, msn;
	uint8_t kind, nsge;
	bool in_line, answered; /* in_line: its bytes are in tx->spill; answered: a READ's data has
				   arrived */
	struct ep_sge sge[EP_SGE];
};

struct ddp_response { /* answers a Read Request of the peer */
	uint64_t end, sink_to, source_to;
	uint32_t sink_stag, source_stag, len;
};

struct ddp_tx {
	/* Ring of ops: [head, next) are laid out and wait for the socket or the peer, [next, tail)
	 * wait for layout. */
	struct ddp_entry *ring;
	uint8_t *spill;
	uint32_t mask, head, next, tail;
	struct ddp_response *response; /* a ring, too */
	uint32_t response_mask, response_head, response_next, response_tail;
	uint32_t off;   /* bytes laid out of the current message */
	bool answering; /* the current message is a response */
	bool response_turn;
	/* a responder sends nothing before the initiator's first FPDU, RFC 5044 section 7.1.2 */
	bool hold;
	bool blocked;            /* the socket's send buffer is full */
	uint32_t reads, read_at; /* unanswered READs; the oldest of them */
	uint32_t send_msn, read_msn;
	uint32_t ulpdu;
	/* normally no FPDU is in two TCP segments (RFC 5044 appendix A.1); then mss is that of this
	 * batch */
	bool aligned;
	uint32_t mss;
	uint64_t built,
		sent; /* stream position after all that was laid out; after all that was sent */
	uint64_t turn;
	unsigned rounds; /* sendmsgs in this turn of the loop */
	unsigned iov_at, iov_count;
	uint32_t wire_used;
	struct iovec iov[DDP_TX_IOV];
	uint8_t *wire;
};

enum ddp_rx_step { DDP_RX_HEAD, DDP_RX_PAYLOAD, DDP_RX_TAIL };

struct ddp_rx {
	uint8_t step;
	bool first;   /* no FPDU has been received yet */
	bool large;   /* the last payload was worth a recv() of its own */
	bool middle;  /* the message has further segments */
	bool sending; /* between the first and the last segment of an untagged message */
	uint8_t sending_op;
	uint8_t head[sizeof(struct rdmap_read_req)];
	uint8_t note[64]; /* the bytes after a Terminate's header */
	uint32_t head_len;
	uint32_t remaining,
		placed; /* bytes of this segment's payload: to come; received in place */
	uint8_t *to;
	uint32_t crc, pad;
	uint32_t send_msn, read_msn;
	uint32_t mo;                /* bytes received of the current SEND */
	uint32_t read_off;          /* bytes received of the oldest READ's data */
	struct ep_rx *rx, **rx_end; /* posted, oldest first: the first one is being filled */
	uint32_t at, end;           /* not parsed yet: stage[at, end) */
	uint8_t *stage;
};

enum iwarp_step { IWARP_TCP, IWARP_REPLY, IWARP_ACCEPTED, IWARP_LIVE };

struct iwarp {
	struct ep ep;
	struct stags *stags;
	struct stag_holds holds;
	struct loop_fd fd;
	struct loop_timer timer;
	struct loop_work work;
	struct addr peer, src;
	struct tcp_connect *connect; /* in IWARP_TCP */
	uint8_t step, tos;
	bool accepted;                /* not dialled */
	bool socket_closed;           /* the socket is closed: only `down` may follow */
	bool crc, request_crc, large; /* crc: negotiated */
	bool touched;                 /* upcalls of this turn require an `idle` */
	uint8_t nudges;
	uint64_t moved; /* bytes through the socket, both directions */
	uint32_t timeout_ms;
	uint64_t until; /* timeout_ms in loop_clock(); 0 = none */
	struct mpa req;
	uint8_t priv[EP_PRIV_MAX];
	uint8_t priv_len;
	uint8_t frame[MPA_FRAME_MAX];
	uint32_t frame_got;
	struct ddp_tx tx;
	struct ddp_rx rx;
};

static inline struct iwarp *iwarp_of(struct ep *ep)
{
	return container_of(ep, struct iwarp, ep);
}

static inline uint32_t ddp_head_len(unsigned op)
{
	return op == RDMAP_WRITE || op == RDMAP_READ_RESP ? sizeof(struct ddp_tagged)
	       : op == RDMAP_READ_REQ                     ? sizeof(struct rdmap_read_req)
	       : op == RDMAP_TERMINATE                    ? sizeof(struct rdmap_terminate)
							  : sizeof(struct ddp_untagged);
}

/* iwarp.c */
int iwarp_init(struct iwarp *, struct loop *, const struct ep_caps *caps, const struct ep_events *,
	void *user, struct diag *);
/* allocate the queues, call request(); returns the length of its private data */
int iwarp_prepare(struct iwarp *, uint8_t priv[EP_PRIV_MAX]);
/* The most that a TCP segment to the peer holds. It changes as the path and the peer's window do.
 */
uint32_t iwarp_mss(const struct iwarp *);
void iwarp_live(struct iwarp *, const struct mpa *req, const struct mpa *rep, bool initiator);
/* prod an initiator's peer that may not have noticed its first message */
void iwarp_nudge(struct iwarp *);
void iwarp_end(struct iwarp *);  /* close the socket at once; `down` follows */
void iwarp_fini(struct iwarp *); /* free all but its memory */
void iwarp_close(struct ep *);
struct diag *iwarp_why(struct iwarp *); /* where to store the cause; NULL if one is known already */
/* End the session because of a fault of the peer, which gets a Terminate message. */
void iwarp_fault(struct iwarp *, unsigned term, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const char *iwarp_term_text(unsigned term);

/* iwarp_cm.c */
int iwarp_dial(struct ep **, struct loop *, const struct ep_dial *, const struct ep_events *,
	void *user, struct diag *);
/* Like iwarp_dial(), in zeroed memory, which the caller frees on failure. */
int iwarp_start(struct iwarp *, struct loop *, const struct ep_dial *, const struct ep_events *,
	void *user, struct diag *);
void iwarp_connecting(
	struct iwarp *); /* the socket is ready while the connection is being set up */
struct ep_incoming;
/* Make a connection request of a socket, which it owns from here, and its complete MPA request.
 * NULL: refused; the socket is closed. */
struct ep_incoming *iwarp_incoming(int fd, const struct addr *peer, const uint8_t *frame,
	size_t len, bool request_crc, struct diag *);

/* ddp_tx.c */
int ddp_tx_init(struct iwarp *, struct diag *);
void ddp_tx_fini(struct iwarp *);
void ddp_tx_post(struct iwarp *, struct ep_op *chain);
void ddp_tx_internal(struct iwarp *, uint8_t kind); /* queue an empty op without a `sent` upcall */
/* false: more reads than negotiated */
bool ddp_tx_respond(struct iwarp *, const struct rdmap_read_req *);
bool ddp_tx_uses(const struct iwarp *, uint32_t stag); /* an unsent response reads that memory */
void ddp_tx_flush(struct iwarp *);
/* send what was posted as far as the socket takes it; no upcall */
void ddp_tx_last(struct iwarp *);
struct ddp_entry *ddp_tx_oldest_read(struct iwarp *);
void ddp_tx_read_answered(struct iwarp *);
void ddp_tx_terminate(struct iwarp *, unsigned term, const uint8_t *culprit, uint32_t culprit_len);

/* ddp_rx.c */
int ddp_rx_init(struct iwarp *, struct diag *);
void ddp_rx_fini(struct iwarp *);
void ddp_rx_post(struct iwarp *, struct ep_rx *chain);
void ddp_rx_ended(struct iwarp *, int err); /* err 0: by the peer */
bool ddp_rx_readable(struct iwarp *); /* returns whether there was any data */
void ddp_rx_parse(struct iwarp *);    /* parse the staged bytes */
bool ddp_rx_fills(const struct iwarp *,
	const struct pool *); /* the rest of a segment is to be received there */
