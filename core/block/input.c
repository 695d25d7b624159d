/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* `-` as a source: the standard input as a disk that is read once, from start to end. Reads may
 * come in any order; each is held until its data arrives. lim.size is the maximum until the input
 * ends. Then it is the length rounded up to a block, padded with zeroes, and reads beyond it fail
 * with -ENXIO. */
#include "bdev.h"
#include "block.h"
#include "io_threads.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define BLOCK   512u
#define LONGEST (32u << 20)

struct input {
	struct bdev bdev;
	struct loop_work announce;
	bool laned; /* its only lane is open */
};

struct input_lane {
	struct lane lane;
	struct io *held; /* sorted by offset */
	struct io *cancelled;
	uint64_t at;  /* bytes read */
	uint32_t got; /* bytes of the first held read */
	/* -ENXIO at the end, or an error, which is final: a stream can't be read again */
	int end_status;
	struct loop_fd fd;
	struct io_threads
		io_threads; /* for regular files, which epoll rejects and whose reads may block */
	struct io_thread_job read;
	ssize_t res;  /* bytes or -errno */
	bool reading; /* a read into the first held io is in flight */
	struct loop_timer turn_timer;
	struct loop_work announce;
};

static struct input_lane *to_lane(struct lane *lane)
{
	return container_of(lane, struct input_lane, lane);
}

