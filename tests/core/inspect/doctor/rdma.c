/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RDMA ports: every check as it succeeds and as it fails, on trees of files. */
#include "findings.h"
#include <errno.h>
#include <stdio.h>

#define CLASS "sys/class/infiniband/x0/"
#define PORT  CLASS "ports/1/"
#define IPV4  "0000:0000:0000:0000:0000:ffff:0a00:0001"
#define LINK  "fe80:0000:0000:0000:0001:02ff:fe03:0405"

static unsigned mtu; /* 0: unknown */

static int port_mtu(const char *dev, unsigned port, unsigned *active, unsigned *max)
{
	cr_assert_str_eq(dev, "x0");
	cr_assert_eq(port, 1);
	*active = mtu;
	*max = 4096;
	return mtu ? 0 : -EACCES;
}

static void port(const struct examined *e, const char *state, const char *physical,
	const char *layer, const char *sm_lid)
{
	tree_file(&e->tree, CLASS "node_type", "1: CA\n");
	tree_file(&e->tree, PORT "state", state);
	tree_file(&e->tree, PORT "phys_state", physical);
	tree_file(&e->tree, PORT "link_layer", layer);
	tree_file(&e->tree, PORT "rate", "100 Gb/sec (4X EDR)\n");
	tree_file(&e->tree, PORT "lid", "0x2\n");
	tree_file(&e->tree, PORT "sm_lid", sm_lid);
}

static void gid(const struct examined *e, unsigned index, const char *text, const char *type)
{
	char path[100];

	snprintf(path, sizeof(path), PORT "gids/%u", index);
	tree_file(&e->tree, path, text);
	snprintf(path, sizeof(path), PORT "gid_attrs/types/%u", index);
	tree_file(&e->tree, path, type);
	snprintf(path, sizeof(path), PORT "gid_attrs/ndevs/%u", index);
	tree_file(&e->tree, path, "eth7\n");
}

static void examine(struct examined *e)
{
	e->doctor.findings = 0;
	doctor_rdma(&e->doctor);
}

Test(rdma, no_device)
{
	struct examined e;

	examined_init(&e, NULL);
	examine(&e);
	found_it(&e.doctor, "devices", NULL, DOCTOR_INFO, "no_RDMA_device rdma_link_add");
	examined_free(&e);
	examined_init(&e, "nfs+rdma://10.0.0.1/x");
	examine(&e);
	found_it(&e.doctor, "devices", NULL, DOCTOR_FAILURE, "no_RDMA_device");
	examined_free(&e);
	examined_init(&e, "srp://fe800000000000000000000000000001/1/2");
	examine(&e);
	found_it(&e.doctor, "devices", NULL, DOCTOR_FAILURE, "no_RDMA_device InfiniBand");
	examined_free(&e);
	examined_init(&e, "nvme+tcp://10.0.0.1/nqn.x");
	examine(&e);
	cr_assert_eq(e.doctor.findings, 0, "TCP needs none");
	examined_free(&e);
}

Test(rdma, an_ethernet_port)
{
	struct examined e;

	examined_init(&e, NULL);
	e.doctor.port_mtu = port_mtu;
	mtu = 1024;
	tree_file(&e.tree, "sys/class/net/eth7/mtu", "1500\n");
	port(&e, "4: ACTIVE\n", "5: LinkUp\n", "Ethernet\n", "0x0\n");
	gid(&e, 0, LINK, "RoCE v2\n");
	gid(&e, 1, LINK, "IB/RoCE v1\n");
	gid(&e, 2, IPV4, "RoCE v2\n");
	examine(&e);
	found_it(&e.doctor, "devices", NULL, DOCTOR_OK, "1_RDMA_port");
	found_it(&e.doctor, "port-state", "x0 port 1", DOCTOR_OK, "active roce 100_Gb");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "port-state", NULL), "netdev"), "eth7");
	found_it(&e.doctor, "gids", NULL, DOCTOR_OK, "3_GIDs 2_of_RoCE_v2 1_of_RoCE_v1");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "gids", NULL), "gids_roce_v2"), "2");
	found_it(&e.doctor, "mtu", NULL, DOCTOR_OK, "1024 4096 eth7_1500");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "mtu", NULL), "netdev_mtu"), "1500");
	cr_assert_null(find_it(&e.doctor, "subnet-manager", NULL));
	cr_assert_null(find_it(&e.doctor, "roce-mode", NULL), "configfs is not mounted");
	examined_free(&e);
}

