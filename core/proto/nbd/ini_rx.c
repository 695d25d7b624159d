/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What an NBD server answers: replies and chunks cut out of the stream at any byte, checked, and
 * handed on. Headers go through a stage; data that is still to come is received straight into the
 * io's buffer. */
#include "ini.h"
#include <errno.h>

#define BIG       32768 /* from here on payload is not worth copying through the stage */
#define STAGE_FEW 4096  /* what is then taken beyond it: the next headers */
/* receives in one turn: the rest of the loop, and the deadlines, want theirs, however fast a server
 * errs */
#define ROUNDS 64

static bool broken(struct nbd_ini_lane *nl, const char *text)
{
	nbd_ini_link_fail(&nl->link, DIAG_PROTOCOL, EPROTO, text);
	return false;
}

static struct nbd_ini_slot *find(struct nbd_ini_lane *nl, uint64_t cookie)
{
	unsigned tag = cookie & 0xffff;
	struct nbd_ini_slot *slot = tags_owner(&nl->tags, tag) ? &nl->slot[tag] : NULL;

	return slot && slot->cookie == cookie && !slot->over ? slot : NULL;
}

/* Notes that a part of a read has come; false: some of it had come already, or the parts are too
 * many to be kept apart. */
static bool span_add(struct nbd_ini_slot *slot, uint32_t from, uint32_t to)
{
	struct nbd_ini_span *span = slot->span;
	unsigned i = slot->count;

	while (i && span[i - 1].from >= to)
		i--;
	if (i && span[i - 1].to > from)
		return false;
	if (i && span[i - 1].to == from) {
		span[i - 1].to = to;
		if (i < slot->count && span[i].from == to) {
			span[i - 1].to = span[i].to;
			memmove(&span[i], &span[i + 1], (--slot->count - i) * sizeof(*span));
		}
		return true;
	}
	if (i < slot->count && span[i].from == to) {
		span[i].from = from;
		return true;
	}
	if (slot->count == NBD_INI_SPANS)
		return false;
	memmove(&span[i + 1], &span[i], (slot->count++ - i) * sizeof(*span));
	span[i] = (struct nbd_ini_span){ from, to };
	return true;
}

static bool whole(const struct nbd_ini_slot *slot)
{
	return slot->count == 1 && slot->span[0].from == 0 && slot->span[0].to == slot->len;
}

/* Nothing more comes for this request. */
static bool reply_ends(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	/* "Terminating the transmission phase": after this error the client is to leave */
	if (slot->error == NBD_ESHUTDOWN) {
		nbd_ini_link_fail(&nl->link, DIAG_CLOSED, ESHUTDOWN, "the server is shutting down");
		return false;
	}
	if (!slot->error && slot->io->kind == IO_READ && !whole(slot))
		return broken(nl, "the server reports a successful read without its data");
	if (!slot->error && slot->io->kind == IO_MAP && !slot->mapped)
		return broken(nl,
			"the server reports a successful block status request without its data");
	nbd_ini_over(nl, slot);
	return !nl->link.closing;
}

static bool data_begins(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	const struct nbd_answer *a = &nl->answer;
	uint64_t from = a->off - slot->io->off;

	if (slot->io->kind != IO_READ)
		return broken(nl, "the server sent data for a request that is not a read");
	if (a->off < slot->io->off || a->len > slot->len || from > slot->len - a->len)
		return broken(nl, "the server sent data outside the requested range");
	if (!span_add(slot, (uint32_t)from, (uint32_t)from + a->len))
		return broken(nl, "the server sent part of a read twice, or in too many parts");
	if (!a->simple && a->type == NBD_REPLY_TYPE_OFFSET_HOLE) {
		memset(slot->io->buf->p + from, 0, a->len);
		return !a->done || reply_ends(nl, slot);
	}
	nl->sink = slot;
	nl->rest = a->len;
	nl->big = a->len >= BIG;
	return true;
}

