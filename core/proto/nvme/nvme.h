/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The parts of the NVMe initiator: a carrier (rdma.c, tcp.c) moves the capsules of one queue and
 * holds the table of its commands; a queue pair (qp.c) brings it up with Connect and ends it; a
 * controller (ctrl.c) is the admin queue; ini.c and lane.c make a bdev and its lanes of it,
 * discovery.c reads a log with it. */
#pragma once
#include "access_notice.h"
#include "bdev.h"
#include "chap.h"
#include "codec.h"
#include "inflight.h"
#include "resolve.h"

#define NVME_ADMIN_DEPTH 32 /* entries; nvmet's maximum (Linux 6.12, NVME_AQ_DEPTH) */
#define NVME_ADMIN_MS    10000
#define NVME_IO_MS       30000
#define NVME_KATO_MS     5000
#define NVME_KATO_MIN_MS 1000
#define NVME_DETECT_MS   7500

struct nvme_carrier;

/* Settings of an attachment: constant, read by every queue on any thread. */
struct nvme_conf {
	const struct nvme_carrier *carrier;
	char host[ADDR_HOST];
	uint16_t port;
	struct addr dst, src;  /* dst: family 0 until nvme_ctrl_open() has resolved the host */
	char where[ADDR_TEXT]; /* dst as text for messages; before that the host */
	char dev[64], iface[16];
	uint8_t backend, tos;
	bool hdr_digest, data_digest; /* only NVMe/TCP */
	bool no_crc;                  /* only software iWARP */
	char subnqn[NVMF_NQN_MAX + 1], hostnqn[NVMF_NQN_MAX + 1];
	uint8_t hostid[16];
	/* Of nvme_conf_secrets(), in locked memory. NULL: none. DH-HMAC-CHAP: [0] of this host, [1]
	 * of the controller, for mutual authentication; psk: the configured PSK of TLS. */
	const struct nvme_key *secret[2], *psk;
	bool tls_optional;    /* a discovery: without TLS if the controller does not accept it */
	struct nvme_tls *tls; /* of the controller that uses these settings; NULL: no TLS */
	bool concat;          /* secure channel concatenation: TLS with a generated PSK */
	uint32_t kato_ms;
	uint32_t detect_ms;  /* a controller that is silent for this time is lost */
	uint32_t timeout_ms; /* for connecting, including the name lookup; 0 = none */
};
/* Read host, addresses, identity and carrier keys of a URI; the caller handles its path and other
 * keys. */
int nvme_conf_init(struct nvme_conf *, struct uri *, const struct bdev_env *, uint16_t default_port,
	struct diag *);
/* Read the files with secrets that the URI names. A failure leaves none. */
int nvme_conf_secrets(struct nvme_conf *, struct uri *, struct diag *);
/* Wipe and free the secrets, which copies of the settings share: only by the owner. */
void nvme_conf_fini(struct nvme_conf *);
/* Set host, port and where; also dst if the host is numeric. */
int nvme_conf_host(struct nvme_conf *, const char *host, uint16_t port, struct diag *);

/* Data of one command; len 0 = none. In a pool that the queue's carrier has mapped. */
struct nvme_data {
	uint8_t *p;
	uint32_t len;
	bool out; /* direction: to the controller */
	const struct pool *pool;
};

/* One command in flight. First member of the carrier's own slot. */
struct nvme_slot {
	struct inflight_slot flight; /* first member */
	struct nvme_sqe *sqe;        /* in the carrier's memory */
	struct nvme_data data;
	struct nvme_cqe cqe; /* valid from `reply` on */
	bool flushing;       /* used by the owner */
};

