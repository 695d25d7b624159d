/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The framework of all targets: workers with one lane per disk, listeners, connections, commands
 * and their data buffers, fences. A protocol provides struct target_proto, each of its transports a
 * struct target_carrier; both embed the structs below as the first member of their own. One target
 * serves one protocol; several targets may serve the same disks.
 *
 * The target's loop runs start, stop, listeners and admission. Each connection lives on the loop of
 * one worker. They exchange messages.
 *
 * The carrier allocates a command (target_cmd_alloc), fills it and runs it (target_cmd_run). The
 * framework calls decode(), gets a data buffer, and for each piece of the data calls pull(), work()
 * and push(). The reply ends the command. Status values are the protocol's; 0 is success.
 *
 * Follow-up calls, such as target_cmd_pulled() after pull(), come from the event loop, never from
 * within the function that they follow, unless stated otherwise. */
#pragma once
#include "admission.h"
#include "serve.h"
#include "split.h"
#include "xfer.h"

/* limit of outstanding commands before a connection is live */
#define TARGET_EARLY_COMMANDS 8

struct target;
struct target_conn;
struct target_cmd;
struct target_buffers;
struct target_conn_quota;
struct target_quota;
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

/* A command's request for a data buffer, or the buffer it has. */
struct target_buf_request {
	struct target_conn_quota *conn_quota; /* NULL: no buffer, and not waiting */
	/* in the queue of conn_quota, or in the list of buffers that wait for their peers */
	struct target_buf_request *next, **link;
	void (*ready)(struct target_buf_request *); /* buf is set; called at the end of a turn */
	struct buf buf;                             /* p NULL: none */
	uint64_t peer_ns; /* time since which it waits for its peer; 0: it does not */
	bool waiting;     /* in the queue */
};

struct target_worker {
	struct target *target;
	struct loop *loop;
	/* on the worker's thread */
	struct lane *lane[TARGET_DISKS];
	unsigned lanes;
	uint32_t mapped;              /* bitmap of lanes that have mapped the buffers */
	struct target_buffers *store; /* array of target->stores */
	struct target_conn *conns;
	struct io_count count; /* atomic: read by other threads; target_count() */
	/* on the target's thread */
	unsigned load; /* connections */
};

struct target_port { /* one of target_options.listen */
	struct target *target;
	unsigned index;
	/* atomic: its enum access, and above TARGET_ACCESS_BITS how often that changed */
	uint64_t access;
};
#define TARGET_ACCESS_BITS 4

struct target { /* first member of the protocol's struct, which proto->free() frees */
	const struct target_proto *proto;
	struct loop *loop;
	struct target_options opt;
	struct target_disk disk[TARGET_DISKS];
	struct listener listen[TARGET_LISTENS];
	struct target_port port[TARGET_LISTENS];
	const struct target_port *incoming; /* during proto->stream() and proto->rdma() */
	struct target_worker *worker;
	unsigned workers; /* with open lanes */
	uint32_t io_size; /* largest bdev_limits.io_size of the disks */
	/* Each disk with bdev_limits.exposed has a store of buffers of its own; the others share
	 * the first store. */
	unsigned stores;
	/* on the target's thread */
	struct target_conn *conns; /* newest first */
	struct target_admission *admission;
	volatile int idle;   /* no connection exists */
	struct target *next; /* in the list of this process; number 0: not in the list */
	uint64_t number;
	bool stopping; /* atomic */
};

/* A target protocol. Functions marked (T) run on the target's loop, others on the connection's.
 * Those from closing() on may be NULL. */
