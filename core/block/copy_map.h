/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The status of every byte of the source as extents, and the file that stores it. */
#pragma once
#include "copy_run.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* letters of ddrescue's mapfile, and two of our own, which are written as '?' */
enum copy_status {
	COPY_TODO = '?',
	COPY_BAD = '-',
	COPY_DONE = '+',
	COPY_WRITTEN = 'w', /* written, but not flushed */
	COPY_FLUSHING = 'f',
};

struct copy_extent {
	uint64_t off, len;
	uint8_t status;
};

enum { COPY_SRC, COPY_DST };

struct copy_map {
	struct copy_extent *extent; /* sorted, without gaps, neighbours differ */
	size_t count, room;
	uint64_t size;
	struct copy_disk disk[2]; /* the disks of the map: both named or neither */
};

int copy_map_init(struct copy_map *, uint64_t size, struct diag *);
void copy_map_fini(struct copy_map *);
/* Set the status of a range inside the map. 0 or -ENOMEM. */
int copy_map_set(struct copy_map *, uint64_t off, uint64_t len, uint8_t status);
/* Change all extents of one status to another. */
void copy_map_change_status(struct copy_map *, uint8_t from, uint8_t to);
uint8_t copy_map_status(const struct copy_map *, uint64_t off);
uint64_t copy_map_sum(const struct copy_map *, uint8_t status);
/* Find the first range at or after `from` whose status is one of the letters. False: none. */
bool copy_map_next(
	const struct copy_map *, uint64_t from, const char *letters, uint64_t *off, uint64_t *len);

/* Make extents end at multiples of unit, or at the end of the map: units that are only partly
 * finished or bad become COPY_TODO. 0 or -ENOMEM. */
int copy_map_align(struct copy_map *, uint32_t unit);

/* Format the file; `at` becomes its current position. The caller frees it. NULL = no memory. */
char *copy_map_text(const struct copy_map *, uint64_t at, size_t *len);
/* Replace the map's content; a file with another size is an error. Status letters other than + and
 * - become COPY_TODO. */
int copy_map_parse(struct copy_map *, const char *text, size_t len, struct diag *);
/* Without a file, or with an empty one, the map is unchanged. */
int copy_map_load(struct copy_map *, const char *path, struct diag *);
/* Check, without writing, whether the file could be written. 0 or -errno. */
int copy_map_writable(const char *path);
/* Replace the file atomically: after a crash it has the old or the new content. 0 or -errno. */
int copy_map_write(const char *path, const char *text, size_t len);
