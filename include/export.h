/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Local block devices with a bdev behind them. */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "loop.h"
#include "uri.h"

struct ublk;
struct ublk_info {
	unsigned id;
	bool ours;      /* not another program's */
	bool live;      /* else its server is gone */
	bool recovered; /* taken over from a former run */
	int pid;        /* of the server */
	unsigned queues, depth, buffer;
	/* known to the server alone: bytes; so far */
	uint64_t size, requests;
	struct io_count count;
};

/* From another process. -ENODEV: there is no such device */
int ublk_look(int dev, struct loop *, unsigned id, struct ublk_info *, struct diag *);
/* What was written to it is on its disk. -ETIMEDOUT: its server does not answer. 0 too where there
 * is none any more. */
int ublk_flush(int dev, struct loop *, unsigned id, uint32_t timeout_ms, struct diag *);
/* Stops and deletes device N, whose server then sees `ended`; also one whose server is gone. What
 * was written is on its disk before, unless force says not to wait for it. -ENODEV as above. */
int ublk_delete(
	int dev, struct loop *, unsigned id, bool force, uint32_t timeout_ms, struct diag *);
