/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The waist: everything that holds blocks is a bdev, one `struct io` passes between. A bdev is the
 * disk: opened once, limits fixed at open, its control runs on the loop that opened it. A lane is
 * one thread's way into it. */
#pragma once
#include "diag.h"
#include "loop.h"
#include "mem.h"
#include "uri.h"
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum io_kind {
	IO_READ,
	IO_WRITE,
	IO_FLUSH,
	IO_TRIM,
	IO_ZERO,
	IO_MAP,
	IO_COMPARE_WRITE, /* reserved: no disk offers it yet */
	IO_KINDS
};
enum io_flag {
	IO_FUA = 1,  /* WRITE, ZERO, TRIM, COMPARE_WRITE: on stable storage before done */
	IO_FAST = 2, /* ZERO: fail with -ENOTSUP where it would be slow */
	IO_KEEP = 4, /* ZERO: leave no hole */
};

struct bdev_orphan;
/* Embedded in the submitter's slot. off and len are multiples of lim.block, inside the disk, len <=
 * lim.max[kind] and > 0 (FLUSH: both 0). READ, WRITE and MAP use buf from its start.
 *
 * COMPARE_WRITE: buf has 2 * len bytes, those to compare with and, behind them, those to write. The
 * blocks are written only if all bytes are equal, else status is -EBADE and detail the offset of
 * the first that differs. No other request to these blocks, over any lane or from any host, comes
 * between. It is never cut into several requests and never sent twice: a second execution would
 * compare with what the first one wrote. If its path dies before the answer, status is
 * -ENOTRECOVERABLE: it may have been executed. */
struct io {
	uint8_t kind, flags;
	uint32_t len;
	uint64_t off;
	struct buf *buf;
	/* 0 or -errno. -ENOTCONN: the path died before the answer (only `paths` sees that).
	 * -EHOSTUNREACH: no path was back in the time that the loss policy allows: the connection's
	 * fault, not the disk's; bdev->why has the reason. */
	int status;
	/* the protocol's own status, for proto->status_text; MAP: number of runs; COMPARE_WRITE:
	 * above */
	uint32_t detail;
	/* The bdev may replace these two while the io is in flight; done() finds them as they were
	 * submitted. lower: lim.io_size bytes, 8-aligned, the bdev's while the io is in flight. */
	void (*done)(struct io *);
	void *lower;
	struct io *next; /* the bdev's while in flight */
	/* the command's that this io belongs to; NULL: no client's, and never an orphan */
	struct bdev_orphan *own;
#ifdef DEBUG_CONTRACTS
	/* bdev_check_submit()'s: the submitter's done and lower, and where the io is in flight */
	void (*checked_done)(struct io *);
	void *checked_lower;
	struct lane *checked_lane;
#endif
};

/* What IO_MAP writes into buf: they start at off, cover at least one block, may end early. */
struct map_run {
	uint64_t len;
	uint32_t flags;
	uint32_t zero;
};
enum map_flag { MAP_HOLE = 1, MAP_ZERO = 2 };

/* What those served have read and written since the start; errors: requests that the disk failed.
 */
struct io_count {
	uint64_t reads, writes, read_bytes, written_bytes, errors;
};

/* Bytes in whole blocks: rounded up, or down where 2^63 would be reached, as Linux and most
 * programs hold sizes in signed integers. bytes: less than 2^63. */
static inline uint64_t bdev_whole_blocks(uint64_t bytes, uint32_t block)
{
	uint64_t mask = block - 1, up = (bytes + mask) & ~mask;

	return up > INT64_MAX ? bytes & ~mask : up;
}

struct bdev_limits {
	uint64_t size;  /* bytes, a multiple of block, less than 2^63 */
	uint32_t block; /* logical block: 512 … 65536, a power of 2 */
	uint32_t best;  /* preferred length and alignment of requests */
	/* longest request of each kind, at least a block; 0 = this disk does not do it (never
	 * READ; FLUSH: 1 = yes) */
	uint32_t max[IO_KINDS];
	uint32_t io_size;
	uint16_t lanes; /* most lanes at once */
	uint16_t depth; /* ios a lane keeps in flight; it queues more, in order */
	/* after a path died, how long its target may still execute its writes */
	uint32_t quiesce_ms;
	/* its target can read and write all of a mapped pool at any time, not only the buffers of
	 * requests in flight: no pool should hold other disks' data */
	bool exposed;
	/* only this process writes to it, as far as it is shared over the network at all */
	bool own;
	bool ro, fua; /* ro: as it was opened */
	bool ro_disk; /* can't be opened for writing: its flags, permissions, or ro=1; implies ro */
};

