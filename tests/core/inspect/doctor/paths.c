/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The paths of attached disks: every check as it succeeds and as it fails, on trees of files. */
/* Link: kernel_route kernel_multipath_status */
#include "findings.h"
#include "kernel_multipath.h"
#include "kernel_net.h"
#include "multipath_tree.h"
#include "nvme_tree.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define DISK "/dev/nvme0n1"
#define MAP  "/dev/mapper/mpatha"

int __wrap_kernel_route(const struct addr *, struct kernel_route *, struct diag *);
int __wrap_kernel_multipath_status(
	int root, const struct multipath_map *map, struct multipath_status *to);

static bool is_local;
static struct multipath_status status;

/* 10.0.N.x is reached through ethN */
int __wrap_kernel_route(const struct addr *to, struct kernel_route *route, struct diag *diag)
{
	char text[ADDR_TEXT];
	unsigned number;

	(void)diag;
	*route = (struct kernel_route){ .local = is_local };
	if (sscanf(addr_host(to, text), "10.0.%u.", &number) != 1)
		return -ENETUNREACH;
	snprintf(route->netdev, sizeof(route->netdev), "eth%u", number);
	return 0;
}

int __wrap_kernel_multipath_status(
	int root, const struct multipath_map *map, struct multipath_status *to)
{
	(void)root;
	(void)map;
	*to = status;
	return 0;
}

static struct examined e;

static void file(const char *dir, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	tree_file(&e.tree, path, text);
}

static void begin(const char *first, const char *second)
{
	examined_init(&e, NULL);
	nvme_tree_ctrl(&e.tree, "nvme0", "tcp", "nqn.t1", first);
	nvme_tree_ctrl(&e.tree, "nvme1", "tcp", "nqn.t1", second);
	nvme_tree_disk(&e.tree, "nvme0", "nvme0c0n1", "nvme0n1", 1);
	nvme_tree_disk(&e.tree, "nvme1", "nvme0c1n1", "nvme0n1", 1);
	file("sys/class/nvme/nvme0", "nvme0c0n1/ana_state", "optimized\n");
	file("sys/class/nvme/nvme1", "nvme0c1n1/ana_state", "optimized\n");
	file("sys/class/nvme/nvme0", "numa_node", "0\n");
	file("sys/class/nvme/nvme1", "numa_node", "0\n");
	file("sys/class/block/nvme0n1", "device/iopolicy", "round-robin\n");
	file("sys/class/net/eth1", "mtu", "9000\n");
	file("sys/class/net/eth2", "mtu", "9000\n");
}

static void begin_two(void)
{
	begin("traddr=10.0.1.1,trsvcid=4420", "traddr=10.0.2.1,trsvcid=4420");
}

static void end(void)
{
	examined_free(&e);
}

Test(paths, two_good_ones)
{
	begin_two();
	doctor_paths(&e.doctor);
	found_it(&e.doctor, "path-state", DISK, DOCTOR_OK, "2_of_2");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "path-state", NULL), "paths_up"), "2");
	found_it(&e.doctor, "path-policy", DISK, DOCTOR_OK, "round-robin");
	found_it(&e.doctor, "path-address", DISK, DOCTOR_OK, "2_paths");
	cr_assert_eq(e.doctor.findings, 3);
	end();
}

Test(paths, with_a_uri_only_its_own)
{
	begin_two();
	e.doctor.uri = "nvme+tcp://10.0.0.1/nqn.x";
	doctor_paths(&e.doctor);
	cr_assert_eq(e.doctor.findings, 0);
	end();
}

Test(paths, one_path_is_none_to_compare)
{
	examined_init(&e, NULL);
	nvme_tree_ctrl(&e.tree, "nvme0", "tcp", "nqn.t1", "traddr=10.0.1.1,trsvcid=4420");
	nvme_tree_disk(&e.tree, "nvme0", "nvme0c0n1", "nvme0n1", 1);
	doctor_paths(&e.doctor);
	cr_assert_eq(e.doctor.findings, 0);
	end();
}

Test(paths, some_are_not_usable)
{
	static const struct {
		const char *state, *access, *words;
		enum doctor_state found;
	} rows[] = {
		{ "connecting\n", "optimized\n", "1_of_2 not_nvme1 rdmastor_status",
			DOCTOR_WARNING },
		{ "live\n", "inaccessible\n", "1_of_2 not_nvme1", DOCTOR_WARNING },
		{ "live\n", "non-optimized\n", "2_of_2", DOCTOR_OK },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin_two();
		file("sys/class/nvme/nvme1", "state", rows[i].state);
		file("sys/class/nvme/nvme1", "nvme0c1n1/ana_state", rows[i].access);
		doctor_paths(&e.doctor);
		found_it(&e.doctor, "path-state", DISK, rows[i].found, rows[i].words);
		end();
	}
	begin_two();
	file("sys/class/nvme/nvme0", "state", "connecting\n");
	file("sys/class/nvme/nvme1", "state", "connecting\n");
	doctor_paths(&e.doctor);
	found_it(&e.doctor, "path-state", DISK, DOCTOR_FAILURE, "0_of_2");
	end();
}

