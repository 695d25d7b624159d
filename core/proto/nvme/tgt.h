/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How the parts of the NVMe target fit together: a carrier brings commands of one queue and moves
 * their data (nvme_tgt_rdma.c, nvme_tgt_tcp.c); a queue works them off (nvme_tgt_queue.c,
 * nvme_tgt_io.c, nvme_tgt_admin.c, nvme_tgt_disc.c); controllers bind queues together
 * (nvme_tgt_ctrl.c); tgt.c and nvme_tgt_listen.c are the whole. A queue lives on the loop of its
 * worker, controllers are made and ended on the target's loop; what passes between them are
 * messages. */
#pragma once
#include "bdev.h"
#include "codec.h"
#include "nvmf_target.h"
#include "split.h"
#include "ways.h"
#include "xfer.h"

#define NVME_TGT_QUEUES      64   /* for I/O, of one controller */
#define NVME_TGT_CONNECTIONS 1024 /* at once */
#define NVME_TGT_LEAVING     64   /* more than these, for the time that they need to end */
#define NVME_TGT_ADMIN_DEPTH 32
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

struct nvme_tgt_queue;
struct nvme_tgt_cmd;
struct nvme_tgt_ctrl;

struct nvme_tgt_disk { /* one namespace */
	const struct nvme_target_disk *conf;
	struct bdev *bdev;
	unsigned index;
	uint32_t nsid;
	uint8_t shift;
	bool ro;
	uint64_t size; /* atomic: the disk may grow */
};

struct nvme_tgt_subsys {
	const char *nqn;
	struct nvme_tgt_disk *ns[NVME_TARGET_DISKS];
	unsigned count; /* 0: the discovery subsystem */
};

struct nvme_tgt_worker {
	struct nvme_target *target;
	struct loop *loop;
	/* on its own thread */
	struct lane *lane[NVME_TARGET_DISKS];
	unsigned lanes, mapped;
	struct xfer_store store;
	struct nvme_tgt_queue *queues;
	uint64_t reads, writes, read_bytes, written_bytes, errors; /* read by the target's thread */
	/* on the target's */
	unsigned count;
};

struct nvme_target {
	struct loop *loop;
	struct nvme_target_options opt;
	struct nvme_tgt_disk disk[NVME_TARGET_DISKS];
	struct nvme_tgt_subsys subsys[NVME_TARGET_DISKS + 1]; /* the first is for discovery */
	unsigned subsystems;
	struct ways listen[NVME_TARGET_LISTENS];
	struct nvme_tgt_worker *worker;
	unsigned workers; /* with open lanes */
	struct nvme_tgt_ctrl *ctrls;
	struct nvme_tgt_queue *queues; /* all connections */
	unsigned connections;
	unsigned evicted;              /* of them; on their way out */
	uint64_t turned_away, told_ns; /* told of that */
	uint16_t last_cntlid;
	uint64_t genctr; /* atomic: of the discovery log */
	uint32_t io_size;
	volatile int idle; /* no connection is left */
	bool stopping;     /* atomic */
};

/* One connection as seen by what carries it. Everything that comes in is called by the carrier on
 * the queue's loop. */
struct nvme_tgt_carrier {
	const char *name;
	uint8_t trtype;
	uint32_t incap; /* data a capsule may bring */
	size_t cmd_size;
	/* Takes the accepted connection over; needs nvme_tgt_queue_room() before the first command.
	 * On failure nothing is left. */
	int (*open)(struct nvme_tgt_queue *, struct diag *);
	/* Reads the command's data descriptor, for `len` bytes of data (0: for as many as it says):
	 * sets cmd->data_len, and cmd->inside with cmd->p when the data has come along. */
	uint32_t (*descriptor)(struct nvme_tgt_cmd *);
	/* bytes from cmd->at into the buffer; nvme_tgt_cmd_pulled() follows, never inside */
	void (*pull)(struct nvme_tgt_cmd *, uint32_t len);
	/* The other way, nvme_tgt_cmd_pushed() follows, never inside. last: the reply, which is in
	 * cmd->cqe, goes behind it, and nvme_tgt_cmd_over() follows. */
	void (*push)(struct nvme_tgt_cmd *, uint32_t len, bool last);
	void (*reply)(struct nvme_tgt_cmd *); /* nvme_tgt_cmd_over() follows, never inside */
	/* A command that is dropped while the queue goes on: no reply gives back what it came in.
	 * NULL: it came in nothing. */
	void (*forget)(struct nvme_tgt_cmd *);
	void (*flush)(struct nvme_tgt_queue *); /* what was queued leaves; NULL: by itself */
	/* a command became free, at the end of a turn; NULL: nothing to do */
	void (*resume)(struct nvme_tgt_queue *);
	void (*close)(struct nvme_tgt_queue *); /* nvme_tgt_queue_down() follows, never inside */
	void (*free)(struct nvme_tgt_queue *);  /* after that, or after open() alone */
};
extern const struct nvme_tgt_carrier nvme_tgt_rdma, nvme_tgt_tcp;

