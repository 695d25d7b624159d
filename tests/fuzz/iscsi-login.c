/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/iscsi core/proto/scsi core/target core/net */
/* What iSCSI targets answer: text keys and lists of targets of any bytes, and a login whose
 * responses are the input's. */
#include "../../core/proto/iscsi/login.h"
#include "../../core/proto/iscsi/targets.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct iscsi_auth auths[3] = { { 0 }, { .user = "joe", .secret = "longenoughsecret" },
	{ .user = "joe",
		.secret = "longenoughsecret",
		.target_user = "disk",
		.target_secret = "anothergoodsecret" } };

static void check_list(const uint8_t *data, size_t size)
{
	struct iscsi_text text = { 0 };
	struct iscsi_target_list found = { 0 };
	struct diag diag = { 0 };
	struct addr asked;

	addr_parse(&asked, "10.0.0.1:3260", 0, NULL);
	if (!iscsi_text_add(&text, data, (uint32_t)size, ISCSI_TARGETS_TEXT, &diag) &&
		iscsi_targets_parse(&text, &asked, &found, &diag) && !diag.text[0])
		abort();
	for (unsigned i = 0; !diag.err && i < found.count; i++)
		if (!found.record[i].name[0] || !found.record[i].host[0] || !found.record[i].port ||
			strpbrk(found.record[i].host, " \n\x1b"))
			abort();
	iscsi_target_list_free(&found);
	iscsi_text_free(&text);
}

/* The table, with what was offered and without, given the same text. */
static void check_keys(const uint8_t *data, size_t size)
{
	for (unsigned way = 0; way < 4; way++) {
		struct iscsi_text text = { 0 };
		struct iscsi_keys keys;
		struct diag diag = { 0 };
		uint8_t answers[4096], offers[2048];
		struct wr a = wr_init(answers, sizeof(answers)),
			  o = wr_init(offers, sizeof(offers));
		char *key, *value;
		size_t at = 0;

		iscsi_keys_init(&keys, way & 2);
		for (unsigned i = 0; i < ISCSI_KEYS && !(way & 1); i++)
			iscsi_keys_offer(&keys, i, &o);
		iscsi_text_add(&text, data, (uint32_t)size, 65536, &diag);
		while (iscsi_text_next(&text, &at, &key, &value, &diag) > 0 &&
			!iscsi_keys_receive(&keys, key, value, &a, &diag))
			;
		if (keys.value[ISCSI_MAX_RECV] < 512 || keys.value[ISCSI_MAX_BURST] < 512 ||
			keys.value[ISCSI_MAX_CONNECTIONS] != 1 || keys.value[ISCSI_ERL])
			abort();
		iscsi_text_free(&text);
	}
}

/* Four bytes for each response: status class, flags, length of its text. */
static void check_login(const uint8_t *data, size_t size)
{
	struct iscsi_login_params how = { .initiator = "iqn.x:me",
		.auth = &auths[size % 3],
		.rdma = size & 1,
		.recv_max = 8192 };
	static const uint8_t noise[32];
	static struct iscsi_login login;
	struct diag diag = { 0 };
	int next = ISCSI_LOGIN_SEND;
	unsigned responses = 0;

	if (size & 4)
		how.target = "iqn.x:t";
	iscsi_login_start(&login, &how, noise);
	while (next == ISCSI_LOGIN_SEND && size >= 4) {
		struct iscsi_login_rsp rsp = { .opcode = ISCSI_LOGIN_RSP,
			.flags = data[1],
			.itt = login.req.itt,
			.status_class = data[0] & 0xe0 ? 0 : data[0] };
		uint32_t len = (uint32_t)(data[2] | (data[3] & 0x1f) << 8);

		data += 4;
		size -= 4;
		len = len < size ? len : (uint32_t)size;
		next = iscsi_login_receive(&login, (const void *)&rsp, data, len, &diag);
		data += len;
		size -= len;
		if (next < 0 ? !diag.text[0] : diag.err || login.out.bad)
			abort();
		if (++responses > ISCSI_LOGIN_REQUESTS + 1 ||
			(next == ISCSI_LOGIN_MOVED && !login.redirect[0]))
			abort();
		/* Nothing lets in who did not prove itself */
		if (next == ISCSI_LOGIN_DONE && how.auth->target_secret)
			abort();
	}
	iscsi_login_end(&login);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 65536)
		return 0;
	check_list(data, size);
	check_keys(data, size);
	check_login(data, size);
	return 0;
}
