/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The PID file of a daemon, which keeps it locked: the lock ends with the process, while its number
 * may be reused. */
#include "helper.h"
#include "kernel_process.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TRIES 10 /* as another process may remove the file while it is being opened */
/* fields 3 and 22 of proc_pid_stat(5) */
#define STAT_STATE_AND_START                                                                       \
	" %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu"

/* As of kernel_pid_file_allow(), or of the caller without a helper. */
static int proc_root = -1;
static pid_t own;
static struct stat taken; /* the file that was written; ino 0: none */

static int open_file(const char *path, int create, struct stat *st, struct diag *diag)
{
	int fd = open(path, O_RDWR | create | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);

	if (fd < 0 && errno == ELOOP)
		return diag_set(diag, DIAG_USAGE, ELOOP, "is a symbolic link");
	if (fd < 0 && errno != EISDIR)
		return diag_sys(diag, errno, "write");
	if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	return diag_set(diag, DIAG_USAGE, EINVAL, "is not a regular file");
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_at(const char *path, const struct stat *st)
{
	struct stat now;

	return lstat(path, &now) == 0 && is_same(&now, st);
}

static pid_t read_pid(int fd)
{
	char text[16] = "", *end;
	long pid = pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, &end, 10) : 0;

	return pid > 0 && pid <= INT32_MAX && strchr("\n ", *end) ? (pid_t)pid : 0;
}

static double seconds(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A process that started after the file was written has a reused number. */
static bool is_alive(int root, pid_t self, pid_t pid, const struct stat *st)
{
	unsigned long long ticks;
	char text[1024], *comm_end, state;
	double began;

	if (!pid || pid == self ||
		kernel_sys_read(root, text, sizeof(text), "proc/%d/stat", (int)pid) <= 0)
		return false;
	comm_end = strrchr(text, ')');
	if (!comm_end || sscanf(comm_end + 1, STAT_STATE_AND_START, &state, &ticks) != 2)
		return false;
	if (state == 'Z' || state == 'X')
		return false;
	began = (double)ticks / (double)sysconf(_SC_CLK_TCK);
	began += seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME);
	return began <= (double)st->st_mtim.tv_sec + 1;
}

/* Lock the file. 0; -EBUSY: a process holds it. On a file system without locks nothing holds it. */
static int lock_file(int root, pid_t self, int fd, const struct stat *st, struct diag *diag)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool locked = fcntl(fd, F_OFD_SETLK, &all) < 0 && (errno == EAGAIN || errno == EACCES);
	pid_t pid = read_pid(fd);

	if (st->st_size && !pid)
		return diag_set(diag, DIAG_USAGE, EINVAL, "is not a pid file");
	if (!locked && !is_alive(root, self, pid, st))
		return 0;
	if (pid)
		return diag_set(diag, DIAG_BUSY, EBUSY, "in use by process %d", (int)pid);
	return diag_set(diag, DIAG_BUSY, EBUSY, "in use by another process");
}

static int write_pid(int fd, struct diag *diag)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d\n", (int)own);

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)len, 0) != len)
		return diag_sys(diag, errno, "write");
	return 0;
}

/* Check that the directory of a missing file exists. */
static int check_folder(const char *path, struct diag *diag)
{
	char *folder = strdup(path);
	int fd = folder ? open(dirname(folder), O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int err = fd < 0 ? diag_sys(diag, errno, "write") : 0;

	if (fd >= 0)
		close(fd);
	free(folder);
	return err;
}

int kernel_pid_file_check(int root, const char *path, struct diag *diag)
{
	struct diag why = { 0 };
	struct stat st;
	int fd = open_file(path, 0, &st, &why), err = fd;

	if (fd >= 0) {
		err = lock_file(root, getpid(), fd, &st, &why);
		close(fd);
	} else if (fd == -ENOENT) {
		why = (struct diag){ 0 };
		err = check_folder(path, &why);
	}
	diag_ctx(&why, "%s", path);
	if (err && diag)
		*diag = why;
	return err;
}

/* Return a descriptor that keeps the locked file locked but has no write access, as scripts send
 * signals to the process in it. -ENOENT: the file was replaced. */
static int hold_file(const char *path, int fd, const struct stat *st, struct diag *diag)
{
	struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int held = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat now;

	if (held < 0)
		return diag_sys(diag, errno, "read");
	if (fstat(held, &now) || !is_same(&now, st)) {
		close(held);
		return diag_set(diag, DIAG_BUSY, ENOENT, "another process has replaced it");
	}
	fcntl(fd, F_OFD_SETLK, &all);
	fcntl(held, F_OFD_SETLK, &all);
	return held;
}

/* Return a descriptor that keeps it locked. */
static int take_file(const char *path, struct diag *diag)
{
	for (unsigned i = 0; i < TRIES; i++) {
		struct stat st;
		int fd = open_file(path, O_CREAT, &st, diag);
		int err = fd < 0 ? fd : lock_file(proc_root, own, fd, &st, diag), held = -1;
		bool gone = !err && !is_at(path, &st);

		if (!err && !gone)
			err = write_pid(fd, diag);
		if (!err && !gone)
			err = held = hold_file(path, fd, &st, diag);
		if (fd >= 0)
			close(fd);
		if (held >= 0)
			taken = st;
		if (err || held >= 0)
			return err;
	}
	return diag_set(diag, DIAG_BUSY, EBUSY, "another process keeps removing it");
}

struct pid_job { /* data of use_file() */
	bool end;
	struct diag diag;
};

static int remove_file(const char *path)
{
	bool ours = taken.st_ino && is_at(path, &taken);

	taken.st_ino = 0;
	return ours && unlink(path) ? -errno : 0;
}

/* A helper_fn: take the file, or remove it if it is the one that was taken. */
static int use_file(const char *path, int *fd, void *data, size_t len)
{
	struct pid_job *job = data;

	if (len != sizeof(*job))
		return -EINVAL;
	if (job->end)
		return remove_file(path);
	*fd = take_file(path, &job->diag);
	return *fd < 0 ? *fd : 0;
}

static void set_process(int root)
{
	proc_root = root;
	own = getpid();
}

int kernel_pid_file_allow(int root, const char *path)
{
	set_process(root);
	return helper_allow(HELPER_FILES, use_file, path);
}

int kernel_pid_file(int root, const char *path, struct diag *diag)
{
	struct pid_job job = { 0 };
	int fd = -1, err;

	set_process(root);
	err = helper_call(use_file, path, &fd, &job, sizeof(job));
	if (!err)
		return fd;
	if (!job.diag.err)
		diag_sys(&job.diag, -err, "write");
	diag_ctx(&job.diag, "%s", path);
	if (diag)
		*diag = job.diag;
	return err;
}

void kernel_pid_file_end(int fd, const char *path)
{
	struct pid_job job = { .end = true };
	int none = -1;

	helper_call(use_file, path, &none, &job, sizeof(job));
	close(fd);
}
