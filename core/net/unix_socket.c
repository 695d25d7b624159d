/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files of unix sockets: created with their final mode, replaced if their server is dead, removed
 * if they are still ours. */
#include "tcp.h"
#include <errno.h>
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

int unix_bind(
	int fd, const struct addr *addr, unsigned mode, struct unix_file *file, struct diag *diag)
{
	const char *path = unix_path(addr);
	struct stat st;
	int err = path[0] ? unix_replace(addr, diag) : 0; /* an abstract socket has no file */

	if (err)
		return err;
	err = bind_mode(fd, addr, mode);
	if (err)
		return diag_sys(diag, err, "bind");
	if (!path[0])
		return 0;
	if (lstat(path, &st))
		return diag_sys(diag, errno, "%s", path);
	*file = (struct unix_file){ st.st_dev, st.st_ino };
	return 0;
}

void unix_remove(const struct addr *addr, const struct unix_file *file)
{
	struct stat st;

	if (file->ino && !lstat(unix_path(addr), &st) && st.st_dev == file->dev &&
		st.st_ino == file->ino)
		unlink(unix_path(addr));
}
