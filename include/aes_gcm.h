/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* AES in Galois/Counter Mode (NIST SP 800-38D), for messages given in parts of any length. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AES_GCM_NONCE 12
#define AES_GCM_TAG   16

/* A key, and the message being processed with it. */
struct aes_gcm;
/* Return NULL if memory is short. key_len: 16 or 32. */
struct aes_gcm *aes_gcm_new(const uint8_t *key, unsigned key_len);
/* Wipe and free. NULL is allowed. */
void aes_gcm_free(struct aes_gcm *);
/* Begin a message; `ad` is authenticated, but not encrypted. */
void aes_gcm_start(struct aes_gcm *, const uint8_t nonce[AES_GCM_NONCE], const void *ad, size_t len,
	bool seal);
/* Encrypt (seal) or decrypt the next part. `to` may be `from`, but not overlap it otherwise. What
 * is decrypted may be used once the tag has been compared. */
void aes_gcm_update(struct aes_gcm *, void *to, const void *from, size_t len);
void aes_gcm_finish(struct aes_gcm *, uint8_t tag[AES_GCM_TAG]);
