/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options of SRP connections, in struct srp_options. */
#pragma once
#include "applet.h"
#include "attach_srp.h"

#define SRP_ROW(type, opt, name, arg, help)                                                        \
	{                                                                                          \
		name, 0, OPT_TEXT, offsetof(type, srp.value[SRP_OPT_##opt]), arg, help             \
	}
#define SRP_NAME_ROWS(type)                                                                        \
	{ "device", 'i', OPT_TEXT, offsetof(type, srp.dev), "DEVICE",                              \
		"local RDMA device, such as mlx5_0" },                                             \
		{ "port", 'p', OPT_U32, offsetof(type, srp.port), "NUMBER", "port of that device", \
			1, 254 },                                                                  \
		SRP_ROW(type, ID_EXT, "id-ext", "HEX", "identifier extension of the target"),      \
		SRP_ROW(type, IOC_GUID, "ioc-guid", "HEX", "GUID of its I/O controller"),          \
		SRP_ROW(type, DGID, "dgid", "GID", "InfiniBand: GID of its port"),                 \
		SRP_ROW(type, PKEY, "pkey", "HEX", "InfiniBand: partition key; default ffff"),     \
		SRP_ROW(type, SERVICE_ID, "service-id", "HEX", "InfiniBand: service ID"),          \
		SRP_ROW(type, DEST, "dest", "HOST:PORT", "RDMA/CM: address of the target")
#define SRP_LOSS_ROWS(type)                                                                        \
	{ "on-loss", 0, OPT_TEXT, offsetof(type, srp.on_loss), "POLICY", OPT_ON_LOSS_HELP },       \
		{ "fast-io-fail-tmo", 0, OPT_TEXT, offsetof(type, srp.fast_io_fail_tmo),           \
			"SECONDS", "fail I/O this long after the loss, or off" },                  \
		{ "dev-loss-tmo", 0, OPT_TEXT, offsetof(type, srp.dev_loss_tmo), "SECONDS",        \
			"remove the disks this long after the loss, or off" },                     \
	{                                                                                          \
		"reconnect-delay", 0, OPT_TEXT, offsetof(type, srp.reconnect_delay), "SECONDS",    \
			"time between reconnect attempts, or off; default 10"                      \
	}
