/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Without io_uring, calls that hang: the loop serves other requests of this disk and of others. And
 * write-back errors, which the kernel reports once: they are sticky. */
/* Link: pread pwrite fdatasync fallocate ioctl lseek syscall fstatfs */
#include "file.h"
#include "forbid.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BUF      4096u
#define HUNG_AT  (1u << 20)
#define OTHER_AT (2u << 20)
#define FDS      256
#define FULL_AT  (3u << 20) /* no space there */
#define FAR_AT   (256u << 20)

ssize_t __real_pread(int fd, void *p, size_t len, off_t off);
ssize_t __wrap_pread(int fd, void *p, size_t len, off_t off);
ssize_t __real_pwrite(int fd, const void *p, size_t len, off_t off);
ssize_t __wrap_pwrite(int fd, const void *p, size_t len, off_t off);
int __wrap_fdatasync(int fd);
int __real_fallocate(int fd, int mode, off_t off, off_t len);
int __wrap_fallocate(int fd, int mode, off_t off, off_t len);
int __real_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, ...);
off_t __real_lseek(int fd, off_t off, int whence);
off_t __wrap_lseek(int fd, off_t off, int whence);

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_fstatfs(int fd, struct statfs *fs);
int __wrap_fstatfs(int fd, struct statfs *fs);

static bool remote;             /* disks opened now are on NFS */
static off_t hung_at = HUNG_AT; /* calls for this offset hang, and fdatasync */
static unsigned sizes;          /* atomic: calls of statx */
static bool hanging;            /* atomic */
static sem_t go;
static unsigned hung_calls, overlaps; /* atomic: now; writes at OTHER_AT that began then */
static int sync_error[FDS];           /* of the next fdatasync */
static unsigned syncs;
static int full = ENOSPC; /* error of changes at FULL_AT */

static void hang(off_t off)
{
	if (off != hung_at || !__atomic_load_n(&hanging, __ATOMIC_RELAXED))
		return;
	__atomic_add_fetch(&hung_calls, 1, __ATOMIC_RELAXED);
	sem_wait(&go);
	__atomic_sub_fetch(&hung_calls, 1, __ATOMIC_RELAXED);
}

ssize_t __wrap_pread(int fd, void *p, size_t len, off_t off)
{
	hang(off);
	return __real_pread(fd, p, len, off);
}

ssize_t __wrap_pwrite(int fd, const void *p, size_t len, off_t off)
{
	hang(off);
	if (off == FULL_AT) {
		errno = full;
		return -1;
	}
	if (off == OTHER_AT && __atomic_load_n(&hung_calls, __ATOMIC_RELAXED))
		__atomic_add_fetch(&overlaps, 1, __ATOMIC_RELAXED);
	return __real_pwrite(fd, p, len, off);
}

/* As the kernel does it: one caller for each descriptor gets the error. */
int __wrap_fdatasync(int fd)
{
	hang(hung_at);
	__atomic_add_fetch(&syncs, 1, __ATOMIC_RELAXED);
	cr_assert(fd < FDS);
	errno = __atomic_exchange_n(&sync_error[fd], 0, __ATOMIC_RELAXED);
	return errno ? -1 : 0;
}

int __wrap_fallocate(int fd, int mode, off_t off, off_t len)
{
	hang(off);
	if (off == FULL_AT) {
		errno = full;
		return -1;
	}
	return __real_fallocate(fd, mode, off, len);
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	uint64_t *range;
	va_list args;

	va_start(args, request);
	range = va_arg(args, uint64_t *);
	va_end(args);
	if (request != BLKDISCARD)
		return __real_ioctl(fd, request, range);
	hang((off_t)range[0]);
	return 0;
}

off_t __wrap_lseek(int fd, off_t off, int whence)
{
	hang(off);
	return __real_lseek(fd, off, whence);
}

int __wrap_fstatfs(int fd, struct statfs *fs)
{
	int rc = __real_fstatfs(fd, fs);

	if (remote)
		fs->f_type = 0x6969;
	return rc;
}

long __wrap_syscall(long number, ...)
{
	long arg[5];
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < 5; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_statx && remote) {
		__atomic_add_fetch(&sizes, 1, __ATOMIC_RELAXED);
		hang(hung_at);
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4]);
}

struct disk {
	char path[64];
	struct bdev *bdev;
	struct lane *lane[2];
};

static struct loop *loop;
static struct pool *pool;
static struct disk disk, other;

