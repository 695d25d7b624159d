/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* CHAP: digests held against those of Python's hashlib, and the exchange with targets that cheat.
 */
#include "chap.h"
#include "says.h"
#include "text.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct diag why;
static const uint8_t challenge[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const uint8_t noise[17] = { 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 42 };
static const struct iscsi_auth one_way = {
	.user = "joe", .secret = "longenoughsecret", .algs = ISCSI_CHAP_ALL
};
static const struct iscsi_auth mutual = { .user = "joe",
	.algs = ISCSI_CHAP_ALL,
	.secret = "longenoughsecret",
	.target_secret = "anothergoodsecret",
	.target_user = "disk" };

static void digest_is(unsigned alg, const char *expected)
{
	uint8_t digest[ISCSI_CHAP_DIGEST_MAX], right[ISCSI_CHAP_DIGEST_MAX];
	unsigned len =
		iscsi_chap_digest(alg, 1, "longenoughsecret", challenge, sizeof(challenge), digest);

	cr_assert_eq(iscsi_binary_get(expected, right, sizeof(right)), (int)len);
	cr_assert_eq(memcmp(digest, right, len), 0, "%s", iscsi_chap_name(alg));
}

Test(iscsi_chap, digests)
{
	digest_is(5, "0xf892bb4624929229fed437564094adae");
	digest_is(6, "0xcb8eb3439f1cc9e7e63d7703aa55e401c493725c");
	digest_is(7, "0x082657200f673f8b6dec7f57747432fa1ca15c1cc8a366069c7fe5fae84109b7");
	digest_is(8, "0x37f63158865709dd1767418fa5d726b702917eaa9580da8e6cbd099be7f23254");
	cr_assert_eq(
		iscsi_chap_digest(9, 1, "x", challenge, 16, (uint8_t[ISCSI_CHAP_DIGEST_MAX]){ 0 }),
		0);
	cr_assert_null(iscsi_chap_name(4));
	cr_assert_null(iscsi_chap_name(9));
}

static struct iscsi_chap begun(const struct iscsi_auth *auth)
{
	struct iscsi_chap chap;

	iscsi_chap_init(&chap, auth, noise);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_A", "5", &why), 0, "%s", why.text);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_I", "1", &why), 0);
	cr_assert_eq(
		iscsi_chap_receive(&chap, "CHAP_C", "0x000102030405060708090a0b0c0d0e0f", &why), 0);
	return chap;
}

Test(iscsi_chap, what_is_offered)
{
	struct iscsi_auth some = one_way;
	struct iscsi_chap chap;
	char text[64];
	struct wr w = wr_init(text, sizeof(text));

	iscsi_chap_init(&chap, &one_way, noise);
	iscsi_chap_offer(&chap, &w);
	cr_assert_str_eq(text, "CHAP_A=8,7,6,5");
	some.algs = 0;
	iscsi_chap_init(&chap, &some, noise);
	w = wr_init(text, sizeof(text));
	iscsi_chap_offer(&chap, &w);
	cr_assert_str_eq(text, "CHAP_A=8,7,6");
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_A", "5", &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "CHAP_A=5 MD5 --chap-algs_md5");
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_A", "Reject", &why), -EACCES);
	diag_says(&why, DIAG_AUTH, NULL, "none MD5 --chap-algs_md5");
	cr_assert_eq(iscsi_chap_algs("sha1,MD5", &some.algs, &why), 0);
	iscsi_chap_init(&chap, &some, noise);
	w = wr_init(text, sizeof(text));
	iscsi_chap_offer(&chap, &w);
	cr_assert_str_eq(text, "CHAP_A=6,5");
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_A", "7", &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "CHAP_A=7");
	cr_assert_eq(iscsi_chap_algs("sha1,rot13", &some.algs, &why), -EINVAL);
	cr_assert_eq(iscsi_chap_algs("", &some.algs, &why), -EINVAL);
}

Test(iscsi_chap, one_way_answer)
{
	struct iscsi_chap chap = begun(&one_way);
	char text[256];
	struct wr w = wr_init(text, sizeof(text));

	cr_assert_eq(iscsi_chap_respond(&chap, &w, &why), 0);
	cr_assert_str_eq(text, "CHAP_N=joe");
	cr_assert_str_eq(text + 11, "CHAP_R=0xf892bb4624929229fed437564094adae");
	cr_assert_eq(w.p - (uint8_t *)text, 11 + 42);
	cr_assert_eq(iscsi_chap_check(&chap, &why), 0);
}

static int proof(struct iscsi_chap *chap, const char *secret)
{
	uint8_t digest[ISCSI_CHAP_DIGEST_MAX];
	char text[256];
	struct wr w = wr_init(text, sizeof(text));
	unsigned len =
		iscsi_chap_digest(5, chap->own_id, secret, chap->own, sizeof(chap->own), digest);

	iscsi_text_put_binary(&w, "CHAP_R", digest, len);
	return iscsi_chap_receive(chap, "CHAP_R", text + 7, &why);
}

Test(iscsi_chap, mutual)
{
	struct iscsi_chap chap = begun(&mutual);
	char text[256] = "";
	struct wr w = wr_init(text, sizeof(text));

	cr_assert_eq(iscsi_chap_respond(&chap, &w, &why), 0);
	cr_assert_str_eq(text + 11 + 42, "CHAP_I=42");
	cr_assert_str_eq(text + 11 + 42 + 10, "CHAP_C=0x09080706050403020100010203040506" + 0);
	cr_assert_eq(iscsi_chap_check(&chap, &why), -EACCES, "nothing is proved");
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_N", "disk", &why), 0);
	cr_assert_eq(iscsi_chap_check(&chap, &why), -EACCES, "a name alone proves nothing");
	cr_assert_eq(proof(&chap, "anothergoodsecret"), 0, "%s", why.text);
	cr_assert_eq(iscsi_chap_check(&chap, &why), 0);
}

Test(iscsi_chap, targets_that_cheat)
{
	struct iscsi_chap chap = begun(&mutual);
	char long_one[2 * ISCSI_CHAP_BINARY_MAX + 8] = "0x";

	cr_assert_eq(proof(&chap, "longenoughsecret"), -EACCES);
	diag_says(&why, DIAG_AUTH, NULL, "target secret");
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_R", "0x00", &why), -EACCES);
	cr_assert_eq(iscsi_chap_check(&chap, &why), -EACCES);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_N", "tape", &why), -EACCES);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_A", "5", &why), -EPROTO);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_I", "1", &why), -EPROTO);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_C", "0x01", &why), -EPROTO);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_X", "1", &why), -EPROTO);
	chap = begun(&one_way);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_R", "0x00", &why), -EPROTO,
		"no challenge was sent");
	iscsi_chap_init(&chap, &one_way, noise);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_A", "Reject", &why), -EACCES);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_I", "256", &why), -EPROTO);
	memset(long_one + 2, 'a', sizeof(long_one) - 3);
	cr_assert_eq(iscsi_chap_receive(&chap, "CHAP_C", long_one, &why), -EPROTO);
}