struct target_proto {
	const char *name;           /* in trace lines */
	const char *handshake_name; /* for "timed out waiting for the %s" */
	/* defaults of target_options */
	uint16_t depth, connections;
	uint32_t open_ms, stall_ms;
	/* target_limits.announced */
	unsigned announced;
	/* time limit of target_stop() for peers to receive replies; 0: only its own limit */
	uint32_t drain_ms;
	/* carrier->resume() still runs commands that arrived before TARGET_ENDING */
	bool drain_queued;
	/* The buffers of a network are divided among its connections, not its hosts, as many
	 * clients may be behind one address. */
	bool quota_per_conn;
	/* (T) Take ownership of an incoming connection: close it, or put it into a new connection
	 * for target_conn_begin(). NULL if the protocol listens itself. */
	void (*stream)(struct target *, int fd, const struct addr *peer);
	void (*rdma)(struct target *, struct ep_incoming *);
	void (*transports_changed)(
		struct target *); /* (T) listener state has changed; may be NULL */
	/* Validate a command and set flags, disk, data_len, changes_off and changes_len. If the
	 * ranges are listed in the data, work() sets the latter two before its first request. Set p
	 * and pool together with `immediate` for data received with the command, or with `own` to
	 * use the connection's memory instead of a data buffer. A status other than 0 refuses the
	 * command. */
	uint32_t (*decode)(struct target_cmd *);
	/* Execute the piece: consume (TARGET_OUT) or fill (TARGET_IN) cmd->piece bytes at p, or
	 * execute a command without data. Call target_cmd_worked() or target_cmd_finish() at the
	 * end, from within or later; target_cmd_io() does. */
	void (*work)(struct target_cmd *);
	/* Prepare the reply; carrier->reply() or push() follows. */
	void (*complete)(struct target_cmd *, uint32_t status);
	uint32_t (*status)(const struct io *); /* translate io->status; 0 only if that is 0 */
	/* The connection is about to be closed by its carrier, for conn->why. */
	void (*closing)(struct target_conn *);
	/* The carrier is down. Commands are cancelled or dropped next. */
	void (*down)(struct target_conn *);
	/* True if work other than commands still uses the connection, which delays its release.
	 * Call target_conn_wake() when that work has ended. */
	bool (*busy)(const struct target_conn *);
	/* (T) True if the protocol, rather than target_stop(), ends this connection. */
	bool (*stop_last)(const struct target_conn *);
	/* (T) The connection has ended: remove it from the protocol's lists. */
	void (*closed)(struct target_conn *);
	/* (T) Set status->clients and queues. NULL: each connection is a client. */
	void (*count_clients)(const struct target *, struct target_status *);
	void (*resized)(struct target *, struct target_disk *); /* (T) disk->size has changed */
	/* (T) The access through the listeners of that group has changed. NULL: the protocol does
	 * not report it, so it can't be set. */
	void (*access_changed)(struct target *, unsigned group);
	/* Abort the connection's commands to that disk if its host was preempted
	 * (reservation.h), and submit no further requests of them. Return whether there were any.
	 */
	bool (*preempted)(const struct target_conn *, const struct bdev *);
	void (*free)(struct target *); /* (T) after the stop, or a failed start */
};

/* A transport of a protocol. All functions run on the connection's loop. */
struct target_carrier {
	const char *name;
	size_t cmd_size; /* of the carrier's command struct, which begins with the protocol's */
	/* Start the accepted connection. Call target_conn_alloc_cmds() before the first command.
	 * Release everything on failure: free() is not called. */
	int (*open)(struct target_conn *, struct diag *);
	/* Receive len bytes of the data, from cmd->at on, into p; target_cmd_pulled() follows. */
	void (*pull)(struct target_cmd *, uint32_t len);
	/* Send len bytes at p; target_cmd_pushed() follows. last: send the reply after the data;
	 * target_cmd_replied() follows instead. */
	void (*push)(struct target_cmd *, uint32_t len, bool last);
	void (*reply)(struct target_cmd *); /* target_cmd_replied() follows */
	/* Release the receive buffer of a command dropped on a live connection; may be NULL. */
	void (*forget)(struct target_cmd *);
	void (*flush)(struct target_conn *); /* send what a turn has queued; may be NULL */
	/* called at the end of a turn in which a command became free; may be NULL */
	void (*resume)(struct target_conn *);
	/* Return the bytes that the peer has sent and acknowledged so far. */
	uint64_t (*moved)(struct target_conn *);
	/* Return whether the peer has disconnected while received data is unread; may be NULL. */
	bool (*hung_up)(struct target_conn *);
	void (*close)(struct target_conn *); /* target_conn_down() follows */
	/* Like close(), without waiting for the peer. NULL: use close(). */
	void (*reset)(struct target_conn *);
	void (*free)(struct target_conn *); /* after target_conn_down() */
};

enum target_cmd_state {
	TARGET_CMD_FREE,
	TARGET_CMD_RECEIVING,   /* the carrier receives it */
	TARGET_CMD_WAIT_BUFFER, /* queued for a data buffer */
	TARGET_CMD_PULL,
	TARGET_CMD_WORK, /* with the protocol or the disk */
	TARGET_CMD_PUSH,
	TARGET_CMD_REPLY,  /* the reply is being sent */
	TARGET_CMD_PARKED, /* the protocol replies at some time */
};
enum target_cmd_flag {
	TARGET_OUT = 1, /* data is sent to the target */
	TARGET_IN = 2,  /* data is sent to the peer */
	TARGET_HALF = 4 /* a piece uses half of a buffer: the protocol needs the other half */
};

