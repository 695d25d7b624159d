/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The standard output as a disk: order, holding back, a reader that rests or goes away. */
/* Link: leap fdatasync */
#include "bdev.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE (4u << 20)

struct req {
	struct io io;
	struct buf buf;
	unsigned *left;
};

struct rig {
	struct loop *loop;
	struct bdev *bdev;
	struct lane *lane;
	uint8_t *bytes;
	int reader;
	unsigned left;
};

static struct rig set(void)
{
	struct bdev_env env = { .write = true, .create = SIZE };
	struct diag diag = { 0 };
	struct rig r = { 0 };
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	cr_assert_eq(dup2(fds[1], STDOUT_FILENO), STDOUT_FILENO);
	close(fds[1]);
	r.reader = fds[0];
	r.bytes = malloc(SIZE);
	for (unsigned i = 0; i < SIZE; i++)
		r.bytes[i] = (uint8_t)(i * 2654435761u >> 17);
	cr_assert_eq(loop_new(&r.loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(bdev_open(&r.bdev, r.loop, "-", &env, &diag), 0, "%s", diag.text);
	cr_assert_eq(lane_open(&r.lane, r.bdev, r.loop, &diag), 0, "%s", diag.text);
	cr_assert_eq(r.bdev->lim.size, SIZE);
	return r;
}

static void strike(struct rig *r)
{
	lane_close(r->lane);
	bdev_close(r->bdev);
	loop_free(r->loop);
	free(r->bytes);
	close(r->reader);
}

static void done(struct io *io)
{
	--*container_of(io, struct req, io)->left;
}

static void submit(struct rig *r, struct req *req, uint8_t kind, uint32_t off, uint32_t len)
{
	req->buf = (struct buf){ r->bytes + off, len, NULL };
	req->io = (struct io){
		.kind = kind, .off = off, .len = len, .buf = &req->buf, .done = done, .status = 1
	};
	req->left = &r->left;
	r->left++;
	bdev_submit(r->lane, &req->io);
}

static void turn(struct rig *r, unsigned ms)
{
	volatile int never = 0;

	loop_wait(r->loop, &never, loop_clock() + ms * 1000000ull);
}

static void settle(struct rig *r)
{
	for (int tries = 0; r->left && tries < 10000; tries++)
		turn(r, 1);
}

static uint32_t drain(struct rig *r, uint8_t *to, uint32_t len)
{
	uint32_t got = 0;

	fcntl(r->reader, F_SETFL, O_NONBLOCK);
	for (int tries = 0; got < len && tries < 2000;) {
		ssize_t rc = read(r->reader, to + got, len - got);

		if (rc == 0)
			break;
		if (rc > 0)
			got += rc;
		else
			tries++;
		turn(r, rc > 0 ? 0 : 1);
	}
	return got;
}

Test(output, requests_in_any_order_come_out_in_theirs)
{
	enum { COUNT = 64, EACH = SIZE / COUNT };
	struct req *req = calloc(COUNT, sizeof(*req));
	uint8_t *got = malloc(SIZE);
	unsigned order[COUNT], seed = 7;
	struct rig r = set();

	for (unsigned i = 0; i < COUNT; i++)
		order[i] = i;
	for (unsigned i = COUNT - 1; i; i--) {
		unsigned with = rand_r(&seed) % (i + 1), kept = order[i];

		order[i] = order[with];
		order[with] = kept;
	}
	memset(r.bytes + 3 * EACH, 0, EACH);
	for (unsigned i = 0; i < COUNT; i++)
		submit(&r, &req[order[i]], order[i] == 3 ? IO_ZERO : IO_WRITE, order[i] * EACH,
			EACH);
	cr_assert_eq(drain(&r, got, SIZE), SIZE);
	settle(&r);
	cr_assert_eq(r.left, 0);
	cr_assert_eq(memcmp(got, r.bytes, SIZE), 0);
	for (unsigned i = 0; i < COUNT; i++)
		cr_assert_eq(req[i].io.status, 0);
	cr_assert_eq(bdev_io_wait(r.lane, &(struct io){ .kind = IO_FLUSH }, 0), 0,
		"a pipe needs no flush");
	strike(&r);
	free(req);
	free(got);
}

Test(output, a_reader_that_rests_does_not_stop_the_loop)
{
	struct req req[2] = { 0 };
	struct rig r = set();

	submit(&r, &req[0], IO_WRITE, 0, 1 << 20);
	turn(&r, 20);
	cr_assert_eq(r.left, 1);
	cr_assert_eq(drain(&r, r.bytes + (1 << 20), 1 << 20), 1 << 20);
	settle(&r);
	cr_assert_eq(r.left, 0);
	strike(&r);
}

Test(output, what_waits_for_a_gap_can_be_cancelled)
{
	struct req req[2] = { 0 };
	struct rig r = set();

	submit(&r, &req[0], IO_WRITE, 8192, 4096);
	turn(&r, 5);
	cr_assert_eq(r.left, 1);
	cr_assert(r.lane->ops->cancel(r.lane, &req[0].io));
	settle(&r);
	cr_assert_eq(r.left, 0);
	cr_assert_eq(req[0].io.status, -ECANCELED);
	cr_assert_not(r.lane->ops->cancel(r.lane, &req[0].io));
	strike(&r);
}

Test(output, a_reader_that_goes_away_fails_everything)
{
	struct req req[3] = { 0 };
	struct rig r = set();

	close(r.reader);
	submit(&r, &req[0], IO_WRITE, 4096, 4096);
	submit(&r, &req[1], IO_WRITE, 0, 4096);
	settle(&r);
	cr_assert_eq(r.left, 0);
	cr_assert_eq(req[1].io.status, -EPIPE);
	cr_assert_eq(req[0].io.status, -EPIPE, "what is behind the failure fails too");
	submit(&r, &req[2], IO_WRITE, 8192, 4096);
	settle(&r);
	cr_assert_eq(req[2].io.status, -EPIPE);
	r.reader = -1;
	strike(&r);
}

Test(output, a_pipe_that_does_not_block)
{
	struct req req = { 0 };
	struct rig r = set();

	fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
	submit(&r, &req, IO_WRITE, 0, 1 << 20);
	cr_assert_eq(drain(&r, r.bytes + (1 << 20), 1 << 20), 1 << 20);
	settle(&r);
	cr_assert_eq(r.left, 0);
	cr_assert_eq(req.io.status, 0);
	cr_assert_eq(memcmp(r.bytes, r.bytes + (1 << 20), 1 << 20), 0);
	strike(&r);
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

static sem_t synced;
static bool hangs;

int __wrap_fdatasync(int fd)
{
	if (hangs)
		sem_wait(&synced);
	return __real_fdatasync(fd);
}

Test(output, a_flush_that_hangs_does_not_stop_the_loop)
{
	struct req req[2] = { 0 };
	struct rig r = set();

	sem_init(&synced, 0, 0);
	hangs = true;
	submit(&r, &req[0], IO_FLUSH, 0, 0);
	submit(&r, &req[1], IO_WRITE, 0, 4096);
	while (r.left > 1)
		turn(&r, 1);
	cr_assert_eq(req[1].io.status, 0);
	sem_post(&synced);
	settle(&r);
	cr_assert_eq(req[0].io.status, 0);
	strike(&r);
}

Test(output, a_file)
{
	enum { EACH = 65536 };
	struct req req[16] = { 0 };
	char name[] = "/tmp/pipe-test-XXXXXX";
	uint8_t *got = malloc(16 * EACH);
	struct rig r;
	int fd;

	r = set();
	fd = mkstemp(name);
	cr_assert(fd >= 0);
	unlink(name);
	dup2(fd, STDOUT_FILENO);
	for (int i = 15; i >= 0; i--)
		submit(&r, &req[i], IO_WRITE, i * EACH, EACH);
	settle(&r);
	cr_assert_eq(r.left, 0);
	cr_assert_eq(pread(fd, got, 16 * EACH, 0), 16 * EACH);
	cr_assert_eq(memcmp(got, r.bytes, 16 * EACH), 0);
	cr_assert_eq(bdev_io_wait(r.lane, &(struct io){ .kind = IO_FLUSH }, 0), 0);
	strike(&r);
	free(got);
	close(fd);
}

Test(output, reading_is_not_possible_and_a_second_lane_neither)
{
	struct rig r = set();
	struct lane *second;
	struct diag diag = { 0 };
	struct buf buf = { r.bytes, 512, NULL };
	struct io io = { .kind = IO_READ, .len = 512, .buf = &buf };

	cr_assert_eq(bdev_io_wait(r.lane, &io, 0), -EOPNOTSUPP);
	cr_assert_eq(lane_open(&second, r.bdev, r.loop, &diag), -EBUSY);
	strike(&r);
}

Test(output, what_it_cannot_be_is_refused)
{
	struct bdev_env env = { 0 };
	struct diag diag = { 0 };
	struct bdev *bdev;
	struct loop *loop;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(bdev_open(&bdev, loop, "-", &env, &diag), -ENOTSUP);
	diag_says(&diag, DIAG_UNSUPPORTED, "-", "standard_input");
	env.write = true;
	diag = (struct diag){ 0 };
	cr_assert_eq(bdev_open(&bdev, loop, "-", &env, &diag), -ENOTSUP);
	diag_says(&diag, DIAG_UNSUPPORTED, "-", "standard_output copy");
	env.create = 4096;
	close(STDOUT_FILENO);
	diag = (struct diag){ 0 };
	cr_assert_eq(bdev_open(&bdev, loop, "-", &env, &diag), -EBADF);
	loop_free(loop);
}
