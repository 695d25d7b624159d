/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One request of any length to a disk, executed as consecutive requests within the disk's limits.
 * Embedded in the command of a server, used on the lane's thread only. Allocates nothing. */
#pragma once
#include "bdev.h"

/* The caller sets io.lower and io.own once, and lane, buf, off, len, kind, flags and done before
 * split_start(). off and len are whole blocks inside the disk, len > 0 (FLUSH: both 0), and the
 * disk supports that kind. COMPARE_WRITE is not split: refuse one longer than lim.max. */
struct split {
	struct io io; /* the current request; its status and detail at done() are the result */
	struct lane *lane;
	struct buf buf;        /* READ, WRITE: data of the next request; MAP: for the result */
	uint64_t off, len, at; /* at: bytes completed */
	uint8_t kind, flags;   /* FUA: followed by a flush if the disk has no FUA */
	bool flushing;         /* private: the flush for FUA is in flight */
	bool stopped;          /* private: split_stop() */
	void (*done)(struct split *);
};

/* Start it; done() follows, not from within. The first error ends it. MAP is one request, whose
 * result may end before `len`. To cancel: bdev_cancel(split->lane, &split->io). */
void split_start(struct split *);
/* Submit no further request or flush after the current one. If parts are missing then, the status
 * is -ECANCELED. Allowed at any time. */
static inline void split_stop(struct split *split)
{
	split->stopped = true;
}
