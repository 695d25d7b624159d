/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who uses a block device or one of its partitions: mounts, swap, dm and md devices above it, loop devices over it; processes. */
#include "holders.h"
#include "kernel.h"
#include "sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct device {
	unsigned major, minor;
	char name[64]; /* as in /sys: "sda1", "cciss!c0d0" */
};

struct search {
	int root;
	struct device *device; /* the disk and its partitions */
	unsigned count;
	int pid; /* whose descriptors are looked at */
	char *text;
	size_t len;
	void (*mounted)(unsigned id, const char *dir, void *arg);
	void *arg;
	bool no_memory;
};

static void found(struct search *search, const char *fmt, const char *what)
{
	char item[300];
	size_t at = strlen(search->text), len;

	snprintf(item, sizeof(item), fmt, what);
	len = strlen(item);
	for (const char *p = search->text; (p = strstr(p, item)); p++)
		if ((p == search->text || p[-1] == ' ') && (!p[len] || p[len] == ','))
			return;
	snprintf(search->text + at, search->len - at, "%s%s", at ? ", " : "", item);
}

static int add_device(struct search *search, unsigned dev_major, unsigned dev_minor)
{
	struct device *device;
	char uevent[1024], *name;

	if (sys_read(search->root, uevent, sizeof(uevent), "sys/dev/block/%u:%u/uevent", dev_major, dev_minor) < 0)
		return -ENOENT;
	device = realloc(search->device, (search->count + 1) * sizeof(*device));
	if (!device)
		return -ENOMEM;
	search->device = device;
	device += search->count++;
	*device = (struct device){ .major = dev_major, .minor = dev_minor };
	name = strstr(uevent, "DEVNAME=");
	if (name)
		sscanf(name, "DEVNAME=%63[^\n]", device->name);
	for (char *p = device->name; *p; p++)
		if (*p == '/')
			*p = '!';
	return 0;
}

static void partition(const char *name, void *arg)
{
	struct search *search = arg;
	const struct device *disk = &search->device[0];
	unsigned dev_major, dev_minor;
	char text[32];

	if (sys_read(search->root, text, sizeof(text), "sys/dev/block/%u:%u/%.64s/partition", disk->major, disk->minor, name) < 0)
		return;
	if (sys_read(search->root, text, sizeof(text), "sys/dev/block/%u:%u/%.64s/dev", disk->major, disk->minor, name) > 0 &&
		sscanf(text, "%u:%u", &dev_major, &dev_minor) == 2)
		search->no_memory |= add_device(search, dev_major, dev_minor) == -ENOMEM;
}

/* 0, or -errno; free search->device in any case. */
static int begin(struct search *search, unsigned dev_major, unsigned dev_minor)
{
	char path[64];
	int err = add_device(search, dev_major, dev_minor);

	if (err)
		return err;
	snprintf(path, sizeof(path), "sys/dev/block/%u:%u", dev_major, dev_minor);
	sys_list(search->root, path, partition, search);
	return search->no_memory ? -ENOMEM : 0;
}

/* A device's path as others wrote it; links (/dev/mapper/…, /dev/disk/…) are followed. */
static bool is_ours(const struct search *search, const char *path)
{
	struct stat st;
	bool node = path[0] == '/' && fstatat(search->root, path + 1, &st, 0) == 0 && S_ISBLK(st.st_mode);

	for (unsigned i = 0; i < search->count; i++) {
		char name[80] = "/dev/";

		if (node && major(st.st_rdev) == search->device[i].major && minor(st.st_rdev) == search->device[i].minor)
			return true;
		snprintf(name + 5, sizeof(name) - 5, "%s", search->device[i].name);
		for (char *p = name; *p; p++)
			if (*p == '!')
				*p = '/';
		if (!node && !strcmp(path, name))
			return true;
	}
	return false;
}

