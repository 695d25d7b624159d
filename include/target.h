/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The frame of every target: disks, workers with one lane per disk, listeners, connections and
 * their end, commands and their data, fences. A protocol is a row (struct target_proto), each way
 * its bytes travel is another one (struct target_carrier); both embed the structs below first in
 * their own. One target serves one protocol; several targets may serve the same disks.
 *
 * Two kinds of threads: the target's loop (start, stop, listeners, admission) and the workers'
 * loops. A connection lives on one worker's loop for life. What passes between them are
 * messages.
 *
 * A command's way: the carrier takes one (target_cmd_take), fills it and runs it (target_cmd_run).
 * The frame has it decoded, finds it a buffer, and per piece has the data pulled, worked on and
 * pushed; the reply ends it. Statuses are the protocol's own, 0 is success. */
#pragma once
#include "places.h"
#include "serve.h"
#include "split.h"

/* commands that a connection may have in work before it is live */
#define TARGET_EARLY_COMMANDS 8

struct target;
struct target_conn;
struct target_cmd;
struct target_buffers;
struct target_holder;
struct target_share;
struct stream;
struct stream_events;

struct target_disk {
	struct bdev *bdev;
	unsigned index; /* in target_options.disk and target_worker.lane */
	bool ro;
	uint64_t size; /* atomic: the disk may grow */
	uint8_t store; /* of buffers */
	bool exposed;  /* bdev_limits.exposed */
};

/* What one command has or wants of the data buffers. */
struct target_claim {
	struct target_holder *holder; /* of the one it has or waits for */
	/* in the holder's line, or among the buffers that wait for their peers */
	struct target_claim *next, **link;
	void (*ready)(struct target_claim *); /* buf is set; at the end of a turn */
	struct buf buf;                       /* p NULL: none */
	uint64_t peer_ns;                     /* waits for the peer since then; 0: does not */
	bool waiting;                         /* for a buffer */
};

struct target_worker {
	struct target *target;
	struct loop *loop;
	/* on its own thread */
	struct lane *lane[TARGET_DISKS];
	unsigned lanes;
	uint32_t mapped;              /* lanes that know the buffers; bits */
	struct target_buffers *store; /* target->stores of them */
	struct target_conn *conns;
	struct io_count count; /* atomic: read by other threads; target_count() */
	/* on the target's */
	unsigned load; /* connections it was given */
};

struct target { /* the protocol embeds it first, and frees it (proto->free) */
	const struct target_proto *proto;
	struct loop *loop;
	struct target_options opt;
	struct target_disk disk[TARGET_DISKS];
	struct ways listen[TARGET_LISTENS];
	struct target_worker *worker;
	unsigned workers; /* with open lanes */
	uint32_t io_size; /* bytes an io of any disk needs below it */
	/* Disks whose targets can reach all memory that is mapped for them have a store of buffers
	 * each, the others share the first. */
	unsigned stores;
	/* on the target's loop */
	struct target_conn *conns; /* the newest first */
	struct target_places *places;
	volatile int idle;   /* no connection exists */
	struct target *next; /* of all in this process; number 0: not in the list */
	uint64_t number;
	bool stopping; /* atomic */
};

