/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the users of a block device or its partitions, or of a file: mounts, swap, dm and md devices
 * above, loop devices, and processes that have it open or hold an image lock on it. */
#include "holders.h"
#include "grow.h"
#include "kernel_disk.h"
#include "kernel_process.h"
#include "kernel_sys.h"
#include "loop.h"
#include "multipath.h"
#include "out.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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
	const struct stat *file; /* NULL: search for a device */
	struct device *device; /* the disk and its partitions; with `writers` also devices above */
	unsigned count, at;    /* at: the one whose partitions and holders are being searched */
	bool writers;          /* ignore read-only mounts */
	bool map;              /* a multipath map: ignore those of its partitions, and multipathd */
	int pid;               /* the process whose descriptors are being searched */
	void (*descriptor)(const char *name, void *arg);
	char lock[64]; /* the file as named in lock lists */
	char *text;
	size_t len;
	struct holders *list; /* NULL: only text */
	void (*mounted)(unsigned id, const char *dir, void *arg);
	void *arg;
	struct search *next; /* further searches, to scan processes once for all */
	ino_t *space;        /* mount namespaces searched */
	unsigned spaces;
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

static void list_add(struct holders *list, const char *kind, const char *name, const char *label)
{
	struct holder *item = list->item;

	for (; item < list->item + list->count; item++)
		if (!strcmp(item->kind, kind) && !strcmp(item->name, name))
			return;
	if (list->count == HOLDERS)
		return;
	list->count++;
	snprintf(item->kind, sizeof(item->kind), "%s", kind);
	snprintf(item->name, sizeof(item->name), "%s", name);
	snprintf(item->label, sizeof(item->label), "%s", label);
}

/* Record a holder of the disk in the text, and in the list if there is one. */
static void held(struct search *search, const char *kind, const char *fmt, const char *name,
	const char *label)
{
	char what[300];

	snprintf(what, sizeof(what), *label ? "%s (%s)" : "%s", name, label);
	found(search, fmt, what);
	if (search->list)
		list_add(search->list, kind, name, label);
}

static bool has_number(const struct search *search, unsigned dev_major, unsigned dev_minor)
{
	for (unsigned i = 0; i < search->count; i++)
		if (search->device[i].major == dev_major && search->device[i].minor == dev_minor)
			return true;
	return false;
}

static int add_device(struct search *search, unsigned dev_major, unsigned dev_minor)
{
	struct device *device;
	char uevent[1024], *name;

	if (has_number(search, dev_major, dev_minor))
		return 0;
	if (kernel_sys_read(search->root, uevent, sizeof(uevent), "sys/dev/block/%u:%u/uevent",
		    dev_major, dev_minor) < 0)
		return -ENOENT;
	device = grow(search->device, search->count);
	if (!device)
		return -ENOMEM;
	*device = (struct device){ .major = dev_major, .minor = dev_minor };
	name = strstr(uevent, "DEVNAME=");
	if (name)
		sscanf(name, "DEVNAME=%63[^\n]", device->name);
	for (char *p = device->name; *p; p++)
		if (*p == '/')
			*p = '!';
	return 0;
}

/* Add the device whose number is in <dir>/<name>/dev. */
static void add_named(struct search *search, const char *dir, const char *name)
{
	unsigned dev_major, dev_minor;
	char text[32];

	if (kernel_sys_read(search->root, text, sizeof(text), "%s/%.64s/dev", dir, name) > 0 &&
		sscanf(text, "%u:%u", &dev_major, &dev_minor) == 2)
		search->no_memory |= add_device(search, dev_major, dev_minor) == -ENOMEM;
}

static void partition(const char *name, void *arg)
{
	struct search *search = arg;
	const struct device *disk = &search->device[search->at];
	char dir[64], text[32];

	snprintf(dir, sizeof(dir), "sys/dev/block/%u:%u", disk->major, disk->minor);
	if (kernel_sys_read(search->root, text, sizeof(text), "%s/%.64s/partition", dir, name) >= 0)
		add_named(search, dir, name);
}

static void each_holder(struct search *search, void (*each)(const char *name, void *arg))
{
	const struct device *disk = &search->device[search->at];
	char path[64];

	snprintf(path, sizeof(path), "sys/dev/block/%u:%u/holders", disk->major, disk->minor);
	kernel_sys_list(search->root, path, each, search);
}

