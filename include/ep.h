/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RDMA endpoint: messages over one reliable connection, independent of the backend that carries
 * them. The caller owns every op and receive. Calls and upcalls are on the loop's thread.
 *
 *  1. Completions of an ep come in post order; those of READs in an order of their own (siw).
 *  2. The memory of an inline op is free when post() returns, any other when `sent` runs. An inline
 * op may be EP_UNSIGNALED: it gets no `sent`, and is free once the peer has answered it. The ep
 * signals every Nth such op itself and keeps spare send entries for that.
 *  3. Access to memory is an intent (EP_READ_SINK), which the backend translates. Give peers
 * pool_raddr(), never a pointer.
 *  4. post() never blocks, and has room while the owner stays within caps.
 *  5. `down` comes exactly once. Then the backend accesses none of the owner's memory, and ops
 * without `sent` are the owner's again. Between close() and `down`, and after it, there is no other
 * upcall.
 *  6. The owner never posts fewer receives than the peer may send messages (iWARP has no RNR). */
#pragma once
#include "loop.h"
#include "mem.h"
#include "uri.h"
#include <errno.h>

#define EP_SGE 4
/* largest private data of any CM message (InfiniBand reject: 148, REP: 196) */
#define EP_PRIV_MAX 196

enum ep_backend { EP_AUTO, EP_VERBS, EP_IWARP };
enum ep_kind { EP_SEND, EP_SEND_INVAL, EP_WRITE, EP_READ };
enum ep_flag { EP_INLINE = 1, EP_UNSIGNALED = 2 };
/* flags; local writes are always allowed */
enum ep_access { EP_LOCAL = 0, EP_READ_SINK = 1, EP_REMOTE_READ = 2, EP_REMOTE_WRITE = 4 };

struct ep_sge {
	void *p;
	uint32_t len, lkey;
};

/* SEND_INVAL also invalidates rkey at the peer. WRITE: sge to raddr. READ: raddr to sge, in memory
 * registered as EP_READ_SINK, nsge <= caps.read_sge; the data is in place when `sent` runs. At most
 * caps.ord READs at once. */
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

struct ep_caps {                  /* requested in ep_dial, then limited to device and peer */
	uint32_t send, recv;      /* work requests */
	uint32_t sge, inline_max; /* per SEND or WRITE */
	uint32_t read_sge;        /* per READ; siw: 1 */
	uint32_t ord, ird;        /* READs in flight: ours, the peer's */
	uint32_t max_msg;         /* longest message, bytes */
	uint32_t priv_max;        /* bytes of private data left to request() */
	bool software;            /* rxe, siw: polling takes CPU time from the device itself */
};

struct ep;
struct ep_events {
	/* The device is known, ep->caps and ep->dom are set, nothing was sent: register memory,
	 * post receives and write at most caps.priv_max bytes of private data for the peer.
	 * Register at most 8 pools here. Returns that number, or -errno with ep->why set. */
	int (*request)(struct ep *, uint8_t priv[EP_PRIV_MAX]);
	void (*up)(struct ep *);                   /* ep->priv: the peer's private data */
	void (*recv)(struct ep *, struct ep_rx *); /* the owner reposts it */
	void (*sent)(struct ep *, struct ep_op *);
	void (*idle)(struct ep *); /* end of a poll batch: flush here */
	/* ep->why is set; err 0: the owner closed it. After a reject: rejected, rej_code, priv. */
	void (*down)(struct ep *);
};

struct ep_ops {
	const char *name;
	void (*post)(struct ep *, struct ep_op *chain); /* one doorbell */
	void (*repost)(struct ep *, struct ep_rx *chain);
	/* Register a pool with rights of enum ep_access. Each reg needs one unreg. */
	int (*reg)(struct ep *, struct pool *, unsigned access, struct diag *);
	void (*unreg)(struct ep *, struct pool *);
	/* Disconnect; `down` follows. Allowed in any upcall. What was sent last may arrive. */
	void (*close)(struct ep *);
	/* The same without waiting for the peer, which may lose what was sent last. Not from inside
	 * an upcall. */
	void (*reset)(struct ep *);
	/* Free at once, in any state. Not from inside an upcall other than `down`. */
	void (*free)(struct ep *);
	/* Return a counter of bytes that the peer has sent and acknowledged. NULL: unknown before
	 * an operation completes. */
	uint64_t (*progress)(const struct ep *);
	/* Return whether the peer sends nothing more, even if unread data remains. NULL: all that
	 * has arrived was reported. */
	bool (*peer_closed)(const struct ep *);
	/* Close with requests in flight: what the peer has not handled by now never arrives. NULL:
	 * close() does that. Use ep_abandon(). */
	void (*abandon)(struct ep *);
};

enum ep_state { EP_CONNECTING, EP_UP, EP_CLOSING, EP_DOWN };

