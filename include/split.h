/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One request to a disk that may be longer than the disk takes at once: done in runs, one after
 * another. Embedded in the slot of a server's command. Nothing is allocated and nothing is shared,
 * so a request is the lane's thread's alone. */
#pragma once
#include "bdev.h"

/* The owner sets io.lower and io.own once, all else before split_start(). off and len are whole
 * blocks inside the disk, len > 0 (FLUSH: both 0), and the disk does that kind. COMPARE_WRITE can't
 * be split: a longer one than the disk takes is the owner's to refuse. */
struct split {
	struct io io; /* the run in work; once done its status and detail are the request's */
	struct lane *lane;
	struct buf buf;        /* READ, WRITE: where the next run's data is; MAP: for the answer */
	uint64_t off, len, at; /* at: bytes done */
	uint8_t kind, flags;   /* FUA also where the disk has none: a flush follows the last run */
	bool flushing;         /* set here: the request itself is done, its flush is in work */
	bool stopped;          /* set here */
	void (*done)(struct split *);
};

/* done() follows, never inside. The first error ends the request. MAP is one run, which may end
 * before `len`. To cancel the run in work: bdev_cancel(split->lane, &split->io). */
void split_start(struct split *);
/* The owner is leaving: what is in work ends by itself, no further run or flush is submitted. A
 * request that is cut short by this ends with -ECANCELED. Allowed at any time. */
static inline void split_stop(struct split *split)
{
	split->stopped = true;
}