static bool status_begins(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	if (slot->io->kind != IO_MAP || nl->answer.context != nl->deal.context)
		return broken(nl, "the server sent a block status that was not requested");
	if (slot->mapped)
		return broken(nl, "the server answered a block status request twice");
	nl->sink = slot;
	nl->rest = nl->answer.len;
	return true;
}

static bool error_begins(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	if (!slot->error)
		slot->error = nl->answer.error;
	if (!nl->answer.len)
		return !nl->answer.done || reply_ends(nl, slot);
	nl->sink = slot;
	nl->rest = nl->answer.len;
	return true;
}

static bool simple_begins(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	struct nbd_answer *a = &nl->answer;

	if (slot->io->kind == IO_READ && nl->deal.structured)
		return broken(
			nl, "simple reply to a read although structured replies were negotiated");
	slot->error = a->error;
	if (slot->io->kind != IO_READ || a->error)
		return reply_ends(nl, slot);
	a->off = slot->io->off;
	a->len = slot->len;
	return data_begins(nl, slot);
}

/* A whole header is in nl->answer. */
static bool header(struct nbd_ini_lane *nl)
{
	const struct nbd_answer *a = &nl->answer;
	struct nbd_ini_slot *slot = find(nl, a->cookie);

	if (!slot)
		return broken(nl, "reply to a request that is not in flight");
	if (a->simple)
		return simple_begins(nl, slot);
	if (!nl->deal.structured)
		return broken(nl, "structured reply although it was not negotiated");
	if (a->type & NBD_REPLY_TYPE_ERRORS)
		return error_begins(nl, slot);
	if (a->type == NBD_REPLY_TYPE_BLOCK_STATUS)
		return status_begins(nl, slot);
	return a->type == NBD_REPLY_TYPE_NONE ? reply_ends(nl, slot) : data_begins(nl, slot);
}

/* What was fixed part of the reply in hand has been dealt with. */
static bool payload_ended(struct nbd_ini_lane *nl)
{
	struct nbd_ini_slot *slot = nl->sink;

	nl->sink = NULL;
	return !nl->answer.done || reply_ends(nl, slot);
}

static void run_add(struct nbd_ini_slot *slot, uint64_t len, uint32_t flags)
{
	struct map_run *run = (struct map_run *)(void *)slot->io->buf->p;
	uint64_t left = slot->io->len - slot->at;

	len = len < left ? len : left;
	if (!len || slot->full)
		return;
	if (slot->runs && run[slot->runs - 1].flags == flags)
		run[slot->runs - 1].len += len;
	else if (slot->runs < slot->io->buf->cap / sizeof(*run))
		run[slot->runs++] = (struct map_run){ .len = len, .flags = flags };
	else
		slot->full = true; /* the rest is for another question */
	slot->at += len;
}

/* Extents need not end on a block's boundary: a block that several share is a hole, or zero, only
 * if all of them are. */
static void extent_add(struct nbd_ini_slot *slot, uint32_t block, uint64_t len, uint32_t state)
{
	uint32_t flags = (state & NBD_STATE_HOLE ? MAP_HOLE : 0) |
			 (state & NBD_STATE_ZERO ? MAP_ZERO : 0),
		 fill;

	if (slot->part) {
		fill = block - slot->part < len ? block - slot->part : (uint32_t)len;
		slot->part_flags &= flags;
		slot->part += fill;
		len -= fill;
		if (slot->part < block)
			return;
		slot->part = 0;
		run_add(slot, block, slot->part_flags);
	}
	run_add(slot, len & ~(uint64_t)(block - 1), flags);
	slot->part = (uint32_t)len & (block - 1);
	slot->part_flags = flags;
}

/* A block of which only a part was told is told at the end of an export of odd length, and counts
 * as data where it is all there is. */
static bool extents_end(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	bool end = slot->io->off + slot->at + slot->part >= nl->dev->end;

	if (slot->part && (end || !slot->runs))
		run_add(slot, nl->lane.bdev->lim.block, end ? slot->part_flags : 0);
	slot->mapped = true;
	return payload_ended(nl);
}

