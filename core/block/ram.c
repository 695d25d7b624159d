/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ram:SIZE: anonymous memory shared by all lanes, populated on write. A bitmap records which chunks
 * of 64 KiB were written: the others are holes, and reading them touches no memory. */
#include "block.h"
#include "instant.h"
#include "mem.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK 65536u
#define PAGE  4096u

struct ram {
	struct instant disk;
	uint8_t *base;
	_Atomic uint64_t *written; /* a bit per chunk */
};

static bool chunk_written(const struct ram *ram, uint64_t chunk)
{
	return atomic_load_explicit(&ram->written[chunk / 64], memory_order_acquire) >>
		       (chunk % 64) &
	       1;
}

static uint32_t chunk_rest(uint64_t off, uint32_t len)
{
	uint32_t rest = CHUNK - off % CHUNK;

	return rest < len ? rest : len;
}

/* Set after the data is in place, and clear_chunks() before it is discarded. So whichever of a
 * racing write and trim is last, a clear bit always means zeroes. */
static void set_chunks(struct ram *ram, uint64_t off, uint32_t len)
{
	for (uint64_t chunk = off / CHUNK; chunk <= (off + len - 1) / CHUNK; chunk++)
		if (!chunk_written(ram, chunk))
			atomic_fetch_or_explicit(&ram->written[chunk / 64], 1ull << (chunk % 64),
				memory_order_release);
}

static void clear_chunks(struct ram *ram, uint64_t off, uint32_t len)
{
	uint64_t end = off + len;

	if (end == ram->disk.bdev.lim.size)
		end += CHUNK - 1;
	for (uint64_t chunk = (off + CHUNK - 1) / CHUNK; chunk < end / CHUNK; chunk++)
		if (chunk_written(ram, chunk))
			atomic_fetch_and_explicit(&ram->written[chunk / 64],
				~(1ull << (chunk % 64)), memory_order_acq_rel);
}

static void ram_read(struct ram *ram, uint64_t off, uint32_t len, uint8_t *to)
{
	while (len) {
		uint32_t part = chunk_rest(off, len);

		if (chunk_written(ram, off / CHUNK))
			memcpy(to, ram->base + off, part);
		else
			memset(to, 0, part);
		off += part;
		to += part;
		len -= part;
	}
}

/* Zero a part of one or two chunks, unless the chunk was never written. */
static void ram_wipe(struct ram *ram, uint64_t off, uint32_t len)
{
	while (len) {
		uint32_t part = chunk_rest(off, len);

		if (chunk_written(ram, off / CHUNK))
			memset(ram->base + off, 0, part);
		off += part;
		len -= part;
	}
}

static void ram_punch(struct ram *ram, uint64_t off, uint32_t len)
{
	uint64_t first = (off + PAGE - 1) & ~(uint64_t)(PAGE - 1),
		 last = (off + len) & ~(uint64_t)(PAGE - 1);

	clear_chunks(ram, off, len);
	/* locked memory can't be discarded */
	if (first >= last || madvise(ram->base + first, last - first, MADV_DONTNEED)) {
		ram_wipe(ram, off, len);
		return;
	}
	ram_wipe(ram, off, first - off);
	ram_wipe(ram, last, off + len - last);
}

static void ram_map(const struct ram *ram, struct io *io)
{
	struct map_run *run = (struct map_run *)(void *)io->buf->p;
	uint32_t most = io->buf->cap / sizeof(*run), len = io->len, n = 0;
	uint64_t off = io->off;

	while (len) {
		uint32_t part = chunk_rest(off, len);
		uint32_t flags = chunk_written(ram, off / CHUNK) ? 0 : MAP_HOLE | MAP_ZERO;

		if (n && run[n - 1].flags == flags) {
			run[n - 1].len += part;
		} else {
			if (n == most)
				break;
			run[n++] = (struct map_run){ .len = part, .flags = flags };
		}
		off += part;
		len -= part;
	}
	io->detail = n;
}

static int ram_serve(struct instant *disk, struct io *io)
{
	struct ram *ram = container_of(disk, struct ram, disk);

	switch ((enum io_kind)io->kind) {
	case IO_READ:
		ram_read(ram, io->off, io->len, io->buf->p);
		return 0;
	case IO_WRITE:
		memcpy(ram->base + io->off, io->buf->p, io->len);
		set_chunks(ram, io->off, io->len);
		return 0;
	case IO_FLUSH:
		return 0;
	case IO_ZERO:
		if (io->flags & IO_KEEP) {
			memset(ram->base + io->off, 0, io->len);
			set_chunks(ram, io->off, io->len);
			return 0;
		}
		ram_punch(ram, io->off, io->len);
		return 0;
	case IO_TRIM:
		ram_punch(ram, io->off, io->len);
		return 0;
	case IO_MAP:
		ram_map(ram, io);
		return 0;
	case IO_COMPARE_WRITE:
	case IO_KINDS:
		break;
	}
	return -EOPNOTSUPP;
}

static void ram_drop(struct instant *disk)
{
	struct ram *ram = container_of(disk, struct ram, disk);

	munmap(ram->base, ram->disk.bdev.lim.size);
	free(ram->written);
	free(ram);
}

int ram_attach(struct bdev **bdev, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	struct bdev_limits lim;
	struct ram *ram;
	void *base;
	int err = instant_geometry(&lim, uri, env, diag);

	if (err)
		return err;
	base = lim.size > SIZE_MAX / 2 ? NULL : mem_map(lim.size, MAP_NORESERVE);
	ram = calloc(1, sizeof(*ram));
	if (ram && base)
		ram->written = calloc(lim.size / CHUNK / 64 + 1, sizeof(*ram->written));
	if (!ram || !base || !ram->written) {
		if (base)
			munmap(base, lim.size);
		free(ram);
		return diag_set(diag, DIAG_NO_MEMORY, ENOMEM, "can't allocate %llu bytes of memory",
			(unsigned long long)lim.size);
	}
	ram->base = base;
	ram->disk.bdev.lim = lim;
	ram->disk.serve = ram_serve;
	ram->disk.drop = ram_drop;
	instant_start(&ram->disk, "ram", loop);
	*bdev = &ram->disk.bdev;
	return 0;
}
