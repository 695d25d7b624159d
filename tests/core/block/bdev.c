/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Opening by URI, waiting, closing; and that the contract check of debug builds sees what it is
 * there for. */
/* Link: leap */
#include "flaky.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

const struct scheme *const schemes[] = { &flaky_proto.scheme, &file_proto.scheme, &ram_proto.scheme,
	&null_proto.scheme, &nfs_rdma_proto.scheme, NULL };

#define MSEC 1000000ull

static struct loop *new_loop(void)
{
	struct loop *loop;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	return loop;
}

static void assert_refused(const char *uri, int err, enum diag_code code, const char *words)
{
	struct loop *loop = new_loop();
	struct bdev *bdev;
	struct diag diag = { 0 };

	cr_assert_eq(bdev_open(&bdev, loop, uri, &(struct bdev_env){ .write = true }, &diag), err,
		"%s: %s", uri, diag.text);
	diag_says(&diag, code, uri, words);
	loop_free(loop);
}

Test(bdev, what_cannot_be_opened_is_named)
{
	assert_refused("ram:1000", -EINVAL, DIAG_USAGE, "size 512");
	assert_refused("ram:0", -EINVAL, DIAG_USAGE, "512");
	assert_refused("ram:4096?block=520", -EINVAL, DIAG_USAGE, "block=520 power 2");
	assert_refused("ram:4096?block=131072", -ERANGE, DIAG_USAGE, "block= 512 65536");
	assert_refused("null:4096?colour=red", -EINVAL, DIAG_USAGE, "colour");
	assert_refused("null:1M?loss=5", -EINVAL, DIAG_USAGE, "loss");
	assert_refused(
		"ram:4611686018427387904", -ENOMEM, DIAG_NO_MEMORY, "4611686018427387904 memory");
	assert_refused("nfs+rdma://h/x", -EPROTONOSUPPORT, DIAG_UNSUPPORTED, "nfs+rdma: kernel");
	assert_refused("flaky://nowhere/", -ENOENT, DIAG_NOT_FOUND, "'nowhere'");
}

Test(bdev, ro_in_the_uri_opens_for_reading_only)
{
	struct loop *loop = new_loop();
	struct bdev *bdev;

	cr_assert_eq(
		bdev_open(&bdev, loop, "ram:4096?ro=1", &(struct bdev_env){ .write = true }, NULL),
		0);
	cr_assert(bdev->lim.ro);
	cr_assert_str_eq(bdev->uri, "ram:4096?ro=1");
	bdev_close(bdev);
	cr_assert_eq(
		bdev_open(&bdev, loop, "ram:4096", &(struct bdev_env){ .write = true }, NULL), 0);
	cr_assert(!bdev->lim.ro);
	bdev_close(bdev);
	loop_free(loop);
}

static volatile int changes;

static void count_change(struct bdev *bdev)
{
	(void)bdev;
	changes++;
}

Test(bdev, start_tells_later)
{
	struct loop *loop = new_loop();
	struct bdev *bdev;
	struct uri uri;
	int mine;

	cr_assert_eq(uri_parse(&uri, "null:1M", NULL), 0);
	cr_assert_eq(
		bdev_start(&bdev, loop, &uri, &(struct bdev_env){ 0 }, count_change, &mine, NULL),
		0);
	cr_assert_eq(bdev->state, BDEV_OPENING);
	cr_assert_eq(changes, 0);
	cr_assert(loop_wait(loop, &changes, loop_clock() + 1000 * MSEC));
	cr_assert_eq(bdev->state, BDEV_UP);
	cr_assert_eq(bdev->user, &mine);
	bdev_close(bdev);
	loop_free(loop);
}

Test(bdev, close_takes_nothing)
{
	bdev_close(NULL);
	lane_close(NULL);
}

/* A lane that breaks the contract in one way. */
enum sin {
	SIN_INSIDE,
	SIN_TWICE,
	SIN_POSITIVE,
	SIN_LOWER, /* gives it back with memory of its own */
	SIN_RUN_ZERO,
	SIN_RUN_LONG,
	SIN_RUN_NONE,
	SIN_RUN_ODD,
	SIN_DIFFERS_BEHIND, /* a comparison, at a byte that it does not have */
	SIN_SHORT,          /* the submitter's: room for the comparison only */
	SIN_DIFFERS         /* no sin */
};

struct sinner {
	struct bdev bdev;
	struct lane lane;
	struct loop *loop;
	enum sin sin;
	struct io *io;
	struct buf buf;
	uint64_t room[8];
	uint8_t twice[1024];
	struct io mine;
};

static void sin_submit(struct lane *lane, struct io *io)
{
	struct sinner *s = container_of(lane, struct sinner, lane);

	s->io = io;
	io->status = 0;
	if (s->sin == SIN_INSIDE)
		io->done(io);
}