static bool take_extents(struct nbd_ini_lane *nl)
{
	struct nbd_ini_link *link = &nl->link;
	const struct nbd_extent *extent =
		(const struct nbd_extent *)(const void *)(link->stage + link->from);

	if (link->to - link->from < sizeof(*extent))
		return false;
	if (!get_be32(extent->len))
		return broken(nl, "the server reports an extent of length 0");
	extent_add(
		nl->sink, nl->lane.bdev->lim.block, get_be32(extent->len), get_be32(extent->flags));
	link->from += sizeof(*extent);
	nl->rest -= sizeof(*extent);
	return nl->rest || extents_end(nl, nl->sink);
}

static uint8_t *place(const struct nbd_ini_lane *nl)
{
	return nl->sink->io->buf->p + (nl->answer.off - nl->sink->io->off) +
	       (nl->answer.len - nl->rest);
}

static bool is_data(const struct nbd_ini_lane *nl)
{
	return nl->sink && (nl->answer.simple || nl->answer.type == NBD_REPLY_TYPE_OFFSET_DATA);
}

/* Data, or text that nobody reads. */
static bool take_bytes(struct nbd_ini_lane *nl)
{
	struct nbd_ini_link *link = &nl->link;
	size_t len = link->to - link->from;

	if (len > nl->rest)
		len = nl->rest;
	if (!len)
		return false;
	if (is_data(nl))
		memcpy(place(nl), link->stage + link->from, len);
	link->from += len;
	nl->rest -= (uint32_t)len;
	return nl->rest || payload_ended(nl);
}

/* One part of a reply out of the stage; false: more bytes are needed, or it is over. */
static bool take(struct nbd_ini_lane *nl)
{
	struct nbd_ini_link *link = &nl->link;
	const char *why;
	int used;

	if (nl->sink && !nl->answer.simple && nl->answer.type == NBD_REPLY_TYPE_BLOCK_STATUS)
		return take_extents(nl);
	if (nl->sink)
		return take_bytes(nl);
	used = nbd_answer_get(&nl->answer, link->stage + link->from, link->to - link->from, &why);
	if (used < 0)
		return broken(nl, why);
	link->from += (size_t)used;
	return used && header(nl);
}

/* Takes what the socket holds, once; *more: perhaps not all of it. Needs: what is in the stage is
 * less than one part of a reply. */
static ssize_t receive(struct nbd_ini_lane *nl, bool *more)
{
	struct nbd_ini_link *link = &nl->link;
	struct iovec iov[2];
	size_t direct = is_data(nl) ? nl->rest : 0, room;
	int count = 0;
	ssize_t got;

	memmove(link->stage, link->stage + link->from, link->to - link->from);
	link->to -= link->from;
	link->from = 0;
	room = nl->big ? STAGE_FEW : sizeof(link->stage) - link->to;
	if (direct)
		iov[count++] = (struct iovec){ place(nl), direct };
	iov[count++] = (struct iovec){ link->stage + link->to, room };
	got = stream_recv(link->stream, iov, count);
	*more = got > 0 && (size_t)got == direct + room;
	if (got <= 0)
		return got;
	if (direct > (size_t)got)
		direct = (size_t)got;
	link->to += (size_t)got - direct;
	nl->rest -= (uint32_t)direct;
	if (direct && !nl->rest)
		payload_ended(nl);
	return got;
}

/* A socket that gave less than there was room for is empty: asking it again would be one call in
 * vain for each batch. */
void nbd_ini_receive(struct nbd_ini_lane *nl)
{
	bool more = true;
	ssize_t got = 0;

	for (int round = 0; round < ROUNDS && more && !nl->link.closing; round++) {
		got = receive(nl, &more);
		while (got > 0 && !nl->link.closing && take(nl))
			;
	}
	if (got < 0 && !nl->link.closing) {
		nl->link.closing = true; /* the stream knows why */
		stream_close(nl->link.stream);
	}
}
