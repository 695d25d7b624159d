/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Discovery over iSER, with a target in memory: requests, results, and the error for each wrong
 * answer. */
/* Link: leap */
#include "dial.h"
#include "ep_pair.h"
#include "says.h"
#include "wire/iser.h"
#include <criterion/criterion.h>
#include <errno.h>

static const char list[] =
	"TargetName=iqn.x:a\0TargetAddress=10.0.0.1:3260,1\0TargetAddress=10.0.0.2:3260,2";
static const char keys[] = "HeaderDigest=None\0DataDigest=None\0DefaultTime2Wait="
			   "2\0DefaultTime2Retain=0\0ErrorRecoveryLevel=0";

enum manner {
	GOOD,
	PIECES,
	REJECTS,
	REJECTS_ALL,
	SHORT,
	NO_ISER,
	LONG_DATA,
	AHS,
	REFUSES,
	HANGS_UP,
	MUTE
};

struct target {
	struct ep_peer peer;
	struct loop *loop;
	struct addr addr;
	enum manner manner;
	unsigned pdus, texts;
	bool logged_out;
	uint8_t priv[4];
};

struct pdu {
	struct iser_hdr hdr;
	struct iscsi_bhs bhs;
	uint8_t data[1024];
};

static void give(struct ep *ep, const struct iscsi_bhs *req, uint8_t opcode, uint8_t flags,
	const char *text, size_t len)
{
	struct pdu pdu = { .hdr.flags = ISER_CONTROL,
		.bhs = { .opcode = opcode,
			.flags = flags,
			.data_len = put_be24((uint32_t)len),
			.itt = req->itt } };
	struct iscsi_text_rsp *rsp = (void *)&pdu.bhs;

	memcpy(pdu.data, text, len);
	if (opcode == ISCSI_REJECT)
		((struct iscsi_reject *)(void *)&pdu.bhs)->reason = ISCSI_REJECT_PROTOCOL;
	if (opcode == ISCSI_TEXT_RSP)
		rsp->ttt = put_be32(flags & ISCSI_FINAL ? ISCSI_NO_TAG : 5);
	cr_assert(ep_pair_deliver(ep, &pdu, (uint32_t)(offsetof(struct pdu, data) + len)));
}

static void corrupt(struct target *t, struct ep *ep, const struct iscsi_bhs *req)
{
	struct pdu pdu = { .hdr.flags = ISER_CONTROL,
		.bhs = { .opcode = ISCSI_LOGIN_RSP, .itt = req->itt } };
	uint32_t len = offsetof(struct pdu, data);

	if (t->manner == NO_ISER)
		pdu.hdr.flags = 0x20;
	if (t->manner == AHS)
		pdu.bhs.ahs_len = 1;
	if (t->manner == LONG_DATA)
		pdu.bhs.data_len = put_be24(100);
	if (t->manner == REFUSES)
		((struct iscsi_login_rsp *)&pdu.bhs)->status_class = 2,
					 ((struct iscsi_login_rsp *)&pdu.bhs)->status_detail = 2;
	ep_pair_deliver(ep, &pdu, t->manner == SHORT ? len - 1 : len);
}

static void reject(struct ep *ep)
{
	const struct iscsi_bhs none = { .itt = put_be32(ISCSI_NO_TAG) };

	give(ep, &none, ISCSI_REJECT, ISCSI_FINAL, "", 0);
}

static void text(struct target *t, struct ep *ep, const struct iscsi_bhs *req)
{
	size_t half = sizeof(list) / 2;

	t->texts++;
	if (t->manner == REJECTS_ALL || (t->manner == REJECTS && t->texts < 4))
		reject(ep);
	else if (t->manner == PIECES && t->texts == 1)
		give(ep, req, ISCSI_TEXT_RSP, ISCSI_CONTINUE, list, half);
	else if (t->manner == PIECES)
		give(ep, req, ISCSI_TEXT_RSP, ISCSI_FINAL, list + half, sizeof(list) - half);
	else
		give(ep, req, ISCSI_TEXT_RSP, ISCSI_FINAL, list, sizeof(list));
}

static void message(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	struct target *t = container_of(peer, struct target, peer);
	const struct pdu *pdu = (const void *)bytes;
	uint8_t opcode = ISCSI_OPCODE(pdu->bhs.opcode);

	cr_assert_geq(len, offsetof(struct pdu, data));
	cr_assert_eq(pdu->hdr.flags, ISER_CONTROL);
	cr_assert_eq(get_be24(pdu->bhs.data_len), len - offsetof(struct pdu, data));
	t->pdus++;
	if (t->manner == HANGS_UP)
		ep_pair_cut(ep);
	else if (t->manner >= SHORT && t->manner < HANGS_UP)
		corrupt(t, ep, &pdu->bhs);
	else if (t->manner == MUTE)
		return;
	else if (opcode == ISCSI_LOGIN_REQ && ISCSI_CSG(pdu->bhs.flags) == ISCSI_STAGE_SECURITY)
		give(ep, &pdu->bhs, ISCSI_LOGIN_RSP, pdu->bhs.flags, "AuthMethod=None", 16);
	else if (opcode == ISCSI_LOGIN_REQ)
		give(ep, &pdu->bhs, ISCSI_LOGIN_RSP, pdu->bhs.flags, keys, sizeof(keys));
	else if (opcode == ISCSI_TEXT_REQ)
		text(t, ep, &pdu->bhs);
	else if (opcode == ISCSI_LOGOUT_REQ) {
		t->logged_out = true;
		ep_pair_cut(ep);
	}
}

