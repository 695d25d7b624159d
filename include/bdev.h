/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Block devices: everything that holds blocks is a bdev, and every request a struct io. The limits
 * of a bdev are fixed when it is opened, except for its size; its callbacks run on the loop that
 * opened it. A lane is the queue of one thread to a bdev. */
#pragma once
#include "loop.h"
#include "mem.h"
#include "uri.h"
#include <assert.h>
#include <pthread.h>

enum io_kind {
	IO_READ,
	IO_WRITE,
	IO_FLUSH,
	IO_TRIM,
	IO_ZERO,
	IO_MAP,
	IO_COMPARE_WRITE, /* reserved: not offered by any disk yet */
	IO_KINDS
};
enum io_flag {
	IO_FUA = 1,  /* WRITE, ZERO, TRIM, COMPARE_WRITE: on stable storage before done() */
	IO_FAST = 2, /* ZERO: fail with -ENOTSUP rather than write zeroes */
	IO_KEEP = 4, /* ZERO: don't deallocate */
};

struct bdev_orphan;
/* A request, embedded in the submitter's struct. off and len are multiples of lim.block, inside the
 * disk, and 0 < len <= lim.max[kind] (FLUSH: both 0). READ, WRITE and MAP use buf from its start.
 *
 * COMPARE_WRITE: buf has 2 * len bytes, first the data to compare, then the data to write. If any
 * byte differs, nothing is written, status is -EBADE and detail the offset of the first difference.
 * It is atomic with regard to requests of all lanes and hosts. It is never split and never sent
 * twice, as a second execution would compare with the data that the first one wrote. If its path is
 * lost before the response, status is -ENOTRECOVERABLE: it may have been executed. */
struct io {
	uint8_t kind, flags;
	uint32_t len;
	uint64_t off;
	struct buf *buf;
	/* 0 or -errno. -ENOTCONN: the path was lost before the response; `paths` replays such
	 * requests. -EHOSTUNREACH: no path came back within the time of the loss policy; the reason
	 * is in bdev->why. */
	int status;
	/* status of the protocol, for bdev->status_text; MAP: number of runs; COMPARE_WRITE: see
	 * above */
	uint32_t detail;
	/* While in flight, the bdev may change `done` and `lower`; both are restored before done().
	 * lower: lim.io_size bytes, aligned to 8, for the bdev while in flight. */
	void (*done)(struct io *);
	void *lower;
	struct io *next; /* for the bdev while in flight */
	/* the orphan of the command that the io is part of; NULL: the io never becomes one */
	struct bdev_orphan *own;
#ifdef DEBUG_CONTRACTS
	/* of bdev_check_submit(): submitted `done` and `lower`, and the lane while in flight */
	void (*checked_done)(struct io *);
	void *checked_lower;
	struct lane *checked_lane;
#endif
};

/* The result of IO_MAP in buf: consecutive runs from off on, of at least one block in total. They
 * may end before off + len. */
enum map_flag { MAP_HOLE = 1, MAP_ZERO = 2 };
struct map_run {
	uint64_t len;         /* bytes, whole blocks */
	uint32_t flags, zero; /* enum map_flag; zero: reserved, 0 */
};

/* Totals since the start of a target or device; errors: requests that the disk failed. */
struct io_count {
	uint64_t reads, writes, read_bytes, written_bytes, errors;
};

/* Round bytes (less than 2^63) up to whole blocks; down if the result would not fit into int64_t,
 * which Linux and most programs use for sizes. */
static inline uint64_t bdev_whole_blocks(uint64_t bytes, uint32_t block)
{
	uint64_t mask = block - 1, up = (bytes + mask) & ~mask;

	return up > INT64_MAX ? bytes & ~mask : up;
}

