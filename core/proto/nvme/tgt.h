/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NVMe target's rows on the frame of all targets (target.h): what a controller and its queues
 * are. A queue is a connection, on its worker's loop (tgt_queue.c, tgt_io.c, tgt_admin.c); two
 * carriers bring its commands (tgt_rdma.c, tgt_tcp.c); controllers bind queues together and are
 * made and ended on the target's loop (tgt_ctrl.c); tgt.c is the whole. */
#pragma once
#include "codec.h"
#include "nvmf_target.h"
#include "target.h"

#define NVME_TGT_QUEUES      64   /* for I/O, of one controller */
#define NVME_TGT_CONNECTIONS 1024 /* at once */
#define NVME_TGT_ADMIN_DEPTH 32   /* all that a discovery controller may have in work */
/* of discovery controllers, also where the host names none or a longer one; as nvmet has it */
#define NVME_TGT_DISC_KATO_MS 120000
/* 2^8 pages of 4 KiB: what one command may move, whatever the size of a buffer */
#define NVME_TGT_MDTS     8
#define NVME_TGT_MAX_DATA (4096u << NVME_TGT_MDTS)
#define NVME_TGT_AERS     4
#define NVME_TGT_ABORTS   4
#define NVME_TGT_VERSION  0x10400 /* 1.4: what later versions make mandatory is not all here */
#define NVME_TGT_LPA      4       /* log pages from any offset */
#define NVME_TGT_GRACE_MS                                                                          \
	1000 /* beyond a host's keep-alive timeout, for the wire and a busy host */
/* from that timeout until all writes of the host are done or orphans */
#define NVME_TGT_CQT_MS     (NVME_TGT_GRACE_MS + 1000)
#define NVME_TGT_CONNECT_MS 10000 /* for a connection to become a queue */
/* for a host to do its part of one piece of a command, and of all: hosts give a whole command no
 * more */
#define NVME_TGT_STALL_MS 30000

struct nvme_target;
struct nvme_tgt_op;
struct nvme_tgt_ctrl;

struct nvme_tgt_ns { /* one namespace: a disk */
	const struct nvme_target_disk *conf;
	const struct target_disk *disk;
	uint32_t nsid;
	uint8_t shift;
};

struct nvme_tgt_subsys {
	const char *nqn;
	struct nvme_tgt_ns *ns[NVME_TARGET_DISKS];
	unsigned count; /* 0: the discovery subsystem */
};

struct nvme_target {
	struct target base; /* first */
	struct nvme_target_options opt;
	struct nvme_tgt_ns ns[NVME_TARGET_DISKS];             /* by the disk's index */
	struct nvme_tgt_subsys subsys[NVME_TARGET_DISKS + 1]; /* the first is for discovery */
	unsigned subsystems;
	struct nvme_tgt_ctrl *ctrls;
	uint16_t last_cntlid;
	uint64_t genctr; /* atomic: of the discovery log */
};

struct nvme_tgt_cmd {
	struct target_cmd base; /* first */
	const struct nvme_tgt_op *op;
	struct nvme_sqe sqe;
	struct nvme_cqe cqe;
	const struct nvme_tgt_ns *ns;
	uint64_t off, len; /* of the command, in bytes of the disk */
	uint64_t log_off;
	uint16_t range, ranges;
	bool fua;
};

struct nvme_tgt_carrier {
	struct target_carrier base; /* first */
	uint8_t trtype;
	uint32_t incap; /* data a capsule may bring */
	/* Reads the command's data descriptor, for base.data_len bytes of data: sets base.p to
	 * where a capsule's data is, and base.inside when the data has come along there. */
	uint32_t (*descriptor)(struct nvme_tgt_cmd *);
};
extern const struct nvme_tgt_carrier nvme_tgt_rdma, nvme_tgt_tcp;

/* What a command is: how much data of the host it needs which way, and what is done with each
 * piece. */
