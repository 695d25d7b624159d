/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Own addresses and interfaces, as each driver takes them. The loopback interface is the one that every machine has. */
#include "kernel.h"
#include "kernel_nvmf.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct nvmf_want want_of(const char *transport, const char *traddr, const char *source, const char *iface)
{
	return (struct nvmf_want){
		.value = { [NVMF_TRANSPORT] = transport, [NVMF_TRADDR] = traddr, [NVMF_HOST_TRADDR] = source, [NVMF_HOST_IFACE] = iface }
	};
}

static void becomes(struct nvmf_want want, const char *traddr, const char *source, const char *iface)
{
	struct nvmf_route made;
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_route(&want, &made, &diag), 0, "%s", diag.text);
	cr_assert_str_eq(want.value[NVMF_TRADDR], traddr);
	cr_assert_str_eq(want.value[NVMF_HOST_TRADDR] ? want.value[NVMF_HOST_TRADDR] : "", source);
	cr_assert_str_eq(want.value[NVMF_HOST_IFACE] ? want.value[NVMF_HOST_IFACE] : "", iface);
}

static void fails(struct nvmf_want want, int err, const char *text)
{
	struct nvmf_route made;
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_route(&want, &made, &diag), -err);
	cr_assert(strstr(diag.text, text), "%s", diag.text);
}

Test(nvme_route, an_interface_is_an_address_over_rdma)
{
	becomes(want_of("tcp", "10.0.0.1", NULL, "lo"), "10.0.0.1", "", "lo");
	becomes(want_of("rdma", "10.0.0.1", NULL, "lo"), "10.0.0.1", "127.0.0.1", "");
	becomes(want_of("rdma", "10.0.0.1", "10.0.0.2", "lo"), "10.0.0.1", "10.0.0.2", "");
	becomes(want_of("rdma", "10.0.0.1", NULL, NULL), "10.0.0.1", "", "");
	fails(want_of("rdma", "10.0.0.1", NULL, "none0"), ENODEV, "no network interface 'none0'");
	fails(want_of("rdma", "fe80::1%lo", NULL, "lo"), EADDRNOTAVAIL, "interface 'lo' has no link-local IPv6 address to leave from");
}

Test(nvme_route, the_scope_of_link_local_addresses)
{
	becomes(want_of("tcp", "fe80::1%lo", NULL, NULL), "fe80::1%lo", "", "");
	becomes(want_of("tcp", "fe80::1%1", NULL, NULL), "fe80::1%lo", "", "");
	becomes(want_of("tcp", "fe80::1", NULL, "lo"), "fe80::1%lo", "", "lo");
	becomes(want_of("rdma", "fe80::1", "fe80::2%lo", NULL), "fe80::1%lo", "fe80::2%lo", "");
	becomes(want_of("rdma", "fe80::1%lo", "fe80::2", NULL), "fe80::1%lo", "fe80::2%lo", "");
	becomes(want_of("tcp", "fd00:0::1", "fd00::2", NULL), "fd00::1", "fd00::2", "");
	fails(want_of("tcp", "fe80::1", NULL, NULL), EINVAL, "a link-local address needs its interface");
	fails(want_of("tcp", "fd00::1", "fe80::2", NULL), EINVAL, "a link-local address needs its interface");
}

Test(nvme_route, two_families_do_not_go_together)
{
	fails(want_of("tcp", "10.0.0.1", "fd00::1", NULL), EINVAL, "is of another family than traddr '10.0.0.1'");
}

Test(nvme_route, the_interface_of_an_rdma_device)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };
	char name[32];

	cr_assert_eq(kernel_rdma_netdev(tree.root, "mlx5_0", name, sizeof(name), &diag), -ENODEV);
	cr_assert_str_eq(diag.text, "there is no RDMA device 'mlx5_0'");
	tree_dir(&tree, "sys/class/infiniband/mlx5_0");
	cr_assert_eq(kernel_rdma_netdev(tree.root, "mlx5_0", name, sizeof(name), &diag), -ENODEV);
	cr_assert(strstr(diag.text, "has no network interface"), "%s", diag.text);
	cr_assert_eq(kernel_rdma_netdev(tree.root, "../mlx5_0", name, sizeof(name), NULL), -ENODEV);
	tree_dir(&tree, "sys/class/infiniband/mlx5_0/device/net/ib1"); /* InfiniBand: by IPoIB */
	tree_dir(&tree, "sys/class/infiniband/mlx5_0/device/net/ib0");
	cr_assert_eq(kernel_rdma_netdev(tree.root, "mlx5_0", name, sizeof(name), NULL), 0);
	cr_assert_str_eq(name, "ib0");
	tree_file(&tree, "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "bond0\n"); /* RoCE, bonded */
	cr_assert_eq(kernel_rdma_netdev(tree.root, "mlx5_0", name, sizeof(name), NULL), 0);
	cr_assert_str_eq(name, "bond0");
	tree_free(&tree);
}
