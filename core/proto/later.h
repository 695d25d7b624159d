/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ios of a lane that complete without being sent: done() must not run inside submit(), so it is
 * called at the end of the turn. */
#pragma once
#include "bdev.h"

struct later {
	struct io *head, **tail;
	struct loop *loop;
	struct loop_work work;
};

static inline void later_run(struct later *later)
{
	struct io *io = later->head, *next;

	later->head = NULL;
	later->tail = &later->head;
	for (; io; io = next) {
		next = io->next;
		io->done(io);
	}
}

static inline void later_worked(struct loop_work *work)
{
	later_run(container_of(work, struct later, work));
}

static inline void later_init(struct later *later, struct loop *loop)
{
	*later = (struct later){ .loop = loop, .tail = &later->head, .work.run = later_worked };
}

static inline void later_fini(struct later *later)
{
	loop_work_del(later->loop, &later->work);
}

static inline void later_done(struct later *later, struct io *io, int status)
{
	io->status = status;
	io->detail = 0;
	io->next = NULL;
	*later->tail = io;
	later->tail = &io->next;
	loop_work_add(later->loop, &later->work);
}
