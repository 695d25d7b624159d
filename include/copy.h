/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copy a disk to another one: checks, opening, holes, verify, a ddrescue-style map file that
 * survives kill -9, and the printed result. */
#pragma once
#include "bdev.h"

struct copy_progress {
	uint64_t done, total; /* bytes processed */
	uint64_t read;        /* from the source, except to verify */
	uint64_t resumed;     /* finished by an earlier run, according to the map */
	/* read and written; zeroed; known to be zero in the destination; compared */
	uint64_t copied, zeroed, skipped, verified;
	uint64_t bad; /* unreadable bytes (only with keep_going) */
	bool verifying;
	bool already; /* complete according to the map before the start */
	bool saved;   /* the map file has all that is needed to continue */
	bool lost;    /* failed as the connection was lost for longer than the loss policy allows */
	uint8_t hash[32];             /* after success, with options.hash */
	double seconds, copy_seconds; /* in total, and without verifying */
	double rate;                  /* bytes per second of this phase (copy or verify) */
	double left;                  /* seconds until the end of the phase; 0: unknown */
};

enum copy_hash_kind {
	COPY_NO_HASH,
	COPY_SHA256,
	/* the SHA-256 of the SHA-256 of each block of 64 KiB, followed by the length as 64 bits,
	 * little-endian */
	COPY_BLKHASH
};

struct out;
struct out_notes;
#define COPY_ID (URI_MAX + 192)

struct copy_job {
	const char *src, *dst; /* URIs or paths; "-": standard input or output */
	const char *map;       /* file, to record progress and continue; NULL: none */
	uint32_t depth;        /* requests in flight; 0: 16 */
	uint32_t request;      /* bytes each; 0: 256 KiB or bdev_limits.best */
	bool sparse;           /* zero blocks are not written as data */
	bool verify;           /* read both afterwards and compare */
	/* of the source; not with keep_going. Reads areas finished by an earlier run, too. */
	enum copy_hash_kind hash;
	bool keep_going;           /* skip and record unreadable areas */
	bool dry_run;              /* check everything and print the plan */
	bool show_bar, show_lines; /* progress on stderr: a bar, or lines of JSON */
	struct loop *loop;
	struct out *out;
	const struct out_notes *notes;
	volatile int *stop; /* set by a signal handler: save the map, end with -EINTR */
	bool *running;      /* set while there are results to save */
	/* Open an end. length: of a file to be created; of standard input: the most it may have. */
	int (*open)(struct copy_job *, const char *uri, bool write, uint64_t length, struct bdev **,
		struct diag *);
	/* Identify a disk, which is NULL for a file that is not open, whatever it is called.
	 * False: the key is only an address, or "". */
	bool (*key)(const char *uri, const struct bdev *, char key[COPY_ID]);
	/* Called if the copy failed: return rc, or set another reason. */
	int (*failed)(struct copy_job *, int rc, struct diag *);
	bool timed_out; /* set by failed(): the time limit of the command has passed */

	struct copy_progress progress; /* the result */
};
/* Check, open, copy, flush the destination, and print the result. With keep_going, unreadable bytes
 * are counted in progress.bad and not a failure. Runs the loop. Returns 0 or -errno; a file that
 * was created is then removed, unless something was copied. */
int copy_job_run(struct copy_job *, struct diag *);
