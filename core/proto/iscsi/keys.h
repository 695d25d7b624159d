/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Negotiation of operational keys (RFC 7143, 6.2 and 13; RFC 7145, 6): one table, which initiator
 * and target both run. */
#pragma once
#include "diag.h"
#include "wire.h"

enum iscsi_key {
	ISCSI_HEADER_DIGEST, /* 0 None, 1 CRC32C */
	ISCSI_DATA_DIGEST,
	ISCSI_MAX_CONNECTIONS,
	ISCSI_INITIAL_R2T,
	ISCSI_IMMEDIATE_DATA,
	ISCSI_MAX_RECV, /* MaxRecvDataSegmentLength: each side's own */
	ISCSI_MAX_BURST,
	ISCSI_FIRST_BURST,
	ISCSI_TIME2WAIT,
	ISCSI_TIME2RETAIN,
	ISCSI_MAX_R2T,
	ISCSI_PDU_IN_ORDER,
	ISCSI_SEQUENCE_IN_ORDER,
	ISCSI_ERL,
	ISCSI_PROTOCOL_LEVEL,
	ISCSI_TASK_REPORTING, /* 0 RFC3720, 1 ResponseFence, 2 FastAbort */
	ISCSI_RDMA_EXTENSIONS,
	ISCSI_INITIATOR_RECV,
	ISCSI_TARGET_RECV,
	ISCSI_UNEXPECTED_PDUS, /* each side's own */
	ISCSI_HELLO_REQUIRED,
	ISCSI_KEYS,
};

struct iscsi_keys {
	bool discovery;             /* session */
	uint32_t own[ISCSI_KEYS];   /* what this side wants or can */
	uint32_t value[ISCSI_KEYS]; /* what holds; of declared ones: what the peer has declared */
	/* bits of lists: nothing but own[] will do; own[] stands behind the standard */
	uint32_t only, last;
	/* bits by enum iscsi_key: our offers, their answers, the peer's offers */
	uint32_t offered, answered, seen;
};
/* Defaults of the RFCs; then the owner sets own[]. */
void iscsi_keys_init(struct iscsi_keys *, bool discovery);
void iscsi_keys_offer(struct iscsi_keys *, enum iscsi_key, struct wr *); /* once each */
/* A pair from the peer: the answer to an offer, or an offer, whose answer is written. 0, or
 * -EPROTO. */
int iscsi_keys_take(
	struct iscsi_keys *, const char *name, const char *text, struct wr *answer, struct diag *);
/* Every offer has its answer. The first that has none is named. */
int iscsi_keys_settled(const struct iscsi_keys *, struct diag *);
const char *iscsi_key_name(enum iscsi_key);
