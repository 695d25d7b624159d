/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The PSKs of TLS (TCP Transport 1.1, 3.6.1): their derivation, and the identities by which both
 * ends find them. */
#include "nvme_key.h"
#include <errno.h>
#include <mbedtls/base64.h>
#include <mbedtls/hkdf.h>
#include <mbedtls/md.h>
#include <stdio.h>
#include <string.h>

/* each part of HkdfLabel has a length of one byte (RFC 8446, 7.1) */
#define LABEL_MAX 255

/* HKDF-Expand-Label(HKDF-Extract(0, key), label, context, len). old: libnvme before 1.16 left out
 * the lengths of label and context, and wrote the other length in host byte order. */
static bool expand(const mbedtls_md_info_t *md, const uint8_t *key, size_t len, bool old,
	const char *label, const char *context, uint8_t *to)
{
	uint8_t info[2 + 2 * (1 + LABEL_MAX)], *at = info;
	const char *part[] = { label, context };

	*at++ = old ? (uint8_t)len : 0;
	*at++ = old ? 0 : (uint8_t)len;
	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(part[i]);

		if (n > LABEL_MAX)
			return false;
		if (!old)
			*at++ = (uint8_t)n;
		memcpy(at, part[i], n);
		at += n;
	}
	return !mbedtls_hkdf(md, NULL, 0, key, len, info, (size_t)(at - info), to, len);
}

static const mbedtls_md_info_t *md_of(unsigned len)
{
	return mbedtls_md_info_from_type(len == 48 ? MBEDTLS_MD_SHA384 : MBEDTLS_MD_SHA256);
}

static bool digest_of(const mbedtls_md_info_t *md, const uint8_t *key, size_t len,
	const char *names, char digest[NVME_PSK_DIGEST])
{
	char text[2 * 224 + sizeof("NVMe-over-Fabrics") + 1];
	uint8_t hmac[MBEDTLS_MD_MAX_SIZE];
	size_t n;

	snprintf(text, sizeof(text), "%s NVMe-over-Fabrics", names);
	return !mbedtls_md_hmac(md, key, len, (const uint8_t *)text, strlen(text), hmac) &&
	       !mbedtls_base64_encode(
		       (uint8_t *)digest, NVME_PSK_DIGEST, &n, hmac, mbedtls_md_get_size(md));
}

/* The retained or generated PSK becomes that of TLS. origin: 'R' or 'G' */
static bool derive(const uint8_t *key, char origin, const char *names,
	const struct nvme_psk_form *form, struct nvme_psk *psk)
{
	const char cipher = psk->len == 48 ? '2' : '1';
	const mbedtls_md_info_t *md = md_of(psk->len);
	char digest[NVME_PSK_DIGEST], context[NVME_PSK_DIGEST + 3];

	if (!digest_of(md, key, psk->len, names, digest))
		return false;
	snprintf(context, sizeof(context), "0%c %s", cipher, digest);
	snprintf(psk->identity, sizeof(psk->identity), "NVMe%c%c0%c %s%s%s",
		form->version0 ? '0' : '1', origin, cipher, names, form->version0 ? "" : " ",
		form->version0 ? "" : digest);
	return expand(md, key, psk->len, form->old, "tls13 nvme-tls-psk",
		form->version0 ? psk->identity : context, psk->key);
}

int nvme_psk_derive(const struct nvme_key *key, const char *hostnqn, const char *nqn,
	const struct nvme_psk_form *form, struct nvme_psk *psk)
{
	char names[2 * 224];
	uint8_t retained[sizeof(key->key)];
	bool done;

	*psk = (struct nvme_psk){ .len = key->len };
	if ((size_t)snprintf(names, sizeof(names), "%s %s", hostnqn, nqn) >= sizeof(names))
		return -EINVAL;
	/* always, so that the time does not tell which kind of key it is */
	done = expand(
		md_of(key->len), key->key, key->len, form->old, "tls13 HostNQN", hostnqn, retained);
	if (!key->hash)
		memcpy(retained, key->key, sizeof(retained));
	done = done && derive(retained, 'R', names, form, psk);
	explicit_bzero(retained, sizeof(retained));
	return done ? 0 : -EINVAL;
}

int nvme_psk_derive_generated(const uint8_t *key, unsigned len, const char *hostnqn,
	const char *nqn, struct nvme_psk *psk)
{
	const struct nvme_psk_form form = { .version0 = false };
	char names[2 * 224];

	*psk = (struct nvme_psk){ .len = len };
	if ((size_t)snprintf(names, sizeof(names), "%s %s", hostnqn, nqn) >= sizeof(names))
		return -EINVAL;
	return derive(key, 'G', names, &form, psk) ? 0 : -EINVAL;
}

bool nvme_psk_parse(const char *identity, size_t len, struct nvme_psk_names *names)
{
	char text[NVME_PSK_IDENTITY], *word[5] = { 0 }, *rest = text;
	unsigned words = 0;
	bool version0, generated;

	if (len >= sizeof(text) || memchr(identity, 0, len))
		return false;
	memcpy(text, identity, len);
	text[len] = 0;
	while (rest && words < 5)
		word[words++] = strsep(&rest, " ");
	version0 = !strncmp(text, "NVMe0", 5);
	generated = !strncmp(text, "NVMe1G0", 7);
	if (words != (version0 ? 3u : 4u) || strlen(text) != 8 ||
		(!version0 && strncmp(text, "NVMe1", 5)) ||
		(!generated && strncmp(text + 5, "R0", 2)) || (text[7] != '1' && text[7] != '2') ||
		!*word[1] || !*word[2] || strlen(word[1]) >= sizeof(names->hostnqn) ||
		strlen(word[2]) >= sizeof(names->subnqn))
		return false;
	names->form = (struct nvme_psk_form){ .version0 = version0 };
	names->generated = generated;
	names->len = text[7] == '2' ? 48 : 32;
	strcpy(names->hostnqn, word[1]);
	strcpy(names->subnqn, word[2]);
	return true;
}
