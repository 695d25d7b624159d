/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protected records of TLS 1.3 (RFC 8446, section 5), and the keys of one direction. */
#pragma once
#include "aes_gcm.h"
#include <sys/uio.h>

#define TLS_HEADER   5
#define TLS_TEXT     16384                          /* longest content of a record */
#define TLS_SECRET   48                             /* SHA-384 */
#define TLS_OVERHEAD (TLS_HEADER + 1 + AES_GCM_TAG) /* header, type, tag */
#define TLS_BODY     (TLS_TEXT + 256)               /* longest body that is received */

enum tls_type { TLS_ALERT = 21, TLS_HANDSHAKE = 22, TLS_DATA = 23 };
enum tls_alert {
	TLS_CLOSE_NOTIFY = 0,
	TLS_UNEXPECTED_MESSAGE = 10,
	TLS_BAD_RECORD_MAC = 20,
	TLS_RECORD_OVERFLOW = 22,
	TLS_DECODE_ERROR = 50,
	TLS_INTERNAL_ERROR = 80,
};

struct tls_key {
	struct aes_gcm *gcm; /* NULL: no key */
	uint64_t records;    /* protected with the key so far */
	uint8_t nonce[AES_GCM_NONCE];
	uint8_t secret[TLS_SECRET]; /* the application traffic secret */
	uint8_t secret_len, key_len;
};
/* Set the first key. secret_len: 32 for TLS_AES_128_GCM_SHA256, 48 for TLS_AES_256_GCM_SHA384. */
int tls_key_set(struct tls_key *, const uint8_t *secret, unsigned secret_len);
/* Derive the key of the cipher, key_len bytes (section 7.3). -ENOMEM. */
int tls_key_bytes(const struct tls_key *, uint8_t bytes[32]);
/* Replace it by the next one (section 7.2). -ENOMEM. */
int tls_key_update(struct tls_key *);
void tls_key_wipe(struct tls_key *);

/* A place in a list of buffers. */
struct tls_cursor {
	const struct iovec *iov;
	int count;
	size_t at; /* in the first one */
};
size_t tls_cursor_room(const struct tls_cursor *);
/* Return the next part of at most *len bytes, set *len to its length, and move past it. */
uint8_t *tls_cursor_next(struct tls_cursor *, size_t *len);

/* Write one record with len bytes of content; returns its length. */
size_t tls_seal(
	struct tls_key *, enum tls_type, struct tls_cursor *content, size_t len, uint8_t *record);
/* Decrypt a record's body, len bytes at most TLS_BODY, into the buffers, which must have room for
 * len - AES_GCM_TAG bytes, or be the body itself. Returns the length of the content and sets
 * *type, or -1 and the alert to send; the cursor is unchanged. */
int tls_open(struct tls_key *, const uint8_t *header, const uint8_t *body, size_t len,
	const struct tls_cursor *to, uint8_t *type, uint8_t *alert);
