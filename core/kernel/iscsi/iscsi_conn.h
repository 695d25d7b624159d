/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A connection of the kernel's while userspace has to do with it. */
#pragma once
#include "iscsi_nl.h"

struct iscsi_conn {
	struct kernel_iscsi_conn pub;
	struct kernel_iscsi *nl;
	struct kernel_iscsi_how how;
	struct kernel_iscsi_hook hook;
	bool hooked, has_ep, has_session, has_conn, bound, over;
	/* What carries it: TCP's socket, or an endpoint of the kernel's that is asked whether it is
	 * connected. */
	struct loop_fd sock;
	uint64_t ep, until;
	uint32_t step_ms;
	struct loop_timer timer;
	/* The login request that the kernel was not ready to take, and the tag of the last PDU */
	be32 itt;
	unsigned tries;
	uint32_t len;
	uint8_t pdu[ISCSI_BHS + ISCSI_PDU_DATA];
};

/* Connecting begins; kernel_iscsi_conn_connected() or _failed() follows, from the loop. -errno. */
int kernel_iscsi_reach(struct iscsi_conn *, struct diag *);
void kernel_iscsi_reach_end(struct iscsi_conn *); /* any time; closes what is not the kernel's */
void kernel_iscsi_conn_connected(struct iscsi_conn *);
void kernel_iscsi_conn_failed(struct iscsi_conn *, const struct diag *);
