/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records and keys of TLS 1.3. Content is encrypted from its owner's buffers into the record, and
 * decrypted from the record into its owner's buffers. */
#include "tls_record.h"
#include <errno.h>
#include <mbedtls/constant_time.h>
#include <mbedtls/hkdf.h>
#include <string.h>

/* HKDF-Expand-Label (section 7.1), without context. */
static int expand(const struct tls_key *key, const char *label, uint8_t *to, unsigned len)
{
	const mbedtls_md_info_t *md = mbedtls_md_info_from_type(
		key->secret_len == 32 ? MBEDTLS_MD_SHA256 : MBEDTLS_MD_SHA384);
	uint8_t info[32] = { 0, (uint8_t)len };
	size_t label_len = strlen(label);

	info[2] = (uint8_t)(6 + label_len);
	memcpy(info + 3, "tls13 ", 6);
	memcpy(info + 9, label, label_len);
	return mbedtls_hkdf_expand(md, key->secret, key->secret_len, info, 10 + label_len, to, len)
		       ? -ENOMEM
		       : 0;
}

int tls_key_bytes(const struct tls_key *key, uint8_t bytes[32])
{
	return expand(key, "key", bytes, key->key_len);
}

static int derive(struct tls_key *key)
{
	uint8_t bytes[32];
	int err;

	aes_gcm_free(key->gcm);
	key->gcm = NULL;
	key->records = 0;
	err = tls_key_bytes(key, bytes);
	if (!err)
		err = expand(key, "iv", key->nonce, sizeof(key->nonce));
	if (!err)
		key->gcm = aes_gcm_new(bytes, key->key_len);
	explicit_bzero(bytes, sizeof(bytes));
	return key->gcm ? 0 : -ENOMEM;
}

int tls_key_set(struct tls_key *key, const uint8_t *secret, unsigned secret_len)
{
	memcpy(key->secret, secret, secret_len);
	key->secret_len = (uint8_t)secret_len;
	key->key_len = secret_len == 32 ? 16 : 32;
	return derive(key);
}

int tls_key_update(struct tls_key *key)
{
	uint8_t next[TLS_SECRET];
	int err = expand(key, "traffic upd", next, key->secret_len);

	if (!err)
		err = tls_key_set(key, next, key->secret_len);
	explicit_bzero(next, sizeof(next));
	return err;
}

void tls_key_wipe(struct tls_key *key)
{
	aes_gcm_free(key->gcm);
	explicit_bzero(key, sizeof(*key));
}

size_t tls_cursor_room(const struct tls_cursor *cursor)
{
	size_t room = 0;

	for (int i = 0; i < cursor->count; i++)
		room += cursor->iov[i].iov_len;
	return room - cursor->at;
}

uint8_t *tls_cursor_next(struct tls_cursor *cursor, size_t *len)
{
	const struct iovec *iov;
	uint8_t *p;

	while (cursor->at == cursor->iov->iov_len) {
		cursor->iov++;
		cursor->count--;
		cursor->at = 0;
	}
	iov = cursor->iov;
	p = (uint8_t *)iov->iov_base + cursor->at;
	if (*len > iov->iov_len - cursor->at)
		*len = iov->iov_len - cursor->at;
	cursor->at += *len;
	return p;
}

/* Section 5.3: the number of the record is part of its nonce. */
static void start(struct tls_key *key, const uint8_t *header, bool seal)
{
	uint8_t nonce[AES_GCM_NONCE];

	memcpy(nonce, key->nonce, sizeof(nonce));
	for (unsigned i = 0; i < 8; i++)
		nonce[AES_GCM_NONCE - 1 - i] ^= (uint8_t)(key->records >> 8 * i);
	aes_gcm_start(key->gcm, nonce, header, TLS_HEADER, seal);
	key->records++;
}

size_t tls_seal(struct tls_key *key, enum tls_type type, struct tls_cursor *content, size_t len,
	uint8_t *record)
{
	size_t body = len + 1 + AES_GCM_TAG, left = len, part;
	const uint8_t inner = (uint8_t)type;
	uint8_t *to = record + TLS_HEADER;

	record[0] = TLS_DATA;
	record[1] = record[2] = 3; /* TLS 1.2, for middleboxes */
	record[3] = (uint8_t)(body >> 8);
	record[4] = (uint8_t)body;
	start(key, record, true);
	for (; left; left -= part, to += part) {
		const uint8_t *from;

		part = left;
		from = tls_cursor_next(content, &part);
		aes_gcm_update(key->gcm, to, from, part);
	}
	aes_gcm_update(key->gcm, to, &inner, 1);
	aes_gcm_finish(key->gcm, to + 1);
	return TLS_HEADER + body;
}

static void decrypt(struct tls_key *key, const uint8_t *from, size_t len, struct tls_cursor to)
{
	size_t part;

	for (; len; len -= part, from += part) {
		uint8_t *p;

		part = len;
		p = tls_cursor_next(&to, &part);
		aes_gcm_update(key->gcm, p, from, part);
	}
}

static uint8_t byte_at(const struct tls_cursor *cursor, size_t at)
{
	const struct iovec *iov = cursor->iov;

	for (at += cursor->at; at >= iov->iov_len; iov++)
		at -= iov->iov_len;
	return ((const uint8_t *)iov->iov_base)[at];
}

int tls_open(struct tls_key *key, const uint8_t *header, const uint8_t *body, size_t len,
	const struct tls_cursor *to, uint8_t *type, uint8_t *alert)
{
	uint8_t tag[AES_GCM_TAG];

	*alert = TLS_BAD_RECORD_MAC;
	if (len < 1 + sizeof(tag))
		return -1;
	len -= sizeof(tag);
	start(key, header, false);
	decrypt(key, body, len, *to);
	aes_gcm_finish(key->gcm, tag);
	if (mbedtls_ct_memcmp(tag, body + len, sizeof(tag)))
		return -1;
	*alert = TLS_UNEXPECTED_MESSAGE;
	do { /* the type follows the content, zeroes are padding */
		if (!len)
			return -1;
		*type = byte_at(to, --len);
	} while (!*type);
	*alert = TLS_RECORD_OVERFLOW;
	return len > TLS_TEXT ? -1 : (int)len;
}
