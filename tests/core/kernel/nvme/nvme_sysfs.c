/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Controllers, namespaces and what holds them, on trees as kernels lay them out. */
/* Link: kernel_sys_list */
#include "kernel_nvmf.h"
#include "loop.h"
#include "nvme_tree.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct nvmf_params params_t1 = { .value = { [NVMF_TRANSPORT] = "rdma",
						      [NVMF_TRADDR] = "10.0.0.1",
						      [NVMF_TRSVCID] = "4420",
						      [NVMF_NQN] = "nqn.t1",
						      [NVMF_HOSTNQN] = "nqn.host" } };

static unsigned proc_searches;

bool __real_kernel_sys_list(int, const char *, void (*)(const char *, void *), void *);
bool __wrap_kernel_sys_list(int, const char *, void (*)(const char *, void *), void *);

bool __wrap_kernel_sys_list(
	int root, const char *path, void (*each)(const char *name, void *arg), void *arg)
{
	proc_searches += !strcmp(path, "proc");
	return __real_kernel_sys_list(root, path, each, arg);
}

static struct tree new_tree(void)
{
	struct tree tree = tree_new();

	nvme_tree_ctrl(&tree, "nvme10", "tcp", "nqn.t1",
		"traddr=10.0.0.1,trsvcid=4421,host_iface=eth0,src_addr=10.0.0.9");
	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_ctrl(&tree, "nvme0", "pcie", "nqn.disk", "0000:01:00.0");
	tree_dir(&tree, "sys/class/nvme/nvme3"); /* going */
	tree_dir(&tree, "sys/class/nvme/nvmexyz");
	return tree;
}

Test(nvme_sysfs, fabrics_controllers_in_order)
{
	struct tree tree = new_tree();
	struct nvmf_ctrl *list;
	unsigned count;

	cr_assert_eq(kernel_nvmf_list(tree.root, &list, &count, NULL), 0);
	cr_assert_eq(count, 2);
	cr_assert_str_eq(list[0].name, "nvme2");
	cr_assert_str_eq(list[1].name, "nvme10");
	cr_assert_str_eq(list[1].host_iface, "eth0");
	cr_assert_str_eq(list[1].src_addr, "10.0.0.9");
	cr_assert_str_eq(list[1].trsvcid, "4421");
	cr_assert_str_eq(list[0].hostid, "abff48c0-ecbe-4d8c-a64a-54f12797e8c2");
	cr_assert_eq(list[0].ctrl_loss_tmo, 60);
	cr_assert_eq(list[0].fast_io_fail_tmo, VALUE_OFF);
	cr_assert_eq(list[0].queues, 3);
	free(list);
	tree_free(&tree);
}

Test(nvme_sysfs, an_old_kernel_tells_less)
{
	struct tree tree = tree_new();
	struct nvmf_ctrl ctrl;

	tree_file(&tree, "sys/class/nvme/nvme1/state", "live\n");
	cr_assert_eq(kernel_nvmf_read_ctrl(tree.root, "nvme1", &ctrl), 0);
	cr_assert_eq(ctrl.ctrl_loss_tmo, VALUE_UNKNOWN);
	cr_assert_eq(ctrl.queues, 0);
	cr_assert_eq(
		kernel_nvmf_read_ctrl(tree.root, ctrl.name, &ctrl), 0, "its own name may be given");
	cr_assert_str_eq(ctrl.name, "nvme1");
	cr_assert_eq(kernel_nvmf_read_ctrl(tree.root, "nvme1n1", &ctrl), -ENOENT);
	cr_assert_eq(kernel_nvmf_read_ctrl(tree.root, "../nvme1", &ctrl), -ENOENT);
	tree_free(&tree);
}

Test(nvme_sysfs, connections_with_tls)
{
	struct tree none = tree_new();

	cr_assert_not(kernel_nvmf_any_tls(none.root));
	tree_dir(&none, "sys/class/nvme/nvme0");
	tree_dir(&none, "sys/class/nvme/nvme1");
	cr_assert_not(kernel_nvmf_any_tls(none.root));
	tree_file(&none, "sys/class/nvme/nvme1/tls_key", "");
	cr_assert(kernel_nvmf_any_tls(none.root), "also without a key, while it is lost");
	tree_free(&none);
}