/* What a protocol is. Rows marked (T) run on the target's loop, others on the connection's. */
struct target_proto {
	const char *name;  /* in trace lines */
	const char *hello; /* what a connection that is not live is waited for, for messages */
	/* defaults of the options */
	uint16_t depth, connections;
	uint32_t open_ms, stall_ms;
	/* Connections that a host opens before any of them is admitted, once one of its is admitted
	 * that announces them. */
	unsigned announced;
	/* At a stop, from when on peers are no longer waited for to take their replies; 0: they are
	 * as long as the stop itself may take. */
	uint32_t polite_ms;
	/* commands that arrived before the end are run while ENDING, from carrier->resume() */
	bool answers;
	/* Within a network each connection has a share of the buffers of its own, not each host:
	 * many clients may be behind one address. */
	bool apart;
	/* (T) A connection has come in. It is the row's from here: refused and closed, or embedded
	 * in a new connection for target_conn_begin(). NULL: the protocol listens itself. */
	void (*stream)(struct target *, int fd, const struct addr *peer);
	void (*rdma)(struct target *, struct ep_incoming *);
	void (*ways)(struct target *); /* (T) a listener's ways have changed; may be NULL */
	/* Judges a command: sets flags, disk, data_len and changes_off/len (work() does if a list
	 * in the data says what changes, before the first request); p and pool with inside
	 * when its data came along, or with own when no data buffer shall be taken for it. Returns
	 * a status to refuse it with. */
	uint32_t (*decode)(struct target_cmd *);
	/* Works on cmd->piece bytes at p: takes them (TARGET_OUT), fills them (TARGET_IN), or does
	 * what needs no data. Ends with target_cmd_worked() or _finish(), now or later, mostly
	 * through target_cmd_io(). */
	void (*work)(struct target_cmd *);
	/* Prepares the reply; the carrier's reply() or push() follows. */
	void (*complete)(struct target_cmd *, uint32_t status);
	uint32_t (*status)(const struct io *); /* of a request to the disk; 0 only if that is 0 */
	/* The rest may be NULL. The connection ends, with conn->why; its carrier closes next. */
	void (*closing)(struct target_conn *);
	/* Its carrier is down. Commands at the disk have been cancelled, others are dropped next.
	 */
	void (*down)(struct target_conn *);
	/* Something of it that is no command is still in work; target_conn_wake() when that is
	 * over. The connection is freed only then. */
	bool (*busy)(const struct target_conn *);
	/* (T) At a stop: not to be ended yet. The protocol ends it, once others have left. */
	bool (*later)(const struct target_conn *);
	void (*left)(struct target_conn *); /* (T) it is over: takes it off the protocol's lists */
	/* (T) Counts clients and queues; NULL: each connection is a client. */
	void (*census)(const struct target *, struct target_status *);
	void (*resized)(struct target *, struct target_disk *); /* (T) disk->size is new */
	void (*free)(struct target *); /* (T) it has stopped, or its start has failed */
};

/* How a connection's bytes travel. All run on the connection's loop. */
struct target_carrier {
	const char *name;
	size_t cmd_size; /* of its command, which embeds the protocol's, which embeds target_cmd */
	/* Takes the accepted connection over; needs target_conn_room() before the first command.
	 * On failure nothing is left. */
	int (*open)(struct target_conn *, struct diag *);
	/* bytes from cmd->at on into p; target_cmd_pulled() follows, never inside */
	void (*pull)(struct target_cmd *, uint32_t len);
	/* The other way, target_cmd_pushed() follows, never inside. last: the reply goes behind it,
	 * and target_cmd_over() follows instead. */
	void (*push)(struct target_cmd *, uint32_t len, bool last);
	void (*reply)(struct target_cmd *); /* target_cmd_over() follows, never inside */
	/* A command is dropped while the connection goes on: gives back what it came in. May be
	 * NULL. */
	void (*forget)(struct target_cmd *);
	void (*flush)(struct target_conn *); /* what was queued in a turn leaves; may be NULL */
	/* at the end of a turn in which a command became free; may be NULL */
	void (*resume)(struct target_conn *);
	/* Bytes that the peer has sent and taken so far; asked now and then. */
	uint64_t (*moved)(struct target_conn *);
	/* Whether the peer has left, though not all it has sent has been read. NULL: this cannot
	 * be. */
	bool (*hung_up)(struct target_conn *);
	void (*close)(struct target_conn *); /* target_conn_down() follows, never inside */
	/* The same without waiting for the peer; NULL: as close(). */
	void (*reset)(struct target_conn *);
	void (*free)(struct target_conn *); /* after that */
};

enum target_cmd_state {
	TARGET_CMD_FREE,
	TARGET_CMD_FETCH, /* the carrier is filling it */
	TARGET_CMD_LINE,  /* waits for a buffer */
	TARGET_CMD_PULL,
	TARGET_CMD_WORK, /* at the disk, or with the protocol */
	TARGET_CMD_PUSH,
	TARGET_CMD_REPLY, /* the reply is on its way */
	TARGET_CMD_KEPT,  /* answered when the protocol wants: nothing waits for it */
};
enum target_cmd_flag {  /* the data goes */
	TARGET_OUT = 1, /* to the target */
	TARGET_IN = 2,  /* to the peer */
	TARGET_HALF = 4 /* and as much again of a buffer is needed behind it */
};

