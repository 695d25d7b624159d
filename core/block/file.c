/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* `file:PATH`: a regular file or block device as a bdev. This file opens it and sets its limits;
 * file_lane.c does the I/O. The applet finds out which process holds a busy device. */
#include "file.h"
#include "block.h"
#include "file_lock.h"
#include "image.h"
#include "out.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FILE_BLOCK 512u /* of a regular file */
/* alignment that O_DIRECT of every file system accepts; other requests use the page cache */
#define FILE_DIRECT        4096u
#define FILE_LONGEST       (32u << 20)  /* read and write */
#define FILE_LONGEST_CLEAR (128u << 20) /* zero: the kernel may have to write zeroes */
#define FILE_LONGEST_META  (1u << 30)   /* trim, map */
#define FILE_WATCH_NS      1000000000ull
#define FILE_HEADER_NS     3000000000ull /* longest wait for the header when opening */

static void file_free(struct bdev *bdev)
{
	struct file *file = container_of(bdev, struct file, bdev);

	loop_work_del(bdev->loop, &file->announce);
	loop_timer_del(bdev->loop, &file->watch);
	if (file->size_pending || file->reading) /* leave it to the thread, as the call may hang */
		return;
	io_threads_fini(&file->io_threads);
	if (file->direct >= 0)
		close(file->direct);
	if (file->direct >= 0 && file->turns && !file->no_direct)
		file_turns_direct(file->turns, false);
	file_turns_put(file->turns);
	if (file->fd >= 0)
		close(file->fd);
	if (file->zeroes)
		munmap(file->zeroes, FILE_ZEROES);
	free(file);
}

static void file_stop(struct bdev *bdev)
{
	struct file *file = container_of(bdev, struct file, bdev);

	diag_set(&bdev->why, DIAG_CLOSED, ESHUTDOWN, "closed");
	loop_timer_del(bdev->loop, &file->watch);
	file->stopping = true;
	if (!file->size_pending && !file->reading)
		loop_work_add(bdev->loop, &file->announce);
}

static void asked(struct file *file)
{
	if (file->stopping && !file->size_pending && !file->reading)
		loop_work_add(file->bdev.loop, &file->announce);
}

/* Get the size without asking a server, though some network file systems ask theirs anyway. */
static bool size_of(const struct file *file, uint64_t *size)
{
	struct statx now;
	struct stat st;

	if (file->device)
		return ioctl(file->fd, BLKGETSIZE64, size) == 0;
	if (!syscall(SYS_statx, file->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE,
		    &now)) {
		*size = now.stx_size;
		return now.stx_mask & STATX_SIZE;
	}
	if (errno != ENOSYS || fstat(file->fd, &st) < 0)
		return false;
	*size = (uint64_t)st.st_size;
	return true;
}

/* The last block of a file may be partial: reads of the missing part return zeroes, writes extend
 * the file. */
static uint64_t whole_blocks(const struct file *file, uint64_t size)
{
	uint32_t block = file->bdev.lim.block;

	return file->device ? size & ~(uint64_t)(block - 1) : bdev_whole_blocks(size, block);
}

uint64_t file_end(const struct file *file)
{
	uint64_t size;

	if (file->device || file->remote || !size_of(file, &size))
		return UINT64_MAX;
	return whole_blocks(file, size);
}

static void watch_later(struct file *file)
{
	loop_timer_set(file->bdev.loop, &file->watch, loop_now(file->bdev.loop) + FILE_WATCH_NS);
}

/* The size is polled, as the only event for it also fires on every write. Growth is reported to the
 * owner. After shrinking the promised size stays, and requests beyond the end fail; writes check
 * the end themselves, see file_end(). */
static void has_size(struct file *file, uint64_t size)
{
	struct bdev *bdev = &file->bdev;
	uint64_t end = whole_blocks(file, size);

	if (size > file->eof)
		__atomic_store_n(&file->eof, size, __ATOMIC_RELAXED);
	if (end == file->end)
		return;
	__atomic_store_n(&file->end, end, __ATOMIC_RELAXED);
	bdev->why = (struct diag){ 0 };
	if (end < bdev->lim.size)
		diag_set(&bdev->why, DIAG_MISMATCH, ENXIO,
			"shrank from %llu to %llu bytes: requests beyond the end fail",
			(unsigned long long)bdev->lim.size, (unsigned long long)size);
	else
		__atomic_store_n(&bdev->lim.size, end, __ATOMIC_RELAXED);
	bdev->changed(bdev);
}

