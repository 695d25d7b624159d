/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A connection of the kernel while userspace logs it in or tears it down. */
#pragma once
#include "iscsi_nl.h"

struct iscsi_conn {
	struct kernel_iscsi_conn pub;
	struct kernel_iscsi *nl;
	struct kernel_iscsi_conn_params params;
	struct kernel_iscsi_hook hook;
	bool hooked, has_ep, has_session, has_conn, bound, terminated, removing;
	/* The transport: a TCP socket, or an endpoint of the kernel, which is polled until it is
	 * connected. */
	struct loop_fd sock;
	uint64_t ep, until;
	uint32_t step_ms;
	struct loop_timer timer;
	/* task tag of the last PDU, and the PDU while the kernel does not accept it yet */
	be32 itt;
	unsigned tries;
	uint32_t len;
	uint8_t pdu[ISCSI_BHS + ISCSI_PDU_DATA];
};

/* Start connecting; kernel_iscsi_conn_connected() or _failed() follows from the loop. 0 or
 * -errno. */
int kernel_iscsi_conn_connect(struct iscsi_conn *, struct diag *);
/* Stop connecting and close the socket, at any time; the kernel has its own reference once it is
 * bound. */
void kernel_iscsi_conn_disconnect(struct iscsi_conn *);
void kernel_iscsi_conn_connected(struct iscsi_conn *);
void kernel_iscsi_conn_failed(struct iscsi_conn *, const struct diag *);
