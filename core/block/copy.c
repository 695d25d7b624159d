/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The copy engine: keep the slots busy, save the map, detect the end. copy_slot.c copies the range
 * of a slot, copy_feed.c chooses the next range, copy_map.c records what is safe on the
 * destination, copy_save.c writes the map file. */
#include "copy_slot.h"
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define TICK (250 * MSEC)
#define SAVE (1000 * MSEC)
/* once the copy ends early: how long its requests may go without an answer, and how long they, and
 * a flush, may take in all */
#define MUTE    (1000 * MSEC)
#define FINISH  (10000 * MSEC)
#define REQUEST (256u << 10)
#define DEPTH   16

void copy_stop_with(struct copy *copy, int rc)
{
	if (!copy->rc)
		copy->rc = rc;
}

/* The connection failed: the bdev knows what was tried and for how long. */
static int lost(struct copy *copy, const struct bdev *bdev, const struct io *io, const char *what)
{
	bool silent = bdev->why.code == DIAG_TIMEOUT;

	copy->progress->lost = true;
	return diag_set(copy->diag, silent ? DIAG_TIMEOUT : DIAG_UNREACHABLE,
		silent ? ETIMEDOUT : EHOSTUNREACH, "%s at byte %" PRIu64 ": %s", what, io->off,
		bdev->why.err ? bdev->why.text : "connection lost");
}

static enum diag_code failure_code(int status)
{
	if (status == -EHOSTUNREACH)
		return DIAG_UNREACHABLE;
	return status == -ETIMEDOUT ? DIAG_TIMEOUT : DIAG_IO;
}

/* A protocol-specific status is the target's answer, so the connection works. */
void copy_io_failed(
	struct copy *copy, const struct bdev *bdev, const struct io *io, const char *what)
{
	const char *text = bdev_status_text(bdev, io);

	if (copy->rc)
		return;
	if (!text && io->status == -EHOSTUNREACH) {
		copy->rc = lost(copy, bdev, io, what);
	} else {
		if (!text && bdev->state == BDEV_DOWN && bdev->why.err)
			text = bdev->why.text;
		copy->rc = diag_set(copy->diag, failure_code(io->status), -io->status,
			"%s at byte %" PRIu64 ": %s", what, io->off,
			text ? text : diag_errno_text(-io->status));
	}
	diag_ctx(copy->diag, "%s", bdev->uri);
}

/* Cancel requests that wait for a lost path. */
static void cancel_held(struct copy *copy)
{
	if (copy->feed.map_pending)
		bdev_cancel(copy->in[0], &copy->feed.io);
	if (copy->flushing)
		bdev_cancel(copy->out, &copy->flush);
	for (uint32_t i = 0; i < copy->depth; i++) {
		struct slot *slot = &copy->slot[i];

		if (slot->in_busy)
			bdev_cancel(slot->lane, &slot->in);
		if (slot->out_busy && bdev_cancel(copy->out, &slot->out))
			slot->cancelled = true;
	}
}

static void give_up(struct copy *copy, struct lane *lane)
{
	if (copy->rc == -EINTR)
		diag_ctx(copy->diag, "%s", lane->bdev->uri);
	lane_give_up(lane);
}

/* Give up the lanes that have requests in flight. Those of the other disk stay, so that the
 * destination can be flushed although the source is silent. A cancelled write ends by itself, once
 * no lost path can execute it any more. */
static void give_up_silent(struct copy *copy, bool flush)
{
	if (copy->feed.map_pending)
		give_up(copy, copy->in[0]);
	if (copy->flushing && flush)
		give_up(copy, copy->out);
	for (uint32_t i = 0; i < copy->depth; i++) {
		struct slot *slot = &copy->slot[i];

		if (slot->in_busy)
			give_up(copy, slot->lane);
		if (slot->out_busy && !slot->cancelled && (flush || !copy->flushing))
			give_up(copy, copy->out);
	}
}

/* The copy ends early: wait a bounded time for requests in flight. */
static void end_early(struct copy *copy)
{
	uint64_t now = loop_clock();
	bool expired;

	if (!copy->ending)
		copy->ending = copy->answered = now;
	if (copy->busy != copy->pending)
		copy->answered = now;
	copy->pending = copy->busy;
	cancel_held(copy);
	expired = now - copy->ending >= FINISH;
	if (expired || now - copy->answered >= MUTE)
		give_up_silent(copy, expired);
}

static bool saving(const struct copy *copy)
{
	return copy->saver.workers && !copy->saver.idle;
}