Test(nvme_sysfs, the_same_connection)
{
	struct tree tree = new_tree();
	struct nvmf_params params = params_t1;
	struct nvmf_ctrl ctrl;

	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), 0);
	cr_assert_str_eq(ctrl.name, "nvme2");
	params.value[NVMF_HOSTNQN] = "nqn.other";
	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), -ENOENT, "another host's");
	params = params_t1;
	params.value[NVMF_HOSTID] = "abff48c0-ecbe-4d8c-a64a-54f12797e8c2";
	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), 0);
	params.value[NVMF_HOSTID] = "abff48c0-ecbe-4d8c-a64a-54f12797e8c3";
	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), -ENOENT, "another ID");
	params = params_t1;
	params.value[NVMF_TRSVCID] = "4421";
	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), -ENOENT);
	params = params_t1;
	params.value[NVMF_HOST_TRADDR] = "10.0.0.7";
	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), -ENOENT, "from another side");
	tree_file(&tree, "sys/class/nvme/nvme2/address", "traddr=fd00:0::0001,trsvcid=4420\n");
	params = params_t1;
	params.value[NVMF_TRADDR] = "fd00::1";
	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), 0, "one address, two spellings");
	tree_file(&tree, "sys/class/nvme/nvme2/state", "deleting\n");
	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), -ENOENT, "on its way out");
	tree_free(&tree);
}

Test(nvme_sysfs, of_several_connections_the_one_that_is_asked_for)
{
	struct tree tree = tree_new();
	struct nvmf_params params = { .value = { [NVMF_TRANSPORT] = "tcp",
					      [NVMF_TRADDR] = "10.0.0.1",
					      [NVMF_NQN] = "nqn.t1" } };
	struct nvmf_ctrl ctrl;

	nvme_tree_ctrl(&tree, "nvme1", "tcp", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_ctrl(&tree, "nvme2", "tcp", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_ctrl(&tree, "nvme3", "tcp", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	tree_file(&tree, "sys/class/nvme/nvme2/tls_key", "12345678");
	tree_file(&tree, "sys/class/nvme/nvme3/tls_key", "12345678");
	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), 0);
	cr_assert_str_eq(ctrl.name, "nvme1");
	params.value[NVMF_TLS] = "";
	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), 0);
	cr_assert_str_eq(ctrl.name, "nvme2");
	cr_assert(ctrl.tls);
	params.value[NVMF_DHCHAP_CTRL_SECRET] = "DHHC-1:00:";
	tree_file(&tree, "sys/class/nvme/nvme2/dhchap_ctrl_secret", "none\n");
	tree_file(&tree, "sys/class/nvme/nvme3/dhchap_ctrl_secret", "DHHC-1:00:none\n");
	cr_assert_eq(kernel_nvmf_find(tree.root, &params, &ctrl), 0);
	cr_assert_str_eq(ctrl.name, "nvme3");
	cr_assert_null(kernel_nvmf_missing(tree.root, &params, &ctrl));
	tree_free(&tree);
}

Test(nvme_sysfs, namespaces_with_and_without_multipath)
{
	struct tree tree = new_tree();
	struct nvmf_disk *disk;
	unsigned count;

	nvme_tree_disk(&tree, "nvme2", "nvme1c2n2", "nvme1n2", 5);
	nvme_tree_disk(&tree, "nvme2", "nvme2n1", "nvme2n1", 1);
	tree_dir(&tree, "sys/class/nvme/nvme2/ng2n1");
	tree_dir(&tree, "sys/class/nvme/nvme2/nvme1c2n9"); /* has no disk yet */
	cr_assert_eq(kernel_nvmf_disks(tree.root, "nvme2", &disk, &count, NULL), 0);
	cr_assert_eq(count, 2);
	cr_assert_str_eq(disk[0].name, "nvme2n1");
	cr_assert_str_eq(disk[1].name, "nvme1n2");
	cr_assert_eq(disk[1].nsid, 5);
	cr_assert_eq(disk[1].size, 8 << 20);
	cr_assert_eq(disk[1].block, 4096);
	cr_assert_eq(disk[1].major, 259);
	cr_assert_str_eq(disk[1].wwid, "uuid.3817d9bc-9750-46fd-b17e-d1e5769402f7");
	free(disk);
	tree_free(&tree);
}

Test(nvme_sysfs, a_device_in_any_of_its_names)
{
	struct tree tree = new_tree();
	char ctrl[4][16];

	nvme_tree_disk(&tree, "nvme2", "nvme1c2n1", "nvme1n1", 1);
	nvme_tree_disk(&tree, "nvme10", "nvme1c10n1", "nvme1n1", 1);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme2", ctrl, 4), 1);
	cr_assert_str_eq(ctrl[0], "nvme2");
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme1n1", ctrl, 4), 2);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "/dev/nvme1n1", ctrl, 4), 2);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme1n1p3", ctrl, 4), 2);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme1c10n1", ctrl, 4), 1);
	cr_assert_str_eq(ctrl[0], "nvme10");
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme1n7", ctrl, 4), -ENOENT);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme7", ctrl, 4), -ENOENT);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "sda", ctrl, 4), -ENOENT);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme1n1.img", ctrl, 4), -ENOENT,
		"not the disk's name");
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme1n1p", ctrl, 4), -ENOENT);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme01n1", ctrl, 4), -ENOENT);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme1n+1", ctrl, 4), -ENOENT);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme4294967297n1", ctrl, 4), -ENOENT);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "/srv/nvme2", ctrl, 4), -ENOENT,
		"a file elsewhere");
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "/dev/disk/nvme1n1", ctrl, 4), -ENOENT);
	cr_assert_eq(kernel_nvmf_of_device(tree.root, "nvme1n1", ctrl, 1), 1);
	tree_free(&tree);
}

