/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Process the range of a slot: read, find zeroes, write; narrow down unreadable blocks; or read
 * both disks and compare. */
#include "copy_slot.h"
#include "copy_scan.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define ZERO_RUN  32768u      /* shorter runs of zeroes are written as data */
#define HASH_MOST (64u << 20) /* zeroes hashed at a time: a signal waits for them */

static void begin_piece(struct slot *);
static void write_on(struct slot *);

void copy_looked_at(struct copy *copy, uint64_t off, uint64_t len, uint8_t status)
{
	copy->progress->done += len;
	if (status == COPY_BAD)
		copy->progress->bad += len;
	if (copy->verify)
		return;
	copy->dirty = true;
	if (copy_map_set(&copy->map, off, len, status) < 0)
		copy_stop_with(copy, diag_sys(copy->diag, ENOMEM, "map"));
}

static void retire(struct slot *slot)
{
	struct copy *copy = slot->copy;

	slot->next = copy->idle;
	copy->idle = slot;
	copy->busy--;
	copy_go(copy);
}

/* Finish a piece. After one that was narrowed down by read errors the next one is larger again. */
static void end_piece(struct slot *slot, uint8_t status)
{
	struct copy *copy = slot->copy;
	uint64_t wider = slot->bad ? slot->len : slot->len * 2ull;

	if (slot->hashing) {
		slot->ended = true;
		slot->status = status;
		return;
	}
	copy_looked_at(copy, slot->off, slot->len, status);
	slot->off += slot->len;
	if (slot->off == slot->end || copy->rc) {
		retire(slot);
		return;
	}
	slot->len = min_u64(wider, slot->end - slot->off);
	begin_piece(slot);
}

void copy_end_piece(struct slot *slot)
{
	slot->ended = false;
	end_piece(slot, slot->status);
}

/* Length of the piece rounded up to the destination's blocks, which may be longer than the
 * source's. */
static uint32_t padded(const struct slot *slot)
{
	uint32_t mask = slot->copy->dst->lim.block - 1;

	return (slot->len + mask) & ~mask;
}

static uint32_t zeroes_at(const uint8_t *p, uint32_t at, uint32_t len, uint32_t grain)
{
	uint32_t end = at;

	while (end < len) {
		uint32_t step = min_u64(grain, len - end);

		if (!scan_zero(p + end, step))
			break;
		end += step;
	}
	return end - at;
}

/* Length of the run of zeroes or data that starts here. Zeroes count if they save a request or fill
 * the whole piece. */
static uint32_t segment(const struct slot *slot, uint32_t len, bool *zero)
{
	const uint8_t *p = slot->buf.p;
	uint32_t at = slot->put, grain = copy_most(slot->copy->unit, 4096),
		 run = zeroes_at(p, at, len, grain);

	*zero = run >= ZERO_RUN || run == len;
	if (*zero)
		return run;
	while (at < len && run < ZERO_RUN) {
		at += run ? run : min_u64(grain, len - at);
		run = zeroes_at(p, at, len, grain);
	}
	return at - slot->put;
}

static void wrote(struct io *io)
{
	struct slot *slot = container_of(io, struct slot, out);
	struct copy *copy = slot->copy;

	slot->out_busy = false;
	if (io->status) {
		copy_io_failed(copy, copy->dst, io, io->kind == IO_ZERO ? "write zeroes" : "write");
		retire(slot);
		return;
	}
	*(io->kind == IO_ZERO ? &copy->progress->zeroed : &copy->progress->copied) +=
		min_u64(io->len, slot->len - slot->put);
	slot->put += io->len;
	write_on(slot);
}

static void submit_out(struct slot *slot, uint8_t kind, uint32_t len)
{
	struct copy *copy = slot->copy;

	slot->part = slot->buf;
	if (kind == IO_WRITE) {
		slot->part.p += slot->put;
		slot->part.cap -= slot->put;
	}
	slot->out.kind = kind;
	slot->out.off = slot->off + slot->put;
	slot->out.len = len;
	slot->out.buf = &slot->part;
	slot->out.done = wrote;
	slot->out_busy = true;
	bdev_submit(copy->out, &slot->out);
}