static bool is_kept(const struct copy *copy, uint64_t off)
{
	return copy->hash.kind && !copy->verify && copy_map_status(&copy->map, off) == COPY_DONE;
}

void copy_go(struct copy *copy)
{
	enum feed what = FEED_WAIT;
	uint64_t off, len;

	if (copy->rc)
		copy_hash_abandon(copy);
	while (!copy->rc && copy->idle) {
		what = feed_next(&copy->feed, &off, &len);
		if (what == FEED_DATA && copy->opt->stream)
			what = copy_in_stream(copy, off, &len) ? FEED_DATA : FEED_END;
		if (what == FEED_WAIT || what == FEED_END)
			break;
		if (what == FEED_ZERO && copy->opt->dst_zero && !copy->verify && !copy->hash.kind) {
			copy->progress->skipped += len;
			copy_looked_at(copy, off, len, COPY_WRITTEN);
			feed_take(&copy->feed, off + len);
		} else {
			feed_take(&copy->feed, copy_begin_range(copy, off, len, what == FEED_ZERO,
						       is_kept(copy, off)));
		}
	}
	copy->done = !copy->busy && !copy->flushing && !saving(copy) && !copy->feed.map_pending &&
		     !copy->hash.slot && (copy->rc || what == FEED_END);
}

static void map_done(struct copy_feed *feed)
{
	copy_go(container_of(feed, struct copy, feed));
}

static void saved(struct copy_saver *saver, int status)
{
	struct copy *copy = container_of(saver, struct copy, saver);

	copy->saved = loop_clock();
	copy->progress->saved |= !status;
	if (status && !copy->rc) {
		copy->rc = diag_sys(copy->diag, -status, "write");
		diag_ctx(copy->diag, "map %s", copy->opt->map);
	}
	if (!copy->done)
		copy_go(copy);
}

static void save(struct copy *copy)
{
	size_t len = 0;
	char *text;

	copy_map_change_status(&copy->map, COPY_FLUSHING, COPY_DONE);
	if (!copy->saver.workers)
		return;
	text = copy_map_text(&copy->map, copy->feed.at, &len);
	copy_saver_save(&copy->saver, text, len);
}

static void save_now(struct copy *copy)
{
	save(copy);
	if (copy->saver.workers)
		copy_saver_wait(&copy->saver);
}

static void flushed(struct io *io)
{
	struct copy *copy = container_of(io, struct copy, flush);

	copy->flushing = false;
	if (io->status)
		copy_io_failed(copy, copy->dst, io, "flush");
	else
		save(copy);
	copy_go(copy);
}

/* The map may only mark data as finished once a flush has covered it. */
static void start_save(struct copy *copy)
{
	copy->dirty = false;
	copy_map_change_status(&copy->map, COPY_WRITTEN, COPY_FLUSHING);
	if (!copy->dst->lim.max[IO_FLUSH]) {
		save(copy);
		return;
	}
	copy->flush.kind = IO_FLUSH;
	copy->flush.done = flushed;
	copy->flushing = true;
	bdev_submit(copy->out, &copy->flush);
}

static void tell(struct copy *copy)
{
	struct copy_progress *p = copy->progress;
	uint64_t now = loop_clock(), moved = copy->verify ? p->verified : p->read;
	double seconds = (now - copy->phase_at) / 1e9;
	uint64_t looked_at = p->done - copy->phase_done;

	p->seconds = (now - copy->started) / 1e9;
	if (!copy->verify)
		p->copy_seconds = p->seconds;
	p->rate = seconds > 0 ? (double)moved / seconds : 0;
	p->left = p->total && looked_at ? (double)(p->total - p->done) * seconds / (double)looked_at
					: 0;
	if (copy->opt->progress)
		copy->opt->progress(p, copy->opt->arg);
}

static void ticked(struct loop_timer *timer)
{
	struct copy *copy = container_of(timer, struct copy, tick);

	loop_timer_set(copy->loop, timer, loop_now(copy->loop) + TICK);
	tell(copy);
	if (copy->opt->stop && *copy->opt->stop && !copy->rc)
		copy->rc = diag_set(copy->diag, DIAG_SYSTEM, EINTR, "interrupted");
	if (copy->rc)
		end_early(copy);
	else if (copy->saver.workers && copy->dirty && !copy->flushing && !saving(copy) &&
		 !copy->verify && loop_now(copy->loop) - copy->saved >= SAVE)
		start_save(copy);
	copy_go(copy);
}

