/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's login: our initiator against it, whole and in pieces, with every algorithm; then
 * requests made here, of initiators that err or lie. */
#include "login_tgt.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

static struct diag why, tgt_why;
static const uint8_t noise[32] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18 },
		     hiss[17] = { 99, 98, 97, 96, 95 };
static const struct iscsi_auth no_auth = { 0 },
			       joe = { .user = "joe", .secret = "longenoughsecret" },
			       both = { .user = "joe",
				       .secret = "longenoughsecret",
				       .target_user = "disk",
				       .target_secret = "anothergoodsecret" };

/* What the caller knows. */
static struct door {
	struct iscsi_login_grant grant;
	uint16_t status;
	unsigned asked;
	char initiator[64], target[64];
} door;

static uint16_t admit(
	void *user, const struct iscsi_login_names *asked, struct iscsi_login_grant *grant)
{
	struct door *d = user;

	d->asked++;
	snprintf(d->initiator, sizeof(d->initiator), "%s", asked->initiator);
	snprintf(d->target, sizeof(d->target), "%s", asked->target ? asked->target : "(discovery)");
	*grant = d->grant;
	return d->status;
}

static void open_door(const struct iscsi_auth *auth)
{
	door = (struct door){ .grant = { .auth = *auth, .tpgt = 3, .tsih = 7 } };
	why = tgt_why = (struct diag){ 0 };
}

static struct iscsi_login ini;
static struct iscsi_login_tgt tgt;
static size_t piece; /* texts go over in PDUs of so many bytes; 0: whole */

static void start(const char *target, const struct iscsi_auth *auth, bool rdma)
{
	struct iscsi_login_params how = { .initiator = "iqn.x:me",
		.target = target,
		.auth = auth,
		.rdma = rdma,
		.recv_max = 65536 };
	struct iscsi_login_tgt_params tgt_how = {
		.admit = admit, .user = &door, .rdma = rdma, .recv_max = 32768
	};

	iscsi_login_start(&ini, &how, noise);
	iscsi_login_tgt_start(&tgt, &tgt_how, hiss);
}

static int to_target(void)
{
	uint32_t len = iscsi_login_len(&ini), at = 0;
	struct iscsi_login_req req = ini.req;

	for (; piece && len - at > piece; at += (uint32_t)piece) {
		req.flags = ISCSI_CONTINUE | ISCSI_STAGES(ISCSI_CSG(ini.req.flags), 0);
		cr_assert_eq(iscsi_login_tgt_receive(&tgt, (const void *)&req, ini.data + at,
				     (uint32_t)piece, &tgt_why),
			ISCSI_LOGIN_SEND, "%s", tgt_why.text);
		cr_assert(iscsi_login_tgt_len(&tgt) == 0 &&
			  tgt.rsp.flags == ISCSI_STAGES(ISCSI_CSG(ini.req.flags), 0));
	}
	return iscsi_login_tgt_receive(
		&tgt, (const void *)&ini.req, ini.data + at, len - at, &tgt_why);
}

/* In pieces the stage ends behind them: what asks for the next one does not ask for the end. */
static int to_initiator(void)
{
	uint32_t len = iscsi_login_tgt_len(&tgt), at = 0;
	struct iscsi_login_rsp rsp = tgt.rsp;

	for (; piece && !rsp.status_class && len - at > piece; at += (uint32_t)piece) {
		rsp.flags = ISCSI_CONTINUE | ISCSI_STAGES(ISCSI_CSG(tgt.rsp.flags), 0);
		cr_assert_eq(iscsi_login_receive(&ini, (const void *)&rsp, tgt.data + at,
				     (uint32_t)piece, &why),
			ISCSI_LOGIN_SEND, "%s", why.text);
		cr_assert_eq(iscsi_login_len(&ini), 0);
	}
	if (at && tgt.rsp.flags & ISCSI_FINAL) {
		rsp.flags = ISCSI_STAGES(ISCSI_CSG(tgt.rsp.flags), 0);
		cr_assert_eq(iscsi_login_receive(
				     &ini, (const void *)&rsp, tgt.data + at, len - at, &why),
			ISCSI_LOGIN_SEND, "%s", why.text);
		cr_assert(iscsi_login_len(&ini) == 0 && ini.req.flags == tgt.rsp.flags);
		at = len;
	}
	return iscsi_login_receive(&ini, (const void *)&tgt.rsp, tgt.data + at, len - at, &why);
}

