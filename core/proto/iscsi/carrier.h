/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What carries PDUs here: connecting begins; `up` or connection_terminate_notify follows. */
#pragma once
#include "datamover.h"
#include "ep.h"
#include "stream.h"
#include "wire/iscsi.h"

#define ISCSI_DIGEST 4

struct iscsi_tcp_pdu { /* one that is sent */
	struct stream_out out;
	uint8_t head[ISCSI_BHS + ISCSI_DIGEST];
	uint8_t tail[3 + ISCSI_DIGEST]; /* padding, and the digest of the data and of it */
};
/* Makes `out`; the data stays where it is. */
void iscsi_tcp_put(struct iscsi_tcp_pdu *, const void *bhs, const void *data, uint32_t len,
	bool header_digest, bool data_digest);

int iscsi_tcp(struct datamover **, struct loop *, const struct addr *, uint32_t timeout_ms,
	const struct datamover_events *, void *user, struct diag *);
int iscsi_tcp_from(struct datamover **, struct loop *, const struct stream_dial *,
	const struct datamover_events *, void *user, struct diag *);
/* For an owner that uses the socket itself. In control_notify: nothing behind this PDU is taken any
 * more. Later, outside of all upcalls: the stream, and what has been read of it beyond; the
 * datamover is freed. */
void iscsi_tcp_hold(struct datamover *);
struct stream *iscsi_tcp_take(struct datamover *, uint8_t early[ISCSI_BHS], uint32_t *len);
int iscsi_iser(struct datamover **, struct loop *, const struct addr *, uint32_t timeout_ms,
	const struct datamover_events *, void *user, struct diag *);
/* want: without what a login needs, which is DATAMOVER_SENDS and these receives. */
#define ISCSI_ISER_RECEIVES 8
int iscsi_iser_from(struct datamover **, struct loop *, const struct ep_dial *,
	const struct datamover_events *, void *user, struct diag *);
/* As iscsi_tcp_hold() and _take(), but the datamover stays: the endpoint is to be freed by its
 * connection_terminate(), and has receives of its memory, to be posted again like all others, and
 * perhaps sends that are still reported. early: receives that came while held. */
void iscsi_iser_hold(struct datamover *);
struct ep *iscsi_iser_take(
	struct datamover *, const struct ep_events *, void *user, struct ep_rx **early);
