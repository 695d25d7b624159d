/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where a file has data and where holes: lseek(2), which io_uring has not. Of a file on another machine it may wait for that machine. */
#pragma once
#include "file.h"

/* Writes the runs of an IO_MAP into its buffer: 0 or -errno. */
int file_map(const struct file *, struct io *);

/* The same on a thread of its own. `done` comes on the loop's thread, one after another. free: needs that all are done. */
struct file_mapper;
struct file_mapper *file_mapper_new(const struct file *, struct loop *, void (*done)(struct io *, int status)); /* NULL: no thread can be had */
void file_mapper_add(struct file_mapper *, struct io *);
void file_mapper_free(struct file_mapper *); /* may be NULL */
