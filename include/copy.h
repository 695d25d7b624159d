/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copy one bdev to another: queue depth, holes, zeroes, verify, and a ddrescue-style map file that
 * survives kill -9. */
#pragma once
#include "bdev.h"

#define COPY_ID (URI_MAX + 192)

/* A disk as named in the map. */
struct copy_disk {
	uint64_t size;
	char id[COPY_ID];  /* the same for all names of the disk; "": unnamed */
	char uri[URI_MAX]; /* for messages, without secrets */
	bool by_uri;       /* id is only an address, where another disk may be found now */
};
/* Set all members; control characters become '?', as each text is one line of the map. */
void copy_disk_set(struct copy_disk *, uint64_t size, const char *id, const char *uri);

/* Name a disk: `key` identifies it ("": nothing does), text is its URI or path, whose file may be
 * missing. */
void copy_disk_name(struct copy_disk *, const char *text, const char *key, uint64_t size);

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

struct copy_options {
	uint32_t depth;   /* requests in flight; 0: 16 */
	uint32_t request; /* bytes each; 0: 256 KiB or bdev_limits.best */
	bool sparse;      /* zero blocks are not written as data */
	bool dst_zero;    /* the destination reads as zeroes (a new file): skip zeroes */
	bool verify;      /* read both afterwards and compare */
	/* of the source; not with keep_going. Reads areas finished by an earlier run, too. */
	enum copy_hash_kind hash;
	bool keep_going; /* skip and record unreadable areas */
	/* the source is a stream: until its end is read, its size is only a limit above the size of
	 * the destination */
	bool stream;
	/* write zeroes for unreadable areas, as the destination is a stream */
	bool fill_bad;
	const char *map; /* map file, needs src_is and dst_is; NULL: none */
	const struct copy_disk *src_is,
		*dst_is;    /* for the map; with dst_zero dst_is may be by_uri */
	volatile int *stop; /* set by a signal handler: save the map and return -EINTR */
	/* called about four times a second and at the end */
	void (*progress)(const struct copy_progress *, void *arg);
	void *arg;
};
/* Check the map before the destination is opened, as opening may create it: that it is valid, of
 * these disks, and can be written. dst_is may be NULL: unknown yet. *done: finished bytes of the
 * map. Runs the loop. -ESTALE: a valid map, but of other disks or sizes. */
int copy_check_map(struct loop *, const struct bdev *src, const struct copy_options *,
	uint64_t *done, struct diag *);
/* Check that the destination can be written and, unless the source is a stream, is large enough. */
int copy_check_ends(const struct bdev *src, const struct bdev *dst, uint64_t dst_size, bool stream,
	struct diag *);
/* Copy, then flush the destination. With keep_going, unreadable bytes are counted in progress->bad
 * and not a failure. Runs the loop. -EHOSTUNREACH without progress->lost: the target reported that
 * it can't reach the disk. -EAGAIN: it was not ready within the time of the loss policy. */
int copy_run(struct loop *, struct bdev *src, struct bdev *dst, const struct copy_options *,
	struct copy_progress *, struct diag *);

/* The ends before they are opened, which may create the destination. */
struct copy_ends {
	const char *src, *dst; /* URIs or paths; "-": standard input or output */
	const char *map;       /* file; NULL: none */

	/* set by copy_ends_check(), if the destination is a file: */
	char path[URI_MAX];
	uint64_t length; /* bytes */
	bool regular;    /* a regular file, or to become one */
	bool missing, empty;
};
/* Refuse one disk as both ends, a map that is an end, and a new file that can't be created; set the
 * rest of *ends, which was zero. */
int copy_ends_check(struct copy_ends *, struct diag *);
/* Refuse one disk as both ends, once they are open. */
int copy_ends_differ(const struct copy_ends *, const struct bdev_id *src, const struct bdev_id *dst,
	struct diag *);
/* Check that a missing destination can be created, or an empty one written. */
int copy_ends_writable(const struct copy_ends *, struct diag *);
/* After a failure, remove the file that this copy created, unless something was copied. open_error:
 * why the destination could not be opened, or NULL: if the file is locked or has data, another
 * process may have created it. */
void copy_ends_remove(
	const struct copy_ends *, const struct copy_progress *, const struct diag *open_error);

/* Text of progress and result. waiting: requests are held until a connection is restored. */
#define COPY_LINE 256
/* Format a line of that many columns; with fewer than 75 it has no bar. */
const char *copy_bar(
	const struct copy_progress *, bool waiting, unsigned columns, char line[COPY_LINE]);
void copy_progress_json(const struct copy_progress *, bool waiting); /* a line on stderr */
/* "copied 64 MiB in 1.0 s (64 MiB/s), 2 MiB of it zeroes" */
const char *copy_result_text(const struct copy_progress *, bool verified, char line[COPY_LINE]);
/* Bytes read from the source per second: holes that it reported are not read. */
double copy_average(const struct copy_progress *);
struct out;
void copy_show_counts(struct out *, const struct copy_progress *, bool resumed); /* JSON members */