struct bdev_limits {
	uint64_t size;  /* bytes, a multiple of block, less than 2^63 */
	uint32_t block; /* logical block size: power of 2 from 512 to 65536 */
	uint32_t best;  /* preferred length and alignment of requests */
	/* longest request of each kind, at least a block; 0: not supported, so it must not be
	 * submitted. Every disk supports READ. FLUSH: 1 if supported */
	uint32_t max[IO_KINDS];
	uint32_t io_size; /* bytes of io.lower */
	uint16_t lanes;   /* limit of open lanes */
	uint16_t depth;   /* requests that a lane sends at once; it queues others in order */
	/* time for which the target may still execute writes of a lost path */
	uint32_t quiesce_ms;
	/* the target can access all of a mapped pool at any time, not only buffers of requests in
	 * flight: use no pool with data of other disks */
	bool exposed;
	/* local: other hosts write to it only through this process, which can order requests */
	bool sole_writer;
	bool ro, fua; /* ro: opened read-only */
	bool ro_disk; /* can't be opened for writing (flags, permissions, ro=1); implies ro */
};

struct bdev_id { /* zeroes, "": unknown */
	uint8_t uuid[16], nguid[16], eui64[8];
	char model[41], serial[21], firmware[9];
};
/* Return whether a byte of the identifier is not zero. */
bool bdev_id_known(const uint8_t *id, size_t len);

#define BDEV_TIMEOUT_MS 10000
#define BDEV_NEVER      UINT32_MAX
#define BDEV_DETECT_MS  1000
#define BDEV_DETECT_MIN 100

/* Identity of this host, and how to open; functions with this argument copy it. */
struct bdev_env {
	char hostnqn[224];
	char initiator[224]; /* iSCSI initiator name; "": unknown */
	uint8_t hostid[16];
	bool write, force; /* open for writing, even a disk that is in use */
	/* bytes. file: create it or extend it to this size; 0: it must exist. null: its size,
	 * unless the URI has one. "-": size of the disk that stands for standard input or output,
	 * not 0; input may end earlier. */
	uint64_t create;
	/* limit of one attempt to connect, including the name lookup; overridden by timeout= of the
	 * URI. 0: BDEV_TIMEOUT_MS. BDEV_NEVER: no limit when opened, BDEV_TIMEOUT_MS later */
	uint32_t timeout_ms;
	/* a connection that is silent for this time is lost; overridden by detect= of the URI. 0:
	 * that of the protocol; BDEV_DETECT_MS if the URI has several paths */
	uint32_t detect_ms;
	/* disk_open(): retry an unreachable target for this time; 0: no retry */
	uint32_t retry_ms;
	bool replace; /* the content will be overwritten: no warning about its format */
	/* hold I/O for this time while all paths are lost; overridden by loss= of the URI;
	 * UINT32_MAX: no limit */
	uint32_t on_loss_ms;
};

struct bdev;
struct lane;
struct out;

/* What to do with a request that its target has failed; bits. The loss policy limits waiting. */
enum bdev_retry {
	BDEV_RETRY = 1,      /* retry a few times, with pauses */
	BDEV_WAIT_READY = 2, /* retry until the target is ready */
	BDEV_OTHER_PATH = 4, /* use another path, or wait for this one */
};

enum bdev_path_state {
	BDEV_PATH_UP,
	BDEV_PATH_LOST,   /* or closed by its target: I/O is held or uses another path */
	BDEV_PATH_FAILED, /* I/O fails until the path is back */
};
struct bdev_path {
	const char *uri;
	uint8_t state;      /* enum bdev_path_state */
	uint8_t reason;     /* enum diag_code, if not UP */
	uint64_t lost_ns;   /* loop_clock() of the loss; 0: unknown */
	uint64_t fails_ns;  /* loop_clock() when I/O will start to fail; 0: it fails, or no limit */
	const char *policy; /* of a disk with several paths; NULL: of others, and of a path */
	/* of a path only */
	uint64_t retry_ns;  /* loop_clock() of the next attempt to connect; 0: none is scheduled */
	const char *access; /* as bdev->access_word, with the group; NULL: not reported */
	uint32_t group;     /* ANA group, target port group */
	bool preferred;     /* by the URI or, if that names none, by its target */
	uint64_t requests;  /* sent over it, with those sent again */
	const struct diag *warning; /* since it was opened; NULL: none, or it is not up */
};

/* What a target accepts on a path, best first. */
enum bdev_access {
	BDEV_ACCESS_OPTIMIZED, /* also if the target reports no access states */
	BDEV_ACCESS_NON_OPTIMIZED,
	BDEV_ACCESS_CHANGING, /* no requests for now, at most bdev->changing_ms */
	BDEV_ACCESS_CLOSED,   /* no requests until the target reports another state */
};

