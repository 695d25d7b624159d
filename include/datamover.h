/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The Datamover Interface (RFC 5047): the seam between iSCSI and what carries its PDUs. Primitives
 * have its names; here are those of control-type PDUs, which login, discovery and logout need. */
#pragma once
#include "diag.h"
#include "loop.h"
#include "uri.h"
#include "wire/iscsi.h"

#define DATAMOVER_SENDS 4 /* PDUs that may be on their way at once */

struct datamover;
struct datamover_events {
	void (*up)(struct datamover *); /* the transport is connected; `way` is known */
	/* Control_Notify: a PDU without AHS has come; bytes and data are the carrier's again on
	 * return. */
	void (*control_notify)(
		struct datamover *, const struct iscsi_bhs *, const uint8_t *data, uint32_t len);
	/* Connection_Terminate_Notify: once; `why` says why. No upcall after it. */
	void (*connection_terminate_notify)(struct datamover *);
};

struct datamover_ops {
	/* Send_Control: lengths are filled in, header and data are copied. -ENOBUFS:
	 * DATAMOVER_SENDS of them have not left yet; -EMSGSIZE: more than ISCSI_PDU_DATA. */
	int (*send_control)(struct datamover *, const void *bhs, const void *data, uint32_t len);
	/* Enable_Datamover: the login phase is over; from now on the peer may send data segments of
	 * up to recv_max bytes. */
	void (*enable_datamover)(struct datamover *, uint32_t recv_max);
	/* Connection_Terminate, and the resources with it: at once, no upcall after it; not from
	 * inside an upcall. */
	void (*connection_terminate)(struct datamover *);
};

struct datamover { /* first member of its carrier's */
	const struct datamover_ops *ops;
	const struct datamover_events *ev;
	struct loop *loop;
	void *user;
	uint32_t recv_limit; /* the most recv_max may be */
	struct diag why;
	/* as of struct stream and struct ep */
	struct addr peer;
	char way[160];
};
