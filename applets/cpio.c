/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rdmastor --cpio: an archive with this program, to be loaded after an initramfs or appended to it
 * (Linux, Documentation/driver-api/early-userspace/buffer-format.rst: newc). */
#include "applet.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRAILER   "TRAILER!!!"
#define PATH_LEN  1024
#define BLOCK     512
#define FILES     (OPT_LIST_MAX + 1)
#define ENTRIES   (FILES * 16 + 2 * 64)
#define FILE_MOST UINT32_MAX

struct cpio_options {
	struct opt_common common;
	const char *links, *dir;
	struct opt_list add;
};

#define AT(field) offsetof(struct cpio_options, field)
static const struct opt rows[] = {
	{ "links", 0, OPT_TEXT, AT(links), "applets|replacements",
		"add links to the program for the applets, or for the names of replaced tools; "
		"default none" },
	{ "dir", 0, OPT_TEXT, AT(dir), "DIR",
		"directory of the program and its links; default /usr/bin" },
	{ "add", 0, OPT_LIST, AT(add), "FILE[=PATH]",
		"add a file, optionally under another path; repeatable" },
	{ 0 },
};
#undef AT

static const struct cpio_options defaults = { .dir = "/usr/bin" };

struct entry {
	char path[PATH_LEN]; /* without the first '/' */
	int fd;              /* of a file, or -1 */
	const char *to;      /* of a link, or NULL */
	uint32_t mode, len;
};

struct cpio {
	struct call *call;
	struct entry *entry;
	unsigned entries;
	uint32_t time;
	uint64_t written;
	char folder[PATH_LEN];
};

static struct entry *find(struct cpio *cpio, const char *path, size_t len)
{
	for (unsigned i = 0; i < cpio->entries; i++)
		if (!strncmp(cpio->entry[i].path, path, len) && !cpio->entry[i].path[len])
			return &cpio->entry[i];
	return NULL;
}

static struct entry *add(struct cpio *cpio, const char *path, size_t len, uint32_t mode)
{
	struct entry *entry = &cpio->entry[cpio->entries];

	if (cpio->entries == ENTRIES) {
		diag_set(cpio->call->diag, DIAG_USAGE, E2BIG, "more than %d directories and files",
			ENTRIES);
		return NULL;
	}
	cpio->entries++;
	*entry = (struct entry){ .fd = -1, .mode = mode };
	memcpy(entry->path, path, len);
	return entry;
}

/* The directories above come first: the kernel creates none by itself. */
static struct entry *add_below(struct cpio *cpio, const char *path, uint32_t mode)
{
	struct diag *diag = cpio->call->diag;
	const struct entry *there;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		there = find(cpio, path, (size_t)(slash - path));
		if (there && !S_ISDIR(there->mode)) {
			diag_set(diag, DIAG_USAGE, ENOTDIR, "added as a file and as a directory");
			diag_ctx(diag, "/%s", there->path);
			return NULL;
		}
		if (!there && !add(cpio, path, (size_t)(slash - path), S_IFDIR | 0755))
			return NULL;
	}
	if (find(cpio, path, strlen(path))) {
		diag_set(diag, DIAG_USAGE, EEXIST, "added twice");
		diag_ctx(diag, "/%s", path);
		return NULL;
	}
	return add(cpio, path, strlen(path), mode);
}

/* Without "//", "/./" and the slashes around it; false: "..", nothing, too long, or the name that
 * ends an archive. */
static bool plain_path(const char *from, char path[PATH_LEN])
{
	size_t at = 0;

	for (from += strspn(from, "/"); *from; from += strspn(from, "/")) {
		size_t len = strcspn(from, "/");

		if ((len == 2 && !strncmp(from, "..", 2)) || at + len + 2 > PATH_LEN)
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

/* The file's own path, for which links to its directory are followed: /lib may be a link in the
 * initramfs, too, and the kernel would replace that by a directory. */
static bool own_path(const char *file, char path[PATH_LEN])
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	char dir[PATH_MAX], real[PATH_MAX], whole[PATH_MAX + NAME_MAX];

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(name - file) : 1, slash ? file : ".");
	if (!realpath(dir, real))
		return plain_path(file, path);
	snprintf(whole, sizeof(whole), "%s/%s", real, name);
	return plain_path(whole, path);
}

static int add_file(struct cpio *cpio, const char *file, const char *path)
{
	struct diag *diag = cpio->call->diag;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct entry *entry;
	struct stat st;
	int err = 0;

	if (fd < 0 || fstat(fd, &st))
		err = diag_sys(diag, errno, "open");
	else if (!S_ISREG(st.st_mode))
		err = diag_set(diag, DIAG_USAGE, EINVAL, "not a regular file");
	else if (st.st_size > (off_t)FILE_MOST)
		err = diag_set(diag, DIAG_USAGE, EFBIG, "larger than 4 GiB");
	if (err) {
		if (fd >= 0)
			close(fd);
		return diag_ctx(diag, "%s", file);
	}
	entry = add_below(cpio, path, S_IFREG | (st.st_mode & 0777));
	if (!entry) {
		close(fd);
		return -diag->err;
	}
	entry->fd = fd;
	entry->len = (uint32_t)st.st_size;
	return 0;
}

static int add_named(struct cpio *cpio, const char *word)
{
	struct diag *diag = cpio->call->diag;
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	char *file = strndup(word, len), path[PATH_LEN];
	int err;

	if (!file)
		return diag_sys(diag, ENOMEM, "--add");
	if (*file && (equals ? plain_path(equals + 1, path) : own_path(file, path)))
		err = add_file(cpio, file, path);
	else
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"--add %s: invalid path: expected FILE[=PATH], up to %d bytes without '..'",
			word, PATH_LEN - 2);
	free(file);
	return err;
}

