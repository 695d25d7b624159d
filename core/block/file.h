/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Between file.c (what the file is) and file_lane.c (how requests reach it). */
#pragma once
#include "bdev.h"
#include "file_lock.h"
#include "hands.h"
#include "loop.h"

#define FILE_DEPTH  128
#define FILE_ZEROES (1u << 20)
#define FILE_HEADER 32u

struct file {
	struct bdev bdev;
	int fd, direct; /* page cache, with the locks; O_DIRECT or -1 */
	struct file_writer writer;
	/* remote: even its size may wait for another machine, or another program */
	bool device, remote;
	int no_ring;    /* -errno: lanes use threads only */
	uint32_t align; /* of address, offset and length for `direct` */
	uint64_t eof;   /* atomic: what lies before it must be readable */
	uint64_t end;   /* atomic: of requests; less than lim.size when it has shrunk */
	void *zeroes;   /* FILE_ZEROES bytes; NULL when read-only */
	struct loop_work tell;
	struct loop_timer watch; /* its size */
	struct hands hands;      /* that ask for it if `remote` */
	struct hand_job ask;
	bool asking, answered;
	uint64_t size; /* the answer */
	struct hand_job read_header;
	bool reading;
	uint8_t header[FILE_HEADER];
	size_t header_len; /* what was read of it */
	char path[URI_MAX];
};

struct file_op {      /* one step of an io as the kernel sees it */
	uint8_t step; /* enum file_step */
	bool bypass;  /* the page cache */
	bool fua;
	int mode;
	uint8_t *p;
	uint32_t len;
	uint64_t off;
};

struct file_io {             /* io.lower */
	uint32_t at;         /* bytes of the io that are done */
	struct file_op op;   /* the step in work */
	struct hand_job job; /* of a step that a thread takes */
	struct file_lane *lane;
	struct io *io;
	int64_t res;
};

/* The end of the last block of a regular file now: a change beyond it would extend a file that
 * shrank. UINT64_MAX if unknown. Does not block. */
uint64_t file_end(const struct file *);
/* 0, or -errno: this kernel or container does not offer what a lane needs of io_uring. */
int file_ring_try(void);
int file_lane_open(struct lane **, struct bdev *, struct loop *, struct diag *);
