/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files and block devices: every kind of request, through io_uring and without it, and what cannot
 * be opened. */
/* Link: leap */
#include "file.h"
#include "forbid.h"
#include "privilege.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define POOL_EACH (32u << 20)

struct rig {
	struct loop *loop;
	struct bdev *bdev;
	struct lane *lane;
	struct pool *pool;
	struct diag diag;
	char path[64];
};

static const char *new_file(struct rig *r, size_t size)
{
	int fd = mkstemp(strcpy(r->path, "/var/tmp/file-test-XXXXXX"));

	cr_assert(fd >= 0);
	cr_assert_eq(ftruncate(fd, size), 0);
	close(fd);
	return r->path;
}

static void new_in_memory(struct rig *r)
{
	int fd = mkstemp(strcpy(r->path, "/dev/shm/file-test-XXXXXX"));

	if (fd < 0)
		cr_skip_test("no /dev/shm");
	close(fd);
}

static int open_disk(struct rig *r, const char *uri, bool write, uint64_t create)
{
	struct bdev_env env = { .write = write, .create = create };
	int rc;

	r->diag = (struct diag){ 0 };
	if (!r->loop)
		cr_assert_eq(loop_new(&r->loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	rc = bdev_open(&r->bdev, r->loop, uri, &env, &r->diag);
	if (rc == 0) {
		cr_assert_eq(
			lane_open(&r->lane, r->bdev, r->loop, &r->diag), 0, "%s", r->diag.text);
		cr_assert_eq(pool_new(&r->pool, POOL_EACH, 2, &r->diag), 0);
		cr_assert_eq(lane_map(r->lane, r->pool, &r->diag), 0);
	}
	return rc;
}

static void close_disk(struct rig *r)
{
	lane_unmap(r->lane, r->pool);
	lane_close(r->lane);
	bdev_close(r->bdev);
	pool_free(r->pool);
	r->bdev = NULL;
}

static void end(struct rig *r)
{
	loop_free(r->loop);
	if (r->path[0])
		unlink(r->path);
}

static int io_at(struct rig *r, uint8_t kind, uint8_t flags, uint64_t off, uint32_t len, uint8_t *p,
	uint32_t *detail)
{
	struct buf buf = { p, POOL_EACH, p ? r->pool : NULL };
	struct io io = { .kind = kind, .flags = flags, .off = off, .len = len, .buf = &buf };
	int rc = bdev_io_wait(r->lane, &io, 0);

	if (detail)
		*detail = io.detail;
	return rc;
}

static int io(struct rig *r, uint8_t kind, uint8_t flags, uint64_t off, uint32_t len)
{
	return io_at(r, kind, flags, off, len, r->pool->base, NULL);
}

static void noise(uint8_t *p, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(rand_r(&seed) >> 3);
}

static size_t disk_use(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	return st.st_blocks * 512;
}

/* Every kind, and read-back of all of it through another descriptor. */
static void exercise(struct rig *r, uint32_t block)
{
	const uint32_t size = 4 << 20;
	uint8_t *model = calloc(1, size), *back = r->pool->base + POOL_EACH;
	unsigned seed = 42;

	cr_assert_eq(r->bdev->lim.size, size);
	cr_assert_eq(io(r, IO_ZERO, 0, 0, size), 0);
	for (int n = 0; n < 400; n++) {
		uint32_t off = rand_r(&seed) % (size / block) * block,
			 len = (1 + rand_r(&seed) % (n % 8 ? 16 : 600)) * block;
		uint8_t *p = r->pool->base + (n % 3 ? 0 : n % 5 * 8), fua = n % 4 ? 0 : IO_FUA;

		len = len < size - off ? len : size - off;
		switch (rand_r(&seed) % 6) {
		case 0:
			cr_assert_eq(io(r, IO_ZERO, fua, off, len), 0);
			memset(model + off, 0, len);
			break;
		case 1:
			cr_assert_eq(io(r, IO_ZERO, fua | IO_KEEP, off, len), 0);
			memset(model + off, 0, len);
			break;
		case 2:
			cr_assert_eq(io(r, IO_FLUSH, 0, 0, 0), 0);
			break;
		case 3:
			cr_assert_eq(io_at(r, IO_READ, 0, off, len, p, NULL), 0);
			cr_assert_eq(memcmp(p, model + off, len), 0);
			break;
		default:
			noise(p, len, n);
			cr_assert_eq(io_at(r, IO_WRITE, fua, off, len, p, NULL), 0);
			memcpy(model + off, p, len);
		}
	}
	cr_assert_eq(io_at(r, IO_READ, 0, 0, size, back, NULL), 0);
	cr_assert_eq(memcmp(back, model, size), 0);
	free(model);
}

Test(file, every_kind_of_request)
{
	struct rig r = { 0 };

	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0, "%s", r.diag.text);
	exercise(&r, 512);
	close_disk(&r);
	end(&r);
}

Test(file, every_kind_of_request_through_the_page_cache)
{
	struct rig r = { 0 };
	char uri[96];

	snprintf(uri, sizeof(uri), "file:%s?direct=0", new_file(&r, 4 << 20));
	cr_assert_eq(open_disk(&r, uri, true, 0), 0, "%s", r.diag.text);
	exercise(&r, 512);
	close_disk(&r);
	end(&r);
}

Test(file, every_kind_of_request_where_io_uring_is_forbidden)
{
	struct rig r = { 0 };

	forbid_io_uring();
	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0, "%s", r.diag.text);
	exercise(&r, 512);
	close_disk(&r);
	end(&r);
}

