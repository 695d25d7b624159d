/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Local block devices with a bdev behind them. */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "loop.h"
#include "uri.h"

struct ublk;
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
	/* The device is gone though nobody here stopped it (`detach`, or the kernel): ublk_stop()
	 * is due. On the caller's loop. */
	void (*ended)(struct ublk *, void *user);
	/* ublk_start() waits for processes that have what a former run left of device N open; or
	 * NULL */
	void (*held)(unsigned id, void *user);
	void *user;
	struct loop *const *loops;
	unsigned nloops;
};

/* Adds (or takes over) the device and starts it: it can be opened when this returns. Runs the loop
 * meanwhile. The end of the process leaves the device, if it has a key, to a later ublk_start()
 * with the same; till then requests wait. A failure that sets *ublk is one that holds on to the
 * disk: the process is to end. */
int ublk_start(struct ublk **, struct loop *, const struct ublk_options *, uint32_t timeout_ms,
	struct diag *);
struct ublk_info {
	unsigned id;
	bool ours;      /* not another program's */
	bool live;      /* else its server is gone */
	bool recovered; /* taken over from a former run */
	int pid;        /* of the server */
	unsigned queues, depth, buffer;
	/* Of ublk_info() only: bytes; so far */
	uint64_t size, requests;
	struct io_count count;
};
void ublk_info(const struct ublk *, struct ublk_info *);
/* Stops and deletes the device, what is in flight answered and flushed, then frees. Runs the loop.
 * The device's holders are the caller's question. The flush's failure: data may not be on the disk.
 * -EINPROGRESS: it did not answer, as in nbd_server_stop(), and the device is left as it is. */
int ublk_stop(struct ublk *, uint32_t timeout_ms, struct diag *);

/* From another process. */
/* -ENODEV: there is no such device */
int ublk_look(int dev, struct loop *, unsigned id, struct ublk_info *, struct diag *);
/* What was written to it is on its disk. -ETIMEDOUT: its server does not answer. 0 too where there
 * is none any more. */
int ublk_flush(int dev, struct loop *, unsigned id, uint32_t timeout_ms, struct diag *);
/* Stops and deletes device N, whose server then sees `ended`; also one whose server is gone. What
 * was written is on its disk before, unless force says not to wait for it. -ENODEV as above. */
int ublk_delete(
	int dev, struct loop *, unsigned id, bool force, uint32_t timeout_ms, struct diag *);