#define BDEV_SESSION_LANES 64
/* What a target knows a connection by that one of its other connections can fence. */
struct bdev_session {
	char target[224]; /* name; "": it can't be fenced */
	char host[224];   /* name, if the others belong to it */
	uint16_t id;
	uint8_t instance;
	uint64_t random;
	/* The next connection of the same path has it as well, and ends this one, so there must be
	 * none while this one is being fenced. */
	bool keeps_identity;
	/* atomic: of lanes that the target knows by themselves. 0: no lane has had this number;
	 * UINT32_MAX: it can't be fenced */
	uint32_t lane[BDEV_SESSION_LANES];
};
/* The caller owns it and keeps it until done() was called or the bdev was freed. */
struct bdev_fence {
	struct bdev_session session;
	/* err 0: nothing that was sent over that connection is executed any more. Else -errno: it
	 * is not known. On bdev->loop, not from within bdev_ops.fence(). */
	void (*done)(struct bdev_fence *, int err);
};

/* The addresses by which a target can be reached, over the transport of the disk that asks. The
 * caller owns it, sets the first part, and keeps it until done() was called or the bdev was freed.
 */
struct bdev_search {
	uint64_t until; /* time limit, loop_clock() */
	/* An address that the target reports, also that of this disk, unchecked but for its text
	 * being terminated and valid during the call; port 0: it reports none, or no number. */
	void (*found)(struct bdev_search *, const char *host, uint16_t port);
	/* All were found, or why not all were. On bdev->loop, not from within bdev_ops.search(). */
	void (*done)(struct bdev_search *, const struct diag *why);
	/* set by bdev_ops.search() */
	struct addr at;        /* of this disk, where the target has answered */
	uint16_t default_port; /* of a URI without one */
};

struct bdev_ops {
	const char *name;
	/* Start to open a lane, on that loop's thread, while the bdev is UP. It reads only members
	 * that are fixed then. The caller sets lane->changed and lane->user afterwards; `changed`
	 * follows from the loop, when the lane is UP or DOWN. Fails with -errno, without a lane. */
	int (*lane)(struct lane **, struct bdev *, struct loop *, struct diag *);
	/* End in order; BDEV_DOWN follows. All lanes must be freed before. */
	void (*stop)(struct bdev *);
	/* Free at once, in any state, without a further callback. All lanes must be freed before.
	 * Not from within its callbacks. */
	void (*free)(struct bdev *);
	/* Return what to do with a request that the target has completed with this detail: bits of
	 * enum bdev_retry; the provider may use others. Any thread; only called by `paths`. NULL:
	 * fail it. */
	unsigned (*retry)(uint32_t detail);
	/* bdev_path() of a disk with paths; NULL: it has none */
	bool (*path)(struct bdev *, unsigned i, struct bdev_path *);
	/* Fence the lost connection to the same target; done() follows. It reads the session only
	 * now. While UP. Fails with -errno: the target can't, it is another one, or too many at
	 * once. NULL: not supported */
	int (*fence)(struct bdev *, struct bdev_fence *);
	/* Ask the target for its addresses: found() for each, then done(). While UP. Fails with
	 * -errno, without done(). NULL: the protocol has no such list */
	int (*search)(struct bdev *, struct bdev_search *, struct diag *);
	/* print for `info`: paths, transport, addresses, security; may be NULL */
	void (*facts)(struct bdev *, struct out *);
};

enum bdev_state { BDEV_OPENING, BDEV_UP, BDEV_DOWN };

