/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys of a URI that every protocol over RDMA has: rdma=, crc=, dev=. */
#pragma once
#include "uri.h"

/* Needs: zeroed ones. backend: enum ep_backend; no_crc: of software iWARP. */
int rdma_keys(struct uri *, char dev[64], uint8_t *backend, bool *no_crc, struct diag *);
