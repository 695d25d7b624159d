/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator's login against responses made here: stages, CHAP, redirects, every refusal, and
 * peers that lie. */
#include "login.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct diag why;
static const uint8_t noise[32] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18 };
static const struct iscsi_auth no_auth = { 0 },
			       joe = { .user = "joe", .secret = "longenoughsecret" },
			       both = { .user = "joe",
				       .secret = "longenoughsecret",
				       .target_secret = "anothergoodsecret" };

static void begin(struct iscsi_login *login, const struct iscsi_auth *auth, const char *target)
{
	struct iscsi_login_params how = {
		.initiator = "iqn.x:me", .target = target, .auth = auth, .recv_max = 65536
	};

	why = (struct diag){ 0 };
	iscsi_login_start(login, &how, noise);
}

static bool says(const struct iscsi_login *login, const char *pair)
{
	size_t len = strlen(pair) + 1;

	for (const uint8_t *p = login->data; p + len <= login->out.p;
		p += strlen((const char *)p) + 1)
		if (!memcmp(p, pair, len))
			return true;
	return false;
}

struct answer {
	uint8_t flags, status_class, detail;
	const char *text;
	size_t len;
};
static int take(struct iscsi_login *login, struct answer answer)
{
	struct iscsi_login_rsp rsp = { .opcode = ISCSI_LOGIN_RSP,
		.flags = answer.flags,
		.itt = login->req.itt,
		.statsn = put_be32(7),
		.status_class = answer.status_class,
		.status_detail = answer.detail };

	return iscsi_login_receive(login, (const void *)&rsp, (const uint8_t *)answer.text,
		(uint32_t)answer.len, &why);
}
#define SAYS(bits, ...)                                                                            \
	((struct answer){ .flags = bits, .text = "" __VA_ARGS__, .len = sizeof("" __VA_ARGS__) })
#define SILENT(bits) ((struct answer){ .flags = bits, .text = "" })
#define TO_KEYS      (ISCSI_FINAL | ISCSI_STAGES(0, 1))
#define TO_FULL      (ISCSI_FINAL | ISCSI_STAGES(1, 3))
#define IN_KEYS      ISCSI_STAGES(1, 0)
#define KEYS                                                                                       \
	"HeaderDigest=None\0DataDigest=None\0DefaultTime2Wait=2\0DefaultTime2Retain="              \
	"0\0ErrorRecoveryLevel=0"

Test(iscsi_login, without_chap)
{
	struct iscsi_login login;

	begin(&login, &no_auth, NULL);
	cr_assert_eq(login.req.flags, TO_KEYS);
	cr_assert(says(&login, "InitiatorName=iqn.x:me") && says(&login, "SessionType=Discovery") &&
		  says(&login, "AuthMethod=None"));
	cr_assert_eq(take(&login, SAYS(TO_KEYS, "AuthMethod=None\0TargetPortalGroupTag=3")),
		ISCSI_LOGIN_SEND, "%s", why.text);
	cr_assert_eq(login.tpgt, 3);
	cr_assert_eq(login.req.flags, TO_FULL);
	cr_assert_eq(get_be32(login.req.exp_statsn), 8);
	cr_assert(says(&login, "MaxRecvDataSegmentLength=65536") &&
		  says(&login, "HeaderDigest=None"));
	cr_assert_not(says(&login, "MaxBurstLength=262144"), "irrelevant to discovery");
	cr_assert_eq(take(&login, SAYS(TO_FULL, KEYS)), ISCSI_LOGIN_DONE, "%s", why.text);
	iscsi_login_end(&login);
}

/* As Linux' target does, if its thread is delayed. */
Test(iscsi_login, the_first_answer_again_in_the_next_one)
{
	struct iscsi_login login;

	begin(&login, &no_auth, NULL);
	cr_assert_eq(take(&login, SAYS(TO_KEYS, "AuthMethod=None\0TargetPortalGroupTag=3")),
		ISCSI_LOGIN_SEND, "%s", why.text);
	cr_assert_eq(take(&login, SAYS(TO_FULL, "AuthMethod=None\0TargetPortalGroupTag=3\0" KEYS)),
		ISCSI_LOGIN_DONE, "%s", why.text);
	iscsi_login_end(&login);
	begin(&login, &joe, NULL);
	cr_assert_eq(take(&login, SAYS(0, "AuthMethod=CHAP")), ISCSI_LOGIN_SEND, "%s", why.text);
	cr_assert_eq(
		take(&login, SAYS(0, "AuthMethod=CHAP\0CHAP_A=7\0CHAP_I=5\0CHAP_C=0x00112233")),
		ISCSI_LOGIN_SEND, "%s", why.text);
	iscsi_login_end(&login);
}

