/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find mounts in /proc/self/mountinfo and mountstats, mount, and report what the kernel rejects in
 * the options. */
#include "child.h"
#include "grow.h"
#include "kernel_nfs.h"
#include "kernel_sys.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REASON_MAX 1024
#define LOOKUP_MS  5000 /* limit for following a path */

/* The mount API of Linux 5.2 (include/uapi/linux/mount.h), which some libcs lack. */
#ifndef SYS_fsopen
#define SYS_fsopen   430
#define SYS_fsconfig 431
#endif
#define FSOPEN_CLOEXEC_      1
#define FSCONFIG_SET_FLAG_   0
#define FSCONFIG_SET_STRING_ 1

/* Parse "e nfs: Unknown parameter 'x'": a letter for the kind, then the text. */
static void read_reason(int fd, char *text, size_t len)
{
	char line[256];
	ssize_t got;

	text[0] = 0;
	while ((got = read(fd, line, sizeof(line) - 1)) > 0) {
		line[got] = 0;
		line[strcspn(line, "\n")] = 0;
		if (got > 2 && line[1] == ' ')
			snprintf(text, len, "%s", line + 2);
	}
}

static bool set_option(int fd, char *word)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = 0;
	return !syscall(SYS_fsconfig, fd, value ? FSCONFIG_SET_STRING_ : FSCONFIG_SET_FLAG_, word,
		value, 0);
}

bool kernel_mount_refuses(const struct kernel_mount_args *args, char *text, size_t len)
{
	char *all = strdup(args->data), *rest = all, *word, whole[200], reason[REASON_MAX];
	int fd = (int)syscall(SYS_fsopen, args->type, FSOPEN_CLOEXEC_);
	bool refused = false;

	text[0] = 0;
	while (all && fd >= 0 && !refused && (word = strsep(&rest, ","))) {
		snprintf(whole, sizeof(whole), "%s", word);
		if (!*word || set_option(fd, word) || errno != EINVAL)
			continue;
		read_reason(fd, reason, sizeof(reason));
		snprintf(text, len, "the kernel rejects mount option '%s'%s%s", whole,
			reason[0] ? ": " : "", reason);
		refused = true;
	}
	if (fd >= 0)
		close(fd);
	free(all);
	return refused;
}

bool kernel_mount_option(const char *options, const char *name, char *value, size_t len)
{
	size_t name_len = strlen(name);

	for (const char *at = options; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t word = strcspn(at, ",");

		if (word < name_len || strncmp(at, name, name_len) ||
			(word > name_len && at[name_len] != '='))
			continue;
		snprintf(value, len, "%.*s", word > name_len ? (int)(word - name_len - 1) : 0,
			at + name_len + (word > name_len));
		return true;
	}
	return false;
}

static void copy(char *to, size_t len, const char *from)
{
	snprintf(to, len, "%s", from ? from : "");
}

/* "36 35 0:50 / /mnt rw,relatime shared:1 - nfs4 10.0.0.1:/x rw,vers=4.2" (proc(5)). Returns the
 * mount point; NULL: invalid line. */
static char *read_line(char *line, struct kernel_mounted *m)
{
	char *rest = line, *field[6], *end;

	for (int i = 0; i < 6; i++)
		field[i] = strsep(&rest, " ");
	end = rest ? strstr(rest, "- ") : NULL;
	if (!end || (end != rest && end[-1] != ' '))
		return NULL;
	end += 2;
	*m = (struct kernel_mounted){ .id = (unsigned)strtoul(field[0], NULL, 10) };
	copy(m->options, sizeof(m->options), field[5]);
	copy(m->type, sizeof(m->type), strsep(&end, " "));
	copy(m->source, sizeof(m->source), end ? kernel_sys_unescape(strsep(&end, " ")) : "");
	copy(m->super, sizeof(m->super), end);
	return kernel_sys_unescape(field[4]);
}

/* Transports from mountstats, which is read once for all mounts. */
struct stats {
	char *text;
	struct stats_row {
		const char *dir;
		char transport[16];
	} * row;
	unsigned count, next;
};

/* "device 10.0.0.1:/x mounted on /mnt with fstype nfs4 statvers=1.1", followed by lines.
 * One of them may begin with "\txprt:\trdma ". */