static void exercise_without_enter(int err)
{
	struct rig r = { 0 };

	forbid(SYS_io_uring_enter, err);
	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0, "%s", r.diag.text);
	cr_assert_eq(r.bdev->why.err, err, "%s", r.bdev->why.text);
	exercise(&r, 512);
	close_disk(&r);
	end(&r);
}

Test(file, every_kind_of_request_where_only_io_uring_enter_is_forbidden)
{
	exercise_without_enter(EPERM);
}

Test(file, every_kind_of_request_where_io_uring_enter_does_not_exist)
{
	exercise_without_enter(ENOSYS);
}

/* tmpfs knows holes, but no FALLOC_FL_ZERO_RANGE: zeroes that must not be a hole are written. */
Test(file, every_kind_of_request_on_tmpfs)
{
	struct rig r = { 0 };

	new_in_memory(&r);
	cr_assert_eq(open_disk(&r, r.path, true, 4 << 20), 0, "%s", r.diag.text);
	exercise(&r, 512);
	cr_assert_eq(io(&r, IO_ZERO, 0, 0, 1 << 20), 0);
	cr_assert_eq(io(&r, IO_ZERO, IO_KEEP | IO_FAST, 0, 1 << 20), -ENOTSUP);
	close_disk(&r);
	end(&r);
}

Test(file, a_request_of_32_MiB)
{
	struct rig r = { 0 };
	uint8_t *back;

	cr_assert_eq(open_disk(&r, new_file(&r, 33 << 20), true, 0), 0);
	back = r.pool->base + POOL_EACH;
	noise(r.pool->base, 32 << 20, 1);
	cr_assert_eq(io(&r, IO_WRITE, IO_FUA, 512, 32 << 20), 0);
	cr_assert_eq(io_at(&r, IO_READ, 0, 512, 32 << 20, back, NULL), 0);
	cr_assert_eq(memcmp(back, r.pool->base, 32 << 20), 0);
	close_disk(&r);
	end(&r);
}

struct many {
	struct io io;
	struct buf buf;
	uint64_t lower[32];
	unsigned *left;
};

static void one_done(struct io *done)
{
	struct many *many = container_of(done, struct many, io);

	--*many->left;
}