struct bdev {
	const struct bdev_ops *ops;
	struct loop *loop;
	uint8_t state;
	struct bdev_limits lim; /* valid from UP on */
	struct bdev_id id;
	struct bdev_session session; /* of a connection, from UP on */
	/* Of a path, from UP on; changed() follows a change. access_word: the state as the
	 * protocol names it; NULL: not reported, and neither is the group. */
	uint8_t access; /* enum bdev_access */
	const char *access_word;
	uint32_t access_group; /* number of the ANA group or target port group */
	bool access_preferred; /* among paths with the same access */
	uint32_t changing_ms;  /* constant from UP on */
	/* reason of DOWN; while UP: a warning since it was opened or `changed`, those of paths
	 * being in bdev_path(), or why no path works */
	struct diag why;
	/* Set by the owner, or NULL; bdev_open() and bdev_close() overwrite `changed` and `user`.
	 * The provider calls them from bdev->loop, on its thread, as long as the disk exists.
	 * changed: state, lim.size or access has changed: OPENING to UP or DOWN, later UP to DOWN.
	 * report: a path was lost (bad) or is back; the line of text is valid during the call. */
	void (*changed)(struct bdev *);
	void (*report)(struct bdev *, bool bad, const char *line);
	void *user;                                  /* of the owner, for its callbacks */
	const char *(*status_text)(uint32_t detail); /* text for io.detail; NULL: none */
	/* atomic: -errno of the first failed flush or FUA write after which data may be lost; all
	 * later ones fail with it until the disk is reopened */
	int sync_error;
	char uri[URI_MAX]; /* as specified, without secrets */
	bool is_part;      /* part of the disk with identity `id` */
	uint64_t start;    /* byte where this part begins */
	/* orphan.c: newest first, protected by the lock; the count is atomic */
	pthread_mutex_t orphan_lock;
	struct bdev_orphan *orphan;
	unsigned orphans;
};

/* For providers: return the status to complete the io with, given the one of its execution. As the
 * kernel reports a write-back error only once, and perhaps to another client, every later flush and
 * FUA request fails with it (sync_error). Any thread. */
int bdev_sync_status(struct bdev *, const struct io *, int status);

struct lane_ops {
	/* one done() follows, not from within */
	void (*submit)(struct lane *, struct io *);
	/* called once per loop iteration after submits; may call done(); may be NULL */
	void (*kick)(struct lane *);
	/* called before the first io with a buffer of the pool; may be NULL */
	int (*map)(struct lane *, struct pool *, struct diag *);
	void (*unmap)(struct lane *, struct pool *); /* after the last done() */
	/* Cancel an io that is only held. True: done() with -ECANCELED follows; for a write not
	 * before the time that a lost path may still execute it. May be NULL. Use bdev_cancel(). */
	bool (*cancel)(struct lane *, struct io *);
	/* Complete all requests in flight with -ENOTCONN, or with the status by which the target
	 * refuses them for now, then change to LANE_DOWN, neither from within. NULL: both follow by
	 * themselves after BDEV_DOWN. */
	void (*abort)(struct lane *, const struct diag *why);
	/* Free at once. No io may be in flight, no pool mapped. Not from within its callbacks. */
	void (*free)(struct lane *);
};

enum lane_state { LANE_OPENING, LANE_UP, LANE_DOWN };

/* Before a lane is DOWN, all its requests are completed with -ENOTCONN, and no buffer is accessed
 * afterwards. Later requests are completed with -ENOTCONN, too, and so are those that wait for an
 * orphan, a few milliseconds later. */
struct lane {
	const struct lane_ops *ops;
	struct bdev *bdev;
	struct loop *loop;
	uint8_t state;
	/* reason of DOWN; EAGAIN before it was UP: the target may accept it soon */
	struct diag why;
	/* Of the owner, who sets both after bdev_ops.lane(); may be NULL. changed: the state has
	 * changed; called from lane->loop. lane_open() leaves both NULL. */
	void (*changed)(struct lane *);
	void *user;
	/* private */
	struct loop_work kick;
	struct io *gated, **gated_end; /* requests that wait for an overlapping orphan */
	struct io **gate_pass; /* end of those to retry in this pass; NULL: between two passes */
	struct loop_timer gate;
	bool given_up; /* lane_give_up() was called */
};

/* Open a disk by URI: network schemes with reconnect and path= keys. Runs the loop until it is up,
 * has failed, or the time limit of env or URI has passed. On the loop's thread; the URI is copied.
 * Afterwards the owner may set changed(), report() and user. bdev_close() frees it. */
int bdev_open(
	struct bdev **, struct loop *, const char *uri, const struct bdev_env *, struct diag *);
