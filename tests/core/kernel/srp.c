/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What ib_srp is connected to, on trees of files. */
#include "kernel.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOST "sys/class/scsi_host/host7/"

Test(srp, connections)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [13] = 0x10, [15] = 0x07 };
	struct tree tree = tree_new();
	struct kernel_srp *list;
	unsigned count;

	cr_assert_eq(kernel_srp_list(tree.root, &list, &count, NULL), 0);
	cr_assert_eq(count, 0, "no SCSI at all");
	tree_file(&tree, "sys/class/scsi_host/host0/proc_name", "ahci\n");
	tree_file(&tree, HOST "id_ext", "0x0002c90300a0b0c0\n");
	tree_file(&tree, HOST "ioc_guid", "0x0002c90300a0b0c1\n");
	cr_assert_eq(kernel_srp_list(tree.root, &list, &count, NULL), 0);
	cr_assert_eq(count, 1, "by RDMA/CM");
	cr_assert(list->by_cm);
	free(list);
	tree_file(&tree, HOST "service_id", "0x0002c90300a0b0c2\n");
	tree_file(&tree, HOST "pkey", "0xffff\n");
	cr_assert_eq(kernel_srp_list(tree.root, &list, &count, NULL), 0);
	cr_assert_eq(count, 0, "not without a GID");
	tree_file(&tree, HOST "dgid", "fe80:0000:0000:0000:0000:0000:0099:0099\n");
	tree_file(&tree, HOST "orig_dgid", "fe80:0000:0000:0000:0000:0000:0010:0007\n");
	cr_assert_eq(kernel_srp_list(tree.root, &list, &count, NULL), 0);
	cr_assert_eq(count, 1);
	cr_assert_not(list->by_cm);
	cr_assert_str_eq(list->host, "host7");
	cr_assert_eq(list->id_ext, 0x0002c90300a0b0c0);
	cr_assert_eq(list->ioc_guid, 0x0002c90300a0b0c1);
	cr_assert_eq(list->service_id, 0x0002c90300a0b0c2);
	cr_assert_eq(list->pkey, 0xffff);
	cr_assert_eq(memcmp(list->dgid, gid, 16), 0);
	cr_assert_str_eq(list->dev, "");
	cr_assert_eq(list->port, 0);
	free(list);
	tree_file(&tree, HOST "local_ib_device", "mlx5_0\n");
	tree_file(&tree, HOST "local_ib_port", "2\n");
	cr_assert_eq(kernel_srp_list(tree.root, &list, &count, NULL), 0);
	cr_assert_str_eq(list->dev, "mlx5_0");
	cr_assert_eq(list->port, 2);
	free(list);
	tree_free(&tree);
}

Test(srp, immediate_data)
{
	struct tree tree = tree_new();

	cr_assert_eq(kernel_srp_imm_data(tree.root), 0);
	tree_file(&tree, "sys/module/ib_srp/parameters/use_imm_data", "Y\n");
	cr_assert_eq(kernel_srp_imm_data(tree.root), 0);
	tree_file(&tree, "sys/module/ib_srp/parameters/max_imm_data", "8192\n");
	cr_assert_eq(kernel_srp_imm_data(tree.root), 8192);
	tree_file(&tree, "sys/module/ib_srp/parameters/use_imm_data", "N\n");
	cr_assert_eq(kernel_srp_imm_data(tree.root), 0);
	tree_free(&tree);
}

Test(umad, the_missing_part_is_named)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };

	cr_assert_eq(kernel_umad_ready(tree.root, &diag), -ENODEV);
	cr_assert(strstr(diag.text, "there is no RDMA device"), "%s", diag.text);
	tree_dir(&tree, "sys/class/infiniband");
	cr_assert_eq(kernel_umad_ready(tree.root, &diag), -ENOENT);
	cr_assert(strstr(diag.text, "ib_umad is not loaded"), "%s", diag.text);
	tree_file(&tree, "sys/class/infiniband_mad/abi_version", "5\n");
	cr_assert_eq(kernel_umad_ready(tree.root, &diag), 0);
	tree_free(&tree);
}