static void ask_size(struct io_thread_job *job)
{
	struct file *file = container_of(job, struct file, size_job);

	file->size_known = size_of(file, &file->size);
}

static void size_asked(struct io_thread_job *job)
{
	struct file *file = container_of(job, struct file, size_job);

	file->size_pending = false;
	if (file->size_known && file->bdev.changed && !file->stopping)
		has_size(file, file->size);
	asked(file);
}

static void check_size(struct loop_timer *timer)
{
	struct file *file = container_of(timer, struct file, watch);
	uint64_t size;

	if (file->bdev.state == BDEV_OPENING) {
		loop_work_add(file->bdev.loop, &file->announce);
		return;
	}
	watch_later(file);
	if (!file->bdev.changed || file->size_pending)
		return;
	if (file->remote)
		file->size_pending = !io_threads_add(&file->io_threads, &file->size_job);
	else if (size_of(file, &size))
		has_size(file, size);
}

static void announce(struct loop_work *work)
{
	struct file *file = container_of(work, struct file, announce);
	struct bdev *bdev = &file->bdev;

	bdev->state = bdev->state == BDEV_OPENING ? BDEV_UP : BDEV_DOWN;
	if (bdev->state == BDEV_UP)
		watch_later(file);
	if (bdev->state == BDEV_UP && file->no_ring)
		diag_set(&bdev->why, DIAG_UNSUPPORTED, -file->no_ring,
			"io_uring is not available (%s): file I/O uses threads instead",
			diag_errno_text(-file->no_ring));
	/* While `reading` is set, the thread owns the header. */
	if (bdev->state == BDEV_UP && !file->reading && file->header_len)
		image_header(file->header, file->header_len, file->path, &bdev->why);
	if (bdev->changed)
		bdev->changed(bdev);
}

static void read_header(struct io_thread_job *job)
{
	struct file *file = container_of(job, struct file, read_header);
	size_t len = file->bdev.lim.block > 4096 ? file->bdev.lim.block : 4096;
	uint8_t *p = aligned_alloc(len, len);
	ssize_t got;

	if (!p)
		return;
	/* Bypass the page cache: a cached page could hide later writes by other hosts to a shared
	 * device. */
	got = pread(file->direct >= 0 ? file->direct : file->fd, p, len, 0);
	if (got > 0) {
		file->header_len = got < (ssize_t)FILE_HEADER ? (size_t)got : FILE_HEADER;
		memcpy(file->header, p, file->header_len);
	}
	free(p);
}

static void header_read(struct io_thread_job *job)
{
	struct file *file = container_of(job, struct file, read_header);

	file->reading = false;
	if (!file->size_pending)
		io_threads_fini(&file->io_threads); /* the thread is rarely needed later */
	if (file->bdev.state == BDEV_OPENING)
		loop_work_add(file->bdev.loop, &file->announce);
	asked(file);
}

static void file_facts(struct bdev *bdev, struct out *out)
{
	struct file *file = container_of(bdev, struct file, bdev);

	out_text(out, "transport", "transport:   ", "local");
	out_text(out, "path", "path:        ", "%s", file->path);
	out_text(out, "kind", "kind:        ", file->device ? "device" : "file");
	out_bool(out, "direct", "direct I/O:  ", file->direct >= 0);
}

static const struct bdev_ops file_ops = {
	.name = "file",
	.lane = file_lane_open,
	.stop = file_stop,
	.free = file_free,
	.facts = file_facts,
};

/* A mistyped device name must not create a file that fills the tmpfs at /dev. */
static bool in_dev(const char *path)
{
	return !strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9);
}

/* By the magic numbers of linux/magic.h and fs/smb; FUSE counts as remote, as its program may
 * hang. */
static bool is_remote(int fd)
{
	static const uint32_t kinds[] = { 0x6969 /* nfs */, 0x517b /* smb */, 0xff534d42 /* cifs */,
		0xfe534d42 /* smb2 */, 0x65735546 /* fuse */, 0x00c36400 /* ceph */,
		0x01021997 /* 9p */, 0x5346414f /* afs */, 0x01161970 /* gfs2 */ };
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if ((uint32_t)fs.f_type == kinds[i])
			return true;
	return false;
}

