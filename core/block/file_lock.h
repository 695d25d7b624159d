/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One writer per file: locks exclude other programs, a list contains the writers of this
 * process. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <sys/stat.h>

/* A file or device that this process writes to; all zero before and after. */
struct file_writer {
	dev_t dev;
	ino_t ino; /* 0 for a device, which `dev` identifies */
	struct file_writer *next;
	bool listed;
};

/* Any thread. */
void file_writer_add(struct file_writer *, const struct stat *);
void file_writer_del(struct file_writer *);  /* a no-op if it was not added */
bool file_writer_known(const struct stat *); /* whether this process writes to it already */

/* Lock the file for writing, until the last descriptor of this open description is closed and
 * its last request has completed. -EBUSY: another program writes to it or denies writing; not
 * with `force`. Any other error: not locked, because the file system lacks such locks; diag is
 * not set. */
int file_lock(int fd, bool force, struct diag *);
