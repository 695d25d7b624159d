/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RDMA endpoint: messages over one reliable connection. The caller owns every op and receive;
 * upcalls come on the loop's thread. Protocols do not know which backend carries them.
 *
 *  1. Completions of one ep come in post order, those of READs in an order of their own (siw).
 *  2. An inline op's memory is free when post() returns, any other's when `sent` runs. An inline op
 * may be EP_QUIET: no `sent` comes for it and it is free when the peer's answer to it has arrived;
 * the ep signals every Nth such op itself and keeps spare send entries so that caps.send stays
 * true.
 *  3. Access to memory is an intent (EP_READ_SINK); the backend translates it. Peers are given
 * pool_raddr(), never a pointer.
 *  4. post() never blocks and never lacks space while the owner stays within caps.
 *  5. `down` comes exactly once, when the backend touches none of the owner's ops, receives or
 * buffers any more; ops not yet reported by `sent` are the owner's again. After it, no upcall;
 * between close() and it, none but it.
 *  6. Posted receives never fall below what the peer may send (iWARP has no RNR).
 */
#pragma once
#include "diag.h"
#include "loop.h"
#include "mem.h"
#include "uri.h"
#include <errno.h>

#define EP_SGE 4
/* largest private data of any CM message (InfiniBand reject: 148, REP: 196) */
#define EP_PRIV_MAX 196

enum ep_backend { EP_AUTO, EP_VERBS, EP_IWARP };
enum ep_kind { EP_SEND, EP_SEND_INVAL, EP_WRITE, EP_READ };
enum ep_flag { EP_INLINE = 1, EP_QUIET = 2 };
/* flags; local write is always given */
enum ep_access { EP_LOCAL = 0, EP_READ_SINK = 1, EP_REMOTE_READ = 2, EP_REMOTE_WRITE = 4 };

struct ep_sge {
	void *p;
	uint32_t len, lkey;
};

/* SEND_INVAL also invalidates rkey at the peer. WRITE: sge to raddr. READ: raddr into sge, memory
 * registered as EP_READ_SINK, nsge <= caps.read_sge; its `sent` means that the data is in place. At
 * most caps.ord READs at once. */
struct ep_op {
	struct ep_op *next;
	uint8_t kind, flags, nsge;
	uint32_t rkey;
	uint64_t raddr;
	struct ep_sge sge[EP_SGE];
};

struct ep_rx { /* one posted receive */
	struct ep_rx *next;
	uint8_t *p;
	uint32_t cap, lkey;
	uint32_t len;        /* arrived bytes */
	uint32_t inval_rkey; /* of a SEND with invalidate */
	bool invalidated;
};

struct ep_caps {                  /* asked for in ep_dial; then clipped to device and peer */
	uint32_t send, recv;      /* work requests */
	uint32_t sge, inline_max; /* per SEND or WRITE */
	uint32_t read_sge;        /* per READ; siw: 1 */
	uint32_t ord, ird;
	uint32_t max_msg;  /* longest message */
	uint32_t priv_max; /* private data that the connection manager leaves to request() */
	bool software;     /* rxe, siw: polling steals the device's own CPU */
};

struct ep;
struct ep_events {
	/* The device is chosen, ep->caps and ep->dom are set, nothing is sent yet: register memory,
	 * post receives, write the private data of the connect request, at most caps.priv_max.
	 * Returns its length, or -errno with ep->why set. */
	int (*request)(struct ep *, uint8_t priv[EP_PRIV_MAX]);
	void (*up)(struct ep *);                   /* ep->priv: the peer's private data */
	void (*recv)(struct ep *, struct ep_rx *); /* the owner reposts it */
	void (*sent)(struct ep *, struct ep_op *);
	void (*idle)(struct ep *); /* end of a poll batch: flush here */
	/* ep->why says why, why.err == 0: the owner closed it; a reject: rejected, rej_code, priv.
	 */
	void (*down)(struct ep *);
};

struct ep_ops {
	const char *name;
	void (*post)(struct ep *, struct ep_op *chain); /* one doorbell */
	void (*repost)(struct ep *, struct ep_rx *chain);
	/* idempotent per call: each reg needs one unreg */
	int (*reg)(struct ep *, struct pool *, unsigned access, struct diag *);
	void (*unreg)(struct ep *, struct pool *);
	void (*close)(struct ep *); /* disconnects; `down` follows. Allowed in any upcall. */
	/* The same without waiting for the peer's part, which may lose what was sent last. Not from
	 * inside an upcall. */
	void (*reset)(struct ep *);
	/* at once, any state, no upcall after; not from inside an upcall other than `down` */
	void (*free)(struct ep *);
	/* Bytes that the peer has sent and taken so far; NULL: unknown before an operation ends. */
	uint64_t (*moved)(const struct ep *);
	/* The peer sends nothing more, whether or not all it has sent has been read; NULL: all that
	 * has arrived was heard. */
	bool (*hung_up)(const struct ep *);
};

