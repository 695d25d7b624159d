/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by file.c (the file) and file_lane.c (requests to it). */
#pragma once
#include "bdev.h"
#include "file_turn.h"
#include "io_threads.h"
#include "loop.h"

#define FILE_DEPTH  128
#define FILE_ZEROES (1u << 20)
#define FILE_HEADER 32u

struct file {
	struct bdev bdev;
	int fd, direct; /* fd uses the page cache and holds the locks; direct: O_DIRECT, or -1 */
	struct file_turns *turns; /* NULL if read-only */
	bool no_direct;           /* atomic: a request to `direct` was rejected */
	/* remote: even fstat() may block on another host or program */
	bool device, remote;
	int no_ring;    /* -errno: lanes use threads only */
	uint32_t align; /* required of address, offset and length for `direct` */
	uint64_t eof;   /* atomic: file size */
	uint64_t end; /* atomic: requests must end before it; less than lim.size after the file has
			 shrunk */
	void *zeroes; /* FILE_ZEROES bytes; NULL if read-only */
	struct loop_work announce;
	struct loop_timer watch;      /* polls the size */
	struct io_threads io_threads; /* poll the size if `remote` */
	struct io_thread_job size_job;
	bool size_pending, size_known;
	uint64_t size; /* result of size_job */
	struct io_thread_job read_header;
	bool reading;
	bool stopping; /* BDEV_DOWN follows once both jobs have ended */
	uint8_t header[FILE_HEADER];
	size_t header_len; /* bytes read */
	char path[URI_MAX];
};

struct file_op {      /* the current step of an io, as passed to the kernel */
	uint8_t step; /* enum file_step */
	bool bypass;  /* bypass the page cache */
	bool fua;
	int mode;
	uint8_t *p;
	uint32_t len;
	uint64_t off;
};

struct file_io {                  /* io.lower */
	uint32_t at;              /* bytes of the io completed */
	int no_space;             /* -errno of the write; the step is a sync, to find its cause */
	struct file_op op;        /* the current step */
	struct io_thread_job job; /* for a step run by a thread */
	struct file_turn turn;
	struct file_lane *lane;
	struct io *io;
	int64_t res;
};

/* Return the current end of the last block of a regular file, which may have shrunk; a write beyond
 * it would extend the file. UINT64_MAX if unknown. Does not block. */
uint64_t file_end(const struct file *);
/* Check whether io_uring supports what a lane needs. 0 or -errno. */
int file_ring_try(void);
int file_lane_open(struct lane **, struct bdev *, struct loop *, struct diag *);