static void finish_io(struct io *io, int status)
{
	io->status = status;
	io->detail = 0;
	io->done(io);
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

static void submit(struct lane *lane, struct io *io)
{
	struct input_lane *il = to_lane(lane);
	struct io **at = il->reading ? &il->held->next : &il->held;

	while (*at && (*at)->off <= io->off)
		at = &(*at)->next;
	io->next = *at;
	*at = io;
}

static bool can_read(const struct input_lane *il)
{
	return !il->end_status && il->held && il->held->off + il->got == il->at;
}

static void first_done(struct input_lane *il)
{
	struct io *io = il->held;

	il->held = io->next;
	il->got = 0;
	finish_io(io, 0);
}

static void end_stream(struct input_lane *il)
{
	struct bdev *bdev = il->lane.bdev;

	il->end_status = -ENXIO;
	bdev->lim.size = (il->at + BLOCK - 1) / BLOCK * BLOCK;
	if (bdev->changed)
		bdev->changed(bdev);
	if (il->got) {
		memset(il->held->buf->p + il->got, 0, il->held->len - il->got);
		first_done(il);
	}
}

static void read_some(struct io_thread_job *job)
{
	struct input_lane *il = container_of(job, struct input_lane, read);
	const struct io *io = il->held;

	il->res = read(STDIN_FILENO, io->buf->p + il->got, io->len - il->got);
	if (il->res < 0)
		il->res = -errno;
}

static void take_bytes(struct input_lane *il)
{
	if (il->res > 0) {
		il->at += (uint64_t)il->res;
		il->got += (uint32_t)il->res;
		if (il->got == il->held->len)
			first_done(il);
	} else if (!il->res && il->at) {
		end_stream(il);
	} else if (il->res != -EINTR && il->res != -EAGAIN) {
		il->end_status = il->res ? (int)il->res : -ENODATA;
	}
}

static void was_read(struct io_thread_job *job)
{
	struct input_lane *il = container_of(job, struct input_lane, read);

	il->reading = false;
	take_bytes(il);
	loop_work_add(il->lane.loop, &il->lane.kick);
}

static void kick(struct lane *lane)
{
	struct input_lane *il = to_lane(lane);
	int err = 0;

	if (!can_read(il)) {
		loop_fd_del(lane->loop, &il->fd);
	} else if (!il->reading && !il->fd.on && loop_fd_add(lane->loop, &il->fd, NULL)) {
		err = io_threads_add(&il->io_threads, &il->read);
		il->reading = !err;
		il->end_status = err;
	}
	if (il->cancelled || (il->end_status && il->held))
		loop_timer_set(lane->loop, &il->turn_timer, loop_now(lane->loop));
}

static void ready(struct loop_fd *fd, uint32_t events)
{
	struct input_lane *il = container_of(fd, struct input_lane, fd);

	(void)events;
	if (can_read(il)) {
		read_some(&il->read);
		take_bytes(il);
	}
	loop_work_add(il->lane.loop, &il->lane.kick);
}

static void next_turn(struct loop_timer *timer)
{
	struct input_lane *il = container_of(timer, struct input_lane, turn_timer);

	finish_all(&il->cancelled, -ECANCELED);
	if (il->end_status)
		finish_all(&il->held, il->end_status);
	loop_work_add(il->lane.loop, &il->lane.kick);
}

/* If the io has received part of the data, the following ones can't be served. */
static bool cancel(struct lane *lane, struct io *io)
{
	struct input_lane *il = to_lane(lane);
	struct io **at = &il->held;

	while (*at && *at != io)
		at = &(*at)->next;
	if (!*at || (il->reading && io == il->held))
		return false;
	if (io == il->held && il->got)
		il->end_status = -ECANCELED;
	*at = io->next;
	io->next = il->cancelled;
	il->cancelled = io;
	loop_work_add(lane->loop, &lane->kick);
	return true;
}

static void lane_free(struct lane *lane)
{
	struct input_lane *il = to_lane(lane);

	io_threads_fini(&il->io_threads);
	loop_work_del(lane->loop, &lane->kick);
	loop_work_del(lane->loop, &il->announce);
	loop_timer_del(lane->loop, &il->turn_timer);
	loop_fd_del(lane->loop, &il->fd);
	container_of(lane->bdev, struct input, bdev)->laned = false;
	free(il);
}

static void lane_announce(struct loop_work *work)
{
	struct lane *lane = &container_of(work, struct input_lane, announce)->lane;

	lane->state = LANE_UP;
	if (lane->changed)
		lane->changed(lane);
}

static const struct lane_ops lane_ops = {
	.submit = submit, .kick = kick, .cancel = cancel, .free = lane_free
};

static int lane_start(struct lane **out, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct input *input = container_of(bdev, struct input, bdev);
	struct input_lane *il;

	if (input->laned)
		return diag_set(
			diag, DIAG_BUSY, EBUSY, "standard input: only one reader is possible");
	il = calloc(1, sizeof(*il));
	if (!il)
		return diag_sys(diag, ENOMEM, "I/O queue");
	lane_init(&il->lane, &lane_ops, bdev, loop);
	il->fd = (struct loop_fd){ .fd = STDIN_FILENO, .events = EPOLLIN, .ready = ready };
	il->turn_timer.fire = next_turn;
	il->announce.run = lane_announce;
	il->read = (struct io_thread_job){ .run = read_some, .done = was_read };
	io_threads_init(&il->io_threads, loop);
	input->laned = true;
	loop_work_add(loop, &il->announce);
	*out = &il->lane;
	return 0;
}

static void announce(struct loop_work *work)
{
	struct bdev *bdev = &container_of(work, struct input, announce)->bdev;

	bdev->state = bdev->state == BDEV_OPENING ? BDEV_UP : BDEV_DOWN;
	if (bdev->changed)
		bdev->changed(bdev);
}

static void stop(struct bdev *bdev)
{
	diag_set(&bdev->why, DIAG_CLOSED, ESHUTDOWN, "closed");
	loop_work_add(bdev->loop, &container_of(bdev, struct input, bdev)->announce);
}

static void input_free(struct bdev *bdev)
{
	struct input *input = container_of(bdev, struct input, bdev);

	loop_work_del(bdev->loop, &input->announce);
	free(input);
}

static const struct bdev_ops input_ops = {
	.name = "input", .lane = lane_start, .stop = stop, .free = input_free
};

int input_attach(struct bdev **out, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	int rc = uri_done(uri, diag);
	struct input *input;

	if (rc < 0)
		return rc;
	if (!env->create) {
		diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"standard input can't be a disk: its size is unknown");
		diag_hint(diag, "name the file or device, or write it to a file first");
		return -ENOTSUP;
	}
	if (isatty(STDIN_FILENO))
		return diag_set(diag, DIAG_USAGE, EINVAL, "standard input is a terminal");
	input = calloc(1, sizeof(*input));
	if (!input)
		return diag_sys(diag, ENOMEM, "standard input");
	input->bdev.ops = &input_ops;
	input->bdev.loop = loop;
	input->announce.run = announce;
	input->bdev.lim = (struct bdev_limits){
		.size = (env->create + BLOCK - 1) / BLOCK * BLOCK,
		.block = BLOCK,
		.best = BLOCK,
		.max = { [IO_READ] = LONGEST },
		.lanes = 1,
		.depth = 128,
		.ro = true,
		.ro_disk = true,
	};
	loop_work_add(loop, &input->announce);
	*out = &input->bdev;
	return 0;
}