Test(iscsi_login, a_normal_session_over_iser)
{
	struct iscsi_login_params how = { .initiator = "iqn.x:me",
		.target = "iqn.x:t",
		.auth = &no_auth,
		.rdma = true,
		.recv_max = 8192 };
	struct iscsi_login login;

	iscsi_login_start(&login, &how, noise);
	cr_assert(says(&login, "SessionType=Normal") && says(&login, "TargetName=iqn.x:t"));
	cr_assert_eq(take(&login, SAYS(TO_KEYS, "AuthMethod=None")), ISCSI_LOGIN_SEND);
	cr_assert(says(&login, "RDMAExtensions=Yes") &&
		  says(&login, "InitiatorRecvDataSegmentLength=8192") &&
		  says(&login, "TargetRecvDataSegmentLength=8192") &&
		  says(&login, "iSERHelloRequired=No") &&
		  says(&login, "MaxOutstandingUnexpectedPDUs=0"));
	cr_assert_not(says(&login, "MaxRecvDataSegmentLength=8192"));
	iscsi_login_end(&login);
}

/* Parameters of the session were negotiated by its first connection. */
Test(iscsi_login, a_second_connection)
{
	struct iscsi_login_params how = { .initiator = "iqn.x:me",
		.target = "iqn.t",
		.auth = &no_auth,
		.rdma = true,
		.recv_max = 65536,
		.tsih = 5 };
	struct iscsi_login login;

	iscsi_login_start(&login, &how, noise);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(get_be16(login.req.tsih), 5);
		cr_assert_eq(get_be16(login.req.cid), 1);
		if (!i)
			cr_assert_eq(take(&login, SAYS(TO_KEYS, "AuthMethod=None")),
				ISCSI_LOGIN_SEND, "%s", why.text);
	}
	cr_assert(says(&login, "MaxRecvDataSegmentLength=65536"));
	cr_assert_not(says(&login, "MaxConnections=1") || says(&login, "ErrorRecoveryLevel=0") ||
		      says(&login, "RDMAExtensions=Yes"));
	cr_assert_eq(take(&login, (struct answer){ .status_class = 2, .detail = 6 }), -EBUSY);
	cr_assert_eq(login.status, ISCSI_TOO_MANY);
	iscsi_login_end(&login);
}

Test(iscsi_login, the_target_asks_too)
{
	struct iscsi_login login;

	begin(&login, &no_auth, NULL);
	take(&login, SAYS(TO_KEYS, "AuthMethod=None"));
	cr_assert_eq(
		take(&login,
			SAYS(IN_KEYS, KEYS
				"\0MaxBurstLength=65536\0X-a=1\0MaxRecvDataSegmentLength=4096")),
		ISCSI_LOGIN_SEND, "%s", why.text);
	cr_assert(says(&login, "MaxBurstLength=Irrelevant") && says(&login, "X-a=NotUnderstood"));
	cr_assert_eq(login.keys.value[ISCSI_MAX_RECV], 4096);
	cr_assert_eq(take(&login, SAYS(TO_FULL)), ISCSI_LOGIN_DONE, "%s", why.text);
	iscsi_login_end(&login);
}

static const char challenge[] = "CHAP_A=7\0CHAP_I=5\0CHAP_C=0x00112233445566778899aabbccddeeff";

Test(iscsi_login, chap)
{
	struct iscsi_login login;

	begin(&login, &joe, NULL);
	cr_assert_eq(login.req.flags, 0, "the stage does not end yet");
	cr_assert(says(&login, "AuthMethod=CHAP,None"));
	cr_assert_eq(take(&login, SAYS(0, "AuthMethod=CHAP")), ISCSI_LOGIN_SEND);
	cr_assert(says(&login, "CHAP_A=8,7,6"));
	cr_assert_eq(take(&login, (struct answer){ .text = challenge, .len = sizeof(challenge) }),
		ISCSI_LOGIN_SEND, "%s", why.text);
	cr_assert(says(&login, "CHAP_N=joe"));
	cr_assert_eq(login.req.flags, TO_KEYS);
	cr_assert_eq(take(&login, SILENT(TO_KEYS)), ISCSI_LOGIN_SEND, "%s", why.text);
	cr_assert_eq(take(&login, SAYS(TO_FULL, KEYS)), ISCSI_LOGIN_DONE);
	cr_assert(login.by_chap);
	iscsi_login_end(&login);
	cr_assert_eq(login.chap.challenge_len, 0, "wiped");
}

Test(iscsi_login, chap_that_is_not_mutual_where_it_has_to_be)
{
	struct iscsi_login login;

	begin(&login, &both, NULL);
	cr_assert(says(&login, "AuthMethod=CHAP"));
	take(&login, SAYS(0, "AuthMethod=CHAP"));
	take(&login, (struct answer){ .text = challenge, .len = sizeof(challenge) });
	cr_assert_eq(take(&login, SILENT(TO_KEYS)), -EACCES);
	diag_says(&why, DIAG_AUTH, NULL, "target mutual CHAP");
	iscsi_login_end(&login);
	begin(&login, &both, NULL);
	cr_assert_eq(take(&login, SAYS(0, "AuthMethod=None")), -EACCES);
	diag_says(&why, DIAG_AUTH, NULL, "without CHAP mutual");
	iscsi_login_end(&login);
}

