/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Prepare a process behind a local block device so that it never needs that device to get memory
 * or to end, and survives switch_root. A step that fails is reported, and the others are still
 * done. */
#include "kernel_process.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifndef PR_SET_IO_FLUSHER /* Linux 5.6 */
#define PR_SET_IO_FLUSHER 57
#endif
#define BELOW 32

struct refused {
	char text[400];
	int err; /* of the first failed step */
};

static void refuse(struct refused *refused, int err, const char *what)
{
	size_t len = strlen(refused->text);

	snprintf(refused->text + len, sizeof(refused->text) - len, "%s%s: %s", len ? "; " : "",
		what, diag_errno_text(err));
	if (!refused->err)
		refused->err = err;
}

static int lock_program(struct dl_phdr_info *info, size_t len, void *arg)
{
	int *err = arg;

	(void)len;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
			mlock((void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
				info->dlpi_phdr[i].p_memsz))
			*err = errno;
	return 0;
}

/* Lock the program now, all other memory on first use: a ram: disk may be larger than physical
 * memory. Lock later mappings only if there is no limit: otherwise one of them could fail because
 * of it. */
static int lock_memory(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	int err = 0;

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		getrlimit(RLIMIT_MEMLOCK, &limit);
	if (mlockall((limit.rlim_cur == RLIM_INFINITY ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT) |
		     MCL_ONFAULT))
		return errno;
	dl_iterate_phdr(lock_program, &err);
	if (err)
		return err;
	return limit.rlim_cur == RLIM_INFINITY ? 0 : EPERM;
}

static int spare_from_oom(int root)
{
	int fd = openat(root, "proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, "-1000", 5) < 0)
		err = errno;
	close(fd);
	return err;
}

struct below { /* a block device and those below it */
	int root;
	dev_t number[BELOW];
	unsigned count;
};

static void add_below(const char *name, void *arg)
{
	struct below *below = arg;
	unsigned dev_major, dev_minor;
	char text[32];

	if (below->count < BELOW &&
		kernel_sys_read(
			below->root, text, sizeof(text), "sys/class/block/%.64s/dev", name) > 0 &&
		sscanf(text, "%u:%u", &dev_major, &dev_minor) == 2)
		below->number[below->count++] = makedev(dev_major, dev_minor);
}

/* Whether a process like this one may be behind the device or those below it: sysfs lists these for
 * dm, md and bcache, and has the disk of a partition. */
static bool may_be_ours(int root, dev_t number)
{
	static const char *const lower[] = { "slaves", "../slaves" };
	struct below below = { .root = root, .number = { number }, .count = 1 };
	char text[1024], *name;

	for (unsigned i = 0; i < below.count; i++) {
		unsigned dev_major = major(below.number[i]), dev_minor = minor(below.number[i]);

		if (kernel_sys_read(root, text, sizeof(text), "sys/dev/block/%u:%u/uevent",
			    dev_major, dev_minor) < 0)
			continue;
		name = strstr(text, "DEVNAME=");
		if (name && (!strncmp(name + 8, "ublkb", 5) || !strncmp(name + 8, "nbd", 3)))
			return true;
		for (unsigned n = 0; n < sizeof(lower) / sizeof(*lower); n++) {
			snprintf(text, sizeof(text), "sys/dev/block/%u:%u/%s", dev_major, dev_minor,
				lower[n]);
			kernel_sys_list(root, text, add_below, &below);
		}
	}
	return false;
}

struct mounted {
	char *point, *source;
	dev_t number;
};

/* "36 35 259:0 / /mnt rw,noatime master:1 - ext4 /dev/ublkb0 rw" */
static bool read_mount(char *line, struct mounted *m)
{
	char *rest = line, *field[5];
	unsigned dev_major, dev_minor;

	for (int i = 0; i < 5; i++)
		field[i] = strsep(&rest, " ");
	if (!rest || sscanf(field[2], "%u:%u", &dev_major, &dev_minor) != 2)
		return false;
	m->number = makedev(dev_major, dev_minor);
	m->point = kernel_sys_unescape(field[4]);
	m->source = strstr(rest, " - ");
	m->source = m->source ? strchr(m->source + 3, ' ') : NULL;
	if (m->source) {
		m->source++;
		m->source[strcspn(m->source, " ")] = 0;
		m->source = kernel_sys_unescape(m->source);
	}
	return true;
}

/* If a file system has no device number of its own (btrfs), use its source. */
static bool is_on_our_disk(int root, const struct mounted *m)
{
	struct stat st;

	return may_be_ours(root, m->number) ||
	       (m->source && !strncmp(m->source, "/dev/", 5) &&
		       !fstatat(root, m->source + 1, &st, 0) && S_ISBLK(st.st_mode) &&
		       may_be_ours(root, st.st_rdev));
}

/* Whether the mount depends on a device or a server, unlike kernel file systems, some of which have
 * "/proc" as source. */
static bool needs_device_or_server(int root, const struct mounted *m)
{
	const char *source = m->source ? m->source : "";

	(void)root;
	return major(m->number) ||
	       (source[0] == '/' ? source[1] == '/' || !strncmp(source, "/dev/", 5)
				 : strpbrk(source, "/:") != NULL);
}

static bool holds_file(dev_t number, const char *const *keep, unsigned count)
{
	struct stat st;

	for (unsigned i = 0; i < count; i++)
		if (keep[i] && !stat(keep[i], &st) && st.st_dev == number)
			return true;
	return false;
}

/* The root stays, as it can't be left. */
static void leave_mounts(int root, const char *const *keep, unsigned count,
	bool (*leave)(int root, const struct mounted *))
{
	char *text, *rest, *line;
	struct mounted m;
	struct stat here;

	text = rest = kernel_sys_read_all(root, "proc/self/mountinfo");
	while ((line = strsep(&rest, "\n"))) {
		if (!read_mount(line, &m) || !strcmp(m.point, "/") || !leave(root, &m) ||
			holds_file(m.number, keep, count))
			continue;
		if (!stat(".", &here) && here.st_dev == m.number)
			(void)!chdir("/");
		umount2(m.point, MNT_DETACH);
	}
	free(text);
}

/* The last process of a mount namespace unmounts its mounts when it ends: for a file system on its
 * own device it would wait for itself forever. So use a private namespace that receives no later
 * mounts, and unmount such file systems there. */
static int own_mounts(int root)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return errno;
	leave_mounts(root, NULL, 0, is_on_our_disk);
	return 0;
}

void kernel_leave_mounts(int root, const char *const *keep, unsigned count)
{
	leave_mounts(root, keep, count, needs_device_or_server);
}

int kernel_survive(int root, char *argv0, bool *mounts, struct diag *diag)
{
	struct refused refused = { 0 };
	int err = own_mounts(root);

	*mounts = !err;
	if (err)
		refuse(&refused, err, "private mount namespace");
	err = spare_from_oom(root);
	if (err)
		refuse(&refused, err, "out-of-memory protection (oom_score_adj)");
	if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0))
		refuse(&refused, errno, "I/O flusher mode (PR_SET_IO_FLUSHER)");
	err = lock_memory();
	if (err)
		refuse(&refused, err, "locked memory (mlockall)");
	if (argv0 && argv0[0])
		argv0[0] = '@';
	if (!refused.err)
		return 0;
	return diag_set(diag, DIAG_PERMISSION, refused.err,
		"this process may hang or be killed when memory runs out: %s", refused.text);
}
