/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The copying from one open bdev to another: queue depth, holes, zeroes, verify, map. */
#pragma once
#include "copy.h"

/* A disk as named in the map. */
struct copy_disk {
	uint64_t size;
	char id[COPY_ID];  /* the same for all names of the disk; "": unnamed */
	char uri[URI_MAX]; /* for messages, without secrets */
	bool by_uri;       /* id is only an address, where another disk may be found now */
};
/* Set all members; control characters become '?', as each text is one line of the map. */
void copy_disk_set(struct copy_disk *, uint64_t size, const char *id, const char *uri);

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
