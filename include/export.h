/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Local block devices with a bdev behind them. */
#pragma once
#include "bdev.h"

struct ublk;
struct ublk_info {
	unsigned id;
	bool ours;      /* not another program's */
	bool live;      /* its server process runs */
	bool recovered; /* taken over from an earlier run */
	int pid;        /* server process */
	unsigned queues, depth, buffer;
	/* only in the server process; size in bytes */
	uint64_t size, requests;
	struct io_count count;
};

/* Get information on a device of any process. dev: descriptor of /dev. -ENODEV: no such device. */
int ublk_query(int dev, struct loop *, unsigned id, struct ublk_info *, struct diag *);
/* Flush the device to its disk. 0 also if it no longer exists. -ETIMEDOUT: its server does not
 * respond. */
int ublk_flush(int dev, struct loop *, unsigned id, uint32_t timeout_ms, struct diag *);
/* Flush (unless force), stop and delete a device; its server calls ublk_options.ended. Also works
 * without a server. -ENODEV: no such device. */
int ublk_delete(
	int dev, struct loop *, unsigned id, bool force, uint32_t timeout_ms, struct diag *);
