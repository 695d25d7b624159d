/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A connection and its control-type PDUs: those of login, discovery and logout. The primitives are
 * those of the Datamover Interface (RFC 5047). core/proto/iscsi/tcp.c, iser.c and core/kernel/iscsi
 * implement it. Everything runs on conn->loop. */
#pragma once
#include "loop.h"
#include "uri.h"
#include "wire/iscsi.h"

/* What carries PDUs. */
enum iscsi_carrier { ISCSI_TCP, ISCSI_ISER, ISCSI_CARRIERS };

#define ISCSI_CARRIER_SENDS 8 /* PDUs in flight at once */

struct iscsi_carrier_conn;
struct iscsi_carrier_events {
	/* The transport is connected: peer and route are set. */
	void (*up)(struct iscsi_carrier_conn *);
	/* Control_Notify: a PDU without AHS has arrived. bhs and data are valid until return. */
	void (*control_notify)(struct iscsi_carrier_conn *, const struct iscsi_bhs *,
		const uint8_t *data, uint32_t len);
	/* Connection_Terminate_Notify: the connection has ended, `why` is set. The last upcall. */
	void (*connection_terminate_notify)(struct iscsi_carrier_conn *);
};

struct iscsi_carrier_ops {
	/* Send_Control: send a copy of header and data; fills in the lengths. -ENOBUFS: too many
	 * PDUs in flight. -EMSGSIZE: len exceeds ISCSI_PDU_DATA. */
	int (*send_control)(
		struct iscsi_carrier_conn *, const void *bhs, const void *data, uint32_t len);
	/* Enable_Datamover: end the login phase. From now on the peer may send data segments of up
	 * to recv_max bytes. Allowed in control_notify(). */
	void (*enable_full_feature)(struct iscsi_carrier_conn *, uint32_t recv_max);
	/* Connection_Terminate: close the connection and free what it owns at once. No upcall
	 * follows. Not from inside an upcall. */
	void (*connection_terminate)(struct iscsi_carrier_conn *);
};

struct iscsi_carrier_conn { /* first member of the carrier's */
	const struct iscsi_carrier_ops *ops;
	const struct iscsi_carrier_events *ev;
	struct loop *loop;
	void *user;
	uint32_t recv_limit; /* largest recv_max */
	struct diag why;
	struct addr peer;
	char route[160]; /* for messages */
};
