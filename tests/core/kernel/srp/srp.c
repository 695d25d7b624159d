/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What ib_srp is connected to, on trees of files. */
#include "kernel_rdma.h"
#include "kernel_srp.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOST "sys/class/scsi_host/host7/"

Test(srp, connections)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [13] = 0x10, [15] = 0x07 };
	struct tree tree = tree_new();
	struct kernel_srp *list;
	unsigned count;
	char host[24];

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
	cr_assert(kernel_srp_connected(tree.root, list, false, host));
	cr_assert_str_eq(host, "host7");
	list->id_ext++;
	cr_assert_not(kernel_srp_connected(tree.root, list, false, host));
	cr_assert_str_eq(host, "");
	free(list);
	tree_free(&tree);
}

#define NEW                                                                                        \
	"ib_srp: new target: id_ext 0000000000000001 ioc_guid 0000000000000002 sgid fe80::1 dest "

Test(srp, addresses_by_rdma_cm)
{
	static const uint8_t a[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 },
			     b[16] = { 0xfd, [15] = 7 };
	static const char log[] =
		"6,1,1,-;scsi host3: " NEW "10.0.0.9\n"
		"6,2,2,-;scsi host3: SRP.T10:0000000000000001\n"
		"6,3,3,-;scsi host4: SRP.T10:0000000000000001\n"
		"7,4,4,-;scsi host4: " NEW "10.0.0.9\n"
		"7,5,5,-;scsi host4: " NEW "10.0.0.1\n"
		"15,6,6,-;scsi host4: " NEW "10.0.0.9\n"
		"7,7,7,-;scsi host5: " NEW "fd00:0000:0000:0000:0000:0000:0000:0007\n"
		"7,8,8,-;scsi host6: " NEW "10.0.0.1\n"
		"7,9,9,-;scsi host7: " NEW "10.0.0.1\n";
	struct kernel_srp list[5] = { { .host = "host3" }, { .host = "host4" }, { .host = "host5" },
		{ .host = "host6" }, { .host = "host7" } };
	struct srp_params params = { 0 };
	struct tree tree = tree_new();

	for (unsigned i = 0; i < 5; i++) {
		list[i].id_ext = i == 3 ? 9 : 1;
		list[i].ioc_guid = 2;
		list[i].by_cm = i != 4;
	}
	kernel_srp_set_dests(tree.root, list, 5);
	cr_assert_not(kernel_srp_path_known(&list[1]), "no log");
	tree_file(&tree, "dev/kmsg", log);
	kernel_srp_set_dests(tree.root, list, 5);
	cr_assert_not(kernel_srp_path_known(&list[0]), "that of an earlier host3");
	cr_assert_eq(memcmp(list[1].dest, a, 16), 0);
	cr_assert_eq(memcmp(list[2].dest, b, 16), 0);
	cr_assert_not(kernel_srp_path_known(&list[3]), "of another target");
	cr_assert(kernel_srp_path_known(&list[4]), "not by RDMA/CM");
	cr_assert_eq(srp_params_parse(&params, "id_ext=1,ioc_guid=2,dest=10.0.0.1:5555", NULL), 0);
	cr_assert(kernel_srp_fits(&list[0], &params, NULL), "it may be");
	cr_assert(kernel_srp_fits(&list[1], &params, NULL));
	cr_assert_not(kernel_srp_fits(&list[2], &params, NULL));
	params = (struct srp_params){ 0 };
	cr_assert_eq(srp_params_parse(&params, "id_ext=1,ioc_guid=2,dest=[fd00::7]:5555", NULL), 0);
	cr_assert_not(kernel_srp_fits(&list[1], &params, NULL));
	cr_assert(kernel_srp_fits(&list[2], &params, NULL));
	tree_free(&tree);
}

Test(srp, a_host_that_is_being_removed)
{
	struct tree tree = tree_new();

	cr_assert(kernel_srp_stays(tree.root, "host7"), "its state is unknown");
	tree_file(&tree, HOST "state", "running\n");
	cr_assert(kernel_srp_stays(tree.root, "host7"));
	tree_file(&tree, HOST "state", "cancel\n");
	cr_assert_not(kernel_srp_stays(tree.root, "host7"));
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

Test(umad, other_names)
{
	struct tree tree = tree_new();
	uint64_t none = kernel_umad_names(tree.root), one, both;

	tree_dir(&tree, "sys/class/infiniband_mad/umad0");
	one = kernel_umad_names(tree.root);
	tree_dir(&tree, "sys/class/infiniband/mlx5_0");
	both = kernel_umad_names(tree.root);
	cr_assert(none != one && one != both && none != both);
	cr_assert_eq(kernel_umad_names(tree.root), both);
	tree_free(&tree);
}

Test(umad, the_missing_part_is_named)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };

	cr_assert_eq(kernel_umad_ready(tree.root, &diag), -ENOENT);
	diag_says(&diag, DIAG_NO_MODULE, NULL, "no_RDMA_device ib_core");
	tree_dir(&tree, "sys/class/infiniband");
	cr_assert_eq(kernel_umad_ready(tree.root, &diag), -ENOENT);
	diag_says(&diag, DIAG_NO_MODULE, NULL, "no_RDMA_device ib_umad");
	tree_dir(&tree, "sys/class/infiniband/mlx5_0");
	cr_assert_eq(kernel_umad_ready(tree.root, &diag), -ENOENT);
	diag_says(&diag, DIAG_NO_MODULE, NULL, "ib_umad");
	cr_assert_null(strstr(diag.text, "no RDMA device"), "%s", diag.text);
	tree_file(&tree, "sys/class/infiniband_mad/abi_version", "5\n");
	cr_assert_eq(kernel_umad_ready(tree.root, &diag), 0);
	tree_free(&tree);
}