/* Both sides to the end, which is the initiator's. */
static int run(void)
{
	int next = ISCSI_LOGIN_SEND, there = ISCSI_LOGIN_SEND;

	for (unsigned i = 0; i < 20 && next == ISCSI_LOGIN_SEND; i++) {
		there = to_target();
		cr_assert(tgt.answer && !tgt.out.bad);
		cr_assert_eq(
			there<0, tgt.rsp.status_class> ISCSI_LOGIN_REDIRECT, "%s", tgt_why.text);
		next = to_initiator();
		cr_assert(there >= 0 || next < 0, "the login continues after a refusal");
	}
	if (next == ISCSI_LOGIN_DONE)
		cr_assert_eq(there, ISCSI_LOGIN_DONE);
	return next;
}

static void end(void)
{
	iscsi_login_end(&ini);
	iscsi_login_tgt_end(&tgt);
}

Test(iscsi_login_tgt, without_chap)
{
	open_door(&no_auth);
	start(NULL, &no_auth, false);
	cr_assert_eq(run(), ISCSI_LOGIN_DONE, "%s%s", why.text, tgt_why.text);
	cr_assert_str_eq(door.initiator, "iqn.x:me");
	cr_assert_str_eq(door.target, "(discovery)");
	cr_assert_eq(door.asked, 1);
	cr_assert_eq(ini.tsih, 7);
	cr_assert_eq(ini.tpgt, -1, "of a target only");
	cr_assert_eq(ini.keys.value[ISCSI_MAX_RECV], 32768);
	cr_assert_eq(tgt.keys.value[ISCSI_MAX_RECV], 65536);
	end();
}

Test(iscsi_login_tgt, a_normal_session)
{
	open_door(&no_auth);
	start("iqn.x:t", &no_auth, false);
	tgt.keys.own[ISCSI_MAX_BURST] = 131072;
	tgt.keys.own[ISCSI_INITIAL_R2T] = 0;
	cr_assert_eq(run(), ISCSI_LOGIN_DONE, "%s%s", why.text, tgt_why.text);
	cr_assert_str_eq(door.target, "iqn.x:t");
	cr_assert_eq(ini.tpgt, 3);
	cr_assert_eq(ini.keys.value[ISCSI_MAX_BURST], 131072);
	for (unsigned key = 0; key < ISCSI_KEYS; key++)
		if (key != ISCSI_MAX_RECV)
			cr_assert_eq(ini.keys.value[key], tgt.keys.value[key], "%s",
				iscsi_key_name(key));
	end();
}

Test(iscsi_login_tgt, keys_of_iser)
{
	open_door(&no_auth);
	start("iqn.x:t", &no_auth, true);
	cr_assert_eq(run(), ISCSI_LOGIN_DONE, "%s%s", why.text, tgt_why.text);
	cr_assert_eq(ini.keys.value[ISCSI_RDMA_EXTENSIONS], 1);
	cr_assert_eq(ini.keys.value[ISCSI_INITIATOR_RECV], 65536);
	cr_assert_eq(ini.keys.value[ISCSI_TARGET_RECV], 8192, "the lesser of what both can");
	for (unsigned key = ISCSI_RDMA_EXTENSIONS; key < ISCSI_KEYS; key++)
		cr_assert_eq(ini.keys.value[key], tgt.keys.value[key], "%s", iscsi_key_name(key));
	cr_assert_not(tgt.keys.offered & 1u << ISCSI_MAX_RECV, "not over iSER");
	end();
	/* an initiator over iSER with a target that is asked over TCP */
	start("iqn.x:t", &no_auth, true);
	tgt.params.rdma = false;
	tgt.keys.own[ISCSI_RDMA_EXTENSIONS] = 0;
	cr_assert_eq(run(), ISCSI_LOGIN_DONE, "%s%s", why.text, tgt_why.text);
	cr_assert_eq(ini.keys.value[ISCSI_RDMA_EXTENSIONS], 0);
	cr_assert_eq(ini.keys.value[ISCSI_TARGET_RECV], 8192, "irrelevant");
	end();
}

