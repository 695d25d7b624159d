/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of the ublk front know of one another: the device and its life (ublk.c), which one
 * it is (ublk_make.c), its end from elsewhere (ublk_delete.c), commands to the driver (ublk_ctl.c),
 * a queue on its loop (ublk_queue.c), a request (ublk_io.c). */
#pragma once
#include "export.h"
#include "split.h"
#include "uapi/ublk.h"
#include <liburing.h>
#include <sched.h>

#define UBLK_SECTOR_SHIFT 9
#define UBLK_PAGE_SHIFT   12
/* in what the kernel keeps for a server: others keep a few low bits there */
#define UBLK_KEY_OURS (1ull << 63)
#define UBLK_PATH     32  /* of /dev/ublkcN with its zero: what unprivileged devices want told */
#define UBLK_PAYLOAD  512 /* most bytes of one command */

/* A block device of this kernel, /dev/ublkbN, with a bdev behind it. One lane and one ring a queue,
 * queue i on loops[i % nloops]. */
struct ublk_options {
	struct bdev *bdev;
	int dev; /* descriptor of /dev, of kernel_ublk_open() */
	int id;  /* N; -1 = the device a former run left with this key, else a new one */
	/* what is behind it, kept by the kernel: a process started again takes its device over. 0 =
	 * never */
	uint64_t key;
	/* buffer: longest request, bytes. 0 = as the bdev and the kernel like it */
	unsigned queues, depth, buffer;
	bool ro, unprivileged;
	/* On the caller's loop: another process (`detach`) or the kernel removed the device. Call
	 * ublk_stop(). */
	void (*ended)(struct ublk *, void *user);
	/* ublk_start() waits for processes that have what a former run left of device N open; or
	 * NULL */
	void (*held)(unsigned id, void *user);
	void *user;
	struct loop *const *loops;
	unsigned nloops;
};

/* Adds (or takes over) the device and starts it: it can be opened when this returns. Runs the loop
 * meanwhile. If the process ends, a device with a key stays and its requests wait for a later
 * ublk_start() with the same key. After a failure that sets *ublk the device still uses the disk:
 * the process has to end. */
int ublk_start(struct ublk **, struct loop *, const struct ublk_options *, uint32_t timeout_ms,
	struct diag *);
void ublk_info(const struct ublk *, struct ublk_info *);
/* Stops and deletes the device, what is in flight answered and flushed, then frees. Runs the loop.
 * The device's holders are the caller's question. The flush's failure: data may not be on the disk.
 * -EINPROGRESS: it did not answer, as in nbd_server_stop(), and the device is left as it is. */
int ublk_stop(struct ublk *, uint32_t timeout_ms, struct diag *);

/* The control device: one command at a time. */
struct ublk_ctl {
	struct loop *loop;
	struct io_uring ring;
	struct loop_fd fd;
	int dev, control;
	uint64_t features;
	bool with_path; /* the device is unprivileged */
	bool pending;   /* the kernel has a command still: this memory stays */
	volatile int over;
	int result;
	uint8_t payload[UBLK_PATH + UBLK_PAYLOAD];
};

int ublk_ctl_open(struct ublk_ctl *, struct loop *, int dev, struct diag *);
void ublk_ctl_close(struct ublk_ctl *);
/* Runs the loop until the command has ended: its result, or -ETIMEDOUT (deadline on loop_clock()'s
 * scale, 0 = none). The payload is sent, and what the kernel made of it comes back. */
int ublk_ctl_run(struct ublk_ctl *, uint32_t op, uint32_t id, uint64_t data, void *payload,
	uint16_t len, uint64_t deadline);
/* settles with_path too */
int ublk_ctl_info(struct ublk_ctl *, uint32_t id, struct ublk_dev_info *, uint64_t deadline);
/* Ends the waiting for a command that will not end by itself. */
void ublk_ctl_give_up(struct ublk_ctl *, int result);
void ublk_ctl_encode(struct io_uring_sqe *, int fd, uint32_t op, const struct ublk_ctl_cmd *);

/* ublk_sync.c, for whom the disk may keep waiting longer than he lives. -ETIMEDOUT as above. What
 * has been written to /dev/ublkbN goes to its disk; STOP_DEV of a device that another process
 * serves. */
