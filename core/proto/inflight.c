/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* In-flight table: slots come from a free list, deadlines are a list sorted by time. Almost all
 * commands of a connection have the same time limit, so a new one is appended at the end; the timer
 * is moved only when it fires. */
#include "inflight.h"
#include <errno.h>
#include <stdlib.h>

static void timer_fired(struct loop_timer *timer)
{
	struct inflight *inflight = container_of(timer, struct inflight, timer);
	struct inflight_slot *first = inflight->first;

	if (!first)
		return;
	if (first->deadline_ns > loop_now(inflight->loop))
		loop_timer_set(inflight->loop, timer, first->deadline_ns);
	else
		inflight->timed_out(inflight, first);
}

int inflight_init(struct inflight *inflight, struct loop *loop, uint16_t count, uint32_t slot_size,
	void (*timed_out)(struct inflight *, struct inflight_slot *), struct diag *diag)
{
	uint8_t *slots = calloc(count, slot_size);

	if (!slots)
		return diag_sys(diag, ENOMEM, "table of %u requests", count);
	*inflight = (struct inflight){ .slots = slots,
		.size = slot_size,
		.count = count,
		.limit = count,
		.loop = loop,
		.timed_out = timed_out };
	inflight->waiting_end = &inflight->waiting;
	inflight->timer.fire = timer_fired;
	for (uint16_t i = count; i--;) {
		struct inflight_slot *slot = inflight_slot(inflight, i);

		slot->tag = i;
		slot->next = inflight->free;
		inflight->free = slot;
	}
	return 0;
}

void inflight_fini(struct inflight *inflight)
{
	if (!inflight->slots)
		return;
	loop_timer_del(inflight->loop, &inflight->timer);
	free(inflight->slots);
	inflight->slots = NULL;
}

void inflight_limit(struct inflight *inflight, uint32_t limit)
{
	inflight->limit = limit < inflight->count ? (uint16_t)limit : inflight->count;
}

static void insert_deadline(struct inflight *inflight, struct inflight_slot *slot)
{
	struct inflight_slot *before = inflight->last;

	while (before && before->deadline_ns > slot->deadline_ns)
		before = before->prev;
	slot->prev = before;
	slot->next = before ? before->next : inflight->first;
	*(before ? &before->next : &inflight->first) = slot;
	*(slot->next ? &slot->next->prev : &inflight->last) = slot;
	if (!inflight->timer.on || slot->deadline_ns < inflight->timer.at_ns)
		loop_timer_set(inflight->loop, &inflight->timer, slot->deadline_ns);
}

void *inflight_take(struct inflight *inflight, void *owner, uint64_t deadline_ns)
{
	struct inflight_slot *slot = inflight->free;

	if (inflight->used >= inflight->limit)
		return NULL;
	inflight->free = slot->next;
	inflight->used++;
	slot->owner = owner;
	slot->deadline_ns = deadline_ns;
	slot->unsent = 0;
	slot->replied = false;
	if (deadline_ns)
		insert_deadline(inflight, slot);
	return slot;
}

static void remove_deadline(struct inflight *inflight, struct inflight_slot *slot)
{
	*(slot->prev ? &slot->prev->next : &inflight->first) = slot->next;
	*(slot->next ? &slot->next->prev : &inflight->last) = slot->prev;
}

/* May be called inside timed_out(), after which no timer is set. */
void inflight_extend(struct inflight *inflight, struct inflight_slot *slot, uint64_t deadline_ns)
{
	remove_deadline(inflight, slot);
	slot->deadline_ns = deadline_ns;
	insert_deadline(inflight, slot);
	loop_timer_set(inflight->loop, &inflight->timer, inflight->first->deadline_ns);
}

void *inflight_drop(struct inflight *inflight, struct inflight_slot *slot)
{
	void *owner = slot->owner;

	if (slot->deadline_ns)
		remove_deadline(inflight, slot);
	slot->owner = NULL;
	slot->next = inflight->free;
	inflight->free = slot;
	inflight->used--;
	return owner;
}

void inflight_enqueue(struct inflight *inflight, struct io *io)
{
	io->next = NULL;
	*inflight->waiting_end = io;
	inflight->waiting_end = &io->next;
}

struct io *inflight_dequeue(struct inflight *inflight)
{
	struct io *io = inflight->waiting;

	if (!io)
		return NULL;
	inflight->waiting = io->next;
	if (!inflight->waiting)
		inflight->waiting_end = &inflight->waiting;
	return io;
}