static void sin_kick(struct lane *lane)
{
	struct sinner *s = container_of(lane, struct sinner, lane);
	struct map_run *run = (struct map_run *)(void *)s->buf.p;

	s->io->status = s->sin == SIN_POSITIVE ? 1 : s->sin >= SIN_DIFFERS_BEHIND ? -EBADE : 0;
	s->io->detail = s->sin == SIN_RUN_NONE ? 0 : 1;
	if (s->sin >= SIN_DIFFERS_BEHIND)
		s->io->detail = s->sin == SIN_DIFFERS_BEHIND ? 512 : 511;
	*run = (struct map_run){ .len = s->sin == SIN_RUN_ZERO   ? 0
					: s->sin == SIN_RUN_LONG ? 8192
					: s->sin == SIN_RUN_ODD  ? 100
								 : 512 };
	if (s->sin == SIN_LOWER)
		s->io->lower = s->room;
	s->io->done(s->io);
	if (s->sin == SIN_TWICE)
		s->io->done(s->io);
}

static const struct lane_ops sin_ops = { .submit = sin_submit, .kick = sin_kick };

static void nothing_done(struct io *io)
{
	(void)io;
}

static void sinner_init(struct sinner *s, enum sin sin)
{
	volatile int never = 0;

	*s = (struct sinner){ .sin = sin, .loop = new_loop() };
	s->bdev.state = BDEV_UP;
	s->bdev.lim = (struct bdev_limits){
		.size = 65536, .block = 512, .max = { 4096, 4096, 1, 0, 4096, 4096, 512 }
	};
	lane_init(&s->lane, &sin_ops, &s->bdev, s->loop);
	s->lane.state = LANE_UP;
	s->buf = (struct buf){ .p = (uint8_t *)s->room, .cap = sizeof(s->room) };
	s->mine = (struct io){ .kind = IO_MAP, .len = 4096, .buf = &s->buf, .done = nothing_done };
	if (sin >= SIN_DIFFERS_BEHIND) {
		s->mine.kind = IO_COMPARE_WRITE;
		s->mine.len = 512;
		s->buf = (struct buf){ .p = s->twice, .cap = sin == SIN_SHORT ? 1023 : 1024 };
	}
	bdev_submit(&s->lane, &s->mine);
	loop_wait(s->loop, &never, loop_clock() + 20 * MSEC);
}

static void commit(enum sin sin)
{
	struct sinner s;

	sinner_init(&s, sin);
}

Test(bdev, done_inside_submit_is_caught, .signal = SIGABRT)
{
	commit(SIN_INSIDE);
}

Test(bdev, done_twice_is_caught, .signal = SIGABRT)
{
	commit(SIN_TWICE);
}

Test(bdev, positive_status_is_caught, .signal = SIGABRT)
{
	commit(SIN_POSITIVE);
}

Test(bdev, another_lower_is_caught, .signal = SIGABRT)
{
	commit(SIN_LOWER);
}

Test(bdev, no_run_is_caught, .signal = SIGABRT)
{
	commit(SIN_RUN_NONE);
}

Test(bdev, empty_run_is_caught, .signal = SIGABRT)
{
	commit(SIN_RUN_ZERO);
}

Test(bdev, run_beyond_the_request_is_caught, .signal = SIGABRT)
{
	commit(SIN_RUN_LONG);
}

Test(bdev, run_of_part_of_a_block_is_caught, .signal = SIGABRT)
{
	commit(SIN_RUN_ODD);
}

Test(bdev, difference_beyond_the_request_is_caught, .signal = SIGABRT)
{
	commit(SIN_DIFFERS_BEHIND);
}

Test(bdev, comparison_without_the_new_data_is_caught, .signal = SIGABRT)
{
	commit(SIN_SHORT);
}

Test(bdev, comparison_may_differ)
{
	struct sinner s;

	sinner_init(&s, SIN_DIFFERS);
	cr_assert_eq(s.mine.status, -EBADE);
	cr_assert_eq(s.mine.detail, 511);
	loop_work_del(s.loop, &s.lane.kick);
	loop_free(s.loop);
}

static void submit_bad(struct io bad)
{
	struct loop *loop = new_loop();
	struct bdev *bdev;
	struct lane *lane;
	static uint8_t room[4096];
	struct buf buf = { .p = room, .cap = sizeof(room) };

	cr_assert_eq(
		bdev_open(&bdev, loop, "ram:64K", &(struct bdev_env){ .write = true }, NULL), 0);
	cr_assert_eq(lane_open(&lane, bdev, loop, NULL), 0);
	bad.buf = &buf;
	bdev_io_wait(lane, &bad, 0);
}

Test(bdev, unaligned_offset_is_caught, .signal = SIGABRT)
{
	submit_bad((struct io){ .kind = IO_READ, .off = 100, .len = 512 });
}

Test(bdev, beyond_the_disk_is_caught, .signal = SIGABRT)
{
	submit_bad((struct io){ .kind = IO_READ, .off = 65536, .len = 512 });
}

