/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who holds a disk, on trees as the kernel lays them out. */
#include "holders.h"
#include "kernel_disk.h"
#include "kernel_process.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void add_disk(const struct tree *tree, const char *name, const char *number)
{
	char path[128], text[128];

	snprintf(path, sizeof(path), "sys/devices/%s/uevent", name);
	snprintf(text, sizeof(text), "MAJOR=1\nDEVNAME=%s\nDEVTYPE=disk\n", name);
	tree_file(tree, path, text);
	snprintf(path, sizeof(path), "sys/devices/%s/dev", name);
	tree_file(tree, path, number);
	snprintf(path, sizeof(path), "sys/devices/%s/holders", name);
	tree_dir(tree, path);
	snprintf(path, sizeof(path), "sys/dev/block/%s", number);
	snprintf(text, sizeof(text), "../../devices/%s", name);
	tree_link(tree, path, text);
	snprintf(path, sizeof(path), "sys/class/block/%s", name);
	tree_link(tree, path, text);
}

/* sda with sda1 and sda2 */
static struct tree new_tree(void)
{
	struct tree tree = tree_new();

	add_disk(&tree, "sda", "8:0");
	tree_file(&tree, "sys/devices/sda/sda1/uevent", "DEVNAME=sda1\n");
	tree_file(&tree, "sys/devices/sda/sda1/dev", "8:1\n");
	tree_file(&tree, "sys/devices/sda/sda1/partition", "1\n");
	tree_dir(&tree, "sys/devices/sda/sda1/holders");
	tree_link(&tree, "sys/dev/block/8:1", "../../devices/sda/sda1");
	tree_file(&tree, "sys/devices/sda/sda2/uevent", "DEVNAME=sda2\n");
	tree_file(&tree, "sys/devices/sda/sda2/dev", "8:2\n");
	tree_file(&tree, "sys/devices/sda/sda2/partition", "2\n");
	tree_dir(&tree, "sys/devices/sda/sda2/holders");
	tree_link(&tree, "sys/dev/block/8:2", "../../devices/sda/sda2");
	add_disk(&tree, "sdb", "8:16");
	tree_file(&tree, "proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
	tree_file(&tree, "proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n");
	return tree;
}

static const char *held(const struct tree *tree, unsigned number)
{
	static char text[512];

	cr_assert_eq(kernel_holders_of(tree->root, 8, number, NULL, text, sizeof(text)), 0);
	return text;
}

/* Names that many holders, with these words. */
static void lists(const char *text, unsigned count, const char *words)
{
	unsigned got = *text != 0;

	for (const char *at = text; (at = strchr(at, ',')); at++)
		got++;
	cr_assert_eq(got, count, "%s", text);
	text_says(text, words);
}

Test(holders, nobody)
{
	struct tree tree = new_tree();
	char text[64];

	cr_assert_str_eq(held(&tree, 0), "");
	cr_assert_eq(kernel_holders_of(tree.root, 9, 9, NULL, text, sizeof(text)), -ENOENT);
	tree_free(&tree);
}

Test(holders, a_mount_counts_for_the_partition_and_its_disk)
{
	struct tree tree = new_tree();

	tree_file(&tree, "proc/self/mountinfo",
		"22 1 0:20 / /proc rw - proc proc rw\n"
		"25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		"26 25 8:1 /x /mnt/my\\040disk rw - ext4 /dev/sda1 rw\n");
	lists(held(&tree, 0), 2, "_/, _/mnt/my_disk");
	lists(held(&tree, 1), 2, "_/, _/mnt/my_disk");
	cr_assert_str_eq(held(&tree, 2), "");
	cr_assert_str_eq(held(&tree, 16), "");
	tree_free(&tree);
}

Test(holders, one_that_is_part_of_anothers_name_is_not_left_out)
{
	struct tree tree = new_tree();

	tree_file(&tree, "proc/self/mountinfo",
		"25 1 8:1 / /boot rw - ext4 /dev/sda1 rw\n"
		"26 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
		"27 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
		"28 1 8:2 / /var/swap rw - ext4 /dev/sda2 rw\n");
	tree_file(&tree, "proc/swaps",
		"Filename Type Size Used Priority\n/dev/sda2 partition 1000 0 -2\n");
	lists(held(&tree, 0), 4, "_/boot, _/, _/var/swap, ,_swap");
	tree_free(&tree);
}

Test(holders, a_file_system_over_several_devices_is_found_by_its_source)
{
	struct tree tree = new_tree();

	tree_file(&tree, "proc/self/mountinfo", "30 1 0:35 / /data rw - btrfs /dev/sda2 rw\n");
	lists(held(&tree, 2), 1, "/data");
	lists(held(&tree, 0), 1, "/data");
	cr_assert_str_eq(held(&tree, 1), "");
	tree_free(&tree);
}

Test(holders, swap_dm_md_and_loop)
{
	struct tree tree = new_tree();

	tree_file(&tree, "proc/swaps",
		"Filename Type Size Used Priority\n/dev/sda2                               "
		"partition 1000 0 -2\n");
	tree_dir(&tree, "sys/devices/sda/sda1/holders/dm-0");
	add_disk(&tree, "dm-0", "253:0");
	tree_file(&tree, "sys/devices/dm-0/dm/name", "vg-root\n");
	lists(held(&tree, 2), 1, "swap");
	lists(held(&tree, 1), 1, "dm-0 vg-root");
	lists(held(&tree, 0), 2, "swap dm-0 vg-root");
	tree_dir(&tree, "sys/devices/sdb/holders/md127");
	add_disk(&tree, "loop3", "7:3");
	tree_file(&tree, "sys/devices/loop3/loop/backing_file", "/dev/sdb\n");
	lists(held(&tree, 16), 2, "md127 loop3");
	tree_free(&tree);
}

/* "KIND NAME LABEL," for each */
static const char *listed(const struct tree *tree, unsigned number)
{
	static char text[1024];
	struct holders list;
	char short_text[4];

	cr_assert_eq(kernel_holders_of(tree->root, 8, number, &list, short_text, 4), 0);
	cr_assert(list.known);
	text[0] = 0;
	for (unsigned i = 0; i < list.count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s %s,",
			list.item[i].kind, list.item[i].name, list.item[i].label);
	return text;
}

Test(holders, as_a_list)
{
	struct tree tree = new_tree();
	char line[100], mounts[2000] = "", expected[1000] = "";
	struct holders list;

	cr_assert_str_eq(listed(&tree, 0), "");
	cr_assert_eq(kernel_holders_of(tree.root, 9, 9, &list, line, sizeof(line)), -ENOENT);
	cr_assert_not(list.known);
	tree_file(&tree, "proc/self/mountinfo", "25 1 8:1 / /a\\040b rw - ext4 /dev/sda1 rw\n");
	tree_file(&tree, "proc/1/mountinfo", "45 1 8:1 / /a\\040b rw - ext4 /dev/sda1 rw\n");
	tree_file(&tree, "proc/swaps", "Filename Type\n/dev/sda2 partition\n");
	tree_dir(&tree, "sys/devices/sda/sda1/holders/dm-0");
	add_disk(&tree, "dm-0", "253:0");
	tree_file(&tree, "sys/devices/dm-0/dm/name", "vg-root\n");
	tree_dir(&tree, "sys/devices/sda/sda2/holders/md127");
	cr_assert_str_eq(listed(&tree, 0), "mount /a b ,swap  ,device dm-0 vg-root,device md127 ,");
	for (unsigned i = 0; i < 9; i++) {
		snprintf(line, sizeof(line), "%u 1 8:1 / /%u rw - ext4 /dev/sda1 rw\n", i, i);
		strcat(mounts, line);
		if (i < HOLDERS)
			snprintf(expected + strlen(expected), 20, "mount /%u ,", i);
	}
	tree_file(&tree, "proc/self/mountinfo", mounts);
	cr_assert_str_eq(listed(&tree, 1), expected);
	tree_free(&tree);
}

Test(holders, a_short_buffer_is_not_overrun)
{
	struct tree tree = new_tree();
	char text[12];

	tree_file(&tree, "proc/self/mountinfo",
		"25 1 8:1 / /a rw - ext4 /dev/sda1 rw\n26 1 8:1 / /b rw - ext4 /dev/sda1 rw\n");
	cr_assert_eq(kernel_holders_of(tree.root, 8, 0, NULL, text, sizeof(text)), 0);
	cr_assert_eq(strlen(text), sizeof(text) - 1);
	tree_free(&tree);
}

#define ROOTFS "1 1 0:2 / / rw - rootfs rootfs rw\n"

static bool stands_on(const struct tree *tree, unsigned number)
{
	return kernel_holders_root(tree->root, 8, number);
}

Test(holders, the_root_and_where_it_is_to_be_or_was)
{
	struct tree tree = new_tree();
	static const char *const dirs[] = { "/", "/usr", "/sysroot", "/new_root", "/oldroot",
		"/run/live/medium" };
	char line[100];

	for (unsigned i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		snprintf(line, sizeof(line), ROOTFS "25 1 8:1 / %s rw - ext4 /dev/sda1 rw\n",
			dirs[i]);
		tree_file(&tree, "proc/1/mountinfo", line);
		cr_expect(stands_on(&tree, 0), "%s", dirs[i]);
		cr_expect(stands_on(&tree, 1), "%s", dirs[i]);
		cr_expect_not(stands_on(&tree, 2), "%s", dirs[i]);
	}
	tree_file(&tree, "proc/1/mountinfo", ROOTFS "25 1 8:1 / /data rw - ext4 /dev/sda1 rw\n");
	cr_assert_not(stands_on(&tree, 0));
	cr_assert_not(kernel_holders_root(tree.root, 9, 9));
	tree_free(&tree);
}

/* An image on a medium, and changes on another disk. */
static void live(const struct tree *tree, const char *layers, const char *image_dir)
{
	char text[500];

	snprintf(text, sizeof(text),
		ROOTFS "25 1 8:1 / /media/stick rw - vfat /dev/sda1 rw\n"
		       "26 1 7:3 / %s ro - squashfs /dev/loop3 ro\n"
		       "27 1 8:16 / /changes rw - ext4 /dev/sdb rw\n"
		       "28 1 0:40 / / rw - overlay overlay rw,%s\n",
		image_dir, layers);
	tree_file(tree, "proc/self/mountinfo", text);
}

Test(holders, the_layers_of_a_live_system)
{
	struct tree tree = new_tree();

	add_disk(&tree, "loop3", "7:3");
	tree_file(&tree, "sys/devices/loop3/loop/backing_file", "/media/stick/a/root.squashfs\n");
	live(&tree, "lowerdir=/image:/more,upperdir=/changes/rw,workdir=/changes/work", "/image");
	cr_assert(stands_on(&tree, 0), "an image on its file system");
	cr_assert_not(stands_on(&tree, 2));
	cr_assert(stands_on(&tree, 16), "the changes");
	live(&tree, "lowerdir+=/image/x,upperdir=/tmp", "/image");
	cr_assert(stands_on(&tree, 0));
	cr_assert_not(stands_on(&tree, 16));
	live(&tree, "lowerdir=/im\\134:age\\040x", "/im:age\\040x");
	cr_assert(stands_on(&tree, 0), "what is written with backslashes");
	live(&tree, "lowerdir=/filesystem.squashfs", "/rofs");
	cr_assert(stands_on(&tree, 0), "a layer whose name was moved away");
	cr_assert_not(stands_on(&tree, 16));
	tree_file(&tree, "sys/devices/loop3/loop/backing_file", "/elsewhere/root.squashfs\n");
	cr_assert_not(stands_on(&tree, 0));
	tree_free(&tree);
}

Test(holders, any_number_of_partitions)
{
	struct tree tree = new_tree();
	char path[100], text[100];

	for (unsigned i = 3; i <= 100; i++) {
		snprintf(path, sizeof(path), "sys/devices/sda/sda%u/uevent", i);
		snprintf(text, sizeof(text), "DEVNAME=sda%u\n", i);
		tree_file(&tree, path, text);
		snprintf(path, sizeof(path), "sys/devices/sda/sda%u/dev", i);
		snprintf(text, sizeof(text), "259:%u\n", i);
		tree_file(&tree, path, text);
		snprintf(path, sizeof(path), "sys/devices/sda/sda%u/partition", i);
		tree_file(&tree, path, "1\n");
		snprintf(path, sizeof(path), "sys/dev/block/259:%u", i);
		snprintf(text, sizeof(text), "../../devices/sda/sda%u", i);
		tree_link(&tree, path, text);
	}
	for (unsigned i = 3; i <= 100; i++) {
		snprintf(text, sizeof(text), "25 1 259:%u / /sysroot rw - ext4 /dev/x rw\n", i);
		tree_file(&tree, "proc/self/mountinfo", text);
		lists(held(&tree, 0), 1, "/sysroot");
		cr_expect(stands_on(&tree, 0));
	}
	tree_free(&tree);
}

Test(holders, lines_cut_anywhere_do_no_harm)
{
	static const char line[] = "25 1 8:1 / /a\\040b rw,relatime shared:1 - ext4 /dev/sda1 "
				   "rw\n28 1 0:40 / / rw - overlay overlay rw,lowerdir=/a\\:/b\n";
	struct tree tree = new_tree();
	char cut[sizeof(line)];

	for (size_t len = 0; len < sizeof(line); len++) {
		snprintf(cut, len + 1, "%s", line);
		tree_file(&tree, "proc/self/mountinfo", cut);
		tree_file(&tree, "proc/swaps", cut);
		held(&tree, 0);
		stands_on(&tree, 0);
	}
	tree_free(&tree);
}

Test(holders, a_file_is_held_by_loop_devices_and_swap)
{
	struct tree tree = new_tree();
	char text[64] = "x";

	tree_file(&tree, "srv/image", "bytes");
	tree_file(&tree, "srv/other", "bytes");
	cr_assert_eq(kernel_holders(tree.root, "/srv/image", NULL, text, sizeof(text)), 0);
	cr_assert_str_eq(text, "");
	cr_assert_eq(kernel_holders(tree.root, "/srv/none", NULL, text, sizeof(text)), -ENOENT);
	add_disk(&tree, "loop3", "7:3");
	tree_file(&tree, "sys/devices/loop3/loop/backing_file", "/srv/image\n");
	cr_assert_eq(linkat(tree.root, "srv/image", tree.root, "srv/same", 0), 0);
	cr_assert_eq(kernel_holders(tree.root, "/srv/same", NULL, text, sizeof(text)), 0);
	lists(text, 1, "loop3"); /* by the file, not by its name */
	cr_assert_eq(kernel_holders(tree.root, "/srv/other", NULL, text, sizeof(text)), 0);
	cr_assert_str_eq(text, "");
	tree_file(&tree, "proc/swaps", "Filename Type Size Used\n/srv/other file 1000 0\n");
	cr_assert_eq(kernel_holders(tree.root, "/srv/other", NULL, text, sizeof(text)), 0);
	lists(text, 1, "swap");
	tree_free(&tree);
}

static const char *written(const struct tree *tree, const char *path)
{
	static char text[512];

	cr_assert_eq(kernel_writers(tree->root, path, text, sizeof(text)), 0);
	return text;
}

Test(holders, writers_through_loop_devices_partitions_and_dm)
{
	struct tree tree = new_tree();

	tree_file(&tree, "srv/image", "bytes");
	add_disk(&tree, "loop3", "7:3");
	tree_file(&tree, "sys/devices/loop3/loop/backing_file", "/srv/image\n");
	cr_assert_str_eq(written(&tree, "/srv/image"), "", "a loop device that is not used");
	tree_file(&tree, "proc/1/mountinfo", "25 1 7:3 / /mnt rw - ext4 /dev/loop3 rw\n");
	lists(written(&tree, "/srv/image"), 1, "/mnt");
	tree_file(&tree, "proc/1/mountinfo", "25 1 7:3 / /mnt ro - ext4 /dev/loop3 ro,x=y\n");
	cr_assert_str_eq(written(&tree, "/srv/image"), "", "nothing is written through it");
	tree_file(&tree, "proc/1/mountinfo", "25 1 7:3 / /mnt ro - ext4 /dev/loop3 rw\n");
	lists(written(&tree, "/srv/image"), 1, "/mnt"); /* by another mount */

	tree_file(&tree, "sys/devices/loop3/loop3p1/uevent", "DEVNAME=loop3p1\n");
	tree_file(&tree, "sys/devices/loop3/loop3p1/dev", "259:1\n");
	tree_file(&tree, "sys/devices/loop3/loop3p1/partition", "1\n");
	tree_dir(&tree, "sys/devices/loop3/loop3p1/holders/dm-0");
	tree_link(&tree, "sys/dev/block/259:1", "../../devices/loop3/loop3p1");
	add_disk(&tree, "dm-0", "253:0");
	tree_file(&tree, "proc/1/mountinfo", "25 1 253:0 / /lv rw - ext4 /dev/mapper/vg-lv rw\n");
	lists(written(&tree, "/srv/image"), 1, "/lv");
	tree_free(&tree);
}

/* A process that has those bytes of the file locked; it ends when the descriptor is closed. */
static pid_t locker(const char *path, off_t at, off_t len, int *end)
{
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = len
	};
	int up[2], down[2], fd;
	char byte = 0;
	pid_t pid;

	cr_assert(!pipe(up) && !pipe(down));
	pid = fork();
	if (!pid) {
		close(down[1]);
		fd = open(path, O_RDONLY);
		_exit(fcntl(fd, F_OFD_SETLK, &lock) < 0 || write(up[1], &byte, 1) != 1 ||
			read(down[0], &byte, 1) < 0);
	}
	cr_assert_eq(read(up[0], &byte, 1), 1);
	close(up[0]);
	close(up[1]);
	close(down[0]);
	*end = down[1];
	return pid;
}

Test(holders, processes_with_image_locks)
{
	static const struct {
		off_t at, len;
		bool hinders, writes;
	} rows[] = { { 100, 2, true, true }, { 101, 1, true, true }, { 0, 0, true, true },
		{ 200, 2, true, false }, { 100, 1, false, false }, { 102, 1, false, false },
		{ 203, 1, false, false } };
	char path[] = "/tmp/holders-XXXXXX", text[200], expected[200];
	int fd = mkstemp(path), root = open("/", O_RDONLY | O_DIRECTORY), end;

	cr_assert(fd >= 0 && root >= 0);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		pid_t pid = locker(path, rows[i].at, rows[i].len, &end);

		snprintf(expected, sizeof(expected), "(pid %d)", (int)pid);
		cr_assert_eq(kernel_lockers(root, path, text, sizeof(text)), 0);
		cr_expect_eq(
			strstr(text, expected) != NULL, rows[i].hinders, "row %u: '%s'", i, text);
		cr_assert_eq(kernel_writers(root, path, text, sizeof(text)), 0);
		cr_expect_eq(
			strstr(text, expected) != NULL, rows[i].writes, "row %u: '%s'", i, text);
		close(end);
		cr_assert_eq(waitpid(pid, NULL, 0), pid);
	}
	cr_assert_eq(kernel_lockers(root, path, text, sizeof(text)), 0);
	cr_assert_str_eq(text, "");
	unlink(path);
	close(fd);
	close(root);
}