enum nvme_tgt_cmd_state {
	CMD_FREE,
	CMD_FETCH, /* the carrier is filling it */
	CMD_LINE,  /* waits for a buffer */
	CMD_PULL,
	CMD_WORK, /* at the disk, or with the target's thread */
	CMD_PUSH,
	CMD_REPLY, /* the reply is on its way */
	CMD_EVENT, /* an Asynchronous Event Request that is kept */
};

struct nvme_tgt_op;
struct nvme_tgt_cmd {
	struct nvme_tgt_queue *queue;
	struct nvme_tgt_cmd *next; /* free */
	const struct nvme_tgt_op *op;
	struct nvme_sqe sqe;
	struct nvme_cqe cqe;
	struct xfer xfer;
	struct nvme_tgt_cmd *due_next, **due_link; /* of those that wait for the host */
	uint64_t due_ns, waited_ns;                /* since when; for how long before that */
	uint8_t state;
	bool inside;                  /* the host's data is at p, without a transfer */
	uint8_t *p;                   /* the host's data of this piece */
	const struct pool *pool;      /* that p is in */
	uint32_t data_len, at, piece; /* of the host's data: all, done, in work */
	/* at the disk */
	struct nvme_tgt_disk *disk;
	struct split split;
	struct bdev_orphan orphan; /* all that it may still change, once its host may have left */
	uint64_t off, len;         /* of the command */
	uint64_t log_off;
	uint16_t range, ranges;
	bool fua;
};

/* What a command is: how much data of the host it needs which way, and what is done with each
 * piece. */
struct nvme_tgt_op {
	uint8_t opcode;
	uint8_t flags;
	const char *name;
	/* Looks at the command; sets cmd->disk, off, len. Gives the status to refuse it with, and
	 * the bytes of data in *len. */
	uint32_t (*check)(struct nvme_tgt_cmd *, uint32_t *len);
	/* OUT: takes cmd->piece bytes at p. IN: fills them. None: does it. Ends with
	 * nvme_tgt_cmd_worked(), now or later. */
	void (*work)(struct nvme_tgt_cmd *);
};
enum nvme_tgt_op_flag {
	OP_OUT = 1,
	OP_IN = 2,
	OP_WHOLE = 4,      /* all of the data in one piece */
	OP_HALF = 8,       /* needs as much again of the buffer behind the data */
	OP_EARLY = 16,     /* also while the controller is not enabled */
	OP_DISCOVERY = 32, /* also of a discovery controller */
	OP_WRITES = 64,
};

/* Whether the host's descriptor has room for the command's data. What is taken as a whole says
 * itself how long it is, and may come in more: Linux 6.12 gives every dataset management command a
 * page. */
bool nvme_tgt_cmd_fits(const struct nvme_tgt_cmd *, uint32_t room);