Test(nvme_sysfs, who_would_lose_something)
{
	struct tree tree = new_tree();
	struct nvmf_ctrl *list;
	unsigned count;
	bool enough = false;
	char who[200];

	nvme_tree_disk(&tree, "nvme2", "nvme1c2n1", "nvme1n1", 1);
	nvme_tree_disk(&tree, "nvme10", "nvme1c10n1", "nvme1n1", 1);
	tree_file(&tree, "proc/self/mountinfo", "25 1 259:1 / /mnt rw - ext4 /dev/nvme1n1 rw\n");
	cr_assert_eq(kernel_nvmf_list(tree.root, &list, &count, NULL), 0);
	kernel_nvmf_users(tree.root, list, 1, who, sizeof(who), &enough);
	cr_assert_str_eq(who, "", "the other path stays: %s", who);
	kernel_nvmf_users(tree.root, list, 2, who, sizeof(who), &enough);
	text_says(who, "nvme1n1 /mnt");
	tree_file(&tree, "sys/class/nvme/nvme10/state", "connecting\n");
	kernel_nvmf_users(tree.root, list, 1, who, sizeof(who), &enough);
	text_says(who, "nvme1n1 /mnt"); /* the other path is lost */
	cr_assert(enough);
	cr_assert(!kernel_nvmf_has_root(tree.root, "nvme2"));
	free(list);
	tree_free(&tree);
}

Test(nvme_sysfs, one_search_of_processes_for_all_disks)
{
	struct tree tree = new_tree();
	struct nvmf_ctrl *list;
	unsigned count;
	bool enough = false;
	char who[300], path[80];

	tree_link(&tree, "proc/7/fd/3", "/dev/nvme1n1");
	tree_link(&tree, "proc/8/fd/3", "/dev/nvme2n1");
	for (unsigned i = 1; i <= 3; i++) {
		char uevent[40];

		snprintf(path, sizeof(path), "nvme%un1", i);
		nvme_tree_disk(&tree, i == 2 ? "nvme10" : "nvme2", path, path, i);
		snprintf(path, sizeof(path), "sys/dev/block/259:%u/uevent", i);
		snprintf(uevent, sizeof(uevent), "DEVNAME=nvme%un1\n", i);
		tree_file(&tree, path, uevent);
	}
	cr_assert_eq(kernel_nvmf_list(tree.root, &list, &count, NULL), 0);
	proc_searches = 0;
	kernel_nvmf_users(tree.root, list, count, who, sizeof(who), &enough);
	text_says(who, "nvme1n1 pid_7 nvme2n1 pid_8");
	cr_assert_null(strstr(who, "nvme3n1"), "%s", who);
	cr_assert_eq(proc_searches, 1, "%u", proc_searches);
	free(list);
	tree_free(&tree);
}

Test(nvme_sysfs, the_root_device_through_layers)
{
	struct tree tree = new_tree();

	nvme_tree_disk(&tree, "nvme2", "nvme1c2n1", "nvme1n1", 1);
	tree_file(&tree, "sys/dev/block/259:1/nvme1n1p2/partition", "2\n");
	tree_file(&tree, "sys/dev/block/259:1/nvme1n1p2/dev", "259:9\n");
	tree_file(&tree, "sys/dev/block/259:9/uevent", "DEVNAME=nvme1n1p2\n");
	tree_dir(&tree, "sys/dev/block/259:9/holders/dm-0");
	tree_file(&tree, "sys/class/block/dm-0/dev", "253:0\n");
	tree_file(&tree, "sys/dev/block/253:0/uevent", "DEVNAME=dm-0\n");
	tree_dir(&tree, "sys/dev/block/253:0/holders");
	tree_file(&tree, "proc/self/mountinfo", "25 1 253:0 / /mnt rw - ext4 /dev/dm-0 rw\n");
	cr_assert(!kernel_nvmf_has_root(tree.root, "nvme2"));
	tree_file(&tree, "proc/self/mountinfo", "25 1 253:0 / / rw - ext4 /dev/dm-0 rw\n");
	cr_assert(kernel_nvmf_has_root(tree.root, "nvme2"));
	cr_assert(!kernel_nvmf_has_root(tree.root, "nvme10"));
	tree_free(&tree);
}