static void write_many(struct rig *r, unsigned shift)
{
	enum { COUNT = 1000 };
	struct many *many = calloc(COUNT, sizeof(*many));
	uint8_t *p = r->pool->base + shift;
	unsigned left = COUNT;
	volatile int never = 0;

	cr_assert_leq(r->bdev->lim.io_size, sizeof(many->lower));
	for (unsigned i = 0; i < COUNT; i++) {
		memset(p + i * 4096, (int)(i | 1), 4096);
		many[i].buf = (struct buf){ p + i * 4096, 4096, r->pool };
		many[i].io = (struct io){ .kind = IO_WRITE,
			.off = i * 4096,
			.len = 4096,
			.buf = &many[i].buf,
			.done = one_done,
			.lower = many[i].lower };
		many[i].left = &left;
		bdev_submit(r->lane, &many[i].io);
		cr_assert_eq(left, COUNT, "done inside submit");
	}
	while (left)
		loop_wait(r->loop, &never, loop_clock() + 10000000);
	for (unsigned i = 0; i < COUNT; i++)
		cr_assert_eq(many[i].io.status, 0);
	cr_assert_eq(io_at(r, IO_READ, 0, 0, COUNT * 4096, r->pool->base + POOL_EACH, NULL), 0);
	cr_assert_eq(memcmp(p, r->pool->base + POOL_EACH, COUNT * 4096), 0);
	free(many);
}

Test(file, more_requests_than_the_ring_holds)
{
	struct rig r = { 0 };

	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0);
	write_many(&r, 0);
	close_disk(&r);
	end(&r);
}

Test(file, more_requests_than_threads_where_io_uring_is_forbidden)
{
	struct rig r = { 0 };

	forbid_io_uring();
	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0);
	write_many(&r, 0);
	close_disk(&r);
	end(&r);
}

/* Writes through the page cache and direct ones to the same blocks, over two disks of one file. The
 * kernel reports EIO to a later flush if it finds a dirty page at the end of a direct write. */
static void write_direct_and_cached(void)
{
	enum { ROUNDS = 100, COUNT = 32 };
	struct many *many = calloc(COUNT, sizeof(*many));
	struct rig r = { 0 }, other = { 0 };
	volatile int never = 0;
	unsigned left;

	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0, "%s", r.diag.text);
	other.loop = r.loop;
	cr_assert_eq(open_disk(&other, r.path, true, 0), 0, "%s", other.diag.text);
	for (unsigned round = 0; round < ROUNDS; round++) {
		left = COUNT;
		for (unsigned i = 0; i < COUNT; i++) {
			struct rig *to = i % 3 ? &r : &other;
			uint8_t *p = to->pool->base + i * 65536;

			many[i].left = &left;
			many[i].buf = (struct buf){ p, 65536, to->pool };
			many[i].io = (struct io){ .kind = IO_WRITE,
				.off = i % 2 ? 512 : 0,
				.len = i % 2 ? 512 : 65536,
				.buf = &many[i].buf,
				.done = one_done,
				.lower = many[i].lower };
			memset(p, (int)(i + 1), many[i].io.len);
			bdev_submit(to->lane, &many[i].io);
		}
		while (left)
			loop_wait(r.loop, &never, loop_clock() + 1000000);
		for (unsigned i = 0; i < COUNT; i++)
			cr_assert_eq(many[i].io.status, 0);
		cr_assert_eq(io(&r, IO_FLUSH, 0, 0, 0), 0, "round %u", round);
		cr_assert_eq(io(&other, IO_WRITE, IO_FUA, 1 << 20, 4096), 0, "round %u", round);
	}
	free(many);
	close_disk(&other);
	close_disk(&r);
	end(&r);
}

Test(file, no_overlap_of_writes_fails_a_flush)
{
	write_direct_and_cached();
}

Test(file, no_overlap_of_writes_fails_a_flush_where_io_uring_is_forbidden)
{
	forbid_io_uring();
	write_direct_and_cached();
}