/* Write the rest of the piece in buf, segment by segment. */
static void write_on(struct slot *slot)
{
	struct copy *copy = slot->copy;
	uint32_t len = padded(slot), part;
	bool zero;

	while (slot->put < len) {
		if (slot->zero && copy_zero_most(copy)) {
			submit_out(slot, IO_ZERO, len - slot->put);
			return;
		}
		part = len - slot->put;
		zero = false;
		if (copy->sparse && !slot->bad)
			part = segment(slot, len, &zero);
		if (!zero) {
			submit_out(slot, IO_WRITE, part);
			return;
		}
		if (!copy->opt->dst_zero) {
			submit_out(slot, IO_ZERO, min_u64(part, copy_zero_most(copy)));
			return;
		}
		copy->progress->skipped += min_u64(part, slot->len - slot->put);
		slot->put += part;
	}
	end_piece(slot, slot->bad ? COPY_BAD : COPY_WRITTEN);
}

static void tail_read(struct io *io)
{
	struct slot *slot = container_of(io, struct slot, out);
	struct copy *copy = slot->copy;
	uint32_t rest = padded(slot) - slot->len;

	slot->out_busy = false;
	if (io->status) {
		copy_io_failed(copy, copy->dst, io, "read");
		retire(slot);
		return;
	}
	memcpy(slot->buf.p + slot->len, copy->tail.p + io->len - rest, rest);
	write_on(slot);
}

/* If the source ends inside a block of the destination, read that block first to keep its rest.
 * Only one slot has the end of the source. */
static void write_piece(struct slot *slot)
{
	struct copy *copy = slot->copy;

	if (padded(slot) == slot->len) {
		write_on(slot);
		return;
	}
	slot->out.kind = IO_READ;
	slot->out.len = copy->dst->lim.block;
	slot->out.off = slot->off + padded(slot) - slot->out.len;
	slot->out.buf = &copy->tail;
	slot->out.done = tail_read;
	slot->out_busy = true;
	bdev_submit(copy->out, &slot->out);
}

/* Errors of a damaged medium. Any other error concerns the source as a whole. */
static bool medium_error(int status)
{
	return status == -EIO || status == -ENODATA || status == -EILSEQ || status == -EREMOTEIO ||
	       status == -EBADMSG;
}

/* Find the bad blocks of the piece by halving it. */
static void unreadable(struct slot *slot)
{
	struct copy *copy = slot->copy;
	uint32_t half = slot->len / 2 / copy->unit * copy->unit;

	if (half) {
		slot->len = half;
		begin_piece(slot);
		return;
	}
	slot->bad = true;
	if (copy->opt->fill_bad) {
		memset(slot->buf.p, 0, slot->len);
		write_piece(slot);
	} else {
		end_piece(slot, COPY_BAD);
	}
}

bool copy_in_stream(struct copy *copy, uint64_t off, uint64_t *len)
{
	uint64_t size = copy->src->lim.size;

	if (off < size)
		*len = min_u64(*len, size - off);
	return off < size;
}

/* Limit the piece to the end of the stream. False: the stream ended before the piece, or exceeds
 * the destination. The destination keeps its content behind the end. */
static bool cut(struct slot *slot)
{
	struct copy *copy = slot->copy;
	uint64_t len = slot->len;

	if (!copy_in_stream(copy, slot->off, &len))
		return false;
	slot->len = (uint32_t)len;
	slot->end = slot->off + len;
	if (slot->end <= copy->dst->lim.size)
		return true;
	copy_stop_with(copy, diag_set(copy->diag, DIAG_USAGE, ENOSPC,
				     "too small: %" PRIu64 " bytes, but the source has more",
				     copy->dst->lim.size));
	diag_ctx(copy->diag, "%s", copy->dst->uri);
	return false;
}

