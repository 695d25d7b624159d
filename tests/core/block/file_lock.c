/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One writer for each file: by the locks that qemu sets, and what does without them. */
/* Link: fcntl64 */
#include "bdev.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct loop *test_loop;
static char path[64];
static int refuse_locks; /* errno of a file system without them */

int __real_fcntl64(int fd, int cmd, void *arg);
int __wrap_fcntl64(int fd, int cmd, ...);
int __wrap_fcntl64(int fd, int cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	if (refuse_locks && (cmd == F_OFD_SETLK || cmd == F_OFD_GETLK)) {
		errno = refuse_locks;
		return -1;
	}
	return __real_fcntl64(fd, cmd, arg);
}

static void begin(void)
{
	int fd = mkstemp(strcpy(path, "/var/tmp/lock-test-XXXXXX"));

	cr_assert(fd >= 0);
	cr_assert_eq(ftruncate(fd, 1 << 20), 0);
	close(fd);
	cr_assert_eq(loop_new(&test_loop, &(struct loop_options){ .name = "test" }, NULL), 0);
}

static void end(void)
{
	loop_free(test_loop);
	unlink(path);
}

TestSuite(file_lock, .init = begin, .fini = end);

static int open_as(struct bdev **disk, bool write, bool force, struct diag *diag)
{
	struct bdev_env env = { .write = write, .force = force };
	struct diag unused = { 0 };

	return bdev_open(disk, test_loop, path, &env, diag ? diag : &unused);
}

/* Another program, as far as locks know: they belong to what was opened, not to a process. */
static int other(short type, off_t at, off_t len)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = len };
	int fd = open(path, O_RDWR | O_CLOEXEC);

	cr_assert_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
	return fd;
}

static bool is_locked(off_t at)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };
	int fd = open(path, O_RDWR | O_CLOEXEC);

	cr_assert_eq(fcntl(fd, F_OFD_GETLK, &lock), 0);
	close(fd);
	return lock.l_type != F_UNLCK;
}

Test(file_lock, a_writer_locks_the_bytes_that_qemu_looks_at)
{
	struct bdev *disk;
	unsigned count = 0;

	cr_assert_eq(open_as(&disk, true, false, NULL), 0);
	for (off_t at = 0; at < 300; at++)
		count += is_locked(at);
	cr_assert(is_locked(100) && is_locked(101), "reads and writes it");
	cr_assert(is_locked(201) && is_locked(203), "and nothing else writes or resizes it");
	cr_assert_eq(count, 4);
	bdev_close(disk);
	cr_assert_not(is_locked(101));
}

Test(file_lock, a_reader_locks_nothing_and_is_not_refused)
{
	struct bdev *writer, *reader;

	cr_assert_eq(open_as(&writer, true, false, NULL), 0);
	cr_assert_eq(open_as(&reader, false, false, NULL), 0);
	bdev_close(writer);
	cr_assert_not(is_locked(100));
	bdev_close(reader);
}

Test(file_lock, a_writer_is_refused_by_each_lock_that_concerns_it)
{
	static const struct {
		int at;
		bool busy;
	} rows[] = { { 100, false }, { 101, true }, { 102, false }, { 103, true }, { 200, true },
		{ 201, true }, { 203, false } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int fd = other(F_RDLCK, rows[i].at, 1);
		struct diag diag = { 0 };
		struct bdev *disk;
		int rc = open_as(&disk, true, false, &diag);

		cr_assert_eq(rc, rows[i].busy ? -EBUSY : 0, "byte %d: %s", rows[i].at, diag.text);
		cr_assert_eq(diag.code, rows[i].busy ? DIAG_BUSY : DIAG_NONE);
		if (!rows[i].busy)
			bdev_close(disk);
		close(fd);
	}
}

Test(file_lock, a_refused_writer_changes_nothing)
{
	struct bdev_env env = { .write = true, .create = 2 << 20 };
	struct diag diag = { 0 };
	struct bdev *disk;
	struct stat st;
	int fd = other(F_RDLCK, 101, 1);

	cr_assert_eq(bdev_open(&disk, test_loop, path, &env, &diag), -EBUSY);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(st.st_size, 1 << 20);
	cr_assert_not(is_locked(201));
	close(fd);
}

Test(file_lock, an_exclusive_lock_of_the_whole_file_is_another_program_too)
{
	int fd = other(F_WRLCK, 0, 0);
	struct bdev *disk;

	cr_assert_eq(open_as(&disk, true, false, NULL), -EBUSY);
	cr_assert_eq(open_as(&disk, true, true, NULL), 0, "force");
	bdev_close(disk);
	close(fd);
}

Test(file_lock, force_writes_as_well_and_others_see_it)
{
	int fd = other(F_RDLCK, 101, 1);
	struct bdev *disk;

	cr_assert_eq(open_as(&disk, true, true, NULL), 0);
	close(fd);
	cr_assert(is_locked(101) && is_locked(201));
	bdev_close(disk);
}

Test(file_lock, one_process_may_have_it_twice)
{
	struct bdev *first, *second, *third;
	int fd;

	cr_assert_eq(open_as(&first, true, false, NULL), 0);
	cr_assert_eq(open_as(&second, true, false, NULL), 0);
	bdev_close(first);
	cr_assert(is_locked(101), "by the second still");
	cr_assert_eq(open_as(&third, true, false, NULL), 0);
	bdev_close(second);
	bdev_close(third);
	cr_assert_not(is_locked(101));
	fd = other(F_RDLCK, 101, 1);
	cr_assert_eq(open_as(&first, true, false, NULL), -EBUSY, "it is no longer ours");
	close(fd);
}

Test(file_lock, a_file_system_without_locks_is_written_to_nevertheless)
{
	static const int errors[] = { ENOLCK, EOPNOTSUPP, EINVAL };

	for (unsigned i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct diag diag = { 0 };
		struct bdev *disk;

		refuse_locks = errors[i];
		cr_assert_eq(open_as(&disk, true, false, &diag), 0, "%s", diag.text);
		cr_assert_eq(diag.err, 0);
		bdev_close(disk);
	}
}
