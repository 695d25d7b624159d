/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One writer for each file: locks keep other programs out, a list knows what this process has. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <sys/stat.h>

/* A file or device that this process writes to; zeroes before and after. */
struct file_writer {
	dev_t dev;
	ino_t ino; /* 0 of a device, which `dev` names */
	struct file_writer *next;
	bool listed;
};

/* Any thread. */
void file_writer_add(struct file_writer *, const struct stat *);
void file_writer_del(struct file_writer *);  /* also when it was not added */
bool file_writer_known(const struct stat *); /* this process writes to it already */

/* Locks it for writing, until the last descriptor of this open description is closed and its last
 * request has ended. -EBUSY: another program writes to it, or admits no writer; not with `force`.
 * Any other error: it is not locked, as the file system has no such locks; diag is not set. */
int file_lock(int fd, bool force, struct diag *);
