/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* AES-GCM: the instructions of the CPU where aes_gcm_x86.c knows them, else mbedTLS, which knows
 * those of Armv8. */
#include "aes_gcm_engine.h"
#include <assert.h>
#include <mbedtls/gcm.h>
#include <stdlib.h>

struct portable {
	struct aes_gcm base; /* first member */
	mbedtls_gcm_context gcm;
};

static bool always(void)
{
	return true;
}

static void portable_destroy(struct aes_gcm *base)
{
	struct portable *p = (struct portable *)base;

	mbedtls_gcm_free(&p->gcm);
	free(p);
}

static struct aes_gcm *portable_create(const uint8_t *key, unsigned key_len)
{
	struct portable *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	mbedtls_gcm_init(&p->gcm);
	if (mbedtls_gcm_setkey(&p->gcm, MBEDTLS_CIPHER_ID_AES, key, key_len * 8)) {
		portable_destroy(&p->base);
		return NULL;
	}
	return &p->base;
}

static void portable_start(struct aes_gcm *base, const uint8_t nonce[AES_GCM_NONCE], const void *ad,
	size_t len, bool seal)
{
	struct portable *p = (struct portable *)base;

	mbedtls_gcm_starts(
		&p->gcm, seal ? MBEDTLS_GCM_ENCRYPT : MBEDTLS_GCM_DECRYPT, nonce, AES_GCM_NONCE);
	mbedtls_gcm_update_ad(&p->gcm, ad, len);
}

static void portable_update(struct aes_gcm *base, uint8_t *to, const uint8_t *from, size_t len)
{
	size_t done;

	mbedtls_gcm_update(&((struct portable *)base)->gcm, from, len, to, len, &done);
}

static void portable_finish(struct aes_gcm *base, uint8_t tag[AES_GCM_TAG])
{
	size_t none;

	mbedtls_gcm_finish(&((struct portable *)base)->gcm, NULL, 0, &none, tag, AES_GCM_TAG);
}

static const struct aes_gcm_engine portable = {
	.name = "portable",
	.usable = always,
	.create = portable_create,
	.start = portable_start,
	.update = portable_update,
	.finish = portable_finish,
	.destroy = portable_destroy,
};

const struct aes_gcm_engine *const aes_gcm_engines[] = {
#ifdef __x86_64__
	&aes_gcm_vaes,
	&aes_gcm_aesni,
#endif
	&portable,
	NULL,
};

struct aes_gcm *aes_gcm_new_with(
	const struct aes_gcm_engine *engine, const uint8_t *key, unsigned key_len)
{
	struct aes_gcm *gcm;

	assert(key_len == 16 || key_len == 32);
	gcm = engine->create(key, key_len);
	if (gcm)
		gcm->engine = engine;
	return gcm;
}

struct aes_gcm *aes_gcm_new(const uint8_t *key, unsigned key_len)
{
	const struct aes_gcm_engine *const *engine = aes_gcm_engines;

	while (!(*engine)->usable())
		engine++;
	return aes_gcm_new_with(*engine, key, key_len);
}

void aes_gcm_free(struct aes_gcm *gcm)
{
	if (gcm)
		gcm->engine->destroy(gcm);
}

void aes_gcm_start(struct aes_gcm *gcm, const uint8_t nonce[AES_GCM_NONCE], const void *ad,
	size_t len, bool seal)
{
	gcm->engine->start(gcm, nonce, ad, len, seal);
}

void aes_gcm_update(struct aes_gcm *gcm, void *to, const void *from, size_t len)
{
	if (len)
		gcm->engine->update(gcm, to, from, len);
}

void aes_gcm_finish(struct aes_gcm *gcm, uint8_t tag[AES_GCM_TAG])
{
	gcm->engine->finish(gcm, tag);
}