static void run_to_end(struct copy *copy)
{
	loop_timer_set(copy->loop, &copy->tick, loop_clock() + TICK);
	copy->done = 0;
	copy_go(copy);
	loop_wait(copy->loop, &copy->done, 0);
	loop_timer_del(copy->loop, &copy->tick);
}

static void run_phase(struct copy *copy, const char *letters)
{
	feed_rewind(&copy->feed, letters);
	copy->phase_at = loop_clock();
	copy->phase_done = copy->progress->done;
	run_to_end(copy);
}

/* The last flush, also of an interrupted copy, so that its map keeps what was copied. */
static void end_copying(struct copy *copy)
{
	start_save(copy);
	run_to_end(copy);
}

static bool named(const struct copy_map *map)
{
	return map->disk[COPY_SRC].id[0];
}

static void set_map_disks(struct copy *copy)
{
	copy->map.disk[COPY_SRC] = *copy->opt->src_is;
	copy->map.disk[COPY_DST] = *copy->opt->dst_is;
}

/* Verification proved that a map without disk names belongs to these disks: name them. */
static void name_map(struct copy *copy)
{
	if (!copy->opt->map)
		return;
	set_map_disks(copy);
	save_now(copy);
}

static void verify(struct copy *copy)
{
	copy->verify = copy->progress->verifying = true;
	copy->progress->done = 0;
	copy->progress->total = copy_map_sum(&copy->map, COPY_DONE);
	run_phase(copy, "+");
	tell(copy);
	if (copy->differs == UINT64_MAX) {
		if (!copy->rc && !named(&copy->map))
			name_map(copy);
		return;
	}
	copy->rc = diag_set(copy->diag, DIAG_MISMATCH, EILSEQ, "differs from %s at byte %" PRIu64,
		copy->src->uri, copy->differs);
	diag_ctx(copy->diag, "%s", copy->dst->uri);
}

int copy_check_ends(const struct bdev *src, const struct bdev *dst, uint64_t dst_size, bool stream,
	struct diag *diag)
{
	if (dst->lim.ro || !dst->lim.max[IO_WRITE])
		diag_set(diag, DIAG_PERMISSION, EROFS, "is read-only");
	else if (dst_size < src->lim.size && !stream)
		diag_set(diag, DIAG_USAGE, ENOSPC,
			"too small: %" PRIu64 " bytes, but the source has %" PRIu64, dst_size,
			src->lim.size);
	else
		return 0;
	return diag_ctx(diag, "%s", dst->uri);
}

static int sizes(struct copy *copy)
{
	const struct bdev_limits *src = &copy->src->lim, *dst = &copy->dst->lim;
	uint64_t request = copy->opt->request ? copy->opt->request
					      : copy_most(REQUEST, copy_most(src->best, dst->best));
	int rc = copy_check_ends(copy->src, copy->dst, dst->size, copy->opt->stream, copy->diag);

	if (rc)
		return rc;
	copy->unit = copy_most(src->block, dst->block);
	request = min_u64(request, min_u64(src->max[IO_READ], dst->max[IO_WRITE]));
	if (copy->opt->verify)
		request = min_u64(request, dst->max[IO_READ]);
	copy->request = copy_most(request / copy->unit * copy->unit, copy->unit);
	copy->depth = copy->opt->depth ? copy->opt->depth : DEPTH;
	copy->sparse = copy->opt->sparse && (copy->opt->dst_zero || copy_zero_most(copy));
	return 0;
}

static bool is_same(const struct copy_disk *a, const struct copy_disk *b)
{
	return a->size == b->size && !strcmp(a->id, b->id);
}

/* Check that the map names this source and destination. A new file has no identity yet, only its
 * path. */
static int check_disks(const struct copy_map *map, const struct copy_options *opt,
	const struct copy_disk *const is[2], struct diag *diag)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct copy_disk *disk = &map->disk[i];

		if (!is[i] || (i == COPY_DST && opt->dst_zero ? !strcmp(disk->uri, is[i]->uri)
							      : is_same(disk, is[i])))
			continue;
		diag_set(diag, DIAG_MISMATCH, ESTALE,
			"belongs to another %s: %.150s, %" PRIu64 " bytes, %.150s",
			i ? "destination" : "source", disk->uri, disk->size, disk->id);
		return diag_hint(diag, "use another map for this copy: --resume OTHER");
	}
	return 0;
}