static void open_disk(struct disk *d)
{
	struct diag why = { 0 };

	cr_assert_eq(bdev_open(&d->bdev, loop, d->path, &(struct bdev_env){ .write = true }, &why),
		0, "%s", why.text);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(lane_open(&d->lane[i], d->bdev, loop, &why), 0, "%s", why.text);
}

static void close_disk(struct disk *d)
{
	for (int i = 0; i < 2; i++)
		lane_close(d->lane[i]);
	bdev_close(d->bdev);
}

static void new_disk(struct disk *d)
{
	int fd = mkstemp(strcpy(d->path, "/var/tmp/hang-test-XXXXXX"));

	cr_assert(fd >= 0 && !ftruncate(fd, 4 << 20));
	close(fd);
	open_disk(d);
}

static void setup(void)
{
	forbid_io_uring();
	sem_init(&go, 0, 0);
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(pool_new(&pool, BUF, 64, NULL), 0);
	new_disk(&disk);
	new_disk(&other);
}

static void fini(void)
{
	close_disk(&disk);
	close_disk(&other);
	pool_free(pool);
	loop_free(loop);
	unlink(disk.path);
	unlink(other.path);
}
TestSuite(file_hang, .init = setup, .fini = fini);

struct slot {
	struct io io;
	struct buf buf;
	volatile int over;
	uint64_t lower[32];
};
static struct slot slot[64];

static void over(struct io *io)
{
	container_of(io, struct slot, io)->over = 1;
}

static struct slot *submit_len(
	struct lane *lane, unsigned n, uint8_t kind, uint8_t flags, uint64_t off, uint32_t len)
{
	bool flush = kind == IO_FLUSH;
	struct slot *s = &slot[n];

	*s = (struct slot){ .buf = { pool->base + n * BUF, BUF, pool } };
	cr_assert_leq(lane->bdev->lim.io_size, sizeof(s->lower));
	s->io = (struct io){
		.kind = kind,
		.flags = flags,
		.off = flush ? 0 : off,
		.len = flush ? 0 : len,
		.buf = &s->buf,
		.done = over,
		.lower = s->lower,
	};
	bdev_submit(lane, &s->io);
	return s;
}

static struct slot *submit(struct lane *lane, unsigned n, uint8_t kind, uint8_t flags, uint64_t off)
{
	return submit_len(lane, n, kind, flags, off, BUF);
}

static int finished(struct slot *s)
{
	loop_wait(loop, &s->over, 0);
	return s->io.status;
}

static void end_hanging(unsigned calls)
{
	__atomic_store_n(&hanging, false, __ATOMIC_RELAXED);
	while (calls--)
		sem_post(&go);
}

static void assert_others_served(uint8_t kind)
{
	struct slot *hung;

	__atomic_store_n(&hanging, true, __ATOMIC_RELAXED);
	hung = submit(disk.lane[0], 0, kind, 0, HUNG_AT);
	cr_assert_eq(finished(submit(disk.lane[0], 1, IO_READ, 0, 0)), 0, "this lane");
	cr_assert_eq(finished(submit(disk.lane[1], 2, IO_WRITE, 0, 0)), 0, "another lane");
	cr_assert_eq(finished(submit(other.lane[0], 3, IO_WRITE, 0, 0)), 0, "another disk");
	cr_assert(!hung->over);
	end_hanging(8);
	cr_assert_eq(finished(hung), 0);
	while (!sem_trywait(&go))
		;
}

Test(file_hang, a_call_that_hangs_holds_up_nothing_else)
{
	static const uint8_t kinds[] = { IO_READ, IO_WRITE, IO_FLUSH, IO_TRIM, IO_ZERO, IO_MAP };

	for (unsigned i = 0; i < sizeof(kinds); i++)
		assert_others_served(kinds[i]);
}

/* A device on which no holes can be punched. */
Test(file_hang, a_discard_that_hangs_holds_up_nothing_else)
{
	container_of(disk.bdev, struct file, bdev)->device = true;
	forbid(SYS_fallocate, EOPNOTSUPP);
	assert_others_served(IO_TRIM);
	container_of(disk.bdev, struct file, bdev)->device = false;
}

Test(file_hang, a_disk_that_hangs_with_all_its_threads_holds_up_no_other)
{
	__atomic_store_n(&hanging, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 3 * IO_THREADS_MAX; i++)
		submit(disk.lane[0], i, IO_WRITE, 0, HUNG_AT);
	for (unsigned i = 0; i < 100; i++) {
		uint8_t kind = i % 2 ? IO_READ : IO_WRITE;

		cr_assert_eq(finished(submit(other.lane[0], 63, kind, 0, HUNG_AT - BUF)), 0);
	}
	for (unsigned i = 0; i < 3 * IO_THREADS_MAX; i++)
		cr_assert(!slot[i].over);
	end_hanging(3 * IO_THREADS_MAX);
	for (unsigned i = 0; i < 3 * IO_THREADS_MAX; i++)
		cr_assert_eq(finished(&slot[i]), 0);
}