Test(iscsi_login_tgt, in_pieces)
{
	for (piece = 24; piece < 200; piece += 7) {
		open_door(&both);
		start("iqn.x:t", &both, piece & 1);
		cr_assert_eq(run(), ISCSI_LOGIN_DONE, "%zu bytes each: %s%s", piece, why.text,
			tgt_why.text);
		cr_assert(tgt.by_chap && ini.chap.proved);
		end();
	}
	/* so many that there is no end in sight */
	piece = 1;
	open_door(&no_auth);
	start("iqn.x:t", &no_auth, false);
	for (unsigned i = 0; i < ISCSI_LOGIN_REQUESTS + 1 && !tgt_why.err; i++) {
		struct iscsi_login_req req = ini.req;

		req.flags = ISCSI_CONTINUE;
		iscsi_login_tgt_receive(&tgt, (const void *)&req, ini.data + i, 1, &tgt_why);
	}
	diag_says(&tgt_why, DIAG_PROTOCOL, NULL, "login 64");
	cr_assert_eq(tgt.rsp.status_class, ISCSI_LOGIN_INITIATOR);
	end();
	piece = 0;
}

Test(iscsi_login_tgt, chap_of_every_kind)
{
	for (unsigned alg = 0; alg < 4; alg++)
		for (unsigned mutual = 0; mutual < 2; mutual++) {
			struct iscsi_auth here = both, there = mutual ? both : joe;

			there.algs = ISCSI_CHAP_ALL;
			here.algs = 1u << alg;
			open_door(&here);
			start(alg & 1 ? "iqn.x:t" : NULL, &there, false);
			cr_assert_eq(run(), ISCSI_LOGIN_DONE, "%s%s", why.text, tgt_why.text);
			cr_assert(ini.by_chap && tgt.by_chap);
			cr_assert_eq(ini.chap.alg, ISCSI_CHAP_MD5 + alg);
			cr_assert_eq(ini.chap.proved, mutual);
			end();
		}
	open_door(&both);
	start(NULL, &joe, false);
	cr_assert_eq(run(), ISCSI_LOGIN_DONE);
	cr_assert_eq(ini.chap.alg, ISCSI_CHAP_SHA3_256, "the strongest");
	end();
	/* not the initiator's first */
	open_door(&both);
	start(NULL, &joe, false);
	cr_assert_eq(to_target(), ISCSI_LOGIN_SEND);
	cr_assert_eq(to_initiator(), ISCSI_LOGIN_SEND);
	ini.out = wr_init(ini.data, sizeof(ini.data));
	iscsi_text_put(&ini.out, "CHAP_A", "5,6,7,9");
	cr_assert_eq(to_target(), ISCSI_LOGIN_SEND, "%s", tgt_why.text);
	cr_assert_eq(tgt.chap.alg, ISCSI_CHAP_SHA256);
	end();
}

static void refused(const struct iscsi_auth *here, const struct iscsi_auth *there, unsigned status,
	const char *words)
{
	open_door(here);
	start("iqn.x:t", there, false);
	cr_assert_lt(run(), 0, "%s", words);
	cr_assert_eq(ISCSI_LOGIN_STATUS(tgt.rsp.status_class, tgt.rsp.status_detail), status,
		"%s: %s", words, why.text);
	diag_says(status ? &tgt_why : &why, DIAG_AUTH, NULL, words);
	cr_assert_eq(iscsi_login_tgt_len(&tgt) == 0, status != 0, "a refusal tells nothing else");
	end();
}

