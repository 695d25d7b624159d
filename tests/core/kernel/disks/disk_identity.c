/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who a disk is: the same again, another on another machine, another for another disk. */
#include "kernel_identity.h"
#include "process/identity.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define BOOT    "11111111-2222-4333-8444-555555555556"
#define MACHINE "0123456789abcdef0123456789abcdef"

static struct tree machine(const char *id)
{
	struct tree tree = tree_new();

	if (id)
		tree_file(&tree, "etc/machine-id", id);
	return tree;
}

static struct disk_identity who(const struct tree *tree, const char *path, const char *own)
{
	struct disk_identity id;

	cr_assert_eq(kernel_disk_identity(tree->root, path, own, &id, NULL), 0);
	cr_assert_eq(strlen(id.serial), 20);
	cr_assert_eq(strncmp(id.nqn, "nqn.2014-08.org.nvmexpress:uuid:", 32), 0);
	cr_assert_eq(id.uuid[6] >> 4, 4);
	return id;
}

static bool same(const struct disk_identity *a, const struct disk_identity *b)
{
	bool equal = !memcmp(a->uuid, b->uuid, 16);

	cr_assert_eq(equal, !memcmp(a->nguid, b->nguid, 16));
	cr_assert_eq(equal, !strcmp(a->serial, b->serial));
	cr_assert_eq(equal, !strcmp(a->nqn, b->nqn));
	return equal;
}

Test(disk_identity, of_something_that_says_who_it_is)
{
	struct tree here = machine(MACHINE), there = machine("1123456789abcdef0123456789abcdef");
	struct disk_identity a = who(&here, NULL, "A"), again = who(&here, NULL, "A"),
			     b = who(&here, NULL, "B"), far = who(&there, NULL, "A");

	cr_assert(same(&a, &again));
	cr_assert(!same(&a, &b));
	cr_assert(!same(&a, &far));
	cr_assert_eq(a.lasts, DISK_IDENTITY_ALWAYS);
	text_says(a.from, "A, machine-id");
	cr_assert_arr_neq(a.uuid, a.nguid, 16);
	tree_free(&here);
	tree_free(&there);
}

Test(disk_identity, random_where_nothing_tells)
{
	struct tree here = machine(MACHINE), none = machine(NULL);
	struct disk_identity a = who(&here, NULL, ""), b = who(&here, NULL, ""),
			     c = who(&none, NULL, "A"), d = who(&none, NULL, "A");

	cr_assert(a.lasts == DISK_IDENTITY_RUN && c.lasts == DISK_IDENTITY_RUN);
	cr_assert(!same(&a, &b));
	cr_assert(!same(&c, &d));
	tree_free(&here);
	tree_free(&none);
}

/* An initramfs: no machine-id, no DMI, no /etc/nvme. */
Test(disk_identity, by_the_boot_of_a_nameless_machine)
{
	struct tree tree = machine(NULL);
	struct disk_identity a, again, b, later;

	tree_file(&tree, "proc/sys/kernel/random/boot_id", BOOT "\n");
	tree_file(&tree, "srv/a", "1");
	tree_file(&tree, "srv/b", "1");
	a = who(&tree, "/srv/a", "");
	again = who(&tree, "/srv/a", "");
	b = who(&tree, "/srv/b", "");
	cr_assert(same(&a, &again));
	cr_assert(!same(&a, &b));
	cr_assert_eq(a.lasts, DISK_IDENTITY_BOOT);
	text_says(a.from, "boot_ID");
	a = who(&tree, NULL, "A");
	again = who(&tree, NULL, "A");
	cr_assert(same(&a, &again));
	a = who(&tree, NULL, "");
	again = who(&tree, NULL, "");
	cr_assert(!same(&a, &again), "memory is lost with its process");
	cr_assert_eq(a.lasts, DISK_IDENTITY_RUN);
	a = who(&tree, "/srv/a", "");
	tree_file(
		&tree, "proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000001\n");
	later = who(&tree, "/srv/a", "");
	cr_assert(!same(&a, &later));
	tree_file(&tree, "etc/machine-id", MACHINE);
	a = who(&tree, "/srv/a", "");
	cr_assert_eq(a.lasts, DISK_IDENTITY_ALWAYS);
	tree_free(&tree);
}

