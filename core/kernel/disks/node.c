/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Create device nodes if neither devtmpfs nor another program does. */
#include "node.h"
#include "kernel_disk.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* devtmpfs never removes a node that was created before it creates its own. The last mount on /dev
 * counts. */
static bool made_by_kernel(int root)
{
	char *text = kernel_sys_read_all(root, "proc/self/mountinfo"), *rest = text, *line;
	bool kernels = false;

	while ((line = strsep(&rest, "\n"))) {
		char at[8] = "";

		if (sscanf(line, "%*s %*s %*s %*s %7s", at) == 1 && !strcmp(at, "/dev"))
			kernels = strstr(line, " - devtmpfs ");
	}
	free(text);
	return kernels;
}

static bool right(int root, const char *path, dev_t dev, bool block)
{
	struct stat st;

	return fstatat(root, path, &st, 0) == 0 &&
	       (block ? S_ISBLK(st.st_mode) : S_ISCHR(st.st_mode)) && st.st_rdev == dev;
}

int kernel_node_make(int root, const char *path, const char *dev_file, bool block)
{
	unsigned dev_major, dev_minor;
	char text[32];
	dev_t dev;

	if (kernel_sys_read(root, text, sizeof(text), "%s", dev_file) <= 0 ||
		sscanf(text, "%u:%u", &dev_major, &dev_minor) != 2)
		return -ENOENT;
	dev = makedev(dev_major, dev_minor);
	if (right(root, path, dev, block))
		return 0;
	if (made_by_kernel(root))
		return -ENOENT;
	if (mknodat(root, path, (block ? S_IFBLK : S_IFCHR) | 0600, dev) && errno != EEXIST)
		return -errno;
	return right(root, path, dev, block) ? 0 : -ENODEV;
}

void kernel_node_drop(
	int root, const char *path, unsigned dev_major, unsigned dev_minor, bool block)
{
	if (right(root, path, makedev(dev_major, dev_minor), block) && !made_by_kernel(root))
		unlinkat(root, path, 0);
}

static bool has_number(int root, const char *name, const char *file)
{
	char text[32] = "";

	kernel_sys_read(root, text, sizeof(text), "sys/class/block/%.40s/%s", name, file);
	return strtoull(text, NULL, 10);
}

int kernel_disk_opens(int root, const char *name)
{
	char path[64], dev_file[64];
	int fd, err;

	snprintf(path, sizeof(path), "dev/%.40s", name);
	snprintf(dev_file, sizeof(dev_file), "sys/class/block/%.40s/dev", name);
	err = kernel_node_make(root, path, dev_file, true);
	if (err)
		return err;
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOMEDIUM ? 0 : -errno;
	close(fd);
	return has_number(root, name, "size") && has_number(root, name, "queue/logical_block_size")
		       ? 0
		       : -ENODEV;
}