struct bdev_id { /* all zero, "" = not known */
	uint8_t uuid[16], nguid[16], eui64[8];
	char model[41], serial[21], firmware[9];
};

#define BDEV_TIMEOUT_MS 10000
#define BDEV_NEVER      UINT32_MAX

/* What the opener brings: who we are, and how to open. */
struct bdev_env {
	char hostnqn[224];
	char initiator[224]; /* iSCSI's name; "" = not known */
	uint8_t hostid[16];
	bool write, force; /* open for writing; even when the device is held */
	/* file: make or extend it to this size; 0 = must exist. "-": the most that is written or
	 * read. null: without a size: its size. */
	uint64_t create;
	/* One attempt to connect, the lookup of the name included; URI timeout= overrides. 0 =
	 * BDEV_TIMEOUT_MS. BDEV_NEVER: the first opening has no limit, later attempts have
	 * BDEV_TIMEOUT_MS. */
	uint32_t timeout_ms;
	/* disk_open(): how long a target that can't be reached yet is tried again; 0 = once */
	uint32_t retry_ms;
	bool replace; /* what the disk holds now will be overwritten */
	/* how long I/O is held while no path works; URI loss= overrides; UINT32_MAX = forever */
	uint32_t on_loss_ms;
};

struct bdev;
struct lane;
struct out;

/* What may help a request that its target has failed: bits. Waiting is limited by the loss policy.
 */
enum bdev_again {
	BDEV_AGAIN = 1,     /* some more tries, with pauses */
	BDEV_WAIT = 2,      /* waiting until the target is ready */
	BDEV_ELSEWHERE = 4, /* another path, or waiting until this one carries requests again */
};

enum bdev_path_state {
	BDEV_PATH_UP,
	BDEV_PATH_LOST,   /* I/O waits or takes another path */
	BDEV_PATH_FAILED, /* I/O fails until it is back */
};
struct bdev_path {
	const char *uri;
	uint8_t state;     /* enum bdev_path_state */
	uint8_t reason;    /* enum diag_code, of what is not up */
	uint64_t lost_ns;  /* since when; loop_clock(), 0 = unknown */
	uint64_t fails_ns; /* when I/O will fail; 0 = it does already, or never will */
};

struct bdev_ops {
	const char *name;
	/* Starts opening a lane on that loop, on that loop's thread; lane->changed follows (never
	 * inside). May be called on any thread while the bdev is UP: it reads only what is fixed
	 * then. */
	int (*lane)(struct lane **, struct bdev *, struct loop *, struct diag *);
	void (*stop)(struct bdev *); /* orderly end; BDEV_DOWN follows. Needs: lanes freed */
	/* at once, any state, no upcall after, not inside its own upcall. Needs: lanes freed */
	void (*free)(struct bdev *);
	/* Return what may help a request that was done with this detail, and so is over at the
	 * target: bits of enum bdev_again; other bits are the provider's. Only `paths` asks, on any
	 * thread. NULL: nothing does. */
	unsigned (*again)(uint32_t detail);
	/* bdev_path() of a disk with paths; NULL: it is up until it is down */
	bool (*path)(struct bdev *, unsigned i, struct bdev_path *);
	/* rows for `info`: paths, transport, addresses, security; may be NULL */
	void (*facts)(struct bdev *, struct out *);
};

enum bdev_state { BDEV_OPENING, BDEV_UP, BDEV_DOWN };

struct bdev {
	const struct bdev_ops *ops;
	struct loop *loop;
	uint8_t state;
	struct bdev_limits lim; /* valid from UP on */
	struct bdev_id id;
	/* of DOWN; of UP: what is wrong with it since it was opened or `changed`, or why no path
	 * works now */
	struct diag why;
	void (*changed)(struct bdev *); /* state or lim.size is new; on bdev->loop */
	/* a path was lost (bad), or is back: a line for people; on bdev->loop */
	void (*report)(struct bdev *, bool bad, const char *line);
	void *user;                                  /* the owner's */
	const char *(*status_text)(uint32_t detail); /* sentence for io.detail; NULL = none */
	/* atomic: the first error of a flush or FUA write by which data may be lost, as -errno;
	 * every later one fails with it until the disk is reopened */
	int sync_error;
	char uri[URI_MAX]; /* as the user wrote it, without secrets */
	bool is_part;      /* of a disk whose identity is `id`, where it starts at this byte */
	uint64_t start;
	/* orphan.c: the newest first, under the lock; the number is atomic. */
	pthread_mutex_t orphan_lock;
	struct bdev_orphan *orphan;
	unsigned orphans;
};