struct nvme_tgt_op {
	uint8_t opcode;
	uint8_t flags;
	const char *name;
	/* Looks at the command; sets cmd->ns, off, len, and in base disk and changes_*. Gives the
	 * status to refuse it with, and the bytes of data in *len. */
	uint32_t (*check)(struct nvme_tgt_cmd *, uint32_t *len);
	void (*work)(struct nvme_tgt_cmd *); /* as of struct target_proto */
};
enum nvme_tgt_op_flag { /* and those of enum target_cmd_flag */
	OP_OUT = TARGET_OUT,
	OP_IN = TARGET_IN,
	OP_HALF = TARGET_HALF,
	OP_WHOLE = 8,      /* all of the data in one piece */
	OP_EARLY = 16,     /* also while the controller is not enabled */
	OP_DISCOVERY = 32, /* also of a discovery controller */
	OP_WRITES = 64,
};

/* Whether the host's descriptor has room for the command's data. What is taken as a whole says
 * itself how long it is, and may come in more: Linux 6.12 gives every dataset management command a
 * page. */
bool nvme_tgt_cmd_fits(const struct nvme_tgt_cmd *, uint32_t room);

struct nvme_tgt_queue {
	struct target_conn base; /* first; the carrier embeds the queue first */
	/* on its loop */
	bool no_sqfc;
	uint16_t qid, depth, sqhd;
	uint16_t most; /* entries the carrier has room for */
	bool io_only;  /* which has no memory for what an admin queue sends */
	struct nvme_tgt_ctrl *ctrl;
	const struct nvme_tgt_cmd *connecting; /* its only Connect */
	/* Connect, while the target's thread looks at it */
	struct nvme_tgt_cmd *asking;
	struct nvmf_connect ask;
	struct nvmf_connect_reply answer;
	/* on the target's */
	struct nvme_tgt_ctrl *bound;      /* ctrl's; the answer brings it to the queue */
	struct nvme_tgt_queue *sibling;   /* of the same controller */
	struct nvme_tgt_queue *wait_next; /* of ctrl->waiting */
	struct loop_msg ask_hop;
};

/* An Abort on its way. */
struct nvme_tgt_abort {
	struct loop_msg hop;
	struct nvme_tgt_cmd *cmd;     /* the Abort itself; NULL: this one is free */
	struct nvme_tgt_queue *queue; /* that is meant */
	bool dropped;
};

/* A controller. What is fixed when it is made may be read on any thread. */
struct nvme_tgt_ctrl {
	struct nvme_target *target;
	const struct nvme_tgt_subsys *subsys;
	uint16_t cntlid;
	uint32_t kato_ms;
	uint8_t hostid[16];
	char hostnqn[NVMF_NQN_MAX + 1], subnqn[NVMF_NQN_MAX + 1];
	struct nvme_tgt_queue *admin;
	bool enabled; /* atomic */
	/* on the target's thread */
	struct nvme_tgt_ctrl *next;
	struct nvme_tgt_queue *queues;
	uint64_t qids;
	bool dying, noticing;
	/* on its way to queues of the host's earlier controllers */
	struct target_fence fence;
	bool fencing;
	struct nvme_tgt_queue *waiting; /* queues whose Connect is judged once it is back */
	bool resetting;                 /* atomic: a reset is on its way here */
	struct loop *loop;              /* of the admin queue */
	/* on the admin queue's loop */
	uint32_t cc, csts, event_mask;
	struct nvme_tgt_cmd *event[NVME_TGT_AERS];
	unsigned events;
	struct nvme_tgt_abort abort[NVME_TGT_ABORTS];
	uint32_t changed;     /* namespaces, as bits: what the log of them says */
	uint32_t due, masked; /* feature bits: to be told; not again until their log is read */
	struct loop_timer keep;
	struct io shut; /* the flush of a shutdown */
	uint8_t *lower;
	unsigned shut_at;
	bool shut_failed;                   /* one of the flushes */
	const struct target_disk *shutting; /* being flushed for it */
	bool gone;                          /* the admin queue is down */
	/* between them */
	bool write_through; /* atomic: the host turned the write cache off */
	uint64_t news;      /* atomic: events, as bits: a namespace each, then the discovery log */
	struct loop_msg notice, reset;
};
#define NVME_TGT_NEWS_DISC (1ull << 32)

