/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The server of a row of guest.h that include/serve.h starts; one per program. */
#pragma once
#include "guest.h"
#include "serve.h"

/* own: its disk without bdev, the ways of its listener, its depth, its smallest buffer */
int guest_target_start(target_serve *, const struct target_options *own,
	const struct guest_server *, struct diag *);
int guest_target_stop(uint32_t timeout_ms, struct diag *);
void guest_target_count(struct io_count *);
unsigned guest_target_connections(void);
const struct addr *guest_target_addr(void);