Test(iscsi_login, who_lets_in_without)
{
	struct iscsi_login login;

	begin(&login, &joe, NULL);
	cr_assert_eq(take(&login, SAYS(0, "AuthMethod=None")), ISCSI_LOGIN_SEND);
	cr_assert_eq(login.req.flags, TO_KEYS);
	cr_assert_eq(take(&login, SILENT(TO_KEYS)), ISCSI_LOGIN_SEND);
	cr_assert_not(login.by_chap);
	iscsi_login_end(&login);
}

/* What tgt takes for SHA1 is SHA-256. */
Test(iscsi_login, a_number_of_two_meanings)
{
	struct iscsi_login login;

	begin(&login, &joe, NULL);
	take(&login, SAYS(0, "AuthMethod=CHAP"));
	take(&login, (struct answer){ .text = challenge, .len = sizeof(challenge) });
	cr_assert_lt(take(&login, (struct answer){ .status_class = 2, .text = "" }), 0);
	text_says(why.hint, "--chap-algs md5");
	iscsi_login_end(&login);
	begin(&login, &joe, NULL);
	take(&login, SAYS(0, "AuthMethod=CHAP"));
	cr_assert_lt(take(&login, (struct answer){ .status_class = 2, .text = "" }), 0);
	text_says(why.hint, "only_MD5 --chap-algs_md5");
	iscsi_login_end(&login);
}

static void ends(const struct iscsi_auth *auth, unsigned good, struct answer answer,
	enum diag_code code, const char *words)
{
	struct iscsi_login login;

	begin(&login, auth, NULL);
	if (good)
		cr_assert_eq(take(&login, SAYS(TO_KEYS, "AuthMethod=None")), ISCSI_LOGIN_SEND);
	cr_assert_lt(take(&login, answer), 0, "%s", words);
	diag_says(&why, code, NULL, words);
	iscsi_login_end(&login);
}

Test(iscsi_login, methods)
{
	ends(&no_auth, 0, SAYS(0, "AuthMethod=CHAP"), DIAG_AUTH,
		"AuthMethod=CHAP --user --secret-file");
	ends(&no_auth, 0, SAYS(0, "AuthMethod=Reject"), DIAG_AUTH,
		"AuthMethod=Reject --user --secret-file");
	ends(&joe, 0, SAYS(0, "AuthMethod=KRB5"), DIAG_AUTH, "CHAP AuthMethod=KRB5");
	ends(&joe, 0, SAYS(0, "AuthMethod=CHAP\0AuthMethod=CHAP"), DIAG_PROTOCOL, "AuthMethod");
	ends(&no_auth, 1, SAYS(TO_FULL, "AuthMethod=CHAP"), DIAG_PROTOCOL, "AuthMethod");
	ends(&no_auth, 1, SAYS(TO_FULL, "AuthMethod=Reject"), DIAG_PROTOCOL, "AuthMethod");
	ends(&joe, 0, SILENT(0), DIAG_PROTOCOL, "answer AuthMethod");
	ends(&joe, 0, SAYS(0, "CHAP_A=5"), DIAG_PROTOCOL, "CHAP_A");
	ends(&no_auth, 1, SAYS(TO_FULL, "CHAP_A=5"), DIAG_PROTOCOL, "CHAP_A");
	ends(&joe, 0, SAYS(0, "AuthMethod=CHAP\0CHAP_I=1"), DIAG_PROTOCOL, "challenge CHAP_A");
}

Test(iscsi_login, targets_that_lie)
{
	ends(&no_auth, 1, SAYS(TO_FULL, "HeaderDigest=None"), DIAG_PROTOCOL, "answer DataDigest");
	ends(&no_auth, 1, SAYS(TO_FULL, "MaxBurstLength=512"), DIAG_PROTOCOL,
		"target stage answer");
	ends(&no_auth, 1, SAYS(TO_KEYS, ""), DIAG_PROTOCOL, "stage_0 stage_1");
	ends(&no_auth, 0, SAYS(ISCSI_FINAL | ISCSI_STAGES(0, 3)), DIAG_PROTOCOL,
		"target stage login");
	ends(&joe, 0, SAYS(TO_KEYS, "AuthMethod=CHAP"), DIAG_PROTOCOL, "target stage login");
	ends(&no_auth, 0, SAYS(TO_KEYS | ISCSI_CONTINUE, "A=1"), DIAG_PROTOCOL,
		"target stage login");
	ends(&no_auth, 0, SILENT(ISCSI_CONTINUE), DIAG_PROTOCOL, "text");
	ends(&no_auth, 0, SAYS(TO_KEYS, "TargetPortalGroupTag=70000"), DIAG_PROTOCOL,
		"TargetPortalGroupTag=70000 65535");
	ends(&no_auth, 0, SAYS(TO_KEYS, "what"), DIAG_PROTOCOL, "key=value");
}