struct ep {
	const struct ep_ops *ops;
	const struct ep_events *ev;
	struct loop *loop;
	void *user;
	uint8_t state, dom; /* enum ep_state; dom: index of struct pool.key */
	struct ep_caps caps;
	uint8_t priv[EP_PRIV_MAX];
	uint8_t priv_len;
	bool rejected; /* by the peer's upper layer: priv holds its reason */
	int rej_code;  /* the CM's reject code; 0: none */
	uint32_t mtu;  /* of the path, bytes, once up; 0: unknown, or iWARP */
	struct diag why;
	struct addr peer; /* as dialled; once up, of several addresses the one that answered */
	/* "rxe0 port 1, GID ::ffff:10.0.0.1 (RoCE v2), 10.0.0.1 to 10.0.0.2:4420" */
	char route[160];
};

/* Close with requests in flight. Allowed in any upcall; `down` follows. */
static inline void ep_abandon(struct ep *ep)
{
	(ep->ops->abandon ? ep->ops->abandon : ep->ops->close)(ep);
}

struct ep_dial {
	/* ADDR_IB: verbs only; the kernel gets the path from the subnet administrator. With several
	 * addresses verbs tries each in turn within the limit, then software iWARP connects to the
	 * first that answers. */
	struct addr dst;
	struct addr src; /* family 0: by route */
	const char *dev; /* RDMA device name; NULL: by route */
	uint8_t backend, tos;
	uint32_t timeout_ms; /* to `up`; 0: none. Enforced here, not by the CM */
	bool no_crc;         /* software iWARP: use CRCs only if the peer requests them */
	struct ep_caps caps;
};

/* Start to connect; `up` or `down` follows. Copies *dial, but dev must stay valid until then. Fails
 * at once only without memory or RDMA support, or for an address that is invalid or not the
 * backend's: software iWARP needs IP. EP_AUTO is verbs if an RDMA device routes to the address. It
 * is software iWARP over TCP without a device, without an RDMA listener at the target, or if that
 * did not answer within a second; not if `dev` or a GID was specified. Each further attempt, by
 * another backend or to another address, calls request() again: earlier registrations were undone
 * (only those of the last call need an unreg), posted receives are the owner's again, ep->caps and
 * ep->dom are new, the struct ep stays where it is. */
int ep_dial(struct ep **, struct loop *, const struct ep_dial *, const struct ep_events *,
	void *user, struct diag *);

/* A connection request. Accept it on the loop (and thread) that is to own it, or reject it, exactly
 * once. */
struct ep_incoming {
	struct addr peer, local; /* local: the destination of the request; family 0: unknown */
	uint8_t priv[EP_PRIV_MAX];
	uint8_t priv_len;
	uint32_t ord, ird; /* requested by the peer, from our side: our READs, its READs */
	const struct ep_incoming_ops *ops;
};
struct ep_incoming_ops {
	int (*accept)(struct ep **, struct loop *, struct ep_incoming *, const struct ep_caps *caps,
		const struct ep_events *, void *user, struct diag *);
	void (*reject)(struct ep_incoming *, const void *priv, uint8_t len);
};
struct ep_listener;
/* The kernel allows a process to listen only on service IDs of this form (RDMA_IB_IP_PS_IB). The
 * low 16 bits are like a port number: privileged below 1024, and from 32768 on also those of
 * processes that connect. */
#define EP_SERVICE 0x13f0000ull
struct ep_listen {
	struct addr at;  /* ADDR_IB: the port's own GID, and an ID of EP_SERVICE */
	const char *dev; /* RDMA device name; NULL: by address */
	uint8_t backend; /* EP_VERBS or EP_IWARP */
	void (*incoming)(struct ep_incoming *, void *user); /* on the listener's loop */
	/* EP_VERBS: the device or address disappeared: free the listener. */
	void (*lost)(struct ep_listener *, const struct diag *why, void *user);
	void *user;
	bool no_crc; /* as of ep_dial */
};
int ep_listen(struct ep_listener **, struct loop *, const struct ep_listen *, struct diag *);
/* Return the address as bound. */
const struct addr *ep_listener_addr(const struct ep_listener *);
void ep_listener_free(struct ep_listener *);
/* Accept, and own the request from here, also on failure. Calls request(), which writes the private
 * data of the reply; `up` or `down` follows, `down` also if request() fails. Returns an error only
 * if it fails before request(). */
static inline int ep_accept(struct ep **out, struct loop *to, struct ep_incoming *incoming,
	const struct ep_caps *caps, const struct ep_events *events, void *user, struct diag *diag)
{
	return incoming->ops->accept(out, to, incoming, caps, events, user, diag);
}
static inline void ep_reject(struct ep_incoming *incoming, const void *priv, uint8_t len)
{
	incoming->ops->reject(incoming, priv, len);
}
