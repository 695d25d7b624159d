/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Implementations of AES-GCM. */
#pragma once
#include "aes_gcm.h"

struct aes_gcm_engine {
	const char *name;
	bool (*usable)(void); /* on this CPU */
	struct aes_gcm *(*create)(const uint8_t *key, unsigned key_len);
	void (*start)(struct aes_gcm *, const uint8_t nonce[AES_GCM_NONCE], const void *ad,
		size_t len, bool seal);
	void (*update)(struct aes_gcm *, uint8_t *to, const uint8_t *from, size_t len);
	void (*finish)(struct aes_gcm *, uint8_t tag[AES_GCM_TAG]);
	void (*destroy)(struct aes_gcm *);
};
struct aes_gcm {
	const struct aes_gcm_engine *engine;
};
/* Best first; NULL ends the list. The last one runs on every CPU. */
extern const struct aes_gcm_engine *const aes_gcm_engines[];
extern const struct aes_gcm_engine aes_gcm_vaes, aes_gcm_aesni; /* aes_gcm_x86.c */
struct aes_gcm *aes_gcm_new_with(const struct aes_gcm_engine *, const uint8_t *, unsigned key_len);