static const char *text_of(const struct tree *tree, struct identity_file file)
{
	static char text[4][400];
	static unsigned next;
	char *to = text[next++ % 4];

	file.path = file.path ? file.path : "/srv/a";
	kernel_identity_file(tree->root, &file, to, sizeof(text[0]));
	return to;
}

Test(disk_identity, what_a_file_system_tells)
{
	static const uint8_t uuid[16] = { 0x5e, 0x5f, 0x0a, 0x4c };
	struct tree tree = tree_new();
	dev_t disk = makedev(8, 1), none = makedev(0, 300), nfs = makedev(0, 41),
	      ntfs = makedev(8, 17);

	tree_file(&tree, "proc/sys/kernel/random/boot_id", BOOT "\n");
	tree_file(&tree, "proc/self/mountinfo",
		"20 1 0:300 / / rw - rootfs rootfs rw\n"
		"21 20 0:41 / /mnt rw shared:7 - nfs4 10.0.0.1:/vol\\040a rw\n"
		"22 20 8:17 / /usb rw - fuseblk /dev/sdb1 rw\n");
	cr_assert_str_eq(text_of(&tree,
				 (struct identity_file){
					 .fs_uuid = uuid, .fsid = 7, .inode = 12, .dev = disk }),
		"file system 5e5f0a4c-0000-0000-0000-000000000000 inode 12");
	cr_assert_str_eq(
		text_of(&tree, (struct identity_file){ .fsid = 0x801, .inode = 12, .dev = disk }),
		"file system id 0000000000000801 inode 12");
	cr_assert_str_eq(text_of(&tree, (struct identity_file){ .fs_uuid = (uint8_t[16]){ 0 },
						.fsid = 0x801,
						.inode = 12,
						.dev = disk }),
		"file system id 0000000000000801 inode 12", "all zero is not a UUID");
	/* a snapshot of btrfs: the same UUID and inode numbers */
	cr_assert_str_neq(text_of(&tree, (struct identity_file){ .fs_uuid = uuid,
						 .fsid = 1,
						 .fs_type = BTRFS_SUPER_MAGIC,
						 .inode = 257 }),
		text_of(&tree, (struct identity_file){ .fs_uuid = uuid,
				       .fsid = 2,
				       .fs_type = BTRFS_SUPER_MAGIC,
				       .inode = 257 }));
	/* ramfs as rootfs: its id is the number of its device, or 0 before Linux 5.13 */
	cr_assert_str_eq(
		text_of(&tree, (struct identity_file){ .fsid = 0x10002c, .inode = 5, .dev = none }),
		"boot " BOOT " device 0:300 inode 5");
	cr_assert_str_eq(text_of(&tree, (struct identity_file){ .inode = 5, .dev = none }),
		"boot " BOOT " device 0:300 inode 5");
	/* two mounts without an id, the same inode number */
	cr_assert_str_eq(text_of(&tree, (struct identity_file){ .inode = 5, .dev = nfs }),
		"file system 10.0.0.1:/vol\\040a inode 5");
	cr_assert_str_eq(text_of(&tree,
				 (struct identity_file){
					 .inode = 5, .dev = ntfs, .fs_type = FUSE_SUPER_MAGIC }),
		"file system /dev/sdb1 path /srv/a");
	cr_assert_str_eq(text_of(&tree, (struct identity_file){ .fsid = 0x811,
						.inode = 77,
						.dev = ntfs,
						.fs_type = MSDOS_SUPER_MAGIC }),
		"file system id 0000000000000811 path /srv/a");
	tree_free(&tree);
}

