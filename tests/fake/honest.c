/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Each of its slots has a share of the disk to itself, so that no two requests overlap. */
#include "honest.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS   4
#define SHARE   (HONEST_SIZE / SLOTS)
#define LONGEST 65536
#define BEAT    1000000ull

static uint8_t shadow[HONEST_SIZE], noise[2 * LONGEST];
static struct slot {
	struct io io;
	struct buf buf;
	uint64_t began_ns, lower[128];
} slot[SLOTS];
static unsigned left, flying, seed = 1;
static uint64_t longest_ns;
static bool ready; /* the others have done their part */
static volatile int tick;

static void submit(struct slot *s)
{
	flying++;
	s->began_ns = loop_clock();
	bdev_submit(lane, &s->io);
}

static void write_something(struct slot *s)
{
	uint32_t len = 512 * (1 + rand_r(&seed) % (LONGEST / 512));
	uint64_t off =
		(uint64_t)(s - slot) * SHARE + 512ull * (rand_r(&seed) % ((SHARE - len) / 512 + 1));

	left -= left > 0;
	memcpy(s->buf.p, noise + rand_r(&seed) % LONGEST, len);
	memcpy(shadow + off, s->buf.p, len);
	s->io.kind = IO_WRITE;
	s->io.off = off;
	s->io.len = len;
	submit(s);
}

static void done(struct io *io)
{
	struct slot *s = container_of(io, struct slot, io);
	uint64_t took = loop_clock() - s->began_ns;

	flying--;
	longest_ns = took > longest_ns ? took : longest_ns;
	cr_assert_eq(io->status, 0, "an honest request failed: %d", io->status);
	if (io->kind == IO_READ) {
		cr_assert_eq(memcmp(s->buf.p, shadow + io->off, io->len), 0,
			"an honest read brought other data");
		if (left || !ready)
			write_something(s);
	} else {
		memset(s->buf.p, 0xee, io->len);
		io->kind = IO_READ;
		submit(s);
	}
	tick = 1;
}

uint64_t honest_run(unsigned writes, bool (*others)(void))
{
	struct pool *pool;

	cr_assert_leq(disk->lim.io_size, sizeof(slot[0].lower));
	cr_assert_eq(pool_new(&pool, LONGEST, SLOTS, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	left = writes;
	longest_ns = 0;
	for (unsigned i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)rand_r(&seed);
	ready = !others;
	for (unsigned i = 0; i < SLOTS; i++) {
		slot[i] = (struct slot){ .buf = pool_buf(pool, i) };
		slot[i].io =
			(struct io){ .buf = &slot[i].buf, .done = done, .lower = slot[i].lower };
		write_something(&slot[i]);
	}
	while (flying) {
		tick = 0;
		loop_wait(loop, &tick, loop_clock() + BEAT);
		if (others && others())
			ready = true;
	}
	lane_unmap(lane, pool);
	pool_free(pool);
	return longest_ns;
}

void honest_check(const uint8_t *bytes)
{
	cr_assert_arr_eq(bytes, shadow, HONEST_SIZE);
}
