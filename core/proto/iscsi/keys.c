/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table of operational keys, and how each side negotiates them. */
#include "keys.h"
#include "text.h"
#include "uri.h"
#include <errno.h>
#include <string.h>

enum kind { DECLARED, LIST, NUMBER_MIN, NUMBER_MAX, BOOL_AND, BOOL_OR };

#define LONGEST 0xffffffu
static const struct row {
	const char *name;
	uint8_t kind;
	bool discovery; /* relevant to a discovery session */
	uint32_t standard, min, max;
	const char *words[4]; /* of lists, by value */
} rows[ISCSI_KEYS] = {
	[ISCSI_HEADER_DIGEST] = { "HeaderDigest", LIST, true, 0, 0, 1, { "None", "CRC32C" } },
	[ISCSI_DATA_DIGEST] = { "DataDigest", LIST, true, 0, 0, 1, { "None", "CRC32C" } },
	[ISCSI_MAX_CONNECTIONS] = { "MaxConnections", NUMBER_MIN, false, 1, 1, 65535, { 0 } },
	[ISCSI_INITIAL_R2T] = { "InitialR2T", BOOL_OR, false, 1, 0, 1, { 0 } },
	[ISCSI_IMMEDIATE_DATA] = { "ImmediateData", BOOL_AND, false, 1, 0, 1, { 0 } },
	[ISCSI_MAX_RECV] = { "MaxRecvDataSegmentLength", DECLARED, true, 8192, 512, LONGEST,
		{ 0 } },
	[ISCSI_MAX_BURST] = { "MaxBurstLength", NUMBER_MIN, false, 262144, 512, LONGEST, { 0 } },
	[ISCSI_FIRST_BURST] = { "FirstBurstLength", NUMBER_MIN, false, 65536, 512, LONGEST, { 0 } },
	[ISCSI_TIME2WAIT] = { "DefaultTime2Wait", NUMBER_MAX, true, 2, 0, 3600, { 0 } },
	[ISCSI_TIME2RETAIN] = { "DefaultTime2Retain", NUMBER_MIN, true, 20, 0, 3600, { 0 } },
	[ISCSI_MAX_R2T] = { "MaxOutstandingR2T", NUMBER_MIN, false, 1, 1, 65535, { 0 } },
	[ISCSI_PDU_IN_ORDER] = { "DataPDUInOrder", BOOL_OR, false, 1, 0, 1, { 0 } },
	[ISCSI_SEQUENCE_IN_ORDER] = { "DataSequenceInOrder", BOOL_OR, false, 1, 0, 1, { 0 } },
	[ISCSI_ERL] = { "ErrorRecoveryLevel", NUMBER_MIN, true, 0, 0, 2, { 0 } },
	[ISCSI_PROTOCOL_LEVEL] = { "iSCSIProtocolLevel", NUMBER_MIN, false, 1, 0, 31, { 0 } },
	[ISCSI_TASK_REPORTING] = { "TaskReporting", LIST, false, 0, 0, 2,
		{ "RFC3720", "ResponseFence", "FastAbort" } },
	[ISCSI_RDMA_EXTENSIONS] = { "RDMAExtensions", BOOL_AND, false, 0, 0, 1, { 0 } },
	[ISCSI_INITIATOR_RECV] = { "InitiatorRecvDataSegmentLength", NUMBER_MIN, false, 8192, 512,
		LONGEST, { 0 } },
	[ISCSI_TARGET_RECV] = { "TargetRecvDataSegmentLength", NUMBER_MIN, false, 8192, 512,
		LONGEST, { 0 } },
	[ISCSI_UNEXPECTED_PDUS] = { "MaxOutstandingUnexpectedPDUs", DECLARED, false, 0, 0,
		UINT32_MAX, { 0 } },
	[ISCSI_HELLO_REQUIRED] = { "iSERHelloRequired", BOOL_OR, false, 0, 0, 1, { 0 } },
};
_Static_assert(ISCSI_KEYS <= 32, "bits of one word");

/* 13: obsolete keys of RFC 3720, answered with Reject */
static const char *const obsolete[] = { "IFMarker", "OFMarker", "IFMarkInt", "OFMarkInt" };

const char *iscsi_key_name(enum iscsi_key key)
{
	return rows[key].name;
}

void iscsi_keys_init(struct iscsi_keys *keys, bool discovery)
{
	*keys = (struct iscsi_keys){ .discovery = discovery };
	for (unsigned key = 0; key < ISCSI_KEYS; key++)
		keys->own[key] = keys->value[key] = rows[key].standard;
}

static bool is_bool(const struct row *row)
{
	return row->kind == BOOL_AND || row->kind == BOOL_OR;
}

static void put(struct wr *w, const struct row *row, uint32_t value)
{
	if (row->kind == LIST)
		iscsi_text_put(w, row->name, "%s", row->words[value]);
	else if (is_bool(row))
		iscsi_text_put(w, row->name, "%s", value ? "Yes" : "No");
	else
		iscsi_text_put(w, row->name, "%u", value);
}

/* 6.2.2: the result does not depend on the answer, which is optional */
static bool needs_none(const struct row *row, uint32_t own)
{
	return row->kind == BOOL_AND ? !own : row->kind == BOOL_OR && own;
}

void iscsi_keys_offer(struct iscsi_keys *keys, enum iscsi_key key, struct wr *w)
{
	const struct row *row = &rows[key];

	if (keys->offered & 1u << key)
		return;
	keys->offered |= 1u << key;
	if (row->kind == DECLARED)
		keys->answered |= 1u << key; /* 6.2: declarations are not answered */
	if (needs_none(row, keys->own[key]))
		keys->value[key] = keys->own[key];
	if (row->kind == LIST && keys->own[key] && !(keys->exclusive & 1u << key)) {
		bool last = keys->standard_first & 1u << key;
		const char *own = row->words[keys->own[key]];

		iscsi_text_put(w, row->name, "%s,%s", last ? row->words[0] : own,
			last ? own : row->words[0]);
	} else {
		put(w, row, keys->own[key]);
	}
}

