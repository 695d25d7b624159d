/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Turns of changes to one file. A direct write drops the cached pages that it covers; if a page is
 * dirty again by the end of the write, the kernel fails the next flush of the file with EIO, though
 * no data is lost. So changes through the page cache and direct ones that share a page run one
 * after the other, in the order in which they came, over all lanes and disks of this process.
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
struct file_turns *file_turns_get(const struct stat *); /* NULL: no memory */
void file_turns_put(struct file_turns *);               /* NULL: a no-op */
/* This process writes to the file already. */
bool file_turns_known(const struct stat *);
/* One of the disks uses, or no longer uses, direct I/O. */
void file_turns_direct(struct file_turns *, bool add);
/* Before the first and after the last change of a lane. */
void file_pace_add(struct file_turns *, struct file_pace *);
void file_pace_del(struct file_turns *, struct file_pace *);

/* Queue for a turn. True: it has come. False: ask file_turn_has() until it returns true.
 * file_turn_end() follows in both cases. */
bool file_turn_take(struct file_turns *, struct file_pace *, struct file_turn *, bool cached,
	uint64_t off, uint64_t len);
bool file_turn_has(struct file_turns *, const struct file_turn *);
void file_turn_end(struct file_turns *, struct file_pace *, struct file_turn *); /* none: a no-op */
