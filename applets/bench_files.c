/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Check the files of bench's results before the measurement: they can be created, and hold nothing
 * that is measured or compared with. */
#include "bench.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_same(const char *path, const struct stat *file)
{
	struct stat st;

	return !stat(path, &st) &&
	       (S_ISBLK(st.st_mode) ? S_ISBLK(file->st_mode) && st.st_rdev == file->st_rdev
				    : st.st_dev == file->st_dev && st.st_ino == file->st_ino);
}

/* What it is that must not be overwritten, or NULL. */
static const char *find_use(const struct bench *bench, const struct stat *file)
{
	char path[URI_MAX];

	for (unsigned i = 0; i < bench->call->operands; i++)
		if (bdev_uri_path(bench->call->operand[i], path, sizeof(path)) &&
			is_same(path, file))
			return "a disk to measure";
	if (bench->opts->baseline && is_same(bench->opts->baseline, file))
		return "the file of --baseline";
	return S_ISBLK(file->st_mode) ? "a block device" : NULL;
}

static int check_file(const struct bench *bench, const char *path)
{
	struct diag *diag = bench->call->diag;
	const char *slash = strrchr(path, '/'), *use;
	char folder[PATH_MAX] = ".";
	struct stat st;
	bool exists = !stat(path, &st), too_long = !exists && errno == ENAMETOOLONG;

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path);
	use = exists ? find_use(bench, &st) : NULL;
	if (use)
		diag_set(diag, DIAG_USAGE, EINVAL, "is %s: results can't be written to it", use);
	else if (exists && S_ISDIR(st.st_mode))
		diag_sys(diag, EISDIR, "create");
	else if (too_long)
		diag_sys(diag, ENAMETOOLONG, "create");
	else if (!*path || access(exists ? path : folder, W_OK))
		diag_sys(diag, *path ? errno : ENOENT, "create");
	else
		return 0;
	diag_ctx(diag, "%s", *path ? path : "''");
	return -diag->err;
}

static int check_result(
	const struct bench *bench, const char *path, const char *const *others, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (others[i] && !strcmp(path, others[i]))
			return diag_set(bench->call->diag, DIAG_USAGE, EINVAL,
				"two results can't be written to '%s'", path);
	return check_file(bench, path);
}

static int check_pictures(const struct bench *bench, const char *const *others, size_t count)
{
	const struct matrix_options opt = { .bs = bench->bs, .reads = bench->reads };
	unsigned pictures = bench->bs.count * bench->reads.count;
	char path[PATH_MAX];
	int err = 0;

	for (unsigned i = 0; i < pictures && !err; i++) {
		const struct matrix_cell cell = { .bs = opt.bs.value[i / opt.reads.count],
			.read_percent = (uint8_t)opt.reads.value[i % opt.reads.count] };

		matrix_svg_path(&opt, &cell, bench->opts->svg, path, sizeof(path));
		err = check_result(bench, path, others, count);
	}
	return err;
}

int bench_check_files(const struct bench *bench)
{
	const struct bench_options *opts = bench->opts;
	const char *const paths[] = { opts->hgrm, opts->log, opts->verify_state, opts->csv };
	size_t count = sizeof(paths) / sizeof(*paths);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		if (paths[i])
			err = check_result(bench, paths[i], paths, i);
	return err || !opts->svg ? err : check_pictures(bench, paths, count);
}
