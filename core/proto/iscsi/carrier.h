/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The carriers of login and discovery (include/iscsi_carrier.h), over TCP and over iSER. */
#pragma once
#include "ep.h"
#include "iscsi_carrier.h"
#include "stream.h"

/* Start to connect: up() or connection_terminate_notify() follows, never inside the call. */
int iscsi_tcp(struct iscsi_carrier_conn **, struct loop *, const struct addr *, uint32_t timeout_ms,
	const struct iscsi_carrier_events *, void *user, struct diag *);
int iscsi_tcp_from(struct iscsi_carrier_conn **, struct loop *, const struct stream_dial *,
	const struct iscsi_carrier_events *, void *user, struct diag *);
/* Hand the connection over to the session. In control_notify(), stop receiving after this PDU.
 * Then, outside of upcalls, take the stream and the bytes read beyond that PDU; this frees the
 * iscsi_carrier_conn. */
void iscsi_tcp_hold(struct iscsi_carrier_conn *);
struct stream *iscsi_tcp_detach(
	struct iscsi_carrier_conn *, uint8_t early[ISCSI_BHS], uint32_t *len);
int iscsi_iser(struct iscsi_carrier_conn **, struct loop *, const struct addr *,
	uint32_t timeout_ms, const struct iscsi_carrier_events *, void *user, struct diag *);
/* ep_dial.want does not include what a login needs: ISCSI_CARRIER_SENDS sends and these receives.
 */
#define ISCSI_ISER_RECEIVES 8
int iscsi_iser_from(struct iscsi_carrier_conn **, struct loop *, const struct ep_dial *,
	const struct iscsi_carrier_events *, void *user, struct diag *);
/* As iscsi_tcp_hold() and iscsi_tcp_detach(), but the iscsi_carrier_conn stays:
 * connection_terminate() frees the endpoint. The endpoint keeps using the login's receives, which
 * the session returns to it like its own, and may still report the login's sends. early: receives
 * that completed while held. */
void iscsi_iser_hold(struct iscsi_carrier_conn *);
struct ep *iscsi_iser_detach(
	struct iscsi_carrier_conn *, const struct ep_events *, void *user, struct ep_rx **early);