static int open_error(int err, bool write, struct diag *diag)
{
	switch (err) {
	case EBUSY:
		return diag_set(diag, DIAG_BUSY, err, "is in use");
	case EACCES:
	case EPERM:
	case EROFS:
		return diag_set(diag, DIAG_PERMISSION, err, "open %s: %s",
			write ? "for writing" : "for reading", diag_errno_text(err));
	default:
		return diag_sys(diag, err, "open");
	}
}

/* Lock the file. One process may open it several times, as several disks. */
static int lock_file(struct file *file, bool force, const struct stat *st, struct diag *diag)
{
	int err = file_lock(file->fd, force || file_turns_known(st), diag);

	if (err == -EBUSY)
		return err;
	if (err)
		loop_trace(file->bdev.loop, "%s: can't be locked against other writers: %s",
			file->path, diag_errno_text(-err));
	file->turns = file_turns_get(st);
	return file->turns ? 0 : diag_sys(diag, ENOMEM, "open");
}

static int not_a_disk(const struct stat *st, bool write, struct diag *diag)
{
	diag_set(diag, DIAG_USAGE, EINVAL, "is neither a block device nor a regular file");
	if (S_ISFIFO(st->st_mode))
		diag_hint(
			diag, write ? "copy writes to a pipe as -: rdmastor copy SOURCE - | ..."
				    : "copy reads a pipe as -: ... | rdmastor copy - DESTINATION");
	return -EINVAL;
}

static int open_path(struct file *file, const struct bdev_env *env, struct diag *diag)
{
	bool write = env->write;
	int flags = O_CLOEXEC | O_NOCTTY | (write ? O_RDWR : O_RDONLY);
	struct stat st;

	if (stat(file->path, &st) < 0) {
		if (errno != ENOENT || !write || !env->create) {
			int err = open_error(errno, write, diag);

			if (err == -ENOENT)
				uri_hint_host(file->path, diag);
			return err;
		}
		if (in_dev(file->path)) {
			diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no such device");
			diag_hint(diag, "rdmastor creates no regular files in /dev");
			return -ENOENT;
		}
		flags |= O_CREAT;
	} else if (S_ISBLK(st.st_mode)) {
		if (write && !env->force && !file_turns_known(&st))
			flags |= O_EXCL;
	} else if (S_ISDIR(st.st_mode)) {
		return diag_set(diag, DIAG_USAGE, EISDIR, "is a directory, not a disk or an image");
	} else if (!S_ISREG(st.st_mode)) {
		return not_a_disk(&st, write, diag);
	}
	file->fd = open(file->path, flags, 0666);
	if (file->fd < 0)
		return open_error(errno, write, diag);
	if (fstat(file->fd, &st) < 0)
		return diag_sys(diag, errno, "stat");
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode))
		return not_a_disk(&st, write, diag);
	file->device = S_ISBLK(st.st_mode);
	file->remote = !file->device && is_remote(file->fd);
	return write ? lock_file(file, env->force, &st, diag) : 0;
}

/* The second descriptor can't use O_EXCL: the first one holds the device already. */
static void open_direct(struct file *file, bool write)
{
	struct stat a, b;

	file->direct =
		open(file->path, O_CLOEXEC | O_NOCTTY | O_DIRECT | (write ? O_RDWR : O_RDONLY));
	if (file->direct < 0)
		return;
	if (fstat(file->fd, &a) == 0 && fstat(file->direct, &b) == 0 && a.st_dev == b.st_dev &&
		a.st_ino == b.st_ino && a.st_rdev == b.st_rdev) {
		if (file->turns)
			file_turns_direct(file->turns, true);
		return;
	}
	close(file->direct);
	file->direct = -1;
}

static int limits_device(struct file *file, bool write, struct diag *diag)
{
	struct bdev_limits *lim = &file->bdev.lim;
	uint64_t size = 0;
	int block = 0, ro = 0;
	unsigned physical = 0;

	if (ioctl(file->fd, BLKGETSIZE64, &size) < 0 || ioctl(file->fd, BLKSSZGET, &block) < 0)
		return diag_sys(diag, errno, "read the size");
	if (size == 0)
		return diag_set(diag, DIAG_NO_DEVICE, ENOMEDIUM, "size is 0: no medium");
	if (block < 512 || block > 65536 || (block & (block - 1)))
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"unsupported block size %d: must be 512 to 65536", block);
	lim->ro_disk = ioctl(file->fd, BLKROGET, &ro) == 0 && ro;
	if (lim->ro_disk && write)
		return diag_set(diag, DIAG_PERMISSION, EROFS, "is read-only");
	if (ioctl(file->fd, BLKPBSZGET, &physical) < 0 || physical < (unsigned)block ||
		physical > FILE_LONGEST)
		physical = block;
	lim->block = block;
	lim->size = whole_blocks(file, size);
	lim->best = physical;
	file->align = block;
	file->eof = lim->size;
	return 0;
}

