/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Archives for the kernel's initramfs (cpio, newc). Paths in them have no leading '/'. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stdio.h>

#define CPIO_PATH 1024 /* bytes of a path, with the NUL */

struct cpio { /* zeroed, then set by the owner */
	uint32_t time;

	struct cpio_entry *entry; /* private */
	unsigned entries;
	uint64_t written;
};
/* Copy a path without "//", "/./" and the slashes around it. False: it has "..", is empty, too
 * long, or ends an archive. */
bool cpio_path(const char *from, char path[CPIO_PATH]);
/* The same for a file under its own path. Links to its directory are followed: /lib may be a link
 * in the initramfs, too, and the kernel would replace that by a directory. */
bool cpio_own_path(const char *file, char path[CPIO_PATH]);
/* Add a regular file, which is opened, or a link, and the directories above. Fails if the path was
 * added before. */
int cpio_add_file(struct cpio *, const char *file, const char *path, struct diag *);
int cpio_add_link(struct cpio *, const char *to, const char *path, struct diag *); /* keeps `to` */
/* Write the archive, aligned to 4 bytes in the file, where the kernel looks for it. Errors are
 * those of reading the added files; those of the stream are left to the caller. */
int cpio_write(struct cpio *, FILE *, struct diag *);
void cpio_free(struct cpio *);
