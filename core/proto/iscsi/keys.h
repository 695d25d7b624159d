/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Negotiation of operational keys (RFC 7143, 6.2 and 13; RFC 7145, 6), for initiator and target. */
#pragma once
#include "diag.h"
#include "wire.h"

enum iscsi_key {
	ISCSI_HEADER_DIGEST, /* 0 None, 1 CRC32C */
	ISCSI_DATA_DIGEST,
	ISCSI_MAX_CONNECTIONS,
	ISCSI_INITIAL_R2T,
	ISCSI_IMMEDIATE_DATA,
	ISCSI_MAX_RECV, /* MaxRecvDataSegmentLength; declared by each side */
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
	ISCSI_UNEXPECTED_PDUS, /* declared by each side */
	ISCSI_HELLO_REQUIRED,
	ISCSI_KEYS,
};

struct iscsi_keys {
	bool discovery;             /* session */
	uint32_t own[ISCSI_KEYS];   /* values of this side */
	uint32_t value[ISCSI_KEYS]; /* negotiated values; of declared keys: the peer's */
	/* bits of list keys: accept own[] only; offer own[] after the default */
	uint32_t exclusive, standard_first;
	/* bits by enum iscsi_key: offered by us, answered by the peer, offered by the peer */
	uint32_t offered, answered, seen;
};
/* Set the defaults of the RFCs. The owner sets own[] next. */
void iscsi_keys_init(struct iscsi_keys *, bool discovery);
void iscsi_keys_offer(struct iscsi_keys *, enum iscsi_key, struct wr *); /* at most once per key */
/* Process a pair of the peer: an answer to an offer, or an offer, for which an answer is written.
 * -EPROTO: invalid. */
int iscsi_keys_receive(
	struct iscsi_keys *, const char *name, const char *text, struct wr *answer, struct diag *);
/* -EPROTO: an offer is unanswered; the diag names the first one. */
int iscsi_keys_settled(const struct iscsi_keys *, struct diag *);
const char *iscsi_key_name(enum iscsi_key);
