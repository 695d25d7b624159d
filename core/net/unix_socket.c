/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files of unix sockets: created with their final mode, replaced if their server is dead, removed
 * if they are still ours. */
#include "helper.h"
#include "stream.h"
#include "tcp.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char *unix_path(const struct addr *addr)
{
	return ((const struct sockaddr_un *)(const void *)&addr->ss)->sun_path;
}

/* Remove a socket file that is in the way, unless its server is alive. */
static int unix_replace(const struct addr *addr, struct diag *diag)
{
	const char *path = unix_path(addr);
	struct stat st;
	int fd, err;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : diag_sys(diag, errno, "%s", path);
	if (!S_ISSOCK(st.st_mode))
		return diag_set(diag, DIAG_BUSY, EADDRINUSE, "%s exists and is not a socket", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return diag_sys(diag, errno, "socket");
	err = connect(fd, (const struct sockaddr *)&addr->ss, addr->len) ? errno : 0;
	close(fd);
	if (err != ECONNREFUSED)
		return diag_set(
			diag, DIAG_BUSY, EADDRINUSE, "another server is listening on %s", path);
	if (unlink(path))
		return diag_sys(diag, errno, "remove the old socket %s", path);
	return 0;
}

/* Create the socket file with its final mode: a later chmod() could hit another file. */
static int bind_mode(int fd, const struct addr *addr, unsigned mode)
{
	mode_t old = umask(~mode & 0777);
	int err = bind(fd, (const struct sockaddr *)&addr->ss, addr->len) ? errno : 0;

	umask(old);
	return err;
}

enum unix_act { UNIX_BIND, UNIX_REMOVE, UNIX_CONNECT };
struct unix_job { /* data of use_path() */
	enum unix_act act;
	unsigned mode;
	struct unix_file file;
	struct diag diag; /* of UNIX_BIND */
};

static int bind_path(int fd, const struct addr *addr, struct unix_job *job)
{
	const char *path = unix_path(addr);
	struct stat st;
	int err = unix_replace(addr, &job->diag);

	if (err)
		return err;
	err = bind_mode(fd, addr, job->mode);
	if (err)
		return diag_sys(&job->diag, err, "bind");
	if (lstat(path, &st))
		return diag_sys(&job->diag, errno, "%s", path);
	job->file = (struct unix_file){ st.st_dev, st.st_ino };
	return 0;
}

static int remove_path(const char *path, const struct unix_file *file)
{
	struct stat st;

	if (lstat(path, &st) || st.st_dev != file->dev || st.st_ino != file->ino)
		return 0;
	return unlink(path) ? -errno : 0;
}

/* A helper_fn. */
static int use_path(const char *path, int *fd, void *data, size_t len)
{
	struct addr addr = { .ss.ss_family = AF_UNIX, .len = sizeof(struct sockaddr_un) };
	struct sockaddr_un *un = (struct sockaddr_un *)(void *)&addr.ss;
	struct unix_job *job = data;

	if (len != sizeof(*job) || strlen(path) >= sizeof(un->sun_path))
		return -EINVAL;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s", path);
	switch (job->act) {
	case UNIX_BIND:
		return bind_path(*fd, &addr, job);
	case UNIX_REMOVE:
		return remove_path(path, &job->file);
	case UNIX_CONNECT:
		return connect(*fd, (const struct sockaddr *)un, addr.len) ? -errno : 0;
	}
	return -EINVAL;
}

int stream_allow_path(const char *path)
{
	return helper_allow(HELPER_FILES, use_path, path);
}

/* An abstract socket has no file. */
static int bind_abstract(int fd, const struct addr *addr, struct diag *diag)
{
	return bind(fd, (const struct sockaddr *)&addr->ss, addr->len)
		       ? diag_sys(diag, errno, "bind")
		       : 0;
}

int unix_bind(
	int fd, const struct addr *addr, unsigned mode, struct unix_file *file, struct diag *diag)
{
	struct unix_job job = { .act = UNIX_BIND, .mode = mode };
	int err;

	if (!unix_path(addr)[0])
		return bind_abstract(fd, addr, diag);
	err = helper_call(use_path, unix_path(addr), &fd, &job, sizeof(job));
	if (!err) {
		*file = job.file;
		return 0;
	}
	if (!job.diag.err)
		return diag_sys(diag, -err, "bind");
	if (diag)
		*diag = job.diag;
	return err;
}

void unix_remove(const struct addr *addr, const struct unix_file *file)
{
	struct unix_job job = { .act = UNIX_REMOVE, .file = *file };
	int fd = -1;

	if (file->ino)
		helper_call(use_path, unix_path(addr), &fd, &job, sizeof(job));
}

int unix_connect(int fd, const struct addr *addr)
{
	struct unix_job job = { .act = UNIX_CONNECT };

	if (!unix_path(addr)[0])
		return connect(fd, (const struct sockaddr *)&addr->ss, addr->len) ? -errno : 0;
	return helper_call(use_path, unix_path(addr), &fd, &job, sizeof(job));
}