/* A file system that asks for more than the usual alignment answers EINVAL, as every one does to an
 * odd address. */
Test(file, o_direct_that_is_granted_and_not_taken)
{
	struct rig r = { 0 };

	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0);
	container_of(r.bdev, struct file, bdev)->align = 1;
	write_many(&r, 1);
	close_disk(&r);
	end(&r);
}

Test(file, an_odd_length_is_rounded_up_with_zeroes)
{
	struct rig r = { 0 };
	struct stat st;

	new_file(&r, 1000);
	cr_assert_eq(open_disk(&r, r.path, false, 0), 0);
	cr_assert_eq(r.bdev->lim.size, 1024);
	cr_assert(r.bdev->lim.ro);
	cr_assert_eq(r.bdev->lim.max[IO_WRITE], 0);
	memset(r.pool->base, 0xee, 1024);
	cr_assert_eq(io(&r, IO_READ, 0, 0, 1024), 0);
	for (int i = 0; i < 1024; i++)
		cr_assert_eq(r.pool->base[i], 0);
	close_disk(&r);
	cr_assert_eq(open_disk(&r, r.path, true, 0), 0);
	memset(r.pool->base, 7, 512);
	cr_assert_eq(io(&r, IO_WRITE, 0, 512, 512), 0);
	cr_assert_eq(stat(r.path, &st), 0);
	cr_assert_eq(st.st_size, 1024);
	close_disk(&r);
	end(&r);
}

Test(file, a_file_that_shrinks_is_an_error_not_zeroes)
{
	struct rig r = { 0 };

	cr_assert_eq(open_disk(&r, new_file(&r, 1 << 20), false, 0), 0);
	cr_assert_eq(truncate(r.path, 4096), 0);
	cr_assert_eq(io(&r, IO_READ, 0, 8192, 4096), -EIO);
	cr_assert_eq(io(&r, IO_READ, 0, 0, 4096), 0);
	close_disk(&r);
	end(&r);
}

Test(file, map_tells_holes_and_data)
{
	struct rig r = { 0 };
	struct map_run *run;
	uint32_t runs;

	cr_assert_eq(open_disk(&r, new_file(&r, 8 << 20), true, 0), 0);
	memset(r.pool->base, 1, 65536);
	cr_assert_eq(io(&r, IO_WRITE, IO_FUA, 1 << 20, 65536), 0);
	run = (struct map_run *)(void *)r.pool->base;
	cr_assert_eq(io_at(&r, IO_MAP, 0, 0, 8 << 20, r.pool->base, &runs), 0);
	cr_assert_eq(runs, 3);
	cr_assert_eq(run[0].len, 1 << 20);
	cr_assert_eq(run[0].flags, MAP_HOLE | MAP_ZERO);
	cr_assert_eq(run[1].len, 65536);
	cr_assert_eq(run[1].flags, 0);
	cr_assert_eq(run[2].len, (8 << 20) - (1 << 20) - 65536);
	cr_assert_eq(run[2].flags, MAP_HOLE | MAP_ZERO);
	cr_assert_eq(io_at(&r, IO_MAP, 0, (1 << 20) + 4096, 4096, r.pool->base, &runs), 0);
	cr_assert_eq(runs, 1);
	cr_assert_eq(run[0].len, 4096);
	cr_assert_eq(run[0].flags, 0);
	close_disk(&r);
	end(&r);
}