/* Get the state of the disk (i = 0), or of one of its paths (from 1 on). False: there is no such
 * path. On bdev->loop. */
bool bdev_path(struct bdev *, unsigned i, struct bdev_path *);
/* Stop in order, running the loop for up to 2 s, and free. All lanes must be closed before. NULL is
 * allowed. */
void bdev_close(struct bdev *);
/* List the keys that the URI may have, without opening it; text ends in the key URI_UNKNOWN_KEY. So
 * "file:disk.img?-" lists "part", "offset", "ro" and others. Some may be missing if the URI is
 * incomplete. */
void bdev_keys(const char *text, const struct bdev_env *, struct uri_key_names *);
/* Call found() with the URI of each disk that the server of the URI offers; the text is valid
 * during the call. Runs the loop for up to env->timeout_ms, or timeout= of the URI. -EOPNOTSUPP:
 * the protocol has no discovery. After success err of the diag is 0, or the diag is a warning. */
int bdev_discover(struct loop *, const char *uri, const struct bdev_env *,
	void (*found)(const char *uri, void *user), void *user, struct diag *);
/* After a failure to open the URI, or to query its target, find an alternative there and add it to
 * `why`. Runs the loop, at most until the time limit of opening has expired, counted from since_ns
 * (loop_clock()). Return whether one was found. */
bool bdev_suggest(struct loop *, const char *uri, const struct bdev_env *, uint64_t since_ns,
	struct diag *why);
/* If the failure suggests that the server uses another protocol, query it by each of them in turn,
 * within the same time limit. Add to `why` the first one that the server answers by, and a hint
 * with the disks that it lists; without an answer `why` stays as it is. */
void bdev_suggest_protocol(struct loop *, const char *uri, const struct bdev_env *,
	uint64_t since_ns, struct diag *why);
/* If text is a path with keys of an existing file, "disk.img?part=1", add the hint to write it as a
 * URI: in a plain path '?' is part of the name. Return whether it is one. */
bool bdev_suggest_file(const char *text, struct diag *why);
/* Get the path of a file from its URI or plain path. False: another scheme, or too long. */
bool bdev_uri_path(const char *uri, char *path, size_t len);
/* Return whether the URI has offset=, size= or part=. */
bool bdev_uri_is_part(const char *uri);
/* Return whether it is ram: or null:, which is private to the process and empty initially. */
bool bdev_uri_in_memory(const char *uri);
/* Start to open one device without reconnect; changed() follows from the loop. The URI is used
 * during the call only: what the bdev needs of it is copied. A failure returns -errno, without a
 * bdev, or follows as DOWN. bdev->ops->free() frees the bdev. */
int bdev_start(struct bdev **, struct loop *, struct uri *, const struct bdev_env *,
	void (*changed)(struct bdev *), void *user, struct diag *);
/* Open a lane, on that loop's thread. Runs the loop, without a limit, until it is up or down.
 * Afterwards the owner may set changed() and user. */
int lane_open(struct lane **, struct bdev *, struct loop *, struct diag *);
/* The same, until another thread sets *stop (may be NULL): -EINTR. */
int lane_open_until(
	struct lane **, struct bdev *, struct loop *, const volatile int *stop, struct diag *);
/* Free a lane, as lane_ops.free. It may run its loop; the loop of the bdev must be running, too.
 * NULL is allowed. */
void lane_close(struct lane *);
/* For providers: initialize the common part of a new lane. */
void lane_init(struct lane *, const struct lane_ops *, struct bdev *, struct loop *);
/* Return the reason that the target reported for a failed io, valid until the thread's next call.
 * NULL: none. */
static inline const char *bdev_status_text(const struct bdev *bdev, const struct io *io)
{
	return io->detail && bdev->status_text ? bdev->status_text(io->detail) : NULL;
}
/* Abort a lane whose requests get no response although the path is alive. All its requests, also
 * later ones, complete with -ENOTCONN; whether writes were executed is unknown. The disk stays
 * open. No effect on local disks, on a lane that is not up, or the second time. */