/* The transport of one queue. First member of the carrier's own struct. */
struct nvme_queue {
	struct inflight inflight; /* the owner sets `late` */
	const struct nvme_carrier *carrier;
	const struct nvme_queue_events *ev;
	/* Like the events; set by the owner before its first command. The owner may use the
	 * command's slot and data again. */
	void (*reply)(struct nvme_queue *, struct nvme_slot *);
	const struct nvme_conf *conf;
	struct loop *loop;
	void *user;
	uint16_t qid;
	/* entries; depth - 1 commands in flight; the carrier may lower it before `up` */
	uint16_t depth;
	uint32_t incap; /* most write data in a capsule; set by the owner once known */
	struct diag why;
	struct addr peer;    /* once the carrier is connected */
	char route[200];     /* text for people */
	char security[80];   /* text for people, of TLS; "": none */
	const char *backend; /* RDMA: "verbs" or "iwarp"; otherwise NULL */
};

struct nvme_queue_events { /* on the queue's loop, never from inside open() or submit() */
	void (*up)(struct nvme_queue *);
	void (*idle)(struct nvme_queue *); /* end of a batch of replies */
	void (*down)(struct nvme_queue *); /* once; why is set; no buffer is accessed any more */
};

struct nvme_carrier {
	const char *name; /* "rdma" */
	uint8_t trtype;
	/* Start connecting; `up` or `down` follows within timeout_ms (0 = no limit). */
	int (*open)(struct nvme_queue **, struct loop *, const struct nvme_conf *, uint16_t qid,
		uint16_t depth, uint32_t timeout_ms, const struct nvme_queue_events *, void *user,
		struct diag *);
	/* Send a slot whose sqe and data are set, at the end of the turn. The carrier sets the
	 * command's ID and data descriptor. */
	void (*submit)(struct nvme_queue *, struct nvme_slot *);
	int (*map)(struct nvme_queue *, struct pool *, struct diag *); /* NULL: not needed */
	void (*unmap)(struct nvme_queue *, struct pool *);
	void (*close)(struct nvme_queue *); /* `down` follows */
	/* at once, in any state; not inside an upcall other than `down` */
	void (*free)(struct nvme_queue *);
};
extern const struct nvme_carrier nvme_rdma, nvme_tcp;
static inline void nvme_slot_describe(struct nvme_slot *slot, struct nvme_sgl sgl)
{
	slot->sqe->flags |= NVME_PSDT_SGL;
	slot->sqe->cid = put_le16(slot->flight.tag);
	slot->sqe->sgl = sgl;
}

/* One admin command, kept by its owner until done. */
struct nvme_req {
	void (*done)(struct nvme_req *, const struct nvme_cqe *); /* NULL: the queue ended first */
	/* for messages: "identify controller" */
	const char *what;
	bool fabrics; /* the last command was one of Fabrics */
};

/* Queue pair: a carrier's queue with Connect and deadlines. */
enum nvme_qp_state { QP_IDLE, QP_OPENING, QP_UP, QP_CLOSING, QP_DOWN };
struct nvme_qp {
	struct nvme_queue *queue;
	struct pool *scratch; /* mapped; begins with the Connect data until up */
	const struct nvme_qp_events *ev;
	const struct nvme_conf *conf;
	struct loop *loop;
	uint64_t deadline_ns; /* for connecting; 0 = none */
	uint16_t qid, cntlid, sqhd;
	uint8_t state;
	bool mapped;
	bool authenticated;     /* the target has accepted our proof */
	struct nvme_auth *auth; /* while it authenticates; NULL: it does not */
	/* the generated PSK, wiped by nvme_qp_fini(); len 0: none. The queue then has to make room
	 * for one that uses it. */
	struct nvme_key psk;
	struct diag why;
	struct nvmf_connect connect;
};
struct nvme_qp_events {
	void (*up)(struct nvme_qp *);
	/* A command was answered: call nvme_qp_end(). queue->user is the qp. */
	void (*reply)(struct nvme_queue *, struct nvme_slot *);
	/* a command was lost with its queue */
	void (*lost)(struct nvme_qp *, void *owner);
	const char *(*name)(const void *owner); /* name of a command, for messages */
	void (*idle)(struct nvme_qp *);         /* start waiting requests; NULL = none */
	void (*down)(struct nvme_qp *);         /* every command has ended; why is set */
};
int nvme_qp_open(struct nvme_qp *, struct loop *, const struct nvme_conf *, uint16_t qid,
	uint16_t depth, uint16_t cntlid, uint32_t scratch, uint64_t deadline_ns,
	const struct nvme_qp_events *, struct diag *);
