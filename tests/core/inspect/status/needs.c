/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What an initramfs needs for disks that are attached now: initiators, the driver of the RDMA
 * device in use and of no other, the words that attach them again. For others: the drivers of all
 * cards, and the files that a URI names. */
#include "kernel_boot.h"
#include "kernel_nvmf.h"
#include "list.h"
#include "says.h"
#include "tree.h"
#include <errno.h>
#include <stdlib.h>

static struct tree tree;
static struct list_link link[8];
static struct list_disk disk[2];
static struct list_path path[8];
static struct list_port port[3];
static struct kernel_list list = { .link = link, .disk = disk, .path = path, .port = port };
static struct kernel_serving serving;
static char printed[2000];

static void setup(void)
{
	static const struct list_port ports[] = {
		{ .dev = "rocep1", .port = 1, .kind = "roce", .driver = "mlx5_core" },
		{ .dev = "rxe0", .port = 1, .kind = "roce", .netdev = "eth0" },
		{ .dev = "ibp2", .port = 1, .kind = "ib", .driver = "mlx4_core", .netdev = "ib0" },
	};

	tree = tree_new();
	tree_dir(&tree, "sys/bus/virtio/drivers/virtio_net");
	tree_dir(&tree, "sys/module/virtio_net");
	tree_dir(&tree, "sys/class/net/eth0/device/driver");
	tree_link(&tree, "sys/class/net/eth0/device/driver/module",
		"../../../../../module/virtio_net");
	memcpy(port, ports, sizeof(ports));
	list.ports = 3;
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(needs, .init = setup, .fini = fini);

static struct list_link *attach(
	const char *protocol, const char *transport, const char *address, const char *service)
{
	struct list_link *new = &link[list.links];

	strcpy(new->protocol, protocol);
	strcpy(new->transport, transport);
	strcpy(new->address, address);
	strcpy(new->service, service);
	path[list.paths++] = (struct list_path){ .link = (int)list.links++, .unit = 3 };
	return new;
}

static const char *listed(struct boot_needs *found)
{
	printed[0] = 0;
	for (unsigned i = 0; i < found->count; i++)
		strcat(strcat(printed, found->need[i].text), " ");
	free(found->need);
	return printed;
}

static const char *needs(bool all)
{
	struct boot_needs found = { 0 };

	cr_assert_eq(kernel_boot_needs(tree.root, &list, &serving, all, &found, NULL), 0);
	return listed(&found);
}

Test(needs, tls)
{
	char expected[200] = "nvme_tcp tls ";

	strcpy(attach("nvme", "tcp", "10.0.0.1", "4420")->target, "nqn.x");
	tree_dir(&tree, "sys/class/nvme/nvme0");
	cr_assert_str_eq(needs(true), "nvme_tcp rd.rdmastor=nvme+tcp://10.0.0.1:4420/nqn.x ");
	tree_file(&tree, "sys/class/nvme/nvme0/tls_key", "");
	for (const char *const *module = kernel_nvmf_ciphers; *module; module++)
		strcat(strcat(expected, *module), " ");
	strcat(expected, "rd.rdmastor=nvme+tcp://10.0.0.1:4420/nqn.x ");
	cr_assert_str_eq(needs(true), expected);
}

Test(needs, the_device_in_use)
{
	struct list_link *nvme = attach("nvme", "rdma", "10.0.0.1", "4420");

	strcpy(nvme->target, "nqn.x");
	strcpy(nvme->rdma_dev, "rocep1");
	cr_assert_str_eq(needs(true),
		"nvme_rdma mlx5_core mlx5_ib rd.rdmastor=nvme+rdma://10.0.0.1:4420/nqn.x ");
	strcpy(nvme->rdma_dev, "rxe0");
	strcpy(nvme->address, "fd00::1");
	strcpy(nvme->host, "nqn.me");
	cr_assert_str_eq(needs(true),
		"nvme_rdma rdma_rxe virtio_net "
		"rd.rdmastor=nvme+rdma://[fd00::1]:4420/nqn.x?hostnqn=nqn.me ");
}

Test(needs, each_protocol)
{
	struct list_link *iscsi = attach("iscsi", "tcp", "10.0.0.9", "3260"),
			 *iser = attach("iser", "rdma", "10.0.0.1", "3260"),
			 *srp = attach("srp", "rdma", "fe80::1", "00000000013f7fff"),
			 *nfs = attach("nfs", "rdma", "10.0.0.2", "20049");

	iscsi->iscsi.is = iser->iscsi.is = true;
	iscsi->iscsi.portal_port = iser->iscsi.portal_port = 3261;
	strcpy(iscsi->iscsi.portal, "10.0.0.1"); /* from where it was redirected */
	strcpy(iser->iscsi.portal, "10.0.0.1");
	strcpy(iscsi->target, "iqn.a:b");
	strcpy(iser->target, "iqn.a:c");
	strcpy(iscsi->netdev, "eth0");
	strcpy(iscsi->host, "iqn.a:me");
	strcpy(srp->target, "0002c903004ed0b2/0002c903004ed0b3");
	strcpy(srp->rdma_dev, "ibp2");
	strcpy(nfs->target, "/srv");
	cr_assert_str_eq(needs(true),
		"iscsi_tcp sd_mod virtio_net rd.rdmastor=iscsi://10.0.0.1:3261/iqn.a:b/3"
		"?initiator=iqn.a:me&iface=eth0 "
		"ib_iser rd.rdmastor=iser://10.0.0.1:3261/iqn.a:c/3 "
		"ib_srp mlx4_core mlx4_ib ib_ipoib "
		"rd.rdmastor=srp://[fe80::1]/0002c903004ed0b2/0002c903004ed0b3/3"
		"?service_id=00000000013f7fff "
		"nfs rpcrdma nfsv4 rd.rdmastor=nfs+rdma://10.0.0.2:20049/srv ");
	strcpy(nfs->version, "3");
	text_says(needs(true), "nfsv3 _rd.rdmastor=nfs+rdma://10.0.0.2:20049/srv?vers=3");
}

/* What a user bound a connection to, such as two paths over two interfaces, is kept. */
Test(needs, the_local_address_and_interface)
{
	struct list_link *rdma = attach("nvme", "rdma", "10.0.0.1", "4420"),
			 *tcp = attach("nvme", "tcp", "fe80::1%eth0", "4420"),
			 *iscsi = attach("iscsi", "tcp", "10.0.0.1", "3260"),
			 *srp = attach("srp", "rdma", "10.0.0.1", "5555");

	strcpy(rdma->target, "nqn.x");
	strcpy(rdma->bound, "10.0.0.2");
	strcpy(tcp->target, "nqn.x");
	strcpy(tcp->host, "nqn.me");
	strcpy(tcp->bound, "fe80::2");
	strcpy(tcp->netdev, "eth0");
	iscsi->iscsi.is = true;
	iscsi->iscsi.portal_port = 3260;
	strcpy(iscsi->iscsi.portal, "10.0.0.1");
	strcpy(iscsi->target, "iqn.a:b");
	strcpy(iscsi->netdev, "eth1.5");
	strcpy(srp->target, "0002c903004ed0b2/0002c903004ed0b3");
	cr_assert_str_eq(needs(true),
		"nvme_rdma rd.rdmastor=nvme+rdma://10.0.0.1:4420/nqn.x?src=10.0.0.2 "
		"nvme_tcp virtio_net "
		"rd.rdmastor=nvme+tcp://[fe80::1%eth0]:4420/nqn.x?hostnqn=nqn.me&src=fe80::2"
		"&iface=eth0 "
		"iscsi_tcp sd_mod rd.rdmastor=iscsi://10.0.0.1:3260/iqn.a:b/3?iface=eth1.5 "
		"ib_srp "
		"rd.rdmastor=srp+cm://10.0.0.1:5555/0002c903004ed0b2/0002c903004ed0b3/3 ");
}

Test(needs, what_export_serves)
{
	static struct serving_disk disks[2] = {
		{ .uri = "nvme+tcp://10.0.0.1/nqn.x", .device = "/dev/ublkb0" },
		{ .uri = "nvme+rdma://10.0.0.1/nqn.y", .device = "/dev/nbd1" },
	};
	static struct serving_front front = { .disk = disks, .disks = 2 };
	static struct serving_process process = { .front = &front, .fronts = 1 };

	serving = (struct kernel_serving){ &process, 1 };
	strcpy(attach("ublk", "local", "", "")->name, "ublkb0");
	cr_assert_str_eq(needs(true), "ublk_drv rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x,via=ublk ");
	strcpy(disks[0].uri, "nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/a%2Dkey");
	cr_assert_str_eq(needs(true),
		"ublk_drv rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/a%2Dkey,via=ublk "
		"/etc/a-key ");
	strcpy(attach("nbd", "local", "", "")->name, "nbd1");
	text_says(needs(true), "nbd_rd.rdmastor=nvme+rdma://10.0.0.1/nqn.y,via=nbd rdma_ucm "
			       "ib_uverbs mlx5_ib mlx4_ib rdma_rxe");
}

/* Scripts read lines, and a blank or a quote would add words to the kernel command line. */
Test(needs, nothing_that_is_more_than_one_word)
{
	static const char *const uris[] = { "nvme+tcp://10.0.0.1/nqn.x rd.break",
		"nvme+tcp://10.0.0.1/nqn.x\nfile", "nvme+tcp://10.0.0.1/nqn.x\trd.break",
		"nvme+tcp://10.0.0.1/nqn.x\x7f", "nvme+tcp://10.0.0.1/nqn.\"x",
		"nvme+tcp://10.0.0.1/nqn.'x", "nvme+tcp://10.0.0.1/nqn.\\x",
		"nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/shadow%20rd.break",
		"nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/shadow%0Aword%20x",
		"nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/%27shadow%27" };
	static struct serving_disk served = { .device = "/dev/ublkb0" };
	static struct serving_front front = { .disk = &served, .disks = 1 };
	static struct serving_process process = { .front = &front, .fronts = 1 };

	serving = (struct kernel_serving){ &process, 1 };
	strcpy(attach("ublk", "local", "", "")->name, "ublkb0");
	for (unsigned i = 0; i < sizeof(uris) / sizeof(*uris); i++) {
		struct boot_needs found = { 0 };
		struct diag why = { 0 };

		strcpy(served.uri, uris[i]);
		cr_assert_eq(
			kernel_boot_needs(tree.root, &list, &serving, true, &found, &why), -EINVAL);
		diag_says(&why, DIAG_USAGE, "ublkb0", "blank initramfs");
		for (unsigned j = 0; j < found.count; j++)
			cr_assert_null(strpbrk(found.need[j].text, " \t\n'\"\\\x7f"));
		free(found.need);
	}
	serving = (struct kernel_serving){ 0 };
}

Test(needs, of_the_root_alone)
{
	strcpy(attach("nvme", "tcp", "10.0.0.1", "4420")->target, "nqn.x");
	strcpy(attach("nvme", "tcp", "10.0.0.1", "4420")->target, "nqn.y");
	path[1].disk = 1;
	strcpy(disk[0].node, "nvme0n1");
	strcpy(disk[1].node, "nvme1n1");
	tree_file(&tree, "sys/class/block/nvme0n1/dev", "259:0\n");
	tree_file(&tree, "sys/class/block/nvme1n1/dev", "259:1\n");
	tree_file(&tree, "sys/dev/block/259:0/uevent", "DEVNAME=nvme0n1\nDEVTYPE=disk\n");
	tree_file(&tree, "sys/dev/block/259:1/uevent", "DEVNAME=nvme1n1\nDEVTYPE=disk\n");
	tree_file(&tree, "proc/self/mountinfo", "21 1 259:1 / / rw - ext4 /dev/nvme1n1 rw\n");
	tree_file(&tree, "proc/1/mountinfo", "21 1 259:1 / / rw - ext4 /dev/nvme1n1 rw\n");
	cr_assert_str_eq(needs(false), "nvme_tcp rd.rdmastor=nvme+tcp://10.0.0.1:4420/nqn.y ");
}

/* "ERRNO" if it fails */
static const char *needs_disk(const char *text, bool attached)
{
	struct boot_needs found = { 0 };
	struct boot_disk operand;
	int err;

	kernel_boot_disk(&operand, text, "operand");
	err = kernel_boot_needs_disk(tree.root, &list, &operand, attached, &found, NULL);
	listed(&found);
	return err ? diag_errno_word(-err) : printed;
}

/* The modules, then the word: the URI as it is named, and how it is attached. */
Test(needs, disks_that_are_not_attached)
{
	list.ports = 1;
	cr_assert_str_eq(needs_disk("nvme+tcp://10.0.0.1/nqn.x", false),
		"nvme_tcp virtio_net rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x ");
	cr_assert_str_eq(needs_disk("srp+cm://10.0.0.1/0002c903004ed0b2/0002c903004ed0b3", false),
		"ib_srp sd_mod mlx5_core mlx5_ib virtio_net "
		"rd.rdmastor=srp+cm://10.0.0.1/0002c903004ed0b2/0002c903004ed0b3 ");
	cr_assert_str_eq(needs_disk("iscsi:10.0.0.1::::iqn.a:b", false),
		"iscsi_tcp sd_mod virtio_net rd.rdmastor=iscsi:10.0.0.1::::iqn.a:b ");
	cr_assert_str_eq(needs_disk("iser:10.0.0.1::::iqn.a:b", false),
		"ib_iser sd_mod mlx5_core mlx5_ib virtio_net "
		"rd.rdmastor=iser:10.0.0.1::::iqn.a:b ");
	cr_assert_str_eq(needs_disk("nvme+tcp://10.0.0.1/nqn.x,via=nbd", false),
		"nbd virtio_net rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x,via=nbd ");
	cr_assert_str_eq(needs_disk("nvme+rdma://10.0.0.1/nqn.x,via=ublk", false),
		"ublk_drv rdma_ucm ib_uverbs mlx5_core mlx5_ib virtio_net "
		"rd.rdmastor=nvme+rdma://10.0.0.1/nqn.x,via=ublk ");
	text_says(needs_disk("iscsi:10.0.0.1:iser:::iqn.a:b,via=ublk", false),
		"ublk_drv_rdma_ucm_ib_uverbs_mlx5_core_mlx5_ib_virtio_net_rd.rdmastor=iscsi:");
	cr_assert_str_eq(needs_disk("nvme+rdma://10.0.0.1/nqn.x?rdma=iwarp,via=ublk", false),
		"ublk_drv virtio_net rd.rdmastor=nvme+rdma://10.0.0.1/nqn.x?rdma=iwarp,via=ublk ");
	cr_assert_str_eq(needs_disk("foo://10.0.0.1/x", false), "EINVAL");
}

Test(needs, ciphers_of_a_disk_that_is_not_attached)
{
	text_says(needs_disk("nvme+tcp://10.0.0.1/nqn.x?tls=yes", false), "nvme_tcp_tls gcm");
	text_says(needs_disk("nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/k", false), "nvme_tcp_tls");
	text_says(needs_disk("nvme+tcp://10.0.0.1/nqn.x?concat=yes", false), "nvme_tcp_tls");
	cr_assert_null(strstr(needs_disk("nvme+tcp://10.0.0.1/n?tls=yes,via=nbd", false), "gcm"));
}

Test(needs, a_word_without_secrets_and_of_one_word)
{
	cr_assert_str_eq(needs_disk("iscsi://joe%hush@10.0.0.1/iqn.a:b/0,via=kernel", false),
		"iscsi_tcp sd_mod virtio_net rd.rdmastor=iscsi://joe@10.0.0.1/iqn.a:b/0 ");
	cr_assert_str_eq(needs_disk("iscsi:joe:hush@10.0.0.1::::iqn.a:b,via=nbd", false),
		"nbd virtio_net rd.rdmastor=iscsi:joe@10.0.0.1::::iqn.a:b,via=nbd ");
	cr_assert_str_eq(needs_disk("nvme+tcp://10.0.0.1/nqn.x rd.break", false), "EINVAL");
	cr_assert_str_eq(needs_disk("nvme+tcp://10.0.0.1/nqn.'x", false), "EINVAL");
	cr_assert_str_eq(needs_disk("trtype:TCP traddr:fd00::1 trsvcid:4421 subnqn:nqn.x/y ns:2 "
				    "hostnqn:nqn.me,via=nbd",
				 false),
		"nbd virtio_net "
		"rd.rdmastor=nvme+tcp://[fd00::1]:4421/nqn.x%2Fy/2?hostnqn=nqn.me,via=nbd ");
	cr_assert_str_eq(needs_disk("nvme+tcp://10.0.0.1/nqn.x", true), "");
}

Test(needs, files_of_a_uri)
{
	cr_assert_str_eq(needs_disk("nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/a%2Dkey&"
				    "ctrl-secret-file=&file=/no&secret-file=/b",
				 true),
		"/etc/a-key /b ");
	cr_assert_str_eq(
		needs_disk("nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/a%20key", true), "EINVAL");
	cr_assert_str_eq(needs_disk("iscsi://10.0.0.1/iqn.a:b/0?secret_file=/c&path="
				    "iscsi://10.0.0.2/iqn.a:b/0?target_secret_file=/d%2526e&"
				    "path=10.0.0.3,via=ublk",
				 true),
		"/c /d&e ublk_drv ");
	cr_assert_str_eq(needs_disk("nbds://10.0.0.1/x?tls-certificates=/etc/pki,via=nbd", true),
		"/etc/pki nbd ");
	cr_assert_str_eq(needs_disk("iscsi:10.0.0.1::::iqn.a:b", true), "");
}
