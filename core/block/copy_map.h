/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What has been copied, as extents that cover the source from its first byte to its last, and the
 * file that remembers it. */
#pragma once
#include "copy.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* the letters of ddrescue's mapfile, and two of our own that are written as '?' */
enum copy_status {
	COPY_TODO = '?',
	COPY_BAD = '-',
	COPY_DONE = '+',
	COPY_WRITTEN = 'w', /* but not flushed */
	COPY_FLUSHING = 'f',
};

struct copy_extent {
	uint64_t off, len;
	uint8_t status;
};

enum { COPY_SRC, COPY_DST };

struct copy_map {
	struct copy_extent *extent; /* sorted, no gaps, neighbours differ */
	size_t count, room;
	uint64_t size;
	struct copy_disk disk[2]; /* what it is of; both are named, or neither */
};

int copy_map_init(struct copy_map *, uint64_t size, struct diag *);
void copy_map_fini(struct copy_map *);
/* 0, -ENOMEM; needs: inside the map */
int copy_map_set(struct copy_map *, uint64_t off, uint64_t len, uint8_t status);
void copy_map_turn(struct copy_map *, uint8_t from, uint8_t to); /* every extent of one status */
uint64_t copy_map_sum(const struct copy_map *, uint8_t status);
/* The first range at or after `from` whose status is one of the letters. False: none. */
bool copy_map_next(
	const struct copy_map *, uint64_t from, const char *letters, uint64_t *off, uint64_t *len);

/* Ends extents at multiples of unit, or at the end of the map: what is only partly finished or bad
 * is to do. 0, -ENOMEM */
int copy_map_align(struct copy_map *, uint32_t unit);

/* The text of the file; at is the position it names as current. Caller frees. NULL = no memory. */
char *copy_map_text(const struct copy_map *, uint64_t at, size_t *len);
/* Replaces the map's content; of another size than the map's is an error. What had other letters
 * than + and - is to do. */
int copy_map_parse(struct copy_map *, const char *text, size_t len, struct diag *);
/* Without such a file, or with an empty one, the map stays as it is. */
int copy_map_load(struct copy_map *, const char *path, struct diag *);
/* Both 0 or -errno. The first: as far as it shows without writing. */
int copy_map_writable(const char *path);
/* In one step: the old file or the new one survives, whatever happens. */
int copy_map_write(const char *path, const char *text, size_t len);
