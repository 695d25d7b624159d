/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's nbd driver as core/kernel sees it: one device behind kernel_nbd_nl_call(), which
 * keeps sockets as drivers/block/nbd.c (Linux 6.12) does, and shows itself in a tree of files. */
#pragma once
#include "kernel_nbd.h"
#include "tree.h"
#include <stdbool.h>

struct nbd_driver {
	const struct tree *tree;
	int fail;  /* -errno of the next call */
	int index; /* of the device; -1 = not connected */
	char id[600];
	struct kernel_nbd asked; /* by the last CONNECT; its fds and id are not kept */
	uint64_t size;
	int sock[KERNEL_NBD_CONNECTIONS]; /* -1 = dead */
	unsigned socks, connects, renews, resizes, disconnects;
};
extern struct nbd_driver nbd_driver; /* of the whole test process */

void nbd_driver_start(const struct tree *); /* loaded, nothing connected */
void nbd_driver_kill(unsigned sock);        /* that connection dies */