/* After the first failure, which is in the diag, nothing more. */
static void add_link(const char *name, void *arg)
{
	struct cpio *cpio = arg;
	char path[PATH_LEN + 64];
	struct entry *entry;

	snprintf(path, sizeof(path), "%s/%s", cpio->folder, name);
	entry = cpio->call->diag->err ? NULL : add_below(cpio, path, S_IFLNK | 0777);
	if (entry) {
		entry->to = "rdmastor";
		entry->len = (uint32_t)strlen(entry->to);
	}
}

static int add_program(struct cpio *cpio)
{
	const struct cpio_options *opts = cpio->call->opts;
	char path[PATH_LEN + 64];
	int err;

	if (!plain_path(opts->dir, cpio->folder) || strlen(cpio->folder) > PATH_LEN - 64)
		return diag_set(cpio->call->diag, DIAG_USAGE, EINVAL, "--dir %.200s: invalid path",
			opts->dir);
	snprintf(path, sizeof(path), "%s/rdmastor", cpio->folder);
	err = add_file(cpio, "/proc/self/exe", path);
	if (!err && opts->links)
		applet_names(opts->links, add_link, cpio);
	return err ? err : -cpio->call->diag->err;
}

static void put(struct cpio *cpio, const void *bytes, size_t len)
{
	fwrite(bytes, 1, len, stdout);
	cpio->written += len;
}

static void pad(struct cpio *cpio, unsigned to)
{
	static const char zeros[BLOCK];

	put(cpio, zeros, (to - cpio->written % to) % to);
}

static void put_head(struct cpio *cpio, const struct entry *entry, unsigned number)
{
	char head[112];
	int len = snprintf(head, sizeof(head),
		"070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", number, entry->mode,
		0, 0, S_ISDIR(entry->mode) ? 2 : 1, cpio->time, entry->len, 0, 0, 0, 0,
		(unsigned)strlen(entry->path) + 1, 0);

	put(cpio, head, (size_t)len);
	put(cpio, entry->path, strlen(entry->path) + 1);
	pad(cpio, 4);
}

/* The size is already written; a file in /proc, for one, reports a wrong one. */
static int put_file(struct cpio *cpio, const struct entry *entry)
{
	static char bytes[65536];
	struct diag *diag = cpio->call->diag;
	uint32_t left = entry->len;
	ssize_t got;

	do {
		got = read(entry->fd, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || got > (ssize_t)left)
			break;
		if (got > (ssize_t)left)
			break;
		put(cpio, bytes, (size_t)got);
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
static void align(struct cpio *cpio)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	off_t at = lseek(STDOUT_FILENO, 0, SEEK_CUR);
	struct stat st;

	if (flags & O_APPEND && !fstat(STDOUT_FILENO, &st))
		at = st.st_size;
	cpio->written = at > 0 ? (uint64_t)at % 4 : 0;
	pad(cpio, 4);
	cpio->written = 0;
}

static int put_archive(struct cpio *cpio)
{
	static const struct entry trailer = { .path = TRAILER, .fd = -1 };
	int err = 0;

	align(cpio);
	for (unsigned i = 0; i < cpio->entries && !err && !ferror(stdout); i++) {
		const struct entry *entry = &cpio->entry[i];

		put_head(cpio, entry, i + 1);
		if (entry->fd >= 0)
			err = put_file(cpio, entry);
		else if (entry->to)
			put(cpio, entry->to, entry->len);
		pad(cpio, 4);
	}
	if (err)
		return err;
	put_head(cpio, &trailer, 0);
	pad(cpio, BLOCK);
	return 0;
}

static int check_call(struct call *call)
{
	const struct cpio_options *opts = call->opts;

	if (opts->common.json || opts->common.dry_run)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"%s: not supported: the archive goes to standard output",
			opts->common.json ? "--json" : "--dry-run");
	if (isatty(STDOUT_FILENO)) {
		diag_set(call->diag, DIAG_USAGE, EINVAL, "standard output is a terminal");
		return diag_hint(call->diag, "rdmastor --cpio >rdmastor.cpio");
	}
	return 0;
}

static int run(struct call *call)
{
	const struct cpio_options *opts = call->opts;
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	uint64_t time = 0;
	struct cpio cpio = { .call = call };
	int err = check_call(call);

	if (!err && epoch && parse_u64(epoch, 0, UINT32_MAX, &time, call->diag))
		err = diag_ctx(call->diag, "SOURCE_DATE_EPOCH");
	if (err)
		return err;
	cpio.time = (uint32_t)time;
	cpio.entry = calloc(ENTRIES, sizeof(*cpio.entry));
	if (!cpio.entry)
		return diag_sys(call->diag, ENOMEM, "archive");
	err = add_program(&cpio);
	for (unsigned i = 0; i < opts->add.count && !err; i++)
		err = add_named(&cpio, opts->add.item[i]);
	if (!err)
		err = put_archive(&cpio);
	for (unsigned i = 0; i < cpio.entries; i++)
		if (cpio.entry[i].fd >= 0)
			close(cpio.entry[i].fd);
	free(cpio.entry);
	return err;
}

const struct applet applet_cpio = {
	.name = "--cpio",
	.summary = "write an initramfs archive with this program to standard output",
	.examples = "  rdmastor --cpio --links applets >rdmastor.cpio\n"
		    "  rdmastor --cpio --add /etc/nvme/hostnqn >>initrd.img\n",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct cpio_options),
	.run = run,
};
