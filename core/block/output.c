/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* `-` as a destination: the standard output as a disk that is written once, from start to end.
 * Requests may come in any order; each is held until its turn. One write is in flight at a time, in
 * a thread, so that a slow reader does not block the loop. */
#include "bdev.h"
#include "block.h"
#include "io_threads.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK   512u
#define LONGEST (32u << 20)
#define ZEROES  (1u << 20)

struct output {
	struct bdev bdev;
	struct loop_work announce;
	uint8_t *zeroes; /* ZEROES bytes */
	bool laned;      /* its only lane is open */
};

struct output_lane {
	struct lane lane;
	uint64_t at;     /* bytes written */
	struct io *held; /* sorted by offset */
	struct io *writing;
	uint32_t put;     /* bytes of `writing` that were written */
	struct io *other; /* other kinds of requests, answered in the next turn */
	struct io *flushing, *to_flush;
	struct io *cancelled;
	int failed; /* final: a gap in a stream can't be filled later */
	struct io_threads io_threads;
	struct io_thread_job write, sync;
	int wrote, synced; /* results */
	struct loop_timer turn_timer;
	struct loop_work announce;
};

static struct output_lane *to_lane(struct lane *lane)
{
	return container_of(lane, struct output_lane, lane);
}

static void finish_io(struct io *io, int status)
{
	io->status = status;
	io->detail = 0;
	io->done(io);
}

static struct io **list_of(struct output_lane *ol, const struct io *io)
{
	switch (io->kind) {
	case IO_WRITE:
	case IO_ZERO:
		return &ol->held;
	case IO_FLUSH:
		return &ol->to_flush;
	default:
		return &ol->other;
	}
}

static void submit(struct lane *lane, struct io *io)
{
	struct io **at = list_of(to_lane(lane), io);

	while (*at && (*at)->off <= io->off)
		at = &(*at)->next;
	io->next = *at;
	*at = io;
}

/* Get the next bytes of the current io, and how many may be written at once. */
static const uint8_t *next_bytes(const struct output_lane *ol, uint32_t *len)
{
	const struct io *io = ol->writing;

	*len = io->len - ol->put;
	if (io->kind == IO_WRITE)
		return io->buf->p + ol->put;
	*len = *len < ZEROES ? *len : ZEROES;
	return container_of(ol->lane.bdev, struct output, bdev)->zeroes;
}

/* The parent process may have made the descriptor non-blocking, so poll. */
static void write_some(struct io_thread_job *job)
{
	struct output_lane *ol = container_of(job, struct output_lane, write);
	struct pollfd room = { .fd = STDOUT_FILENO, .events = POLLOUT };
	uint32_t len;
	const uint8_t *p = next_bytes(ol, &len);
	ssize_t rc = write(STDOUT_FILENO, p, len);

	ol->wrote = rc < 0 ? -errno : (int)rc;
	if (ol->wrote == -EAGAIN)
		poll(&room, 1, -1);
}

static void take_next(struct output_lane *ol)
{
	if (ol->writing || ol->failed || !ol->held || ol->held->off != ol->at)
		return;
	ol->writing = ol->held;
	ol->held = ol->held->next;
	ol->put = 0;
	io_threads_add(&ol->io_threads,
		&ol->write); /* can't fail: the thread was started in output_lane_open() */
}

/* Account for a write. True: the current io is complete. */
static bool put(struct output_lane *ol, int res)
{
	struct io *io = ol->writing;

	if (res == -EINTR || res == -EAGAIN)
		return false;
	if (res <= 0) {
		ol->failed = res ? res : -EIO;
	} else {
		ol->put += res;
		ol->at += res;
		if (ol->put < io->len)
			return false;
	}
	ol->writing = NULL;
	finish_io(io, ol->failed);
	return true;
}

static void wrote(struct io_thread_job *job)
{
	struct output_lane *ol = container_of(job, struct output_lane, write);

	if (put(ol, ol->wrote))
		loop_work_add(ol->lane.loop, &ol->lane.kick);
	else
		io_threads_add(&ol->io_threads, &ol->write);
}

static void finish_all(struct io **list, int status)
{
	struct io *io = *list;

	*list = NULL;
	while (io) {
		struct io *next = io->next;

		finish_io(io, status);
		io = next;
	}
}

static void sync_output(struct io_thread_job *job)
{
	struct output_lane *ol = container_of(job, struct output_lane, sync);

	if (fdatasync(STDOUT_FILENO) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP)
		ol->synced = 0;
	else
		ol->synced = -errno;
}

static void synced(struct io_thread_job *job)
{
	struct output_lane *ol = container_of(job, struct output_lane, sync);

	finish_all(&ol->flushing, ol->failed ? ol->failed : ol->synced);
	loop_work_add(ol->lane.loop, &ol->lane.kick);
}

static void next_turn(struct loop_timer *timer)
{
	struct output_lane *ol = container_of(timer, struct output_lane, turn_timer);

	if (ol->failed)
		finish_all(&ol->held, ol->failed);
	finish_all(&ol->other, ol->failed ? ol->failed : -EOPNOTSUPP);
	finish_all(&ol->cancelled, -ECANCELED);
	loop_work_add(ol->lane.loop, &ol->lane.kick);
}