void lane_give_up(struct lane *);
/* Execute one request, and run the lane's loop; io->lower and io->done need not be set. After
 * timeout_ms (0: no limit) it is cancelled or, if it was sent, the lane is given up: -ETIMEDOUT,
 * also for later requests. A local disk is waited for. Return io->status. */
int bdev_io_wait(struct lane *, struct io *, uint32_t timeout_ms);
/* Flush, on the lane's thread, and run its loop until the deadline (loop_clock(), 0: none) and for
 * up to 500 ms after it. -ETIMEDOUT: cancelled. -EINPROGRESS: the disk still has the request, so
 * neither the lane nor the disk may be freed. */
int bdev_flush(struct lane *, uint64_t deadline_ns, struct diag *);
/* Prepare the lane for the buffers of a pool, before its first io with one. Undo it with
 * lane_unmap() before the pool or the lane is freed. On the lane's thread. Fails without a mapping:
 * -ENOTCONN: the lane is not up; -ENOMEM; or the error of the RDMA device. */
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
/* Submit; assert that both the submitter and the bdev keep this contract. */
void bdev_check_submit(struct lane *, struct io *);
#endif

/* Which requests, on any lane, wait for an orphan that they overlap. They do if they arrive after
 * it became one; for BDEV_EXCLUSIVE in any case. */
enum bdev_order {
	/* Requests of its client wait for off and len. Those of other clients wait only if they
	 * change blocks, too, and only for the request that is at the disk: reads have no order
	 * with regard to another client's writes. */
	BDEV_CLIENT,
	/* All requests wait for the one at the disk, as another client knows that the command has
	 * ended. */
	BDEV_ALL,
	/* All requests wait for off and len. The command's own requests wait for overlapping
	 * requests of other orphans at the disk. */
	BDEV_EXCLUSIVE,
};
/* A command that its client may have abandoned while the disk may still execute a request of it: no
 * request that must come after it overtakes it. Embedded in the submitter's struct and zeroed
 * initially. io.own of its requests, one at a time, points to it. Call these functions on the
 * submitter's thread. */
struct bdev_orphan {
	/* Identifies the client; set it before bdev_orphan(). NULL: unknown, perhaps the same as
	 * any other. */
	const void *client;
	/* private; `gated` and all from `bdev` on protected by the lock while `bdev` is set */
	uint64_t arrived; /* number of the newest orphan at that time; 0: never had to wait */
	bool gated;       /* its request waits */
	uint8_t order;
	struct bdev *bdev;
	uint64_t off, len;   /* of the command */
	uint64_t at, at_len; /* range of the request at the disk; at_len 0: none */
	uint64_t number;
	struct bdev_orphan *next;
};
/* Make the command an orphan; the struct stays in place until bdev_orphan_end(). io: its request at
 * the disk or waiting to be sent, which counts if it changes blocks; NULL: none. If it is one
 * already, set the range, and the order if that is stricter, unless it is BDEV_EXCLUSIVE. It keeps
 * its age unless it becomes BDEV_EXCLUSIVE. */
void bdev_orphan(struct bdev *, struct bdev_orphan *, enum bdev_order, const struct io *,
	uint64_t off, uint64_t len);
/* The command has ended. Call it for every command, orphan or not, before the struct is used for
 * the next one or freed. */
void bdev_orphan_end(struct bdev_orphan *);
/* Cancel a request that waits for an orphan, on the lane's thread. True: done() with -ECANCELED
 * follows, not from within. False: it does not wait. */
bool bdev_cancel_gated(struct lane *, struct io *);
/* The same for a request that waits for an orphan or, with lane_ops.cancel, is held for another
 * reason. False: it is with the target, or the disk can't cancel; done() follows as without this
 * call. */
bool bdev_cancel(struct lane *, struct io *);
/* For bdev_submit(): queue the io if it must wait for an orphan. False: submit it. */
bool bdev_gate(struct lane *, struct io *);
static inline bool bdev_has_orphans(const struct bdev *bdev)
{
	return __builtin_expect(__atomic_load_n(&bdev->orphans, __ATOMIC_ACQUIRE) != 0, 0);
}

/* Send a request, on the lane's thread, once the lane was UP. done() follows, never from within.
 * The io belongs to the lane until then. */
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
