/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files of unix sockets: created with their final mode, replaced if their server is dead, removed
 * if they are still ours. */
#include "grow.h"
#include "helper.h"
#include "stream.h"
#include "tcp.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Where the helper listens: a server without rights chooses neither the mode of the file nor which
 * file is removed. */
static struct place {
	char *path;
	unsigned mode;
	struct unix_file file; /* that was bound last */
} * places;
static unsigned nplaces;

struct unix_job { /* data of listen_path() */
	bool remove;
	/* where it is not one of `places`, as there is no helper */
	unsigned mode;
	struct unix_file file;
	struct diag diag; /* of a bind */
};

static struct place *find_place(const char *path)
{
	for (unsigned i = 0; i < nplaces; i++)
		if (!strcmp(places[i].path, path))
			return &places[i];
	return NULL;
}

static int bind_path(
	int fd, const struct addr *addr, unsigned mode, struct unix_file *file, struct diag *diag)
{
	const char *path = unix_path(addr);
	struct stat st;
	int err = unix_replace(addr, diag);

	if (err)
		return err;
	err = bind_mode(fd, addr, mode);
	if (err)
		return diag_sys(diag, err, "bind");
	if (lstat(path, &st))
		return diag_sys(diag, errno, "%s", path);
	*file = (struct unix_file){ st.st_dev, st.st_ino };
	return 0;
}

static int remove_path(const char *path, const struct unix_file *file)
{
	struct stat st;

	if (!file->ino || lstat(path, &st) || st.st_dev != file->dev || st.st_ino != file->ino)
		return 0;
	return unlink(path) ? -errno : 0;
}

static int path_addr(struct addr *addr, const char *path)
{
	struct sockaddr_un *un = (struct sockaddr_un *)(void *)&addr->ss;

	*addr = (struct addr){ .ss.ss_family = AF_UNIX, .len = sizeof(*un) };
	if (strlen(path) >= sizeof(un->sun_path))
		return -EINVAL;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s", path);
	return 0;
}

/* A helper_fn. */
static int listen_path(const char *path, int *fd, void *data, size_t len)
{
	struct place *place = find_place(path);
	struct unix_job *job = data;
	struct unix_file *file;
	struct addr addr;
	int err = path_addr(&addr, path);

	if (err || len != sizeof(*job))
		return -EINVAL;
	file = place ? &place->file : &job->file;
	if (job->remove) {
		err = remove_path(path, file);
		file->ino = 0;
		return err;
	}
	err = bind_path(*fd, &addr, place ? place->mode : job->mode, file, &job->diag);
	job->file = *file;
	return err;
}

/* A helper_fn. */
static int connect_path(const char *path, int *fd, void *data, size_t len)
{
	struct addr addr;
	int err = path_addr(&addr, path);

	(void)data;
	(void)len;
	if (err)
		return err;
	return connect(*fd, (const struct sockaddr *)&addr.ss, addr.len) ? -errno : 0;
}

int stream_allow_connect(const char *path)
{
	return helper_allow(HELPER_FILES, connect_path, path);
}

int stream_allow_listen(const char *path, unsigned mode)
{
	struct place place = { .mode = mode }, *more;

	if (find_place(path))
		return 0;
	place.path = strdup(path);
	more = place.path ? grow(places, nplaces) : NULL;
	if (!more) {
		free(place.path);
		return -ENOMEM;
	}
	*more = place;
	return helper_allow(HELPER_FILES, listen_path, path);
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
	struct unix_job job = { .mode = mode };
	int err;

	if (!unix_path(addr)[0])
		return bind_abstract(fd, addr, diag);
	err = helper_call(listen_path, unix_path(addr), &fd, &job, sizeof(job));
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
	struct unix_job job = { .remove = true, .file = *file };
	int fd = -1;

	if (file->ino)
		helper_call(listen_path, unix_path(addr), &fd, &job, sizeof(job));
}

int unix_connect(int fd, const struct addr *addr)
{
	if (!unix_path(addr)[0])
		return connect(fd, (const struct sockaddr *)&addr->ss, addr->len) ? -errno : 0;
	return helper_call(connect_path, unix_path(addr), &fd, NULL, 0);
}