struct target_cmd { /* the protocol embeds it first */
	struct target_conn *conn;
	struct target_cmd *next; /* free */
	struct target_claim claim;
	struct target_cmd *due_next, **due_link; /* of those that wait for the peer */
	uint64_t due_ns, waited_ns;              /* since when; for how long before that */
	uint8_t state, flags;
	bool inside;                  /* the data is at p, without a transfer */
	uint8_t *p;                   /* the data of this piece */
	const struct pool *pool;      /* that p is in */
	uint32_t data_len, at, piece; /* of the data: all, done, in work */
	uint32_t own;                 /* bytes at p that are the connection's, for each piece */
	const struct target_disk *disk;
	/* blocks that its requests may change from now on, until it has ended; len 0: none */
	uint64_t changes_off, changes_len;
	struct split split; /* lane NULL: nothing of it has been at a disk */
	void (*then)(struct target_cmd *);
	struct bdev_orphan orphan;
	/* its connection was fenced since it is being executed */
	bool fenced;
	uint8_t *kept; /* target_cmd_keep() */
};

enum target_conn_state {
	TARGET_OPENING, /* the protocol's handshake */
	TARGET_LIVE,
	TARGET_ENDING, /* answers, takes nothing new */
	TARGET_CLOSING,
	TARGET_DOWN
};
struct target_conn { /* the protocol embeds it first, which the carrier embeds first */
	const struct target_carrier *carrier;
	struct target *target;
	struct target_worker *worker;
	struct loop *loop;
	struct addr peer, local;
	char name[ADDR_TEXT + 32]; /* for people; set before target_conn_begin() */
	struct diag why;           /* of its end */
	/* on its loop */
	struct target_conn *next, **link; /* of the worker */
	uint8_t state;
	bool opened, over;
	uint8_t *cmds; /* of carrier->cmd_size each */
	uint8_t *lower;
	unsigned slots, used; /* commands: all, taken */
	unsigned most;        /* that may be taken */
	struct target_cmd *free;
	struct target_holder *holder; /* target->stores of them: its parts of the buffers */
	struct target_share *share;   /* as many; NULL: its host's */
	struct pool *pool;            /* the carrier's, for data that comes along; freed by it */
	uint32_t mapped;              /* lanes that know it; bits */
	int fd;                       /* of a carrier over a stream, until it is opened */
	struct stream *stream;        /* after that; stream.c has the rest of it */
	struct ep *ep;                /* of a carrier over RDMA; rdma.c has the rest of it */
	bool ep_pool;                 /* the pool is registered */
	unsigned ep_buffers;          /* pools of data buffers that are */
	uint64_t ep_moved;            /* bytes of complete pieces, counted by the carrier */
	/* commands that wait for the peer, the one that has done so for longest first */
	struct target_cmd *due, **due_end;
	struct loop_timer watch; /* of the handshake, then of the peer's part of commands */
	struct loop_work turn;
	/* on the target's */
	struct target_place place;
	struct target_conn *peer_next, **peer_link; /* of the target */
	struct loop_msg hop;                        /* begin, over, buried: one after another */
	struct loop_msg end_hop, kill_hop;
	const char *kill_why;
	bool ended, killed;
	bool kill_now; /* without waiting for the peer */
};

/* target.c: on the target's loop */
/* Opens lanes and buffers, then listens: an address that does not exist yet is waited for (at most
 * timeout_ms for the first of all). The struct is zero but for what the protocol has set of its
 * own. On failure it is freed. */
int target_start(struct target *, struct loop *, const struct target_proto *,
	const struct target_options *, uint32_t timeout_ms, struct diag *);
void target_get_count(const struct target *, struct io_count *); /* sum of all; any thread */
/* Whether there is a place for another connection from there, perhaps that of one that is not
 * admitted. A refusal is counted and reported. */
bool target_room(struct target *, const struct addr *peer);
/* Hands a new connection to a worker, where carrier->open() runs; needs target_room(). It is freed
 * with free() when over. */
void target_conn_begin(struct target *, struct target_conn *, const struct target_carrier *,
	const struct addr *peer);
/* The peer is that host, which is the same for all of its connections: it may use disks. Only if
 * its network has more than a quarter of all places, and none is left, it may be ended in favour of
 * another network. leads: it will open others. false: it has too many. */
