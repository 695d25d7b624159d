/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbers of a loop's memory domains: indices into a pool's keys, shared by RDMA devices and
 * software iWARP. */
#pragma once
#include "diag.h"
#include "loop.h"
#include "mem.h"

int dom_take(struct loop *, uint8_t *dom, struct diag *);
void dom_give(struct loop *, uint8_t dom);