enum ep_state { EP_CONNECTING, EP_UP, EP_CLOSING, EP_DOWN };

struct ep {
	const struct ep_ops *ops;
	const struct ep_events *ev;
	struct loop *loop;
	void *user;
	uint8_t state, dom;
	struct ep_caps caps;
	uint8_t priv[EP_PRIV_MAX];
	uint8_t priv_len;
	bool rejected; /* by the peer's upper layer: priv holds its reason */
	int rej_code;  /* the CM's reject code, 0 = none */
	struct diag why;
	struct addr
		peer; /* that was dialled, once up: of several addresses, the one that answered */
	/* for people: "rxe0 port 1, GID ::ffff:10.0.0.1 (RoCE v2), 10.0.0.1 to 10.0.0.2:4420" */
	char way[160];
};

/* For backends: request(), with the length of what it wrote checked. */
static inline int ep_request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	int len = ep->ev->request(ep, priv);

	return len <= (int)ep->caps.priv_max
		       ? len
		       : diag_set(&ep->why, DIAG_UNSUPPORTED, EMSGSIZE,
				 "private data of %d bytes exceeds the connection manager's limit "
				 "of %u",
				 len, ep->caps.priv_max);
}

struct ep_dial {
	/* ADDR_IB: verbs only; the kernel asks the subnet administrator for the path. Several:
	 * verbs tries one after the other, within the limit, then software iWARP takes the first
	 * one that answers. */
	struct addr dst;
	struct addr src; /* family 0: by route */
	const char *dev; /* RDMA device name, NULL = by route */
	uint8_t backend, tos;
	uint32_t timeout_ms; /* to `up`, 0 = none; the deadline is ours, not the CM's */
	bool no_crc;         /* software iWARP: CRCs only if the peer wants them */
	struct ep_caps want;
};

/* Starts connecting; `up` or `down` follows. Fails at once only for want of memory or RDMA support,
 * or for an address that is invalid or not of the backend's kind: software iWARP needs IP.
 * EP_AUTO is verbs when an RDMA device routes to the address; if the target has no RDMA listener,
 * is not reached within a second, or there is no device, it is software iWARP over TCP (not when
 * `dev` names a device). When it changes over, the owner hears nothing but a second request(): what
 * it registered in the first is taken back (it owes one unreg for the second only), posted receives
 * are its own again, ep->caps and ep->dom are new; the struct ep stays where it is. */
int ep_dial(struct ep **, struct loop *, const struct ep_dial *, const struct ep_events *,
	void *user, struct diag *);

/* The other side. A connection that asks belongs to no loop yet: it is accepted on the loop (and
 * thread) that will own it, or rejected, exactly once. */
struct ep_incoming {
	struct addr peer, local; /* local: the address that was called; ss_family 0 = not known */
	uint8_t priv[EP_PRIV_MAX];
	uint8_t priv_len;
	/* what the peer asks for, from our side: our reads of it, its reads of us */
	uint32_t ord, ird;
	const struct ep_incoming_ops *ops;
};
struct ep_incoming_ops {
	int (*accept)(struct ep **, struct loop *, struct ep_incoming *, const struct ep_caps *want,
		const struct ep_events *, void *user, struct diag *);
	void (*reject)(struct ep_incoming *, const void *priv, uint8_t len);
};
struct ep_listener;
/* The kernel lets a process listen only on service IDs of this form (RDMA_IB_IP_PS_IB). The low 16
 * bits are like a port number: privileged below 1024, and from 32768 on also those of processes
 * that connect. */
#define EP_SERVICE 0x13f0000ull
struct ep_listen {
	struct addr at;  /* ADDR_IB: the port's own GID, and an ID of EP_SERVICE */
	const char *dev; /* RDMA device name, NULL = by address */
	uint8_t backend; /* EP_VERBS or EP_IWARP; one listener each */
	void (*incoming)(struct ep_incoming *, void *user); /* on the listener's loop */
	/* device or address gone; free it */
	void (*lost)(struct ep_listener *, const struct diag *why, void *user);
	void *user;
	bool no_crc; /* as of ep_dial */
};
int ep_listen(struct ep_listener **, struct loop *, const struct ep_listen *, struct diag *);
const struct addr *ep_listener_addr(const struct ep_listener *); /* as bound */
void ep_listener_free(struct ep_listener *);
/* ev->request() is called inside and writes the private data of the reply; `up` or `down` follows,
 * `down` also when request() did not want it. Takes the incoming over, also when it fails, which it
 * does only before request(). */
static inline int ep_accept(struct ep **out, struct loop *to, struct ep_incoming *incoming,
	const struct ep_caps *want, const struct ep_events *events, void *user, struct diag *diag)
{
	return incoming->ops->accept(out, to, incoming, want, events, user, diag);
}
static inline void ep_reject(struct ep_incoming *incoming, const void *priv, uint8_t len)
{
	incoming->ops->reject(incoming, priv, len);
}
