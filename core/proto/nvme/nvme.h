/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How the parts of the NVMe initiator fit together: a carrier moves capsules of one queue (rdma.c,
 * tcp.c) and has the table of its commands; a queue pair brings it up with Connect and ends it
 * (qp.c); a controller is the admin queue (ctrl.c); ini.c and lane.c make a bdev and its lanes of
 * it, discovery.c reads a log with it. */
#pragma once
#include "bdev.h"
#include "codec.h"
#include "inflight.h"
#include "resolve.h"

#define NVME_ADMIN_DEPTH 32 /* entries; also the most nvmet takes (Linux 6.12, NVME_AQ_DEPTH) */
#define NVME_ADMIN_MS    10000
#define NVME_IO_MS       30000
#define NVME_KATO_MS     5000

struct nvme_carrier;

/* What an attach asked for: fixed from then on, read by every queue on any thread. */
struct nvme_conf {
	const struct nvme_carrier *carrier;
	char host[ADDR_HOST];
	uint16_t port;
	struct addr dst, src;  /* dst: family 0 until nvme_ctrl_open() has looked up the host */
	char where[ADDR_TEXT]; /* dst, for messages; until then the host */
	char dev[64], iface[16];
	uint8_t backend, tos;
	bool hdr_digest, data_digest; /* NVMe/TCP */
	bool no_crc;                  /* software iWARP */
	char subnqn[NVMF_NQN_MAX + 1], hostnqn[NVMF_NQN_MAX + 1];
	uint8_t hostid[16];
	uint32_t kato_ms;
	uint32_t timeout_ms; /* of one opening, the lookup included; 0 = none */
};
/* Host, addresses, identity and carrier keys of a URI; leaves its path and other keys to the
 * caller. */
int nvme_conf_init(struct nvme_conf *, struct uri *, const struct bdev_env *, uint16_t default_port,
	struct diag *);
/* Sets host, port and where, and dst of a numeric host. */
int nvme_conf_host(struct nvme_conf *, const char *host, uint16_t port, struct diag *);

/* Data of one command; len 0 = none. Memory of a pool the queue's carrier has mapped. */
struct nvme_data {
	uint8_t *p;
	uint32_t len;
	bool out; /* to the controller */
	const struct pool *pool;
};

/* One command in flight. The carrier embeds this first in its own slot. */
struct nvme_slot {
	struct inflight_slot flight; /* first */
	struct nvme_sqe *sqe;        /* the carrier's memory for it */
	struct nvme_data data;
	struct nvme_cqe cqe; /* valid from `reply` on */
	bool flushing;       /* the owner's */
};

/* One queue's transport. The carrier embeds this first in its own struct. */
struct nvme_queue {
	struct inflight inflight; /* the owner sets `late` */
	const struct nvme_carrier *carrier;
	const struct nvme_queue_events *ev;
	/* As the events, and set by the owner before its first command. The command's slot and data
	 * are the owner's again. */
	void (*reply)(struct nvme_queue *, struct nvme_slot *);
	const struct nvme_conf *conf;
	struct loop *loop;
	void *user;
	uint16_t qid;
	/* entries; depth - 1 commands at once; the carrier may lower it until `up` */
	uint16_t depth;
	uint32_t incap; /* write data a capsule may carry; set by the owner once it knows */
	struct diag why;
	char way[200];       /* for people */
	const char *backend; /* of RDMA: "verbs", "iwarp"; otherwise NULL */
};

struct nvme_queue_events { /* on the queue's loop, never from inside open() or submit() */
	void (*up)(struct nvme_queue *);
	void (*idle)(struct nvme_queue *); /* end of a batch of replies */
	void (*down)(struct nvme_queue *); /* once; why is set; no buffer is touched any more */
};