Test(bdev, longer_than_the_buffer_is_caught, .signal = SIGABRT)
{
	submit_bad((struct io){ .kind = IO_WRITE, .len = 8192 });
}

Test(bdev, what_the_disk_does_not_do_is_caught, .signal = SIGABRT)
{
	submit_bad((struct io){ .kind = IO_COMPARE_WRITE, .len = 512 });
}

Test(bdev, flush_with_a_length_is_caught, .signal = SIGABRT)
{
	submit_bad((struct io){ .kind = IO_FLUSH, .len = 512 });
}

Test(bdev, an_io_may_be_submitted_again_from_its_done)
{
	struct loop *loop = new_loop();
	struct bdev *bdev;
	struct lane *lane;
	struct io io = { .kind = IO_FLUSH };

	cr_assert_eq(
		bdev_open(&bdev, loop, "null:64K", &(struct bdev_env){ .write = true }, NULL), 0);
	cr_assert_eq(lane_open(&lane, bdev, loop, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(bdev_io_wait(lane, &io, 1000), 0);
	lane_close(lane);
	bdev_close(bdev);
	loop_free(loop);
}

static int sync_status(struct bdev *bdev, uint8_t kind, uint8_t flags, int status)
{
	return bdev_sync_status(bdev, &(struct io){ .kind = kind, .flags = flags }, status);
}

Test(bdev, a_write_back_error_fails_every_later_flush_and_fua_write)
{
	static const int sticky[] = { -EIO, -ENOSPC, -EDQUOT };

	for (unsigned i = 0; i < sizeof(sticky) / sizeof(*sticky); i++) {
		struct bdev flush = { 0 }, fua = { 0 };

		cr_assert_eq(sync_status(&flush, IO_FLUSH, 0, sticky[i]), sticky[i]);
		cr_assert_eq(sync_status(&fua, IO_WRITE, IO_FUA, sticky[i]), sticky[i]);
		for (int again = 0; again < 2; again++) {
			cr_assert_eq(sync_status(&flush, IO_FLUSH, 0, 0), sticky[i]);
			cr_assert_eq(sync_status(&fua, IO_FLUSH, 0, 0), sticky[i]);
			cr_assert_eq(sync_status(&flush, IO_WRITE, IO_FUA, 0), sticky[i]);
			cr_assert_eq(sync_status(&flush, IO_ZERO, IO_FUA, 0), sticky[i]);
			cr_assert_eq(sync_status(&flush, IO_TRIM, IO_FUA, 0), sticky[i]);
			cr_assert_eq(sync_status(&flush, IO_WRITE, 0, 0), 0);
			cr_assert_eq(sync_status(&flush, IO_READ, 0, 0), 0);
		}
	}
}

Test(bdev, the_first_write_back_error_stays)
{
	struct bdev bdev = { 0 };

	cr_assert_eq(sync_status(&bdev, IO_FLUSH, 0, -ENOSPC), -ENOSPC);
	cr_assert_eq(sync_status(&bdev, IO_WRITE, IO_FUA, -EIO), -EIO);
	cr_assert_eq(
		sync_status(&bdev, IO_FLUSH, 0, -ENOTCONN), -ENOTCONN, "a lost path stays one");
	cr_assert_eq(sync_status(&bdev, IO_FLUSH, 0, 0), -ENOSPC);
}

/* What XFS, NFS and block devices give where ext4 gives EIO. */
Test(bdev, so_do_the_errors_of_media_and_transports)
{
	static const int lost[] = { -EDQUOT, -ENODATA, -ENOLINK, -ETIMEDOUT, -EREMOTEIO, -EILSEQ,
		-ESTALE, -EFBIG };

	for (unsigned i = 0; i < sizeof(lost) / sizeof(*lost); i++) {
		struct bdev bdev = { 0 };

		cr_assert_eq(sync_status(&bdev, IO_FLUSH, 0, lost[i]), lost[i]);
		cr_assert_eq(sync_status(&bdev, IO_FLUSH, 0, 0), lost[i]);
	}
}

Test(bdev, other_errors_are_not_sticky)
{
	static const int other[] = { -ENOTCONN, -EHOSTUNREACH, -ECANCELED, -ENOTSUP, -ENXIO,
		-EINVAL, -ENOMEM };
	struct bdev bdev = { 0 };

	for (unsigned i = 0; i < sizeof(other) / sizeof(*other); i++) {
		cr_assert_eq(sync_status(&bdev, IO_FLUSH, 0, other[i]), other[i]);
		cr_assert_eq(sync_status(&bdev, IO_WRITE, IO_FUA, other[i]), other[i]);
	}
	cr_assert_eq(sync_status(&bdev, IO_WRITE, 0, -EIO), -EIO, "its client knows");
	cr_assert_eq(sync_status(&bdev, IO_READ, IO_FUA, -ENOTCONN), -ENOTCONN);
	cr_assert_eq(sync_status(&bdev, IO_FLUSH, 0, 0), 0);
}
