/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What carries PDUs here: connecting begins; `up` or connection_terminate_notify follows. */
#pragma once
#include "datamover.h"

int iscsi_tcp(struct datamover **, struct loop *, const struct addr *, uint32_t timeout_ms,
	const struct datamover_events *, void *user, struct diag *);
int iscsi_iser(struct datamover **, struct loop *, const struct addr *, uint32_t timeout_ms,
	const struct datamover_events *, void *user, struct diag *);
