/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load on a disk: each job has a lane and the requested queue depth; a completed request is
 * submitted again for the next block. With verify, a second phase reads back all that was
 * written. */
#include "load_job.h"
#include "load_order.h"
#include "load_pace.h"
#include "load_verify.h"
#include "min.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MAP_BYTES        4096         /* of answers about holes */
#define MAP_MS           500          /* limit for finding out which parts of the disk hold data */
#define UNSTARTED_POINTS 65536        /* most ages of requests that never started */
#define PACE_MAX_NS      (100 * MSEC) /* longest sleep of a job without a request in flight */

struct slot {
	struct io io;
	struct buf buf;
	struct disk_job *job;
	struct slot *idle;     /* next free slot of dj->idle */
	uint64_t at_ns, block; /* at_ns: of submission, with a rate as scheduled */
	uint64_t submit_ns;
	uint16_t generation; /* of a write */
	bool busy;
};

struct disk_job {
	struct load_job job; /* first member */
	struct lane *lane;
	struct pool *pool;
	struct slot *slot, *idle;
	uint8_t *lowers;
	struct verify verify;
	struct load_order order; /* of this pass */
	uint64_t offset, blocks; /* the job's part of the disk; blocks of bs bytes */
	uint64_t turn;           /* position in this pass */
	uint64_t next;           /* block; in the second phase the first one not yet checked */
	uint64_t remaining;      /* requests still to submit */
	uint32_t unflushed;      /* writes since the last flush */
	uint64_t dice, wrong; /* dice: random state; wrong: offset of the first wrong byte so far */
	uint32_t inflight;
	bool mapped, checking, alarmed;
	struct load_pace pace; /* with a rate */
	struct loop_fd alarm;  /* of the next start; a timer of the loop is up to 1 ms late */
	struct io map;         /* the search for holes */
	struct buf map_buf;
	volatile int map_done;
};

struct disk_load {
	struct bdev *disk;
	struct verify verify; /* of all jobs */
	uint64_t seed, offset, blocks;
	struct load_result *result;
};

static struct disk_job *disk_job_of(struct load_job *job)
{
	return container_of(job, struct disk_job, job);
}

static const struct disk_load *part_of(const struct disk_job *dj)
{
	return dj->job.load->kind->arg;
}

static const struct load_options *options_of(const struct disk_job *dj)
{
	return dj->job.load->opt;
}

/* xorshift64*: fast, and random enough to choose blocks. */
static uint64_t roll(struct disk_job *dj)
{
	dj->dice ^= dj->dice >> 12;
	dj->dice ^= dj->dice << 25;
	dj->dice ^= dj->dice >> 27;
	return dj->dice * 0x2545f4914f6cdd1du;
}

static bool in_flight(const struct disk_job *dj, uint64_t block)
{
	for (uint32_t i = 0; i < options_of(dj)->depth; i++)
		if (dj->slot[i].busy && dj->slot[i].block == block)
			return true;
	return false;
}

static void choose_block(struct disk_job *dj)
{
	bool random = options_of(dj)->random;

	if (random && !dj->turn)
		load_order_init(&dj->order, dj->blocks, roll(dj));
	dj->next = random ? load_order_at(&dj->order, dj->turn) : dj->turn;
}

static uint8_t percent(struct disk_job *dj)
{
	return (uint8_t)((roll(dj) >> 32) % 100);
}

static enum load_kind next_kind(struct disk_job *dj)
{
	uint8_t reads = options_of(dj)->read_percent;

	if (reads == 0 || reads == 100)
		return reads ? LOAD_READ : LOAD_WRITE;
	return percent(dj) < reads ? LOAD_READ : LOAD_WRITE;
}

static uint32_t next_len(struct disk_job *dj)
{
	const struct load_options *opt = options_of(dj);
	uint32_t share = 0, at;

	if (!opt->splits)
		return opt->bs;
	at = percent(dj);
	for (unsigned i = 0; i + 1 < opt->splits; i++)
		if (at < (share += opt->split[i].percent))
			return opt->split[i].bs;
	return opt->split[opt->splits - 1].bs;
}

static enum load_kind kind_of(const struct slot *slot)
{
	return slot->io.kind == IO_READ    ? LOAD_READ
	       : slot->io.kind == IO_FLUSH ? LOAD_FLUSH
					   : LOAD_WRITE;
}