/* Call in reply(): frees the slot; its cqe stays readable until the next is taken. Returns the
 * command's owner. NULL: the queue is ending; `lost` follows for the command. */
void *nvme_qp_end(struct nvme_qp *, struct nvme_slot *);
/* End the session; the first reason counts. `down` follows. */
void nvme_qp_fail(struct nvme_qp *, const struct diag *why);
/* at once; requests in flight are dropped without `lost`. Allowed on a zeroed one */
void nvme_qp_fini(struct nvme_qp *);

/* auth.c: authenticate a queue that has sent its Connect; nvme_qp_authenticated() or
 * nvme_qp_fail() follows */
int nvme_auth_start(struct nvme_qp *, struct diag *);
void nvme_auth_reply(struct nvme_queue *, struct nvme_slot *); /* nvme_queue.reply until then */
/* The connection has ended for this reason: replace it by what authentication knows of it. */
void nvme_auth_explain(const struct nvme_auth *, struct diag *why);
void nvme_auth_free(struct nvme_auth *); /* NULL is allowed */
void nvme_qp_authenticated(struct nvme_qp *);

/* Whether the PSK of the queue's TLS is a generated one. */
static inline bool nvme_qp_concatenated(const struct nvme_qp *qp)
{
	return qp->conf->concat && qp->conf->tls;
}

/* Controller: an admin queue and its bring-up. */
enum nvme_step {
	STEP_RESOLVE,
	STEP_CONNECT,
	STEP_SECURE,
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
	bool discovery;  /* whether to connect to the discovery service */
	uint16_t queues; /* requested, then granted */
	/* for the start, until its owner has all it needs and sets it to 0; then for the shutdown.
	 * 0 = none */
	uint64_t deadline_ns;
	uint64_t ready_ns; /* deadline after enabling, CAP.TO */
	uint64_t cap;
	uint16_t cntlid;
	struct nvme_ctrl_info id;
	struct diag why;
	struct resolve resolve;
	struct nvme_req req, keep, event; /* for the step, keep-alive, AER */
	struct loop_timer timer, beat;    /* next poll of CSTS; next keep-alive */
	bool keeping;
	/* The last command other than these two. It is sent again, until its deadline, if the
	 * controller can't execute it yet. */
	struct {
		struct nvme_req *req;
		struct nvme_sqe sqe;
		uint32_t in;
		uint64_t deadline_ns;
		struct loop_timer timer;
	} last;
};
struct nvme_ctrl_events {
	void (*up)(struct nvme_ctrl *);
	void (*ns_changed)(struct nvme_ctrl *); /* only while up; NULL = ignored */
	void (*down)(struct nvme_ctrl *);
	void (*ana_changed)(struct nvme_ctrl *); /* as ns_changed */
};
#define NVME_SCRATCH 65536 /* of the admin queue: Identify data, log pages */
/* conf is the controller's copy and set; its secrets must last longer. Resolves the host if its
 * address is unknown. */
int nvme_ctrl_open(struct nvme_ctrl *, struct loop *, bool discovery, uint16_t queues,
	const struct nvme_ctrl_events *, struct diag *);
/* Send an admin command that returns `in` bytes of data at the start of the scratch pool. One at a
 * time. */
void nvme_ctrl_send(struct nvme_ctrl *, struct nvme_req *, struct nvme_sqe *, uint32_t in);
struct nvme_sqe nvme_identify(uint8_t cns, uint32_t nsid, uint8_t csi);
/* Send an admin command without data and without a time limit. False: not now, as those that keep
 * the controller alive need the room. */
bool nvme_ctrl_try(struct nvme_ctrl *, struct nvme_req *, const struct nvme_sqe *);
/* Copy data that such a command returned. Check and use only the copy: an RDMA target can keep
 * writing to the pool. */
