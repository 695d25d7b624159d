/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys in their text form: those that tools make, malformed ones, and new ones. */
#include "nvme_key.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define KEY   "DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:"
#define KEY32 "ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdS:"
#define KEY48 "MDc+RUxTWmFob3Z9hIuSmaCnrrW8w8rR2N/m7fT7AgkQFx4lLDM6QUhPVl1ka3J51wkKvA==:"
#define KEY64                                                                                      \
	"QEdOVVxjanF4f4aNlJuiqbC3vsXM09rh6O/2/QQLEhkgJy41PENKUVhfZm10e4KJkJeepayzusHIz9bd5Ovy+eQY" \
	"loY=:"

static struct diag why;

static void fill(uint8_t *to, size_t len, unsigned from, unsigned step)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)(from + i * step);
}

Test(nvme_key, secrets)
{
	static const struct {
		const char *text;
		uint8_t len, hash;
	} good[] = { { "DHHC-1:00:" KEY32, 32, 0 }, { "DHHC-1:01:" KEY32, 32, 1 },
		{ "DHHC-1:02:" KEY48, 48, 2 }, { "DHHC-1:03:" KEY64, 64, 3 },
		{ "DHHC-1:00:" KEY48, 48, 0 } };
	struct nvme_key secret;
	uint8_t key[64];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert_eq(nvme_key_parse(&secret, NVME_KEY_DHCHAP, "key", good[i].text, &why), 0,
			"%s", good[i].text);
		fill(key, good[i].len, good[i].len, 7);
		cr_assert_eq(secret.len, good[i].len);
		cr_assert_eq(secret.hash, good[i].hash);
		cr_assert_arr_eq(secret.key, key, good[i].len);
	}
}

Test(nvme_key, malformed_secrets)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "", "expected DHHC-1:0n:" },
		{ "DHHC-1:0", "expected DHHC-1:0n:" },
		{ "DHHC-1:00:", "expected DHHC-1:0n:" },
		{ "DHHC-1:00::", "length" },
		{ "DHHC-1:02:" KEY32, "length DHHC-1:02" },
		{ "DHHC-1:04:" KEY32, "expected DHHC-1:0n:" },
		{ "DHHC-2:00:" KEY32, "expected DHHC-1:0n:" },
		{ "DHHC-1:00:ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdS",
			"expected DHHC-1:0n:" },
		{ "DHHC-1:00:ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdT:", "wrong checksum" },
		{ "DHHC-1:00:JCcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdS:", "wrong checksum" },
		{ "DHHC-1:00:ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM:", "length" },
		{ "DHHC-1:00:IC:", "length" },
		{ "DHHC-1:00:IC c:", "length" },
	};
	struct nvme_key secret;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why = (struct diag){ 0 };
		cr_assert_eq(nvme_key_parse(&secret, NVME_KEY_DHCHAP, "key", bad[i].text, &why),
			-EINVAL, "%s", bad[i].text);
		diag_says(&why, DIAG_USAGE, NULL, bad[i].words);
		cr_assert_eq(secret.len, 0);
		if (strlen(bad[i].text) > 20)
			cr_assert_null(strstr(why.text, bad[i].text + 12));
	}
}

static void secret(const char *text, const char *words)
{
	struct diag diag = { 0 };
	struct nvme_key key;
	int err = nvme_key_parse(&key, NVME_KEY_DHCHAP, "dhchap_secret", text, &diag);

	cr_assert_eq(err, words ? -EINVAL : 0, "%s", diag.text);
	if (words)
		diag_says(&diag, DIAG_USAGE, NULL, words);
	cr_assert(!strstr(diag.text, "Y29y"), "it is quoted: %s", diag.text);
}

Test(nvme_key, form_length_and_checksum)
{
	secret(KEY, NULL);
	secret("DHHC-1:01:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:", NULL);
	secret("DHHC-1:02:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:", "length 'DHHC-1:02'");
	secret("DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7M:", "checksum");
	secret("DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi4S7L:", "length");
	secret("DHHC-1:04:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:", "DHHC-1:0n:");
	secret("DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L", "DHHC-1:0n:");
	secret("DHHC-1:00:Y29y!:", "length");
	secret("Y29y", "DHHC-1:0n:");
	secret("", "DHHC-1:0n:");
}

Test(nvme_key, one_that_is_cut_or_damaged_is_never_right)
{
	char text[sizeof(KEY)];
	struct nvme_key key;

	for (size_t len = 0; len < sizeof(KEY) - 1; len++) {
		strcpy(text, KEY);
		text[len] = 0;
		cr_assert_eq(nvme_key_parse(&key, NVME_KEY_DHCHAP, "x", text, NULL), -EINVAL, "%zu",
			len);
	}
	for (size_t at = 10; at < sizeof(KEY) - 2; at++) {
		strcpy(text, KEY);
		text[at] = text[at] == 'A' ? 'B' : 'A';
		cr_assert_eq(
			nvme_key_parse(&key, NVME_KEY_DHCHAP, "x", text, NULL), -EINVAL, "%zu", at);
	}
}

Test(nvme_key, new_ones)
{
	static const struct {
		uint8_t kind, hash, len;
	} rows[] = { { NVME_KEY_DHCHAP, 0, 32 }, { NVME_KEY_DHCHAP, 0, 64 },
		{ NVME_KEY_DHCHAP, 1, 32 }, { NVME_KEY_DHCHAP, 3, 64 }, { NVME_KEY_TLS, 1, 32 },
		{ NVME_KEY_TLS, 2, 48 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[NVME_KEY_TEXT], other[NVME_KEY_TEXT];
		struct nvme_key key;

		cr_assert_eq(nvme_key_new(text, rows[i].kind, rows[i].hash, rows[i].len, &why), 0);
		cr_assert_eq(nvme_key_new(other, rows[i].kind, rows[i].hash, rows[i].len, &why), 0);
		cr_assert_neq(strcmp(text, other), 0);
		cr_assert_eq(
			nvme_key_parse(&key, rows[i].kind, "key", text, &why), 0, "%s", why.text);
		cr_assert_eq(key.hash, rows[i].hash);
		cr_assert_eq(key.len, rows[i].len);
		cr_assert_eq(nvme_key_parse(&key, !rows[i].kind, "key", text, NULL), -EINVAL);
	}
}