/* One write hangs. One that shares a page with it and goes the other way, with or without the page
 * cache, is not begun before it ends; nothing else waits. */
static void assert_turns(uint32_t first_len, uint32_t second_len)
{
	struct slot *first, *second;
	bool early;

	__atomic_store_n(&hanging, true, __ATOMIC_RELAXED);
	first = submit_len(disk.lane[0], 0, IO_WRITE, 0, HUNG_AT, first_len);
	while (!__atomic_load_n(&hung_calls, __ATOMIC_RELAXED))
		cr_assert_eq(finished(submit(other.lane[0], 1, IO_READ, 0, 0)), 0);
	cr_assert_eq(finished(submit_len(disk.lane[1], 3, IO_WRITE, 0, 0, first_len)), 0,
		"the same way");
	second = submit_len(disk.lane[1], 2, IO_WRITE, 0, OTHER_AT, second_len);
	for (unsigned i = 0; i < 8; i++) {
		cr_assert_eq(finished(submit(disk.lane[i % 2], 3, IO_READ, 0, OTHER_AT)), 0);
		cr_assert_eq(finished(submit(disk.lane[i % 2], 3, IO_TRIM, 0, OTHER_AT)), 0);
		cr_assert_eq(finished(submit(disk.lane[i % 2], 3, IO_WRITE, 0, FAR_AT)), 0);
	}
	early = first->over || second->over;
	end_hanging(1);
	cr_assert_eq(finished(first), 0);
	cr_assert_eq(finished(second), 0);
	cr_assert_eq(__atomic_load_n(&overlaps, __ATOMIC_RELAXED), 0);
	cr_assert_not(early);
}

Test(file_hang, a_write_past_the_page_cache_has_its_turn)
{
	if (container_of(disk.bdev, struct file, bdev)->direct < 0)
		cr_skip_test("no O_DIRECT here");
	close_disk(&disk);
	cr_assert_eq(truncate(disk.path, FAR_AT + BUF), 0);
	open_disk(&disk);
	assert_turns(512, BUF);
	assert_turns(BUF, 512);
	assert_turns(512, BUF);
}

static volatile int news;
static struct bdev *kept;

static void hear(struct bdev *bdev)
{
	(void)bdev;
	news = 1;
}

Test(file_hang, the_size_of_a_remote_file_may_hang)
{
	remote = true;
	close_disk(&disk);
	open_disk(&disk);
	disk.bdev->changed = hear;
	cr_assert_eq(truncate(disk.path, 6 << 20), 0);
	__atomic_store_n(&hanging, true, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&sizes, __ATOMIC_RELAXED))
		cr_assert_eq(finished(submit(disk.lane[0], 0, IO_READ, 0, 0)), 0);
	for (unsigned i = 0; i < 10; i++)
		cr_assert_eq(finished(submit(disk.lane[0], 0, IO_READ, 0, 0)), 0);
	cr_assert_not(news);
	end_hanging(1);
	loop_wait(loop, &news, 0);
	cr_assert_eq(disk.bdev->lim.size, 6 << 20);
}

/* Closing it is not held up either; its memory stays with the thread. */
Test(file_hang, a_remote_file_is_left_while_its_size_hangs)
{
	remote = true;
	close_disk(&disk);
	open_disk(&disk);
	disk.bdev->changed = hear;
	__atomic_store_n(&hanging, true, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&sizes, __ATOMIC_RELAXED))
		cr_assert_eq(finished(submit(disk.lane[0], 0, IO_READ, 0, 0)), 0);
	kept = disk.bdev;
	close_disk(&disk);
	end_hanging(1);
	while (container_of(kept, struct file, bdev)->size_pending)
		loop_wait(loop, &news, loop_clock() + 1000000);
	kept->ops->free(kept);
	remote = false;
	open_disk(&disk);
}

static volatile int is_down;

static void went_down(struct bdev *bdev)
{
	is_down = bdev->state == BDEV_DOWN;
}

