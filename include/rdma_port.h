/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Properties of RDMA ports that only their driver in userspace reports. */
#pragma once

/* The MTU of a port in bytes, in use and possible; 0 or -errno. */
int rdma_port_mtu(const char *dev, unsigned port, unsigned *active, unsigned *max);