static void start_io(
	struct disk_job *dj, struct slot *slot, enum load_kind kind, uint64_t at, uint64_t now)
{
	slot->busy = true;
	slot->at_ns = at;
	slot->submit_ns = now;
	slot->io.kind = load_io_kind(options_of(dj), kind);
	dj->inflight++;
	bdev_submit(dj->lane, &slot->io);
}

/* at: since when the request counts, if not from now on. */
static void start_block(struct disk_job *dj, struct slot *slot, enum load_kind kind, uint64_t block,
	uint64_t at, uint64_t now)
{
	slot->block = block;
	slot->io.off = dj->offset + block * options_of(dj)->bs;
	slot->io.len = next_len(dj);
	start_io(dj, slot, kind, at, now);
}

static void submit(struct disk_job *dj, uint64_t at, uint64_t now)
{
	struct slot *slot = dj->idle;
	enum load_kind kind = next_kind(dj);
	uint64_t block = dj->next;

	dj->idle = slot->idle;
	dj->remaining--;
	dj->turn = dj->turn + 1 < dj->blocks ? dj->turn + 1 : 0;
	choose_block(dj);
	if (kind == LOAD_WRITE && dj->verify.generation) {
		slot->generation = load_verify_next(&dj->verify, block);
		dj->verify.generation[block] = 0; /* until the write is done */
		load_verify_fill(&dj->verify, block, slot->generation, slot->buf.p);
		at = now = loop_clock();
	}
	dj->unflushed += kind == LOAD_WRITE;
	start_block(dj, slot, kind, block, at, now);
}

static bool needs_flush(const struct disk_job *dj)
{
	uint32_t every = options_of(dj)->flush_every;

	return every && dj->unflushed >= every;
}

static void submit_flush(struct disk_job *dj, uint64_t now)
{
	struct slot *slot = dj->idle;

	dj->idle = slot->idle;
	dj->unflushed = 0;
	slot->block = UINT64_MAX;
	slot->io.off = slot->io.len = 0;
	start_io(dj, slot, LOAD_FLUSH, now, now);
}

static bool has_rate(const struct disk_job *dj)
{
	return options_of(dj)->rate > 0;
}

