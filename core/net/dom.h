/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbers of a loop's memory domains: indices into a pool's keys, shared by RDMA devices and
 * software iWARP. */
#pragma once
#include "diag.h"
#include "loop.h"
#include "mem.h"

/* -ENOSPC: all POOL_DOMS are in use. */
int dom_alloc(struct loop *, uint8_t *dom, struct diag *);
void dom_free(struct loop *, uint8_t dom);