Test(iscsi_login, headers_that_lie)
{
	struct iscsi_login_rsp rsp = { .opcode = ISCSI_TEXT_RSP };
	struct iscsi_login login;

	begin(&login, &no_auth, NULL);
	cr_assert_eq(iscsi_login_receive(&login, (const void *)&rsp, NULL, 0, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "opcode 0x24");
	cr_assert_not(login.started);
	rsp.opcode = ISCSI_LOGIN_RSP;
	cr_assert_eq(iscsi_login_receive(&login, (const void *)&rsp, NULL, 0, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "response login");
	rsp.itt = login.req.itt;
	rsp.version_active = 1;
	cr_assert_eq(
		iscsi_login_receive(&login, (const void *)&rsp, NULL, 0, &why), -EPROTONOSUPPORT);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "iSCSI version 0x01");
	iscsi_login_end(&login);
}

Test(iscsi_login, no_end)
{
	struct iscsi_login login;
	int next, rounds = 0;

	begin(&login, &no_auth, NULL);
	take(&login, SAYS(TO_KEYS, "AuthMethod=None"));
	while ((next = take(&login, SILENT(IN_KEYS))) == ISCSI_LOGIN_SEND)
		rounds++;
	cr_assert_eq(next, -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "login 64");
	cr_assert_leq(rounds, ISCSI_LOGIN_REQUESTS);
	iscsi_login_end(&login);
	begin(&login, &no_auth, NULL);
	while ((next = take(&login, SAYS(ISCSI_CONTINUE, "A=1"))) == ISCSI_LOGIN_SEND)
		;
	diag_says(&why, DIAG_PROTOCOL, NULL, "login 64");
	iscsi_login_end(&login);
}

Test(iscsi_login, redirects)
{
	static const char to[] = "TargetAlias=x\0TargetAddress=[fd00::2]:3261,1",
			  nowhere[] = "TargetAlias=x";
	struct iscsi_login login;

	begin(&login, &no_auth, NULL);
	cr_assert_eq(
		take(&login,
			(struct answer){
				.status_class = 1, .detail = 1, .text = to, .len = sizeof(to) }),
		ISCSI_LOGIN_MOVED);
	cr_assert_str_eq(login.redirect, "[fd00::2]:3261");
	iscsi_login_end(&login);
	begin(&login, &no_auth, NULL);
	cr_assert_eq(take(&login, (struct answer){ .status_class = 1,
					  .detail = 2,
					  .text = nowhere,
					  .len = sizeof(nowhere) }),
		-EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "moved");
	iscsi_login_end(&login);
}

Test(iscsi_login, statuses_in_words)
{
	/* RFC 7143, 11.13.5 */
	for (unsigned status = ISCSI_INITIATOR_ERROR; status <= ISCSI_NO_RESOURCES;
		status += status == ISCSI_OUT_OF_PLACE ? 0xf5 : 1) {
		why = (struct diag){ 0 };
		cr_assert_lt(
			iscsi_login_status((uint8_t)(status >> 8), (uint8_t)status, false, &why),
			0);
		cr_assert(why.code != DIAG_REFUSED || why.err != EREMOTEIO, "%04x unknown", status);
	}
	for (unsigned status = 0x200; status <= 0x3ff; status++) {
		why = (struct diag){ 0 };
		cr_assert_lt(
			iscsi_login_status((uint8_t)(status >> 8), (uint8_t)status, false, &why),
			0);
		cr_assert(why.text[0] && why.err, "%04x", status);
	}
	cr_assert_eq(iscsi_login_status(2, 1, false, &why), -EACCES);
	diag_says(&why, DIAG_AUTH, NULL, "authentication 0201");
	text_says(why.hint, "CHAP --user --secret-file");
	iscsi_login_status(2, 1, true, &why);
	text_says(why.hint, "user secret initiator");
	cr_assert_eq(iscsi_login_status(2, 2, false, &why), -EPERM);
	cr_assert_eq(iscsi_login_status(2, 3, false, &why), -ENOENT);
	cr_assert_eq(iscsi_login_status(9, 9, false, &why), -EREMOTEIO);
	diag_says(&why, DIAG_REFUSED, NULL, "0909");
	cr_assert_str_eq(iscsi_reject_text(4), "protocol error");
	text_says(iscsi_reject_text(0), "reason");
	text_says(iscsi_reject_text(255), "reason");
}
