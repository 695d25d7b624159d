/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* In-flight table: tags come from a free list, deadlines form a list sorted by time. As almost all
 * requests of a queue have the same patience, the place of a new one is the end; the timer is moved
 * only when it fires. */
#include "tags.h"
#include <errno.h>
#include <stdlib.h>

static void timer_fired(struct loop_timer *timer)
{
	struct tags *tags = container_of(timer, struct tags, timer);
	struct tag *first;

	if (tags->first == TAG_NONE)
		return;
	first = &tags->tag[tags->first];
	if (first->deadline_ns > loop_now(tags->loop))
		loop_timer_set(tags->loop, timer, first->deadline_ns);
	else
		tags->late(tags, first->owner);
}

int tags_init(struct tags *tags, struct loop *loop, uint16_t count,
	void (*late)(struct tags *, void *), struct diag *diag)
{
	struct tag *tag = calloc(count, sizeof(*tag));

	if (!tag)
		return diag_sys(diag, ENOMEM, "table of %u requests", count);
	*tags = (struct tags){ .tag = tag,
		.count = count,
		.first = TAG_NONE,
		.last = TAG_NONE,
		.loop = loop,
		.late = late };
	tags->waiting_end = &tags->waiting;
	tags->timer.fire = timer_fired;
	for (uint16_t i = 0; i < count; i++)
		tag[i].next = i + 1 < count ? i + 1 : TAG_NONE;
	return 0;
}

void tags_fini(struct tags *tags)
{
	if (!tags->tag)
		return;
	loop_timer_del(tags->loop, &tags->timer);
	free(tags->tag);
	tags->tag = NULL;
}

static void line_up(struct tags *tags, uint16_t i)
{
	struct tag *t = &tags->tag[i];
	uint16_t before = tags->last;

	while (before != TAG_NONE && tags->tag[before].deadline_ns > t->deadline_ns)
		before = tags->tag[before].prev;
	t->prev = before;
	t->next = before == TAG_NONE ? tags->first : tags->tag[before].next;
	*(before == TAG_NONE ? &tags->first : &tags->tag[before].next) = i;
	*(t->next == TAG_NONE ? &tags->last : &tags->tag[t->next].prev) = i;
	if (!tags->timer.on || t->deadline_ns < tags->timer.at_ns)
		loop_timer_set(tags->loop, &tags->timer, t->deadline_ns);
}

uint16_t tags_take(struct tags *tags, void *owner, uint64_t deadline_ns)
{
	uint16_t i = tags->free;

	if (tags->used == tags->count)
		return TAG_NONE;
	tags->free = tags->tag[i].next;
	tags->used++;
	tags->tag[i] = (struct tag){
		.owner = owner, .deadline_ns = deadline_ns, .prev = TAG_NONE, .next = TAG_NONE
	};
	if (deadline_ns)
		line_up(tags, i);
	return i;
}

void tags_drop(struct tags *tags, uint16_t i)
{
	struct tag *t = &tags->tag[i];

	if (t->deadline_ns) {
		*(t->prev == TAG_NONE ? &tags->first : &tags->tag[t->prev].next) = t->next;
		*(t->next == TAG_NONE ? &tags->last : &tags->tag[t->next].prev) = t->prev;
	}
	*t = (struct tag){ .next = tags->free };
	tags->free = i;
	tags->used--;
}

void tags_wait(struct tags *tags, struct io *io)
{
	io->next = NULL;
	*tags->waiting_end = io;
	tags->waiting_end = &io->next;
}

struct io *tags_next(struct tags *tags)
{
	struct io *io = tags->waiting;

	if (!io)
		return NULL;
	tags->waiting = io->next;
	if (!tags->waiting)
		tags->waiting_end = &tags->waiting;
	return io;
}