struct target_cmd { /* first member of the protocol's command */
	struct target_conn *conn;
	struct target_cmd *next; /* free list */
	struct target_buf_request buf_request;
	struct target_cmd *armed_next, **armed_link; /* in conn->armed */
	uint64_t armed_ns, waited_ns;                /* armed since; time waited before that */
	uint8_t state, flags;
	bool immediate;               /* all data is at p, received with the command */
	uint8_t *p;                   /* data of this piece */
	const struct pool *pool;      /* pool that p is in */
	uint32_t data_len, at, piece; /* bytes: total, done, of this piece */
	uint32_t own; /* not 0: bytes at p, memory of the connection, for each piece */
	const struct target_disk *disk;
	/* range, in bytes, that its requests may change until it ends; len 0: none */
	uint64_t changes_off, changes_len;
	struct split split; /* lane NULL: no request was submitted */
	void (*then)(struct target_cmd *);
	struct bdev_orphan orphan;
	bool fenced;                  /* its connection was fenced during its execution */
	uint8_t *own_data;            /* copy made by target_cmd_release_buffer() */
	struct target_rdma_cmd *rdma; /* RDMA carriers */
};

/* Of a connection over conn->ep; see target_rdma.h. */
struct target_rdma {
	struct ep_incoming *incoming; /* set by the carrier */
	struct ring ring;
	struct xfer_port port;
	/* private */
	struct target_rdma_cmd *cmds;         /* array, as conn->cmds */
	struct ep_rx *backlog, **backlog_end; /* messages that must wait */
	bool registered;                      /* conn->pool */
	unsigned buffers;                     /* registered pools of data buffers */
	uint64_t moved;                       /* bytes of completed transfers */
};

enum target_conn_state {
	TARGET_OPENING, /* handshake */
	TARGET_LIVE,
	TARGET_ENDING, /* replies to outstanding commands, accepts no others */
	TARGET_CLOSING,
	TARGET_DOWN
};
struct target_conn { /* first member of the protocol's, which is the first of the carrier's */
	const struct target_carrier *carrier;
	struct target *target;
	struct target_worker *worker;
	struct loop *loop;
	struct addr peer, local;
	unsigned port;             /* index of its listener; 0 if the protocol listens itself */
	char name[ADDR_TEXT + 32]; /* for messages; set before target_conn_begin() */
	struct diag why;           /* reason of its end */
	/* on the worker's thread */
	struct target_conn *next, **link; /* in worker->conns */
	uint8_t state;
	bool opened, released;
	uint8_t *cmds; /* array; carrier->cmd_size bytes each, zeroed until first used */
	uint8_t *lower;
	/* commands: size of the array, those from its start that were ever used, outstanding */
	unsigned slots, prepared, used;
	unsigned most; /* limit of outstanding commands, at most all slots */
	struct target_cmd *free;
	struct target_conn_quota *quota; /* array of target->stores */
	struct target_quota *host_quota; /* array of target->stores, with quota_per_conn */
	struct pool *pool;     /* the carrier's, for immediate data; the carrier frees it */
	uint32_t mapped;       /* bitmap of lanes that have mapped the pool */
	int fd;                /* stream carriers: the socket, until carrier->open() */
	struct stream *stream; /* stream carriers, afterwards (stream.c) */
	struct ep *ep;         /* RDMA carriers */
	struct target_rdma rdma;
	/* commands whose timeout is armed, oldest first */
	struct target_cmd *armed, **armed_end;
	struct loop_timer watch; /* timeout of the handshake, then of the oldest command */
	struct loop_work turn;
	/* on the target's thread */
	struct target_admission_entry admission;
	struct target_conn *peer_next, **peer_link; /* in target->conns */
	struct loop_msg hop; /* one at a time: open, then the hops of its release */
	struct loop_msg end_hop, kill_hop;
	const char *kill_why;
	bool end_posted, kill_posted;
	bool kill_now; /* without waiting for the peer */
};

/* ---- target.c: on the target's loop, unless stated otherwise. */