static struct kernel_srp target_7(void)
{
	struct kernel_srp target = { .id_ext = 1,
		.ioc_guid = 2,
		.service_id = 3,
		.pkey = 0xffff,
		.dev = "mlx5_0",
		.port = 1 };

	target.dgid[15] = 7;
	return target;
}

Test(srp, which_connection_it_is)
{
	struct kernel_srp host = target_7(), target = target_7();

	cr_assert_null(kernel_srp_find(NULL, 0, &target, false));
	cr_assert_eq(kernel_srp_find(&host, 1, &target, false), &host);
	host.pkey = 0x8001;
	cr_assert_null(kernel_srp_find(&host, 1, &target, false));
	cr_assert_eq(kernel_srp_find(&host, 1, &target, true), &host);
	host = target_7();
	host.dgid[15] = 8;
	cr_assert_null(kernel_srp_find(&host, 1, &target, true));
	host.by_cm = true;
	cr_assert_eq(
		kernel_srp_find(&host, 1, &target, false), &host, "by RDMA/CM it tells no path");
	strcpy(host.dev, "mlx5_1");
	cr_assert_null(kernel_srp_find(&host, 1, &target, false));
	host.dev[0] = 0;
	host.port = 2;
	cr_assert_null(kernel_srp_find(&host, 1, &target, false));
	host.port = 0;
	cr_assert_eq(kernel_srp_find(&host, 1, &target, false), &host);
	host.service_id = 4;
	host.by_cm = false;
	cr_assert_null(kernel_srp_find(&host, 1, &target, false));
}

/* A lock is a process's: another one is needed to find it held. */
Test(srp, a_lock_names_its_holder)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };
	char text[128];
	int fd, status;
	pid_t pid;

	cr_assert_eq(kernel_srp_lock(tree.root, "mlx5_0", 1, &diag), -ENOENT, "no /run");
	tree_dir(&tree, "run");
	fd = kernel_srp_lock(tree.root, "mlx5_0", 1, NULL);
	cr_assert_geq(fd, 0);
	snprintf(text, sizeof(text), "%d /run/srp_daemon_mlx5_0_1", (int)getpid());
	pid = fork();
	if (!pid) {
		diag = (struct diag){ 0 };
		if (kernel_srp_lock(tree.root, "mlx5_0", 1, &diag) != -EBUSY ||
			text_missing(diag.text, text))
			_exit(1);
		_exit(kernel_srp_lock(tree.root, "mlx5_0", 2, &diag) < 0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0, "held by another, and another port free");
	close(fd);
	fd = kernel_srp_lock(tree.root, "mlx5_0", 1, NULL);
	cr_assert_geq(fd, 0, "free again");
	close(fd);
	tree_free(&tree);
}

Test(srp, fits)
{
	struct kernel_srp one = { .host = "host6",
		.id_ext = 1,
		.ioc_guid = 2,
		.by_cm = true,
		.dev = "mlx5_0",
		.port = 1 };
	struct srp_params target = { 0 };
	const struct srp_local local = { "mlx5_0", 1 }, other = { "mlx5_0", 2 };

	cr_assert_eq(srp_params_parse(&target, "id_ext=1,ioc_guid=2,dest=10.0.0.1:5555", NULL), 0);
	cr_assert(kernel_srp_fits(&one, &target, &local));
	cr_assert(kernel_srp_fits(&one, &target, NULL));
	cr_assert(!kernel_srp_fits(&one, &target, &other));
	one.by_cm = false;
	cr_assert(!kernel_srp_fits(&one, &target, &local), "by another connection manager");
	cr_assert(kernel_srp_same_target(&one, &target, &local));
	cr_assert(!kernel_srp_same_target(&one, &target, &other));
	memset(&target, 0, sizeof(target));
	cr_assert_eq(srp_params_parse(&target,
			     "id_ext=1,ioc_guid=2,dgid=fe80::1,pkey=ffff,service_id=9", NULL),
		0);
	one.service_id = 9;
	memcpy(one.dgid, (uint8_t[16]){ 0xfe, 0x80, [15] = 1 }, 16);
	cr_assert(kernel_srp_fits(&one, &target, &local));
	one.dgid[15] = 2;
	cr_assert(!kernel_srp_fits(&one, &target, &local));
	one.dgid[15] = 1;
	one.service_id = 8;
	cr_assert(!kernel_srp_fits(&one, &target, &local));
	one.id_ext = 3;
	cr_assert(!kernel_srp_fits(&one, &target, &local));
}

Test(srp, numbers_of_hosts)
{
	cr_assert_eq(kernel_srp_number("host0"), 0);
	cr_assert_eq(kernel_srp_number("host61"), 61);
	cr_assert_eq(kernel_srp_number("host"), -1);
	cr_assert_eq(kernel_srp_number("host6x"), -1);
	cr_assert_eq(kernel_srp_number("sda"), -1);
	cr_assert_eq(kernel_srp_number("host4294967295"), -1);
}