Test(file, trim_frees_what_was_written_and_keep_does_not)
{
	struct rig r = { 0 };

	cr_assert_eq(open_disk(&r, new_file(&r, 8 << 20), true, 0), 0);
	noise(r.pool->base, 4 << 20, 5);
	cr_assert_eq(io(&r, IO_WRITE, IO_FUA, 0, 4 << 20), 0);
	cr_assert(disk_use(r.path) >= 4 << 20);
	cr_assert_eq(io(&r, IO_ZERO, IO_KEEP | IO_FUA, 0, 1 << 20), 0);
	cr_assert(disk_use(r.path) >= 4 << 20);
	cr_assert_eq(io(&r, IO_TRIM, IO_FUA, 0, 2 << 20), 0);
	cr_assert(disk_use(r.path) <= 3 << 20);
	cr_assert_eq(io(&r, IO_ZERO, IO_FUA, 2 << 20, 2 << 20), 0);
	cr_assert(disk_use(r.path) <= 1 << 20);
	close_disk(&r);
	end(&r);
}

Test(file, create_makes_extends_and_never_shortens)
{
	struct rig r = { 0 };
	struct stat st;

	unlink(new_file(&r, 0));
	cr_assert_eq(open_disk(&r, r.path, false, 1 << 20), -ENOENT, "created for reading");
	cr_assert_eq(open_disk(&r, r.path, true, 1 << 20), 0, "%s", r.diag.text);
	cr_assert_eq(r.bdev->lim.size, 1 << 20);
	close_disk(&r);
	cr_assert_eq(open_disk(&r, r.path, true, 2 << 20), 0);
	cr_assert_eq(r.bdev->lim.size, 2 << 20);
	close_disk(&r);
	cr_assert_eq(open_disk(&r, r.path, true, 4096), 0);
	cr_assert_eq(r.bdev->lim.size, 2 << 20);
	close_disk(&r);
	cr_assert_eq(stat(r.path, &st), 0);
	cr_assert_eq(st.st_size, 2 << 20);
	cr_assert_eq(disk_use(r.path), 0);
	end(&r);
}

static void refused(const char *uri, bool write, uint64_t create, int err, enum diag_code code,
	const char *words)
{
	struct rig r = { 0 };

	cr_assert_eq(open_disk(&r, uri, write, create), -err, "%s: %d", uri, r.diag.err);
	diag_says(&r.diag, code, uri, words);
	end(&r);
}

Test(file, what_is_no_disk_is_refused_with_its_reason)
{
	refused("/nonexistent/disk", false, 0, ENOENT, DIAG_NOT_FOUND, "no_such_file");
	refused("/tmp", false, 0, EISDIR, DIAG_USAGE, "directory");
	refused("/dev/zero", false, 0, EINVAL, DIAG_USAGE, "block_device regular_file");
	refused("/dev/full", true, 4096, EINVAL, DIAG_USAGE, "block_device regular_file");
	refused("/dev/sdzz9", true, 4096, ENOENT, DIAG_NOT_FOUND, "no_such_device");
	refused("file:/etc/passwd?colour=red", false, 0, EINVAL, DIAG_USAGE, "colour");
}

Test(file, an_empty_file_is_refused)
{
	struct rig r = { 0 };

	new_file(&r, 0);
	cr_assert_eq(open_disk(&r, r.path, true, 0), -EINVAL);
	diag_says(&r.diag, DIAG_USAGE, r.path, "empty");
	end(&r);
}

Test(file, without_permission_it_says_so)
{
	struct rig r = { 0 };

	new_file(&r, 4096);
	cr_assert_eq(chmod(r.path, 0444), 0);
	if (getuid() == 0)
		cr_assert_eq(setuid(65534), 0);
	cr_assert_eq(open_disk(&r, r.path, true, 0), -EACCES);
	diag_says(&r.diag, DIAG_PERMISSION, r.path, "writ permission_denied");
	cr_assert_eq(open_disk(&r, r.path, false, 0), 0);
	close_disk(&r);
	loop_free(r.loop);
}

/* A loop device of our own with blocks of 4096 bytes, or -1. */
static int loop_device(const char *path, char *device, size_t len)
{
	struct loop_config config = { .block_size = 4096, .info.lo_flags = LO_FLAGS_AUTOCLEAR };
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), number, fd = -1;

	config.fd = open(path, O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 8 && control >= 0 && (number = ioctl(control, LOOP_CTL_GET_FREE)) >= 0;
		i++) {
		snprintf(device, len, "/dev/loop%d", number);
		fd = open(device, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == 0)
			break;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	close(config.fd);
	if (control >= 0)
		close(control);
	return fd;
}

