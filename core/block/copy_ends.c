/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The ends of a copy before they are opened: refuse what would overwrite a disk by mistake, find
 * out what kind of file the destination is, and name the disks for the map. */
#include "copy_ends.h"
#include "out.h"
#include "uri.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool same_id(const uint8_t *a, const uint8_t *b, size_t len)
{
	return bdev_id_known(a, len) && !memcmp(a, b, len);
}

static int refuse_same(const char *dst, struct diag *diag)
{
	return diag_set(
		diag, DIAG_USAGE, EINVAL, "source and destination are the same disk: %s", dst);
}

int copy_ends_differ(const struct copy_ends *ends, const struct bdev_id *a, const struct bdev_id *b,
	struct diag *diag)
{
	if (same_id(a->nguid, b->nguid, sizeof(a->nguid)) ||
		same_id(a->uuid, b->uuid, sizeof(a->uuid)) ||
		same_id(a->eui64, b->eui64, sizeof(a->eui64)))
		return refuse_same(ends->dst, diag);
	return 0;
}

/* Resolve the path of a file that may be missing. */
static bool real_path(const char *path, char real[PATH_MAX])
{
	char dir[URI_MAX], last[URI_MAX];
	size_t len;

	if (realpath(path, real))
		return true;
	snprintf(dir, sizeof(dir), "%s", path);
	snprintf(last, sizeof(last), "%s", path);
	if (!realpath(dirname(dir), real))
		return false;
	len = strlen(real);
	return (size_t)snprintf(real + len, PATH_MAX - len, "%s%s", len > 1 ? "/" : "",
		       basename(last)) < PATH_MAX - len;
}

static bool same_file(const char *path, const char *other)
{
	char real[PATH_MAX], real_other[PATH_MAX];
	struct stat a, b;

	if (!stat(path, &a) && !stat(other, &b))
		return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	return real_path(path, real) && real_path(other, real_other) && !strcmp(real, real_other);
}

/* Saving the map would replace the disk. */
static int refuse_map_as_disk(const struct copy_ends *ends, struct diag *diag)
{
	const char *const uri[] = { ends->src, ends->dst };
	char path[URI_MAX];

	for (unsigned i = 0; i < 2 && ends->map; i++)
		if (bdev_uri_path(uri[i], path, sizeof(path)) && same_file(path, ends->map))
			return diag_set(diag, DIAG_USAGE, EINVAL, "--resume: the map is the %s",
				i ? "destination" : "source");
	return 0;
}

/* A path takes no keys: "disk.img?part=1" is not a new file if there is a disk.img. */
static int refuse_keys(const char *text, struct diag *diag)
{
	static const char *const keys[] = { "part", "offset", "size", "ro", "direct" };
	char with_scheme[URI_MAX];
	struct diag why = { 0 };
	bool known = false;
	struct uri *uri;

	if (!bdev_suggest_file(text, &why))
		return 0;
	snprintf(with_scheme, sizeof(with_scheme), "file:%s", text);
	uri = uri_new(with_scheme);
	for (unsigned i = 0; uri && i < sizeof(keys) / sizeof(keys[0]); i++)
		known |= uri_has(uri, keys[i]);
	free(uri);
	if (!known)
		return 0;
	diag_set(diag, DIAG_USAGE, EINVAL, "a path takes no keys");
	diag_ctx(diag, "%s", text);
	return diag_hint(diag, "%s", why.hint);
}

static int refuse_endless_file(const char *dst, struct diag *diag)
{
	char word[320];

	diag_set(diag, DIAG_NOT_FOUND, ENOENT,
		"no such file, and the length of standard input is unknown");
	diag_hint(
		diag, "to write it to a new file: COMMAND >%s", out_shell(dst, word, sizeof(word)));
	return diag_ctx(diag, "%s", dst);
}

int copy_ends_check(struct copy_ends *ends, struct diag *diag)
{
	int err = refuse_map_as_disk(ends, diag);
	bool part = bdev_uri_is_part(ends->dst), piped = !strcmp(ends->src, "-");
	char from[URI_MAX];
	struct stat a, b;

	if (err)
		return err;
	if (strcmp(ends->dst, "-") && !strcmp(ends->src, ends->dst) &&
		!bdev_uri_in_memory(ends->src))
		return refuse_same(ends->dst, diag);
	if (!bdev_uri_path(ends->dst, ends->path, sizeof(ends->path)))
		return 0;
	if (stat(ends->path, &b) < 0) {
		ends->missing = ends->regular = ends->empty = errno == ENOENT && !part;
		if (ends->missing)
			err = refuse_keys(ends->dst, diag);
		return err || !ends->missing || !piped ? err : refuse_endless_file(ends->dst, diag);
	}
	ends->regular = S_ISREG(b.st_mode) && !part;
	ends->length = (uint64_t)b.st_size;
	ends->empty = ends->regular && !ends->length;
	if (!bdev_uri_path(ends->src, from, sizeof(from)) || stat(from, &a) < 0)
		return 0;
	if ((a.st_dev == b.st_dev && a.st_ino == b.st_ino) ||
		(S_ISBLK(a.st_mode) && S_ISBLK(b.st_mode) && a.st_rdev == b.st_rdev))
		return refuse_same(ends->dst, diag);
	return 0;
}

int copy_ends_writable(const struct copy_ends *ends, struct diag *diag)
{
	int mode = W_OK | (ends->missing ? X_OK : R_OK);
	char dir[URI_MAX];

	memcpy(dir, ends->path, sizeof(dir));
	if (ends->missing && !strncmp(dir, "/dev/", 5) && strncmp(dir, "/dev/shm/", 9)) {
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no such device");
		diag_hint(diag, "copy doesn't create files in /dev");
	} else if (access(ends->missing ? dirname(dir) : dir, mode)) {
		diag_sys(diag, errno, "open for writing");
	} else {
		return 0;
	}
	return diag_ctx(diag, "%s", ends->dst);
}

void copy_ends_remove(
	const struct copy_ends *ends, const struct copy_progress *p, const struct diag *open_error)
{
	struct stat st;

	if (!ends->missing || p->copied + p->zeroed + p->skipped)
		return;
	if (open_error && (open_error->code == DIAG_BUSY || stat(ends->path, &st) || st.st_size))
		return;
	unlink(ends->path);
}

/* A file that was deleted may leave its inode number to the next one: the time of its creation
 * tells them apart. */
static void add_birth(const char *path, char id[COPY_ID])
{
	size_t at = strlen(id);
	struct statx st;

	if (syscall(SYS_statx, AT_FDCWD, path, 0, STATX_TYPE | STATX_BTIME, &st) ||
		!S_ISREG(st.stx_mode) || !(st.stx_mask & STATX_BTIME))
		return;
	snprintf(id + at, COPY_ID - at, " created %lld.%09u", (long long)st.stx_btime.tv_sec,
		st.stx_btime.tv_nsec);
}

void copy_disk_name(struct copy_disk *disk, const char *text, const char *key, uint64_t size)
{
	char id[COPY_ID], uri[URI_MAX], path[URI_MAX], real[PATH_MAX];
	const char *name = uri;

	snprintf(uri, sizeof(uri), "%s", text);
	uri_hide(uri);
	snprintf(id, sizeof(id), "%s", key);
	if (bdev_uri_path(text, path, sizeof(path)) && real_path(path, real)) {
		name = real;
		if (id[0])
			add_birth(path, id);
	}
	copy_disk_set(disk, size, id[0] ? id : name, name);
}
