/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Open and close the files of reports, whose failures name the file. */
#include "report_file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *report_open(const char *path, bool append, struct diag *diag)
{
	/* don't wait for the reader of a FIFO */
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | (append ? O_APPEND : O_TRUNC);
	int fd = open(path, flags, 0666);
	FILE *file = fd >= 0 ? fdopen(fd, append ? "a" : "w") : NULL;

	if (file) {
		fcntl(fd, F_SETFL, flags & O_APPEND);
		return file;
	}
	diag_sys(diag, errno, "create");
	diag_ctx(diag, "%s", path);
	if (fd >= 0)
		close(fd);
	return NULL;
}

FILE *report_reopen(const char *path, struct diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		diag_sys(diag, errno, "open");
	else if (!S_ISREG(st.st_mode))
		diag_set(diag, DIAG_USAGE, EINVAL, "is not a regular file");
	else if (!(file = fdopen(fd, "r")))
		diag_sys(diag, errno, "open");
	if (file)
		return file;
	diag_ctx(diag, "%s", path);
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* Why an earlier write failed: try another one. */
static int error_of(FILE *file)
{
	clearerr(file);
	fputc('\n', file);
	return fflush(file) ? errno : EIO;
}

int report_close(FILE *file, const char *path, struct diag *diag)
{
	int err = ferror(file) ? error_of(file) : 0;

	if (fclose(file) && !err)
		err = errno;
	if (!err)
		return 0;
	diag_sys(diag, err, "write");
	return diag_ctx(diag, "%s", path);
}