Test(file, a_block_device_with_blocks_of_4_KiB)
{
	struct rig r = { 0 };
	char device[32];
	int fd = loop_device(new_file(&r, 4 << 20), device, sizeof(device)), held;

	if (fd < 0) {
		unlink(r.path);
		cr_skip_test("no loop device can be had here");
	}
	cr_assert_eq(open_disk(&r, device, true, 0), 0, "%s", r.diag.text);
	cr_assert_eq(r.bdev->lim.block, 4096);
	cr_assert_eq(r.bdev->lim.max[IO_MAP], 0);
	exercise(&r, 4096);
	cr_assert_eq(io(&r, IO_TRIM, 0, 0, 1 << 20), 0);
	close_disk(&r);

	held = open(device, O_RDWR | O_EXCL | O_CLOEXEC);
	cr_assert(held >= 0);
	cr_assert_eq(open_disk(&r, device, true, 0), -EBUSY);
	diag_says(&r.diag, DIAG_BUSY, device, "use");
	cr_assert_eq(open_disk(&r, device, false, 0), 0, "reading a held device is harmless");
	close_disk(&r);
	close(held);
	close(fd);
	end(&r);
}

static volatile int news;

static void hear(struct bdev *bdev)
{
	(void)bdev;
	news = 1;
}

static void hears(struct rig *r)
{
	news = 0;
	loop_wait(r->loop, &news, 0);
}

/* What grows is there to be used; what shrinks keeps its size, but nothing is read from beyond the
 * end, nor written to it. */
static void resize(struct rig *r, int fd, int loop_fd)
{
	struct stat st;

	r->bdev->changed = hear;
	cr_assert_eq(ftruncate(fd, 6 << 20), 0);
	cr_assert(loop_fd < 0 || ioctl(loop_fd, LOOP_SET_CAPACITY, 0) == 0);
	hears(r);
	cr_assert_eq(r->bdev->lim.size, 6 << 20);
	cr_assert_eq(r->bdev->why.err, 0);
	noise(r->pool->base, 65536, 3);
	cr_assert_eq(io(r, IO_WRITE, 0, (6 << 20) - 65536, 65536), 0);
	cr_assert_eq(io(r, IO_WRITE, 0, 0, 65536), 0);
	cr_assert_eq(io(r, IO_FLUSH, 0, 0, 0), 0);

	cr_assert_eq(ftruncate(fd, 1 << 20), 0);
	cr_assert(loop_fd < 0 || ioctl(loop_fd, LOOP_SET_CAPACITY, 0) == 0);
	hears(r);
	cr_assert_eq(r->bdev->state, BDEV_UP);
	cr_assert_eq(r->bdev->lim.size, 6 << 20);
	diag_says(&r->bdev->why, DIAG_MISMATCH, "", "6291456 1048576");
	cr_assert_eq(io(r, IO_WRITE, 0, (6 << 20) - 65536, 65536), -ENXIO);
	cr_assert_eq(io(r, IO_READ, 0, (1 << 20) - 4096, 8192), -ENXIO);
	cr_assert_eq(io(r, IO_ZERO, 0, 1 << 20, 4096), -ENXIO);
	cr_assert_eq(io(r, IO_TRIM, 0, 2 << 20, 4096), -ENXIO);
	cr_assert_eq(io(r, IO_READ, 0, 0, 1 << 20), 0);
	cr_assert_eq(io(r, IO_WRITE, 0, (1 << 20) - 4096, 4096), 0);
	cr_assert_eq(io(r, IO_FLUSH, 0, 0, 0), 0);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(st.st_size, 1 << 20);

	cr_assert_eq(ftruncate(fd, 6 << 20), 0);
	cr_assert(loop_fd < 0 || ioctl(loop_fd, LOOP_SET_CAPACITY, 0) == 0);
	hears(r);
	cr_assert_eq(r->bdev->why.err, 0);
	cr_assert_eq(io(r, IO_READ, 0, (6 << 20) - 65536, 65536), 0);
	r->bdev->changed = NULL;
}

