/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the verbs files: the devices of one loop (verbs_dev.c), the data path of their
 * endpoints (verbs.c), and connection management (verbs_cm.c, verbs_listen.c, verbs_cm_call.c). */
#pragma once
#include "backend.h"
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <string.h>

#define VERBS_BATCH 16 /* completions per poll, work requests per doorbell */

struct verbs_ep;
struct verbs_cm_call;

struct verbs_cq {
	struct verbs_cq *next;
	struct verbs_dev *dev;
	struct ibv_cq *cq;
	uint32_t size, used; /* entries; used: reserved by endpoints */
	/* reserved by ended endpoints, whose last completions may still be in the queue */
	uint32_t stale;
	uint32_t unacked; /* unacknowledged events */
	bool armed;
	/* the batch being processed; not on the stack, as an upcall may turn the loop */
	uint8_t at, count;
	struct ibv_wc wc[VERBS_BATCH];
};

struct verbs_dev { /* one device on one loop; freed with its last reference */
	struct verbs *verbs;
	struct ibv_context *context; /* owned by librdmacm */
	struct ibv_context **held;   /* the reference that keeps it open */
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct verbs_cq *cqs;
	struct verbs_ep *touched; /* endpoints that require `idle` at the end of this batch */
	struct ibv_device_attr attr;
	struct loop_fd channel_fd, async_fd;
	struct loop_poller poller;
	uint32_t refs; /* held by endpoints and registrations */
	uint8_t dom;
	bool software, iwarp;
};

struct verbs { /* RDMA state of one loop */
	struct loop_local local;
	struct loop *loop;
	struct rdma_event_channel *channel;
	struct loop_fd channel_fd;
	struct loop_work reap;
	struct verbs_dev *dev[POOL_DOMS];
	/* a completion names its endpoint by slot and serial, so that a late one matches none */
	struct verbs_ep **slot;
	uint32_t slots, serial;
	struct verbs_cm_call *cm_calls;
};

enum verbs_step { VERBS_ADDR, VERBS_ROUTE, VERBS_CONNECT, VERBS_LIVE };
/* kind of work request, part of its wr_id */
enum verbs_wr { VERBS_RECV, VERBS_SENT, VERBS_UNSIGNALED, VERBS_READ };

struct verbs_ep {
	struct ep ep;
	struct verbs *verbs;
	struct verbs_dev *dev; /* NULL until the address is resolved */
	struct verbs_cq *cq;
	struct rdma_cm_id *id;
	char dev_name[IBV_SYSFS_NAME_MAX];
	struct sockaddr_storage dst, src;
	uint8_t step;
	bool vague;        /* `why` is unspecific: a better cause may replace it */
	bool passive;      /* accepted, not dialled */
	bool disconnected; /* the connection manager has reported the disconnect */
	uint32_t timeout_ms;
	struct loop_timer timer;
	struct loop_work retire;
	struct verbs_cm_call *cm_call; /* a connect running in a thread */
	/* 1 + the asynchronous event that ended the queue pair; set by any loop that shares the
	 * device */
	atomic_uint fatal;

	uint32_t slot, serial, reserved;
	struct verbs_ep *touched_next;
	bool touched;

	/* Send queue: positions count work requests; those in [sq_done, sq_next) are in the
	 * queue. */
	uint32_t sq_size, sq_next, sq_done, mark_every, unmarked;
	/* Signalled, oldest first; READs separately, as siw completes ops posted after a READ
	 * before it. */
	struct ep_op *sent, **sent_end;
	struct ep_op *read, **read_end;
	/* ops without room, until a signalled op completes; only if the peer's answers overtake its
	 * acknowledgements */
	struct ep_op *held, **held_end;
	/* bytes of held inline ops whose owner may reuse its buffer: a ring of caps.send times
	 * caps.inline_max */
	uint8_t *spill;
	uint32_t spill_next;
	/* iWARP: a ring of caps.ord, the registrations of the READs in the queue. NULL: READs need
	 * none. */
	struct ibv_mr **sink;
	uint32_t sink_at, sinks;    /* the oldest; how many */
	struct ep_rx *rx, **rx_end; /* posted, oldest first */
};