bool target_admit(struct target_conn *, const char *host, bool leads);
/* The peer may connect, but uses no disk. */
void target_admit_guest(struct target_conn *);
/* Ends it once its commands are answered, or now, for that reason (constant text). */
void target_conn_end(struct target_conn *);
void target_conn_kill(struct target_conn *, const char *why);

/* fence.c: a host that connects again may have given up an earlier connection that is still alive
 * here. Whatever that one has at a disk and may change blocks becomes an orphan (BDEV_CLIENT)
 * before the host can write over the new connection. Where the peer has hung up, what was not read
 * is never carried out. */
struct target_fence {
	/* set by the caller, as is the owner's part around it */
	bool (*same)(const struct target_fence *, const struct target_conn *); /* on its loop */
	void (*back)(struct target_fence *); /* on home, once all are done, never inside */
	struct loop *home;
	/* the frame's */
	struct loop_msg hop;
	struct target *target;
	unsigned worker;
};
/* On the target's loop, or that of a connection which stays (proto->busy) until back(). */
void target_fence(struct target *, struct target_fence *);

/* alone.c: `then` follows, on the connection's loop and never inside, once no other command of any
 * target of this process changes the blocks cmd->changes_off and _len; later requests to them, over
 * whatever lane, wait until the command is over. Its disk is bdev_limits.own, it has no request at
 * the disk now, and all its requests are to these blocks. Without memory the command ends with that
 * status. */
void target_cmd_alone(struct target_cmd *, void (*then)(struct target_cmd *), uint32_t no_memory);

/* conn.c: on the connection's loop */
int target_conn_room(struct target_conn *, unsigned slots, struct diag *); /* commands; once */
/* Its commands will use that disk; needs target_admit(). Undone at its end. */
int target_conn_map(struct target_conn *, unsigned disk, struct diag *);
/* The pools in which its commands may be given buffers; NULL: no more. */
struct pool *target_conn_pool(const struct target_conn *, unsigned index);
/* The handshake is done: it may have that many commands at once, all slots at most. */
void target_conn_live(struct target_conn *, unsigned most);
void target_conn_finish(struct target_conn *); /* takes nothing new, over once all is answered */
/* ends it at once, with the reason */
void target_conn_fail(struct target_conn *, enum diag_code, int err, const char *text);
void target_conn_down(struct target_conn *); /* the carrier touches nothing any more */
void target_conn_wake(struct target_conn *); /* a turn at the end of this one */
static inline bool target_conn_gone(const struct target_conn *conn)
{
	return conn->state >= TARGET_CLOSING;
}

/* stream.c: rows and events of carriers over conn->stream, whose user is the connection */
/* A zeroed connection of that size with fd, for target_conn_begin(); NULL: refused, fd is closed */
void *target_stream_new(struct target *, size_t size, int fd, const struct addr *peer);
/* Makes conn->stream of fd, which is gone on failure; sets conn->local. */
int target_stream_open(struct target_conn *, const struct stream_events *, struct diag *);
uint64_t target_stream_moved(struct target_conn *);
bool target_stream_hung_up(struct target_conn *);
void target_stream_close(struct target_conn *);
void target_stream_reset(struct target_conn *);
void target_stream_ended(struct target_conn *); /* receiving has failed, with stream->why */
void target_stream_down(struct stream *);

/* rdma.c: rows and events of carriers over conn->ep, whose user is the connection */
/* Registers conn->pool for that access, and the data buffers; target_ep_free() takes it back and
 * frees the endpoint, which may be NULL. */
int target_ep_reg(struct target_conn *, unsigned access, struct diag *);
void target_ep_free(struct target_conn *);
uint64_t target_ep_moved(struct target_conn *);
bool target_ep_hung_up(struct target_conn *);
void target_ep_close(struct target_conn *);
void target_ep_reset(struct target_conn *);
void target_ep_down(struct ep *);