Test(file, a_file_that_grows_and_shrinks)
{
	struct rig r = { 0 };
	int fd;

	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0, "%s", r.diag.text);
	fd = open(r.path, O_RDWR | O_CLOEXEC);
	resize(&r, fd, -1);
	r.bdev->changed = hear;
	/* a part of a block is one, read as zeroes behind its end */
	cr_assert_eq(ftruncate(fd, (6 << 20) + 100), 0);
	hears(&r);
	cr_assert_eq(r.bdev->lim.size, (6 << 20) + 512);
	memset(r.pool->base, 0xee, 512);
	cr_assert_eq(io(&r, IO_READ, 0, 6 << 20, 512), 0);
	cr_assert_eq(r.pool->base[511], 0);
	close(fd);
	close_disk(&r);
	end(&r);
}

static void cut(struct rig *r, uint8_t kind, uint8_t flags)
{
	struct stat st;

	cr_assert_eq(truncate(r->path, 4 << 20), 0);
	cr_assert_eq(io(r, kind, flags, 3 << 20, 4096), 0);
	cr_assert_eq(truncate(r->path, 1 << 20), 0);
	cr_assert_eq(io(r, kind, flags, 3 << 20, 4096), -ENXIO, "kind %d", kind);
	cr_assert_eq(io(r, kind, flags, (1 << 20) - 4096, 8192), -ENXIO, "across the end");
	cr_assert_eq(io(r, kind, flags, (1 << 20) - 4096, 4096), 0, "up to the end");
	cr_assert_eq(stat(r->path, &st), 0);
	cr_assert_eq(st.st_size, 1 << 20);
}

/* The watch over the size has no turn between. On tmpfs, IO_KEEP makes zeroes a write. */
static void is_cut(struct rig *r)
{
	cr_assert_eq(open_disk(r, r->path, true, 4 << 20), 0, "%s", r->diag.text);
	cut(r, IO_WRITE, 0);
	cut(r, IO_WRITE, IO_FUA);
	cut(r, IO_ZERO, 0);
	cut(r, IO_ZERO, IO_KEEP);
	cut(r, IO_TRIM, 0);
	cr_assert_eq(io(r, IO_FLUSH, 0, 0, 0), 0, "not a write-back error");
	close_disk(r);
	end(r);
}

Test(file, no_request_extends_a_file_that_was_cut)
{
	struct rig r = { 0 };

	new_file(&r, 4 << 20);
	is_cut(&r);
	new_in_memory(&r);
	r.loop = NULL;
	is_cut(&r);
}

Test(file, no_request_extends_a_file_that_was_cut_where_io_uring_is_forbidden)
{
	struct rig r = { 0 };

	forbid_io_uring();
	new_file(&r, 4 << 20);
	is_cut(&r);
	new_in_memory(&r);
	r.loop = NULL;
	is_cut(&r);
}

Test(file, missing_io_uring_is_reported)
{
	struct rig r = { 0 };

	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0, "%s", r.diag.text);
	cr_assert_eq(r.bdev->why.err, 0);
	close_disk(&r);
	forbid_io_uring();
	cr_assert_eq(open_disk(&r, r.path, true, 0), 0, "%s", r.diag.text);
	cr_assert_eq(r.bdev->why.err, EPERM);
	diag_says(&r.bdev->why, DIAG_UNSUPPORTED, "", "io_uring operation_not_permitted");
	close_disk(&r);
	end(&r);
}