static void policy_is(const char *policy, const char *second, const char *node,
	enum doctor_state state, const char *words)
{
	begin_two();
	file("sys/class/block/nvme0n1", "device/iopolicy", policy);
	file("sys/class/nvme/nvme1", "nvme0c1n1/ana_state", second);
	file("sys/class/nvme/nvme1", "numa_node", node);
	doctor_paths(&e.doctor);
	found_it(&e.doctor, "path-policy", DISK, state, words);
	end();
}

Test(paths, policies_that_use_one_path)
{
	policy_is("numa\n", "optimized\n", "0\n", DOCTOR_WARNING,
		"NUMA echo_round-robin /sys/class/block/nvme0n1/device/iopolicy");
	policy_is("numa\n", "optimized\n", "1\n", DOCTOR_OK, "numa");
	policy_is("numa\n", "non-optimized\n", "0\n", DOCTOR_OK, "numa");
	policy_is("round-robin\n", "non-optimized\n", "0\n", DOCTOR_WARNING,
		"round-robin only_one optimized");
	policy_is("queue-depth\n", "non-optimized\n", "0\n", DOCTOR_WARNING, "queue-depth");
	policy_is("queue-depth\n", "inaccessible\n", "0\n", DOCTOR_OK, "queue-depth");
	policy_is("queue-depth\n", "optimized\n", "0\n", DOCTOR_OK, "queue-depth");
}

Test(paths, they_fail_together)
{
	begin("traddr=10.0.1.1,trsvcid=4420", "traddr=10.0.1.1,trsvcid=4421");
	doctor_paths(&e.doctor);
	found_it(&e.doctor, "path-address", DISK, DOCTOR_WARNING,
		"nvme0 nvme1 10.0.1.1 another_port");
	found_it(&e.doctor, "path-interface", DISK, DOCTOR_WARNING, "eth1 ip_route_get");
	end();
	begin("traddr=10.0.1.1,trsvcid=4420", "traddr=10.0.1.2,trsvcid=4420");
	doctor_paths(&e.doctor);
	cr_assert_null(find_it(&e.doctor, "path-address", NULL));
	found_it(&e.doctor, "path-interface", DISK, DOCTOR_WARNING, "eth1");
	end();
	is_local = true; /* of a target on this machine */
	begin("traddr=10.0.1.1,trsvcid=4420", "traddr=10.0.1.2,trsvcid=4420");
	doctor_paths(&e.doctor);
	cr_assert_null(find_it(&e.doctor, "path-interface", NULL));
	end();
	is_local = false;
	begin("traddr=10.0.1.1,trsvcid=4420,host_iface=eth1",
		"traddr=10.0.1.2,trsvcid=4420,host_iface=eth2");
	doctor_paths(&e.doctor);
	cr_assert_null(find_it(&e.doctor, "path-interface", NULL), "bound to interfaces");
	end();
}

Test(paths, interfaces_of_another_mtu)
{
	begin_two();
	file("sys/class/net/eth1", "mtu", "1500\n");
	doctor_paths(&e.doctor);
	found_it(&e.doctor, "path-mtu", DISK, DOCTOR_WARNING,
		"1500_on_eth1 9000_on_eth2 ip_link_set_eth1_mtu_9000");
	end();
	begin_two();
	cr_assert_eq(unlinkat(e.tree.root, "sys/class/net/eth1/mtu", 0), 0);
	doctor_paths(&e.doctor);
	cr_assert_null(find_it(&e.doctor, "path-mtu", NULL), "unknown");
	end();
}

Test(paths, a_controller_with_a_refused_namespace)
{
	begin_two();
	nvme_tree_ctrl(&e.tree, "nvme2", "tcp", "nqn.t1", "traddr=10.0.3.1,trsvcid=4420");
	nvme_tree_ctrl(&e.tree, "nvme3", "tcp", "nqn.other", "traddr=10.0.3.1,trsvcid=4420");
	doctor_paths(&e.doctor);
	found_it(&e.doctor, "path-identity", "nvme2", DOCTOR_FAILURE,
		"nvme0 same_NQN identity nvmf-disconnect_nvme2");
	cr_assert_null(find_it(&e.doctor, "path-identity", "nvme3"));
	end();
}

