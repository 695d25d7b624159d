/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Negotiation: both sides run the one table, and come to the same; what lies gets a name. */
#include "keys.h"
#include "says.h"
#include "text.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

static struct diag why;

/* Gives one side what the other has written; the answers go to `out`. */
static int pass(struct iscsi_keys *to, const uint8_t *bytes, size_t len, struct wr *out)
{
	struct iscsi_text t = { 0 };
	char *key, *value;
	size_t at = 0;
	int err = iscsi_text_add(&t, bytes, (uint32_t)len, 65536, &why);

	while (!err && (err = iscsi_text_next(&t, &at, &key, &value, &why)) > 0)
		err = iscsi_keys_receive(to, key, value, out, &why);
	iscsi_text_free(&t);
	return err;
}

/* The initiator offers all; both end with the same values. */
static void negotiate(struct iscsi_keys *ini, struct iscsi_keys *tgt)
{
	uint8_t offers[2048], answers[2048], none[64];
	struct wr o = wr_init(offers, sizeof(offers)), a = wr_init(answers, sizeof(answers)),
		  n = wr_init(none, sizeof(none));

	for (unsigned key = 0; key < ISCSI_KEYS; key++)
		iscsi_keys_offer(ini, key, &o);
	cr_assert_eq(pass(tgt, offers, (size_t)(o.p - offers), &a), 0, "%s", why.text);
	cr_assert_eq(pass(ini, answers, (size_t)(a.p - answers), &n), 0, "%s", why.text);
	cr_assert_eq(n.p, none, "an answer has no answer");
	cr_assert_eq(iscsi_keys_settled(ini, &why), 0, "%s", why.text);
}

Test(iscsi_keys, both_sides_agree)
{
	struct iscsi_keys ini, tgt;

	iscsi_keys_init(&ini, false);
	iscsi_keys_init(&tgt, false);
	ini.own[ISCSI_MAX_BURST] = 1 << 20;
	tgt.own[ISCSI_MAX_BURST] = 65536;
	ini.own[ISCSI_TIME2WAIT] = 0;
	tgt.own[ISCSI_TIME2WAIT] = 5;
	ini.own[ISCSI_INITIAL_R2T] = 0;
	tgt.own[ISCSI_INITIAL_R2T] = 0;
	tgt.own[ISCSI_IMMEDIATE_DATA] = 0;
	ini.own[ISCSI_HEADER_DIGEST] = tgt.own[ISCSI_HEADER_DIGEST] = 1;
	ini.own[ISCSI_DATA_DIGEST] = 1;
	ini.own[ISCSI_TASK_REPORTING] = tgt.own[ISCSI_TASK_REPORTING] = 2;
	ini.own[ISCSI_RDMA_EXTENSIONS] = tgt.own[ISCSI_RDMA_EXTENSIONS] = 1;
	ini.own[ISCSI_MAX_RECV] = 262144;
	ini.own[ISCSI_UNEXPECTED_PDUS] = 4;
	negotiate(&ini, &tgt);
	for (unsigned key = 0; key < ISCSI_KEYS; key++)
		if (key != ISCSI_MAX_RECV && key != ISCSI_UNEXPECTED_PDUS)
			cr_assert_eq(ini.value[key], tgt.value[key], "%s", iscsi_key_name(key));
	cr_assert_eq(ini.value[ISCSI_MAX_BURST], 65536);
	cr_assert_eq(ini.value[ISCSI_TIME2WAIT], 5);
	cr_assert_eq(ini.value[ISCSI_INITIAL_R2T], 0);
	cr_assert_eq(ini.value[ISCSI_IMMEDIATE_DATA], 0);
	cr_assert_eq(ini.value[ISCSI_HEADER_DIGEST], 1);
	cr_assert_eq(ini.value[ISCSI_DATA_DIGEST], 0);
	cr_assert_eq(ini.value[ISCSI_TASK_REPORTING], 2);
	cr_assert_eq(ini.value[ISCSI_RDMA_EXTENSIONS], 1);
	cr_assert_eq(tgt.value[ISCSI_MAX_RECV], 262144);
	cr_assert_eq(ini.value[ISCSI_MAX_RECV], 8192, "the target has declared nothing");
	cr_assert_eq(tgt.value[ISCSI_UNEXPECTED_PDUS], 4);
}