/* at: loop_clock() time; 0: never. */
static void set_alarm(struct disk_job *dj, uint64_t at)
{
	const struct itimerspec when = { .it_value = { .tv_sec = (time_t)(at / SEC),
						 .tv_nsec = (long)(at % SEC) } };

	timerfd_settime(dj->alarm.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void wait_for_start(struct disk_job *dj, uint64_t now)
{
	uint64_t at = now + PACE_MAX_NS;

	if (load_period_ended(&dj->job, now))
		return;
	if (at > dj->job.load->until)
		at = dj->job.load->until;
	if (dj->idle && dj->remaining && at > dj->pace.next_ns)
		at = dj->pace.next_ns;
	set_alarm(dj, at);
}

/* Submit what is due. full: until now all requests were in flight, so that what was due is late. */
static void submit_due(struct disk_job *dj, uint64_t now, bool full)
{
	while (dj->idle && dj->remaining && !load_period_ended(&dj->job, now) &&
		(needs_flush(dj) || dj->pace.next_ns <= now)) {
		uint64_t due = dj->pace.next_ns;

		if (needs_flush(dj)) {
			submit_flush(dj, now);
			continue;
		}
		dj->job.delayed += full && due < now && due >= dj->job.load->from;
		load_pace_step(&dj->pace, dj->pace.poisson ? roll(dj) : 0);
		submit(dj, due, now);
	}
	wait_for_start(dj, now);
}

/* With verify, wait for the request in flight on a block: the result of two concurrent writes, or
 * of a read during a write, is undefined. */
static void submit_idle(struct disk_job *dj, uint64_t now)
{
	while (dj->idle && dj->remaining && load_may_submit(&dj->job, now)) {
		if (needs_flush(dj))
			submit_flush(dj, now);
		else if (options_of(dj)->verify && in_flight(dj, dj->next))
			break;
		else
			submit(dj, now, now);
	}
}

/* Find the next written block from dj->next on; false if there is none. */
static bool check_next(struct disk_job *dj, struct slot *slot)
{
	const struct load_options *opt = options_of(dj);
	uint64_t now;

	while (dj->next < dj->blocks && !dj->verify.generation[dj->next])
		dj->next++;
	if (dj->next == dj->blocks || load_aborted(&dj->job))
		return false;
	if (!opt->verify_only && dj->offset + dj->next * opt->bs > dj->wrong)
		return false;
	now = loop_clock();
	start_block(dj, slot, LOAD_READ, dj->next++, now, now);
	return true;
}

static bool begin_check(struct disk_job *dj)
{
	bool any = false;

	if (!dj->verify.generation || dj->checking || load_aborted(&dj->job) || dj->lane->given_up)
		return false;
	dj->checking = true;
	atomic_store_explicit(&dj->job.verifying, true, memory_order_relaxed);
	dj->next = 0;
	for (uint32_t i = 0; i < options_of(dj)->depth && check_next(dj, &dj->slot[i]); i++)
		any = true;
	return any;
}

/* A protocol-specific status is an answer. */
static bool unanswered(const struct disk_job *dj, const struct io *io)
{
	return (io->status == -EHOSTUNREACH && !io->detail) ||
	       (io->status == -ENOTCONN && dj->lane->given_up);
}

static enum diag_code failure_code(int status)
{
	if (status == -EHOSTUNREACH)
		return DIAG_UNREACHABLE;
	return status == -ETIMEDOUT ? DIAG_TIMEOUT : DIAG_IO;
}

static void io_failed(struct disk_job *dj, const struct slot *slot)
{
	const struct io *io = &slot->io;
	const struct bdev *disk = dj->lane->bdev;
	const char *text = bdev_status_text(disk, io);

	if (unanswered(dj, io)) {
		load_job_count_unanswered(&dj->job, kind_of(slot), slot->at_ns);
		dj->job.lost |= io->status == -EHOSTUNREACH;
	} else if (!dj->job.why.err) {
		if (!text && io->status == -ENOTCONN && dj->lane->why.err)
			text = dj->lane->why.text;
		text = text ? text : diag_errno_text(-io->status);
		if (io->kind == IO_FLUSH)
			diag_set(&dj->job.why, failure_code(io->status), -io->status, "flush: %s",
				text);
		else
			diag_set(&dj->job.why, failure_code(io->status), -io->status,
				"%s at byte %" PRIu64 ": %s",
				load_kind_text(options_of(dj), kind_of(slot)), io->off, text);
		diag_ctx(&dj->job.why, "%s", disk->uri);
	}
	load_job_failed(&dj->job);
}

/* Only the first wrong byte is reported. The load ends, but check the blocks before that byte, and
 * the parts of earlier jobs, too; without a load check them all, to count. */
static void wrong_data(struct disk_job *dj, const struct slot *slot)
{
	struct diag why = { 0 };
	uint64_t at = load_verify_explain(&dj->verify, slot->block, slot->buf.p, &why);

	if (!dj->job.why.err || (dj->wrong != UINT64_MAX && at < dj->wrong)) {
		diag_ctx(&why, "%s", dj->lane->bdev->uri);
		dj->job.why = why;
		dj->wrong = at;
	}
	dj->job.wrong_blocks++;
	if (!options_of(dj)->verify_only)
		load_job_end_period(&dj->job);
}

static void check(struct disk_job *dj, const struct slot *slot)
{
	if (!dj->verify.generation || !dj->verify.generation[slot->block])
		return;
	if (load_verify_same(&dj->verify, slot->block, slot->buf.p))
		dj->job.verified += dj->checking ? slot->io.len : 0;
	else
		wrong_data(dj, slot);
}

static void log_answer(struct disk_job *dj, const struct slot *slot, uint64_t now)
{
	static const uint8_t direction[IO_KINDS] = {
		[IO_READ] = 0, [IO_WRITE] = 1, [IO_ZERO] = 1, [IO_TRIM] = 2
	};

	if (now >= dj->job.load->from)
		load_log_add(dj->job.log, &(struct load_logged){ .at_ns = now - dj->job.load->from,
						  .latency_ns = now - slot->at_ns,
						  .off = slot->io.off,
						  .len = slot->io.len,
						  .direction = direction[slot->io.kind] });
}

static void answered(struct disk_job *dj, struct slot *slot, uint64_t now)
{
	if (dj->job.log && !dj->checking && kind_of(slot) != LOAD_FLUSH)
		log_answer(dj, slot, now);
	if (!dj->checking)
		load_count(&dj->job, kind_of(slot), slot->io.len, now - slot->at_ns, now);
	if (has_rate(dj) && kind_of(slot) != LOAD_FLUSH && now >= dj->job.load->from)
		stats_add(&dj->job.service[kind_of(slot)], now - slot->submit_ns);
	if (slot->io.kind == IO_READ)
		check(dj, slot);
	else if (dj->verify.generation && slot->io.kind == IO_WRITE)
		dj->verify.generation[slot->block] = slot->generation;
}

/* Whether a job with a rate, and no request in flight, waits for its next start. */
static bool will_start(const struct disk_job *dj)
{
	return has_rate(dj) && dj->remaining && !load_period_ended(&dj->job, loop_clock());
}

/* The starts that were scheduled from then on count as requests that had waited until the end: a
 * lower bound of their latency. */
static void count_unstarted(struct disk_job *dj, uint64_t end)
{
	double first = end > dj->pace.next_ns ? (double)(end - dj->pace.next_ns) : 0;
	uint64_t count = min_u64(load_pace_skip(&dj->pace, end), dj->remaining);
	uint64_t reads = count * options_of(dj)->read_percent / 100;
	uint64_t points = min_u64(count, UNSTARTED_POINTS), before = 0;

	for (uint64_t i = 1; i <= points; i++) {
		uint64_t after = (uint64_t)((double)count * (double)i / (double)points);
		double after_first = dj->pace.interval_ns * (double)before;
		uint64_t age = first > after_first ? (uint64_t)(first - after_first) : 0;

		if (before < reads)
			stats_add_many(
				&dj->job.latency[LOAD_READ], age, min_u64(after, reads) - before);
		if (after > reads)
			stats_add_many(&dj->job.latency[LOAD_WRITE], age,
				after - (before > reads ? before : reads));
		before = after;
	}
	dj->job.unstarted = count;
}

static void finish_if_idle(struct disk_job *dj)
{
	if (dj->inflight || will_start(dj) || begin_check(dj))
		return;
	if (has_rate(dj)) {
		set_alarm(dj, 0);
		count_unstarted(dj, load_period_end(&dj->job, loop_clock()));
	}
	load_job_finished(&dj->job);
}

static void start_due(struct loop_fd *alarm, uint32_t events)
{
	struct disk_job *dj = container_of(alarm, struct disk_job, alarm);
	uint64_t expired;

	(void)events;
	if (read(alarm->fd, &expired, sizeof(expired)) < 0)
		return;
	submit_due(dj, loop_clock(), false);
	finish_if_idle(dj);
}

static void done(struct io *io)
{
	struct slot *slot = container_of(io, struct slot, io);
	struct disk_job *dj = slot->job;
	uint64_t now = loop_now(dj->job.loop);

	/* The clock is read once per turn, so times count from the start of one turn to the start
	 * of another. A disk in memory answers within the same turn. */
	if (now <= slot->submit_ns)
		now = loop_clock();
	dj->inflight--;
	slot->busy = false;
	if (io->status)
		io_failed(dj, slot);
	else
		answered(dj, slot, now);
	if (dj->checking) {
		check_next(dj, slot);
	} else {
		bool full = !dj->idle;

		slot->idle = dj->idle;
		dj->idle = slot;
		if (has_rate(dj))
			submit_due(dj, now, full);
		else
			submit_idle(dj, now);
	}
	finish_if_idle(dj);
}

static void map_completed(struct io *io)
{
	container_of(io, struct disk_job, map)->map_done = 1;
}

/* Before the load, which changes it, find out how much of the disk holds data. Reading a hole does
 * not access storage. An answer that comes later is not waited for. */
static void map_range(struct disk_job *dj, const struct disk_load *part)
{
	const struct bdev_limits *lim = &dj->lane->bdev->lim;
	const struct map_run *run = (const struct map_run *)(const void *)dj->map_buf.p;
	uint64_t at = part->offset, end = at + part->blocks * options_of(dj)->bs;
	uint64_t until = loop_clock() + MAP_MS * MSEC;
	struct io *io = &dj->map;

	while (lim->max[IO_MAP] && at < end && loop_clock() < until) {
		io->off = at;
		io->len = lim->max[IO_MAP] / lim->block * lim->block;
		if (end - at < io->len)
			io->len = (uint32_t)(end - at);
		dj->map_done = 0;
		bdev_submit(dj->lane, io);
		if (!loop_wait(dj->job.loop, &dj->map_done, until)) {
			bdev_cancel(dj->lane, io);
			return;
		}
		if (io->status)
			return;
		for (uint32_t i = 0; i < io->detail; at += run[i++].len)
			part->result->data += run[i].flags & (MAP_HOLE | MAP_ZERO) ? 0 : run[i].len;
		part->result->mapped = at - part->offset;
	}
}

/* Bytes of a request's buffer: a trim has none. */
static uint32_t buffer_len(const struct load_options *opt)
{
	return opt->read_percent || opt->change == LOAD_DATA ? opt->bs : MAP_BYTES;
}

/* Fill buffers with data that no lower layer can compress. */
static void fill_pool(struct disk_job *dj)
{
	for (size_t i = 0; i < dj->pool->len; i += 8) {
		uint64_t word = roll(dj);
		memcpy(dj->pool->base + i, &word, sizeof(word));
	}
}

static int open_slots(struct disk_job *dj, struct diag *diag)
{
	const struct load_options *opt = options_of(dj);
	size_t lower = (dj->lane->bdev->lim.io_size + 7u) & ~7u;

	dj->slot = calloc(opt->depth, sizeof(*dj->slot));
	dj->lowers = calloc(opt->depth + 1, lower ? lower : 8);
	if (!dj->slot || !dj->lowers)
		return diag_sys(diag, ENOMEM, "requests");
	for (uint32_t i = 0; i < opt->depth; i++) {
		struct slot *slot = &dj->slot[i];

		slot->job = dj;
		slot->buf = pool_buf(dj->pool, i);
		slot->io = (struct io){
			.buf = &slot->buf, .done = done, .lower = dj->lowers + i * lower
		};
		slot->idle = dj->idle;
		dj->idle = slot;
	}
	dj->map_buf = pool_buf(dj->pool, opt->depth);
	dj->map = (struct io){ .kind = IO_MAP,
		.buf = &dj->map_buf,
		.done = map_completed,
		.lower = dj->lowers + opt->depth * lower };
	return 0;
}

static int open_alarm(struct disk_job *dj, struct diag *diag)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	if (fd < 0)
		return diag_sys(diag, errno, "timerfd_create");
	dj->alarm = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .ready = start_due };
	dj->alarmed = true;
	return loop_fd_add(dj->job.loop, &dj->alarm, diag);
}

