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
/* marks our keys in the value that the kernel stores for a server; other programs use low bits */
#define UBLK_KEY_OURS (1ull << 63)
/* "/dev/ublkcN" with its NUL, which commands to unprivileged devices must contain */
#define UBLK_PATH    32
#define UBLK_PAYLOAD 512 /* largest payload of one command */

/* A block device of this host, /dev/ublkbN, with a bdev behind it. One lane and one ring per queue,
 * queue i on loops[i % nloops]. */
struct ublk_options {
	struct bdev *bdev;
	int dev; /* descriptor of /dev, from kernel_ublk_open() */
	int id;  /* N; -1: the device of an earlier run with this key, otherwise a new one */
	/* identifies the disk, stored by the kernel, so that a restarted process takes over its
	 * device; 0: never */
	uint64_t key;
	/* buffer: longest request, bytes. 0: chosen for the bdev and the kernel */
	unsigned queues, depth, buffer;
	bool ro, unprivileged;
	/* On the caller's loop: another process (`detach`) or the kernel removed the device. Call
	 * ublk_stop(). */
	void (*ended)(struct ublk *, void *user);
	/* ublk_start() waits for processes to close device N of an earlier run; may be NULL */
	void (*held)(unsigned id, void *user);
	void *user;
	struct loop *const *loops;
	unsigned nloops;
};

/* Create or take over the device and start it; runs the loop. After success it can be opened. If
 * the process ends, a device with a key stays, and its requests wait for a later ublk_start() with
 * that key. After a failure that sets *ublk the device still uses the disk: the process must end.
 */
int ublk_start(struct ublk **, struct loop *, const struct ublk_options *, uint32_t timeout_ms,
	struct diag *);
void ublk_info(const struct ublk *, struct ublk_info *);
/* Complete and flush requests, stop and delete the device, then free it. Runs the loop. The caller
 * checks for users of the device first. Return the failure of the flush: data may not be on the
 * disk. -EINPROGRESS: no response, as in nbd_server_stop(); the device is left as it is. */
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
	volatile int done;
	int result;
	uint8_t payload[UBLK_PATH + UBLK_PAYLOAD];
};

int ublk_ctl_open(struct ublk_ctl *, struct loop *, int dev, struct diag *);
void ublk_ctl_close(struct ublk_ctl *);
/* Run the loop until the command has ended. Return its result, or -ETIMEDOUT after the deadline
 * (loop_clock(), 0: none). The payload is sent and replaced by the kernel's response. */
int ublk_ctl_run(struct ublk_ctl *, uint32_t op, uint32_t id, uint64_t data, void *payload,
	uint16_t len, uint64_t deadline);
/* Get the information of a device; also sets with_path. */
int ublk_ctl_info(struct ublk_ctl *, uint32_t id, struct ublk_dev_info *, uint64_t deadline);
/* Return `result` from ublk_ctl_run(), as the command will not end by itself. */
void ublk_ctl_give_up(struct ublk_ctl *, int result);
void ublk_ctl_encode(struct io_uring_sqe *, int fd, uint32_t op, const struct ublk_ctl_cmd *);

/* ublk_sync.c: calls that may block in the kernel, with a deadline (-ETIMEDOUT). ublk_sync() writes
 * back the page cache of /dev/ublkbN; ublk_halt() sends STOP_DEV for a device that another process
 * serves. */
int ublk_sync(struct loop *, int dev, uint32_t id, uint64_t deadline);
int ublk_halt(struct loop *, int dev, uint32_t id, uint64_t deadline);

/* One tag: one request of the kernel at a time, executed in one piece or several. */
struct ublk_tag {
	struct ublk_tag *next; /* completed, but the result is delayed */
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
	int refused; /* the first unexpected result of the driver */
	/* for status, read by the device's thread */
	uint64_t requests;
	struct io_count count;
	/* Until then writes of an earlier run may still be executed. As a late write is harmless
	 * unless newer data was written to its blocks, writes are completed only then (as
	 * block/paths does after the loss of a path). */
	uint64_t quiet_ns;
	struct loop_timer quiet;
	struct ublk_tag *done;

	struct io_uring ring;
	struct loop_fd fd;
	struct loop_poller poller;
	struct loop_work enter;
	struct loop_timer again;
	struct loop_msg drained, failed; /* posted to home */
	unsigned prepared;
	bool ring_on, watched, mapped, drained_posted, failed_posted;
	size_t desc_len;
	struct pool *pool;
	uint8_t *lower;
};

/* ublk_io.c */
/* FETCH or COMMIT_AND_FETCH of a tag has completed: with a request, or the tag is lost. */
void ublk_io_result(struct ublk_queue *, uint64_t tag, int result);
void ublk_io_init(struct ublk_queue *); /* uses lim and quiet_ns */

/* ublk_queue.c, on the queue's thread. It posts `drained` (all tags are lost and completed) and
 * `failed` (a tag was refused). */
struct ublk_place { /* argument of ublk_queue_open() */
	struct ublk_queue *queue;
	struct bdev *bdev;
	const struct ublk_dev_info *info;
	int cdev;
	const cpu_set_t *cpus; /* NULL: any */
	struct diag *diag;
};
int ublk_queue_open(struct loop *, void *place); /* on return all tags have been fetched */
/* fail all requests, also later ones */
int ublk_queue_fail(struct loop *, void *queue);
int ublk_queue_close(struct loop *, void *queue); /* no request is held here */
/* Complete the request, result: bytes transferred (0 for kinds without data) or -errno, and fetch
 * the next one. */
void ublk_queue_commit(struct ublk_queue *, unsigned tag, int result);
void ublk_queue_encode(
	struct io_uring_sqe *, const struct ublk_queue *, unsigned tag, uint32_t op, int result);

struct ublk {
	struct loop *loop;
	struct ublk_options opt;
	struct ublk_ctl ctl;
	struct ublk_dev_info info;
	struct ublk_params params;
	uint64_t deadline; /* to become ready; 0: none */
	uint64_t quiet_ns; /* copied to the queues */
	int cdev;
	bool added, recovered, started, stopping;
	struct ublk_queue *queue;
	unsigned opened, drained; /* counts of queues */
	volatile int all_drained; /* all queues are over */
	cpu_set_t *cpus;          /* one per queue */
};

/* ublk.c */
void ublk_pause(struct loop *, unsigned ms); /* runs the loop */
/* Run a control command for this device until its deadline. */
int ublk_cmd(struct ublk *, uint32_t op, uint64_t data, void *payload, uint16_t len);
/* Set the diag to "what /dev/ublkb0: …" and return rc. */
int ublk_failed(const struct ublk *, int rc, const char *what, struct diag *);
void ublk_fill_info(const struct ublk_dev_info *, struct ublk_info *);
/* ublk_make.c: create or take over a device, and open its cdev; its queues are not open yet. */
int ublk_make(struct ublk *, struct diag *);
