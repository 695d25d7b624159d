/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Receive replies and chunks of an NBD server: check what the cutter finds and pass it on. Data is
 * received straight into the io's buffer. */
#include "ini.h"
#include <errno.h>

static bool broken(struct nbd_ini_lane *nl, const char *text)
{
	nbd_ini_link_fail(&nl->link, DIAG_PROTOCOL, EPROTO, text);
	return false;
}

static struct nbd_ini_slot *find_slot(struct nbd_ini_lane *nl, uint64_t cookie)
{
	struct nbd_ini_slot *slot = inflight_find(&nl->inflight, cookie & 0xffff);

	return slot && slot->cookie == cookie ? slot : NULL;
}

/* Record a part of a read; false: it overlaps an earlier part, or there are too many separate
 * parts. */
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

/* The last reply for this request has arrived. */
static bool reply_ends(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	const struct io *io = slot->flight.owner;

	/* "Terminating the transmission phase": the client should disconnect after this error */
	if (slot->error == NBD_ESHUTDOWN) {
		nbd_ini_link_fail(&nl->link, DIAG_CLOSED, ESHUTDOWN,
			nbd_ini_status_text(nbd_ini_detail(slot->error, slot->text, 0)));
		return false;
	}
	if (!slot->error && io->kind == IO_READ && !whole(slot))
		return broken(nl, "the server reports a successful read without its data");
	if (!slot->error && io->kind == IO_MAP && !slot->mapped)
		return broken(nl,
			"the server reports a successful block status request without its data");
	nbd_ini_replied(nl, slot);
	return !nl->link.closing;
}

static bool data_begins(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	const struct io *io = slot->flight.owner;
	const struct nbd_answer *a = &nl->answer;
	uint64_t from = a->off - io->off;

	if (io->kind != IO_READ)
		return broken(nl, "the server sent data for a request that is not a read");
	if (a->off < io->off || a->len > slot->len || from > slot->len - a->len)
		return broken(nl, "the server sent data outside the requested range");
	if (!span_add(slot, (uint32_t)from, (uint32_t)from + a->len))
		return broken(nl, "the server sent part of a read twice, or in too many parts");
	if (!a->simple && a->type == NBD_REPLY_TYPE_OFFSET_HOLE) {
		memset(io->buf->p + from, 0, a->len);
		return !a->done || reply_ends(nl, slot);
	}
	nl->sink = slot;
	cutter_payload(&nl->link.cutter, io->buf->p + from, a->len);
	return true;
}

static bool status_begins(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	const struct io *io = slot->flight.owner;

	if (io->kind != IO_MAP || nl->answer.context != nl->negotiated.context)
		return broken(nl, "the server sent a block status that was not requested");
	if (slot->mapped)
		return broken(nl, "the server answered a block status request twice");
	nl->sink = slot;
	nl->extents = nl->answer.len / sizeof(struct nbd_extent);
	return true;
}

/* Only the first error counts, with its message. */
static bool error_begins(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	if (slot->error)
		nl->answer.text_len = 0;
	else
		slot->error = nl->answer.error;
	if (!nl->answer.len)
		return !nl->answer.done || reply_ends(nl, slot);
	nl->sink = slot;
	cutter_payload(&nl->link.cutter, nl->answer.text_len ? nl->message : NULL, nl->answer.len);
	return true;
}

static bool simple_begins(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	const struct io *io = slot->flight.owner;
	struct nbd_answer *a = &nl->answer;

	if (io->kind == IO_READ && nl->negotiated.structured)
		return broken(
			nl, "simple reply to a read although structured replies were negotiated");
	slot->error = a->error;
	if (io->kind != IO_READ || a->error)
		return reply_ends(nl, slot);
	a->off = io->off;
	a->len = slot->len;
	return data_begins(nl, slot);
}

/* Handle the complete header in nl->answer. */
static bool header(struct nbd_ini_lane *nl)
{
	const struct nbd_answer *a = &nl->answer;
	struct nbd_ini_slot *slot = find_slot(nl, a->cookie);

	if (!slot)
		return broken(nl, "reply to a request that is not in flight");
	if (a->simple)
		return simple_begins(nl, slot);
	if (!nl->negotiated.structured)
		return broken(nl, "structured reply although it was not negotiated");
	if (a->type & NBD_REPLY_TYPE_ERRORS)
		return error_begins(nl, slot);
	if (a->type == NBD_REPLY_TYPE_BLOCK_STATUS)
		return status_begins(nl, slot);
	return a->type == NBD_REPLY_TYPE_NONE ? reply_ends(nl, slot) : data_begins(nl, slot);
}

/* The fixed part of the current reply has been handled. */
static bool payload_ended(struct nbd_ini_lane *nl)
{
	struct nbd_ini_slot *slot = nl->sink;

	nl->sink = NULL;
	if (nl->answer.text_len)
		slot->text = nbd_ini_text_store(nl->message, nl->answer.text_len);
	return !nl->answer.done || reply_ends(nl, slot);
}

static void run_add(struct nbd_ini_slot *slot, uint64_t len, uint32_t flags)
{
	const struct io *io = slot->flight.owner;
	struct map_run *run = (struct map_run *)(void *)io->buf->p;
	uint64_t left = io->len - slot->at;

	len = len < left ? len : left;
	if (!len || slot->full)
		return;
	if (slot->runs && run[slot->runs - 1].flags == flags)
		run[slot->runs - 1].len += len;
	else if (slot->runs < io->buf->cap / sizeof(*run))
		run[slot->runs++] = (struct map_run){ .len = len, .flags = flags };
	else
		slot->full = true; /* leave the rest to another query */
	slot->at += len;
}

/* Extents need not end at a block boundary: a block that several share is a hole, or zero, only if
 * all of them are. */
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

/* Report a partly described block if it is the last of an export with an odd length or, as data, if
 * it is the whole answer. */
static bool extents_end(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	const struct io *io = slot->flight.owner;
	bool end = io->off + slot->at + slot->part >= nl->dev->end;

	if (slot->part && (end || !slot->runs))
		run_add(slot, nl->lane.bdev->lim.block, end ? slot->part_flags : 0);
	slot->mapped = true;
	return payload_ended(nl);
}

static int parse_extent(struct nbd_ini_lane *nl, const uint8_t *p, uint32_t have)
{
	const struct nbd_extent *extent = (const struct nbd_extent *)(const void *)p;

	if (have < sizeof(*extent))
		return 0;
	if (!get_be32(extent->len)) {
		broken(nl, "the server reports an extent of length 0");
		return CUTTER_STOP;
	}
	extent_add(
		nl->sink, nl->lane.bdev->lim.block, get_be32(extent->len), get_be32(extent->flags));
	if (!--nl->extents && !extents_end(nl, nl->sink))
		return CUTTER_STOP;
	return sizeof(*extent);
}

static int parse_header(struct nbd_ini_lane *nl, const uint8_t *p, uint32_t have)
{
	const char *why;
	int used = nbd_answer_get(&nl->answer, p, have, &why);

	if (used < 0)
		broken(nl, why);
	if (used <= 0)
		return used ? CUTTER_STOP : 0;
	return header(nl) ? used : CUTTER_STOP;
}

static int part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	struct nbd_ini_lane *nl = container_of(cutter, struct nbd_ini_lane, link.cutter);

	return nl->extents ? parse_extent(nl, p, have) : parse_header(nl, p, have);
}

static bool payload(struct cutter *cutter)
{
	return payload_ended(container_of(cutter, struct nbd_ini_lane, link.cutter));
}

const struct cutter_events nbd_ini_replies = { .part = part, .payload = payload };
