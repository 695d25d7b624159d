/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Order changes to one file. A direct write drops the cached pages that it covers. If a page is
 * dirty again at the end of the write, the kernel fails the next flush of the file with EIO,
 * although no data is lost. So cached and direct changes that share a page run one after the other,
 * in the order of their arrival, over all lanes and disks of this process.
 *
 * Direct changes are registered only while changes through the page cache are frequent. Otherwise a
 * lane only counts them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct file_turns; /* of a file or device that this process writes to */

struct file_turn { /* of a change; zero outside of it */
	uint8_t kind;
	uint64_t number; /* by arrival */
	uint64_t from, to;
	struct file_turn *next, **at;
};

struct file_pace {       /* of a lane */
	unsigned direct; /* atomic: direct changes in flight that are not registered */
	struct file_pace *next;
};

/* Any thread. */
/* Get a reference. NULL: no memory. */
struct file_turns *file_turns_get(const struct stat *);
void file_turns_put(struct file_turns *); /* NULL: a no-op */
/* Return whether this process writes to the file already. */
bool file_turns_known(const struct stat *);
/* A disk begins or ends to use direct I/O. */
void file_turns_direct(struct file_turns *, bool add);
/* Register a lane before its first change, until its last one has ended. */
void file_pace_add(struct file_turns *, struct file_pace *);
void file_pace_del(struct file_turns *, struct file_pace *);

/* Queue a change. True: it may run. False: poll file_turn_has() until it returns true. Call
 * file_turn_end() at its end in both cases. */
bool file_turn_take(struct file_turns *, struct file_pace *, struct file_turn *, bool cached,
	uint64_t off, uint64_t len);
bool file_turn_has(struct file_turns *, const struct file_turn *);
void file_turn_end(struct file_turns *, struct file_pace *, struct file_turn *); /* zeroed: no-op */
