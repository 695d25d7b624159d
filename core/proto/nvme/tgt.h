/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How the parts of the NVMe target fit together: a carrier brings commands of one queue and moves
 * their data (tgt_rdma.c, tgt_tcp.c); a queue works them off (tgt_queue.c, tgt_io.c, tgt_admin.c,
 * tgt_disc.c); controllers bind queues together (tgt_ctrl.c); tgt.c and tgt_listen.c are the whole.
 * A queue lives on the loop of its worker, controllers are made and ended on the target's loop;
 * what passes between them are messages. */
#pragma once
#include "bdev.h"
#include "codec.h"
#include "target.h"
#include "ways.h"
#include "xfer.h"

#define TGT_QUEUES      64   /* for I/O, of one controller */
#define TGT_CONNECTIONS 1024 /* at once */
#define TGT_LEAVING     64   /* more than these, for the time that they need to end */
#define TGT_ADMIN_DEPTH 32
/* 2^8 pages of 4 KiB: what one command may move, whatever the size of a buffer */
#define TGT_MDTS     8
#define TGT_MAX_DATA (4096u << TGT_MDTS)
#define TGT_AERS     4
#define TGT_ABORTS   4
#define TGT_VERSION  0x10400 /* 1.4: what later versions make mandatory is not all here */
#define TGT_LPA      4       /* log pages from any offset */
#define TGT_GRACE_MS 1000    /* beyond a host's keep-alive timeout, for the wire and a busy host */
/* from that timeout until all writes of the host are done or orphans */
#define TGT_CQT_MS     (TGT_GRACE_MS + 1000)
#define TGT_CONNECT_MS 10000 /* for a connection to become a queue */
/* for a host to do its part of one piece of a command, and of all: hosts give a whole command no
 * more */
#define TGT_STALL_MS 30000

struct tgt_queue;
struct tgt_cmd;
struct tgt_ctrl;

struct tgt_disk { /* one namespace */
	const struct target_disk *conf;
	struct bdev *bdev;
	unsigned index;
	uint32_t nsid;
	uint8_t shift;
	bool ro;
	uint64_t size; /* atomic: the disk may grow */
};

struct tgt_subsys {
	const char *nqn;
	struct tgt_disk *ns[TARGET_DISKS];
	unsigned count; /* 0: the discovery subsystem */
};

struct tgt_worker {
	struct target *target;
	struct loop *loop;
	/* on its own thread */
	struct lane *lane[TARGET_DISKS];
	unsigned lanes, mapped;
	struct xfer_store store;
	struct tgt_queue *queues;
	uint64_t reads, writes, read_bytes, written_bytes, errors; /* read by the target's thread */
	/* on the target's */
	unsigned count;
};

