/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The derivation of TLS keys (TCP Transport 1.1, 3.6.1). */
#include "nvme.h"
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

static bool digest_of(const mbedtls_md_info_t *md, const uint8_t *key, size_t len,
	const char *names, char digest[NVMF_PSK_DIGEST])
{
	char text[2 * 224 + sizeof("NVMe-over-Fabrics") + 1];
	uint8_t hmac[MBEDTLS_MD_MAX_SIZE];
	size_t n;

	snprintf(text, sizeof(text), "%s NVMe-over-Fabrics", names);
	return !mbedtls_md_hmac(md, key, len, (const uint8_t *)text, strlen(text), hmac) &&
	       !mbedtls_base64_encode(
		       (uint8_t *)digest, NVMF_PSK_DIGEST, &n, hmac, mbedtls_md_get_size(md));
}

int kernel_nvmf_psk_derive(const struct nvme_key *psk, const char *hostnqn, const char *nqn,
	bool old, struct nvmf_tls_key *tls)
{
	const char cipher = psk->len == 48 ? '2' : '1';
	const mbedtls_md_info_t *md =
		mbedtls_md_info_from_type(psk->len == 48 ? MBEDTLS_MD_SHA384 : MBEDTLS_MD_SHA256);
	char digest[NVMF_PSK_DIGEST], names[2 * 224], context[NVMF_PSK_DIGEST + 3];
	uint8_t retained[sizeof(psk->key)];
	bool done;

	*tls = (struct nvmf_tls_key){ .len = psk->len };
	if ((size_t)snprintf(names, sizeof(names), "%s %s", hostnqn, nqn) >= sizeof(names))
		return -EINVAL;
	memcpy(retained, psk->key, sizeof(retained));
	done = (!psk->hash ||
		       expand(md, psk->key, psk->len, old, "tls13 HostNQN", hostnqn, retained)) &&
	       digest_of(md, retained, psk->len, names, digest);
	if (done) {
		snprintf(tls->identity, sizeof(tls->identity), "NVMe1R0%c %s %s", cipher, names,
			digest);
		snprintf(context, sizeof(context), "0%c %s", cipher, digest);
		done = expand(md, retained, psk->len, old, "tls13 nvme-tls-psk", context, tls->key);
	}
	explicit_bzero(retained, sizeof(retained));
	return done ? 0 : -EINVAL;
}