enum nvme_tgt_queue_state {
	QUEUE_NEW,
	QUEUE_ASKING,
	QUEUE_LIVE,
	QUEUE_ENDING /* answers, takes nothing new */,
	QUEUE_CLOSING,
	QUEUE_DOWN
};
struct nvme_tgt_queue { /* the carrier embeds it first */
	const struct nvme_tgt_carrier *carrier;
	struct nvme_target *target;
	struct nvme_tgt_worker *worker;
	struct loop *loop;
	struct addr peer, local;
	char name[ADDR_TEXT + 32]; /* for people */
	struct diag why;
	/* on its loop */
	struct nvme_tgt_queue *next, **link;
	uint8_t state;
	bool no_sqfc, opened, over;
	uint16_t qid, depth, sqhd;
	uint16_t most; /* entries the carrier has room for */
	struct nvme_tgt_ctrl *ctrl;
	uint8_t *cmds; /* of carrier->cmd_size each */
	uint8_t *lower;
	unsigned slots, busy;
	struct nvme_tgt_cmd *free;
	struct xfer_share share;
	struct pool *pool; /* capsules, where their data is */
	uint32_t mapped;   /* lanes that know it; bits */
	/* commands that wait for the host, the one that has done so for longest first */
	struct nvme_tgt_cmd *due, **due_end;
	struct loop_timer watch; /* for Connect, then for the host's part of transfers */
	struct loop_work turn;
	/* Connect, while the target's thread looks at it */
	struct nvmf_connect ask;
	struct nvmf_connect_reply answer;
	struct nvme_tgt_cmd *asking;
	/* on the target's */
	struct nvme_tgt_ctrl *bound;                   /* ctrl's, said to the queue by the answer */
	struct nvme_tgt_queue *sibling;                /* of the same controller */
	struct nvme_tgt_queue *wait_next;              /* of ctrl->waiting */
	struct nvme_tgt_queue *peer_next, **peer_link; /* of the target */
	struct loop_msg hop;                           /* begin, over, buried: one after another */
	struct loop_msg ask_hop, end_hop, kill_hop;
	bool ended, killed;
	bool evicted; /* for others who wait */
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
	unsigned fences; /* on their way to queues of the host's earlier controllers */
	struct nvme_tgt_queue *waiting; /* queues whose Connect is judged once they are back */
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
	bool shut_failed;                     /* one of the flushes */
	const struct nvme_tgt_disk *shutting; /* being flushed for it */
	bool gone;                            /* the admin queue is down */
	/* between them */
	bool write_through; /* atomic: the host turned the write cache off */
	uint64_t news;      /* atomic: events, as bits: a namespace each, then the discovery log */
	struct loop_msg notice, reset;
};
#define NVME_TGT_NEWS_DISC (1ull << 32)

static inline bool nvme_tgt_is_discovery(const struct nvme_tgt_ctrl *ctrl)
{
	return !ctrl->subsys->count;
}
static inline uint64_t nvme_tgt_disk_size(const struct nvme_tgt_disk *disk)
{
	return __atomic_load_n(&disk->size, __ATOMIC_RELAXED);
}

/* tgt.c */
/* A connection has come in: made by the carrier, on the target's loop; goes to a worker, where
 * carrier->open() runs. */
void nvme_tgt_queue_begin(struct nvme_target *, struct nvme_tgt_queue *,
	const struct nvme_tgt_carrier *, const struct addr *peer);
/* for another connection, perhaps in place of one that is no queue yet; who gets none is counted */
bool nvme_tgt_room(struct nvme_target *);
void nvme_tgt_dropped(struct nvme_target *); /* a connection, before it was known whose */
/* there is no descriptor for the next; true: soon there will be */
bool nvme_tgt_starved(struct nvme_target *, const struct diag *why);
/* what was read and written; any thread */
void nvme_tgt_count(const struct nvme_target *, struct nvme_target_status *);
void nvme_tgt_queue_over(struct loop_msg *); /* the last hop begins */

/* nvme_tgt_listen.c */
int nvme_tgt_listen(struct nvme_target *, uint32_t timeout_ms, struct diag *);
void nvme_tgt_tcp_incoming(struct nvme_target *, int fd, const struct addr *peer);
struct ep_incoming;
void nvme_tgt_rdma_incoming(struct nvme_target *, struct ep_incoming *);

/* nvme_tgt_ctrl.c: on the target's loop */
/* Judges queue->ask into queue->answer and binds the queue to its controller; false = fences are on
 * their way, ask_hop comes again when they are back. */
bool nvme_tgt_ctrl_connect(struct nvme_tgt_queue *);
void nvme_tgt_ctrl_leave(struct nvme_tgt_queue *); /* the queue is over */
/* NULL: the discovery log changed */
void nvme_tgt_ctrl_notify(struct nvme_target *, const struct nvme_tgt_disk *);
void nvme_tgt_ctrl_notice_back(struct loop_msg *);
void nvme_tgt_ctrl_reset(struct loop_msg *);       /* the host disabled it: its I/O queues end */
void nvme_tgt_queue_kill(struct nvme_tgt_queue *); /* any state */
void nvme_tgt_queue_end(struct nvme_tgt_queue *);  /* once its commands are answered */