static bool has_number(const struct search *search, unsigned dev_major, unsigned dev_minor)
{
	for (unsigned i = 0; i < search->count; i++)
		if (search->device[i].major == dev_major && search->device[i].minor == dev_minor)
			return true;
	return false;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue". The number is not the disk's where a file
 * system spans several (btrfs); then the source names one of them. */
static void mount_line(struct search *search, char *line)
{
	char *rest = line, *field[5], *source;
	unsigned dev_major, dev_minor;

	for (int i = 0; i < 5; i++)
		field[i] = strsep(&rest, " ");
	if (!rest || sscanf(field[2], "%u:%u", &dev_major, &dev_minor) != 2)
		return;
	source = strstr(rest, " - ");
	source = source ? strchr(source + 3, ' ') : NULL;
	if (source) {
		source++;
		source[strcspn(source, " ")] = 0;
	}
	if (has_number(search, dev_major, dev_minor) || (source && is_ours(search, sys_unescape(source))))
		search->mounted((unsigned)strtoul(field[0], NULL, 10), sys_unescape(field[4]), search->arg);
}

static void mounted_on(unsigned id, const char *dir, void *arg)
{
	(void)id;
	found(arg, "mounted on %s", dir);
}

static void swap_line(struct search *search, char *line)
{
	line[strcspn(line, " \t")] = 0;
	if (is_ours(search, sys_unescape(line)))
		found(search, "%s", "swap");
}

static void each_line(struct search *search, const char *path, void (*each)(struct search *, char *line))
{
	char *text = sys_read_all(search->root, path), *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			each(search, line);
	free(text);
}

/* A process behind a block device sees its own mounts only. */
static void each_mount(struct search *search)
{
	each_line(search, "proc/self/mountinfo", mount_line);
	each_line(search, "proc/1/mountinfo", mount_line);
}

int holders_mounts(int root, unsigned dev_major, unsigned dev_minor, void (*mounted)(unsigned id, const char *dir, void *arg), void *arg)
{
	struct search search = { .root = root, .mounted = mounted, .arg = arg };
	int err = begin(&search, dev_major, dev_minor);

	if (!err)
		each_mount(&search);
	free(search.device);
	return err;
}

/* "md0", or "dm-0 (vg-root)" */
static void holder(const char *name, void *arg)
{
	struct search *search = arg;
	char label[128], text[200];

	if (sys_read(search->root, label, sizeof(label), "sys/class/block/%.64s/dm/name", name) > 0)
		snprintf(text, sizeof(text), "%.64s (%s)", name, label);
	else
		snprintf(text, sizeof(text), "%.64s", name);
	found(search, "%s", text);
}

static void loop_over(const char *name, void *arg)
{
	struct search *search = arg;
	char file[256];

	if (!strncmp(name, "loop", 4) && sys_read(search->root, file, sizeof(file), "sys/class/block/%.64s/loop/backing_file", name) > 0 &&
		is_ours(search, file))
		found(search, "%s", name);
}

int holders_of(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len)
{
	struct search search = { .root = root, .text = text, .len = len, .mounted = mounted_on };
	int err = begin(&search, dev_major, dev_minor);
	char path[64];

	text[0] = 0;
	search.arg = &search;
	if (err != -ENOENT) {
		each_mount(&search);
		each_line(&search, "proc/swaps", swap_line);
		for (unsigned i = 0; i < search.count; i++) {
			snprintf(path, sizeof(path), "sys/dev/block/%u:%u/holders", search.device[i].major, search.device[i].minor);
			sys_list(root, path, holder, &search);
		}
		sys_list(root, "sys/class/block", loop_over, &search);
	}
	if (err == -ENOMEM)
		found(&search, "%s", "somebody who cannot be looked for: no memory");
	free(search.device);
	return err == -ENOENT ? err : 0;
}

/* Only what is in /dev is looked at: a look at a file may wait for its server. */
static void opened(const char *name, void *arg)
{
	struct search *search = arg;
	char link[64], path[256], comm[32], text[64];
	ssize_t len;

	snprintf(link, sizeof(link), "proc/%d/fd/%.16s", search->pid, name);
	len = readlinkat(search->root, link, path, sizeof(path) - 1);
	if (len < 0)
		return;
	path[len] = 0;
	if (strncmp(path, "/dev/", 5) || !is_ours(search, path))
		return;
	if (sys_read(search->root, comm, sizeof(comm), "proc/%d/comm", search->pid) <= 0)
		snprintf(comm, sizeof(comm), "a program");
	snprintf(text, sizeof(text), "%s (process %d)", comm, search->pid);
	found(search, "open in %s", text);
}

static void process(const char *name, void *arg)
{
	struct search *search = arg;
	char dir[32], end;

	if (sscanf(name, "%d%c", &search->pid, &end) != 1 || search->pid == getpid())
		return;
	snprintf(dir, sizeof(dir), "proc/%d/fd", search->pid);
	sys_list(search->root, dir, opened, search);
}

int openers_of(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len)
{
	struct search search = { .root = root, .text = text, .len = len };
	int err = begin(&search, dev_major, dev_minor);

	text[0] = 0;
	if (err != -ENOENT)
		sys_list(root, "proc", process, &search);
	if (err == -ENOMEM)
		found(&search, "%s", "somebody who cannot be looked for: no memory");
	free(search.device);
	return err == -ENOENT ? err : 0;
}

static int of_device(int root, const char *device, char *text, size_t len, int (*find)(int, unsigned, unsigned, char *, size_t))
{
	struct stat st;

	text[0] = 0;
	if (fstatat(device[0] == '/' ? root : AT_FDCWD, device[0] == '/' ? device + 1 : device, &st, 0) < 0)
		return -errno;
	return S_ISBLK(st.st_mode) ? find(root, major(st.st_rdev), minor(st.st_rdev), text, len) : 0;
}

int kernel_holders(int root, const char *device, char *text, size_t len)
{
	return of_device(root, device, text, len, holders_of);
}

int kernel_openers(int root, const char *device, char *text, size_t len)
{
	return of_device(root, device, text, len, openers_of);
}

struct open_file {
	int root, pid;
	const char *path;
	bool found;
};

static void descriptor(const char *name, void *arg)
{
	struct open_file *file = arg;
	char link[64], path[256];
	ssize_t len;

	snprintf(link, sizeof(link), "proc/%d/fd/%.16s", file->pid, name);
	len = readlinkat(file->root, link, path, sizeof(path) - 1);
	if (len < 0)
		return;
	path[len] = 0;
	file->found |= !strcmp(path, file->path);
}

bool kernel_process_has(int root, int pid, const char *path)
{
	struct open_file file = { .root = root, .pid = pid, .path = path };
	char dir[32];

	snprintf(dir, sizeof(dir), "proc/%d/fd", pid);
	sys_list(root, dir, descriptor, &file);
	return file.found;
}
