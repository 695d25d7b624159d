/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the readers of the firmware's table share. */
#pragma once
#include "kernel_iscsi_conf.h"

/* The network interface with this hardware address; false: there is none. */
bool ibft_netdev_of(int root, const char *mac, char netdev[16]);