Test(iscsi_login_tgt, who_does_not_prove_itself)
{
	struct iscsi_auth jim = joe, wrong = joe, md5 = joe, other = both, tape = both;

	jim.user = "jim";
	wrong.secret = "wrongwrongwrong1";
	md5.algs = 1;
	other.target_secret = "wrongwrongwrong1";
	tape.target_user = "tape";
	refused(&joe, &no_auth, ISCSI_NOT_PROVED, "initiator CHAP");
	refused(&joe, &jim, ISCSI_NOT_PROVED, "jim secret");
	refused(&joe, &wrong, ISCSI_NOT_PROVED, "joe secret");
	refused(&no_auth, &both, ISCSI_NOT_PROVED, "initiator CHAP secret");
	refused(&joe, &both, ISCSI_NOT_PROVED, "target secret");
	refused(&both, &other, 0, "target secret");
	refused(&both, &tape, 0, "disk tape");
	md5.algs = 2;
	wrong = both;
	wrong.algs = 1;
	refused(&wrong, &md5, ISCSI_NOT_PROVED, "CHAP_A=6");
	md5.algs = 1;
	refused(&joe, &md5, ISCSI_NOT_PROVED, "MD5 chap=md5 CHAP_A=5");
	text_says(why.hint, "MD5 chap=md5");
	text_says(why.text, "0201");
	/* the same secret for both, and a challenge that is given back */
	open_door(&both);
	start(NULL, &both, false);
	memcpy(ini.chap.own, hiss, sizeof(ini.chap.own));
	cr_assert_lt(run(), 0);
	diag_says(&tgt_why, DIAG_AUTH, NULL, "challenge");
	end();
}

/* A response that fails whatever it is: the answers are those to a wrong secret. */
Test(iscsi_login_tgt, responses_that_must_fail)
{
	static const unsigned refused_algs[] = { ISCSI_CHAP_ALL, 1 };
	struct iscsi_auth all = joe, md5 = joe;

	all.algs = ISCSI_CHAP_ALL;
	md5.algs = 1;
	for (unsigned i = 0; i < 2; i++) {
		open_door(&all);
		door.grant.refused_algs = refused_algs[i];
		start("iqn.x:t", &md5, false);
		cr_assert_lt(run(), 0);
		cr_assert_eq(ISCSI_LOGIN_STATUS(tgt.rsp.status_class, tgt.rsp.status_detail),
			ISCSI_NOT_PROVED);
		cr_assert_eq(tgt.step, ISCSI_TGT_PROOF);
		diag_says(&tgt_why, DIAG_AUTH, NULL, i ? "MD5 chap=md5" : "unknown_initiator");
		end();
	}
	open_door(&all);
	door.grant.refused_algs = 1;
	start("iqn.x:t", &joe, false);
	cr_assert_eq(run(), ISCSI_LOGIN_DONE, "%s%s", why.text, tgt_why.text);
	end();
}

Test(iscsi_login_tgt, who_is_not_let_in)
{
	static const uint16_t statuses[] = { ISCSI_FORBIDDEN, ISCSI_NOT_FOUND, ISCSI_REMOVED,
		ISCSI_UNAVAILABLE, ISCSI_NO_RESOURCES };

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		char number[8];

		snprintf(number, sizeof(number), "%04x", statuses[i]);
		open_door(&no_auth);
		door.status = statuses[i];
		start("iqn.x:t", &joe, false);
		cr_assert_lt(run(), 0);
		cr_assert_eq(ISCSI_LOGIN_STATUS(tgt.rsp.status_class, tgt.rsp.status_detail),
			statuses[i]);
		text_says(why.text, number);
		diag_says(&tgt_why, DIAG_REFUSED, NULL, number);
		/* a login request after a refusal fails */
		cr_assert_lt(to_target(), 0);
		diag_says(&tgt_why, DIAG_PROTOCOL, NULL, "login request");
		end();
	}
}

Test(iscsi_login_tgt, who_is_sent_elsewhere)
{
	open_door(&no_auth);
	door.status = ISCSI_MOVED_FOR_NOW;
	door.grant.redirect = "[fd00::2]:3261";
	start("iqn.x:t", &no_auth, false);
	cr_assert_eq(to_target(), ISCSI_LOGIN_MOVED);
	cr_assert_eq(to_initiator(), ISCSI_LOGIN_MOVED, "%s", why.text);
	cr_assert_str_eq(ini.redirect, "[fd00::2]:3261");
	end();
}