static void partition_map(const char *name, void *arg)
{
	struct search *search = arg;

	if (kernel_multipath_partition(search->root, name))
		add_named(search, "sys/class/block", name);
}

static void add_partitions(struct search *search)
{
	const struct device *disk = &search->device[search->at];
	char path[64];

	snprintf(path, sizeof(path), "sys/dev/block/%u:%u", disk->major, disk->minor);
	kernel_sys_list(search->root, path, partition, search);
	if (search->map)
		each_holder(search, partition_map);
}

/* 0, or -errno; free search->device in any case. */
static int begin(struct search *search, unsigned dev_major, unsigned dev_minor)
{
	int err = add_device(search, dev_major, dev_minor);

	if (err)
		return err;
	add_partitions(search);
	return search->no_memory ? -ENOMEM : 0;
}

/* Whether a path that others wrote is our device; follows links (/dev/mapper/…, /dev/disk/…). */
static bool is_ours(const struct search *search, const char *path)
{
	struct stat st;
	bool exists = path[0] == '/' && fstatat(search->root, path + 1, &st, 0) == 0;
	bool node = exists && S_ISBLK(st.st_mode);

	if (search->file && exists && st.st_dev == search->file->st_dev &&
		st.st_ino == search->file->st_ino)
		return true;
	for (unsigned i = 0; i < search->count; i++) {
		char name[80] = "/dev/";

		if (node && major(st.st_rdev) == search->device[i].major &&
			minor(st.st_rdev) == search->device[i].minor)
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

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue". If a file
 * system spans several disks (btrfs), the number is not the disk's, but the source names one of
 * them. Only the options at the end tell whether the file system is writable: those before the dash
 * belong to this mount, and another mount may differ. */
static void mount_line(struct search *search, char *line)
{
	char *rest = line, *field[5], *source, *options = "";
	unsigned dev_major, dev_minor;

	for (int i = 0; i < 5; i++)
		field[i] = strsep(&rest, " ");
	if (!rest || sscanf(field[2], "%u:%u", &dev_major, &dev_minor) != 2)
		return;
	source = strstr(rest, " - ");
	source = source ? strchr(source + 3, ' ') : NULL;
	if (source) {
		options = ++source;
		strsep(&options, " ");
	}
	if (search->writers && options && !strncmp(options, "ro", 2))
		return;
	if (has_number(search, dev_major, dev_minor) ||
		(source && is_ours(search, kernel_sys_unescape(source))))
		search->mounted((unsigned)strtoul(field[0], NULL, 10),
			kernel_sys_unescape(field[4]), search->arg);
}

static void mounted_on(unsigned id, const char *dir, void *arg)
{
	(void)id;
	held(arg, "mount", "mounted on %s", dir, "");
}

static void swap_line(struct search *search, char *line)
{
	line[strcspn(line, " \t")] = 0;
	if (is_ours(search, kernel_sys_unescape(line)))
		held(search, "swap", "swap", "", "");
}

/* False: there is no such file. */
static bool each_line(
	struct search *search, const char *path, void (*each)(struct search *, char *line))
{
	char *text = kernel_sys_read_all(search->root, path), *rest = text, *line;
	bool exists = text;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			each(search, line);
	free(text);
	return exists;
}

/* Check every mount namespace known here: a process behind a block device sees only its own
 * mounts. */
static void each_mount(struct search *search)
{
	each_line(search, "proc/self/mountinfo", mount_line);
	each_line(search, "proc/1/mountinfo", mount_line);
}

int kernel_holders_mounts(int root, unsigned dev_major, unsigned dev_minor,
	void (*mounted)(unsigned id, const char *dir, void *arg), void *arg)
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
	char label[128];

	if (search->map && kernel_multipath_partition(search->root, name))
		return;
	if (kernel_sys_read(
		    search->root, label, sizeof(label), "sys/class/block/%.64s/dm/name", name) <= 0)
		label[0] = 0;
	held(search, "device", "%s", name, label);
}

static void add_holder(const char *name, void *arg)
{
	add_named(arg, "sys/class/block", name);
}

static bool is_loop_over(const struct search *search, const char *name)
{
	char file[PATH_MAX];

	return !strncmp(name, "loop", 4) &&
	       kernel_sys_read(search->root, file, sizeof(file),
		       "sys/class/block/%.64s/loop/backing_file", name) > 0 &&
	       is_ours(search, file);
}

static void loop_over(const char *name, void *arg)
{
	if (is_loop_over(arg, name))
		held(arg, "device", "%s", name, "");
}

static void add_loop(const char *name, void *arg)
{
	if (is_loop_over(arg, name))
		add_named(arg, "sys/class/block", name);
}

/* Add the devices built on it, through any layers. */
static void add_above(struct search *search)
{
	unsigned before;

	do {
		before = search->count;
		for (search->at = 0; search->at < search->count; search->at++) {
			add_partitions(search);
			each_holder(search, add_holder);
		}
		kernel_sys_list(search->root, "sys/class/block", add_loop, search);
	} while (search->count > before);
}

static void no_memory(struct search *search)
{
	held(search, "unknown", "unknown holder (out of memory)", "", "");
}

static void find_holders(struct search *search)
{
	each_mount(search);
	each_line(search, "proc/swaps", swap_line);
	for (search->at = 0; search->at < search->count; search->at++)
		each_holder(search, holder);
	kernel_sys_list(search->root, "sys/class/block", loop_over, search);
}

static void clear(struct holders *list, char *text)
{
	text[0] = 0;
	if (list)
		*list = (struct holders){ 0 };
}

static int holders_of(struct search *search, unsigned dev_major, unsigned dev_minor)
{
	int err = begin(search, dev_major, dev_minor);

	clear(search->list, search->text);
	search->mounted = mounted_on;
	search->arg = search;
	if (err != -ENOENT)
		find_holders(search);
	if (err == -ENOMEM)
		no_memory(search);
	free(search->device);
	if (search->list)
		search->list->known = err != -ENOENT;
	return err == -ENOENT ? err : 0;
}

int kernel_holders_of(int root, unsigned dev_major, unsigned dev_minor, struct holders *list,
	char *text, size_t len)
{
	struct search search = { .root = root, .list = list, .text = text, .len = len };

	return holders_of(&search, dev_major, dev_minor);
}

static void found_process(struct search *search)
{
	char comm[32], text[64];

	if (kernel_sys_read(search->root, comm, sizeof(comm), "proc/%d/comm", search->pid) <= 0)
		snprintf(comm, sizeof(comm), "a program");
	if (search->map && !strcmp(comm, "multipathd"))
		return;
	snprintf(text, sizeof(text), "%s (pid %d)", comm, search->pid);
	found(search, "%s", text);
}

static void mounted_elsewhere(unsigned id, const char *dir, void *arg)
{
	(void)id;
	found(arg, "mounted on %s in another mount namespace", dir);
}

/* A disk may be mounted only in the namespace of a container or a service. Search each once; known:
 * its mounts were found before. */
static void search_space(struct search *first, const char *pid, bool known)
{
	char path[64];
	struct stat st;
	ino_t *more;

	snprintf(path, sizeof(path), "proc/%.16s/ns/mnt", pid);
	if (fstatat(first->root, path, &st, 0))
		return;
	for (unsigned i = 0; i < first->spaces; i++)
		if (first->space[i] == st.st_ino)
			return;
	snprintf(path, sizeof(path), "proc/%.16s/mountinfo", pid);
	for (struct search *search = known ? NULL : first; search; search = search->next)
		if (!each_line(search, path, mount_line))
			return; /* the process has ended; others may be in its namespace */
	more = grow(first->space, first->spaces);
	if (more)
		*more = st.st_ino;
}

/* Only examine files in /dev: accessing another file may wait for its server. */
static void opened(const char *name, void *arg)
{
	const struct search *first = arg;
	char link[64], path[256];
	ssize_t len;

	snprintf(link, sizeof(link), "proc/%d/fd/%.16s", first->pid, name);
	len = readlinkat(first->root, link, path, sizeof(path) - 1);
	if (len < 0)
		return;
	path[len] = 0;
	if (strncmp(path, "/dev/", 5))
		return;
	for (struct search *search = arg; search; search = search->next) {
		search->pid = first->pid;
		if (is_ours(search, path))
			found_process(search);
	}
}

struct lock {
	char file[64]; /* as the kernel prints it: device and inode number */
	uint64_t first, last;
};

/* "lock:	1: OFDLCK ADVISORY  READ -1 fe:00:10953630 100 101" */
static bool read_lock(const char *line, struct lock *lock)
{
	char kind[16], end[24];

	if (sscanf(line, "lock: %*d: %15s %*s %*s %*d %63s %" SCNu64 " %23s", kind, lock->file,
		    &lock->first, end) != 4)
		return false;
	lock->last = strcmp(end, "EOF") ? strtoull(end, NULL, 10) : UINT64_MAX;
	return !strcmp(kind, "OFDLCK") || !strcmp(kind, "POSIX");
}

/* The bytes whose locks exclude a writer, the writer's own first: see core/block/file_lock.c. */
static const uint8_t lock_bytes[] = { 101, 103, 200, 201 };

static unsigned lock_count(const struct search *search)
{
	return search->writers ? 1 : sizeof(lock_bytes);
}

static void lock_of_ours(struct search *search, char *line)
{
	struct lock lock;

	if (read_lock(line, &lock))
		memcpy(search->lock, lock.file, sizeof(search->lock));
}

static void lock_of_process(struct search *search, char *line)
{
	struct lock lock;

	if (!read_lock(line, &lock) || strcmp(lock.file, search->lock))
		return;
	for (unsigned i = 0; i < lock_count(search); i++)
		if (lock.first <= lock_bytes[i] && lock_bytes[i] <= lock.last)
			found_process(search);
}

static void locked(const char *name, void *arg)
{
	struct search *search = arg;
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/fdinfo/%.16s", search->pid, name);
	each_line(search, path, lock_of_process);
}

static void process(const char *name, void *arg)
{
	struct search *search = arg;
	char dir[32], end;

	if (sscanf(name, "%d%c", &search->pid, &end) != 1 || search->pid == getpid())
		return;
	if (search->descriptor == opened)
		search_space(search, name, false);
	snprintf(dir, sizeof(dir), "proc/%d/fd", search->pid);
	kernel_sys_list(search->root, dir, search->descriptor, search);
}

/* Mounts of the namespaces of this process and of process 1 are holders, found before. */
static void find_openers(struct search *first)
{
	for (struct search *search = first; search; search = search->next) {
		search->descriptor = opened;
		search->mounted = mounted_elsewhere;
		search->arg = search;
	}
	search_space(first, "self", true);
	search_space(first, "1", true);
	kernel_sys_list(first->root, "proc", process, first);
	free(first->space);
}

int kernel_openers_of(int root, unsigned dev_major, unsigned dev_minor, char *text, size_t len)
{
	struct search search = { .root = root, .text = text, .len = len };
	int err = begin(&search, dev_major, dev_minor);

	text[0] = 0;
	if (err != -ENOENT)
		find_openers(&search);
	if (err == -ENOMEM)
		no_memory(&search);
	free(search.device);
	return err == -ENOENT ? err : 0;
}

/* Search for openers of the disk and of the map. */
static void begin_both(struct search *search, const struct disk_users *disk)
{
	int err = begin(search, disk->major, disk->minor);

	if (err != -ENOMEM && disk->map[0]) {
		search->at = search->count;
		err = begin(search, disk->map_major, disk->map_minor);
	}
	if (err == -ENOMEM)
		no_memory(search);
}

void kernel_holders_or_openers(int root, struct disk_users *disks, unsigned count)
{
	struct search *list = calloc(count + 1, sizeof(*list)), *first = NULL;

	for (unsigned i = 0; i < count; i++) {
		struct disk_users *disk = &disks[i];
		struct search search = { .root = root,
			.map = disk->map[0],
			.text = disk->text,
			.len = sizeof(disk->text) };

		holders_of(&search, disk->map[0] ? disk->map_major : disk->major,
			disk->map[0] ? disk->map_minor : disk->minor);
		if (!list && !disk->text[0])
			no_memory(&search);
		if (disk->text[0])
			continue;
		list[i] = (struct search){ .root = root,
			.map = disk->map[0],
			.text = disk->text,
			.len = sizeof(disk->text),
			.next = first };
		begin_both(&list[i], disk);
		if (list[i].count)
			first = &list[i];
	}
	if (first)
		find_openers(first);
	for (unsigned i = 0; list && i < count; i++)
		free(list[i].device);
	free(list);
}

static bool is_locked(int fd, int at)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Search the lock lists for the file. A lock of our own that excludes no program shows how these
 * lists name the file, which on some file systems differs from stat(). */
static bool find_lockers(struct search *search, int fd)
{
	struct flock reads = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 1
	};
	bool any = false;
	char path[64];

	for (unsigned i = 0; i < lock_count(search); i++)
		any |= is_locked(fd, lock_bytes[i]);
	if (!any)
		return false;
	snprintf(path, sizeof(path), "proc/self/fdinfo/%d", fd);
	if (fcntl(fd, F_OFD_SETLK, &reads) == 0)
		each_line(search, path, lock_of_ours);
	search->descriptor = locked;
	if (search->lock[0])
		kernel_sys_list(search->root, "proc", process, search);
	return true;
}