static void read_stats(int root, struct stats *stats)
{
	char *rest, *line, word[16];

	*stats = (struct stats){ .text = kernel_sys_read_all(root, "proc/self/mountstats") };
	rest = stats->text;
	while ((line = strsep(&rest, "\n"))) {
		char *on = strncmp(line, "device ", 7) ? NULL : strstr(line, " mounted on "),
		     *with = on ? strstr(on, " with fstype ") : NULL;
		struct stats_row *more;

		if (stats->count && sscanf(line, " xprt: %15s", word) == 1 &&
			!stats->row[stats->count - 1].transport[0])
			snprintf(stats->row[stats->count - 1].transport, sizeof(word), "%s", word);
		if (!with)
			continue;
		more = grow(stats->row, stats->count);
		if (!more)
			return;
		*with = 0;
		more->dir = kernel_sys_unescape(on + 12);
	}
}

/* Search behind the last match: both files list mounts in the same order, including those on the
 * same directory. */
static void find_transport(struct stats *stats, const char *dir, struct kernel_mounted *m)
{
	for (unsigned i = 0; i < stats->count; i++) {
		unsigned at = (stats->next + i) % stats->count;

		if (strcmp(stats->row[at].dir, dir))
			continue;
		copy(m->transport, sizeof(m->transport), stats->row[at].transport);
		stats->next = at + 1;
		return;
	}
}

static void free_stats(struct stats *stats)
{
	free(stats->text);
	free(stats->row);
}

/* Following a path into a mount may block on a dead server, so look up the last component in the
 * list of mounts first. */
int kernel_mount_find(int root, const char *typed, char dir[PATH_MAX])
{
	char path[PATH_MAX], parent[PATH_MAX];
	const char *slash, *last;
	struct kernel_mounted mount;
	size_t len = strlen(typed);

	if (len >= sizeof(path))
		return -ENAMETOOLONG;
	while (len > 1 && typed[len - 1] == '/')
		len--;
	snprintf(path, sizeof(path), "%.*s", (int)len, typed);
	slash = strrchr(path, '/');
	last = slash ? slash + 1 : path;
	if (*last && strcmp(last, ".") && strcmp(last, "..")) {
		snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path + 1) : 1,
			slash ? path : ".");
		if (!realpath(parent, dir))
			return -errno;
		len = strlen(dir);
		if ((size_t)snprintf(dir + len, PATH_MAX - len, "%s%s",
			    dir[len - 1] == '/' ? "" : "/", last) < PATH_MAX - len &&
			!kernel_mounted(root, dir, &mount))
			return 0;
	}
	return realpath(typed, dir) ? 0 : -errno;
}

static int find_mount(int root, const void *typed, void *dir)
{
	return -kernel_mount_find(root, typed, dir);
}

int kernel_mount_dir(int root, const char *typed, char dir[PATH_MAX])
{
	struct child_call call = { .fn = find_mount,
		.arg = typed,
		.out = dir,
		.out_len = PATH_MAX,
		.until = loop_clock() + LOOKUP_MS * 1000000ull };

	return child_call_run(&call, &root, 1);
}

int kernel_mounted(int root, const char *dir, struct kernel_mounted *m)
{
	char *all = kernel_sys_read_all(root, "proc/self/mountinfo"), *rest = all, *line, *point;
	struct kernel_mounted one;
	struct stats stats;
	bool found = false;

	while ((line = strsep(&rest, "\n"))) {
		point = read_line(line, &one);
		if (!point || strcmp(point, dir))
			continue;
		*m = one;
		found = true;
	}
	free(all);
	if (!found)
		return -ENOENT;
	if (strncmp(m->type, "nfs", 3))
		return 0;
	read_stats(root, &stats);
	for (unsigned i = 0; i < stats.count; i++)
		if (!strcmp(stats.row[i].dir, dir))
			copy(m->transport, sizeof(m->transport), stats.row[i].transport);
	free_stats(&stats);
	return 0;
}

void kernel_nfs_mounts(int root,
	void (*each)(const char *dir, const struct kernel_mounted *, void *arg), void *arg)
{
	char *all = kernel_sys_read_all(root, "proc/self/mountinfo"), *rest = all, *line, *point;
	struct kernel_mounted m;
	struct stats stats;

	read_stats(root, &stats);
	while ((line = strsep(&rest, "\n"))) {
		point = read_line(line, &m);
		if (!point || (strcmp(m.type, "nfs") && strcmp(m.type, "nfs4")))
			continue;
		find_transport(&stats, point, &m);
		each(point, &m, arg);
	}
	free_stats(&stats);
	free(all);
}