/* Requests made here. */
struct ask {
	uint8_t opcode, flags;
	const char *text;
	size_t len;
};
static int take(struct ask ask)
{
	struct iscsi_login_req req = {
		.opcode = ask.opcode, .flags = ask.flags, .isid = { 0x80, 1 }
	};

	return iscsi_login_tgt_receive(
		&tgt, (const void *)&req, (const uint8_t *)ask.text, (uint32_t)ask.len, &tgt_why);
}
#define SAYS(bits, ...)                                                                            \
	((struct ask){ .opcode = 0x43,                                                             \
		.flags = bits,                                                                     \
		.text = "" __VA_ARGS__,                                                            \
		.len = sizeof("" __VA_ARGS__) })
#define SILENT(bits) ((struct ask){ .opcode = 0x43, .flags = bits, .text = "" })
#define TO_KEYS      (ISCSI_FINAL | ISCSI_STAGES(0, 1))
#define TO_FULL      (ISCSI_FINAL | ISCSI_STAGES(1, 3))
#define IN_KEYS      ISCSI_STAGES(1, 0)
#define NAMES        "InitiatorName=iqn.x:me\0SessionType=Normal\0TargetName=iqn.x:t"

static bool answers(const char *pair)
{
	size_t len = strlen(pair) + 1;

	for (const uint8_t *p = tgt.data; p + len <= tgt.out.p; p += strlen((const char *)p) + 1)
		if (!memcmp(p, pair, len))
			return true;
	return false;
}

Test(iscsi_login_tgt, stages_that_are_left_out)
{
	open_door(&no_auth);
	start(NULL, &no_auth, false);
	cr_assert_eq(
		take(SAYS(TO_FULL, NAMES "\0HeaderDigest=CRC32C,None\0MaxBurstLength=512\0X-a=1")),
		ISCSI_LOGIN_DONE, "%s", tgt_why.text);
	cr_assert(answers("HeaderDigest=None") && answers("MaxBurstLength=512") &&
		  answers("X-a=NotUnderstood") && answers("TargetPortalGroupTag=3"));
	cr_assert(answers("MaxRecvDataSegmentLength=32768"));
	cr_assert_eq(tgt.rsp.flags, TO_FULL);
	end();
	start(NULL, &no_auth, false);
	cr_assert_eq(take(SAYS(ISCSI_FINAL | ISCSI_STAGES(0, 3), NAMES "\0AuthMethod=CHAP,None")),
		ISCSI_LOGIN_DONE, "%s", tgt_why.text);
	cr_assert(answers("AuthMethod=None"));
	end();
	start(NULL, &no_auth, false);
	cr_assert_eq(take(SAYS(TO_KEYS, NAMES)), ISCSI_LOGIN_SEND, "no method, no need of one: %s",
		tgt_why.text);
	cr_assert_eq(take(SAYS(IN_KEYS, "InitialR2T=No")), ISCSI_LOGIN_SEND);
	cr_assert_eq(tgt.rsp.flags, IN_KEYS);
	cr_assert(answers("InitialR2T=Yes"));
	cr_assert_eq(take(SILENT(TO_FULL)), ISCSI_LOGIN_DONE);
	end();
}

/* Of these requests the last is refused, with that status. */
static void errs(const struct iscsi_auth *auth, unsigned status, const char *words, unsigned count,
	const struct ask *asks)
{
	enum diag_code code = status == 0x0201   ? DIAG_AUTH
			      : status == 0x0209 ? DIAG_UNSUPPORTED
						 : DIAG_PROTOCOL;

	open_door(auth);
	start(NULL, &no_auth, false);
	for (unsigned i = 0; i + 1 < count; i++)
		cr_assert_eq(take(asks[i]), ISCSI_LOGIN_SEND, "%s: %s", words, tgt_why.text);
	cr_assert_lt(take(asks[count - 1]), 0, "%s", words);
	diag_says(&tgt_why, code, NULL, words);
	cr_assert(tgt.answer);
	cr_assert_eq(ISCSI_LOGIN_STATUS(tgt.rsp.status_class, tgt.rsp.status_detail), status, "%s",
		words);
	end();
}
#define ERRS(auth, status, words, ...)                                                             \
	errs(auth, status, words, sizeof((struct ask[]){ __VA_ARGS__ }) / sizeof(struct ask),      \
		(struct ask[]){ __VA_ARGS__ })