/* Open lanes and buffers, then listen. Runs the loop until one listens, at most timeout_ms (0: no
 * limit). The struct is zeroed except for the protocol's members. After a failure proto->free() has
 * freed it. */
int target_start(struct target *, struct loop *, const struct target_proto *,
	const struct target_options *, uint32_t timeout_ms, struct diag *);
/* Get the sum of all workers. Any thread. */
void target_get_count(const struct target *, struct io_count *);
/* Return whether another connection from that address is allowed, evicting one if necessary. Count
 * and report a refusal. False while the target stops. */
bool target_make_room(struct target *, const struct addr *peer);
/* Assign a new connection to a worker, which calls carrier->open(). If connections are limited,
 * call target_make_room() first. The framework owns the connection, and calls free() at its end. */
void target_conn_begin(struct target *, struct target_conn *, const struct target_carrier *,
	const struct addr *peer);
/* Admit the connection as one of that host, so that it may use disks. If all connections are in
 * use, it can still be evicted in favour of another network or address, unless the target has a
 * list of hosts; see target_admission_admit(). opens_more: the host announces further connections.
 * False: refused. */
bool target_admit(struct target_conn *, const char *host, bool opens_more);
/* Admit the connection for discovery: it uses no disk. */
void target_admit_discovery(struct target_conn *);
/* End a connection before proto->closed(): after the replies to its outstanding commands, at once,
 * or at once and without waiting for the peer to see it. No effect the second time. why: the
 * reason, a string constant. */
void target_conn_end(struct target_conn *);
void target_conn_kill(struct target_conn *, const char *why);
void target_conn_cut(struct target_conn *, const char *why);

/* fence.c: a host that reconnects may have abandoned a connection that is still alive here. Before
 * the host can write over the new connection, every request of the old one that may change blocks
 * and is at a disk becomes an orphan (BDEV_CLIENT). A connection whose peer has disconnected is
 * ended, so that its unread commands are never executed. */
struct target_fence {
	/* set by the caller */
	/* select connections to fence; called for each one on its own loop */
	bool (*match)(const struct target_fence *, const struct target_conn *);
	void (*done)(struct target_fence *); /* all workers are done; on `home` */
	struct loop *home;
	/* private */
	struct loop_msg hop;
	struct target *target;
	unsigned worker;
};
/* Visit the connections of all workers. Call it on the target's loop, or on that of a connection
 * which proto->busy() keeps until done(). The caller owns the struct and keeps it until then. */
void target_fence(struct target *, struct target_fence *);

/* exclusive.c: call `then` once no other command of any target of this process changes
 * cmd->changes_off and changes_len. Later requests to these blocks wait on all lanes until the
 * command has ended. The disk must have bdev_limits.sole_writer, the command no request at the
 * disk, and all its requests must be to these blocks. Without memory the command ends with status
 * no_memory. */
void target_cmd_exclusive(
	struct target_cmd *, void (*then)(struct target_cmd *), uint32_t no_memory);

/* ---- conn.c: on the connection's loop. */

/* Allocate the array of commands, once; the connection frees it. */
int target_conn_alloc_cmds(struct target_conn *, unsigned slots, struct diag *);
/* Prepare the connection for commands to that disk, until it ends. Call target_admit() first. */
int target_conn_map(struct target_conn *, unsigned disk, struct diag *);
/* Return the pool of data buffers with that index, from 0; NULL beyond the last. */
struct pool *target_conn_pool(const struct target_conn *, unsigned index);
/* The handshake is complete: set the limit of outstanding commands, at most all slots. */
void target_conn_live(struct target_conn *, unsigned most);
/* Accept no more commands; end the connection after the replies to the outstanding ones. */
void target_conn_finish(struct target_conn *);
/* End the connection at once; text: the reason, copied. */
void target_conn_fail(struct target_conn *, enum diag_code, int err, const char *text);
void target_conn_down(struct target_conn *); /* the carrier no longer uses any buffer */
void target_conn_wake(struct target_conn *); /* run its turn at the end of this loop iteration */
static inline bool target_conn_is_closing(const struct target_conn *conn)
{
	return conn->state >= TARGET_CLOSING;
}

/* stream.c: functions of target_carrier and stream_events for carriers over conn->stream, whose
 * `user` is the connection */
/* Make room with target_make_room(), allocate a zeroed connection of that size for
 * target_conn_begin(), and store fd in it. NULL: refused or no memory; fd is closed. */