/* verbs_dev.c */
int verbs_of_loop(struct verbs **, struct loop *, struct diag *);
/* Check that the memory of a connection can be locked, and raise the limit if necessary; -ENOMEM:
 * it can't. Call before a device is opened. */
int verbs_check_memlock(struct diag *);
int verbs_dev_get(struct verbs_dev **, struct verbs *, struct ibv_context *, struct diag *);
void verbs_dev_put(struct verbs_dev *);
const char *verbs_dev_name(const struct verbs_dev *);
int verbs_dev_find(const char *name, int family, struct sockaddr_storage *src, struct diag *);
int verbs_cq_reserve(struct verbs_dev *, uint32_t entries, struct verbs_cq **, struct diag *);
void verbs_cq_release(struct verbs_cq *, uint32_t entries);
int verbs_slot_alloc(struct verbs *, struct verbs_ep *, struct diag *);
void verbs_slot_release(struct verbs_ep *);
/* Register [p, p + len) with rights of enum ep_access. */
int verbs_mr_new(
	struct verbs_dev *, struct ibv_mr **, void *p, size_t len, unsigned access, struct diag *);
int verbs_reg(struct ep *, struct pool *, unsigned access, struct diag *);
void verbs_unreg(struct ep *, struct pool *);

/* verbs.c */
void verbs_post(struct ep *, struct ep_op *chain);
void verbs_repost(struct ep *, struct ep_rx *chain);
bool verbs_dev_poll(struct verbs_dev *);
bool verbs_dev_arm(struct verbs_dev *);
int verbs_queue_new(struct verbs_ep *, struct diag *);
void verbs_queue_free(struct verbs_ep *);

/* verbs_cm.c */
/* In zeroed memory, which the caller frees on failure. verbs_start(): connect. verbs_init(): only
 * what an endpoint without an id needs. */
int verbs_start(struct verbs_ep *, struct loop *, const struct ep_dial *, const struct ep_events *,
	void *user, struct diag *);
int verbs_init(struct verbs_ep *, struct loop *, const struct ep_caps *caps,
	const struct ep_events *, void *user, struct diag *);
void verbs_end(struct verbs_ep *); /* free all but its memory */
/* Set up all between choosing the device and the connection manager's message. Returns the length
 * of the private data. */
int verbs_prepare(struct verbs_ep *, uint8_t priv[EP_PRIV_MAX]);
void verbs_established(struct verbs_ep *);
void verbs_cm_readable(struct loop_fd *, uint32_t events);
/* Where to store the cause; NULL if a better one is known already. Call verbs_close() next. */
struct diag *verbs_why(struct verbs_ep *);
void verbs_close(struct ep *);
void verbs_drained(struct verbs_ep *); /* call after the last flushed completion */

void verbs_connect_failed(struct verbs_ep *, int err);

/* verbs_listen.c */
struct verbs_listener;
int verbs_listen(struct verbs_listener **, struct ep_listener *, struct loop *,
	const struct ep_listen *, struct diag *);
const struct addr *verbs_listener_addr(const struct verbs_listener *);
void verbs_listener_free(struct verbs_listener *);

/* verbs_cm_call.c */
/* Run rdma_connect() in a thread, which calls verbs_connect_failed() on the loop if it fails.
 * Returns a positive errno. */
int verbs_cm_call_connect(struct verbs_ep *, const struct rdma_conn_param *);
/* Destroy id and queue pair of an abandoned attempt in a thread. False: not started, they are still
 * the endpoint's. */
bool verbs_cm_call_destroy(struct verbs_ep *);
void verbs_cm_call_join(struct verbs_ep *);
/* Wait for all threads. */
void verbs_cm_calls_end(struct verbs *);

/* An address that librdmacm reports. */
static inline struct addr verbs_addr(const struct sockaddr *sa)
{
	struct addr addr = { .len = sa->sa_family == ADDR_IB    ? sizeof(struct addr_ib)
				    : sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								: sizeof(struct sockaddr_in) };

	memcpy(&addr.ss, sa, addr.len);
	return addr;
}

static inline enum rdma_port_space verbs_space(const struct addr *addr)
{
	return addr->ss.ss_family == ADDR_IB ? RDMA_PS_IB : RDMA_PS_TCP;
}

static inline struct verbs_ep *verbs_ep(struct ep *ep)
{
	return container_of(ep, struct verbs_ep, ep);
}