/* A stop waits for the thread that reads the header, as its memory can't be freed before. */
Test(file_hang, a_header_with_a_delayed_read)
{
	volatile int never = 0;
	struct bdev *bdev;

	hung_at = 0;
	__atomic_store_n(&hanging, true, __ATOMIC_RELAXED);
	cr_assert_eq(bdev_open(&bdev, loop, disk.path, &(struct bdev_env){ 0 }, NULL), 0);
	bdev->changed = went_down;
	bdev->ops->stop(bdev);
	loop_wait(loop, &never, loop_clock() + 20000000);
	cr_assert_not(is_down);
	end_hanging(1);
	loop_wait(loop, &is_down, 0);
	cr_assert(is_down);
	bdev->ops->free(bdev);
	hung_at = HUNG_AT;
}

/* A disk whose header can't be read opens, closes, and leaves its memory with the thread. */
Test(file_hang, a_header_that_hangs)
{
	struct disk mute = { 0 };

	strcpy(mute.path, disk.path);
	hung_at = 0;
	__atomic_store_n(&hanging, true, __ATOMIC_RELAXED);
	open_disk(&mute);
	cr_assert_eq(finished(submit(mute.lane[0], 0, IO_READ, 0, BUF)), 0);
	kept = mute.bdev;
	close_disk(&mute);
	cr_assert(container_of(kept, struct file, bdev)->reading);
	end_hanging(1);
	while (container_of(kept, struct file, bdev)->reading)
		loop_wait(loop, &news, loop_clock() + 1000000);
	kept->ops->free(kept);
	hung_at = HUNG_AT;
}

static int fua(struct lane *lane, uint8_t kind)
{
	return finished(submit(lane, 0, kind, IO_FUA, 0));
}

static void set_sync_error(int err)
{
	const struct file *file = container_of(disk.bdev, struct file, bdev);

	__atomic_store_n(&sync_error[file->fd], err, __ATOMIC_RELAXED);
	if (file->direct >= 0)
		__atomic_store_n(&sync_error[file->direct], err, __ATOMIC_RELAXED);
}

static void assert_sticky(int err, uint8_t kind)
{
	set_sync_error(err);
	cr_assert_eq(kind == IO_FLUSH ? finished(submit(disk.lane[1], 0, IO_FLUSH, 0, 0))
				      : fua(disk.lane[1], kind),
		-err);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(finished(submit(disk.lane[i % 2], 0, IO_FLUSH, 0, 0)), -err,
			"the kernel forgot it, the disk must not");
	cr_assert_eq(fua(disk.lane[0], IO_WRITE), -err);
	cr_assert_eq(fua(disk.lane[0], IO_TRIM), -err);
	cr_assert_eq(finished(submit(disk.lane[0], 0, IO_WRITE, 0, 0)), 0);
	cr_assert_eq(finished(submit(disk.lane[0], 0, IO_READ, 0, 0)), 0);
	cr_assert_eq(finished(submit(other.lane[0], 0, IO_FLUSH, 0, 0)), 0);
	set_sync_error(0);
	close_disk(&disk);
	open_disk(&disk);
	cr_assert_eq(finished(submit(disk.lane[0], 0, IO_FLUSH, 0, 0)), 0, "it was reopened");
}

Test(file_hang, an_error_of_write_back_stays_until_the_disk_is_reopened)
{
	static const int errs[] = { EIO, ENOSPC, EDQUOT };

	for (unsigned i = 0; i < sizeof(errs) / sizeof(*errs); i++) {
		assert_sticky(errs[i], IO_FLUSH);
		assert_sticky(errs[i], IO_WRITE);
		assert_sticky(errs[i], IO_ZERO);
	}
	cr_assert(syncs > 0);
}

/* A forced change that finds no space loses no data of others: their flushes succeed. */
Test(file_hang, a_forced_write_without_space_fails_alone)
{
	static const int errs[] = { ENOSPC, EDQUOT };
	static const uint32_t lens[] = { BUF, 512 };

	if (container_of(disk.bdev, struct file, bdev)->direct < 0)
		cr_skip_test("no O_DIRECT here");
	for (unsigned i = 0; i < 4; i++) {
		full = errs[i / 2];
		cr_assert_eq(finished(submit_len(
				     disk.lane[0], 0, IO_WRITE, IO_FUA, FULL_AT, lens[i % 2])),
			-full);
		cr_assert_eq(finished(submit(disk.lane[0], 0, IO_ZERO, IO_FUA, FULL_AT)), -full);
		cr_assert_eq(finished(submit(disk.lane[0], 0, IO_TRIM, IO_FUA, FULL_AT)), -full);
		cr_assert_eq(finished(submit(disk.lane[1], 0, IO_FLUSH, 0, 0)), 0);
		cr_assert_eq(fua(disk.lane[1], IO_WRITE), 0);
	}
}
