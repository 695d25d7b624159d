/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Open and close the files of reports, whose failures name the file. */
#include "report_file.h"
#include <errno.h>

FILE *report_open(const char *path, const char *mode, struct diag *diag)
{
	FILE *file = fopen(path, mode);

	if (!file) {
		diag_sys(diag, errno, "create");
		diag_ctx(diag, "%s", path);
	}
	return file;
}

int report_close(FILE *file, const char *path, struct diag *diag)
{
	int err = ferror(file) ? EIO : 0;

	if (fclose(file) && !err)
		err = errno;
	if (!err)
		return 0;
	diag_sys(diag, err, "write");
	return diag_ctx(diag, "%s", path);
}