struct nvme_carrier {
	const char *name; /* "rdma" */
	uint8_t trtype;
	/* Starts connecting; `up` or `down` follows within timeout_ms (0 = no limit). */
	int (*open)(struct nvme_queue **, struct loop *, const struct nvme_conf *, uint16_t qid,
		uint16_t depth, uint32_t timeout_ms, const struct nvme_queue_events *, void *user,
		struct diag *);
	/* A slot whose sqe and data are set; it leaves at the end of the turn. The carrier gives
	 * the command its ID and data descriptor. */
	void (*submit)(struct nvme_queue *, struct nvme_slot *);
	int (*map)(struct nvme_queue *, struct pool *, struct diag *); /* NULL: nothing to do */
	void (*unmap)(struct nvme_queue *, struct pool *);
	void (*close)(struct nvme_queue *); /* `down` follows */
	/* at once, any state; not from inside an upcall other than `down` */
	void (*free)(struct nvme_queue *);
};
extern const struct nvme_carrier nvme_rdma, nvme_tcp;
static inline void nvme_slot_describe(struct nvme_slot *slot, struct nvme_sgl sgl)
{
	slot->sqe->flags |= NVME_PSDT_SGL;
	slot->sqe->cid = put_le16(slot->flight.tag);
	slot->sqe->sgl = sgl;
}

/* One admin command. Its owner keeps it until done. */
struct nvme_req {
	void (*done)(struct nvme_req *, const struct nvme_cqe *); /* NULL: the queue died first */
	/* for messages: "identify controller" */
	const char *what;
};

/* Queue pair: a carrier's queue with Connect done, and deadlines. */
enum nvme_qp_state { QP_IDLE, QP_OPENING, QP_UP, QP_CLOSING, QP_DOWN };
struct nvme_qp {
	struct nvme_queue *queue;
	struct pool *scratch; /* mapped; its first bytes are the Connect data until up */
	const struct nvme_qp_events *ev;
	const struct nvme_conf *conf;
	struct loop *loop;
	uint64_t deadline_ns; /* of the opening; 0 = none */
	uint16_t qid, cntlid, sqhd;
	uint8_t state;
	bool mapped;
	struct diag why;
	struct nvmf_connect hello;
};
struct nvme_qp_events {
	void (*up)(struct nvme_qp *);
	/* A command is answered: ends it with nvme_qp_end(). queue->user is the qp. */
	void (*reply)(struct nvme_queue *, struct nvme_slot *);
	/* a command ended with its queue */
	void (*lost)(struct nvme_qp *, void *owner);
	const char *(*name)(const void *owner); /* of a command, for messages */
	void (*idle)(struct nvme_qp *);         /* start what waits; NULL = nothing does */
	void (*down)(struct nvme_qp *);         /* every command has ended; why is set */
};
int nvme_qp_open(struct nvme_qp *, struct loop *, const struct nvme_conf *, uint16_t qid,
	uint16_t depth, uint16_t cntlid, uint32_t scratch, uint64_t deadline_ns,
	const struct nvme_qp_events *, struct diag *);
/* In reply(): gives the slot back, its cqe stays readable until the next is taken. NULL: the queue
 * is ending; the command will be `lost`. Otherwise its owner. */
void *nvme_qp_end(struct nvme_qp *, struct nvme_slot *);
/* Ends the session; the first reason given stays. `down` follows. */
void nvme_qp_fail(struct nvme_qp *, const struct diag *why);
/* at once; requests in flight are forgotten, not done. Allowed on a zeroed one */
void nvme_qp_fini(struct nvme_qp *);

