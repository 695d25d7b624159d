/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Namespaces and subsystems for nvme-cli's lists, on a tree as the kernel lays it out. */
#include "kernel_nvmf.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct tree *tree, const char *dir, const char *name, const char *text)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	tree_file(tree, path, text);
}

static void add_ctrl(struct tree *tree, const char *subsystem, const char *name, const char *host)
{
	char dir[200], in[100];

	snprintf(dir, sizeof(dir), "sys/class/nvme/%s", name);
	put(tree, dir, "transport", *host ? "tcp\n" : "pcie\n");
	put(tree, dir, "address", "traddr=10.0.0.1,trsvcid=4420\n");
	put(tree, dir, "state", "live\n");
	if (*host)
		put(tree, dir, "hostnqn", host);
	snprintf(in, sizeof(in), "sys/class/nvme-subsystem/%s", subsystem);
	put(tree, in, "subsysnqn", "nqn.t1\n");
	put(tree, in, "iopolicy", "numa\n");
	snprintf(dir, sizeof(dir), "%s/%s", in, name);
	tree_dir(tree, dir);
}

static void add_namespace(
	struct tree *tree, const char *name, const char *blocks, const char *block)
{
	char dir[100];

	snprintf(dir, sizeof(dir), "sys/class/block/%s", name);
	put(tree, dir, "nsid", "7\n");
	put(tree, dir, "size", blocks);
	put(tree, dir, "queue/logical_block_size", block);
	put(tree, dir, "device/serial", "0123456789abcdef0123  \n");
	put(tree, dir, "device/model", "Linux   \n");
	put(tree, dir, "device/firmware_rev", "6.12\n");
}

Test(nvme_list, namespaces_by_number)
{
	struct tree tree = tree_new();
	struct nvme_namespace *list;
	unsigned count;

	add_namespace(&tree, "nvme10n1", "16\n", "512\n");
	add_namespace(&tree, "nvme2n10", "16\n", "4096\n");
	add_namespace(&tree, "nvme2n9", "16\n", "4096\n");
	add_namespace(&tree, "nvme2c1n9", "16\n", "4096\n"); /* a path */
	add_namespace(&tree, "nvme2n9p1", "16\n", "4096\n");
	add_namespace(&tree, "sda", "16\n", "512\n");
	tree_file(&tree, "sys/class/block/nvme2n9/nuse", "1\n");
	tree_file(&tree, "sys/class/block/nvme2n9/metadata_bytes", "8\n");
	tree_file(&tree, "dev/ng2n9", "");
	cr_assert_eq(kernel_nvme_namespaces(tree.root, &list, &count, NULL), 0);
	cr_assert_eq(count, 3);
	cr_assert_str_eq(list[0].name, "nvme2n9");
	cr_assert_str_eq(list[1].name, "nvme2n10");
	cr_assert_str_eq(list[2].name, "nvme10n1");
	cr_assert_str_eq(list[0].serial, "0123456789abcdef0123");
	cr_assert_str_eq(list[0].model, "Linux");
	cr_assert_str_eq(list[0].firmware, "6.12");
	cr_assert_eq(list[0].nsid, 7);
	cr_assert_eq(list[0].block, 4096);
	cr_assert_eq(list[0].size, 8192);
	cr_assert(list[0].used_known && list[0].used == 4096 && list[0].metadata == 8);
	cr_assert(list[0].generic_node && !strcmp(list[0].generic, "ng2n9"));
	cr_assert(!list[2].generic_node);
	cr_assert(!list[2].used_known, "there is no controller to ask");
	free(list);
	tree_free(&tree);
}

Test(nvme_list, controllers_by_host_and_subsystem)
{
	struct tree tree = tree_new();
	struct nvme_member *list;
	unsigned count;

	add_ctrl(&tree, "nvme-subsys10", "nvme1", "nqn.b\n");
	add_ctrl(&tree, "nvme-subsys2", "nvme12", "nqn.b\n");
	add_ctrl(&tree, "nvme-subsys2", "nvme3", "nqn.b\n");
	add_ctrl(&tree, "nvme-subsys2", "nvme4", "nqn.a\n");
	add_ctrl(&tree, "nvme-subsys0", "nvme0", "");
	tree_dir(&tree, "sys/class/nvme-subsystem/nvme-subsys2/nvme9"); /* going */
	tree_dir(&tree, "sys/class/nvme-subsystem/nvme-subsys2/nvme2n1");
	cr_assert_eq(kernel_nvme_members(tree.root, NULL, &list, &count, NULL), 0);
	cr_assert_eq(count, 5);
	cr_assert_str_eq(list[0].name, "nvme0");
	cr_assert_str_eq(list[0].hostnqn, "");
	cr_assert_str_eq(list[1].name, "nvme4");
	cr_assert_str_eq(list[2].name, "nvme3");
	cr_assert_str_eq(list[3].name, "nvme12");
	cr_assert_str_eq(list[3].subsystem, "nvme-subsys2");
	cr_assert_str_eq(list[3].nqn, "nqn.t1");
	cr_assert_str_eq(list[3].policy, "numa");
	cr_assert_str_eq(list[3].type, "");
	cr_assert_str_eq(list[3].address, "traddr=10.0.0.1,trsvcid=4420");
	cr_assert_str_eq(list[4].name, "nvme1");
	free(list);
	tree_free(&tree);
}

Test(nvme_list, the_paths_to_one_namespace)
{
	struct tree tree = tree_new();
	struct nvme_member *list;
	struct diag diag = { 0 };
	unsigned count;

	add_ctrl(&tree, "nvme-subsys2", "nvme3", "nqn.a\n");
	add_ctrl(&tree, "nvme-subsys2", "nvme4", "nqn.a\n");
	add_ctrl(&tree, "nvme-subsys5", "nvme5", "nqn.a\n");
	tree_file(&tree, "sys/class/nvme/nvme3/nvme2c3n1/ana_state", "optimized\n");
	tree_file(&tree, "sys/class/nvme/nvme4/nvme2c4n2/ana_state", "inaccessible\n");
	tree_dir(&tree, "sys/class/nvme/nvme5/nvme5n1");
	cr_assert_eq(kernel_nvme_members(tree.root, "/dev/nvme2n1", &list, &count, NULL), 0);
	cr_assert(
		count == 1 && !strcmp(list[0].name, "nvme3") && !strcmp(list[0].ana, "optimized"));
	free(list);
	cr_assert_eq(kernel_nvme_members(tree.root, "nvme5n1", &list, &count, NULL), 0);
	cr_assert(count == 1 && !strcmp(list[0].name, "nvme5") && !strcmp(list[0].ana, ""));
	free(list);
	cr_assert_eq(kernel_nvme_members(tree.root, "nvme2n3", &list, &count, &diag), -ENOENT);
	diag_says(&diag, DIAG_NOT_FOUND, NULL, "'nvme2n3'");
	diag = (struct diag){ 0 };
	cr_assert_eq(kernel_nvme_members(tree.root, "nvme2", &list, &count, &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, NULL, "'nvme2' /dev/nvme0n1");
	tree_free(&tree);
}
