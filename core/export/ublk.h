/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the files of the ublk front: the device and its life (ublk.c), choosing or creating it
 * (ublk_make.c), ending it from another process (ublk_delete.c), commands to the driver
 * (ublk_ctl.c), a queue on its loop (ublk_queue.c), a request (ublk_io.c). */
#pragma once
#include "export.h"
#include "split.h"
#include "uapi/ublk.h"
#include <liburing.h>
#include <sched.h>

#define UBLK_SECTOR_SHIFT 9
#define UBLK_PAGE_SHIFT   12
/* marks our keys in the value that the kernel stores for a server: others use a few low bits */
#define UBLK_KEY_OURS (1ull << 63)
/* "/dev/ublkcN" with its NUL, which commands to unprivileged devices must contain */
#define UBLK_PATH    32
#define UBLK_PAYLOAD 512 /* largest payload of one command */

/* A block device of this host, /dev/ublkbN, with a bdev behind it. One lane and one ring per queue,
 * queue i on loops[i % nloops]. */
struct ublk_options {
	struct bdev *bdev;
	int dev; /* descriptor of /dev, from kernel_ublk_open() */
	int id;  /* N; -1 = the device of an earlier run with this key, else a new one */
	/* identifies the disk, stored by the kernel: a restarted process takes over its device by
	 * it. 0 = never */
	uint64_t key;
	/* buffer: longest request, bytes. 0 = what suits the bdev and the kernel */
	unsigned queues, depth, buffer;
	bool ro, unprivileged;
	/* On the caller's loop: another process (`detach`) or the kernel removed the device. Call
	 * ublk_stop(). */
	void (*ended)(struct ublk *, void *user);
	/* called while ublk_start() waits for processes that have the device N of an earlier run
	 * open; or NULL */
	void (*held)(unsigned id, void *user);
	void *user;
	struct loop *const *loops;
	unsigned nloops;
};

/* Create (or take over) the device and start it: on return it can be opened. Runs the loop
 * meanwhile. If the process ends, a device with a key stays and its requests wait for a later
 * ublk_start() with the same key. After a failure that sets *ublk the device still uses the disk:
 * the process has to end. */
int ublk_start(struct ublk **, struct loop *, const struct ublk_options *, uint32_t timeout_ms,
	struct diag *);
void ublk_info(const struct ublk *, struct ublk_info *);
/* Answer and flush what is in flight, stop and delete the device, then free. Runs the loop. The
 * caller checks for users of the device first. Returns the failure of the flush: data may not be on
 * the disk. -EINPROGRESS: no answer, as in nbd_server_stop(); the device is left as it is. */
int ublk_stop(struct ublk *, uint32_t timeout_ms, struct diag *);

/* The control device: one command at a time. */
struct ublk_ctl {
	struct loop *loop;
	struct io_uring ring;
	struct loop_fd fd;
	int dev, control;
	uint64_t features;
	bool with_path; /* the device is unprivileged */
	bool pending;   /* the kernel still executes a command and uses this memory */
	volatile int over;
	int result;
	uint8_t payload[UBLK_PATH + UBLK_PAYLOAD];
};

int ublk_ctl_open(struct ublk_ctl *, struct loop *, int dev, struct diag *);
void ublk_ctl_close(struct ublk_ctl *);
/* Run the loop until the command has ended. Returns its result, or -ETIMEDOUT (deadline on
 * loop_clock()'s scale, 0 = none). The payload is sent and replaced by the kernel's answer. */
int ublk_ctl_run(struct ublk_ctl *, uint32_t op, uint32_t id, uint64_t data, void *payload,
	uint16_t len, uint64_t deadline);
/* also sets with_path */
int ublk_ctl_info(struct ublk_ctl *, uint32_t id, struct ublk_dev_info *, uint64_t deadline);
/* Stop waiting for a command that will not end by itself. */
void ublk_ctl_give_up(struct ublk_ctl *, int result);
void ublk_ctl_encode(struct io_uring_sqe *, int fd, uint32_t op, const struct ublk_ctl_cmd *);

/* ublk_sync.c: requests that may block in the kernel longer than their caller wants to live.
 * -ETIMEDOUT as above. ublk_sync() writes back the page cache of /dev/ublkbN; ublk_halt() sends
 * STOP_DEV for a device that another process serves. */
