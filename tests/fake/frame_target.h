/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The server of a row of frame_client.h that include/serve.h starts; one per program. */
#pragma once
#include "frame_client.h"
#include "serve.h"

/* own: its disk without bdev, the ways of its listener, its depth, its smallest buffer */
int frame_target_start(target_serve *, const struct target_options *own,
	const struct frame_server *, struct diag *);
int frame_target_stop(uint32_t timeout_ms, struct diag *);
void frame_target_count(struct io_count *);
unsigned frame_target_connections(void);
const struct addr *frame_target_addr(void);