Test(iscsi_keys, in_a_discovery_session)
{
	struct iscsi_keys ini, tgt;

	iscsi_keys_init(&ini, true);
	iscsi_keys_init(&tgt, true);
	ini.own[ISCSI_MAX_BURST] = 512;
	negotiate(&ini, &tgt);
	cr_assert_eq(ini.value[ISCSI_MAX_BURST], 262144, "irrelevant");
}

/* Return the answer to one key=value pair. */
static const char *answer_to(
	bool offered, enum iscsi_key key, uint32_t own, const char *name, const char *value)
{
	static char text[256];
	struct iscsi_keys keys;
	uint8_t offers[256];
	struct wr o = wr_init(offers, sizeof(offers)), a = wr_init(text, sizeof(text));

	why = (struct diag){ 0 };
	iscsi_keys_init(&keys, false);
	keys.own[key] = own;
	if (offered)
		iscsi_keys_offer(&keys, key, &o);
	memset(text, 0, sizeof(text));
	return iscsi_keys_receive(&keys, name, value, &a, &why) ? why.text : text;
}

static void wrong(
	bool offered, enum iscsi_key key, uint32_t own, const char *name, const char *value)
{
	char pair[128];

	snprintf(pair, sizeof(pair), "%s=%s", name, value);
	answer_to(offered, key, own, name, value);
	diag_says(&why, DIAG_PROTOCOL, NULL, pair);
}

Test(iscsi_keys, offers_of_the_peer)
{
	cr_assert_str_eq(answer_to(false, 0, 0, "HeaderDigest", "CRC32C"), "HeaderDigest=Reject");
	cr_assert_str_eq(
		answer_to(false, 0, 1, "HeaderDigest", "CRC32C,None"), "HeaderDigest=CRC32C");
	cr_assert_str_eq(
		answer_to(false, 0, 0, "HeaderDigest", "X-a,CRC32C,None"), "HeaderDigest=None");
	cr_assert_str_eq(answer_to(false, 0, 0, "MaxConnections", "8"), "MaxConnections=1");
	cr_assert_str_eq(answer_to(false, 0, 0, "IFMarker", "No"), "IFMarker=Reject");
	cr_assert_str_eq(
		answer_to(false, 0, 0, "X-com.example", "1"), "X-com.example=NotUnderstood");
	answer_to(false, 0, 0, "X-com.example", "NotUnderstood");
	diag_says(&why, DIAG_PROTOCOL, NULL, "X-com.example");
	cr_assert_str_eq(
		answer_to(false, 0, 0, "MaxRecvDataSegmentLength", "262144"), "", "a declaration");
	wrong(false, 0, 0, "MaxRecvDataSegmentLength", "511");
	wrong(false, 0, 0, "MaxOutstandingUnexpectedPDUs", "1");
	wrong(false, 0, 0, "InitialR2T", "Maybe");
	cr_assert_str_eq(
		answer_to(false, ISCSI_RDMA_EXTENSIONS, 0, "TargetRecvDataSegmentLength", "4096"),
		"TargetRecvDataSegmentLength=Irrelevant");
	cr_assert_str_eq(
		answer_to(false, ISCSI_RDMA_EXTENSIONS, 1, "TargetRecvDataSegmentLength", "4096"),
		"TargetRecvDataSegmentLength=4096");
}

Test(iscsi_keys, answers_that_are_none)
{
	cr_assert_str_eq(answer_to(true, ISCSI_MAX_BURST, 65536, "MaxBurstLength", "65536"), "");
	wrong(true, ISCSI_MAX_BURST, 65536, "MaxBurstLength", "131072");
	wrong(true, ISCSI_TIME2WAIT, 2, "DefaultTime2Wait", "1");
	wrong(true, ISCSI_IMMEDIATE_DATA, 0, "ImmediateData", "Yes");
	wrong(true, ISCSI_INITIAL_R2T, 1, "InitialR2T", "No");
	wrong(true, ISCSI_HEADER_DIGEST, 0, "HeaderDigest", "CRC32C");
	wrong(true, ISCSI_ERL, 0, "ErrorRecoveryLevel", "3");
	cr_assert_str_eq(
		answer_to(true, ISCSI_RDMA_EXTENSIONS, 1, "RDMAExtensions", "NotUnderstood"), "");
}