Test(iscsi_login_tgt, initiators_that_err)
{
	const struct ask names = SAYS(TO_KEYS, NAMES), method = SAYS(0, NAMES "\0AuthMethod=CHAP"),
			 alg = SAYS(0, "CHAP_A=7");

	ERRS(&no_auth, 0x0207, "InitiatorName", SAYS(TO_KEYS, "SessionType=Discovery"));
	ERRS(&no_auth, 0x0207, "TargetName", SAYS(TO_KEYS, "InitiatorName=iqn.x:me"));
	ERRS(&no_auth, 0x0207, "InitiatorName", SILENT(TO_KEYS));
	ERRS(&no_auth, 0x0209, "session Other",
		SAYS(TO_KEYS, "InitiatorName=iqn.x:me\0SessionType=Other"));
	ERRS(&no_auth, 0x0200, "name 223", SAYS(TO_KEYS, "InitiatorName=a b\0TargetName=c"));
	ERRS(&no_auth, 0x0200, "InitiatorName", SAYS(TO_KEYS, NAMES "\0InitiatorName=iqn.x:you"));
	ERRS(&no_auth, 0x0200, "names", names, SAYS(IN_KEYS, "TargetName=iqn.x:u"));
	ERRS(&no_auth, 0x0200, "stage_3", SAYS(ISCSI_STAGES(3, 0), NAMES));
	ERRS(&no_auth, 0x0200, "stage_0 stage_1", names, SILENT(0));
	ERRS(&no_auth, 0x0200, "stage_0 to_2", SAYS(ISCSI_FINAL | ISCSI_STAGES(0, 2), NAMES));
	ERRS(&no_auth, 0x0200, "stage_1 to_1", names, SILENT(ISCSI_FINAL | ISCSI_STAGES(1, 1)));
	ERRS(&no_auth, 0x0200, "stage_0 to_1 text", SAYS(TO_KEYS | ISCSI_CONTINUE, NAMES));
	ERRS(&no_auth, 0x0200, "text", SILENT(ISCSI_CONTINUE));
	ERRS(&no_auth, 0x0200, "key=value", SAYS(TO_KEYS, "what"));
	ERRS(&no_auth, 0x0200, "MaxBurstLength=1", names, SAYS(TO_FULL, "MaxBurstLength=1"));
	ERRS(&no_auth, 0x0200, "MaxBurstLength", names,
		SAYS(TO_FULL, "MaxBurstLength=512\0MaxBurstLength=512"));
	ERRS(&no_auth, 0x0200, "AuthMethod stage", names, SAYS(TO_FULL, "AuthMethod=None"));
	ERRS(&no_auth, 0x0200, "AuthMethod", SAYS(0, NAMES "\0AuthMethod=None"),
		SAYS(0, "AuthMethod=None"));
	ERRS(&no_auth, 0x0200, "CHAP keys", SAYS(0, NAMES "\0AuthMethod=None"), alg);
	ERRS(&no_auth, 0x020b, "opcode 0x04", names, (struct ask){ .opcode = 0x44, .text = "" });
	ERRS(&joe, 0x0201, "initiator CHAP", names);
	ERRS(&joe, 0x0201, "initiator CHAP", SAYS(TO_FULL, NAMES));
	ERRS(&joe, 0x0201, "initiator CHAP", SAYS(TO_KEYS, NAMES "\0AuthMethod=XCHAP,CHAPX,None"));
	ERRS(&joe, 0x0200, "CHAP keys", method, SAYS(0, "CHAP_N=joe\0CHAP_R=0x00"));
	ERRS(&joe, 0x0200, "CHAP keys", method, alg, alg);
	ERRS(&joe, 0x0200, "CHAP_R", method, alg, SAYS(TO_KEYS, "CHAP_N=joe"));
	ERRS(&joe, 0x0200, "CHAP_N", method, alg, SAYS(TO_KEYS, "CHAP_R=0x00"));
	ERRS(&joe, 0x0201, "joe secret", method, alg, SAYS(TO_KEYS, "CHAP_N=joe\0CHAP_R=0x00"));
	ERRS(&joe, 0x0201, "joe secret", method, alg, SAYS(TO_KEYS, "CHAP_N=joe\0CHAP_R=none"));
	ERRS(&joe, 0x0201, "CHAP_A=4,x,,99999999", method, SAYS(0, "CHAP_A=4,x,,99999999"));
}