static void request(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	struct target *t = container_of(peer, struct target, peer);

	cr_assert_eq(len, 4);
	memcpy(t->priv, priv, 4);
	ep_pair_accept(ep, priv, len);
}

static struct diag why;
static struct iscsi_target_list found;
static const struct iscsi_identity from = { .initiator = "iqn.x:me" };

static int ask(struct target *t, enum manner manner)
{
	int err;

	*t = (struct target){ .manner = manner,
		.peer = { .message = message, .request = request } };
	why = (struct diag){ 0 };
	cr_assert_eq(loop_new(&t->loop, &(struct loop_options){ .name = "test" }, &why), 0);
	addr_parse(&t->addr, "10.0.0.1:3260", 0, NULL);
	ep_pair_peer(t->loop, &t->peer);
	err = iscsi_discover(t->loop, &t->addr, ISCSI_ISER, &from, 3000, &found, &why);
	loop_free(t->loop);
	return err;
}

static void listed(enum manner manner, unsigned texts)
{
	struct target t;

	cr_assert_eq(ask(&t, manner), 0, "%s", why.text);
	cr_assert_eq(found.count, 2);
	cr_assert_str_eq(found.record[1].name, "iqn.x:a");
	cr_assert_str_eq(found.record[1].host, "10.0.0.2");
	cr_assert_eq(found.record[1].tpgt, 2);
	cr_assert_eq(t.texts, texts);
	cr_assert(t.logged_out);
	cr_assert_eq(memcmp(t.priv, "\xc0\0\0\0", 4), 0, "as ib_iser says it");
	iscsi_target_list_free(&found);
}

Test(iscsi_discover, a_list)
{
	listed(GOOD, 1);
	listed(PIECES, 2);
}

/* As Linux's target does while it has not ended the login that it has answered. */
Test(iscsi_discover, a_request_that_comes_too_early)
{
	listed(REJECTS, 4);
}

static void ends(enum manner manner, int err, enum diag_code code, const char *words)
{
	struct target t;

	cr_assert_eq(ask(&t, manner), err, "%s", why.text);
	diag_says(&why, code, NULL, words);
	cr_assert_null(found.record);
}

Test(iscsi_discover, targets_that_lie)
{
	ends(SHORT, -EPROTO, DIAG_PROTOCOL, "75 iSER");
	ends(NO_ISER, -EPROTO, DIAG_PROTOCOL, "76 iSER");
	ends(AHS, -EPROTO, DIAG_PROTOCOL, "PDU additional_header");
	ends(LONG_DATA, -EPROTO, DIAG_PROTOCOL, "data_segment 100 76");
	ends(REFUSES, -EPERM, DIAG_AUTH, "initiator 0202");
	ends(REJECTS_ALL, -EPROTO, DIAG_REFUSED, "rejects PDU protocol");
	ends(MUTE, -ETIMEDOUT, DIAG_TIMEOUT, "login");
}

Test(iscsi_discover, a_target_that_hangs_up)
{
	struct target t;

	cr_assert_lt(ask(&t, HANGS_UP), 0);
	cr_assert(why.text[0]);
}

Test(iscsi_discover, the_same_secret_in_both_directions)
{
	struct iscsi_identity same = { .initiator = "iqn.x:me",
		.auth = { .user = "joe", .secret = "s", .target_secret = "s" } };
	struct loop *loop;
	struct addr addr;

	loop_new(&loop, &(struct loop_options){ .name = "test" }, &why);
	addr_parse(&addr, "10.0.0.1:3260", 0, NULL);
	cr_assert_eq(iscsi_discover(loop, &addr, ISCSI_ISER, &same, 300, &found, &why), -EINVAL);
	cr_assert_eq(iscsi_probe(loop, &same, NULL, 0, 300, &why), -EINVAL);
	loop_free(loop);
}

Test(iscsi_discover, probes)
{
	struct target t = { .peer = { .message = message, .request = request } };
	struct iscsi_probe probe[20];

	cr_assert_eq(loop_new(&t.loop, &(struct loop_options){ .name = "test" }, &why), 0);
	ep_pair_peer(t.loop, &t.peer);
	for (unsigned i = 0; i < 20; i++) {
		probe[i] = (struct iscsi_probe){ .carrier = ISCSI_ISER };
		addr_parse(&probe[i].addr, "10.0.0.1:3260", 0, NULL);
	}
	cr_assert_eq(iscsi_probe(t.loop, &from, probe, 20, 2000, &why), 0);
	for (unsigned i = 0; i < 20; i++)
		cr_assert(probe[i].answers && !probe[i].why.err, "%s", probe[i].why.text);
	cr_assert_eq(t.peer.dials, 20);
	cr_assert_eq(t.texts, 0, "nothing is asked");
	t.manner = REFUSES;
	cr_assert_eq(iscsi_probe(t.loop, &from, probe, 1, 2000, &why), 0);
	cr_assert(probe[0].answers && probe[0].why.err == EPERM, "a refusal is an answer");
	t.manner = MUTE;
	cr_assert_eq(iscsi_probe(t.loop, &from, probe, 1, 50, &why), 0);
	cr_assert(!probe[0].answers && probe[0].why.err == ETIMEDOUT);
	loop_free(t.loop);
}
