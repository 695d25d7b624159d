/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A fake kernel in place of iscsi_socket.c (NETLINK_ISCSI). It counts its objects, records
 * requests, and can fail them. Its target accepts all logins, or answers with a given status. */
#pragma once
#include "kernel_iscsi_nl.h"

#define ISCSI_KERNEL_COMMANDS 48
#define ISCSI_KERNEL_PARAMS   48
struct iscsi_kernel {
	/* Existing objects */
	unsigned sessions, conns, eps;
	bool bound, started;
	uint32_t sid, stop;                    /* the last session's; the last STOP's flag */
	char set[ISCSI_KERNEL_PARAMS][256];    /* "" = not set */
	unsigned count[ISCSI_KERNEL_COMMANDS]; /* of commands by type */
	uint8_t isid[6];
	unsigned logouts; /* requests of them */
	/* Since Linux 5.13 a connection error ends the endpoint, and its handle stays until
	 * EP_DISCONNECT. */
	bool ended;
	unsigned misuse; /* polls of an ended endpoint, disconnects of a handle free for others */
	/* What it does */
	int no_socket;                     /* errno */
	int refuse[ISCSI_KERNEL_COMMANDS]; /* errno, of iferror */
	/* r.code: of EP_POLL what it gives; of others -errno once, as often as `times` says */
	int code[ISCSI_KERNEL_COMMANDS];
	unsigned times;
	bool flushes; /* a session that is destroyed in the background: it never ends */
	bool old;     /* before Linux 5.13: STOP leaves the endpoint to its maker */
	/* The target */
	bool mute;     /* answers no request */
	bool hangs_up; /* on the first request */
	bool leaves;   /* closes the connection right after a login */
	uint16_t status;
	const char *moved; /* HOST:PORT */
	int tpgt;
	bool no_rdma, responded; /* told: what the first response of a login says */
};
extern struct iscsi_kernel iscsi_kernel;

void iscsi_kernel_start(void);
void iscsi_kernel_stop(void);
/* Send an event to the listener. The PDU may be NULL. */
void iscsi_kernel_event(
	const struct iscsi_if_msg *, const struct iscsi_bhs *, const void *data, uint32_t len);
void iscsi_kernel_raw(const uint8_t *bytes, size_t len); /* a message of any bytes */
void iscsi_kernel_error(uint32_t sid, uint32_t reason);