static void read_done(struct io *io)
{
	struct slot *slot = container_of(io, struct slot, in);
	struct copy *copy = slot->copy;

	slot->in_busy = false;
	if (copy->rc || (copy->opt->stream && (io->status ? io->status == -ENXIO : !cut(slot)))) {
		retire(slot);
	} else if (io->status && copy->opt->keep_going && medium_error(io->status) &&
		   copy->src->state == BDEV_UP) {
		unreadable(slot);
	} else if (io->status) {
		copy_io_failed(copy, copy->src, io, "read");
		if (medium_error(io->status) && !copy->opt->keep_going && !copy->opt->stream)
			diag_hint(copy->diag, "to skip unreadable areas: --keep-going");
		retire(slot);
	} else {
		copy->progress->read += slot->len;
		copy_hash_piece(slot);
		if (slot->hash_only)
			end_piece(slot, COPY_DONE);
		else
			write_piece(slot);
	}
}

static void compare(struct slot *slot)
{
	struct copy *copy = slot->copy;
	size_t at = scan_differs(slot->buf.p, slot->other.p, slot->len);

	if (at < slot->len) {
		copy->differs = min_u64(copy->differs, slot->off + at);
		copy_stop_with(copy, -EILSEQ);
	} else {
		copy->progress->verified += slot->len;
	}
	end_piece(slot, COPY_DONE);
}

/* One of the two reads of a piece under verification has completed. */
static void reread(struct slot *slot, struct io *io, const struct bdev *bdev, bool *busy)
{
	*busy = false;
	if (io->status)
		copy_io_failed(slot->copy, bdev, io, "read back");
	if (slot->in_busy || slot->out_busy)
		return;
	if ((!slot->zero && slot->in.status) || slot->out.status)
		retire(slot);
	else
		compare(slot);
}

static void reread_in(struct io *io)
{
	struct slot *slot = container_of(io, struct slot, in);

	reread(slot, io, slot->copy->src, &slot->in_busy);
}

static void reread_out(struct io *io)
{
	struct slot *slot = container_of(io, struct slot, out);

	reread(slot, io, slot->copy->dst, &slot->out_busy);
}

static void submit_in(struct slot *slot, void (*done)(struct io *))
{
	slot->in.kind = IO_READ;
	slot->in.off = slot->off;
	slot->in.len = slot->len;
	slot->in.buf = &slot->buf;
	slot->in.done = done;
	slot->in_busy = true;
	bdev_submit(slot->lane, &slot->in);
}

static void begin_verify(struct slot *slot)
{
	if (slot->zero)
		memset(slot->buf.p, 0, slot->len);
	else
		submit_in(slot, reread_in);
	slot->out.kind = IO_READ;
	slot->out.off = slot->off;
	slot->out.len = padded(slot);
	slot->out.buf = &slot->other;
	slot->out.done = reread_out;
	slot->out_busy = true;
	bdev_submit(slot->copy->out, &slot->out);
}

static void begin_piece(struct slot *slot)
{
	struct copy *copy = slot->copy;

	slot->put = 0;
	slot->bad = false;
	if (copy->verify) {
		begin_verify(slot);
	} else if (!slot->zero) {
		submit_in(slot, read_done);
	} else {
		copy_hash_piece(slot);
		if (slot->hash_only) {
			end_piece(slot, COPY_DONE);
			return;
		}
		if (copy->opt->dst_zero) {
			copy->progress->skipped += slot->len;
			end_piece(slot, COPY_WRITTEN);
			return;
		}
		if (!copy_zero_most(copy))
			memset(slot->buf.p, 0, slot->len);
		write_on(slot);
	}
}

uint64_t copy_begin_range(struct copy *copy, uint64_t off, uint64_t len, bool zero, bool hash_only)
{
	struct slot *slot = copy->idle;
	uint64_t part = (off + len) % copy->dst->lim.block;
	bool no_data;

	/* a block of the destination that the source covers in part is written as data */
	if (zero && part && len > part)
		len -= part;
	else if (part)
		zero = false;
	no_data = zero && !copy->verify && copy_zero_most(copy);
	len = min_u64(len, no_data ? copy_zero_most(copy) : copy->request - off % copy->request);
	if (copy->hash.kind)
		len = min_u64(len, HASH_MOST);
	copy->idle = slot->next;
	copy->busy++;
	slot->off = off;
	slot->end = off + len;
	slot->len = len;
	slot->zero = zero;
	slot->hash_only = hash_only;
	begin_piece(slot);
	return slot->end;
}