Test(paths, one_disk_as_separate_devices)
{
	for (unsigned on = 0; on < 2; on++) {
		examined_init(&e, NULL);
		nvme_tree_ctrl(&e.tree, "nvme0", "tcp", "nqn.t1", "traddr=10.0.1.1,trsvcid=4420");
		nvme_tree_ctrl(&e.tree, "nvme1", "tcp", "nqn.t1", "traddr=10.0.2.1,trsvcid=4420");
		nvme_tree_disk(&e.tree, "nvme0", "nvme0n1", "nvme0n1", 1);
		nvme_tree_disk(&e.tree, "nvme1", "nvme1n1", "nvme1n1", 1);
		tree_file(&e.tree, "sys/module/nvme_core/parameters/multipath", on ? "Y\n" : "N\n");
		doctor_paths(&e.doctor);
		found_it(&e.doctor, "path-joined", "/dev/nvme1n1", DOCTOR_WARNING,
			on ? "/dev/nvme0n1 shared" : "/dev/nvme0n1 nvme_core.multipath=Y");
		end();
	}
	examined_init(&e, NULL);
	nvme_tree_ctrl(&e.tree, "nvme0", "tcp", "nqn.t1", "traddr=10.0.1.1,trsvcid=4420");
	nvme_tree_disk(&e.tree, "nvme0", "nvme0n1", "nvme0n1", 1);
	nvme_tree_disk(&e.tree, "nvme0", "nvme0n2", "nvme0n2", 2);
	file("sys/class/block/nvme0n2", "wwid", "uuid.other\n");
	doctor_paths(&e.doctor);
	cr_assert_null(find_it(&e.doctor, "path-joined", NULL), "two disks");
	end();
}

static void put_session(unsigned number, const char *node, const char *dev, const char *wwid)
{
	char dir[128], to[128];

	snprintf(dir, sizeof(dir), "sys/devices/platform/host%u/session%u/iscsi_session/session%u",
		number, number, number);
	file(dir, "targetname", "iqn.2024-01.example:t1\n");
	file(dir, "state", "LOGGED_IN\n");
	file(dir, "target_id", "0\n");
	snprintf(to, sizeof(to), "../../%s", dir + 4);
	snprintf(dir, sizeof(dir), "sys/class/iscsi_session/session%u", number);
	tree_link(&e.tree, dir, to);
	snprintf(dir, sizeof(dir), "sys/class/scsi_host/host%u", number);
	file(dir, "proc_name", "iscsi_tcp\n");
	snprintf(dir, sizeof(dir), "sys/class/scsi_device/%u:0:0:1/device", number);
	file(dir, "type", "0\n");
	file(dir, "state", "running\n");
	snprintf(to, sizeof(to), "block/%s/dev", node);
	file(dir, to, dev);
	multipath_tree_disk(&e.tree, node, dev);
	snprintf(dir, sizeof(dir), "sys/class/block/%s/device", node);
	file(dir, "wwid", wwid);
}

static void begin_map(const char *second)
{
	examined_init(&e, NULL);
	put_session(1, "sda", "8:0", "naa.6001405abc");
	put_session(2, "sdb", "8:16", second);
	multipath_tree_map(&e.tree, "dm-0", "253:0", "mpatha", "mpath-36001405abc", "sda sdb");
}

Test(paths, a_map_and_its_daemon)
{
	begin_map("naa.6001405abc");
	status.queues = true;
	doctor_paths(&e.doctor);
	found_it(&e.doctor, "multipathd", MAP, DOCTOR_WARNING,
		"not_running without_limit systemctl_start_multipathd");
	found_it(&e.doctor, "path-state", MAP, DOCTOR_OK, "2_of_2");
	cr_assert_null(find_it(&e.doctor, "path-identity", NULL));
	end();
	begin_map("naa.6001405abc");
	multipath_tree_daemon(&e.tree);
	status.member[0] = (struct multipath_member){ "8:16", true, 'A' };
	status.members = 1;
	doctor_paths(&e.doctor);
	cr_assert_null(find_it(&e.doctor, "multipathd", NULL));
	found_it(&e.doctor, "path-state", MAP, DOCTOR_WARNING, "1_of_2 not_session2");
	end();
	status = (struct multipath_status){ 0 };
}

Test(paths, a_map_with_one_path)
{
	examined_init(&e, NULL);
	put_session(1, "sda", "8:0", "naa.6001405abc");
	multipath_tree_map(&e.tree, "dm-0", "253:0", "mpatha", "mpath-36001405abc", "sda");
	doctor_paths(&e.doctor);
	found_it(&e.doctor, "path-state", MAP, DOCTOR_WARNING, "only_one_path");
	end();
}

Test(paths, a_map_over_different_disks)
{
	begin_map("naa.6001405def");
	doctor_paths(&e.doctor);
	found_it(&e.doctor, "path-identity", MAP, DOCTOR_FAILURE,
		"sdb another_disk naa.6001405def naa.6001405abc multipathd_del_path_sdb");
	end();
}

Test(paths, sessions_without_a_map)
{
	examined_init(&e, NULL);
	put_session(1, "sda", "8:0", "naa.6001405abc");
	put_session(2, "sdb", "8:16", "naa.6001405abc");
	doctor_paths(&e.doctor);
	found_it(&e.doctor, "path-joined", "/dev/sdb", DOCTOR_WARNING,
		"/dev/sda separate start_multipathd --ublk");
	end();
}
