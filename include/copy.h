/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copying one bdev onto another: queue depth, holes, zeroes, verify, and a ddrescue-style map file
 * that survives kill -9. */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "loop.h"

#define COPY_ID (URI_MAX + 192)

/* A disk as the map names it. */
struct copy_disk {
	uint64_t size;
	char id[COPY_ID];  /* the same under every name of the disk; "" = not named */
	char uri[URI_MAX]; /* for people, without secrets */
	bool by_uri;       /* id says only where the disk was reached: it may be another one now */
};
/* Control characters become '?': each text is one line of the map. */
void copy_disk_set(struct copy_disk *, uint64_t size, const char *id, const char *uri);

struct copy_progress {
	uint64_t done, total; /* bytes looked at */
	uint64_t read;        /* from the source while copying */
	uint64_t resumed;     /* listed by the map as finished before the copy began */
	/* read and written; written as zero; known to be zero already; compared */
	uint64_t copied, zeroed, skipped, verified;
	uint64_t bad; /* bytes that could not be read (only with keep_going) */
	bool verifying;
	bool already;       /* the map said before the copy began that everything is copied */
	bool saved;         /* the map's file holds what this copy needs to be continued */
	bool lost;          /* failed: no connection for longer than the loss policy allows */
	uint8_t hash[32];   /* after success, if it was an option */
	double seconds, copy_seconds; /* of all, and without the comparison */
	double rate; /* bytes read from the source or verified per second of this phase */
	double left; /* seconds until everything is copied, or verified; 0 = unknown */
};

enum copy_hash_kind {
	COPY_NO_HASH,
	COPY_SHA256,
	/* the SHA-256 of the SHA-256 of each block of 64 KiB, followed by the length as 64 bits,
	 * little-endian */
	COPY_BLKHASH
};

struct copy_options {
	uint32_t depth;   /* requests in flight; 0 = 16 */
	uint32_t request; /* bytes each; 0 = 256 KiB or the disks' best */
	bool sparse;      /* holes and zero blocks are not written as data */
	bool dst_zero;    /* the destination reads as zeroes: new file, so zeroes need no write */
	bool verify;      /* read both again and compare */
	/* of the source; not with keep_going. Finished areas are read again */
	enum copy_hash_kind hash;
	bool keep_going;  /* unreadable areas are left out and recorded */
	/* the source ends where it ends: its size, until then, is only more than the destination
	 * holds */
	bool stream;
	/* unreadable areas become zeroes: the destination is a stream and cannot leave them out */
	bool fill_bad;
	const char *map; /* resume file, NULL = none; else src_is and dst_is are needed */
	const struct copy_disk *src_is, *dst_is; /* the map's; dst_zero: dst_is by uri */
	volatile int *stop; /* set by a signal: end cleanly with -EINTR, map saved */
	/* about four times a second, and at the end */
	void (*progress)(const struct copy_progress *, void *arg);
	void *arg;
};
/* What copy_run() refuses, found before the destination is opened, as opening may create it: a map
 * that is damaged, of another disk, or cannot be written. dst_is may be NULL: not known yet.
 * *done: bytes that the map calls finished. Runs the loop.
 * -ESTALE: the map is sound, but not of these disks as they are. */
int copy_check_map(struct loop *, const struct bdev *src, const struct copy_options *,
	uint64_t *done, struct diag *);
/* The destination can be written and, with dst_size bytes, holds the source (a stream's size is not
 * known). */
int copy_check_ends(const struct bdev *src, const struct bdev *dst, uint64_t dst_size, bool stream,
	struct diag *);
/* Counts what could not be read in progress->bad: not a failure by itself. The destination is
 * flushed at the end. -EHOSTUNREACH without progress->lost: the target answered that it can't reach
 * the disk, -EAGAIN: that it can't execute the request yet, for the time of the loss policy. */
int copy_run(struct loop *, struct bdev *src, struct bdev *dst, const struct copy_options *,
	struct copy_progress *, struct diag *);