void nvme_ctrl_copy(const struct nvme_ctrl *, size_t at, void *to, size_t len);
/* Report the status of a reply in diag: 0 or -errno. */
int nvme_check(const struct nvme_req *, const struct nvme_cqe *, struct diag *);
void nvme_ctrl_fail(struct nvme_ctrl *, const struct diag *why); /* `down` follows */
/* in order: shutdown notification, at most 2 s, then `down` */
void nvme_ctrl_stop(struct nvme_ctrl *);
void nvme_ctrl_fini(struct nvme_ctrl *);
/* Most bytes of one command, by MDTS and the carrier. */
uint32_t nvme_ctrl_max_data(const struct nvme_ctrl *);
const char *nvme_step_name(uint8_t step);

/* The disk. Lanes, on any thread, read what is constant from UP on, and share only qids. */
#define NVME_QUEUES  64
#define NVME_DEPTH   128
#define NVME_ANA_LOG 16384 /* bytes of the ANA log that are read: about 500 groups */
struct nvme_dev {
	struct bdev bdev;
	struct nvme_ctrl ctrl;
	struct nvme_req req;
	uint64_t qids;     /* queues in use: bit n is queue n + 1; atomic */
	unsigned qid_turn; /* bit where the search for a free one begins; atomic */
	uint32_t nsid;
	uint16_t depth; /* entries per I/O queue */
	uint8_t shift, step;
	bool vwc, deac, write;
	bool by_uuid, refresh_again; /* by_uuid: `want` selects the namespace; again: it changed
				once more during a refresh */
	bool missing;                /* nsid does not exist: the list is read for the message */
	uint8_t ns_uuid[16];
	uint16_t at, listed; /* while searching for a namespace */
	uint32_t list[1024];
	struct nvme_ns_info ns;
	struct nvme_ns_ids ids;
	struct nvme_nvm_info nvm;
	uint32_t range; /* most blocks in one DSM range */
	struct nvme_req fence_req;
	struct bdev_fence *fence;   /* NULL: none in progress */
	struct nvme_search *search; /* NULL: none in progress */
	/* ana.c; again: the log may have changed since it was read */
	bool ana_again;
	uint64_t ana_read_ns;
	struct loop_timer ana_timer;
	struct access_notice notice;
	uint8_t ana_log[NVME_ANA_LOG];
};
#define NVME_RANGES 16 /* most DSM ranges in one trim: each tag has room for them */
/* search.c: bdev_ops.search */
int nvme_search(struct bdev *, struct bdev_search *, struct diag *);
void nvme_search_free(struct nvme_search *); /* NULL is allowed; no done() follows */
/* discovery.c: start a discovery at the address of a subsystem, which is resolved: at its port or,
 * if that is TCP's default one, at the default ports. conf is copied; timeout_ms: for each
 * controller, until: for all, loop_clock(). */
struct nvmf_discovery;
int nvme_discovery_start(struct nvmf_discovery *, struct loop *, const struct nvme_conf *,
	uint64_t until, struct diag *);
int nvme_discover(struct loop *, struct uri *, const struct bdev_env *,
	void (*found)(const char *uri, void *user), void *user, struct diag *);
void nvme_rdma_suggest(struct loop *, struct uri *, uint32_t ms, struct diag *why);
void nvme_tcp_suggest(struct loop *, struct uri *, uint32_t ms, struct diag *why);
/* ana.c: whether the controller reports the access of the namespace; the command for that, and the
 * bytes it returns; its answer, -EPROTO: invalid; whether the command may be sent now, else
 * ana_timer is set. */
bool nvme_ana_reported(const struct nvme_dev *);
struct nvme_sqe nvme_ana_get_log(struct nvme_dev *);
uint32_t nvme_ana_log_len(const struct nvme_dev *);
int nvme_ana_handle_log(struct nvme_dev *, bool *changed, struct diag *);
bool nvme_ana_may_read(struct nvme_dev *);
int nvme_lane(struct lane **, struct bdev *, struct loop *, struct diag *);