static int open_path(int root, const char *path)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, fd;

	fd = path[0] == '/' ? openat(root, path + 1, flags) : open(path, flags);
	return fd < 0 ? -errno : fd;
}

int kernel_lockers(int root, const char *path, char *text, size_t len)
{
	struct search search = { .root = root, .text = text, .len = len };
	int fd = open_path(root, path);

	text[0] = 0;
	if (fd < 0)
		return fd;
	find_lockers(&search, fd);
	close(fd);
	return 0;
}

int kernel_writers(int root, const char *path, char *text, size_t len)
{
	struct search search = { .root = root, .text = text, .len = len, .writers = true };
	int fd = open_path(root, path);
	struct stat st;

	text[0] = 0;
	search.mounted = mounted_on;
	search.arg = &search;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0) {
		search.file = &st;
		if (S_ISBLK(st.st_mode))
			add_device(&search, major(st.st_rdev), minor(st.st_rdev));
		add_above(&search);
		each_mount(&search);
		each_line(&search, "proc/swaps", swap_line);
		if (find_lockers(&search, fd) && !text[0])
			found(&search, "%s", "another program");
	}
	close(fd);
	free(search.device);
	return 0;
}

static int stat_path(int root, const char *path, struct stat *st)
{
	int rc = path[0] == '/' ? fstatat(root, path + 1, st, 0) : stat(path, st);

	return rc < 0 ? -errno : 0;
}

