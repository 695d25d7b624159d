/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a process behind a block device asks of the system; each test is a process of its own. */
#include "kernel_process.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

Test(survive, it_is_spared_and_marked)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };
	bool mounts;
	char name[] = "rdmastor", text[8] = "";
	int fd;

	tree_file(&tree, "proc/self/oom_score_adj", "");
	tree_file(&tree, "proc/self/mountinfo",
		"22 1 0:20 / / rw - tmpfs tmpfs rw\n\nodd\n25 1 x / /none rw - ext4\n");
	kernel_survive(tree.root, name, &mounts, &diag);
	cr_assert_str_eq(name, "@dmastor");
	fd = openat(tree.root, "proc/self/oom_score_adj", O_RDONLY);
	cr_assert_eq(read(fd, text, sizeof(text) - 1), 5);
	cr_assert_str_eq(text, "-1000");
	cr_assert(!strstr(diag.text, "out-of-memory"), "%s", diag.text);
	close(fd);
	tree_free(&tree);
}

Test(survive, each_refusal_is_named_in_one_line)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };
	bool mounts;

	if (!geteuid())
		cr_assert_eq(seteuid(65534), 0);
	cr_assert(kernel_survive(tree.root, NULL, &mounts, &diag) < 0);
	cr_assert(!mounts);
	diag_says(&diag, DIAG_PERMISSION, NULL, "mount_namespace out-of-memory");
	cr_assert(!strchr(diag.text, '\n'));
	if (!getuid())
		cr_assert_eq(seteuid(0), 0);
	tree_free(&tree);
}

static void device(const struct tree *tree, const char *number, const char *name, const char *slave)
{
	char path[80], text[80];

	snprintf(path, sizeof(path), "sys/dev/block/%s/uevent", number);
	snprintf(text, sizeof(text), "MAJOR=1\nDEVNAME=%s\nDEVTYPE=disk\n", name);
	tree_file(tree, path, text);
	snprintf(path, sizeof(path), "sys/class/block/%s/dev", name);
	snprintf(text, sizeof(text), "%s\n", number);
	tree_file(tree, path, text);
	snprintf(path, sizeof(path), "sys/dev/block/%s/slaves/%s", number, slave);
	if (slave)
		tree_dir(tree, path);
}

static bool is_mounted(const struct tree *tree, const char *path)
{
	struct stat here, there;

	cr_assert(!stat(tree->path, &here) && !stat(path, &there));
	return here.st_dev != there.st_dev;
}

Test(survive, only_mounts_that_may_stand_on_it_are_left)
{
	static const struct {
		const char *number, *source;
		bool stays;
	} mounts[] = { { "253:0", "/dev/mapper/a", true }, { "8:3", "/dev/sda3", true },
		{ "253:1", "/dev/mapper/b", false }, { "259:7", "/dev/md0p1", false },
		{ "43:0", "/dev/nbd0", false }, { "0:9", "none", true } };
	struct tree tree = tree_new();
	char path[6][64], text[1000] = "";
	struct diag diag = { 0 };
	bool own;

	if (geteuid() || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		cr_skip_test("nothing can be mounted here");
	device(&tree, "8:3", "sda3", NULL);
	device(&tree, "43:0", "nbd0", NULL);
	device(&tree, "259:1", "ublkb0p1", NULL);
	device(&tree, "9:0", "md0", "ublkb0p1");
	device(&tree, "253:0", "dm-0", "sda3");
	device(&tree, "253:1", "dm-1", "md0");
	tree_file(&tree, "sys/devices/md1/md1p1/uevent", "DEVNAME=md1p1\n");
	tree_dir(&tree, "sys/devices/md1/slaves/ublkb0p1");
	tree_link(&tree, "sys/dev/block/259:7", "../../devices/md1/md1p1");
	for (unsigned i = 0; i < 6; i++) {
		snprintf(path[i], sizeof(path[i]), "mnt%u", i);
		tree_dir(&tree, path[i]);
		snprintf(path[i], sizeof(path[i]), "%s/mnt%u", tree.path, i);
		cr_assert_eq(mount("none", path[i], "tmpfs", 0, NULL), 0);
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			"3%u 1 %s / %s rw - ext4 %s rw\n", i, mounts[i].number, path[i],
			mounts[i].source);
	}
	tree_file(&tree, "proc/self/mountinfo", text);
	kernel_survive(tree.root, NULL, &own, &diag);
	for (unsigned i = 0; i < 6; i++) {
		cr_assert_eq(is_mounted(&tree, path[i]), mounts[i].stays, "%s", mounts[i].source);
		umount(path[i]);
	}
	tree_free(&tree);
}

Test(survive, what_is_on_a_device_or_server_is_left_but_for_files)
{
	static const char *const source[] = { "/dev/sda3", "server:/home", "tmpfs",
		"//server/share", "pool/home", "/proc" };
	const bool stays[] = { true, false, true, true, false, true };
	struct tree tree = tree_new();
	char path[6][64], text[1000] = "";
	struct stat st;

	if (geteuid() || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		cr_skip_test("nothing can be mounted here");
	for (unsigned i = 0; i < 6; i++) {
		snprintf(path[i], sizeof(path[i]), "mnt%u", i);
		tree_dir(&tree, path[i]);
		snprintf(path[i], sizeof(path[i]), "%s/mnt%u", tree.path, i);
		cr_assert_eq(mount("none", path[i], "tmpfs", 0, NULL), 0);
		cr_assert_eq(stat(path[i], &st), 0);
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			"3%u 1 %u:%u / %s rw - x %s rw\n", i, major(st.st_dev), minor(st.st_dev),
			path[i], source[i]);
	}
	tree_file(&tree, "proc/self/mountinfo", text);
	kernel_leave_mounts(tree.root, (const char *const[]){ NULL, path[3], path[0] }, 3);
	for (unsigned i = 0; i < 6; i++) {
		cr_assert_eq(is_mounted(&tree, path[i]), stays[i], "%s", source[i]);
		umount(path[i]);
	}
	tree_free(&tree);
}