static int disk_open(struct load_job *job, struct diag *diag)
{
	struct disk_job *dj = disk_job_of(job);
	const struct load_options *opt = job->load->opt;
	const struct disk_load *part = part_of(dj);
	int err;

	dj->offset = part->offset;
	dj->blocks = part->blocks;
	dj->wrong = UINT64_MAX;
	dj->map_done = 1;
	job->log = opt->log ? &opt->log->part[job->index] : NULL;
	dj->dice = part->seed + (job->index + 1) * 0x9e3779b97f4a7c15u;
	dj->remaining =
		opt->bytes ? (uint64_t)((double)opt->bytes / load_mean_size(opt)) : UINT64_MAX;
	dj->remaining += !dj->remaining;
	if (opt->verify_only)
		dj->remaining = 0;
	if (opt->verify) {
		uint64_t first = part->blocks * job->index / opt->jobs;

		dj->blocks = part->blocks * (job->index + 1) / opt->jobs - first;
		dj->offset += first * opt->bs;
		dj->verify = load_verify_part(&part->verify, first, dj->blocks);
	}
	err = lane_open_until(&dj->lane, part->disk, job->loop, opt->stop, diag);
	if (!err)
		err = pool_new(&dj->pool, buffer_len(opt), opt->depth + 1, diag);
	if (!err)
		err = lane_map(dj->lane, dj->pool, diag);
	if (err)
		return err;
	dj->mapped = true;
	choose_block(dj);
	fill_pool(dj);
	err = open_slots(dj, diag);
	if (!err && has_rate(dj))
		err = open_alarm(dj, diag);
	if (!err && !job->index)
		map_range(dj, part);
	return err;
}

