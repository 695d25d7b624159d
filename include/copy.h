/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copying one bdev onto another: queue depth, holes, zeroes, verify, and a ddrescue-style map file that survives kill -9. */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "loop.h"

struct copy_progress {
	uint64_t done, total; /* bytes looked at */
	uint64_t copied, zeroed, skipped, verified; /* read and written; written as zero; known to be zero already; compared */
	uint64_t bad; /* bytes that could not be read (only with keep_going) */
	bool verifying;
	double seconds;
};

struct copy_options {
	uint32_t depth; /* requests in flight; 0 = 16 */
	uint32_t request; /* bytes each; 0 = 256 KiB or the disks' best */
	bool sparse; /* holes and zero blocks are not written as data */
	bool dst_zero; /* the destination reads as zeroes: new file, so zeroes need no write */
	bool verify; /* read both again and compare */
	bool keep_going; /* unreadable areas are left out and recorded */
	bool stream; /* the source ends where it ends: its size, until then, is only more than the destination holds */
	bool fill_bad; /* unreadable areas become zeroes: the destination is a stream and cannot leave them out */
	const char *map; /* resume file, NULL = none */
	volatile int *stop; /* set by a signal: end cleanly with -EINTR, map saved */
	void (*progress)(const struct copy_progress *, void *arg); /* about four times a second, and at the end */
	void *arg;
};
/* Counts what could not be read in progress->bad; that alone is no failure. The destination is flushed at the end. */
int copy_run(struct loop *, struct bdev *src, struct bdev *dst, const struct copy_options *, struct copy_progress *, struct diag *);
