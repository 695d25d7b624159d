/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The ends of a copy by their names. */
#pragma once
#include "copy_run.h"

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
/* Name a disk: `key` identifies it ("": nothing does), text is its URI or path, whose file may be
 * missing. */
void copy_disk_name(struct copy_disk *, const char *text, const char *key, uint64_t size);