/* Accept finished areas only if the map names these disks, or if they will be compared. */
static int check_finished(const struct copy_map *map, const struct copy_options *opt,
	const struct copy_disk *const is[2], uint64_t done, struct diag *diag)
{
	const struct copy_disk *doubt = NULL;

	if (opt->dst_zero)
		return diag_set(diag, DIAG_MISMATCH, ESTALE,
			"lists %" PRIu64 " bytes as copied, but the destination is empty", done);
	if (opt->verify)
		return 0;
	for (unsigned i = 0; i < 2; i++)
		if (is[i] && is[i]->by_uri)
			doubt = is[i];
	if (!named(map))
		diag_set(diag, DIAG_MISMATCH, EINVAL, "has no disk identities");
	else if (doubt)
		diag_set(diag, DIAG_MISMATCH, EINVAL,
			"lists %" PRIu64
			" bytes as copied, but %.300s is identified only by its URI",
			done, doubt->uri);
	else
		return 0;
	return diag_hint(diag, "add --verify to compare finished areas, or delete the map");
}

/* A map of other disks, or of a replaced destination, must not cause areas to be skipped. */
static int check_map(const struct copy_map *map, const struct copy_options *opt, struct diag *diag)
{
	uint64_t done = copy_map_sum(map, COPY_DONE);
	const struct copy_disk *const is[2] = {
		opt->src_is,
		opt->dst_zero && !done ? NULL : opt->dst_is,
	};
	int rc = named(map) ? check_disks(map, opt, is, diag) : 0;

	if (!rc && done)
		rc = check_finished(map, opt, is, done, diag);
	return rc ? diag_ctx(diag, "map %s", opt->map) : 0;
}

int copy_check_map(struct loop *loop, const struct bdev *src, const struct copy_options *opt,
	uint64_t *done, struct diag *diag)
{
	struct copy_saver saver;
	struct copy_map map;
	int rc = copy_map_init(&map, src->lim.size, diag);

	if (!rc)
		rc = copy_saver_start(&saver, loop, opt->map, diag);
	if (!rc) {
		rc = copy_saver_load(&saver, &map, diag);
		copy_saver_stop(&saver);
	}
	if (!rc)
		rc = check_map(&map, opt, diag);
	*done = copy_map_sum(&map, COPY_DONE);
	copy_map_fini(&map);
	return rc;
}

static int load_map(struct copy *copy)
{
	int rc = copy_map_init(&copy->map, copy->src->lim.size, copy->diag);

	if (rc < 0 || !copy->opt->map)
		return rc;
	rc = copy_saver_start(&copy->saver, copy->loop, copy->opt->map, copy->diag);
	if (rc)
		return rc;
	copy->saver.saved = saved;
	rc = copy_saver_load(&copy->saver, &copy->map, copy->diag);
	if (!rc)
		rc = check_map(&copy->map, copy->opt, copy->diag);
	if (!rc && copy_map_align(&copy->map, copy->unit))
		rc = diag_sys(copy->diag, ENOMEM, "map");
	if (rc)
		return rc;
	copy->progress->already = copy_map_sum(&copy->map, COPY_DONE) == copy->map.size;
	if (named(&copy->map) || !copy_map_sum(&copy->map, COPY_DONE))
		set_map_disks(copy);
	/* save now, not after a second of work, to see whether the map can be written */
	save_now(copy);
	return copy->rc;
}

static void close_in(struct copy *copy)
{
	lane_close(copy->in[--copy->ins]);
}

/* One thread drives all lanes, so more lanes than CPUs only cost switches, mostly if the server
 * runs on this host. But open enough lanes for the queue depth. */
static unsigned useful_lanes(const struct copy *copy)
{
	const struct bdev_limits *src = &copy->src->lim;
	uint32_t most = (uint32_t)min_u64(COPY_LANES, src->lanes);
	uint32_t full = src->depth ? (copy->depth + src->depth - 1) / src->depth : 1;
	cpu_set_t set;
	uint32_t cpus = sched_getaffinity(0, sizeof(set), &set) ? most : (uint32_t)CPU_COUNT(&set);

	if (copy->opt->stream)
		return 1;
	return copy_most(1, (uint32_t)min_u64(most, copy_most(cpus, full)));
}

/* The first lane is required, the others only add speed. */
static int open_in(struct copy *copy)
{
	unsigned most = useful_lanes(copy);
	int rc = 0;

	while (!rc && copy->ins < most) {
		rc = lane_open(
			&copy->in[copy->ins], copy->src, copy->loop, copy->ins ? NULL : copy->diag);
		copy->ins += !rc;
	}
	return copy->ins ? 0 : rc;
}

