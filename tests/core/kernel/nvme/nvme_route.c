/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Own addresses and interfaces, as each driver takes them. The loopback interface is the one that
 * every machine has. */
#include "kernel_nvmf.h"
#include "kernel_rdma.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct nvmf_params params_of(
	const char *transport, const char *traddr, const char *source, const char *iface)
{
	return (struct nvmf_params){ .value = { [NVMF_TRANSPORT] = transport,
					     [NVMF_TRADDR] = traddr,
					     [NVMF_HOST_TRADDR] = source,
					     [NVMF_HOST_IFACE] = iface } };
}

static void becomes(
	struct nvmf_params params, const char *traddr, const char *source, const char *iface)
{
	struct nvmf_route made = { 0 };
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_route(&params, &made, &diag), 0, "%s", diag.text);
	cr_assert_str_eq(params.value[NVMF_TRADDR], traddr);
	cr_assert_str_eq(
		params.value[NVMF_HOST_TRADDR] ? params.value[NVMF_HOST_TRADDR] : "", source);
	cr_assert_str_eq(params.value[NVMF_HOST_IFACE] ? params.value[NVMF_HOST_IFACE] : "", iface);
}

static void fails(struct nvmf_params params, int err, enum diag_code code, const char *words)
{
	struct nvmf_route made = { 0 };
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_route(&params, &made, &diag), -err);
	diag_says(&diag, code, NULL, words);
}

Test(nvme_route, an_interface_is_an_address_over_rdma)
{
	becomes(params_of("tcp", "10.0.0.1", NULL, "lo"), "10.0.0.1", "", "lo");
	becomes(params_of("rdma", "10.0.0.1", NULL, "lo"), "10.0.0.1", "127.0.0.1", "");
	becomes(params_of("rdma", "10.0.0.1", "10.0.0.2", "lo"), "10.0.0.1", "10.0.0.2", "");
	becomes(params_of("rdma", "10.0.0.1", NULL, NULL), "10.0.0.1", "", "");
	fails(params_of("rdma", "10.0.0.1", NULL, "none0"), ENODEV, DIAG_NO_DEVICE,
		"interface 'none0'");
	fails(params_of("rdma", "fe80::1%lo", NULL, "lo"), EADDRNOTAVAIL, DIAG_NOT_FOUND,
		"interface 'lo' link-local IPv6");
}

Test(nvme_route, the_scope_of_link_local_addresses)
{
	becomes(params_of("tcp", "fe80::1%lo", NULL, NULL), "fe80::1%lo", "", "");
	becomes(params_of("tcp", "fe80::1%1", NULL, NULL), "fe80::1%lo", "", "");
	becomes(params_of("tcp", "fe80::1", NULL, "lo"), "fe80::1%lo", "", "lo");
	becomes(params_of("rdma", "fe80::1", "fe80::2%lo", NULL), "fe80::1%lo", "fe80::2%lo", "");
	becomes(params_of("rdma", "fe80::1%lo", "fe80::2", NULL), "fe80::1%lo", "fe80::2%lo", "");
	becomes(params_of("tcp", "fd00:0::1", "fd00::2", NULL), "fd00::1", "fd00::2", "");
	fails(params_of("tcp", "fe80::1", NULL, NULL), EINVAL, DIAG_USAGE,
		"traddr 'fe80::1' link-local interface");
	fails(params_of("tcp", "fd00::1", "fe80::2", NULL), EINVAL, DIAG_USAGE,
		"host_traddr 'fe80::2' link-local interface");
}

Test(nvme_route, two_families_do_not_go_together)
{
	fails(params_of("tcp", "10.0.0.1", "fd00::1", NULL), EINVAL, DIAG_USAGE,
		"host_traddr_'fd00::1' traddr_'10.0.0.1'");
}

/* As of all initiators: a lookup would block the loop. */
Test(nvme_route, the_own_address_is_not_a_name)
{
	fails(params_of("tcp", "10.0.0.1", "me.invalid", NULL), EINVAL, DIAG_USAGE,
		"host_traddr_'me.invalid' IP");
}

/* Another address of the target's name: of a family that the interface lacks, then one it has. */
Test(nvme_route, an_interface_for_one_address_after_the_other)
{
	struct nvmf_params params = params_of("rdma", "fe80::1%lo", NULL, "lo");
	struct nvmf_route made = { 0 };

	cr_assert_eq(kernel_nvmf_route(&params, &made, NULL), -EADDRNOTAVAIL);
	params.value[NVMF_TRADDR] = "127.0.0.2";
	cr_assert_eq(kernel_nvmf_route(&params, &made, NULL), 0);
	cr_assert_str_eq(params.value[NVMF_HOST_TRADDR], "127.0.0.1");
	params.value[NVMF_TRADDR] = "fe80::1%lo";
	cr_assert_eq(kernel_nvmf_route(&params, &made, NULL), -EADDRNOTAVAIL);
	params.value[NVMF_TRADDR] = "127.0.0.3";
	cr_assert_eq(kernel_nvmf_route(&params, &made, NULL), 0);
	cr_assert_str_eq(params.value[NVMF_TRADDR], "127.0.0.3");
	cr_assert_str_eq(params.value[NVMF_HOST_TRADDR], "127.0.0.1");
	cr_assert_null(params.value[NVMF_HOST_IFACE]);
}

Test(nvme_route, the_interface_of_an_rdma_device)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };
	char name[32];

	cr_assert_eq(kernel_rdma_netdev(tree.root, "mlx5_0", name, sizeof(name), &diag), -ENODEV);
	diag_says(&diag, DIAG_NO_DEVICE, NULL, "RDMA 'mlx5_0'");
	tree_dir(&tree, "sys/class/infiniband/mlx5_0");
	cr_assert_eq(kernel_rdma_netdev(tree.root, "mlx5_0", name, sizeof(name), &diag), -ENODEV);
	diag_says(&diag, DIAG_NO_DEVICE, NULL, "'mlx5_0' interface");
	cr_assert_eq(kernel_rdma_netdev(tree.root, "../mlx5_0", name, sizeof(name), NULL), -ENODEV);
	tree_dir(&tree, "sys/class/infiniband/mlx5_0/device/net/ib1"); /* InfiniBand: by IPoIB */
	tree_dir(&tree, "sys/class/infiniband/mlx5_0/device/net/ib0");
	cr_assert_eq(kernel_rdma_netdev(tree.root, "mlx5_0", name, sizeof(name), NULL), 0);
	cr_assert_str_eq(name, "ib0");
	/* RoCE, bonded */
	tree_file(&tree, "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "bond0\n");
	cr_assert_eq(kernel_rdma_netdev(tree.root, "mlx5_0", name, sizeof(name), NULL), 0);
	cr_assert_str_eq(name, "bond0");
	tree_free(&tree);
}