static inline struct nvme_tgt_queue *nvme_tgt_queue_of(const struct nvme_tgt_cmd *cmd)
{
	return (struct nvme_tgt_queue *)cmd->base.conn;
}
static inline const struct nvme_tgt_carrier *nvme_tgt_carrier_of(const struct nvme_tgt_queue *queue)
{
	return (const struct nvme_tgt_carrier *)queue->base.carrier;
}
static inline struct nvme_target *nvme_tgt_of(const struct nvme_tgt_queue *queue)
{
	return (struct nvme_target *)queue->base.target;
}
static inline bool nvme_tgt_is_discovery(const struct nvme_tgt_ctrl *ctrl)
{
	return !ctrl->subsys->count;
}

/* A connection has come in; on the target's loop. */
void nvme_tgt_tcp_incoming(struct target *, int fd, const struct addr *peer);
void nvme_tgt_rdma_incoming(struct target *, struct ep_incoming *);

/* tgt_ctrl.c: on the target's loop */
/* Judges queue->ask into queue->answer and binds the queue to its controller; false = a fence is on
 * its way, ask_hop comes again when it is back. */
bool nvme_tgt_ctrl_connect(struct nvme_tgt_queue *);
void nvme_tgt_ctrl_leave(struct target_conn *); /* the queue is over */
/* NULL: the discovery log changed */
void nvme_tgt_ctrl_notify(struct nvme_target *, const struct nvme_tgt_ns *);
void nvme_tgt_ctrl_notice_back(struct loop_msg *);
void nvme_tgt_ctrl_reset(struct loop_msg *); /* the host disabled it: its I/O queues end */

/* tgt_queue.c: on the queue's loop */
void nvme_tgt_queue_begin(struct target *, struct nvme_tgt_queue *, const struct nvme_tgt_carrier *,
	const struct addr *peer); /* but this: on the target's */
uint32_t nvme_tgt_decode(struct target_cmd *);
void nvme_tgt_complete(struct target_cmd *, uint32_t status);
bool nvme_tgt_cmd_abort(struct nvme_tgt_cmd *); /* target_cmd_abort() and what is kept */
void nvme_tgt_cmd_result(struct nvme_tgt_cmd *, uint64_t result); /* of the completion */
void nvme_tgt_queue_answered(struct loop_msg *);
static inline struct nvme_tgt_cmd *nvme_tgt_cmd_at(const struct nvme_tgt_queue *queue, unsigned i)
{
	return (struct nvme_tgt_cmd *)target_cmd_at(&queue->base, i);
}
static inline void nvme_tgt_cmd_worked(struct nvme_tgt_cmd *cmd, uint32_t status)
{
	target_cmd_worked(&cmd->base, status);
}

/* tgt_io.c, tgt_admin.c: tables that end with a row without name */
extern const struct nvme_tgt_op nvme_tgt_io_ops[], nvme_tgt_admin_ops[], nvme_tgt_fabrics_ops[];
uint32_t nvme_tgt_status(const struct io *);

/* tgt_admin.c: on the admin queue's loop */
void nvme_tgt_ctrl_noticed(struct loop_msg *);
void nvme_tgt_ctrl_heard(struct nvme_tgt_ctrl *); /* a command of the admin queue */
void nvme_tgt_ctrl_unmask(struct nvme_tgt_ctrl *, uint32_t event); /* its log was read */
void nvme_tgt_ctrl_kill_io(struct nvme_tgt_ctrl *);                /* its I/O queues end */
void nvme_tgt_ctrl_quit(struct nvme_tgt_ctrl *);                   /* the admin queue goes */
void nvme_tgt_ctrl_forget(struct nvme_tgt_ctrl *, const struct nvme_tgt_cmd *event);

/* tgt_abort.c */
void nvme_tgt_abort(struct nvme_tgt_cmd *); /* works one off */

/* tgt_identify.c, tgt_log.c */
uint32_t nvme_tgt_identify_check(struct nvme_tgt_cmd *, uint32_t *len),
	nvme_tgt_log_check(struct nvme_tgt_cmd *, uint32_t *len);
void nvme_tgt_identify_work(struct nvme_tgt_cmd *), nvme_tgt_log_work(struct nvme_tgt_cmd *);

/* tgt_disc.c */
uint64_t nvme_tgt_disc_len(const struct nvme_tgt_cmd *);
void nvme_tgt_disc_page(const struct nvme_tgt_cmd *, uint64_t off, uint8_t *, uint32_t len);
bool nvme_tgt_host_allowed(const struct nvme_target *, const char *hostnqn);