Test(holders, a_process_that_has_a_device_open)
{
	struct tree tree = tree_new();

	tree_link(&tree, "proc/7/fd/0", "/dev/null");
	tree_link(&tree, "proc/7/fd/12", "/dev/ublkc3");
	cr_assert(kernel_process_has_open(tree.root, 7, "/dev/ublkc3"));
	cr_assert_not(kernel_process_has_open(tree.root, 7, "/dev/ublkc"));
	cr_assert_not(kernel_process_has_open(tree.root, 8, "/dev/ublkc3"));
	tree_free(&tree);
}

Test(holders, processes_that_have_a_device_or_a_partition_open)
{
	struct tree tree = new_tree();
	char text[200], own[64];

	cr_assert_eq(kernel_openers_of(tree.root, 8, 0, text, sizeof(text)), 0);
	cr_assert_str_eq(text, "");
	tree_file(&tree, "proc/7/comm", "fio\n");
	tree_link(&tree, "proc/7/fd/0", "/dev/sda");
	tree_link(&tree, "proc/7/fd/3", "/dev/sda"); /* is one */
	tree_link(&tree, "proc/8/fd/5", "/dev/sdb");
	tree_link(&tree, "proc/8/fd/6", "/mnt/dev/sda");
	tree_link(&tree, "proc/uptime/fd/5", "/dev/sda");
	snprintf(own, sizeof(own), "proc/%d/fd/9", (int)getpid());
	tree_link(&tree, own, "/dev/sda");
	cr_assert_eq(kernel_openers_of(tree.root, 8, 0, text, sizeof(text)), 0);
	lists(text, 1, "fio pid_7");
	cr_assert_eq(kernel_openers_of(tree.root, 8, 1, text, sizeof(text)), 0);
	cr_assert_str_eq(text, "");
	cr_assert_eq(kernel_openers_of(tree.root, 8, 16, text, sizeof(text)), 0);
	lists(text, 1, "pid_8");
	cr_assert_eq(kernel_openers_of(tree.root, 9, 9, text, sizeof(text)), -ENOENT);
	tree_link(&tree, "proc/9/fd/1", "/dev/sda2");
	cr_assert_eq(kernel_openers_of(tree.root, 8, 0, text, sizeof(text)), 0);
	lists(text, 2, "pid_7 pid_9");
	tree_free(&tree);
}