/* For a provider, on any thread: the status an io ends with, by the one its own execution gave. A
 * write-back error is reported to one flush only, and the data may be another client's: so a flush
 * or a FUA write, zero or trim fails with the first such error (sync_error). */
int bdev_sync_status(struct bdev *, const struct io *, int status);

struct lane_ops {
	/* exactly one done() per submit, never inside it */
	void (*submit)(struct lane *, struct io *);
	/* once a turn after submits; may complete ios; NULL = nothing to do */
	void (*kick)(struct lane *);
	/* before the pool's first io; NULL = nothing to do */
	int (*map)(struct lane *, struct pool *, struct diag *);
	void (*unmap)(struct lane *, struct pool *); /* after its last done */
	/* Drops an io that is only held: true = its done(-ECANCELED) comes, for a write not before
	 * a dead path can no longer execute it. NULL = cannot. Call bdev_cancel(). */
	bool (*cancel)(struct lane *, struct io *);
	/* As if the path had died: what is in flight is done with -ENOTCONN, then LANE_DOWN,
	 * neither inside. NULL = both come by themselves soon after the bdev is down. */
	void (*abort)(struct lane *, const struct diag *why);
	/* at once; needs: no io in flight, pools unmapped. Not inside its own upcalls */
	void (*free)(struct lane *);
};

enum lane_state { LANE_OPENING, LANE_UP, LANE_DOWN };

/* When a lane goes down every io on it is done with -ENOTCONN first and no buffer is touched any
 * more; later ones end so too. */
struct lane {
	const struct lane_ops *ops;
	struct bdev *bdev;
	struct loop *loop;
	uint8_t state;
	struct diag why; /* of DOWN; EAGAIN before UP: the target may accept it a little later */
	void (*changed)(struct lane *);
	void *user;
	struct loop_work kick;
	struct io *gated, **gated_end; /* wait for an orphan that they overlap */
	struct loop_timer gate;
	bool given_up; /* by lane_give_up() */
};

/* Opens by URI: network schemes through `paths` (path= keys, reconnect), local ones directly. Runs
 * the loop until it is up or has failed. */
int bdev_open(
	struct bdev **, struct loop *, const char *uri, const struct bdev_env *, struct diag *);
/* How the disk can be reached now: i 0 as a whole, from 1 on by each of its paths. False: there is
 * no such path. On bdev->loop. */
bool bdev_path(struct bdev *, unsigned i, struct bdev_path *);
void bdev_close(struct bdev *); /* orderly, bounded (2 s), frees */
/* List the keys that such a URI may have, without opening it: text ends in URI_UNKNOWN_KEY. Of an
 * incomplete URI some may be missing. */
void bdev_keys(const char *text, const struct bdev_env *, struct uri_asked *);
/* List the disks that the server of the URI offers: found() with the URI of each. Runs the loop,
 * for at most env->timeout_ms. Fails if the protocol has no lists. */
int bdev_discover(struct loop *, const char *uri, const struct bdev_env *,
	void (*found)(const char *uri, void *user), void *user, struct diag *);
/* After opening it, or asking its target, has failed: finds out what would work there instead and
 * says so in `why`. Runs the loop, until the time that was for opening, by env and the URI, is
 * over; it began at since_ns (loop_clock). Returns whether it has found something. */
bool bdev_suggest(struct loop *, const char *uri, const struct bdev_env *, uint64_t since_ns,
	struct diag *why);
/* The same if the server may speak another protocol, as it has closed the connection or sent
 * something else: lists its disks by each of them in turn. */
void bdev_suggest_protocol(struct loop *, const char *uri, const struct bdev_env *,
	uint64_t since_ns, struct diag *why);
/* The asynchronous form, one device without `paths`: bdev->changed follows. */
int bdev_start(struct bdev **, struct loop *, struct uri *, const struct bdev_env *,
	void (*changed)(struct bdev *), void *user, struct diag *);
/* Opens a lane and runs its loop until it is up. On the loop's own thread. */
int lane_open(struct lane **, struct bdev *, struct loop *, struct diag *);
/* may run its loop, as lane_open() does: the bdev's own must be running meanwhile */
void lane_close(struct lane *);
/* For a provider: sets up the common part of a new lane; kick is queued by bdev_submit(). */
void lane_init(struct lane *, const struct lane_ops *, struct bdev *, struct loop *);
/* The reason why an io has failed, as its target reports it, valid until the thread's next call;
 * NULL: there is only io->status. */
static inline const char *bdev_status_text(const struct bdev *bdev, const struct io *io)
{
	return io->detail && bdev->status_text ? bdev->status_text(io->detail) : NULL;
}
/* For requests that a live path does not answer: ends the lane with all that it has in flight, as
 * lane_ops.abort does, and keeps the disk. What was in flight, and later requests, are done with
 * -ENOTCONN; whether a write was executed is unknown. Without effect where a lane can't be aborted
 * (local disks), or the second time. */