int ublk_sync(struct loop *, int dev, uint32_t id, uint64_t deadline);
int ublk_halt(struct loop *, int dev, uint32_t id, uint64_t deadline);

/* One tag: one request of the kernel at a time, executed in one piece or several. */
struct ublk_tag {
	struct ublk_tag *next; /* done, but its answer is delayed */
	int result;
	struct split split;
	struct ublk_queue *queue;
	uint8_t *base;
	bool ours; /* the request is here, not in the kernel */
	bool lost; /* no longer fetches requests */
};

struct ublk_queue {
	struct ublk *ublk;
	struct loop *loop, *home; /* home: the device's loop */
	unsigned index, depth;
	uint32_t cap; /* size of a tag's buffer */
	struct lane *lane;
	const struct bdev_limits *lim;
	bool ro;
	bool failing; /* fail every request with EIO */
	struct ublk_tag *tag;
	const struct ublk_desc *desc; /* written by the kernel, one per tag */
	unsigned ours, lost;
	int refused; /* the first result that is neither a request nor the orderly end */
	/* for status, read by the device's thread */
	uint64_t requests;
	struct io_count count;
	/* Until then writes of an earlier run may still be executed. A late copy of a write is
	 * harmless as long as no newer one to the same blocks is sent, so writes are answered only
	 * then (as block/paths does after a path was lost). */
	uint64_t quiet_ns;
	struct loop_timer quiet;
	struct ublk_tag *done;

	struct io_uring ring;
	struct loop_fd fd;
	struct loop_poller poller;
	struct loop_work enter;
	struct loop_timer again;
	struct loop_msg over, bad; /* posted to home */
	unsigned prepared;
	bool ring_on, watched, mapped, told_over, told_bad;
	size_t desc_len;
	struct pool *pool;
	uint8_t *lower;
};

/* ublk_io.c */
/* The kernel answered a tag's FETCH or COMMIT_AND_FETCH: with a request, or the tag is lost. */
void ublk_io_result(struct ublk_queue *, uint64_t tag, int result);
void ublk_io_init(struct ublk_queue *); /* uses lim and quiet_ns */

/* ublk_queue.c, on the queue's thread. It posts: over (all tags are lost and answered), bad (a tag
 * was refused). */
struct ublk_place { /* a queue to open, argument of loop_call() */
	struct ublk_queue *queue;
	struct bdev *bdev;
	const struct ublk_dev_info *info;
	int cdev;
	const cpu_set_t *cpus; /* NULL = any */
	struct diag *diag;
};
int ublk_queue_open(struct loop *, void *place); /* on return all tags have been fetched */
/* answers all requests with an error, now and later */
int ublk_queue_fail(struct loop *, void *queue);
int ublk_queue_close(struct loop *, void *queue); /* needs: no request is here */
/* Answer the request: bytes moved, 0 for kinds that move none, or -errno. The tag fetches the next
 * request. */
void ublk_queue_commit(struct ublk_queue *, unsigned tag, int result);
void ublk_queue_encode(
	struct io_uring_sqe *, const struct ublk_queue *, unsigned tag, uint32_t op, int result);

struct ublk {
	struct loop *loop;
	struct ublk_options opt;
	struct ublk_ctl ctl;
	struct ublk_dev_info info;
	struct ublk_params params;
	uint64_t deadline; /* until it must be ready, 0 = none */
	uint64_t quiet_ns; /* copied to the queues */
	int cdev;
	bool added, recovered, started, stopping;
	struct ublk_queue *queue;
	unsigned opened, over; /* numbers of queues */
	volatile int gone;     /* all queues are over */
	cpu_set_t *cpus;       /* one per queue */
};

/* ublk.c */
void ublk_pause(struct loop *, unsigned ms); /* runs the loop */
/* for this device, until its deadline */
int ublk_cmd(struct ublk *, uint32_t op, uint64_t data, void *payload, uint16_t len);
/* "what /dev/ublkb0: …" */
int ublk_failed(const struct ublk *, int rc, const char *what, struct diag *);
void ublk_tell(const struct ublk_dev_info *, struct ublk_info *);
/* ublk_make.c: get a device that waits for its queues, with its cdev open. */
int ublk_make(struct ublk *, struct diag *);
