/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Properties of RDMA ports that only their driver in userspace reports. */
#pragma once

/* Get the active and the largest MTU of a port in bytes. Returns 0 or -errno. */
int rdma_port_mtu(const char *dev, unsigned port, unsigned *active, unsigned *max);
