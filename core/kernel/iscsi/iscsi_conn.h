/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A connection of the kernel while userspace logs it in or tears it down. */
#pragma once
#include "iscsi_nl.h"

struct iscsi_conn {
	struct kernel_iscsi_conn pub;
	struct kernel_iscsi *nl;
	struct kernel_iscsi_how how;
	struct kernel_iscsi_hook hook;
	bool hooked, has_ep, has_session, has_conn, bound, over, removing;
	/* The carrier: a TCP socket, or an endpoint of the kernel, which is polled until it is
	 * connected. */
	struct loop_fd sock;
	uint64_t ep, until;
	uint32_t step_ms;
	struct loop_timer timer;
	/* the login request that the kernel did not take yet, and the tag of the last PDU */
	be32 itt;
	unsigned tries;
	uint32_t len;
	uint8_t pdu[ISCSI_BHS + ISCSI_PDU_DATA];
};

/* Start connecting; kernel_iscsi_conn_connected() or _failed() follows from the loop. 0 or
 * -errno. */
int kernel_iscsi_reach(struct iscsi_conn *, struct diag *);
void kernel_iscsi_reach_end(
	struct iscsi_conn *); /* at any time; closes what the kernel does not own yet */
void kernel_iscsi_conn_connected(struct iscsi_conn *);
void kernel_iscsi_conn_failed(struct iscsi_conn *, const struct diag *);