/* A stage does not end before its proof, however often it is asked to. */
Test(iscsi_login_tgt, no_way_around)
{
	open_door(&joe);
	start(NULL, &no_auth, false);
	cr_assert_eq(take(SAYS(TO_KEYS, NAMES "\0AuthMethod=CHAP")), ISCSI_LOGIN_SEND);
	for (unsigned i = 0; i < 10; i++) {
		cr_assert_eq(take(SILENT(ISCSI_FINAL | ISCSI_STAGES(0, 3))), ISCSI_LOGIN_SEND);
		cr_assert_eq(tgt.rsp.flags, 0);
		cr_assert_eq(get_be16(tgt.rsp.tsih), 0);
	}
	end();
}

Test(iscsi_login_tgt, headers_that_lie)
{
	struct iscsi_login_req req = { .opcode = 0x43, .version_min = 1 };

	open_door(&no_auth);
	start(NULL, &no_auth, false);
	cr_assert_eq(iscsi_login_tgt_receive(&tgt, (const void *)&req, NULL, 0, &tgt_why),
		-EPROTONOSUPPORT);
	cr_assert_eq(tgt.rsp.status_detail, 5);
	end();
	start(NULL, &no_auth, false);
	cr_assert_lt(take((struct ask){ .opcode = 0x41, .text = "" }), 0);
	cr_assert_not(tgt.answer, "another first PDU has no answer");
	cr_assert_lt(take(SAYS(TO_KEYS, NAMES)), 0);
	diag_says(&tgt_why, DIAG_PROTOCOL, NULL, "login request");
	end();
	start(NULL, &no_auth, false);
	cr_assert_eq(take(SAYS(TO_KEYS, NAMES)), ISCSI_LOGIN_SEND);
	req = (struct iscsi_login_req){ .opcode = 0x43, .flags = IN_KEYS, .isid = { 0x80, 2 } };
	cr_assert_lt(iscsi_login_tgt_receive(&tgt, (const void *)&req, NULL, 0, &tgt_why), 0);
	diag_says(&tgt_why, DIAG_PROTOCOL, NULL, "another login");
	end();
	start(NULL, &no_auth, false);
	cr_assert_eq(take(SAYS(TO_KEYS, NAMES)), ISCSI_LOGIN_SEND);
	req = (struct iscsi_login_req){ .opcode = 0x43, .flags = IN_KEYS, .tsih = put_be16(4) };
	memcpy(req.isid, tgt.first.isid, sizeof(req.isid));
	cr_assert_lt(iscsi_login_tgt_receive(&tgt, (const void *)&req, NULL, 0, &tgt_why), 0);
	diag_says(&tgt_why, DIAG_PROTOCOL, NULL, "another login");
	end();
}

/* More answers than a response has room for. */
Test(iscsi_login_tgt, many_keys)
{
	static char text[8000];
	size_t len = 0;

	while (len < sizeof(text) - 32)
		len += (size_t)sprintf(text + len, "K%zu=", len) + 1;
	open_door(&no_auth);
	start(NULL, &no_auth, false);
	take(SAYS(TO_KEYS, NAMES));
	cr_assert_lt(
		take((struct ask){ .opcode = 0x43, .flags = TO_FULL, .text = text, .len = len }),
		0);
	diag_says(&tgt_why, DIAG_PROTOCOL, NULL, "keys PDU");
	cr_assert_eq(ISCSI_LOGIN_STATUS(tgt.rsp.status_class, tgt.rsp.status_detail),
		ISCSI_NO_RESOURCES);
	end();
}