static void kick(struct lane *lane)
{
	struct output_lane *ol = to_lane(lane);

	take_next(ol);
	if (ol->to_flush && !ol->flushing) {
		ol->flushing = ol->to_flush;
		ol->to_flush = NULL;
		io_threads_add(&ol->io_threads, &ol->sync);
	}
	if (ol->other || ol->cancelled || (ol->failed && ol->held))
		loop_timer_set(lane->loop, &ol->turn_timer, loop_now(lane->loop));
}

/* Cancel a held io, whose data will never come. The one being written can't be cancelled. */
static bool cancel(struct lane *lane, struct io *io)
{
	struct output_lane *ol = to_lane(lane);
	struct io **at = &ol->held;

	while (*at && *at != io)
		at = &(*at)->next;
	if (!*at)
		return false;
	*at = io->next;
	io->next = ol->cancelled;
	ol->cancelled = io;
	loop_work_add(lane->loop, &lane->kick);
	return true;
}

static void lane_free(struct lane *lane)
{
	struct output_lane *ol = to_lane(lane);

	io_threads_fini(&ol->io_threads);
	loop_work_del(lane->loop, &lane->kick);
	loop_work_del(lane->loop, &ol->announce);
	loop_timer_del(lane->loop, &ol->turn_timer);
	container_of(lane->bdev, struct output, bdev)->laned = false;
	free(ol);
}

static void lane_announce(struct loop_work *work)
{
	struct lane *lane = &container_of(work, struct output_lane, announce)->lane;

	lane->state = LANE_UP;
	if (lane->changed)
		lane->changed(lane);
}

static const struct lane_ops lane_ops = {
	.submit = submit, .kick = kick, .cancel = cancel, .free = lane_free
};

static int output_lane_open(
	struct lane **out, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct output *output = container_of(bdev, struct output, bdev);
	struct output_lane *ol;
	int rc;

	if (output->laned)
		return diag_set(
			diag, DIAG_BUSY, EBUSY, "standard output: only one writer is possible");
	ol = calloc(1, sizeof(*ol));
	if (!ol)
		return diag_sys(diag, ENOMEM, "I/O queue");
	lane_init(&ol->lane, &lane_ops, bdev, loop);
	ol->turn_timer.fire = next_turn;
	ol->announce.run = lane_announce;
	output->laned = true;
	ol->write = (struct io_thread_job){ .run = write_some, .done = wrote };
	ol->sync = (struct io_thread_job){ .run = sync_output, .done = synced };
	io_threads_init(&ol->io_threads, loop);
	rc = io_threads_start(&ol->io_threads, diag);
	if (rc < 0) {
		lane_free(&ol->lane);
		return rc;
	}
	loop_work_add(loop, &ol->announce);
	*out = &ol->lane;
	return 0;
}

static void announce(struct loop_work *work)
{
	struct bdev *bdev = &container_of(work, struct output, announce)->bdev;

	bdev->state = bdev->state == BDEV_OPENING ? BDEV_UP : BDEV_DOWN;
	if (bdev->changed)
		bdev->changed(bdev);
}

static void stop(struct bdev *bdev)
{
	diag_set(&bdev->why, DIAG_CLOSED, ESHUTDOWN, "closed");
	loop_work_add(bdev->loop, &container_of(bdev, struct output, bdev)->announce);
}

static void output_free(struct bdev *bdev)
{
	struct output *output = container_of(bdev, struct output, bdev);

	loop_work_del(bdev->loop, &output->announce);
	munmap(output->zeroes, ZEROES);
	free(output);
}

static const struct bdev_ops output_ops = {
	.name = "output", .lane = output_lane_open, .stop = stop, .free = output_free
};

static int check(const struct bdev_env *env, struct diag *diag)
{
	struct stat st;

	if (!env->create)
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"standard output can only be the destination of a copy");
	if (fstat(STDOUT_FILENO, &st) < 0)
		return diag_sys(diag, errno, "standard output");
	if (isatty(STDOUT_FILENO))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"standard output is a terminal: redirect it to a file or a pipe");
	if (S_ISBLK(st.st_mode)) {
		diag_set(diag, DIAG_USAGE, EINVAL, "standard output is a block device");
		diag_hint(diag,
			"name the device instead, so that rdmastor can check whether it is in use");
		return -EINVAL;
	}
	return 0;
}

int output_attach(struct bdev **out, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	struct output *output;
	int rc = check(env, diag);

	if (rc == 0)
		rc = uri_done(uri, diag);
	if (rc < 0)
		return rc;
	output = calloc(1, sizeof(*output));
	if (!output)
		return diag_sys(diag, ENOMEM, "standard output");
	output->zeroes = mmap(NULL, ZEROES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (output->zeroes == MAP_FAILED) {
		free(output);
		return diag_sys(diag, ENOMEM, "standard output");
	}
	output->bdev.ops = &output_ops;
	output->bdev.loop = loop;
	output->announce.run = announce;
	output->bdev.lim = (struct bdev_limits){
		.size = (env->create + BLOCK - 1) / BLOCK * BLOCK,
		.block = BLOCK,
		.best = BLOCK,
		.max = { [IO_READ] = LONGEST,
			[IO_WRITE] = LONGEST,
			[IO_ZERO] = LONGEST,
			[IO_FLUSH] = 1 },
		.lanes = 1,
		.depth = 128,
	};
	loop_work_add(loop, &output->announce);
	*out = &output->bdev;
	return 0;
}