static void grows(struct rig *r)
{
	r->bdev->changed = hear;
	cr_assert_eq(truncate(r->path, 6 << 20), 0);
	hears(r);
	cr_assert_eq(r->bdev->lim.size, 6 << 20);
	r->bdev->changed = NULL;
}

Test(file, a_file_that_grows_where_io_uring_is_forbidden)
{
	struct rig r = { 0 };

	forbid_io_uring();
	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0, "%s", r.diag.text);
	grows(&r);
	close_disk(&r);
	end(&r);
}

/* Where a server is away these calls do not come back. */
Test(file, who_serves_a_file_does_not_wait_for_its_size)
{
	struct rig r = { 0 };

	cr_assert_eq(open_disk(&r, new_file(&r, 4 << 20), true, 0), 0, "%s", r.diag.text);
	forbid(SYS_fstat, EPERM);
	forbid(SYS_newfstatat, EPERM);
	grows(&r);
	close_disk(&r);
	end(&r);
}

Test(file, a_block_device_that_grows_and_shrinks)
{
	struct rig r = { 0 };
	char device[32];
	int loop_fd = loop_device(new_file(&r, 4 << 20), device, sizeof(device)), fd;

	if (loop_fd < 0) {
		unlink(r.path);
		cr_skip_test("no loop device can be had here");
	}
	cr_assert_eq(open_disk(&r, device, true, 0), 0, "%s", r.diag.text);
	fd = open(r.path, O_RDWR | O_CLOEXEC);
	resize(&r, fd, loop_fd);
	close(fd);
	close_disk(&r);
	close(loop_fd);
	end(&r);
}

/* Without a listener, the size stays what it was when the copy began. */
Test(file, growth_without_a_listener)
{
	struct rig r = { 0 };
	volatile int never = 0;

	cr_assert_eq(open_disk(&r, new_file(&r, 1 << 20), true, 0), 0, "%s", r.diag.text);
	cr_assert_eq(truncate(r.path, 2 << 20), 0);
	loop_wait(r.loop, &never, loop_clock() + 1200000000ull);
	cr_assert_eq(r.bdev->lim.size, 1 << 20);
	close_disk(&r);
	end(&r);
}

static size_t resident(const struct pool *pool)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (pool->len + page - 1) / page;
	unsigned char *in = malloc(pages);
	size_t count = 0;

	cr_assert_eq(mincore(pool->base, pool->len, in), 0);
	for (size_t i = 0; i < pages; i++)
		count += in[i] & 1;
	free(in);
	return count * page;
}

/* Where the kernel does not let memory be registered it has made it resident before it says so. */
Test(file, memory_that_may_not_be_locked)
{
	const struct rlimit none = { 65536, 65536 };
	const struct bdev_env env = { .write = true };
	struct pool *pool[4];
	struct rig r = { 0 };
	size_t sum = 0;

	cr_assert_eq(loop_new(&r.loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(bdev_open(&r.bdev, r.loop, new_file(&r, 1 << 20), &env, &r.diag), 0);
	unlink(r.path);
	cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	cr_assert_eq(privilege_drop(NULL, 0, &r.diag), 0, "%s", r.diag.text);
	cr_assert_eq(lane_open(&r.lane, r.bdev, r.loop, &r.diag), 0);
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(pool_new(&pool[i], 1 << 20, 1, &r.diag), 0);
		cr_assert_eq(lane_map(r.lane, pool[i], &r.diag), 0);
		sum += resident(pool[i]);
	}
	cr_assert_leq(sum, pool[0]->len, "%zu bytes", sum);
	r.pool = pool[0];
	cr_assert_eq(io(&r, IO_WRITE, 0, 0, 65536), 0);
	for (unsigned i = 0; i < 4; i++) {
		lane_unmap(r.lane, pool[i]);
		pool_free(pool[i]);
	}
	lane_close(r.lane);
	bdev_close(r.bdev);
	loop_free(r.loop);
}