int kernel_holders(int root, const char *path, struct holders *list, char *text, size_t len)
{
	struct search search = { .root = root, .list = list, .text = text, .len = len };
	struct stat st;
	int err = stat_path(root, path, &st);

	clear(list, text);
	if (err)
		return err;
	if (S_ISBLK(st.st_mode))
		return kernel_holders_of(
			root, major(st.st_rdev), minor(st.st_rdev), list, text, len);
	search.file = &st;
	each_line(&search, "proc/swaps", swap_line);
	kernel_sys_list(root, "sys/class/block", loop_over, &search);
	if (list)
		list->known = true;
	return 0;
}

void kernel_holders_put(struct out *out, const struct holders *list)
{
	if (!list->known)
		return;
	out_list(out, "holders");
	for (unsigned i = 0; i < list->count; i++) {
		out_object(out, NULL);
		out_text(out, "kind", NULL, "%s", list->item[i].kind);
		out_nonempty(out, "name", list->item[i].name);
		out_nonempty(out, "label", list->item[i].label);
		out_end(out);
	}
	out_end(out);
}

int kernel_openers(int root, const char *device, char *text, size_t len)
{
	struct stat st;
	int err = stat_path(root, device, &st);

	text[0] = 0;
	if (err)
		return err;
	if (!S_ISBLK(st.st_mode))
		return 0;
	return kernel_openers_of(root, major(st.st_rdev), minor(st.st_rdev), text, len);
}

enum kernel_use kernel_use_of(int root, const char *name, char *text, size_t len)
{
	unsigned dev_major, dev_minor;
	char line[64];

	text[0] = 0;
	if (faccessat(root, "sys/class/block", F_OK, 0) ||
		faccessat(root, "proc/self/mountinfo", F_OK, 0))
		return KERNEL_UNKNOWN;
	if (kernel_sys_read(root, line, sizeof(line), "sys/class/block/%s/dev", name) <= 0 ||
		sscanf(line, "%u:%u", &dev_major, &dev_minor) != 2)
		return KERNEL_UNUSED;
	kernel_holders_of(root, dev_major, dev_minor, NULL, text, len);
	if (text[0])
		return KERNEL_HELD;
	kernel_openers_of(root, dev_major, dev_minor, text, len);
	return text[0] ? KERNEL_OPEN : KERNEL_UNUSED;
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

bool kernel_process_has_open(int root, int pid, const char *path)
{
	struct open_file file = { .root = root, .pid = pid, .path = path };
	char dir[32];

	snprintf(dir, sizeof(dir), "proc/%d/fd", pid);
	kernel_sys_list(root, dir, descriptor, &file);
	return file.found;
}
