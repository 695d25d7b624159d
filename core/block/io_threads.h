/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads for calls that may block. Each lane starts its own on demand, so that a hanging disk does
 * not block others. All functions run on the home loop. */
#pragma once
#include "loop.h"

#define IO_THREADS_MAX 8

struct io_thread_job { /* belongs to the threads until done(); jobs run concurrently */
	void (*run)(struct io_thread_job *);  /* in a thread */
	void (*done)(struct io_thread_job *); /* on the loop */
	struct io_thread_job *next;
};

struct io_threads;
struct io_thread {
	struct loop_msg msg; /* to the thread and back */
	struct io_threads *io_threads;
	struct workers *workers;
	struct io_thread_job *job; /* NULL: idle */
};

struct io_threads {
	struct loop *home;
	unsigned count, most;
	struct io_thread io_thread[IO_THREADS_MAX];
	struct io_thread_job *first, **last; /* waiting */
};

void io_threads_init(struct io_threads *, struct loop *home);
/* Start the first thread; after that io_threads_add() can't fail. */
int io_threads_start(struct io_threads *, struct diag *);
int io_threads_add(
	struct io_threads *, struct io_thread_job *); /* 0, or -errno if no thread can be started */
void io_threads_fini(struct io_threads *);            /* needs: all jobs done */