static int map_all(struct copy *copy)
{
	unsigned mapped = 0;
	int rc = 0;

	while (!rc && mapped < copy->ins) {
		rc = lane_map(copy->in[mapped], copy->pool, mapped ? NULL : copy->diag);
		mapped += !rc;
	}
	while (mapped && copy->ins > mapped)
		close_in(copy);
	if (mapped)
		rc = lane_map(copy->out, copy->pool, copy->diag);
	while (rc && mapped)
		lane_unmap(copy->in[--mapped], copy->pool);
	return rc;
}

static int make_slots(struct copy *copy)
{
	uint32_t each = (copy->request + 4095) & ~4095u, bufs = copy->opt->verify ? 2 : 1;
	uint32_t count = copy->depth * bufs + 2;
	size_t io_size = (copy_most(copy->src->lim.io_size, copy->dst->lim.io_size) + 15) & ~15u;
	uint8_t *lower;
	int rc = pool_new(&copy->pool, each, count, copy->diag);

	if (rc < 0)
		return rc;
	copy->slot = calloc(copy->depth, sizeof(*copy->slot));
	lower = copy->lower = calloc(copy->depth * 2 + 2, io_size + 16);
	if (!copy->slot || !copy->lower)
		return diag_sys(copy->diag, ENOMEM, "copy with %u requests in flight", copy->depth);
	rc = map_all(copy);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < copy->depth; i++, lower += 2 * io_size) {
		struct slot *slot = &copy->slot[i];

		slot->copy = copy;
		slot->lane = copy->in[i % copy->ins];
		slot->buf = pool_buf(copy->pool, i * bufs);
		slot->other = pool_buf(copy->pool, i * bufs + bufs - 1);
		slot->in.lower = lower;
		slot->out.lower = lower + io_size;
		slot->next = copy->idle;
		copy->idle = slot;
	}
	copy->flush.lower = lower;
	copy->tail = pool_buf(copy->pool, count - 2);
	feed_init(&copy->feed, copy->in[0], &copy->map, copy->unit, pool_buf(copy->pool, count - 1),
		lower + io_size, copy->opt->sparse);
	copy->feed.map_done = map_done;
	return 0;
}

static void run_copy(struct copy *copy)
{
	copy->started = copy->saved = loop_clock();
	copy->tick.fire = ticked;
	copy->progress->total = copy->opt->stream ? 0 : copy->src->lim.size;
	copy->progress->resumed = copy_map_sum(&copy->map, COPY_DONE);
	copy->progress->done = copy->hash.kind ? 0 : copy->progress->resumed;
	run_phase(copy, copy->hash.kind ? "?-+" : "?-");
	end_copying(copy);
	if (!copy->rc && copy->hash.kind)
		copy->rc = copy_hash_finish(copy, copy->progress->hash);
	tell(copy);
	if (!copy->rc && copy->opt->verify)
		verify(copy);
}

int copy_run(struct loop *loop, struct bdev *src, struct bdev *dst, const struct copy_options *opt,
	struct copy_progress *progress, struct diag *diag)
{
	struct copy copy = { .loop = loop,
		.opt = opt,
		.src = src,
		.dst = dst,
		.progress = progress,
		.differs = UINT64_MAX };
	struct diag own = { 0 };

	*progress = (struct copy_progress){ 0 };
	copy.diag = diag ? diag : &own;
	copy.rc = sizes(&copy);
	if (!copy.rc)
		copy.rc = load_map(&copy);
	if (!copy.rc)
		copy.rc = open_in(&copy);
	if (!copy.rc)
		copy.rc = lane_open(&copy.out, dst, loop, copy.diag);
	if (!copy.rc)
		copy.rc = copy_hash_start(&copy, copy.diag);
	if (!copy.rc)
		copy.rc = make_slots(&copy);
	if (!copy.rc) {
		run_copy(&copy);
		for (unsigned i = 0; i < copy.ins; i++)
			lane_unmap(copy.in[i], copy.pool);
		lane_unmap(copy.out, copy.pool);
	}
	copy_hash_stop(&copy);
	while (copy.ins)
		close_in(&copy);
	lane_close(copy.out);
	if (copy.pool)
		pool_free(copy.pool);
	free(copy.slot);
	free(copy.lower);
	copy_saver_stop(&copy.saver);
	copy_map_fini(&copy.map);
	return copy.rc;
}