Test(rdma, a_port_that_is_down)
{
	struct examined e;

	examined_init(&e, NULL);
	port(&e, "1: DOWN\n", "3: Disabled\n", "Ethernet\n", "0x0\n");
	gid(&e, 0, LINK, "RoCE v2\n");
	examine(&e);
	found_it(&e.doctor, "port-state", NULL, DOCTOR_WARNING, "down Disabled eth7");
	cr_assert_null(find_it(&e.doctor, "gids", NULL), "does not matter yet");
	examined_free(&e);
	examined_init(&e, "nfs+rdma://10.0.0.1/x");
	port(&e, "1: DOWN\n", "3: Disabled\n", "Ethernet\n", "0x0\n");
	examine(&e);
	found_it(&e.doctor, "port-state", NULL, DOCTOR_FAILURE, "down cable");
	examined_free(&e);
}

Test(rdma, gids_of_roce)
{
	struct examined e;

	examined_init(&e, NULL);
	port(&e, "4: ACTIVE\n", "5: LinkUp\n", "Ethernet\n", "0x0\n");
	examine(&e);
	found_it(&e.doctor, "gids", NULL, DOCTOR_WARNING, "no_address ip_addr_add");
	gid(&e, 0, IPV4, "IB/RoCE v1\n");
	examine(&e);
	found_it(&e.doctor, "gids", NULL, DOCTOR_WARNING, "v1_is_not_routed");
	gid(&e, 1, LINK, "RoCE v2\n");
	examine(&e);
	found_it(&e.doctor, "gids", NULL, DOCTOR_WARNING, "link-local eth7");
	examined_free(&e);
}

Test(rdma, the_mode_of_roce)
{
	static const char path[] = "sys/kernel/config/rdma_cm/x0/ports/1/default_roce_mode";
	struct examined e;

	examined_init(&e, NULL);
	port(&e, "4: ACTIVE\n", "5: LinkUp\n", "Ethernet\n", "0x0\n");
	tree_file(&e.tree, path, "RoCE v2\n");
	examine(&e);
	found_it(&e.doctor, "roce-mode", NULL, DOCTOR_OK, "v2");
	tree_file(&e.tree, path, "IB/RoCE v1\n");
	examine(&e);
	found_it(&e.doctor, "roce-mode", NULL, DOCTOR_WARNING, "v1 echo default_roce_mode");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "roce-mode", NULL), "roce_mode"), "IB/RoCE v1");
	examined_free(&e);
}

Test(rdma, a_small_mtu)
{
	struct examined e;

	examined_init(&e, NULL);
	e.doctor.port_mtu = port_mtu;
	port(&e, "4: ACTIVE\n", "5: LinkUp\n", "InfiniBand\n", "0x1\n");
	mtu = 512;
	examine(&e);
	found_it(&e.doctor, "mtu", NULL, DOCTOR_WARNING, "512 subnet_manager");
	mtu = 0;
	examine(&e);
	cr_assert_null(find_it(&e.doctor, "mtu", NULL), "unknown");
	examined_free(&e);
}

Test(rdma, a_subnet_manager)
{
	struct examined e;

	examined_init(&e, NULL);
	port(&e, "4: ACTIVE\n", "5: LinkUp\n", "InfiniBand\n", "0x1\n");
	gid(&e, 0, LINK, "");
	examine(&e);
	found_it(&e.doctor, "subnet-manager", NULL, DOCTOR_OK, "");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "subnet-manager", NULL), "sm_lid"), "1");
	found_it(&e.doctor, "gids", NULL, DOCTOR_OK, "1_GID");
	port(&e, "2: INIT\n", "5: LinkUp\n", "InfiniBand\n", "0x0\n");
	examine(&e);
	found_it(&e.doctor, "subnet-manager", NULL, DOCTOR_WARNING, "opensm");
	found_it(&e.doctor, "port-state", NULL, DOCTOR_WARNING, "init opensm");
	examined_free(&e);
	examined_init(&e, "srp://fe800000000000000000000000000001/1/2");
	port(&e, "2: INIT\n", "5: LinkUp\n", "InfiniBand\n", "0x0\n");
	examine(&e);
	found_it(&e.doctor, "subnet-manager", NULL, DOCTOR_FAILURE, "opensm");
	found_it(&e.doctor, "port-state", NULL, DOCTOR_FAILURE, "init");
	examined_free(&e);
}