/* cmd.c: on the connection's loop */
static inline struct target_cmd *target_cmd_at(const struct target_conn *conn, unsigned i)
{
	return (struct target_cmd *)(void *)(conn->cmds + i * conn->carrier->cmd_size);
}
static inline unsigned target_cmd_index(const struct target_cmd *cmd)
{
	return (unsigned)((size_t)((const uint8_t *)cmd - cmd->conn->cmds) /
			  cmd->conn->carrier->cmd_size);
}
static inline bool target_conn_may_take(const struct target_conn *conn)
{
	return conn->free && conn->used < conn->most;
}
struct target_cmd *target_cmd_take(struct target_conn *); /* in FETCH; NULL: it may have no more */
void target_cmd_run(struct target_cmd *);                 /* it and what came along are there */
void target_cmd_pulled(struct target_cmd *, uint32_t status); /* of the transfer */
void target_cmd_pushed(struct target_cmd *);
void target_cmd_over(struct target_cmd *);
void target_cmd_worked(struct target_cmd *, uint32_t status); /* on with the next piece */
void target_cmd_finish(struct target_cmd *, uint32_t status); /* replies */
/* Cancels a command that has nothing at the disk: it waits for a buffer (then it ends with that
 * status) or is a read that the disk only holds (then with -ECANCELED's). false: not cancelled. */
bool target_cmd_abort(struct target_cmd *, uint32_t status);
/* Another host knows that the command has ended: nothing of it is submitted any more, it ends
 * with -ECANCELED's status unless what is at the disk completes it, and later requests of all hosts
 * wait for that. Of a command that has nothing at the disk: nothing. */
void target_cmd_cut(struct target_cmd *);
/* For commands that work on their own, without their peer, in many requests or long ones: they hold
 * no data buffer that others wait for. Gives the buffer back; what p points at, len bytes, is kept
 * in memory of the command's own if it was in the buffer. false: no memory, nothing has changed. */
bool target_cmd_keep(struct target_cmd *, uint32_t len);
/* Gives the buffer back and waits in turn for another one; `then` follows, maybe inside. Nothing of
 * the command is at the disk. If its connection is fenced while the disk has a request of it, it
 * keeps its buffer: it must end, or submit nothing that its client's later requests have to wait
 * for (cmd->fenced). */
void target_cmd_requeue(struct target_cmd *, void (*then)(struct target_cmd *));
/* The frame limits the peer's time for pull, push and reply. For a carrier that holds one of them
 * back, or that first needs something else of the peer. */
void target_cmd_undue(struct target_cmd *);  /* from now on the time is not the peer's */
void target_cmd_due(struct target_cmd *);    /* from now on it is */
void target_cmd_drop(struct target_cmd *);   /* without a reply; FETCH, WORK or KEPT */
void target_cmd_forget(struct target_cmd *); /* as well, on a connection that goes on */
/* A request to cmd->disk, of any length. After success `then` follows (NULL: the piece is done);
 * after a failure, or when the connection has gone, the command ends. */
void target_cmd_io(struct target_cmd *, enum io_kind, uint8_t io_flags, uint64_t off, uint64_t len,
	struct buf, void (*then)(struct target_cmd *));
/* Reads or writes the piece, which is at off + cmd->at, and counts it. fua: of the whole command */
void target_cmd_read(struct target_cmd *, uint64_t off);
void target_cmd_write(struct target_cmd *, uint64_t off, bool fua);

/* Extends the blocks that the command's requests change by a range of a list; len 0: by none. */
static inline void target_cmd_add_changes(struct target_cmd *cmd, uint64_t off, uint64_t len)
{
	uint64_t end = cmd->changes_off + cmd->changes_len;

	if (!len)
		return;
	if (!cmd->changes_len || end < off + len)
		end = off + len;
	if (!cmd->changes_len || cmd->changes_off > off)
		cmd->changes_off = off;
	cmd->changes_len = end - cmd->changes_off;
}
/* Whether the range is among them. */
static inline bool target_cmd_changes(const struct target_cmd *cmd, uint64_t off, uint64_t len)
{
	return off >= cmd->changes_off && len <= cmd->changes_len &&
	       off - cmd->changes_off <= cmd->changes_len - len;
}

static inline uint64_t target_disk_size(const struct target_disk *disk)
{
	return __atomic_load_n(&disk->size, __ATOMIC_RELAXED);
}
static inline bool target_stopping(const struct target *target)
{
	return __atomic_load_n(&target->stopping, __ATOMIC_RELAXED);
}
/* one of worker->count, on its thread */
static inline void target_count(uint64_t *what, uint64_t more)
{
	__atomic_store_n(what, *what + more, __ATOMIC_RELAXED);
}
