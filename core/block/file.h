/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Between file.c (what the file is) and file_lane.c (how requests reach it). */
#pragma once
#include "bdev.h"
#include "file_lock.h"
#include "loop.h"

#define FILE_DEPTH 128
#define FILE_ZEROES (1u << 20)

struct file {
	struct bdev bdev;
	int fd, direct; /* page cache, with the locks; O_DIRECT or -1 */
	struct file_writer writer;
	bool device, remote; /* remote: what is asked of the file may wait for another machine, or another program */
	uint32_t align; /* of address, offset and length for `direct` */
	uint64_t eof; /* atomic: what lies before it must be readable */
	uint64_t end; /* atomic: of requests; less than lim.size when it has shrunk */
	void *zeroes; /* FILE_ZEROES bytes; NULL when read-only */
	struct loop_work tell;
	struct loop_timer watch; /* its size */
	char path[URI_MAX];
};

struct file_errand { /* an IO_MAP on its way to another thread and back */
	struct loop_msg msg;
	struct file_mapper *mapper;
	struct io *io;
	int status;
};

struct file_io { /* io.lower */
	uint32_t at; /* bytes of the io that are done */
	uint8_t step; /* enum file_step */
	bool bypass; /* the step goes past the page cache */
	struct file_errand errand;
};

int file_lane_open(struct lane **, struct bdev *, struct loop *, struct diag *);