/* Controller: an admin queue brought to life. */
enum nvme_step {
	STEP_RESOLVE,
	STEP_CONNECT,
	STEP_CAP,
	STEP_ENABLE,
	STEP_READY,
	STEP_IDENTIFY,
	STEP_QUEUES,
	STEP_EVENTS,
	STEP_UP,
	STEP_SHUTDOWN,
	STEP_SHUT,
	STEP_DOWN
};
struct nvme_ctrl {
	struct nvme_conf conf;
	struct nvme_qp qp;
	const struct nvme_ctrl_events *ev;
	struct loop *loop;
	uint8_t step;
	bool discovery;  /* what it is asked to be */
	uint16_t queues; /* asked for, then granted */
	/* of the opening, until its owner has all it needs and sets it to 0; of the shutdown. 0 =
	 * none */
	uint64_t deadline_ns;
	uint64_t ready_ns; /* CAP.TO after enabling */
	uint64_t cap;
	uint16_t cntlid;
	struct nvme_ctrl_info id;
	struct diag why;
	struct resolve resolve;
	struct nvme_req req, keep, event; /* the step's, keep-alive's, AER's */
	struct loop_timer timer, beat;    /* next poll of CSTS; keep-alive */
	bool keeping;
};
struct nvme_ctrl_events {
	void (*up)(struct nvme_ctrl *);
	void (*ns_changed)(struct nvme_ctrl *); /* only while up; NULL = not wanted */
	void (*down)(struct nvme_ctrl *);
};
#define NVME_SCRATCH 65536 /* of the admin queue: Identify data, log pages */
/* conf is the ctrl's own and set. Looks up the host when its address is not known. */
int nvme_ctrl_open(struct nvme_ctrl *, struct loop *, bool discovery, uint16_t queues,
	const struct nvme_ctrl_events *, struct diag *);
/* An admin command with `in` bytes of data to the start of the scratch pool. One at a time. */
void nvme_ctrl_send(struct nvme_ctrl *, struct nvme_req *, struct nvme_sqe *, uint32_t in);
struct nvme_sqe nvme_identify(uint8_t cns, uint32_t nsid, uint8_t csi);
/* Takes what such a command brought. Only of these bytes may anything be believed: an RDMA target
 * can go on writing to the pool, and what was checked there need not be what is used. */
void nvme_ctrl_take(const struct nvme_ctrl *, size_t at, void *to, size_t len);
/* Status of a reply as diag: 0 or -errno. */
int nvme_check(const struct nvme_req *, const struct nvme_cqe *, struct diag *);
void nvme_ctrl_fail(struct nvme_ctrl *, const struct diag *why); /* `down` follows */
/* orderly: shutdown notification, 2 s at most, `down` follows */
void nvme_ctrl_stop(struct nvme_ctrl *);
void nvme_ctrl_fini(struct nvme_ctrl *);
/* Bytes one command may move, by MDTS and the carrier. */
uint32_t nvme_ctrl_max_data(const struct nvme_ctrl *);
const char *nvme_step_word(uint8_t step);

/* The disk. Lanes, on any thread, read what is fixed from UP on, and share only qids. */
#define NVME_QUEUES 64
#define NVME_DEPTH  128
struct nvme_dev {
	struct bdev bdev;
	struct nvme_ctrl ctrl;
	struct nvme_req req;
	uint64_t qids; /* in use: bit n is queue n + 1; atomic */
	uint32_t nsid;
	uint16_t depth; /* of I/O queues, entries */
	uint8_t shift, step;
	bool vwc, deac, write;
	bool by_uuid, again; /* the namespace is chosen by want; it changed once more meanwhile */
	bool missing;        /* nsid does not exist: the list is read for the message */
	uint8_t want[16];
	uint16_t at, listed; /* while looking for a namespace */
	uint32_t list[1024];
	struct nvme_ns_info ns;
	struct nvme_ns_ids ids;
	struct nvme_nvm_info nvm;
	uint32_t range; /* blocks one DSM range may have */
};
#define NVME_RANGES 16 /* DSM ranges one trim may have: they have room for each tag */
int nvme_discover(struct loop *, struct uri *, const struct bdev_env *,
	void (*found)(const char *uri, void *user), void *user, struct diag *);
void nvme_rdma_suggest(struct loop *, struct uri *, uint32_t ms, struct diag *why);
void nvme_tcp_suggest(struct loop *, struct uri *, uint32_t ms, struct diag *why);
int nvme_lane(struct lane **, struct bdev *, struct loop *, struct diag *);
