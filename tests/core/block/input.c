/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The standard input as a disk: order, its end, a sender that rests. */
/* Link: leap read */
#include "bdev.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE  (1u << 20)
#define EACH  65536u
#define COUNT (SIZE / EACH)

struct req {
	struct io io;
	struct buf buf;
	unsigned *left;
};

struct rig {
	struct loop *loop;
	struct bdev *bdev;
	struct lane *lane;
	struct req req[COUNT];
	uint8_t *sent, *got;
	int writer;
	unsigned left;
};

static struct rig *set(int reader, int writer)
{
	struct bdev_env env = { .create = SIZE };
	struct diag diag = { 0 };
	struct rig *r = calloc(1, sizeof(*r));

	cr_assert_eq(dup2(reader, STDIN_FILENO), STDIN_FILENO);
	close(reader);
	r->writer = writer;
	r->sent = malloc(SIZE);
	r->got = malloc(SIZE);
	for (unsigned i = 0; i < SIZE; i++)
		r->sent[i] = (uint8_t)(i * 2654435761u >> 17);
	cr_assert_eq(loop_new(&r->loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(bdev_open(&r->bdev, r->loop, "-", &env, &diag), 0, "%s", diag.text);
	cr_assert_eq(lane_open(&r->lane, r->bdev, r->loop, &diag), 0, "%s", diag.text);
	return r;
}

static struct rig *set_pipe(void)
{
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	cr_assert_geq(fcntl(fds[1], F_SETPIPE_SZ, SIZE), (int)SIZE);
	return set(fds[0], fds[1]);
}

static void strike(struct rig *r)
{
	lane_close(r->lane);
	bdev_close(r->bdev);
	loop_free(r->loop);
	free(r->sent);
	free(r->got);
	free(r);
}

static void done(struct io *io)
{
	--*container_of(io, struct req, io)->left;
}

static void ask(struct rig *r, unsigned i)
{
	struct req *req = &r->req[i];

	memset(r->got + i * EACH, 0xee, EACH);
	req->buf = (struct buf){ r->got + i * EACH, EACH, NULL };
	req->io = (struct io){ .kind = IO_READ,
		.off = i * EACH,
		.len = EACH,
		.buf = &req->buf,
		.done = done,
		.status = 1 };
	req->left = &r->left;
	r->left++;
	bdev_submit(r->lane, &req->io);
}

static void turn(struct rig *r, unsigned ms)
{
	volatile int never = 0;

	loop_wait(r->loop, &never, loop_clock() + ms * 1000000ull);
}

static void say(struct rig *r, size_t from, size_t to)
{
	cr_assert_eq(write(r->writer, r->sent + from, to - from), (ssize_t)(to - from));
}

Test(input, reads_in_any_order_are_of_one_stream)
{
	struct rig *r = set_pipe();

	for (unsigned i = 0; i < COUNT; i++)
		ask(r, i * 7 % COUNT);
	say(r, 0, 100001);
	turn(r, 5);
	cr_assert_eq(r->left, COUNT - 1);
	say(r, 100001, SIZE);
	for (int i = 0; i < 500 && r->left; i++)
		turn(r, 2);
	cr_assert_eq(r->left, 0);
	for (unsigned i = 0; i < COUNT; i++)
		cr_assert_eq(r->req[i].io.status, 0);
	cr_assert_eq(memcmp(r->sent, r->got, SIZE), 0);
	cr_assert_eq(r->bdev->lim.size, SIZE);
	close(r->writer);
	strike(r);
}

static void ends_at(struct rig *r, uint32_t len)
{
	for (unsigned i = 0; i < COUNT; i++)
		ask(r, i);
	for (int i = 0; i < 500 && r->left; i++)
		turn(r, 2);
	cr_assert_eq(r->left, 0);
	cr_assert_eq(r->bdev->lim.size, (len + 511) / 512 * 512);
	for (unsigned i = 0; i < COUNT; i++)
		cr_assert_eq(r->req[i].io.status, i * EACH < len ? 0 : -ENXIO, "%u of %u: %d", i,
			len, r->req[i].io.status);
	cr_assert_eq(memcmp(r->sent, r->got, len), 0);
	for (uint32_t i = len; i < (len + EACH - 1) / EACH * EACH; i++)
		cr_assert_eq(r->got[i], 0);
}

Test(input, the_end_is_a_size_and_zeroes_behind_it)
{
	static const uint32_t ends[] = { 1, 512, EACH - 1, EACH, EACH + 1, SIZE - 513, SIZE - 1,
		SIZE };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct rig *r = set_pipe();

		say(r, 0, ends[i]);
		close(r->writer);
		ends_at(r, ends[i]);
		strike(r);
	}
}

Test(input, a_file_does_as_well)
{
	char path[] = "/var/tmp/input-test-XXXXXX";
	int fd = mkstemp(path);
	struct rig *r;

	unlink(path);
	r = set(dup(fd), fd);
	say(r, 0, 300000);
	lseek(fd, 0, SEEK_SET);
	ends_at(r, 300000);
	close(fd);
	strike(r);
}

ssize_t __real_read(int fd, void *p, size_t len);
ssize_t __wrap_read(int fd, void *p, size_t len);

static sem_t *hang; /* reading the input does until then */

ssize_t __wrap_read(int fd, void *p, size_t len)
{
	if (fd == STDIN_FILENO && hang)
		sem_wait(hang);
	return __real_read(fd, p, len);
}

Test(input, a_file_that_hangs_does_not_stop_the_loop)
{
	char path[] = "/var/tmp/input-test-XXXXXX";
	int fd = mkstemp(path);
	struct rig *r;
	sem_t go;

	unlink(path);
	sem_init(&go, 0, 0);
	hang = &go;
	r = set(dup(fd), fd);
	say(r, 0, SIZE);
	lseek(fd, 0, SEEK_SET);
	ask(r, 0);
	ask(r, 1);
	turn(r, 20);
	cr_assert_eq(r->left, 2);
	cr_assert_not(r->lane->ops->cancel(r->lane, &r->req[0].io), "its bytes are on their way");
	cr_assert(r->lane->ops->cancel(r->lane, &r->req[1].io));
	sem_post(&go);
	while (r->left)
		turn(r, 1);
	cr_assert_eq(r->req[0].io.status, 0);
	cr_assert_eq(memcmp(r->got, r->sent, EACH), 0);
	cr_assert_eq(r->req[1].io.status, -ECANCELED);
	close(fd);
	strike(r);
}

Test(input, nothing_is_an_error)
{
	struct rig *r = set_pipe();

	close(r->writer);
	ask(r, 0);
	ask(r, 1);
	turn(r, 5);
	cr_assert_eq(r->left, 0);
	cr_assert_eq(r->req[0].io.status, -ENODATA);
	cr_assert_eq(r->req[1].io.status, -ENODATA);
	strike(r);
}

Test(input, what_waits_for_the_sender_can_be_cancelled)
{
	struct rig *r = set_pipe();

	ask(r, 0);
	ask(r, 1);
	say(r, 0, 1000);
	turn(r, 5);
	cr_assert_eq(r->left, 2);
	cr_assert(r->lane->ops->cancel(r->lane, &r->req[1].io));
	cr_assert(r->lane->ops->cancel(r->lane, &r->req[0].io));
	cr_assert_not(r->lane->ops->cancel(r->lane, &r->req[0].io));
	turn(r, 5);
	cr_assert_eq(r->left, 0);
	cr_assert_eq(r->req[0].io.status, -ECANCELED);
	cr_assert_eq(r->req[1].io.status, -ECANCELED);
	ask(r, 0); /* its first bytes are gone */
	turn(r, 5);
	cr_assert_eq(r->req[0].io.status, -ECANCELED);
	close(r->writer);
	strike(r);
}
