/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections of discovery sessions (include/iscsi_carrier.h); those of disks begin in ini.h. */
#pragma once
#include "iscsi_carrier.h"

struct iscsi_conf;
/* Start to connect: up() or connection_terminate_notify() follows, never inside the call. conf: the
 * disk whose local address, interface or RDMA device to use; NULL: any, and verbs. */
int iscsi_tcp(struct iscsi_carrier_conn **, struct loop *, const struct iscsi_conf *,
	const struct addr *, uint32_t timeout_ms, const struct iscsi_carrier_events *, void *user,
	struct diag *);
int iscsi_iser(struct iscsi_carrier_conn **, struct loop *, const struct iscsi_conf *,
	const struct addr *, uint32_t timeout_ms, const struct iscsi_carrier_events *, void *user,
	struct diag *);
