/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logical units as /sys has them: disks, a tape, a disk that is not attached yet, one that is only
 * reported. */
#include "kernel_scsi.h"
#include "loop.h"
#include "multipath_tree.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tree tree;
static struct diag why;
static struct scsi_lun *luns;
static unsigned count;
static const struct scsi_hosts alone;

static void setup(void)
{
	tree = tree_new();
	why = (struct diag){ 0 };
	tree_dir(&tree, "sys/bus/scsi/drivers/sd");
	tree_file(&tree, "sys/class/scsi_host/host6/id_ext", "0x1\n");
}

static void fini(void)
{
	free(luns);
	luns = NULL;
	tree_free(&tree);
}
TestSuite(scsi, .init = setup, .fini = fini);

static void put(const char *name, const char *file, const char *text)
{
	char path[200];

	snprintf(path, sizeof(path), "sys/class/scsi_device/%s/device/%s", name, file);
	tree_file(&tree, path, text);
}

static void unit(const char *name, const char *type)
{
	put(name, "type", type);
	put(name, "vendor", "LIO-ORG \n");
	put(name, "model", "s0              \n");
	put(name, "state", "running\n");
}

static void disk(const char *name, const char *node, const char *number)
{
	char file[80];

	unit(name, "0\n");
#define PUT(what, text)                                                                            \
	(snprintf(file, sizeof(file), "block/%s/" what, node), put(name, file, text))
	PUT("dev", number);
	PUT("size", "8192\n");
	PUT("ro", "0\n");
	PUT("queue/logical_block_size", "4096\n");
	PUT("sda1/partition", "1\n");
#undef PUT
}

Test(scsi, units)
{
	disk("6:0:0:1", "sda", "8:0\n");
	put("6:0:0:1", "wwid", "naa.6001405aabbccdd\n");
	unit("6:0:0:0", "1\n");
	unit("6:0:0:16384", "0\n");
	disk("16:0:0:1", "sdb", "8:16\n");
	disk("6:0:0:x", "sdc", "8:32\n");
	cr_assert_eq(kernel_scsi_luns(tree.root, 6, &luns, &count, &why), 0);
	cr_assert_eq(count, 3);
	cr_assert(luns[0].lun == 0 && luns[0].type == 1 && !luns[0].disk && !luns[0].node[0]);
	cr_assert(luns[1].lun == 1 && luns[1].disk && luns[1].size == 8192 * 512 &&
		  luns[1].block == 4096 && luns[1].major == 8 && !luns[1].minor);
	cr_assert_str_eq(luns[1].name, "6:0:0:1");
	cr_assert_str_eq(luns[1].node, "sda");
	cr_assert_str_eq(luns[1].vendor, "LIO-ORG");
	cr_assert(luns[2].lun == 16384 && luns[2].disk && !luns[2].node[0]);
}

Test(scsi, by_id)
{
	struct scsi_lun lun = { .wwid = "naa.6001405aabbccdd" };
	char text[200];

	kernel_scsi_by_id(&lun, text);
	cr_assert_str_eq(text, "/dev/disk/by-id/wwn-0x6001405aabbccdd");
	snprintf(lun.wwid, sizeof(lun.wwid), "eui.0011223344556677");
	kernel_scsi_by_id(&lun, text);
	cr_assert_str_eq(text, "/dev/disk/by-id/scsi-20011223344556677");
	snprintf(lun.wwid, sizeof(lun.wwid), "t10.LIO-ORG  s0:x");
	kernel_scsi_by_id(&lun, text);
	cr_assert_str_eq(text, "");
}

Test(scsi, host_of)
{
	disk("6:0:0:1", "sda", "8:0\n");
	cr_assert_eq(kernel_scsi_host_of(tree.root, "sda"), 6);
	cr_assert_eq(kernel_scsi_host_of(tree.root, "/dev/sda"), 6);
	cr_assert_eq(kernel_scsi_host_of(tree.root, "sda1"), 6);
	cr_assert_eq(kernel_scsi_host_of(tree.root, "sda2"), -ENOENT);
	cr_assert_eq(kernel_scsi_host_of(tree.root, "sd"), -ENOENT);
	cr_assert_eq(kernel_scsi_host_of(tree.root, ""), -ENOENT);
	cr_assert_eq(kernel_scsi_host_of(tree.root, "/dev/"), -ENOENT);
}

