/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Send one command to the kernel's nbd driver. */
#pragma once
#include "kernel_nbd.h"

enum nbd_nl_part {
	NBD_NL_SIZE = 1,   /* size and block */
	NBD_NL_POLICY = 2, /* flags and times */
	NBD_NL_SOCKETS = 4,
};

/* Index and ID are included if set (>= 0, not NULL). Returns the index in the answer to
 * NBD_CMD_CONNECT, 0 for others; -errno of the driver; -ENOTSUP if the driver is unavailable;
 * -ETIMEDOUT without an answer in timeout_ms. */
int kernel_nbd_nl_call(uint8_t cmd, unsigned parts, const struct kernel_nbd *);
