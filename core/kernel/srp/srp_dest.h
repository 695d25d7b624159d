/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Addresses of targets by RDMA/CM. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Parse "10.0.0.1", "10.0.0.1:5555", "fd00::1" or "[fe80::1%2]:5555", without port and scope; IPv4
 * as ::ffff:a.b.c.d. False: not an address. */
bool srp_dest_parse(uint8_t ip[16], const char *text);
