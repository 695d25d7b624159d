/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where a file has data and where holes: by lseek(2), which io_uring lacks and which may block. */
#pragma once
#include "file.h"

/* Writes the runs of an IO_MAP into its buffer: 0 or -errno. */
int file_map(const struct file *, struct io *);
