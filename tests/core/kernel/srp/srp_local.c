/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The local port of a login: two ports in one subnet and one in another, RoCE, the IPoIB interface,
 * and the error if no port matches. */
#include "kernel_srp.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ELSEWHERE "fec0:0000:0000:0000:"

static struct tree tree;
static struct srp_params params;
static struct srp_local local;
static struct diag why;
static char others[200];

static void setup(void)
{
	tree = tree_new();
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(srp_local, .init = setup, .fini = fini);

static void port(
	const char *dev, unsigned number, const char *state, const char *link, const char *gid)
{
	char path[128];

#define PUT(name, text)                                                                            \
	(snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/%u/" name, dev, number),      \
		tree_file(&tree, path, text))
	PUT("state", state);
	PUT("link_layer", link);
	PUT("gids/0", gid);
#undef PUT
}

static void mlx5(void)
{
	port("mlx5_1", 1, "4: ACTIVE\n", "InfiniBand\n",
		"fe80:0000:0000:0000:0002:c903:0000:0011\n");
	port("mlx5_0", 1, "4: ACTIVE\n", "InfiniBand\n",
		"fe80:0000:0000:0000:0002:c903:0000:0001\n");
	port("mlx5_0", 2, "4: ACTIVE\n", "InfiniBand\n", ELSEWHERE "0002:c903:0000:0002\n");
	port("mlx5_1", 2, "1: DOWN\n", "InfiniBand\n", "fed0:0000:0000:0000:0002:c903:0000:0012\n");
	port("rxe0", 1, "4: ACTIVE\n", "Ethernet\n", "fe80:0000:0000:0000:5054:00ff:fe00:0002\n");
	tree_file(&tree, "sys/class/infiniband/rxe0/ports/1/gids/1",
		"0000:0000:0000:0000:0000:ffff:7f00:0001\n");
}

static int choose(const char *line, const char *dev, unsigned number)
{
	memset(&params, 0, sizeof(params));
	why = (struct diag){ 0 };
	local = (struct srp_local){ 0 };
	cr_assert_eq(srp_params_parse(&params, line, &why), 0, "%s", why.text);
	return kernel_srp_port(
		tree.root, &params, dev, number, &local, others, sizeof(others), &why);
}

static void is(const char *dev, unsigned number)
{
	cr_assert_str_eq(local.dev, dev);
	cr_assert_eq(local.port, number);
}

Test(srp_local, by_the_prefix)
{
	mlx5();
	cr_assert_eq(choose("dgid=fe80::7", NULL, 0), 0, "%s", why.text);
	is("mlx5_0", 1);
	cr_assert_str_eq(others, "mlx5_1 port 1");
	cr_assert_eq(choose("dgid=fe80::7", "mlx5_1", 0), 0);
	is("mlx5_1", 1);
	cr_assert_str_eq(others, "");
	cr_assert_eq(choose("dgid=fec0::7", NULL, 0), 0);
	is("mlx5_0", 2);
	cr_assert_lt(choose("dgid=fed0::7", NULL, 0), 0);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "port active");
	cr_assert_lt(choose("dgid=2001::7", NULL, 0), 0);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "InfiniBand subnet dgid 2001");
	text_says(why.hint, "rxe0_port_1 Ethernet");
}

Test(srp_local, by_name)
{
	mlx5();
	cr_assert_eq(choose("dgid=2001::7", "mlx5_0", 2), 0);
	is("mlx5_0", 2);
	cr_assert_eq(choose("dgid=2001::7", "mlx5_1", 0), 0, "%s", why.text);
	is("mlx5_1", 1);
	cr_assert_lt(choose("dgid=fe80::7", "mlx5_1", 2), 0);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "mlx5_1_port_2 active");
	cr_assert_lt(choose("dgid=fe80::7", "mlx5_1", 3), 0);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "mlx5_1_port_3");
	cr_assert_lt(choose("dgid=fe80::7", "mlx4_0", 0), 0);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "RDMA 'mlx4_0'");
}

Test(srp_local, by_the_address)
{
	cr_assert_lt(choose("dest=127.0.0.1:5", NULL, 0), 0);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "RDMA");
	mlx5();
	cr_assert_eq(choose("dest=127.0.0.1:5", NULL, 0), 0, "%s", why.text);
	is("rxe0", 1);
	cr_assert_eq(choose("dest=10.255.0.1:5,src=127.0.0.1", NULL, 0), 0, "%s", why.text);
	is("rxe0", 1);
	cr_assert_lt(choose("dest=[::1]:5", NULL, 0), 0);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "RDMA address_::1 [::1]:5");
}