int ublk_sync(struct loop *, int dev, uint32_t id, uint64_t deadline);
int ublk_halt(struct loop *, int dev, uint32_t id, uint64_t deadline);

/* One tag: a request of the kernel at a time, worked off in one run or several. */
struct ublk_tag {
	struct ublk_tag *next; /* done, but not answered yet */
	int result;
	struct split split;
	struct ublk_queue *queue;
	uint8_t *base;
	bool ours; /* its request is here, not with the kernel */
	bool lost; /* fetches nothing any more */
};

struct ublk_queue {
	struct ublk *ublk;
	struct loop *loop, *home; /* home: the device's */
	unsigned index, depth;
	uint32_t cap; /* bytes of a tag's memory */
	struct lane *lane;
	const struct bdev_limits *lim;
	bool ro;
	bool failing; /* every request ends with EIO */
	struct ublk_tag *tag;
	const struct ublk_desc *desc; /* the kernel's, one a tag */
	unsigned ours, lost;
	int refused; /* the first result that is neither a request nor the orderly end */
	/* For status, read by the device's thread */
	uint64_t requests;
	struct io_count count;
	/* Until then what a former run left on its way may still be executed. A late copy of a
	 * write is harmless as long as no newer one to the same blocks is sent, so writes are
	 * answered only then (as block/paths does it after a path died). */
	uint64_t quiet_ns;
	struct loop_timer quiet;
	struct ublk_tag *done;

	struct io_uring ring;
	struct loop_fd fd;
	struct loop_poller poller;
	struct loop_work enter;
	struct loop_timer again;
	struct loop_msg over, bad; /* to home */
	unsigned prepared;
	bool ring_on, watched, mapped, told_over, told_bad;
	size_t desc_len;
	struct pool *pool;
	uint8_t *lower;
};

/* ublk_io.c */
/* The kernel answered a tag's FETCH or COMMIT_AND_FETCH: a request has come, or the tag is lost. */
void ublk_io_result(struct ublk_queue *, uint64_t tag, int result);
void ublk_io_init(struct ublk_queue *); /* from lim and quiet_ns */

/* ublk_queue.c, on the queue's thread. Its messages: all tags are lost and answered; one was
 * refused. */
struct ublk_place { /* a queue to open, for loop_call() */
	struct ublk_queue *queue;
	struct bdev *bdev;
	const struct ublk_dev_info *info;
	int cdev;
	const cpu_set_t *cpus; /* NULL = wherever */
	struct diag *diag;
};
int ublk_queue_open(struct loop *, void *place); /* all tags are fetched when it returns */
/* answers all requests, now and from now on, with an error */
int ublk_queue_fail(struct loop *, void *queue);
int ublk_queue_close(struct loop *, void *queue); /* needs: no request here */
/* The request is answered: bytes moved, 0 for those that move none, or -errno. The tag fetches the
 * next. */
void ublk_queue_commit(struct ublk_queue *, unsigned tag, int result);
void ublk_queue_encode(
	struct io_uring_sqe *, const struct ublk_queue *, unsigned tag, uint32_t op, int result);

struct ublk {
	struct loop *loop;
	struct ublk_options opt;
	struct ublk_ctl ctl;
	struct ublk_dev_info info;
	struct ublk_params params;
	uint64_t deadline; /* of getting ready, 0 = none */
	uint64_t quiet_ns; /* of the queues */
	int cdev;
	bool added, recovered, started, stopping;
	struct ublk_queue *queue;
	unsigned opened, over; /* queues */
	volatile int gone;     /* all are over */
	cpu_set_t *cpus;       /* of each queue */
};

/* ublk.c */
void ublk_pause(struct loop *, unsigned ms); /* serving meanwhile */
/* to this device, until its deadline */
int ublk_cmd(struct ublk *, uint32_t op, uint64_t data, void *payload, uint16_t len);
/* "what /dev/ublkb0: …" */
int ublk_failed(const struct ublk *, int rc, const char *what, struct diag *);
void ublk_tell(const struct ublk_dev_info *, struct ublk_info *);
/* ublk_make.c: a device that waits for its queues, whose cdev is open. */
int ublk_make(struct ublk *, struct diag *);