static int find(const char *name)
{
	for (int key = 0; key < ISCSI_KEYS; key++)
		if (!strcmp(rows[key].name, name))
			return key;
	return -1;
}

/* Parse a single value. */
static bool read_value(const struct row *row, const char *text, uint32_t *value)
{
	uint64_t number;

	if (is_bool(row)) {
		*value = !strcmp(text, "Yes");
		return *value || !strcmp(text, "No");
	}
	if (row->kind == LIST) {
		for (*value = 0; *value <= row->max; ++*value)
			if (!strcmp(row->words[*value], text))
				return true;
		return false;
	}
	if (parse_u64(text, row->min, row->max, &number, NULL))
		return false;
	*value = (uint32_t)number;
	return row != &rows[ISCSI_UNEXPECTED_PDUS] || number != 1;
}

static uint32_t result(const struct row *row, uint32_t a, uint32_t b)
{
	bool less = row->kind == NUMBER_MIN || row->kind == BOOL_AND;

	return (a < b) == less ? a : b;
}

static int wrong(const struct row *row, const char *text, struct diag *diag)
{
	return diag_set(diag, DIAG_PROTOCOL, EPROTO, "invalid value %s=%.40s", row->name, text);
}

static bool fits(const struct iscsi_keys *keys, unsigned key, uint32_t value)
{
	return value == keys->own[key] || (!value && !(keys->exclusive & 1u << key));
}

static bool is_refusal(const char *text)
{
	return !strcmp(text, "Irrelevant") || !strcmp(text, "NotUnderstood") ||
	       !strcmp(text, "Reject");
}

static int handle_answer(struct iscsi_keys *keys, unsigned key, const char *text, struct diag *diag)
{
	const struct row *row = &rows[key];
	uint32_t own = keys->own[key], value;

	keys->answered |= 1u << key;
	/* 6.2: the key is as if it had not been offered */
	if (is_refusal(text))
		return 0;
	if (!read_value(row, text, &value))
		return wrong(row, text, diag);
	if (row->kind == LIST ? !fits(keys, key, value) : value != result(row, own, value))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"%s=%.40s: not among the values offered", row->name, text);
	keys->value[key] = value;
	return 0;
}

/* Choose the first value of the peer's list that is ours or the default. */
static bool choose(const struct iscsi_keys *keys, unsigned key, const char *text, uint32_t *value)
{
	char word[32];

	while (iscsi_list_next(&text, word, sizeof(word)))
		if (read_value(&rows[key], word, value) && fits(keys, key, *value))
			return true;
	return false;
}

static int handle_offer(struct iscsi_keys *keys, unsigned key, const char *text, struct wr *answer,
	struct diag *diag)
{
	const struct row *row = &rows[key];
	uint32_t value;

	if (keys->seen & 1u << key)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "%s sent twice", row->name);
	keys->seen |= 1u << key;
	if (row->kind == LIST) {
		if (!choose(keys, key, text, &value)) {
			iscsi_text_put(answer, row->name, "Reject");
			return 0;
		}
	} else if (!read_value(row, text, &value)) {
		return wrong(row, text, diag);
	}
	if (row->kind == DECLARED) {
		keys->value[key] = value;
		return 0;
	}
	/* RFC 7145, 6: keys after RDMAExtensions need RDMAExtensions=Yes */
	if ((keys->discovery && !row->discovery) ||
		(key > ISCSI_RDMA_EXTENSIONS && !keys->own[ISCSI_RDMA_EXTENSIONS])) {
		iscsi_text_put(answer, row->name, "Irrelevant");
		return 0;
	}
	keys->value[key] = row->kind == LIST ? value : result(row, keys->own[key], value);
	put(answer, row, keys->value[key]);
	return 0;
}

int iscsi_keys_receive(struct iscsi_keys *keys, const char *name, const char *text,
	struct wr *answer, struct diag *diag)
{
	int key = find(name), err = 0;

	if (key < 0) {
		bool known = false;

		if (is_refusal(text)) /* 6.2: not answered, or both sides would answer forever */
			return diag_set(diag, DIAG_PROTOCOL, EPROTO,
				"answer to %.40s, which was not offered", name);
		for (size_t i = 0; i < sizeof(obsolete) / sizeof(obsolete[0]); i++)
			known |= !strcmp(obsolete[i], name);
		iscsi_text_put(answer, name, known ? "Reject" : "NotUnderstood");
	} else if (rows[key].kind != DECLARED && keys->offered & ~keys->answered & 1u << key) {
		err = handle_answer(keys, (unsigned)key, text, diag);
	} else if (rows[key].kind == DECLARED && keys->offered & 1u << key && is_refusal(text)) {
		return 0; /* Linux's target (6.12) answers iSER's declarations so */
	} else if (rows[key].kind != DECLARED && keys->offered & 1u << key) {
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "%s sent twice", name);
	} else {
		err = handle_offer(keys, (unsigned)key, text, answer, diag);
	}
	return err;
}

int iscsi_keys_settled(const struct iscsi_keys *keys, struct diag *diag)
{
	uint32_t open = keys->offered & ~keys->answered;

	for (unsigned key = 0; key < ISCSI_KEYS; key++)
		if (needs_none(&rows[key], keys->own[key]))
			open &= ~(1u << key);

	return open ? diag_set(diag, DIAG_PROTOCOL, EPROTO, "no answer to %s",
			      rows[__builtin_ctz(open)].name)
		    : 0;
}