Test(scsi, without_the_driver_of_disks)
{
	tree_free(&tree);
	tree = tree_new();
	cr_assert_eq(kernel_scsi_ready(tree.root, &why), -ENOENT);
	diag_says(&why, DIAG_NO_MODULE, NULL, "sd_mod");
}

Test(scsi, users)
{
	char text[200];

	disk("6:0:0:1", "sda", "8:0\n");
	tree_file(&tree, "sys/dev/block/8:0/uevent", "MAJOR=8\nMINOR=0\nDEVNAME=sda\n");
	kernel_scsi_users(tree.root, 6, &alone, text, sizeof(text));
	cr_assert_str_eq(text, "");
	tree_file(&tree, "proc/self/mountinfo", "36 35 8:0 / / rw - ext4 /dev/sda rw\n");
	kernel_scsi_users(tree.root, 6, &alone, text, sizeof(text));
	text_says(text, "sda _/");
	cr_assert(kernel_scsi_has_root(tree.root, 6));
	cr_assert(!kernel_scsi_has_root(tree.root, 7));
}

/* Of a container, say. */
Test(scsi, users_in_another_mount_namespace)
{
	static const char mounts[] = "36 35 8:0 / /srv rw - ext4 /dev/sda rw\n";
	char text[200];

	disk("6:0:0:1", "sda", "8:0\n");
	tree_file(&tree, "sys/dev/block/8:0/uevent", "MAJOR=8\nMINOR=0\nDEVNAME=sda\n");
	tree_file(&tree, "proc/self/ns/mnt", "");
	tree_file(&tree, "proc/77/mountinfo", mounts);
	tree_link(&tree, "proc/77/ns", "../self/ns");
	kernel_scsi_users(tree.root, 6, &alone, text, sizeof(text));
	cr_assert_str_eq(text, "", "our own, whose mounts are in /proc/self: %s", text);
	tree_file(&tree, "proc/78/ns/mnt", "");
	tree_link(&tree, "proc/76/ns", "../78/ns"); /* ends just now, as 79 */
	tree_link(&tree, "proc/79/ns", "../78/ns");
	tree_file(&tree, "proc/78/mountinfo", mounts);
	kernel_scsi_users(tree.root, 6, &alone, text, sizeof(text));
	text_says(text, "sda mounted /srv another_mount_namespace");
}

Test(scsi, more_units_than_are_looked_at)
{
	char name[80], text[200];

	for (unsigned i = 0; i <= 4096; i++) {
		snprintf(name, sizeof(name), "sys/class/scsi_device/6:0:0:%u", i);
		tree_dir(&tree, name);
	}
	cr_assert_eq(kernel_scsi_luns(tree.root, 6, &luns, &count, &why), -E2BIG);
	kernel_scsi_users(tree.root, 6, &alone, text, sizeof(text));
	cr_assert_str_not_empty(text, "what is not known is not free");
	cr_assert(kernel_scsi_has_root(tree.root, 6));
}

/* With many hosts each would search for the users of all disks. */
Test(scsi, users_of_other_hosts_matter_only_with_a_map)
{
	const unsigned both[] = { 6, 7 };
	const struct scsi_hosts hosts = { .host = both, .count = 2 };
	char name[80], text[200];

	disk("6:0:0:1", "sda", "8:0\n");
	multipath_tree_disk(&tree, "sda", "8:0");
	for (unsigned i = 0; i <= 4096; i++) {
		snprintf(name, sizeof(name), "sys/class/scsi_device/7:0:0:%u", i);
		tree_dir(&tree, name);
	}
	kernel_scsi_users(tree.root, 6, &hosts, text, sizeof(text));
	cr_assert_str_empty(text);
	multipath_tree_map(&tree, "dm-0", "253:0", "mpatha", "mpath-36001405abc", "sda");
	kernel_scsi_users(tree.root, 6, &hosts, text, sizeof(text));
	cr_assert_str_not_empty(text, "what is not known is not free");
}
