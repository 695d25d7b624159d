/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Choosing a port, and the errors about ports that can't be used. */
#include "mad_port.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

static void add(const char *dev, unsigned port, unsigned state, unsigned phys, bool infiniband,
	uint64_t guid)
{
	struct mad_port_info *info = &fake_fabric.port[fake_fabric.ports++];

	*info = (struct mad_port_info){
		.port = (uint8_t)port,
		.state = (uint8_t)state,
		.phys = (uint8_t)phys,
		.infiniband = infiniband,
		.lid = 7,
		.prefix = 0xfe80000000000000,
		.guid = guid,
	};
	snprintf(info->dev, sizeof(info->dev), "%s", dev);
	snprintf(info->link_layer, sizeof(info->link_layer), "%s",
		infiniband ? "InfiniBand" : "Ethernet");
}

static void setup(void)
{
	fake_fabric_init(0);
	fake_fabric.ports = 0;
	add("mlx4_0", 1, PORT_ACTIVE, 5, false, 1);
	add("mlx5_0", 1, PORT_DOWN, 3, true, 2);
	add("mlx5_0", 2, PORT_INIT, 5, true, 3);
	add("mlx5_1", 1, PORT_ACTIVE, 5, true, 4);
}
TestSuite(choose, .init = setup, .fini = fake_fabric_free);

static void chosen(struct mad_port_choice choice, const char *dev, unsigned port)
{
	struct mad_port_info info;
	struct diag diag = { 0 };

	cr_assert_eq(mad_port_choose(&info, &choice, &diag), 0, "%s", diag.text);
	cr_assert_str_eq(info.dev, dev);
	cr_assert_eq(info.port, port);
}

static void refused(
	struct mad_port_choice choice, enum diag_code code, const char *object, const char *words)
{
	struct mad_port_info info;
	struct diag diag = { 0 };

	cr_assert(mad_port_choose(&info, &choice, &diag) < 0);
	diag_says(&diag, code, object, words);
}

#define CHOICE(...)                                                                                \
	(struct mad_port_choice)                                                                   \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

Test(choose, without_a_name_the_first_active_one_on_infiniband)
{
	chosen(CHOICE(.dev = NULL), "mlx5_1", 1);
	chosen(CHOICE(.any_link = true), "mlx5_1", 1);
	fake_fabric.port[3].state = PORT_DOWN;
	chosen(CHOICE(.dev = NULL), "mlx5_0", 2);
	chosen(CHOICE(.any_link = true), "mlx4_0", 1);
}

Test(choose, by_name_port_umad_and_gid)
{
	chosen(CHOICE(.dev = "mlx5_0"), "mlx5_0", 2);
	chosen(CHOICE(.dev = "mlx5_0", .port = 1), "mlx5_0", 1);
	chosen(CHOICE(.port = 2), "mlx5_0", 2);
	chosen(CHOICE(.umad = "/dev/infiniband/umad2"), "mlx5_0", 2);
	chosen(CHOICE(.umad = "umad3"), "mlx5_1", 1);
	chosen(CHOICE(.gid = "fe80::2"), "mlx5_0", 1);
	chosen(CHOICE(.gid = "fe800000000000000000000000000004"), "mlx5_1", 1);
	chosen(CHOICE(.dev = "mlx4_0", .any_link = true), "mlx4_0", 1);
}

Test(choose, what_is_not_there_is_named)
{
	refused(CHOICE(.dev = "mlx5_7"), DIAG_NOT_FOUND, "", "'mlx5_7'");
	refused(CHOICE(.dev = "mlx5_0", .port = 3), DIAG_NOT_FOUND, "", "mlx5_0 port 3");
	refused(CHOICE(.port = 9), DIAG_NOT_FOUND, "", "port_9");
	refused(CHOICE(.umad = "/dev/infiniband/umad8"), DIAG_NOT_FOUND, "",
		"'/dev/infiniband/umad8'");
	refused(CHOICE(.gid = "fe80::9"), DIAG_NOT_FOUND, "", "fe80::9");
	refused(CHOICE(.gid = "nine"), DIAG_USAGE, "", "'nine' GID");
	refused(CHOICE(.dev = "mlx4_0"), DIAG_UNSUPPORTED, "mlx4_0 port 1", "Ethernet");
	fake_fabric.ports = 1;
	refused(CHOICE(.dev = NULL), DIAG_UNSUPPORTED, "mlx4_0 port 1",
		"no_InfiniBand_port Ethernet");
	fake_fabric.ports = 0;
	refused(CHOICE(.dev = NULL), DIAG_NO_DEVICE, "", "RDMA");
}

static void unusable(unsigned state, unsigned phys, unsigned lid, const char *words)
{
	struct mad_port_info info = {
		.dev = "x",
		.port = 1,
		.infiniband = true,
		.state = (uint8_t)state,
		.phys = (uint8_t)phys,
		.lid = (uint16_t)lid,
	};
	struct diag diag = { 0 };

	cr_assert_eq(mad_port_usable(&info, &diag), -ENETDOWN);
	diag_says(&diag, DIAG_UNREACHABLE, "x port 1", words);
	cr_assert(diag.hint[0]);
}

Test(choose, an_unusable_port_says_why)
{
	struct mad_port_info good = { .infiniband = true, .state = PORT_ACTIVE, .lid = 0xbfff },
			     roce = { .state = PORT_DOWN };

	unusable(PORT_DOWN, 3, 0, "DOWN disabled");
	unusable(PORT_DOWN, 2, 0, "DOWN polling");
	unusable(0, 99, 0, "DOWN state");
	unusable(PORT_INIT, 5, 0, "INIT subnet_manager");
	unusable(PORT_ARMED, 5, 3, "ARMED");
	unusable(PORT_ACTIVE, 5, 0, "LID");
	unusable(PORT_ACTIVE, 5, 0xc000, "LID");
	cr_assert_eq(mad_port_usable(&good, NULL), 0);
	cr_assert_eq(mad_port_usable(&roce, NULL), 0, "RoCE has no subnet manager");
}
