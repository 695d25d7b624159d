/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data and holes of a file, by lseek(2), which is not in io_uring and may block. */
#pragma once
#include "file.h"

/* Execute an IO_MAP. 0 or -errno. */
int file_map(const struct file *, struct io *);