void lane_give_up(struct lane *);
/* One synchronous request on its own lane and loop, for the control plane and tests. Brings `lower`
 * itself. Once the time (0 = none) is over it is cancelled or, if a path has it, the lane is given
 * up a moment later: -ETIMEDOUT, also for later requests. Local disks are waited for. */
int bdev_io_wait(struct lane *, struct io *, uint32_t timeout_ms);
/* Flush before a stop, on the lane's thread. -ETIMEDOUT: cancelled at the deadline (loop_clock).
 * -EINPROGRESS: the disk still has the request; neither the lane nor the disk can be freed. */
int bdev_flush(struct lane *, uint64_t deadline_ns, struct diag *);
static inline int lane_map(struct lane *lane, struct pool *pool, struct diag *diag)
{
	return lane->ops->map ? lane->ops->map(lane, pool, diag) : 0;
}
static inline void lane_unmap(struct lane *lane, struct pool *pool)
{
	if (lane->ops->unmap)
		lane->ops->unmap(lane, pool);
}

#ifdef DEBUG_CONTRACTS
/* submits, asserting the contract above; also that done() keeps it */
void bdev_check_submit(struct lane *, struct io *);
#endif

/* How far an orphan holds back requests that overlap it and are submitted later, over any lane. */
enum bdev_order {
	/* Its client's requests wait for off and len. Other clients' wait only for the request that
	 * the disk has at that moment, and only if they change blocks, too: no read was promised an
	 * order with what another client does. */
	BDEV_CLIENT,
	/* Every request waits for the one that the disk has: another client knows that the
	 * command has ended. */
	BDEV_ALL,
	/* Every request waits for off and len. The command's own requests wait for all that
	 * overlaps at the disk. */
	BDEV_ALONE,
};
/* A command whose client may have given it up while the disk may still execute a request of it: no
 * request that has to be ordered behind overtakes it. Embedded in the submitter's slot, zeroed at
 * first. Its requests name it as `own`, one at a time. Only the submitter's thread calls these. */
struct bdev_orphan {
	/* Whose the requests are: compared with other submitters'. Set while it has not begun.
	 * NULL: unknown, so it may be any client's. */
	const void *client;
	/* The rest is private, from `bdev` on under the lock while that is set. */
	bool gated; /* its request waits */
	uint8_t order;
	struct bdev *bdev;
	uint64_t off, len;   /* of the command */
	uint64_t at, at_len; /* the change that the disk has; at_len 0: none */
	struct bdev_orphan *next;
};
/* Begin. io: its request at the disk, or that waits to be sent there; NULL: none. On one that has
 * begun: takes the range, and the order if that is stricter; but BDEV_ALONE stays as it is. Keeps
 * its age, unless it becomes BDEV_ALONE. */
void bdev_orphan(struct bdev *, struct bdev_orphan *, enum bdev_order, const struct io *,
	uint64_t off, uint64_t len);
void bdev_orphan_end(struct bdev_orphan *); /* allowed on one that has not begun */
/* Cancel an io that waits for an orphan: done(-ECANCELED) follows, not inside. false: it does not.
 */
bool bdev_cancel_gated(struct lane *, struct io *);
/* lane_ops.cancel, also of an io that waits for an orphan. */
bool bdev_cancel(struct lane *, struct io *);
/* Makes an io wait if it overlaps an orphan; false = it may be submitted. */
bool bdev_gate(struct lane *, struct io *);

static inline bool bdev_has_orphans(const struct bdev *bdev)
{
	return __builtin_expect(__atomic_load_n(&bdev->orphans, __ATOMIC_ACQUIRE) != 0, 0);
}

static inline void bdev_submit(struct lane *lane, struct io *io)
{
	if (bdev_has_orphans(lane->bdev) && bdev_gate(lane, io))
		return;
	if (lane->ops->kick)
		loop_work_add(lane->loop, &lane->kick);
#ifdef DEBUG_CONTRACTS
	bdev_check_submit(lane, io);
#else
	lane->ops->submit(lane, io);
#endif
}

static inline bool bdev_changes_blocks(enum io_kind kind)
{
	return kind == IO_WRITE || kind == IO_TRIM || kind == IO_ZERO || kind == IO_COMPARE_WRITE;
}

static inline bool bdev_range_ok(const struct bdev_limits *lim, uint64_t off, uint64_t len)
{
	return len <= lim->size && off <= lim->size - len;
}