struct target {
	struct loop *loop;
	struct target_options opt;
	struct tgt_disk disk[TARGET_DISKS];
	struct tgt_subsys subsys[TARGET_DISKS + 1]; /* the first is for discovery */
	unsigned subsystems;
	struct ways listen[TARGET_LISTENS];
	struct tgt_worker *worker;
	unsigned workers; /* with open lanes */
	struct tgt_ctrl *ctrls;
	struct tgt_queue *queues; /* all connections */
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
struct tgt_carrier {
	const char *name;
	uint8_t trtype;
	uint32_t incap; /* data a capsule may bring */
	size_t cmd_size;
	/* Takes the accepted connection over; needs tgt_queue_room() before the first command. On
	 * failure nothing is left. */
	int (*open)(struct tgt_queue *, struct diag *);
	/* Reads the command's data descriptor, for `len` bytes of data (0: for as many as it says):
	 * sets cmd->data_len, and cmd->inside with cmd->p when the data has come along. */
	uint32_t (*descriptor)(struct tgt_cmd *);
	/* bytes from cmd->at into the buffer; tgt_cmd_pulled() follows, never inside */
	void (*pull)(struct tgt_cmd *, uint32_t len);
	/* The other way, tgt_cmd_pushed() follows, never inside. last: the reply, which is in
	 * cmd->cqe, goes behind it, and tgt_cmd_over() follows. */
	void (*push)(struct tgt_cmd *, uint32_t len, bool last);
	void (*reply)(struct tgt_cmd *); /* tgt_cmd_over() follows, never inside */
	/* A command that is dropped while the queue goes on: no reply gives back what it came in.
	 * NULL: it came in nothing. */
	void (*forget)(struct tgt_cmd *);
	void (*flush)(struct tgt_queue *); /* what was queued leaves; NULL: by itself */
	/* a command became free, at the end of a turn; NULL: nothing to do */
	void (*resume)(struct tgt_queue *);
	void (*close)(struct tgt_queue *); /* tgt_queue_down() follows, never inside */
	void (*free)(struct tgt_queue *);  /* after that, or after open() alone */
};
extern const struct tgt_carrier tgt_rdma, tgt_tcp;

enum tgt_cmd_state {
	CMD_FREE,
	CMD_FETCH, /* the carrier is filling it */
	CMD_LINE,  /* waits for a buffer */
	CMD_PULL,
	CMD_WORK, /* at the disk, or with the target's thread */
	CMD_PUSH,
	CMD_REPLY, /* the reply is on its way */
	CMD_EVENT, /* an Asynchronous Event Request that is kept */
};

struct tgt_op;
struct tgt_cmd {
	struct tgt_queue *queue;
	struct tgt_cmd *next; /* free */
	const struct tgt_op *op;
	struct nvme_sqe sqe;
	struct nvme_cqe cqe;
	struct xfer xfer;
	struct tgt_cmd *due_next, **due_link; /* of those that wait for the host */
	uint64_t due_ns, waited_ns;           /* since when; for how long before that */
	uint8_t state;
	bool inside;                  /* the host's data is at p, without a transfer */
	uint8_t *p;                   /* the host's data of this piece */
	const struct pool *pool;      /* that p is in */
	uint32_t data_len, at, piece; /* of the host's data: all, done, in work */
	/* at the disk */
	struct tgt_disk *disk;
	struct io io;
	struct bdev_orphan orphan; /* all that it may still change, once its host may have left */
	struct buf buf;
	uint64_t off, len; /* left to do: the disk takes only so much at once */
	uint64_t log_off;
	uint16_t range, ranges;
	bool fua, flushing;
};

/* What a command is: how much data of the host it needs which way, and what is done with each
 * piece. */
struct tgt_op {
	uint8_t opcode;
	uint8_t flags;
	const char *name;
	/* Looks at the command; sets cmd->disk, off, len. Gives the status to refuse it with, and
	 * the bytes of data in *len. */
	uint32_t (*check)(struct tgt_cmd *, uint32_t *len);
	/* OUT: takes cmd->piece bytes at p. IN: fills them. None: does it. Ends with
	 * tgt_cmd_worked(), now or later. */
	void (*work)(struct tgt_cmd *);
};
enum tgt_op_flag {
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
bool tgt_cmd_fits(const struct tgt_cmd *, uint32_t room);

enum tgt_queue_state {
	QUEUE_NEW,
	QUEUE_ASKING,
	QUEUE_LIVE,
	QUEUE_ENDING /* answers, takes nothing new */,
	QUEUE_CLOSING,
	QUEUE_DOWN
};
struct tgt_queue { /* the carrier embeds it first */
	const struct tgt_carrier *carrier;
	struct target *target;
	struct tgt_worker *worker;
	struct loop *loop;
	struct addr peer, local;
	char name[ADDR_TEXT + 32]; /* for people */
	struct diag why;
	/* on its loop */
	struct tgt_queue *next, **link;
	uint8_t state;
	bool no_sqfc, opened, over;
	uint16_t qid, depth, sqhd;
	uint16_t most; /* entries the carrier has room for */
	struct tgt_ctrl *ctrl;
	uint8_t *cmds; /* of carrier->cmd_size each */
	uint8_t *lower;
	unsigned slots, busy;
	struct tgt_cmd *free;
	struct xfer_share share;
	struct pool *pool; /* capsules, where their data is */
	uint32_t mapped;   /* lanes that know it; bits */
	/* commands that wait for the host, the one that has done so for longest first */
	struct tgt_cmd *due, **due_end;
	struct loop_timer watch; /* for Connect, then for the host's part of transfers */
	struct loop_work turn;
	/* Connect, while the target's thread looks at it */
	struct nvmf_connect ask;
	struct nvmf_connect_reply answer;
	struct tgt_cmd *asking;
	/* on the target's */
	struct tgt_ctrl *bound;                   /* ctrl's, said to the queue by the answer */
	struct tgt_queue *sibling;                /* of the same controller */
	struct tgt_queue *wait_next;              /* of ctrl->waiting */
	struct tgt_queue *peer_next, **peer_link; /* of the target */
	struct loop_msg hop;                      /* begin, over, buried: one after another */
	struct loop_msg ask_hop, end_hop, kill_hop;
	bool ended, killed;
	bool evicted; /* for others who wait */
};

/* An Abort on its way. */
struct tgt_abort {
	struct loop_msg hop;
	struct tgt_cmd *cmd;     /* the Abort itself; NULL: this one is free */
	struct tgt_queue *queue; /* that is meant */
	bool dropped;
};

/* A controller. What is fixed when it is made may be read on any thread. */
struct tgt_ctrl {
	struct target *target;
	const struct tgt_subsys *subsys;
	uint16_t cntlid;
	uint32_t kato_ms;
	uint8_t hostid[16];
	char hostnqn[NVMF_NQN_MAX + 1], subnqn[NVMF_NQN_MAX + 1];
	struct tgt_queue *admin;
	bool enabled; /* atomic */
	/* on the target's thread */
	struct tgt_ctrl *next;
	struct tgt_queue *queues;
	uint64_t qids;
	bool dying, noticing;
	unsigned fences;           /* on their way to queues of the host's earlier controllers */
	struct tgt_queue *waiting; /* queues whose Connect is judged once they are back */
	bool resetting;            /* atomic: a reset is on its way here */
	struct loop *loop;         /* of the admin queue */
	/* on the admin queue's loop */
	uint32_t cc, csts, event_mask;
	struct tgt_cmd *event[TGT_AERS];
	unsigned events;
	struct tgt_abort abort[TGT_ABORTS];
	uint32_t changed;     /* namespaces, as bits: what the log of them says */
	uint32_t due, masked; /* feature bits: to be told; not again until their log is read */
	struct loop_timer keep;
	struct io shut; /* the flush of a shutdown */
	uint8_t *lower;
	unsigned shut_at;
	bool shut_failed;                /* one of the flushes */
	const struct tgt_disk *shutting; /* being flushed for it */
	bool gone;                       /* the admin queue is down */
	/* between them */
	bool write_through; /* atomic: the host turned the write cache off */
	uint64_t news;      /* atomic: events, as bits: a namespace each, then the discovery log */
	struct loop_msg notice, reset;
};
#define TGT_NEWS_DISC (1ull << 32)

static inline bool tgt_is_discovery(const struct tgt_ctrl *ctrl)
{
	return !ctrl->subsys->count;
}
static inline uint64_t tgt_disk_size(const struct tgt_disk *disk)
{
	return __atomic_load_n(&disk->size, __ATOMIC_RELAXED);
}

/* tgt.c */
/* A connection has come in: made by the carrier, on the target's loop; goes to a worker, where
 * carrier->open() runs. */
void tgt_queue_begin(
	struct target *, struct tgt_queue *, const struct tgt_carrier *, const struct addr *peer);
/* for another connection, perhaps in place of one that is no queue yet; who gets none is counted */
bool tgt_room(struct target *);
void tgt_dropped(struct target *); /* a connection, before it was known whose */
/* there is no descriptor for the next; true: soon there will be */
bool tgt_starved(struct target *, const struct diag *why);
/* what was read and written; any thread */
void tgt_count(const struct target *, struct target_status *);
void tgt_queue_over(struct loop_msg *); /* the last hop begins */

/* tgt_listen.c */
int tgt_listen(struct target *, uint32_t timeout_ms, struct diag *);
void tgt_tcp_incoming(struct target *, int fd, const struct addr *peer);
struct ep_incoming;
void tgt_rdma_incoming(struct target *, struct ep_incoming *);

/* tgt_ctrl.c: on the target's loop */
/* Judges queue->ask into queue->answer and binds the queue to its controller; false = fences are on
 * their way, ask_hop comes again when they are back. */
bool tgt_ctrl_connect(struct tgt_queue *);
void tgt_ctrl_leave(struct tgt_queue *); /* the queue is over */
/* NULL: the discovery log changed */
void tgt_ctrl_notify(struct target *, const struct tgt_disk *);
void tgt_ctrl_notice_back(struct loop_msg *);
void tgt_ctrl_reset(struct loop_msg *);  /* the host disabled it: its I/O queues end */
void tgt_queue_kill(struct tgt_queue *); /* any state */
void tgt_queue_end(struct tgt_queue *);  /* once its commands are answered */

/* tgt_queue.c: on the queue's loop */
/* commands, which are made once */
int tgt_queue_room(struct tgt_queue *, unsigned slots, struct diag *);
void tgt_queue_open(struct loop_msg *); /* the first hop */
/* ends it, with the reason */
void tgt_queue_fail(struct tgt_queue *, enum diag_code, int err, const char *text);
void tgt_queue_down(struct tgt_queue *); /* the carrier touches nothing any more */
static inline struct tgt_cmd *tgt_cmd_at(const struct tgt_queue *queue, unsigned i)
{
	return (struct tgt_cmd *)(void *)(queue->cmds + i * queue->carrier->cmd_size);
}
static inline unsigned tgt_cmd_index(const struct tgt_cmd *cmd)
{
	return (unsigned)((size_t)((const uint8_t *)cmd - cmd->queue->cmds) /
			  cmd->queue->carrier->cmd_size);
}
static inline bool tgt_queue_gone(const struct tgt_queue *queue)
{
	return queue->state >= QUEUE_CLOSING;
}
struct tgt_cmd *tgt_cmd_take(struct tgt_queue *); /* in CMD_FETCH; NULL: none is free */
void tgt_cmd_run(struct tgt_cmd *); /* cmd->sqe is there, and what its capsule brought */
void tgt_cmd_pulled(struct tgt_cmd *, uint32_t status); /* of the transfer */
void tgt_cmd_pushed(struct tgt_cmd *);
void tgt_cmd_over(struct tgt_cmd *);
void tgt_cmd_worked(struct tgt_cmd *, uint32_t status);
void tgt_cmd_result(struct tgt_cmd *, uint64_t result); /* of the completion */
void tgt_cmd_finish(struct tgt_cmd *, uint32_t status); /* replies */
/* makes orphans of its commands that change blocks and are at the disk */
void tgt_queue_fence(struct tgt_queue *);
bool tgt_cmd_abort(struct tgt_cmd *); /* it ends as the host asked; false: it goes on, or is none */
void tgt_cmd_drop(struct tgt_cmd *);  /* without a reply; needs CMD_EVENT, CMD_FETCH or CMD_WORK */
void tgt_queue_answered(struct loop_msg *), tgt_queue_ended(struct loop_msg *),
	tgt_queue_killed(struct loop_msg *);

/* tgt_io.c, tgt_admin.c: tables that end with a row without name */
extern const struct tgt_op tgt_io_ops[], tgt_admin_ops[], tgt_fabrics_ops[];
uint32_t tgt_status(const struct io *);
/* the blocks, of an I/O command */
bool tgt_cmd_changes(const struct tgt_cmd *, uint64_t *off, uint64_t *len);

/* tgt_admin.c: on the admin queue's loop */
void tgt_ctrl_noticed(struct loop_msg *);
void tgt_ctrl_heard(struct tgt_ctrl *);                  /* a command of the admin queue */
void tgt_ctrl_unmask(struct tgt_ctrl *, uint32_t event); /* a feature bit: its log was read */
void tgt_ctrl_kill_io(struct tgt_ctrl *);                /* its I/O queues end */
void tgt_ctrl_quit(struct tgt_ctrl *);                   /* the admin queue goes */
bool tgt_ctrl_shut(const struct tgt_ctrl *);             /* nothing of it is at a disk */

void tgt_ctrl_forget(struct tgt_ctrl *, const struct tgt_cmd *event);

/* tgt_abort.c */
void tgt_abort(struct tgt_cmd *); /* works one off */

/* tgt_identify.c, tgt_log.c */
uint32_t tgt_identify_check(struct tgt_cmd *, uint32_t *len),
	tgt_log_check(struct tgt_cmd *, uint32_t *len);
void tgt_identify_work(struct tgt_cmd *), tgt_log_work(struct tgt_cmd *);

/* tgt_disc.c */
uint64_t tgt_disc_len(const struct tgt_cmd *);
void tgt_disc_page(const struct tgt_cmd *, uint64_t off, uint8_t *, uint32_t len);
bool tgt_host_allowed(const struct target *, const char *hostnqn);
