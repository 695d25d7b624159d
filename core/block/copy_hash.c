/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "copy_hash.h"
#include "copy_slot.h"
#include "wire.h"
#include <errno.h>

#define BLOCK 65536u /* of blkhash: as nbdcopy --blkhash, and blksum */

static uint8_t zeroes[BLOCK]; /* never written */

static void end_block(struct copy_hash *hash)
{
	uint8_t digest[32];

	hash->err = mbedtls_sha256_finish(&hash->block, digest);
	if (!hash->err)
		hash->err = mbedtls_sha256_update(&hash->sha256, digest, sizeof(digest));
	if (!hash->err)
		hash->err = mbedtls_sha256_starts(&hash->block, 0);
	hash->fill = 0;
}

static void add_to_block(struct copy_hash *hash, const uint8_t *p, uint32_t len)
{
	if (p == zeroes && len == BLOCK) {
		hash->err = mbedtls_sha256_update(
			&hash->sha256, hash->zero_block, sizeof(hash->zero_block));
		return;
	}
	hash->err = mbedtls_sha256_update(&hash->block, p, len);
	hash->fill += len;
	if (!hash->err && hash->fill == BLOCK)
		end_block(hash);
}

static void on_thread(struct io_thread_job *job)
{
	struct copy_hash *hash = container_of(job, struct copy_hash, job);
	const struct slot *slot = hash->slot;
	uint32_t step;

	for (uint32_t at = 0; at < slot->len && !hash->err; at += step) {
		const uint8_t *p = slot->zero ? zeroes : slot->buf.p + at;

		step = (uint32_t)min_u64(slot->len - at, BLOCK - hash->fill);
		if (hash->kind == COPY_BLKHASH)
			add_to_block(hash, p, step);
		else
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
		io_threads_add(
			&hash->io_threads, &hash->job); /* can't fail: the thread was started */
		return;
	}
}

static void from_thread(struct io_thread_job *job)
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

	if (!copy->opt->hash)
		return 0;
	hash->job = (struct io_thread_job){ .run = on_thread, .done = from_thread };
	mbedtls_sha256_init(&hash->sha256);
	mbedtls_sha256_init(&hash->block);
	io_threads_init(&hash->io_threads, copy->loop);
	hash->kind = copy->opt->hash;
	hash->err = mbedtls_sha256_starts(&hash->sha256, 0);
	if (!hash->err)
		hash->err = mbedtls_sha256_starts(&hash->block, 0);
	if (!hash->err)
		hash->err = mbedtls_sha256(zeroes, BLOCK, hash->zero_block, 0);
	return hash->err ? diag_set(diag, DIAG_SYSTEM, EIO, "SHA-256 failed")
			 : io_threads_start(&hash->io_threads, diag);
}

void copy_hash_piece(struct slot *slot)
{
	if (!slot->copy->hash.kind)
		return;
	slot->hashing = true;
	if (!slot->copy->hash.slot)
		next_piece(slot->copy);
}

void copy_hash_abandon(struct copy *copy)
{
	for (uint32_t i = 0; copy->hash.kind && i < copy->depth; i++) {
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
	struct copy_hash *hash = &copy->hash;
	le64 len = put_le64(hash->at);

	if (hash->fill)
		end_block(hash);
	if (!hash->err && hash->kind == COPY_BLKHASH)
		hash->err = mbedtls_sha256_update(&hash->sha256, (uint8_t *)&len, sizeof(len));
	if (!hash->err)
		hash->err = mbedtls_sha256_finish(&hash->sha256, digest);
	return hash->err ? diag_set(copy->diag, DIAG_SYSTEM, EIO, "SHA-256 failed") : 0;
}

void copy_hash_stop(struct copy *copy)
{
	if (!copy->hash.kind)
		return;
	io_threads_fini(&copy->hash.io_threads);
	mbedtls_sha256_free(&copy->hash.sha256);
	mbedtls_sha256_free(&copy->hash.block);
}