/* nvme_tgt_queue.c: on the queue's loop */
/* commands, which are made once */
int nvme_tgt_queue_room(struct nvme_tgt_queue *, unsigned slots, struct diag *);
void nvme_tgt_queue_open(struct loop_msg *); /* the first hop */
/* ends it, with the reason */
void nvme_tgt_queue_fail(struct nvme_tgt_queue *, enum diag_code, int err, const char *text);
void nvme_tgt_queue_down(struct nvme_tgt_queue *); /* the carrier touches nothing any more */
static inline struct nvme_tgt_cmd *nvme_tgt_cmd_at(const struct nvme_tgt_queue *queue, unsigned i)
{
	return (struct nvme_tgt_cmd *)(void *)(queue->cmds + i * queue->carrier->cmd_size);
}
static inline unsigned nvme_tgt_cmd_index(const struct nvme_tgt_cmd *cmd)
{
	return (unsigned)((size_t)((const uint8_t *)cmd - cmd->queue->cmds) /
			  cmd->queue->carrier->cmd_size);
}
static inline bool nvme_tgt_queue_gone(const struct nvme_tgt_queue *queue)
{
	return queue->state >= QUEUE_CLOSING;
}
struct nvme_tgt_cmd *nvme_tgt_cmd_take(
	struct nvme_tgt_queue *);             /* in CMD_FETCH; NULL: none is free */
void nvme_tgt_cmd_run(struct nvme_tgt_cmd *); /* cmd->sqe is there, and what its capsule brought */
void nvme_tgt_cmd_pulled(struct nvme_tgt_cmd *, uint32_t status); /* of the transfer */
void nvme_tgt_cmd_pushed(struct nvme_tgt_cmd *);
void nvme_tgt_cmd_over(struct nvme_tgt_cmd *);
void nvme_tgt_cmd_worked(struct nvme_tgt_cmd *, uint32_t status);
void nvme_tgt_cmd_result(struct nvme_tgt_cmd *, uint64_t result); /* of the completion */
void nvme_tgt_cmd_finish(struct nvme_tgt_cmd *, uint32_t status); /* replies */
/* makes orphans of its commands that change blocks and are at the disk */
void nvme_tgt_queue_fence(struct nvme_tgt_queue *);
bool nvme_tgt_cmd_abort(
	struct nvme_tgt_cmd *); /* it ends as the host asked; false: it goes on, or is none */
void nvme_tgt_cmd_drop(
	struct nvme_tgt_cmd *); /* without a reply; needs CMD_EVENT, CMD_FETCH or CMD_WORK */
void nvme_tgt_queue_answered(struct loop_msg *), nvme_tgt_queue_ended(struct loop_msg *),
	nvme_tgt_queue_killed(struct loop_msg *);

/* nvme_tgt_io.c, nvme_tgt_admin.c: tables that end with a row without name */
extern const struct nvme_tgt_op nvme_tgt_io_ops[], nvme_tgt_admin_ops[], nvme_tgt_fabrics_ops[];
uint32_t nvme_tgt_status(const struct io *);
/* the blocks, of an I/O command */
bool nvme_tgt_cmd_changes(const struct nvme_tgt_cmd *, uint64_t *off, uint64_t *len);

/* nvme_tgt_admin.c: on the admin queue's loop */
void nvme_tgt_ctrl_noticed(struct loop_msg *);
void nvme_tgt_ctrl_heard(struct nvme_tgt_ctrl *); /* a command of the admin queue */
void nvme_tgt_ctrl_unmask(
	struct nvme_tgt_ctrl *, uint32_t event);       /* a feature bit: its log was read */
void nvme_tgt_ctrl_kill_io(struct nvme_tgt_ctrl *);    /* its I/O queues end */
void nvme_tgt_ctrl_quit(struct nvme_tgt_ctrl *);       /* the admin queue goes */
bool nvme_tgt_ctrl_shut(const struct nvme_tgt_ctrl *); /* nothing of it is at a disk */

void nvme_tgt_ctrl_forget(struct nvme_tgt_ctrl *, const struct nvme_tgt_cmd *event);

/* nvme_tgt_abort.c */
void nvme_tgt_abort(struct nvme_tgt_cmd *); /* works one off */

/* nvme_tgt_identify.c, nvme_tgt_log.c */
uint32_t nvme_tgt_identify_check(struct nvme_tgt_cmd *, uint32_t *len),
	nvme_tgt_log_check(struct nvme_tgt_cmd *, uint32_t *len);
void nvme_tgt_identify_work(struct nvme_tgt_cmd *), nvme_tgt_log_work(struct nvme_tgt_cmd *);

/* nvme_tgt_disc.c */
uint64_t nvme_tgt_disc_len(const struct nvme_tgt_cmd *);
void nvme_tgt_disc_page(const struct nvme_tgt_cmd *, uint64_t off, uint8_t *, uint32_t len);
bool nvme_tgt_host_allowed(const struct nvme_target *, const char *hostnqn);
