/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ios of a lane that are done before they were sent: done() never runs inside submit(), so it waits
 * for the kick. */
#pragma once
#include "bdev.h"

struct later {
	struct io *head, **tail;
};

static inline void later_init(struct later *later)
{
	later->head = NULL;
	later->tail = &later->head;
}

static inline void later_done(struct later *later, struct io *io, int status)
{
	io->status = status;
	io->detail = 0;
	io->next = NULL;
	*later->tail = io;
	later->tail = &io->next;
}

static inline void later_run(struct later *later)
{
	struct io *io = later->head, *next;

	later_init(later);
	for (; io; io = next) {
		next = io->next;
		io->done(io);
	}
}
