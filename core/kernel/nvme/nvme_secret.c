/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe keys in their text form, and the derivation of TLS keys (TCP Transport 1.1, 3.6.1). */
#include "base64.h"
#include "nvme.h"
#include <errno.h>
#include <mbedtls/base64.h>
#include <mbedtls/hkdf.h>
#include <mbedtls/md.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define KEY_MAX 64
/* each part of HkdfLabel has a length of one byte (RFC 8446, 7.1) */
#define LABEL_MAX 255

/* The CRC-32 (IEEE 802.3), little-endian as it follows the key. */
static void checksum(const uint8_t *key, unsigned len, uint8_t sum[4])
{
	uint32_t crc = ~0u;

	for (unsigned i = 0; i < len; i++) {
		crc ^= key[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	for (unsigned i = 0; i < 4; i++)
		sum[i] = (uint8_t)(~crc >> 8 * i);
}

struct form {
	const char *mark; /* the prefix before the number of the hash */
	char hashes;      /* the highest number */
	const char *text; /* name for messages */
};
static const struct form dhchap = { "DHHC-1:0", '3', "DHHC-1:0n:...:" },
			 tls_psk = { "NVMeTLSkey-1:0", '2', "NVMeTLSkey-1:0n:...:" };

/* Decode "MARK" hash ":" base64 of key and checksum ":". Returns the key's length or -errno. */
static int key_get(const struct form *form, const char *name, const char *text,
	uint8_t key[KEY_MAX + 4], unsigned *hash, struct diag *diag)
{
	static const int lengths[] = { 0, 32, 48, 64 };
	size_t mark = strlen(form->mark), data_len;
	const char *data = text + mark + 2,
		   *end = strlen(text) > mark + 2 ? strchr(data, ':') : NULL;
	uint8_t sum[4];
	int len;

	if (strncmp(text, form->mark, mark) || text[mark] < '0' || text[mark] > form->hashes ||
		text[mark + 1] != ':' || !end || end[1])
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s: expected a key of the form %s", name,
			form->text);
	*hash = (unsigned)(text[mark] - '0');
	for (data_len = (size_t)(end - data); data_len && data[data_len - 1] == '=';)
		data_len--; /* the kernel takes any number of them */
	len = base64_get(key, KEY_MAX + 4, data, data_len) - 4;
	if ((len != 32 && len != 48 && (len != 64 || form->hashes < '3')) ||
		(*hash && lengths[*hash] != len))
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s: wrong key length for '%s%u'", name,
			form->mark, *hash);
	checksum(key, (unsigned)len, sum);
	if (memcmp(key + len, sum, sizeof(sum)) != 0)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s: wrong checksum: the key was changed or is incomplete", name);
	return len;
}

int kernel_nvmf_secret_check(
	const char *name, const char *secret, unsigned *hash, struct diag *diag)
{
	uint8_t key[KEY_MAX + 4];
	int len = key_get(&dhchap, name, secret, key, hash, diag);

	explicit_bzero(key, sizeof(key));
	return len;
}

int kernel_nvmf_key_new(
	char text[NVMF_KEY_TEXT], bool tls, unsigned hash, unsigned len, struct diag *diag)
{
	const struct form *form = tls ? &tls_psk : &dhchap;
	uint8_t key[KEY_MAX + 4];
	size_t begun, n;

	if (getrandom(key, len, 0) != (ssize_t)len)
		return diag_sys(diag, EAGAIN, "read random numbers");
	checksum(key, len, key + len);
	begun = (size_t)snprintf(text, NVMF_KEY_TEXT, "%s%u:", form->mark, hash);
	mbedtls_base64_encode((uint8_t *)text + begun, NVMF_KEY_TEXT - begun - 1, &n, key, len + 4);
	strcpy(text + begun + n, ":");
	explicit_bzero(key, sizeof(key));
	return 0;
}

int kernel_nvmf_psk_read(
	struct nvmf_psk *psk, const char *name, const char *text, struct diag *diag)
{
	uint8_t key[KEY_MAX + 4];
	int len = key_get(&tls_psk, name, text, key, &psk->hash, diag);

	psk->len = len < 0 ? 0 : (unsigned)len;
	memcpy(psk->key, key, psk->len);
	explicit_bzero(key, sizeof(key));
	return len < 0 ? len : 0;
}

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

int kernel_nvmf_psk_derive(const struct nvmf_psk *psk, const char *hostnqn, const char *nqn,
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