/* Two machines, the same path, one host: two disks. And one file under two names is one disk. */
Test(disk_identity, of_files)
{
	struct tree here = machine(MACHINE), there = machine("1123456789abcdef0123456789abcdef");
	struct disk_identity a, b, link, far;

	tree_file(&here, "srv/a", "1");
	tree_file(&here, "srv/b", "1");
	tree_file(&there, "srv/a", "1");
	cr_assert_eq(linkat(here.root, "srv/a", here.root, "srv/link", 0), 0);
	a = who(&here, "/srv/a", "");
	b = who(&here, "/srv/b", "");
	link = who(&here, "/srv/link", "");
	far = who(&there, "/srv/a", "");
	cr_assert(!same(&a, &b));
	cr_assert(same(&a, &link));
	cr_assert(!same(&a, &far));
	text_says(a.from, "inode");
	cr_assert_eq(kernel_disk_identity(here.root, "/srv/none", "", &a, NULL), -ENOENT);
	tree_free(&here);
	tree_free(&there);
}

Test(disk_identity, of_block_devices)
{
	struct tree tree = machine(MACHINE);
	char text[200];

	tree_file(&tree, "sys/devices/sda/device/wwid", "naa.5000c500a1b2c3d4\n");
	tree_file(&tree, "sys/devices/sda/sda1/partition", "1\n");
	tree_link(&tree, "sys/dev/block/8:0", "../../devices/sda");
	tree_link(&tree, "sys/dev/block/8:1", "../../devices/sda/sda1");
	tree_file(&tree, "sys/dev/block/259:0/wwid", "eui.0025385b\n");
	tree_file(&tree, "sys/dev/block/253:0/dm/uuid", "LVM-abc\n");
	tree_file(&tree, "sys/dev/block/252:0/serial", "disk-7\n");
	tree_file(&tree, "sys/dev/block/7:0/size", "8\n");
	cr_assert(kernel_identity_device(tree.root, 8, 0, text, sizeof(text)));
	cr_assert_str_eq(text, "naa.5000c500a1b2c3d4");
	cr_assert(kernel_identity_device(tree.root, 8, 1, text, sizeof(text)));
	cr_assert_str_eq(text, "naa.5000c500a1b2c3d4 partition 1");
	cr_assert(kernel_identity_device(tree.root, 259, 0, text, sizeof(text)));
	cr_assert_str_eq(text, "eui.0025385b");
	cr_assert(kernel_identity_device(tree.root, 253, 0, text, sizeof(text)));
	cr_assert_str_eq(text, "LVM-abc");
	cr_assert(kernel_identity_device(tree.root, 252, 0, text, sizeof(text)));
	cr_assert_str_eq(text, "disk-7");
	cr_assert(!kernel_identity_device(tree.root, 7, 0, text, sizeof(text)));
	tree_free(&tree);
}

/* Firmware first: what lies on a disk may be a copy of another machine's. */
Test(disk_identity, which_machine)
{
	struct tree tree = machine(MACHINE);
	struct disk_identity by_id = who(&tree, NULL, "A"), by_firmware, by_file;

	tree_file(&tree, "sys/class/dmi/id/product_uuid", "c9a1e2b4-7d3f-4a5b-8c6d-0e1f2a3b4c5d\n");
	by_firmware = who(&tree, NULL, "A");
	cr_assert(!same(&by_id, &by_firmware));
	text_says(by_firmware.from, "A, DMI UUID");
	tree_free(&tree);
	tree = tree_new();
	tree_file(&tree, "etc/nvme/hostid", "abff48c0-ecbe-4d8c-a64a-54f12797e8c2\n");
	tree_file(&tree, "etc/nvme/hostnqn",
		"nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2\n");
	by_file = who(&tree, NULL, "A");
	text_says(by_file.from, "A, host_id");
	tree_free(&tree);
}
