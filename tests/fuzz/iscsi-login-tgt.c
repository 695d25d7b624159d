/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/iscsi core/proto/scsi core/target core/net */
/* The target's login with requests that are the input's: four bytes of each are its opcode, flags
 * and length, then comes its text. */
#include "../../core/proto/iscsi/login_tgt.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct iscsi_auth auths[3] = { { 0 },
	{ .user = "joe", .secret = "longenoughsecret", .algs = ISCSI_CHAP_ALL },
	{ .user = "joe",
		.secret = "longenoughsecret",
		.algs = ISCSI_CHAP_ALL,
		.target_user = "disk",
		.target_secret = "anothergoodsecret" } };

struct door {
	const struct iscsi_auth *auth;
	unsigned refused_algs;
	uint16_t status;
};

static uint16_t admit(
	void *user, const struct iscsi_login_names *asked, struct iscsi_login_grant *grant)
{
	const struct door *door = user;

	if (!*asked->initiator || (asked->target && !*asked->target) ||
		strpbrk(asked->initiator, " \n\x1b"))
		abort();
	*grant = (struct iscsi_login_grant){ .auth = *door->auth,
		.refused_algs = door->refused_algs,
		.redirect = "[fd00::2]:3261",
		.tpgt = 1,
		.tsih = 1 };
	return door->status;
}

static void check(const struct iscsi_login_tgt *login, int next, const struct diag *diag)
{
	bool full =
		login->rsp.flags & ISCSI_FINAL && ISCSI_NSG(login->rsp.flags) == ISCSI_STAGE_FULL;

	if (next < 0 ? !diag->text[0] ||
				(login->answer && login->rsp.status_class < ISCSI_LOGIN_INITIATOR)
		     : diag->err || !login->answer || login->out.bad)
		abort();
	if ((next == ISCSI_LOGIN_MOVED) != (login->rsp.status_class == ISCSI_LOGIN_REDIRECT) ||
		(next == ISCSI_LOGIN_DONE) != full)
		abort();
	/* Without authentication, no login succeeds and no TSIH is sent. */
	if ((next == ISCSI_LOGIN_DONE) != !!get_be16(login->rsp.tsih) && next >= 0)
		abort();
	if (next == ISCSI_LOGIN_DONE && login->grant.auth.user)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t statuses[] = { 0, 0, 0, 0, 0, 0, ISCSI_MOVED, ISCSI_FORBIDDEN };
	static const unsigned refused_algs[] = { 0, 1, ISCSI_CHAP_ALL };
	struct door door = { &auths[size % 3], refused_algs[size / 24 % 3],
		statuses[size / 3 % 8] };
	struct iscsi_login_tgt_params how = {
		.admit = admit, .user = &door, .rdma = size & 1, .recv_max = 8192
	};
	static const uint8_t noise[17];
	static struct iscsi_login_tgt login;
	unsigned requests = 0;

	iscsi_login_tgt_start(&login, &how, noise);
	while (size >= 4) {
		struct iscsi_login_req req = { .opcode = data[0] & 0x80 ? data[0] & 0x7f : 0x43,
			.flags = data[1] };
		uint32_t len = (uint32_t)(data[2] | (data[3] & 0x1f) << 8);
		struct diag diag = { 0 };
		int next;

		data += 4;
		size -= 4;
		len = len < size ? len : (uint32_t)size;
		next = iscsi_login_tgt_receive(&login, (const void *)&req, data, len, &diag);
		data += len;
		size -= len;
		check(&login, next, &diag);
		if (next != ISCSI_LOGIN_SEND &&
			++requests > 3) /* requests after the end of the login are rejected */
			break;
		if (requests > 1 && next >= 0)
			abort();
	}
	iscsi_login_tgt_end(&login);
	return 0;
}
