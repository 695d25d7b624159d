/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "copy_hash.h"
#include "copy_slot.h"
#include <errno.h>

static uint8_t zeroes[65536]; /* never written */

static void on_thread(struct hand_job *job)
{
	struct copy_hash *hash = container_of(job, struct copy_hash, job);
	const struct slot *slot = hash->slot;
	uint32_t step;

	for (uint32_t at = 0; at < slot->len && !hash->err; at += step) {
		const uint8_t *p = slot->zero ? zeroes : slot->buf.p + at;

		step = (uint32_t)copy_least(slot->len - at, sizeof(zeroes));
		hash->err = mbedtls_sha256_update(&hash->sha256, p, step);
	}
}

/* Start with the piece whose turn it is, if it has been read. The thread is idle. */
static void next_piece(struct copy *copy)
{
	struct copy_hash *hash = &copy->hash;

	for (uint32_t i = 0; !copy->rc && i < copy->depth; i++) {
		struct slot *slot = &copy->slot[i];

		if (!slot->hashing || slot->off != hash->at)
			continue;
		hash->slot = slot;
		hands_add(&hash->hands, &hash->job); /* can't fail: the thread was started */
		return;
	}
}

static void from_thread(struct hand_job *job)
{
	struct copy_hash *hash = container_of(job, struct copy_hash, job);
	struct copy *copy = container_of(hash, struct copy, hash);
	struct slot *slot = hash->slot;

	hash->at += slot->len;
	hash->slot = NULL;
	slot->hashing = false;
	if (hash->err)
		copy_stop_with(copy, diag_set(copy->diag, DIAG_SYSTEM, EIO, "SHA-256 failed"));
	next_piece(copy);
	if (slot->ended)
		copy_end_piece(slot);
	else
		copy_go(copy);
}

int copy_hash_start(struct copy *copy, struct diag *diag)
{
	struct copy_hash *hash = &copy->hash;

	if (!copy->opt->sha256)
		return 0;
	hash->job = (struct hand_job){ .run = on_thread, .done = from_thread };
	mbedtls_sha256_init(&hash->sha256);
	hands_init(&hash->hands, copy->loop);
	hash->on = true;
	hash->err = mbedtls_sha256_starts(&hash->sha256, 0);
	return hash->err ? diag_set(diag, DIAG_SYSTEM, EIO, "SHA-256 failed")
			 : hands_start(&hash->hands, diag);
}

void copy_hash_piece(struct slot *slot)
{
	if (!slot->copy->hash.on)
		return;
	slot->hashing = true;
	if (!slot->copy->hash.slot)
		next_piece(slot->copy);
}

void copy_hash_abandon(struct copy *copy)
{
	for (uint32_t i = 0; copy->hash.on && i < copy->depth; i++) {
		struct slot *slot = &copy->slot[i];

		if (!slot->ended || slot == copy->hash.slot)
			continue;
		slot->ended = slot->hashing = false;
		slot->next = copy->idle;
		copy->idle = slot;
		copy->busy--;
	}
}

int copy_hash_finish(struct copy *copy, uint8_t digest[32])
{
	return mbedtls_sha256_finish(&copy->hash.sha256, digest)
		       ? diag_set(copy->diag, DIAG_SYSTEM, EIO, "SHA-256 failed")
		       : 0;
}

void copy_hash_stop(struct copy *copy)
{
	if (!copy->hash.on)
		return;
	hands_fini(&copy->hash.hands);
	mbedtls_sha256_free(&copy->hash.sha256);
}