Test(holders, by_name_without_dev)
{
	struct tree tree = new_tree();
	char text[64];

	cr_assert_eq(kernel_use_of(tree.root, "sda", text, sizeof(text)), KERNEL_UNUSED);
	cr_assert_eq(kernel_use_of(tree.root, "sdz", text, sizeof(text)), KERNEL_UNUSED);
	tree_file(&tree, "proc/self/mountinfo", "30 1 8:1 / /mnt rw - ext4 /dev/sda1 rw\n");
	cr_assert_eq(kernel_use_of(tree.root, "sda", text, sizeof(text)), KERNEL_HELD);
	text_says(text, "/mnt");
	tree_file(&tree, "proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n");
	tree_file(&tree, "proc/77/comm", "fio\n");
	tree_link(&tree, "proc/77/fd/3", "/dev/sda");
	cr_assert_eq(kernel_use_of(tree.root, "sda", text, sizeof(text)), KERNEL_OPEN);
	text_says(text, "fio 77");
	tree_free(&tree);
}

Test(holders, unknown_without_sys_or_proc)
{
	struct tree tree = tree_new();
	char text[64];

	cr_assert_eq(kernel_use_of(tree.root, "sda", text, sizeof(text)), KERNEL_UNKNOWN);
	add_disk(&tree, "sda", "8:0");
	cr_assert_eq(kernel_use_of(tree.root, "sda", text, sizeof(text)), KERNEL_UNKNOWN);
	tree_file(&tree, "proc/self/mountinfo", "");
	cr_assert_eq(kernel_use_of(tree.root, "sda", text, sizeof(text)), KERNEL_UNUSED);
	tree_free(&tree);
}
