/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is attached, on trees as kernels lay them out: also of adapters and connections that no VM
 * has. */
/* Link: kernel_handshakes_answered kernel_psk_identity */
#include "list.h"
#include "kernel_status.h"
#include "nvme_tree.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IB        "sys/class/infiniband/"
#define MULTIPATH "mpath-3600a0b80005ab1770000"

static int answered;
static unsigned asked;
int __wrap_kernel_handshakes_answered(int root);
int __wrap_kernel_handshakes_answered(int root)
{
	(void)root;
	asked++;
	return answered;
}

int __wrap_kernel_psk_identity(int32_t serial, char identity[KERNEL_PSK_IDENTITY]);
int __wrap_kernel_psk_identity(int32_t serial, char identity[KERNEL_PSK_IDENTITY])
{
	snprintf(identity, KERNEL_PSK_IDENTITY, "NVMe1R01 me nqn.t1 x=");
	return serial == 0x1a2b3c4d ? 0 : -EACCES;
}

static void put(const struct tree *tree, const char *dir, const char *name, const char *text)
{
	char path[256], line[300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(line, sizeof(line), "%s\n", text);
	tree_file(tree, path, line);
}

static void put_port(const struct tree *tree, const char *dev, unsigned port, const char *layer,
	const char *state)
{
	char dir[128];

	snprintf(dir, sizeof(dir), IB "%s/ports/%u", dev, port);
	put(tree, dir, "state", state);
	put(tree, dir, "phys_state", "5: LinkUp");
	put(tree, dir, "link_layer", layer);
	put(tree, dir, "rate", "100 Gb/sec (4X EDR)");
	put(tree, dir, "lid", "0x12");
	put(tree, dir, "sm_lid", "0x1");
	put(tree, dir, "gids/0", "fe80:0000:0000:0000:0002:c903:00a0:b0c1");
	put(tree, dir, "gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
	snprintf(dir, sizeof(dir), IB "%s", dev);
	put(tree, dir, "node_type", "1: CA");
	put(tree, dir, "fw_ver", "20.31.1014");
}

static void put_gid(const struct tree *tree, const char *dev, unsigned index, const char *gid,
	const char *netdev)
{
	char dir[128], name[64];

	snprintf(dir, sizeof(dir), IB "%s/ports/1", dev);
	snprintf(name, sizeof(name), "gids/%u", index);
	put(tree, dir, name, gid);
	snprintf(name, sizeof(name), "gid_attrs/types/%u", index);
	put(tree, dir, name, "RoCE v2");
	snprintf(name, sizeof(name), "gid_attrs/ndevs/%u", index);
	put(tree, dir, name, netdev);
}

static void put_block(const struct tree *tree, const char *node, const char *number)
{
	char dir[128];

	snprintf(dir, sizeof(dir), "sys/class/block/%s", node);
	put(tree, dir, "size", "2048");
	put(tree, dir, "queue/logical_block_size", "512");
	put(tree, dir, "dev", number);
	snprintf(dir, sizeof(dir), "sys/class/block/%s/holders", node);
	tree_dir(tree, dir);
	snprintf(dir, sizeof(dir), "sys/dev/block/%s/holders", number);
	tree_dir(tree, dir);
	snprintf(dir, sizeof(dir), "sys/dev/block/%s", number);
	put(tree, dir, "uevent", node);
}

static void put_unit(const struct tree *tree, const char *name, const char *node,
	const char *number, const char *state)
{
	char dir[128];

	snprintf(dir, sizeof(dir), "sys/class/scsi_device/%s/device", name);
	put(tree, dir, "state", state);
	put(tree, dir, "type", "0");
	snprintf(dir, sizeof(dir), "sys/class/scsi_device/%s/device/block/%s", name, node);
	put(tree, dir, "dev", number);
	put_block(tree, node, number);
}

static struct kernel_list list_of(const struct tree *tree)
{
	struct kernel_list list;

	cr_assert_eq(kernel_list(tree->root, &list, NULL), 0);
	return list;
}

static const struct list_link *link_of(const struct kernel_list *list, unsigned path)
{
	return &list->link[list->path[path].link];
}

static const struct list_disk *disk_of(const struct kernel_list *list, unsigned path)
{
	return &list->disk[list->path[path].disk];
}

Test(list, nothing)
{
	struct tree tree = tree_new();
	struct kernel_list list = list_of(&tree);
	struct diag diag = { 0 };

	cr_assert_eq(list.paths + list.links + list.disks + list.ports, 0);
	cr_assert_eq(kernel_list_select(tree.root, &list, "nvme0", 1000, &diag), -ENOENT);
	cr_assert_eq(diag.code, DIAG_NOT_FOUND);
	cr_assert_str_eq(diag.object, "nvme0");
	cr_assert_eq(kernel_list_select(tree.root, &list, "nbd://10.0.0.1/x", 1000, &diag), -EINVAL,
		"the kernel does not attach that");
	kernel_list_clear(&list);
	tree_free(&tree);
}

static struct tree two_nvme_paths(void)
{
	struct tree tree = tree_new();

	nvme_tree_ctrl(
		&tree, "nvme1", "tcp", "nqn.t1", "traddr=10.0.1.1,trsvcid=4421,src_addr=10.0.1.9");
	nvme_tree_ctrl(&tree, "nvme0", "rdma", "nqn.t1",
		"traddr=10.0.0.1,trsvcid=4420,host_traddr=10.0.0.9");
	nvme_tree_ctrl(&tree, "nvme3", "rdma", "nqn.2014-08.org.nvmexpress.discovery",
		"traddr=fd00::1,trsvcid=8009");
	nvme_tree_disk(&tree, "nvme0", "nvme0c0n1", "nvme0n1", 1);
	nvme_tree_disk(&tree, "nvme0", "nvme0c0n2", "nvme0n2", 2);
	nvme_tree_disk(&tree, "nvme1", "nvme0c1n1", "nvme0n1", 1);
	tree_file(&tree, "sys/class/nvme/nvme0/nvme0c0n1/ana_state", "optimized\n");
	tree_file(&tree, "sys/class/nvme/nvme1/nvme0c1n1/ana_state", "non-optimized\n");
	tree_file(&tree, "sys/class/block/nvme0n1/device/iopolicy", "round-robin\n");
	put_port(&tree, "mlx5_0", 1, "Ethernet", "4: ACTIVE");
	put_gid(&tree, "mlx5_0", 2, "0000:0000:0000:0000:0000:ffff:0a00:0008", "eth2");
	put_port(&tree, "mlx5_bond_0", 1, "Ethernet", "4: ACTIVE");
	put_gid(&tree, "mlx5_bond_0", 3, "0000:0000:0000:0000:0000:ffff:0a00:0009", "bond0");
	return tree;
}

Test(list, paths_of_one_nvme_disk_are_together)
{
	struct tree tree = two_nvme_paths();
	struct kernel_list list = list_of(&tree);

	cr_assert_eq(list.links, 3);
	cr_assert_eq(list.disks, 2);
	cr_assert_eq(list.paths, 4);
	cr_assert_str_eq(disk_of(&list, 0)->name, "/dev/nvme0n1");
	cr_assert_str_eq(disk_of(&list, 0)->policy, "round-robin");
	cr_assert_eq(disk_of(&list, 0)->size, 16384 * 512);
	cr_assert_eq(disk_of(&list, 0)->block, 4096);
	cr_assert_str_eq(disk_of(&list, 0)->wwid, "uuid.3817d9bc-9750-46fd-b17e-d1e5769402f7");
	cr_assert_eq(disk_of(&list, 1), disk_of(&list, 0));
	cr_assert_str_eq(link_of(&list, 0)->name, "nvme0");
	cr_assert_str_eq(list.path[0].node, "nvme0c0n1");
	cr_assert_str_eq(list.path[0].state, "optimized");
	cr_assert_str_eq(link_of(&list, 1)->name, "nvme1");
	cr_assert_str_eq(list.path[1].state, "non-optimized");
	cr_assert_str_eq(link_of(&list, 1)->source, "10.0.1.9");
	cr_assert_eq(list.path[2].unit, 2);
	cr_assert_eq(list.path[3].disk, -1, "a discovery controller is listed without a disk");
	cr_assert_str_eq(link_of(&list, 3)->name, "nvme3");
	cr_assert_eq(link_of(&list, 0)->loss.give_up_s, 60);
	cr_assert_eq(link_of(&list, 0)->loss.fail_s, VALUE_OFF);
	cr_assert_eq(link_of(&list, 0)->loss.give_up_left_s, VALUE_UNKNOWN, "it is not lost");
	kernel_list_clear(&list);
	tree_free(&tree);
}

Test(list, the_device_that_has_the_source_address)
{
	struct tree tree = two_nvme_paths();
	struct kernel_list list = list_of(&tree);

	cr_assert_str_eq(link_of(&list, 0)->rdma_dev, "mlx5_bond_0");
	cr_assert_eq(link_of(&list, 0)->rdma_port, 1);
	cr_assert_str_eq(link_of(&list, 1)->rdma_dev, "", "TCP has none");
	cr_assert_str_eq(link_of(&list, 3)->rdma_dev, "", "source unknown");
	cr_assert_eq(list.ports, 2);
	cr_assert_str_eq(list.port[0].netdev, "eth2");
	cr_assert_str_eq(list.port[1].netdev, "bond0");
	cr_assert_str_eq(list.port[1].kind, "roce");
	cr_assert_eq(list.port[1].gids, 2, "not the empty one");
	cr_assert_str_eq(list.port[1].gid[1].type, "RoCE v2");
	cr_assert_eq(list.port[1].gid[1].index, 3);
	kernel_list_clear(&list);
	tree_free(&tree);
}

/* A card of two ports is two devices of one port to mlx5. */
Test(list, two_devices_of_one_card)
{
	struct tree tree = tree_new();
	struct kernel_list list;

	put_port(&tree, "mlx5_10", 1, "InfiniBand", "2: INIT");
	put_port(&tree, "mlx5_1", 1, "InfiniBand", "4: ACTIVE");
	put_port(&tree, "mlx5_0", 1, "Ethernet", "4: ACTIVE");
	put_gid(&tree, "mlx5_0", 10, "0000:0000:0000:0000:0000:ffff:c0a8:0102", "ens1f0np0.100");
	put_gid(&tree, "mlx5_0", 3, "fe80:0000:0000:0000:0ac0:ebff:fe00:0001", "ens1f0np0");
	put(&tree, IB "mlx5_1/device/net/ibs1f1", "dev_port", "0");
	tree_link(&tree, IB "mlx5_1/device/driver", "../../../../bus/pci/drivers/mlx5_core");
	list = list_of(&tree);
	cr_assert_eq(list.ports, 3);
	cr_assert_str_eq(list.port[0].dev, "mlx5_0");
	cr_assert_str_eq(list.port[0].kind, "roce");
	cr_assert_str_eq(list.port[0].netdev, "ens1f0np0");
	cr_assert_eq(list.port[0].gid[2].index, 10, "by number");
	cr_assert_str_eq(list.port[0].gid[2].netdev, "ens1f0np0.100");
	cr_assert_str_eq(list.port[1].dev, "mlx5_1");
	cr_assert_str_eq(list.port[1].kind, "ib");
	cr_assert_str_eq(list.port[1].netdev, "ibs1f1");
	cr_assert_str_eq(list.port[1].driver, "mlx5_core");
	cr_assert_str_eq(list.port[1].rate, "100 Gb/sec (4X EDR)");
	cr_assert_str_eq(list.port[2].dev, "mlx5_10");
	cr_assert_str_eq(list.port[2].state, "init");
	kernel_list_clear(&list);
	tree_free(&tree);
}

Test(list, nvme_without_multipath)
{
	struct tree tree = tree_new();
	struct kernel_list list;

	nvme_tree_ctrl(&tree, "nvme2", "tcp", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_disk(&tree, "nvme2", "nvme2n1", "nvme2n1", 1);
	list = list_of(&tree);
	cr_assert_eq(list.paths, 1);
	cr_assert_str_eq(list.path[0].node, "nvme2n1");
	cr_assert_str_eq(list.path[0].state, "");
	kernel_list_clear(&list);
	tree_free(&tree);
}

static char *shown(const struct kernel_list *list, bool json)
{
	struct kernel_serving none = { 0 };
	struct status_show what = { .all = true, .serving = &none };
	struct out out;
	char *text;
	size_t len;

	out_init(&out, "status", json);
	out.to = open_memstream(&text, &len);
	kernel_status_show(&out, list, &what);
	cr_assert_eq(out_fini(&out, NULL), 0);
	fclose(out.to);
	return text;
}

static void shows(const struct kernel_list *list, bool json, const char *words, unsigned lines)
{
	char *text = shown(list, json);

	cr_assert_eq(json ? !text_missing(text, words) : lines_saying(text, words), lines,
		"'%s' in %s", words, text);
	free(text);
}

Test(list, nvme_with_tls)
{
	struct tree tree = tree_new();
	struct kernel_list list;

	for (unsigned i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "nvme%u", i);
		nvme_tree_ctrl(&tree, name, "tcp", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	}
	put(&tree, "sys/class/nvme/nvme1", "tls_key", "1a2b3c4d");
	put(&tree, "sys/class/nvme/nvme1", "tls_configured_key", "1a2b3c4e");
	put(&tree, "sys/class/nvme/nvme2", "tls_key", "7");
	tree_file(&tree, "sys/class/nvme/nvme3/tls_key", "");
	answered = 1;
	list = list_of(&tree);
	cr_assert_eq(asked, 1, "asked %u times", asked);
	cr_assert_eq(list.links, 4);
	cr_assert_not(list.link[0].tls.is);
	cr_assert(list.link[1].tls.is);
	cr_assert_eq(list.link[1].tls.key, 0x1a2b3c4d);
	cr_assert_eq(list.link[1].tls.configured_key, 0x1a2b3c4e);
	cr_assert_str_eq(list.link[1].tls.identity, "NVMe1R01 me nqn.t1 x=");
	cr_assert_eq(list.link[2].tls.key, 7);
	cr_assert_eq(list.link[2].tls.configured_key, 0);
	cr_assert_str_eq(list.link[2].tls.identity, "", "a key of another user");
	cr_assert(list.link[3].tls.is, "lost");
	cr_assert_eq(list.link[3].tls.key, 0);
	shows(&list, false, "nvme0 yes", 0);
	shows(&list, false, "nvme1 439041101 439041102 yes NVMe1R01_me_nqn.t1_x=", 1);
	shows(&list, false, "nvme2 7_ -_ yes", 1);
	shows(&list, false, "nvme3 -_ -_ yes", 1);
	shows(&list, false, "tls-daemon", 0);
	shows(&list, true,
		"_tls_:{_key_:439041101,_configured_key_:439041102 "
		"_identity_:_NVMe1R01_me_nqn.t1_x=_,_restored_:true}",
		1);
	shows(&list, true, "_tls_:{_restored_:true}", 1);
	kernel_list_clear(&list);
	answered = -EOPNOTSUPP;
	list = list_of(&tree);
	shows(&list, false, "nvme1 439041101 439041102 no", 1);
	shows(&list, false, "will_not_be_restored tls-daemon", 1);
	shows(&list, true, "_tls_:{_restored_:false}", 1);
	kernel_list_clear(&list);
	answered = -EMFILE;
	list = list_of(&tree);
	shows(&list, false, "nvme1 439041101 439041102 unknown", 1);
	shows(&list, false, "will_not_be_restored", 0);
	shows(&list, true, "_identity_:_NVMe1R01_me_nqn.t1_x=_} _tls_:{}", 1);
	shows(&list, true, "_restored_", 0);
	kernel_list_clear(&list);
	tree_free(&tree);
}

/* As written by Linux 6.12; µs. */
static const char lost_log[] =
	"6,1,1000000,-;nvme nvme1: starting error recovery\n"
	"6,2,1000000,-;nvme nvme1: Reconnecting in 10 seconds...\n"
	"6,3,2000000,-;nvme nvme10: Reconnecting in 10 seconds...\n"
	" SUBSYSTEM=nvme\n"
	"6,4,3000000,-;nvme nvme1: Successfully reconnected (1 attempts)\n"
	"6,5,100000000,-;nvme nvme1: Reconnecting in 10 seconds...\n"
	"6,6,110500000,-;nvme nvme1: Failed reconnect attempt 1/6\n"
	"6,7,110500000,-;nvme nvme1: Reconnecting in 10 seconds...\n"
	"6,8,121000000,-;nvme nvme1: Failed reconnect attempt 2/6\n"
	"6,9,121000000,-;nvme nvme1: Reconnecting in 10 seconds...\n"
	"6,10,121000000,-;nvme nvme3: Reconnecting in 10 seconds...\n"
	"6,11,121000000,-;nvme nvme4: Reconnecting in 10 seconds...\n"
	"6,12,122000000,-;nvme nvme4: failfast expired\n"
	"nvme nvme1: no record\n;nvme nvme1: Reconnecting in 10 seconds...\n";

static struct list_loss lost(const char *name, uint64_t now_s, int fail_s, int give_up_s)
{
	struct list_link link = kernel_list_link_new(name, "nvme", "rdma");
	char log[sizeof(lost_log)];

	memcpy(log, lost_log, sizeof(log));
	link.loss.retry_s = 10;
	link.loss.fail_s = fail_s;
	link.loss.give_up_s = give_up_s;
	kernel_list_nvme_lost_at(now_s * 1000000, log, &link);
	return link.loss;
}

Test(list, how_long_a_lost_connection_has_left)
{
	struct list_loss loss = lost("nvme1", 126, 30, 60);

	cr_assert_eq(loss.attempts, 2);
	cr_assert_eq(loss.give_up_left_s, 35,
		"four more attempts, 5 of the first 10 s are over: %d", loss.give_up_left_s);
	cr_assert_eq(loss.fail_left_s, 4, "lost at 100: %d", loss.fail_left_s);
	cr_assert_eq(loss.retry_left_s, 5);
	loss = lost("nvme1", 500, 30, 60);
	cr_assert_eq(loss.give_up_left_s, 30,
		"an attempt that takes its time, or a clock that goes otherwise: three more are "
		"made");
	cr_assert_eq(loss.fail_left_s, 0);
	cr_assert_eq(loss.retry_left_s, 0);
	loss = lost("nvme1", 3, 30, 60);
	cr_assert_eq(loss.give_up_left_s, 40, "a clock that is behind the log");
	cr_assert_eq(loss.fail_left_s, 9);
	loss = lost("nvme1", 126, VALUE_OFF, VALUE_OFF);
	cr_assert_eq(loss.give_up_left_s, VALUE_UNKNOWN);
	cr_assert_eq(loss.fail_left_s, VALUE_UNKNOWN);
	cr_assert_eq(loss.attempts, 2);
	loss = lost("nvme3", 151, 50, 60);
	cr_assert_eq(loss.fail_left_s, 20,
		"an attempt that takes its time does not hold the requests: %d", loss.fail_left_s);
	cr_assert_eq(lost("nvme4", 123, 30, 60).fail_left_s, 0, "the kernel said so");
	loss = lost("nvme2", 126, 30, 60);
	cr_assert_eq(loss.attempts, VALUE_UNKNOWN, "the log has nothing of it");
	cr_assert_eq(loss.retry_left_s, VALUE_UNKNOWN);
}

Test(list, a_lost_connection_reads_the_log)
{
	struct tree tree = tree_new();
	struct kernel_list list;

	nvme_tree_ctrl(&tree, "nvme1", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	tree_file(&tree, "sys/class/nvme/nvme1/state", "connecting\n");
	tree_file(&tree, "dev/kmsg", "6,1,1,-;nvme nvme1: Reconnecting in 10 seconds...\n");
	list = list_of(&tree);
	cr_assert_eq(list.link[0].loss.attempts, 0);
	cr_assert_neq(list.link[0].loss.give_up_left_s, VALUE_UNKNOWN);
	kernel_list_clear(&list);
	tree_free(&tree);
}

/* As written by Linux 6.12; µs. */
static const char srp_log[] =
	"6,1,1000000,-;scsi host12: ib_srp: new target: id_ext 0002c90300a0b0c0 ioc_guid "
	"0002c90300a0b0c1 sgid :: dest 10.0.0.1:5555\n"
	"3,2,2000000,-;scsi host12: ib_srp: failed RECV status WR flushed (5) for CQE "
	"00000000c8b2b0c4\n"
	"6,3,3000000,-;scsi host12: ib_srp: reconnect succeeded\n"
	"3,4,100000000,-;scsi host12: ib_srp: failed SEND status transport retry counter exceeded "
	"(12) for CQE 00000000c8b2b0c4\n"
	"3,5,104000000,-;scsi host12: ib_srp: failed RECV status WR flushed (5) for CQE "
	"00000000c8b2b0c4\n"
	"3,6,112000000,-;scsi host12: reconnect attempt 1 failed (-104)\n"
	"6,7,113000000,-;scsi host13: ib_srp: DREQ received - connection closed\n"
	"6,8,114000000,-;scsi host1: ib_srp: reconnect succeeded\n";

static struct list_loss srp_lost(const char *name, uint64_t now_s, int fail_s, int give_up_s)
{
	struct list_link link = kernel_list_link_new(name, "srp", "rdma");
	char log[sizeof(srp_log)];

	memcpy(log, srp_log, sizeof(log));
	link.loss.retry_s = 10;
	link.loss.fail_s = fail_s;
	link.loss.give_up_s = give_up_s;
	kernel_list_srp_lost_at(now_s * 1000000, log, &link);
	return link.loss;
}

Test(list, how_long_a_lost_srp_connection_has_left)
{
	struct list_loss loss = srp_lost("host12", 110, 30, 60);

	cr_assert_eq(loss.fail_left_s, 20, "from the first error on, not from the next ones: %d",
		loss.fail_left_s);
	cr_assert_eq(loss.give_up_left_s, 50);
	cr_assert_eq(loss.retry_left_s, 12, "10 s after the failure at 112: %d", loss.retry_left_s);
	loss = srp_lost("host12", 900, 30, VALUE_OFF);
	cr_assert_eq(loss.fail_left_s, 0);
	cr_assert_eq(loss.give_up_left_s, VALUE_UNKNOWN, "it is not given up");
	loss = srp_lost("host13", 120, 30, 60);
	cr_assert_eq(loss.fail_left_s, 23, "closed by the target");
	cr_assert_eq(loss.retry_left_s, 3);
	cr_assert_eq(srp_lost("host1", 120, 30, 60).fail_left_s, VALUE_UNKNOWN,
		"the log has no loss of it");
}

static void put_srp(
	const struct tree *tree, unsigned host, const char *node, const char *number, unsigned port)
{
	char dir[128], text[64];

	snprintf(dir, sizeof(dir), "sys/class/scsi_host/host%u", host);
	put(tree, dir, "id_ext", "0x0002c90300a0b0c0");
	put(tree, dir, "ioc_guid", "0x0002c90300a0b0c1");
	put(tree, dir, "service_id", "0x0002c90300a0b0c2");
	put(tree, dir, "pkey", "0xffff");
	put(tree, dir, "orig_dgid", "fe80:0000:0000:0000:0000:0000:0010:0007");
	put(tree, dir, "sgid", "fe80:0000:0000:0000:0002:c903:00a0:b0c1");
	put(tree, dir, "local_ib_device", "mlx4_0");
	snprintf(text, sizeof(text), "%u", port);
	put(tree, dir, "local_ib_port", text);
	put(tree, dir, "ch_count", "4");
	snprintf(dir, sizeof(dir), "sys/class/srp_remote_ports/port-%u:1", host);
	put(tree, dir, "state", port == 2 ? "blocked" : "running");
	put(tree, dir, "reconnect_delay", "10");
	put(tree, dir, "fast_io_fail_tmo", "15");
	put(tree, dir, "dev_loss_tmo", "off");
	put(tree, dir, "failed_reconnects", port == 2 ? "3" : "0");
	snprintf(text, sizeof(text), "%u:0:0:0", host);
	put_unit(tree, text, node, number, port == 2 ? "transport-offline" : "running");
	snprintf(dir, sizeof(dir), "sys/class/block/%s/holders/dm-0", node);
	tree_dir(tree, dir);
}

/* A two-port adapter on InfiniBand, each port with a path to one disk, dm-multipath above both. */
static struct tree srp_multipath(void)
{
	struct tree tree = tree_new();

	put_port(&tree, "mlx4_0", 1, "InfiniBand", "4: ACTIVE");
	put_port(&tree, "mlx4_0", 2, "InfiniBand", "1: DOWN");
	put(&tree, IB "mlx4_0/device/net/ib0", "dev_port", "0");
	put(&tree, IB "mlx4_0/device/net/ib0.8001", "dev_port", "0");
	put(&tree, IB "mlx4_0/device/net/ib1", "dev_port", "1");
	tree_link(&tree, IB "mlx4_0/device/driver", "../../../bus/pci/drivers/mlx4_core");
	put_srp(&tree, 7, "sdb", "8:16", 1);
	put_srp(&tree, 12, "sdc", "8:32", 2);
	put_unit(&tree, "1:0:0:0", "sda", "8:0", "running"); /* a disk of this machine */
	put_block(&tree, "dm-0", "253:0");
	put(&tree, "sys/class/block/dm-0", "dm/uuid", MULTIPATH);
	put(&tree, "sys/class/block/dm-0", "dm/name", "mpatha");
	tree_file(&tree, "proc/self/mountinfo",
		"36 35 253:0 / /srv rw - ext4 /dev/mapper/mpatha rw\n");
	tree_file(&tree, "dev/kmsg",
		"3,4,1000,-;scsi host12: ib_srp: failed RECV status WR flushed (5) for CQE "
		"00000000c8b2b0c4\n");
	return tree;
}

Test(list, srp_under_multipath)
{
	struct tree tree = srp_multipath();
	struct kernel_list list = list_of(&tree);
	unsigned lost_path;

	cr_assert_eq(list.paths, 2);
	cr_assert_eq(list.disks, 1);
	cr_assert_str_eq(list.disk[0].name, "/dev/mapper/mpatha");
	text_says(list.disk[0].used_by, "/srv");
	lost_path = strcmp(list.path[0].node, "sdc") ? 1 : 0;
	cr_assert_str_eq(list.path[lost_path].node, "sdc");
	cr_assert_str_eq(list.path[lost_path].state, "transport-offline");
	cr_assert_str_eq(link_of(&list, lost_path)->state, "blocked");
	cr_assert_str_eq(link_of(&list, lost_path)->name, "host12");
	cr_assert_str_eq(link_of(&list, lost_path)->target, "0002c90300a0b0c1/0002c90300a0b0c0");
	cr_assert_str_eq(
		link_of(&list, lost_path)->address, "fe80:0000:0000:0000:0000:0000:0010:0007");
	cr_assert_str_eq(link_of(&list, lost_path)->rdma_dev, "mlx4_0");
	cr_assert_eq(link_of(&list, lost_path)->rdma_port, 2);
	cr_assert_eq(link_of(&list, lost_path)->queues, 4);
	cr_assert_eq(link_of(&list, lost_path)->loss.attempts, 3);
	cr_assert_neq(
		link_of(&list, lost_path)->loss.fail_left_s, VALUE_UNKNOWN, "the log was read");
	cr_assert_eq(
		link_of(&list, 1 - lost_path)->loss.attempts, VALUE_UNKNOWN, "nothing was lost");
	cr_assert_eq(link_of(&list, 1 - lost_path)->loss.fail_left_s, VALUE_UNKNOWN);
	cr_assert_eq(link_of(&list, lost_path)->loss.fail_s, 15);
	cr_assert_eq(link_of(&list, lost_path)->loss.give_up_s, VALUE_OFF);
	cr_assert_str_eq(list.port[0].netdev, "ib0,ib0.8001");
	cr_assert_str_eq(list.port[1].netdev, "ib1");
	cr_assert_str_eq(list.port[1].state, "down");
	cr_assert_str_eq(list.port[0].kind, "ib");
	cr_assert_str_eq(list.port[0].driver, "mlx4_core");
	cr_assert_eq(list.port[0].lid, 0x12);
	kernel_list_clear(&list);
	tree_free(&tree);
}

static void put_session(const struct tree *tree, unsigned session, unsigned host,
	const char *driver, const char *address)
{
	char dir[128], text[128];

	snprintf(dir, sizeof(dir), "sys/devices/platform/host%u/session%u/iscsi_session/session%u",
		host, session, session);
	put(tree, dir, "targetname", "iqn.2024-01.example:t1");
	put(tree, dir, "initiatorname", "iqn.2024-01.example:me");
	put(tree, dir, "state", session == 1 ? "LOGGED_IN" : "FAILED");
	put(tree, dir, "recovery_tmo", session == 1 ? "120" : "-1");
	put(tree, dir, "target_id", "0");
	snprintf(text, sizeof(text),
		"../../devices/platform/host%u/session%u/iscsi_session/session%u", host, session,
		session);
	snprintf(dir, sizeof(dir), "sys/class/iscsi_session/session%u", session);
	tree_link(tree, dir, text);
	snprintf(dir, sizeof(dir), "sys/class/iscsi_connection/connection%u:0", session);
	put(tree, dir, "address", address);
	put(tree, dir, "port", "3260");
	snprintf(dir, sizeof(dir), "sys/class/scsi_host/host%u", host);
	put(tree, dir, "proc_name", driver);
}

Test(list, iscsi_and_iser)
{
	struct tree tree = tree_new();
	struct kernel_list list;

	put_session(&tree, 1, 3, "iscsi_tcp", "10.0.0.1");
	put_session(&tree, 2, 4, "iscsi_iser", "fd00::1");
	put_unit(&tree, "3:0:0:1", "sdb", "8:16", "running");
	put_unit(&tree, "3:0:1:1", "sdz", "8:48", "running"); /* of another target on that host */
	list = list_of(&tree);
	cr_assert_eq(list.paths, 2);
	cr_assert_str_eq(link_of(&list, 0)->protocol, "iscsi");
	cr_assert_str_eq(link_of(&list, 0)->transport, "tcp");
	cr_assert_str_eq(link_of(&list, 0)->state, "LOGGED_IN");
	cr_assert_str_eq(link_of(&list, 0)->address, "10.0.0.1");
	cr_assert_str_eq(link_of(&list, 0)->host, "iqn.2024-01.example:me");
	cr_assert_eq(link_of(&list, 0)->loss.fail_s, 120);
	cr_assert_eq(list.path[0].unit, 1);
	cr_assert_str_eq(disk_of(&list, 0)->name, "/dev/sdb");
	cr_assert_eq(list.path[1].disk, -1);
	cr_assert_str_eq(link_of(&list, 1)->protocol, "iser");
	cr_assert_str_eq(link_of(&list, 1)->transport, "rdma");
	cr_assert_eq(link_of(&list, 1)->loss.fail_s, VALUE_OFF);
	cr_assert_eq(kernel_list_select(tree.root, &list,
			     "iser://[fd00::1]:3260/iqn.2024-01.example:t1", 1000, NULL),
		0);
	cr_assert_eq(list.paths, 1);
	kernel_list_clear(&list);
	tree_free(&tree);
}

/* As written by Linux 6.12; µs. */
static const char iscsi_log[] =
	"6,1,1000000,-; connection1:0: detected conn error (1020)\n"
	"6,2,100000000,-; connection1:0: ping timeout of 5 secs expired, recv timeout 5\n"
	"6,3,100000000,-; connection1:0: detected conn error (1022)\n"
	"6,4,101000000,-; connection11:0: detected conn error (1020)\n"
	"6,5,102000000,-; session1: session recovery timed out after 120 secs\n";

Test(list, how_long_a_lost_session_has_left)
{
	struct kernel_list list;
	struct tree tree = tree_new();

	for (unsigned i = 0; i < 3; i++) {
		static const int expected[] = { 110, VALUE_UNKNOWN, VALUE_UNKNOWN },
				 fail_s[] = { 120, VALUE_OFF, 120 };
		struct list_link link = kernel_list_link_new("session", "iscsi", "tcp");
		char log[sizeof(iscsi_log)];

		memcpy(log, iscsi_log, sizeof(log));
		link.iscsi.sid = i == 2 ? 2 : 1;
		link.loss.fail_s = fail_s[i];
		kernel_list_iscsi_lost_at(110 * 1000000ull, log, &link);
		cr_assert_eq(
			link.loss.fail_left_s, expected[i], "%u: %d", i, link.loss.fail_left_s);
	}
	put_session(&tree, 1, 3, "iscsi_tcp", "10.0.0.1");
	put_session(&tree, 2, 4, "iscsi_tcp", "10.0.0.2");
	tree_file(&tree, "sys/class/iscsi_session/session2/recovery_tmo", "120\n");
	tree_file(&tree, "dev/kmsg",
		"6,1,1,-; connection1:0: detected conn error (1020)\n"
		"6,1,2,-; connection2:0: detected conn error (1020)\n");
	list = list_of(&tree);
	cr_assert_eq(link_of(&list, 0)->loss.fail_left_s, VALUE_UNKNOWN, "it is logged in");
	cr_assert_neq(link_of(&list, 1)->loss.fail_left_s, VALUE_UNKNOWN);
	kernel_list_clear(&list);
	tree_free(&tree);
}

static struct tree mounts(void)
{
	struct tree tree = tree_new();

	tree_file(&tree, "proc/self/mountinfo",
		"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
		"36 20 0:50 / /mnt/a\\040b rw,relatime - nfs4 10.0.0.1:/exp "
		"rw,vers=4.2,hard,proto=rdma,port=20049,timeo=600,retrans=2,addr=10.0.0.1\n"
		"37 20 0:51 / /mnt/t rw - nfs server:/exp "
		"rw,vers=3,soft,proto=tcp6,nconnect=4,timeo=600,retrans=2,addr=fd00::1\n"
		"38 20 0:52 / /proc/fs/nfsd rw - nfsd nfsd rw\n");
	tree_file(&tree, "proc/self/mountstats",
		"device 10.0.0.1:/exp mounted on /mnt/a\\040b with fstype nfs4 "
		"statvers=1.1\n\txprt:\trdma 0 0 1\n"
		"device server:/exp mounted on /mnt/t with fstype nfs statvers=1.1\n\txprt:\ttcp 0 "
		"0 1\n");
	tree_file(&tree, "sys/kernel/sunrpc/xprt-switches/switch-0/xprt-0-rdma/dstaddr",
		"10.0.0.1\n");
	tree_file(&tree, "sys/kernel/sunrpc/xprt-switches/switch-0/xprt-0-rdma/xprt_state",
		"state= CONNECTED BOUND \n");
	tree_file(
		&tree, "sys/kernel/sunrpc/xprt-switches/switch-1/xprt-1-tcp/dstaddr", "fd00::1\n");
	tree_file(&tree, "sys/kernel/sunrpc/xprt-switches/switch-1/xprt-1-tcp/xprt_state",
		"state= BOUND \n");
	return tree;
}

Test(list, nfs)
{
	struct tree tree = mounts();
	struct kernel_list list = list_of(&tree);

	cr_assert_eq(list.paths, 2);
	cr_assert_str_eq(disk_of(&list, 0)->name, "/mnt/a b");
	cr_assert_str_eq(link_of(&list, 0)->transport, "rdma");
	cr_assert_str_eq(link_of(&list, 0)->version, "4.2");
	cr_assert_str_eq(link_of(&list, 0)->state, "connected");
	cr_assert_str_eq(link_of(&list, 0)->service, "20049");
	cr_assert_eq(link_of(&list, 0)->loss.fail_s, VALUE_OFF);
	cr_assert_str_eq(link_of(&list, 1)->transport, "tcp");
	cr_assert_str_eq(link_of(&list, 1)->state, "idle");
	cr_assert_str_eq(link_of(&list, 1)->service, "2049");
	cr_assert_eq(link_of(&list, 1)->queues, 4);
	cr_assert_eq(link_of(&list, 1)->loss.fail_s, 180, "60 s three times");
	kernel_list_clear(&list);
	tree_file(&tree, "sys/kernel/sunrpc/xprt-switches/switch-0/xprt-0-rdma/xprt_state",
		"state= LOCKED CONNECTING BOUND \n");
	list = list_of(&tree);
	cr_assert_str_eq(link_of(&list, 0)->state, "connecting");
	kernel_list_clear(&list);
	tree_free(&tree);
}

static unsigned selected(const struct tree *tree, const char *what)
{
	struct kernel_list list = list_of(tree);
	int err = kernel_list_select(tree->root, &list, what, 1000, NULL);
	unsigned paths = list.paths;

	kernel_list_clear(&list);
	return err ? 0 : paths;
}

Test(list, nbd_and_ublk)
{
	struct tree tree = tree_new();
	struct kernel_list list;

	put_block(&tree, "nbd0", "43:0");
	put_block(&tree, "nbd1", "43:32");
	put_block(&tree, "nbd2", "43:64");
	put_block(&tree, "ublkb3", "259:3");
	tree_file(&tree, "sys/block/nbd0/pid", "77\n");
	tree_file(&tree, "sys/block/nbd0/backend", "rdmastor 00ff ro\n");
	tree_file(&tree, "sys/block/nbd1/pid", "78\n");
	tree_dir(&tree, "sys/block/nbd2");
	tree_dir(&tree, "sys/block/ublkb3");
	list = list_of(&tree);
	cr_assert_eq(list.paths, 3, "nbd2 is not connected");
	cr_assert_eq(selected(&tree, ""), 0, "ublk has no target");
	cr_assert_eq(kernel_list_select(tree.root, &list, "/dev/nbd0", 1000, NULL), 0);
	cr_assert_eq(list.paths, 1);
	cr_assert(link_of(&list, 0)->ours);
	cr_assert_eq(link_of(&list, 0)->pid, 77);
	cr_assert_str_eq(link_of(&list, 0)->target, "00ff ro");
	cr_assert_eq(disk_of(&list, 0)->size, 1 << 20);
	kernel_list_clear(&list);
	tree_free(&tree);
}

Test(list, what_a_word_means)
{
	struct tree tree = two_nvme_paths();
	struct kernel_list list;

	cr_assert_eq(selected(&tree, "nvme0"), 2);
	cr_assert_eq(selected(&tree, "nvme1"), 1);
	cr_assert_eq(selected(&tree, "nvme0n1"), 2);
	cr_assert_eq(selected(&tree, "/dev/nvme0n1"), 2);
	cr_assert_eq(selected(&tree, "/dev/nvme0n1p3"), 2);
	cr_assert_eq(selected(&tree, "/dev/nvme0n11"), 0);
	cr_assert_eq(selected(&tree, "/dev/nvme0n1p"), 0);
	cr_assert_eq(selected(&tree, "nvme0c1n1"), 1);
	/* a partition of RAID, on LVM, on a partition */
	tree_file(&tree, "sys/devices/md9/md9p1/partition", "1\n");
	tree_dir(&tree, "sys/devices/md9/slaves/dm-9");
	tree_link(&tree, "sys/class/block/md9p1", "../../devices/md9/md9p1");
	tree_dir(&tree, "sys/class/block/dm-9/slaves/nvme0n1p3");
	cr_assert_eq(selected(&tree, "/dev/dm-9"), 2);
	cr_assert_eq(selected(&tree, "/dev/md9p1"), 2);
	cr_assert_eq(selected(&tree, "nqn.t1"), 3);
	cr_assert_eq(selected(&tree, "uuid.3817d9bc-9750-46fd-b17e-d1e5769402f7"), 3);
	cr_assert_eq(selected(&tree, "mlx5_bond_0"), 2);
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1/nqn.t1"), 2);
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1:4420/nqn.t1/2"), 1);
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1/nqn.t1/"), 2);
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1/nqn.t1/x"), 0);
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1/nqn.t1/0x2"), 1);
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1/nqn.t1/02"), 1, "decimal");
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1/nqn.t1/-1"), 0);
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1/nqn.t1/+2"), 0);
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1/nqn.t1/%202"), 0);
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1/nqn.t1/18446744073709551617"), 0);
	cr_assert_eq(selected(&tree, "nvme+rdma://10.0.0.1:4421/nqn.t1"), 0);
	cr_assert_eq(selected(&tree, "nvme+rdma://[fd00::1]"), 1);
	cr_assert_eq(selected(&tree, "nvme+tcp://10.0.1.1/nqn.t1/1"), 1);
	cr_assert_eq(selected(&tree, "nvme+tcp://10.0.1.1/nqn.t1/2"), 0);
	cr_assert_eq(selected(&tree, "transport=tcp;traddr=10.0.1.1;nqn=nqn.t1;nsid=1"), 1);
	cr_assert_eq(selected(&tree, "transport=tcp;traddr=10.0.1.1;nqn=nqn.t1;nsid=2"), 0);
	cr_assert_eq(selected(&tree, ""), 0);
	list = list_of(&tree);
	cr_assert_eq(kernel_list_select(tree.root, &list, "mlx5_0/1", 1000, NULL), 0,
		"an unused port is listed");
	cr_assert_eq(list.paths, 0);
	cr_assert_eq(list.ports, 1);
	kernel_list_clear(&list);
	tree_free(&tree);
	tree = srp_multipath();
	cr_assert_eq(selected(&tree, "/dev/mapper/mpatha"), 2);
	cr_assert_eq(selected(&tree, "dm-0"), 2);
	cr_assert_eq(selected(&tree, "sdc"), 1);
	cr_assert_eq(selected(&tree, "sdc1"), 1);
	cr_assert_eq(selected(&tree, "host7"), 1);
	cr_assert_eq(selected(&tree, "srp://[fe80::10:7]/0002c90300a0b0c1/0002c90300a0b0c0"), 2);
	cr_assert_eq(
		selected(&tree,
			"srp://FE800000000000000000000000100007/0002c90300a0b0c1/0002c90300a0b0c0"),
		2);
	cr_assert_eq(
		selected(&tree,
			"srp://fe800000000000000000000000100008/0002c90300a0b0c1/0002c90300a0b0c0"),
		0);
	cr_assert_eq(selected(&tree, "srp://[fe80::10:8]/0002c90300a0b0c1/0002c90300a0b0c0"), 0);
	cr_assert_eq(selected(&tree, "srp://[fe80::10:7]/0002c90300a0b0c1/0002c90300a0b0c0/0"), 2);
	cr_assert_eq(selected(&tree, "srp://[fe80::10:7]/0002c90300a0b0c1/0002c90300a0b0c0/1"), 0);
	tree_free(&tree);
	tree = mounts();
	cr_assert_eq(selected(&tree, "/mnt/a b"), 1);
	cr_assert_eq(selected(&tree, "/mnt/a b/"), 1);
	cr_assert_eq(selected(&tree, "/mnt"), 0);
	cr_assert_eq(selected(&tree, "10.0.0.1:/exp"), 1);
	cr_assert_eq(selected(&tree, "[fd00::1]:/exp"), 1);
	cr_assert_eq(selected(&tree, "server:/exp"), 1);
	cr_assert_eq(selected(&tree, "server:/ex"), 0);
	cr_assert_eq(selected(&tree, "nfs+rdma://10.0.0.1/exp"), 1);
	cr_assert_eq(selected(&tree, "nfs+rdma://10.0.0.1/other"), 0);
	tree_free(&tree);
}

/* What words for the next boot need: which address and interface a user chose, and the port of SRP
 * over RDMA/CM, which only the kernel's connection tells. */
Test(list, what_a_connection_is_bound_to)
{
	struct tree tree = tree_new();
	struct kernel_list to = { 0 };
	struct list_cm cm = { .dev = "rxe0", .owner = "ib_srp", .port = 1 };
	struct listing list = { .root = tree.root, .to = &to, .cm = &cm, .cms = 1 };
	struct list_link *link;

	nvme_tree_ctrl(&tree, "nvme0", "tcp", "nqn.t1",
		"traddr=10.0.0.1,trsvcid=4420,host_traddr=10.0.0.2,host_iface=eth0,src_addr=10.0.0."
		"2");
	nvme_tree_ctrl(
		&tree, "nvme1", "tcp", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420,src_addr=10.0.0.2");
	put_srp(&tree, 7, "sdb", "8:16", 1);
	unlinkat(tree.root, "sys/class/scsi_host/host7/service_id", 0);
	unlinkat(tree.root, "sys/class/scsi_host/host7/pkey", 0);
	put(&tree, "sys/class/scsi_host/host7", "local_ib_device", "rxe0");
	cr_assert_eq(addr_known(&cm.peer, "10.0.0.9", 5555, NULL), 1);
	cr_assert_eq(addr_known(&cm.source, "10.0.0.3", 1, NULL), 1);
	kernel_list_nvme(&list);
	kernel_list_srp(&list);
	cr_assert_eq(to.links, 3);
	link = to.link;
	cr_assert(!strcmp(link[0].bound, "10.0.0.2") && !strcmp(link[0].netdev, "eth0"));
	cr_assert(!link[1].bound[0] && !link[1].netdev[0] && !strcmp(link[1].source, "10.0.0.2"));
	cr_assert_str_eq(link[2].address, "10.0.0.9");
	cr_assert_str_eq(link[2].service, "5555");
	kernel_list_clear(&to);
	tree_free(&tree);
}
