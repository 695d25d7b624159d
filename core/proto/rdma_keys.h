/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys that the URIs of all protocols over RDMA have: rdma=, crc=, dev=. */
#pragma once
#include "uri.h"

/* Read them. backend: enum ep_backend; no_crc: software iWARP. */
int rdma_keys(struct uri *, char dev[64], uint8_t *backend, bool *no_crc, struct diag *);