Test(iscsi_keys, twice_and_never)
{
	struct iscsi_keys keys;
	uint8_t bytes[256];
	struct wr w = wr_init(bytes, sizeof(bytes));

	iscsi_keys_init(&keys, false);
	iscsi_keys_offer(&keys, ISCSI_ERL, &w);
	iscsi_keys_offer(&keys, ISCSI_MAX_R2T, &w);
	cr_assert_eq(iscsi_keys_receive(&keys, "ErrorRecoveryLevel", "0", &w, &why), 0);
	cr_assert_eq(iscsi_keys_receive(&keys, "ErrorRecoveryLevel", "0", &w, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "ErrorRecoveryLevel");
	cr_assert_eq(iscsi_keys_settled(&keys, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "MaxOutstandingR2T");
	cr_assert_eq(iscsi_keys_receive(&keys, "MaxConnections", "1", &w, &why), 0);
	cr_assert_eq(iscsi_keys_receive(&keys, "MaxConnections", "1", &w, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "MaxConnections");
}

Test(iscsi_keys, answers_that_may_be_left_out)
{
	struct iscsi_keys keys;
	uint8_t bytes[512];
	struct wr w = wr_init(bytes, sizeof(bytes));

	iscsi_keys_init(&keys, false);
	keys.own[ISCSI_IMMEDIATE_DATA] = 0;
	iscsi_keys_offer(&keys, ISCSI_IMMEDIATE_DATA, &w);
	iscsi_keys_offer(&keys, ISCSI_PDU_IN_ORDER, &w);
	cr_assert_eq(iscsi_keys_settled(&keys, &why), 0, "%s", why.text);
	cr_assert(!keys.value[ISCSI_IMMEDIATE_DATA] && keys.value[ISCSI_PDU_IN_ORDER]);
	cr_assert_eq(iscsi_keys_receive(&keys, "DataPDUInOrder", "Yes", &w, &why), 0,
		"nor need they be");
	keys.own[ISCSI_INITIAL_R2T] = 0;
	iscsi_keys_offer(&keys, ISCSI_INITIAL_R2T, &w);
	cr_assert_eq(iscsi_keys_settled(&keys, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "InitialR2T");
}

Test(iscsi_keys, a_declaration_that_is_not_understood)
{
	cr_assert_str_eq(answer_to(true, ISCSI_UNEXPECTED_PDUS, 4, "MaxOutstandingUnexpectedPDUs",
				 "NotUnderstood"),
		"");
	wrong(false, ISCSI_UNEXPECTED_PDUS, 4, "MaxOutstandingUnexpectedPDUs", "NotUnderstood");
}

Test(iscsi_keys, digests_that_have_to_be_or_need_not)
{
	struct iscsi_keys keys;
	uint8_t bytes[512];
	struct wr w = wr_init(bytes, sizeof(bytes));

	iscsi_keys_init(&keys, false);
	keys.own[ISCSI_HEADER_DIGEST] = keys.own[ISCSI_DATA_DIGEST] = 1;
	keys.exclusive = 1u << ISCSI_HEADER_DIGEST;
	keys.standard_first = 1u << ISCSI_DATA_DIGEST;
	iscsi_keys_offer(&keys, ISCSI_HEADER_DIGEST, &w);
	iscsi_keys_offer(&keys, ISCSI_DATA_DIGEST, &w);
	cr_assert(!memcmp(bytes, "HeaderDigest=CRC32C\0DataDigest=None,CRC32C", 42));
	cr_assert_eq(iscsi_keys_receive(&keys, "HeaderDigest", "None", &w, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "HeaderDigest=None");
	cr_assert_eq(iscsi_keys_receive(&keys, "DataDigest", "CRC32C", &w, &why), 0);
	cr_assert_eq(keys.value[ISCSI_DATA_DIGEST], 1);
}