static int limits_regular(struct file *file, const struct bdev_env *env, struct diag *diag)
{
	struct bdev_limits *lim = &file->bdev.lim;
	unsigned long best;
	struct stat st;

	if (fstat(file->fd, &st) < 0)
		return diag_sys(diag, errno, "stat");
	if (env->write && env->create > (uint64_t)st.st_size) {
		if (ftruncate(file->fd, env->create) < 0)
			return diag_sys(diag, errno, "extend to %llu bytes",
				(unsigned long long)env->create);
		st.st_size = env->create;
	}
	if (st.st_size == 0)
		return diag_set(diag, DIAG_USAGE, EINVAL, "is empty");
	lim->block = FILE_BLOCK;
	lim->size = whole_blocks(file, (uint64_t)st.st_size);
	best = (unsigned long)st.st_blksize;
	lim->best = best >= FILE_BLOCK && !(best & (best - 1)) && best <= 1 << 20 ? best : 4096;
	lim->max[IO_MAP] = FILE_LONGEST_META;
	file->align = FILE_DIRECT;
	file->eof = st.st_size;
	return 0;
}

/* Probe for hole punching: beyond the end of the file it changes nothing. */
static bool takes_holes(const struct file *file)
{
	uint64_t at = (file->eof + 0xfffff) & ~0xfffffull;

	return file->device ||
	       fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, 4096) == 0;
}

static int limits_write(struct file *file, struct diag *diag)
{
	struct bdev_limits *lim = &file->bdev.lim;

	file->zeroes = mmap(NULL, FILE_ZEROES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file->zeroes == MAP_FAILED) {
		file->zeroes = NULL;
		return diag_sys(diag, ENOMEM, "open");
	}
	lim->max[IO_WRITE] = FILE_LONGEST;
	lim->max[IO_ZERO] = FILE_LONGEST_CLEAR;
	lim->max[IO_TRIM] = takes_holes(file) ? FILE_LONGEST_META : 0;
	lim->max[IO_FLUSH] = 1;
	lim->fua = true;
	lim->sole_writer = !file->remote;
	return 0;
}

static int open_all(
	struct file *file, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	bool direct = true, write = env->write;
	int rc = uri_bool(uri, "direct", &direct, diag);

	if (rc == 0)
		rc = uri_done(uri, diag);
	if (rc == 0)
		rc = open_path(file, env, diag);
	if (rc == 0)
		rc = file->device ? limits_device(file, write, diag)
				  : limits_regular(file, env, diag);
	if (rc < 0)
		return rc;
	file->end = file->bdev.lim.size;
	file->no_ring = file_ring_try();
	if (direct)
		open_direct(file, write);
	file->bdev.lim.max[IO_READ] = FILE_LONGEST;
	file->bdev.lim.io_size = sizeof(struct file_io);
	file->bdev.lim.lanes = 64;
	file->bdev.lim.depth = FILE_DEPTH;
	file->bdev.lim.ro = !write;
	file->bdev.lim.ro_disk |= !write && access(file->path, W_OK) < 0;
	return write ? limits_write(file, diag) : 0;
}

int file_attach(struct bdev **out, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	struct file *file = calloc(1, sizeof(*file));
	int rc;

	if (!file)
		return diag_sys(diag, ENOMEM, "open");
	file->fd = file->direct = -1;
	file->bdev.ops = &file_ops;
	file->bdev.loop = loop;
	file->announce.run = announce;
	file->watch.fire = check_size;
	file->size_job = (struct io_thread_job){ .run = ask_size, .done = size_asked };
	file->read_header = (struct io_thread_job){ .run = read_header, .done = header_read };
	io_threads_init(&file->io_threads, loop);
	snprintf(file->path, sizeof(file->path), "%s", uri->path);
	rc = open_all(file, uri, env, diag);
	if (rc < 0) {
		file_free(&file->bdev);
		return rc;
	}
	file->reading = !env->replace && !io_threads_add(&file->io_threads, &file->read_header);
	if (file->reading)
		loop_timer_set(loop, &file->watch, loop_now(loop) + FILE_HEADER_NS);
	else
		loop_work_add(loop, &file->announce);
	*out = &file->bdev;
	return 0;
}