static void disk_start(struct load_job *job)
{
	struct disk_job *dj = disk_job_of(job);
	const struct load_options *opt = options_of(dj);

	if (has_rate(dj)) {
		load_pace_init(
			&dj->pace, opt->rate, opt->poisson, job->load->from - opt->ramp_ms * MSEC);
		submit_due(dj, loop_clock(), false);
	} else {
		submit_idle(dj, loop_clock());
	}
	finish_if_idle(dj);
}

static void disk_give_up(struct load_job *job)
{
	lane_give_up(disk_job_of(job)->lane);
}

static void disk_close(struct load_job *job)
{
	struct disk_job *dj = disk_job_of(job);

	if (!dj->map_done) {
		lane_give_up(dj->lane);
		loop_wait(job->loop, &dj->map_done, 0);
	}
	if (dj->mapped)
		lane_unmap(dj->lane, dj->pool);
	if (dj->pool)
		pool_free(dj->pool);
	if (dj->lane)
		lane_close(dj->lane);
	if (dj->alarmed) {
		loop_fd_del(job->loop, &dj->alarm);
		close(dj->alarm.fd);
	}
	free(dj->slot);
	free(dj->lowers);
}

static int begin_verify(struct disk_load *part, const struct load_options *opt, struct diag *diag)
{
	struct verify *verify = &part->verify;
	int err;

	if (opt->verify_only) {
		err = load_state_read(verify, true, opt->verify_only, diag);
		if (err || (verify->bs == opt->bs && verify->offset == opt->offset &&
				   verify->blocks == part->blocks))
			return err;
		load_verify_fini(verify);
		diag_set(diag, DIAG_USAGE, EINVAL, "has changed");
		return diag_ctx(diag, "%s", opt->verify_only);
	}
	err = opt->verify ? load_verify_init(
				    verify, part->seed, opt->offset, part->blocks, opt->bs, diag)
			  : 0;
	verify->disk_size = part->disk->lim.size;
	verify->disk_block = part->disk->lim.block;
	return err;
}

