/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One command to the kernel's nbd driver. */
#pragma once
#include "kernel_nbd.h"

enum nbd_nl_part {
	NBD_NL_SIZE = 1,   /* size and block */
	NBD_NL_POLICY = 2, /* flags and times */
	NBD_NL_SOCKETS = 4,
};

/* Index and id go along when given (>= 0, not NULL). Gives the index in the answer to
 * NBD_CMD_CONNECT, 0 to others; -errno as the driver said it, -ENOTSUP when it cannot be spoken to,
 * -ETIMEDOUT when it did not answer in timeout_ms. */
int kernel_nbd_nl_call(uint8_t cmd, unsigned parts, const struct kernel_nbd *);
