/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Write archives for the kernel's initramfs (Linux,
 * Documentation/driver-api/early-userspace/buffer-format.rst: newc). */
#include "cpio.h"
#include "grow.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRAILER "TRAILER!!!"
#define BLOCK   512

struct cpio_entry {
	char path[CPIO_PATH];
	int fd;         /* of a file, or -1 */
	const char *to; /* of a link, or NULL */
	uint32_t mode, len;
};

static struct cpio_entry *find(struct cpio *cpio, const char *path, size_t len)
{
	for (unsigned i = 0; i < cpio->entries; i++)
		if (!strncmp(cpio->entry[i].path, path, len) && !cpio->entry[i].path[len])
			return &cpio->entry[i];
	return NULL;
}

static struct cpio_entry *add(
	struct cpio *cpio, const char *path, size_t len, uint32_t mode, struct diag *diag)
{
	struct cpio_entry *entry = grow(cpio->entry, cpio->entries);

	if (!entry) {
		diag_sys(diag, ENOMEM, "archive");
		return NULL;
	}
	entry->fd = -1;
	entry->mode = mode;
	memcpy(entry->path, path, len);
	return entry;
}

/* The directories above come first: the kernel creates none by itself. */
static struct cpio_entry *add_below(
	struct cpio *cpio, const char *path, uint32_t mode, struct diag *diag)
{
	const struct cpio_entry *there;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		there = find(cpio, path, (size_t)(slash - path));
		if (there && !S_ISDIR(there->mode)) {
			diag_set(diag, DIAG_USAGE, ENOTDIR, "added as a file and as a directory");
			diag_ctx(diag, "/%s", there->path);
			return NULL;
		}
		if (!there && !add(cpio, path, (size_t)(slash - path), S_IFDIR | 0755, diag))
			return NULL;
	}
	if (find(cpio, path, strlen(path))) {
		diag_set(diag, DIAG_USAGE, EEXIST, "added twice");
		diag_ctx(diag, "/%s", path);
		return NULL;
	}
	return add(cpio, path, strlen(path), mode, diag);
}

bool cpio_path(const char *from, char path[CPIO_PATH])
{
	size_t at = 0;

	for (from += strspn(from, "/"); *from; from += strspn(from, "/")) {
		size_t len = strcspn(from, "/");

		if ((len == 2 && !strncmp(from, "..", 2)) || at + len + 2 > CPIO_PATH)
			return false;
		if (len > 1 || *from != '.') {
			if (at)
				path[at++] = '/';
			memcpy(path + at, from, len);
			at += len;
		}
		from += len;
	}
	path[at] = 0;
	return at && strcmp(path, TRAILER);
}

bool cpio_own_path(const char *file, char path[CPIO_PATH])
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	char dir[PATH_MAX], real[PATH_MAX], whole[PATH_MAX + NAME_MAX];

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(name - file) : 1, slash ? file : ".");
	if (!realpath(dir, real))
		return cpio_path(file, path);
	snprintf(whole, sizeof(whole), "%s/%s", real, name);
	return cpio_path(whole, path);
}

int cpio_add_file(struct cpio *cpio, const char *file, const char *path, struct diag *diag)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct cpio_entry *entry;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		err = diag_sys(diag, errno, "open");
	else if (!S_ISREG(st.st_mode))
		err = diag_set(diag, DIAG_USAGE, EINVAL, "not a regular file");
	else if (st.st_size > (off_t)UINT32_MAX)
		err = diag_set(diag, DIAG_USAGE, EFBIG, "larger than 4 GiB");
	if (err) {
		if (fd >= 0)
			close(fd);
		return diag_ctx(diag, "%s", file);
	}
	entry = add_below(cpio, path, S_IFREG | (st.st_mode & 0777), diag);
	if (!entry) {
		close(fd);
		return -diag->err;
	}
	entry->fd = fd;
	entry->len = (uint32_t)st.st_size;
	return 0;
}

int cpio_add_link(struct cpio *cpio, const char *to, const char *path, struct diag *diag)
{
	struct cpio_entry *entry = add_below(cpio, path, S_IFLNK | 0777, diag);

	if (!entry)
		return -diag->err;
	entry->to = to;
	entry->len = (uint32_t)strlen(to);
	return 0;
}

static void put(struct cpio *cpio, const void *bytes, size_t len, FILE *to)
{
	fwrite(bytes, 1, len, to);
	cpio->written += len;
}

static void pad(struct cpio *cpio, unsigned multiple, FILE *to)
{
	static const char zeros[BLOCK];

	put(cpio, zeros, (multiple - cpio->written % multiple) % multiple, to);
}

static void put_head(struct cpio *cpio, const struct cpio_entry *entry, unsigned number, FILE *to)
{
	char head[112];
	int len = snprintf(head, sizeof(head),
		"070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", number, entry->mode,
		0, 0, S_ISDIR(entry->mode) ? 2 : 1, cpio->time, entry->len, 0, 0, 0, 0,
		(unsigned)strlen(entry->path) + 1, 0);

	put(cpio, head, (size_t)len, to);
	put(cpio, entry->path, strlen(entry->path) + 1, to);
	pad(cpio, 4, to);
}

/* The size is already written; a file in /proc, for one, reports a wrong one. */
static int put_file(struct cpio *cpio, const struct cpio_entry *entry, FILE *to, struct diag *diag)
{
	static char bytes[65536];
	uint32_t left = entry->len;
	ssize_t got;

	do {
		got = read(entry->fd, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || got > (ssize_t)left)
			break;
		put(cpio, bytes, (size_t)got, to);
		left -= (uint32_t)got;
	} while (got);
	if (!got && !left)
		return 0;
	if (got < 0)
		diag_sys(diag, errno, "read");
	else
		diag_set(diag, DIAG_IO, EIO, "has %s than its size of %u bytes",
			got ? "more" : "less", entry->len);
	return diag_ctx(diag, "/%s", entry->path);
}

/* The kernel looks for an archive that is not compressed at a multiple of 4 only, and skips zeros
 * in front of it. */
static void align(struct cpio *cpio, FILE *to)
{
	int flags = fcntl(fileno(to), F_GETFL);
	off_t at = lseek(fileno(to), 0, SEEK_CUR);
	struct stat st;

	if (flags & O_APPEND && !fstat(fileno(to), &st))
		at = st.st_size;
	cpio->written = at > 0 ? (uint64_t)at % 4 : 0;
	pad(cpio, 4, to);
	cpio->written = 0;
}

int cpio_write(struct cpio *cpio, FILE *to, struct diag *diag)
{
	static const struct cpio_entry trailer = { .path = TRAILER, .fd = -1 };
	int err = 0;

	align(cpio, to);
	for (unsigned i = 0; i < cpio->entries && !err && !ferror(to); i++) {
		const struct cpio_entry *entry = &cpio->entry[i];

		put_head(cpio, entry, i + 1, to);
		if (entry->fd >= 0)
			err = put_file(cpio, entry, to, diag);
		else if (entry->to)
			put(cpio, entry->to, entry->len, to);
		pad(cpio, 4, to);
	}
	if (err)
		return err;
	put_head(cpio, &trailer, 0, to);
	pad(cpio, BLOCK, to);
	return 0;
}

void cpio_free(struct cpio *cpio)
{
	for (unsigned i = 0; i < cpio->entries; i++)
		if (cpio->entry[i].fd >= 0)
			close(cpio->entry[i].fd);
	free(cpio->entry);
}