static void count_wrong(const struct load_result *result, uint32_t bs, struct diag *diag)
{
	uint64_t checked = result->verified / bs + result->wrong_blocks;
	char first[sizeof(diag->text)];

	memcpy(first, diag->text, sizeof(first));
	diag_set(diag, DIAG_MISMATCH, EIO, "%" PRIu64 " of %" PRIu64 " written blocks %s wrong: %s",
		result->wrong_blocks, checked, result->wrong_blocks == 1 ? "is" : "are", first);
}

/* After a failed load, too: what it wrote can be checked once the disk is back. */
static int keep_state(const struct verify *verify, const char *path, struct diag *diag, int err)
{
	struct diag why = { 0 };
	int failed = load_state_write(verify, path, err ? &why : diag);

	if (failed && err)
		diag_hint(diag, "%s was not written: %s", path, why.text);
	return err ? err : failed;
}

int load_disk(struct loop *loop, struct bdev *disk, const struct load_options *opt,
	struct load_result *result, struct diag *diag)
{
	struct disk_load part = { .disk = disk, .offset = opt->offset, .result = result };
	const struct load_kind_ops kind = {
		.size = sizeof(struct disk_job),
		.open = disk_open,
		.start = disk_start,
		.give_up = disk_give_up,
		.close = disk_close,
		.arg = &part,
	};
	struct load load = {
		.loop = loop, .opt = opt, .result = result, .diag = diag, .lost = &disk->why
	};
	int err = load_disk_check(disk, opt, diag);

	if (err)
		return err;
	part.blocks = (opt->size ? opt->size : disk->lim.size - opt->offset) / opt->bs;
	if (getrandom(&part.seed, sizeof(part.seed), GRND_NONBLOCK) != sizeof(part.seed))
		part.seed = loop_clock();
	err = begin_verify(&part, opt, diag);
	if (err)
		return err;
	err = load_run(&load, &kind);
	result->range = opt->size ? opt->size : disk->lim.size - opt->offset;
	if (opt->verify_only && result->wrong_blocks && diag->code == DIAG_MISMATCH)
		count_wrong(result, opt->bs, diag);
	if (opt->verify_only && diag->code == DIAG_MISMATCH && !result->verified)
		diag_hint(diag,
			"%s may be about another disk, or a later run has written to this one",
			opt->verify_only);
	if (opt->verify_only && diag->code == DIAG_MISMATCH &&
		(result->stopped || result->unanswered || atomic_load(&load.aborted)))
		diag_hint(diag, "not all blocks were checked");
	if (err)
		diag_ctx(diag, "%s", disk->uri);
	if (opt->verify_state && load.from)
		err = keep_state(&part.verify, opt->verify_state, diag, err);
	load_verify_fini(&part.verify);
	return err;
}
