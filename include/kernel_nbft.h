/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The firmware's NVMe-oF connections (NBFT) and the network interfaces that it has set up. */
#pragma once
#include "diag.h"

/* Check the tables of this machine, by name. Call each() for every descriptor that is invalid and
 * left out, and for a table that can't be read, with the reason in damage and its object; for a
 * valid table once, with damage NULL and the number of subsystems that it names. -ENOENT: none. */
int kernel_nbft_check(int root,
	void (*each)(const char *table, unsigned subsystems, const struct diag *damage, void *arg),
	void *arg, struct diag *);
/* Pass dracut's network parameters for the interfaces in NBFT and iBFT to `each` until it returns
 * other than 0, which is returned: "ifname=nbft0:MAC", "ip=…", "vlan=…". An interface that both
 * tables have is configured once. rd.nonvmf and rd.nvmf.nonbft leave out the NBFT. */
int kernel_boot_network_params(
	int root, int (*each)(const char *param, void *arg), void *arg, struct diag *);
