/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Complete ios of a lane that are not sent: done() must not be called inside submit(), so it is
 * called at the end of the turn. */
#pragma once
#include "bdev.h"

struct deferred {
	struct io *head, **tail;
	struct loop *loop;
	struct loop_work work;
};

static inline void deferred_run(struct deferred *deferred)
{
	struct io *io = deferred->head, *next;

	deferred->head = NULL;
	deferred->tail = &deferred->head;
	for (; io; io = next) {
		next = io->next;
		io->done(io);
	}
}

static inline void deferred_work(struct loop_work *work)
{
	deferred_run(container_of(work, struct deferred, work));
}

static inline void deferred_init(struct deferred *deferred, struct loop *loop)
{
	*deferred = (struct deferred){
		.loop = loop, .tail = &deferred->head, .work.run = deferred_work
	};
}

static inline void deferred_fini(struct deferred *deferred)
{
	loop_work_del(deferred->loop, &deferred->work);
}

static inline void deferred_complete(struct deferred *deferred, struct io *io, int status)
{
	io->status = status;
	io->detail = 0;
	io->next = NULL;
	*deferred->tail = io;
	deferred->tail = &io->next;
	loop_work_add(deferred->loop, &deferred->work);
}