void *target_stream_new(struct target *, size_t size, int fd, const struct addr *peer);
/* Create conn->stream from conn->fd and set conn->local. The fd is consumed, also on failure. */
int target_stream_open(struct target_conn *, const struct stream_events *, struct diag *);
uint64_t target_stream_moved(struct target_conn *);
bool target_stream_hung_up(struct target_conn *);
void target_stream_close(struct target_conn *);
void target_stream_reset(struct target_conn *);
void target_stream_ended(struct target_conn *); /* receiving failed: end it for stream->why */
void target_stream_down(struct stream *);

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
static inline bool target_conn_can_alloc(const struct target_conn *conn)
{
	return conn->used < conn->most;
}
/* Get a free command, in state RECEIVING. NULL: the limit is reached. */
struct target_cmd *target_cmd_alloc(struct target_conn *);
/* Execute a command that has been received with its immediate data. */
void target_cmd_run(struct target_cmd *);
/* The carrier has completed pull() (with the status of the transfer), push(), or the reply. */
void target_cmd_pulled(struct target_cmd *, uint32_t status);
void target_cmd_pushed(struct target_cmd *);
void target_cmd_replied(struct target_cmd *);
/* work() has executed the piece: continue with the next one. Any status but 0 ends the command. */
void target_cmd_worked(struct target_cmd *, uint32_t status);
/* End the command with a reply; drop it if the connection is closing. */
void target_cmd_finish(struct target_cmd *, uint32_t status);
/* Cancel a command: one that waits for a buffer ends with that status, a read that the disk only
 * holds with the one of -ECANCELED. False: not cancelled; if it changes blocks at the disk, later
 * requests of its client wait for it (BDEV_CLIENT), as that may take it for cancelled. */
bool target_cmd_abort(struct target_cmd *, uint32_t status);
/* Submit no further requests of the command, as another host knows that it has ended. Later
 * requests of all hosts wait for its request at the disk (BDEV_ALL). It ends with the status of
 * -ECANCELED unless that request completes it. No effect without a request at the disk. */
void target_cmd_stop(struct target_cmd *);
/* Release the data buffer of a command that works for long without its peer. If p points into the
 * buffer, copy len bytes to memory of the command, where p then points. False: no memory, the
 * buffer is kept. */
bool target_cmd_release_buffer(struct target_cmd *, uint32_t len);
/* Release the data buffer and queue for another one; `then` follows, perhaps from within. The
 * command must have no request at the disk. If it was fenced and is an orphan, it keeps its buffer:
 * it must end, or submit no request that later requests of its client wait for (cmd->fenced). */
void target_cmd_requeue(struct target_cmd *, void (*then)(struct target_cmd *));
/* Stop or restart the timeout (stall_ms) that the framework arms for pull, push and reply. For
 * carriers that delay one of them, or that need something else from the peer first. */
void target_cmd_disarm_timeout(struct target_cmd *);
void target_cmd_arm_timeout(struct target_cmd *);
/* Free a command in state RECEIVING, WORK or PARKED without a reply. */
void target_cmd_drop(struct target_cmd *);
/* The same on a live connection, after carrier->forget(). */
void target_cmd_forget(struct target_cmd *);
/* Submit a request of any length to cmd->disk. After success call `then`; NULL: the piece is done.
 * After a failure, or if the connection is closing, the command ends. */
void target_cmd_io(struct target_cmd *, enum io_kind, uint8_t io_flags, uint64_t off, uint64_t len,
	struct buf, void (*then)(struct target_cmd *));
/* Read or write the piece, at off + cmd->at of the disk, and count it. fua: on stable storage
 * before the reply. */
void target_cmd_read(struct target_cmd *, uint64_t off);
void target_cmd_write(struct target_cmd *, uint64_t off, bool fua);

/* Extend changes_off and changes_len to include a range; len 0: no effect. */
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
/* Return whether they include the range. */
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
static inline uint64_t target_port_access(const struct target *target, unsigned port)
{
	return __atomic_load_n(&target->port[port].access, __ATOMIC_RELAXED);
}
/* Return the group of a listener; 1 if the protocol listens itself. */
static inline uint16_t target_port_group(const struct target *target, unsigned port)
{
	uint16_t group = target->opt.listen[port].group;

	return group ? group : 1;
}
/* Add to a member of worker->count, on its thread. */
static inline void target_count(uint64_t *what, uint64_t more)
{
	__atomic_store_n(what, *what + more, __ATOMIC_RELAXED);
}
