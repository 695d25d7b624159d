/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The copy engine against disks that answer out of order, lie and fail. */
#include "../../../core/block/copy_run.h"
#include "copy_map.h"
#include "disk.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct stage {
	struct loop *loop;
	struct fake_disk *src, *dst;
	struct copy_options opt;
	struct copy_progress progress;
	struct copy_disk src_is, dst_is;
	struct diag diag;
};

static struct stage set(
	uint64_t src_size, uint32_t src_block, uint64_t dst_size, uint32_t dst_block)
{
	struct stage s = { .opt.sparse = true };

	cr_assert_eq(loop_new(&s.loop, &(struct loop_options){ .name = "test" }, &s.diag), 0);
	s.src = fake_disk_new(s.loop, src_size, src_block);
	s.dst = fake_disk_new(s.loop, dst_size, dst_block);
	copy_disk_set(&s.src_is, src_size, "source", "fake:source");
	copy_disk_set(&s.dst_is, dst_size, "destination", "fake:destination");
	return s;
}

static int run(struct stage *s)
{
	s->diag = (struct diag){ 0 };
	s->opt.src_is = &s->src_is;
	s->opt.dst_is = &s->dst_is;
	return copy_run(s->loop, &s->src->bdev, &s->dst->bdev, &s->opt, &s->progress, &s->diag);
}

static void strike(struct stage *s)
{
	fake_disk_free(s->src);
	fake_disk_free(s->dst);
	loop_free(s->loop);
}

/* Stretches of data, of zeroes and of holes, of all lengths; the destination full of old bytes. */
static void fill(struct stage *s, unsigned seed)
{
	uint64_t size = s->src->bdev.lim.size, block = s->src->bdev.lim.block;

	memset(s->dst->bytes, 0xee, s->dst->bdev.lim.size);
	for (uint64_t at = 0; at < size;) {
		uint64_t len = (1 + rand_r(&seed) % (rand_r(&seed) % 4 ? 20 : 600)) * block;
		int what = rand_r(&seed) % 3;

		len = len < size - at ? len : size - at;
		for (uint64_t i = at; what == 0 && i < at + len; i++)
			s->src->bytes[i] = (uint8_t)rand_r(&seed);
		if (what == 2)
			memset(s->src->hole + at / 512, 1, len / 512);
		at += len;
	}
}

static void sha256(const uint8_t *bytes, uint64_t size, uint8_t digest[32])
{
	cr_assert_eq(mbedtls_sha256(bytes, size, digest, 0), 0);
}

static void blkhash(const uint8_t *bytes, uint64_t size, uint8_t digest[32])
{
	uint64_t blocks = (size + 65535) / 65536;
	uint8_t *all = malloc(blocks * 32 + 8);

	for (uint64_t i = 0; i < blocks; i++)
		sha256(bytes + i * 65536, i + 1 < blocks ? 65536 : size - i * 65536, all + i * 32);
	for (unsigned i = 0; i < 8; i++)
		all[blocks * 32 + i] = (uint8_t)(size >> 8 * i);
	sha256(all, blocks * 32 + 8, digest);
	free(all);
}

static void check_digest(const struct stage *s, unsigned seed)
{
	uint8_t digest[32];

	(s->opt.hash == COPY_BLKHASH ? blkhash : sha256)(
		s->src->bytes, s->src->bdev.lim.size, digest);
	cr_assert_eq(
		memcmp(digest, s->progress.hash, 32), 0, "seed %u: hash %d", seed, s->opt.hash);
}

static void random_options(struct stage *s, unsigned seed)
{
	s->opt.depth = 1 + rand_r(&seed) % 20;
	s->opt.request = rand_r(&seed) % 3 ? 512 << rand_r(&seed) % 10 : 0;
	s->opt.sparse = rand_r(&seed) % 4;
	s->opt.verify = true;
	s->opt.hash = rand_r(&seed) % 3;
	s->opt.dst_zero = rand_r(&seed) % 4 == 0;
	s->src->seed = rand_r(&seed);
	s->dst->seed = rand_r(&seed) | 1;
	if (s->opt.dst_zero)
		memset(s->dst->bytes, 0, s->dst->bdev.lim.size);
	if (rand_r(&seed) % 4 == 0)
		s->src->bdev.lim.max[IO_MAP] = rand_r(&seed) % 2 * 65536;
	if (rand_r(&seed) % 4 == 0)
		s->dst->bdev.lim.max[IO_ZERO] = rand_r(&seed) % 2 * 65536;
	if (rand_r(&seed) % 4 == 0)
		s->dst->bdev.lim.max[IO_FLUSH] = 0;
	if (rand_r(&seed) % 4 == 0)
		s->src->bdev.lim.max[IO_READ] = 12288;
	if (rand_r(&seed) % 4 == 0)
		s->dst->bdev.lim.max[IO_WRITE] = 20480;
}

Test(copy, every_layout_and_option_gives_the_same_bytes)
{
	for (unsigned seed = 1; seed <= 120; seed++) {
		uint32_t src_block = seed % 3 ? 512 : 4096, dst_block = seed % 2 ? 512 : 4096;
		uint64_t size = (seed % 5 ? 1 << 20 : 3 << 20) + seed % 7 * src_block;
		struct stage s = set(size, src_block,
			(size + 4095) / 4096 * 4096 + (seed % 2 ? 1 << 16 : 4096), dst_block);
		uint8_t behind;
		int rc;

		fill(&s, seed);
		random_options(&s, seed * 7919);
		behind = s.dst->bytes[s.dst->bdev.lim.size - 1];
		rc = run(&s);
		cr_assert_eq(rc, 0, "seed %u: %s: %s", seed, s.diag.object, s.diag.text);
		cr_assert_eq(
			memcmp(s.src->bytes, s.dst->bytes, size), 0, "seed %u: bytes differ", seed);
		for (uint64_t i = size; i < s.dst->bdev.lim.size; i++)
			cr_assert_eq(s.dst->bytes[i], behind,
				"seed %u: byte %llu behind the source's end", seed,
				(unsigned long long)(i - size));
		if (s.opt.hash)
			check_digest(&s, seed);
		cr_assert_eq(s.progress.verified, size, "seed %u", seed);
		cr_assert_eq(s.progress.copied + s.progress.zeroed + s.progress.skipped, size,
			"seed %u", seed);
		cr_assert_eq(s.progress.done, s.progress.total, "seed %u", seed);
		strike(&s);
	}
}

Test(copy, holes_are_neither_read_nor_written_onto_zeroes)
{
	struct stage s = set(8 << 20, 512, 8 << 20, 512);

	memset(s.src->hole, 1, (8 << 20) / 512);
	memset(s.src->bytes + (1 << 20), 7, 4096);
	memset(s.src->hole + (1 << 20) / 512, 0, 8);
	s.opt.dst_zero = true;
	cr_assert_eq(run(&s), 0);
	cr_assert_eq(s.src->read, 4096);
	cr_assert_eq(s.dst->written, 4096);
	cr_assert_eq(s.dst->zeroed, 0);
	cr_assert_eq(s.progress.skipped, (8 << 20) - 4096);
	cr_assert_eq(s.progress.read, 4096);
	cr_assert_eq(memcmp(s.src->bytes, s.dst->bytes, 8 << 20), 0);
	strike(&s);
}

Test(copy, zeroes_that_were_read_count_as_read)
{
	struct stage s = set(8 << 20, 512, 8 << 20, 512);

	s.opt.dst_zero = s.opt.verify = true;
	cr_assert_eq(run(&s), 0);
	cr_assert_eq(s.progress.skipped, 8 << 20);
	cr_assert_eq(s.progress.read, 8 << 20, "and not the comparison");
	cr_assert_leq(s.progress.copy_seconds, s.progress.seconds);
	strike(&s);
}

Test(copy, zeroes_inside_a_request_are_not_written_as_data)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	memset(s.dst->bytes, 0xee, 1 << 20);
	memset(s.src->bytes, 1, 4096);
	memset(s.src->bytes + 65536, 1, 4096);
	s.src->bdev.lim.max[IO_MAP] = 0;
	cr_assert_eq(run(&s), 0);
	cr_assert_eq(s.dst->written, 8192);
	cr_assert_eq(s.dst->zeroed, (1 << 20) - 8192);
	cr_assert_eq(memcmp(s.src->bytes, s.dst->bytes, 1 << 20), 0);
	strike(&s);
}

Test(copy, not_sparse_writes_every_byte)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	s.opt.sparse = false;
	memset(s.src->hole, 1, (1 << 20) / 512);
	cr_assert_eq(run(&s), 0);
	cr_assert_eq(s.dst->written, 1 << 20);
	strike(&s);
}

Test(copy, a_smaller_destination_is_refused_untouched)
{
	struct stage s = set(1 << 20, 512, (1 << 20) - 512, 512);

	cr_assert_eq(run(&s), -ENOSPC);
	diag_says(&s.diag, DIAG_USAGE, s.dst->bdev.uri, "1048064 1048576");
	cr_assert_eq(s.dst->written + s.dst->zeroed + s.src->read, 0);
	strike(&s);
}

Test(copy, a_read_only_destination_is_refused)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	s.dst->bdev.lim.ro = true;
	cr_assert_eq(run(&s), -EROFS);
	diag_says(&s.diag, DIAG_PERMISSION, s.dst->bdev.uri, "read-only");
	strike(&s);
}

Test(copy, a_bad_block_ends_it_and_is_named)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	memset(s.src->bytes, 5, 1 << 20);
	s.src->bad_off = 700000;
	s.src->bad_len = 1;
	cr_assert_eq(run(&s), -EIO);
	diag_says(&s.diag, DIAG_IO, s.src->bdev.uri, "read 524288 input/output_error");
	text_says(s.diag.hint, "--keep-going");
	strike(&s);
}

Test(copy, a_failing_write_ends_it_and_is_named)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	memset(s.src->bytes, 5, 1 << 20);
	s.dst->fail_write = 600000;
	cr_assert_eq(run(&s), -EIO);
	diag_says(&s.diag, DIAG_IO, s.dst->bdev.uri, "write 524288");
	strike(&s);
}

Test(copy, keep_going_leaves_out_exactly_the_bad_blocks)
{
	for (unsigned seed = 1; seed <= 30; seed++) {
		struct stage s = set(2 << 20, 512, 2 << 20, 512);
		uint64_t from, to;

		fill(&s, seed);
		memset(s.src->hole, 0, (2 << 20) / 512);
		memset(s.dst->bytes, 0xee, 2 << 20);
		s.src->seed = seed;
		s.src->bad_off = seed * 41234;
		s.src->bad_len = seed * 977;
		s.src->bad_status = seed % 2 ? -EIO : -ENODATA;
		from = s.src->bad_off / 512 * 512;
		to = (s.src->bad_off + s.src->bad_len + 511) / 512 * 512;
		s.opt.keep_going = true;
		s.opt.verify = true;
		s.opt.fill_bad = seed % 3 == 0;
		cr_assert_eq(run(&s), 0, "seed %u: %s", seed, s.diag.text);
		cr_assert_eq(s.progress.bad, to - from, "seed %u", seed);
		cr_assert_eq(s.progress.verified, (2 << 20) - (to - from), "seed %u", seed);
		memset(s.src->bytes + from, s.opt.fill_bad ? 0 : 0xee, to - from);
		cr_assert_eq(memcmp(s.src->bytes, s.dst->bytes, 2 << 20), 0, "seed %u", seed);
		strike(&s);
	}
}

Test(copy, keep_going_does_not_take_a_lost_source_for_bad_blocks)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	s.src->bad_len = 1 << 20;
	s.src->bad_status = -ENOTCONN;
	s.opt.keep_going = true;
	s.opt.sparse = false;
	cr_assert_eq(run(&s), -ENOTCONN);
	cr_assert_eq(s.progress.bad, 0);
	strike(&s);
}

static char map_name[] = "/tmp/copy-map-XXXXXX";

static void own_map(struct stage *s)
{
	int fd = mkstemp(strcpy(map_name, "/tmp/copy-map-XXXXXX"));

	cr_assert(fd >= 0);
	close(fd);
	unlink(map_name);
	s->opt.map = map_name;
}

/* What a failure of the map names. */
static const char *map_object(void)
{
	static char object[sizeof("map ") + sizeof(map_name)];

	return strcat(strcpy(object, "map "), map_name);
}

/* Bytes that the saved map gives one of these letters. */
static uint64_t sum_of(const struct stage *s, const char *letters)
{
	uint64_t off = 0, len, sum = 0;
	struct copy_map map;

	cr_assert_eq(copy_map_init(&map, s->src->bdev.lim.size, NULL), 0);
	cr_assert_eq(copy_map_load(&map, s->opt.map, NULL), 0);
	for (; copy_map_next(&map, off, letters, &off, &len); off += len)
		sum += len;
	copy_map_fini(&map);
	return sum;
}

Test(copy, a_lost_connection_is_no_bad_block)
{
	static const struct {
		int err;
		enum diag_code code;
	} way[] = { { EHOSTUNREACH, DIAG_UNREACHABLE }, { ETIMEDOUT, DIAG_TIMEOUT },
		{ 0, DIAG_UNREACHABLE } };

	for (unsigned i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		struct stage s = set(1 << 20, 512, 1 << 20, 512);
		int err = way[i].err ? way[i].err : EHOSTUNREACH;

		memset(s.src->bytes, 5, 1 << 20);
		own_map(&s);
		s.src->bad_off = 700000;
		s.src->bad_len = 1;
		s.src->bad_status = -EHOSTUNREACH;
		if (way[i].err)
			diag_set(
				&s.src->bdev.why, way[i].code, way[i].err, "no connection for 3 s");
		s.opt.keep_going = true;
		cr_assert_eq(run(&s), -err);
		diag_says(&s.diag, way[i].code, s.src->bdev.uri,
			way[i].err ? "524288 connection 3_s" : "524288 connection");
		cr_assert_not(strstr(s.diag.hint, "keep-going"), "%s", s.diag.hint);
		cr_assert_eq(s.progress.bad, 0);
		cr_assert_eq(sum_of(&s, "-"), 0, "the map calls something bad");
		s.src->bad_len = 0;
		cr_assert_eq(run(&s), 0);
		cr_assert_eq(memcmp(s.src->bytes, s.dst->bytes, 1 << 20), 0);
		unlink(map_name);
		strike(&s);
	}
}

static const char *path_answer(uint32_t detail)
{
	return detail == 77 ? "the namespace cannot be reached over this path" : NULL;
}

/* The target's own path is lost, not ours to the target. */
Test(copy, a_path_error_that_the_target_answers_is_no_lost_connection)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	own_map(&s);
	s.src->bdev.status_text = path_answer;
	s.src->bad_off = 700000;
	s.src->bad_len = 1;
	s.src->bad_status = -EHOSTUNREACH;
	s.src->bad_detail = 77;
	s.opt.keep_going = true;
	cr_assert_eq(run(&s), -EHOSTUNREACH);
	diag_says(&s.diag, DIAG_UNREACHABLE, s.src->bdev.uri, path_answer(77));
	cr_assert_not(s.progress.lost);
	cr_assert_eq(s.progress.bad, 0);
	cr_assert_eq(sum_of(&s, "-"), 0, "the map calls something bad");
	s.src->bad_detail = 0;
	cr_assert_eq(run(&s), -EHOSTUNREACH);
	cr_assert(s.progress.lost);
	unlink(map_name);
	strike(&s);
}

Test(copy, a_destination_lost_at_the_flush_is_named)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	s.dst->flush_status = -EHOSTUNREACH;
	diag_set(&s.dst->bdev.why, DIAG_UNREACHABLE, EHOSTUNREACH, "no connection for 9 s");
	cr_assert_eq(run(&s), -EHOSTUNREACH);
	diag_says(&s.diag, DIAG_UNREACHABLE, s.dst->bdev.uri, "connection 9_s");
	strike(&s);
}

Test(copy, verify_names_the_first_differing_byte)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		struct stage s = set(1 << 20, 512, 1 << 20, 512);
		char words[64];

		memset(s.src->bytes, 9, 1 << 20);
		s.src->seed = s.dst->seed = seed;
		s.dst->falsify = 1 + seed * 50023;
		s.opt.verify = true;
		s.opt.request = 4096;
		cr_assert_eq(run(&s), -EILSEQ);
		snprintf(words, sizeof(words), "byte_%u", 1 + seed * 50023);
		diag_says(&s.diag, DIAG_MISMATCH, s.dst->bdev.uri, words);
		text_says(s.diag.text, s.src->bdev.uri);
		strike(&s);
	}
}

struct stopper {
	int stop;
	unsigned after;
};

static void stop_later(struct fake_disk *disk, void *arg)
{
	struct stopper *stopper = arg;

	(void)disk;
	if (stopper->after && !--stopper->after)
		stopper->stop = 1;
	else
		usleep(1000);
}

/* What the map calls finished must be on the disk even if all that was not flushed is lost. */
static uint64_t check_map(const struct stage *s)
{
	struct copy_map map;
	struct diag diag;
	uint64_t off = 0, len, sum = 0;

	cr_assert_eq(copy_map_init(&map, s->src->bdev.lim.size, &diag), 0);
	cr_assert_eq(copy_map_load(&map, s->opt.map, &diag), 0, "%s", diag.text);
	for (; copy_map_next(&map, off, "+", &off, &len); off += len) {
		cr_assert_eq(memcmp(s->dst->safe + off, s->src->bytes + off, len), 0, "at %llu",
			(unsigned long long)off);
		sum += len;
	}
	copy_map_fini(&map);
	return sum;
}

Test(copy, a_hash_of_a_resumed_copy_reads_what_is_finished_again)
{
	struct stage s = set(4 << 20, 512, 4 << 20, 512);
	struct stopper stopper = { .after = 300 };
	uint64_t kept, before;

	fill(&s, 1);
	own_map(&s);
	s.opt.request = 4096;
	s.opt.depth = 4;
	s.opt.hash = COPY_SHA256;
	s.opt.sparse = false;
	s.opt.stop = &stopper.stop;
	s.dst->wrote = stop_later;
	s.dst->arg = &stopper;
	s.dst->seed = 5;
	cr_assert_eq(run(&s), -EINTR);
	kept = check_map(&s);
	cr_assert(kept > 0 && kept < 4 << 20, "%llu", (unsigned long long)kept);
	stopper.stop = 0;
	before = s.dst->written;
	cr_assert_eq(run(&s), 0, "%s", s.diag.text);
	check_digest(&s, 0);
	cr_assert_eq(s.progress.resumed, kept);
	cr_assert_eq(s.progress.read, 4 << 20);
	cr_assert_eq(s.progress.done, 4 << 20);
	cr_assert_eq(s.dst->written - before, (4 << 20) - kept);
	cr_assert_eq(check_map(&s), 4 << 20);
	cr_assert_eq(run(&s), 0, "%s", s.diag.text);
	check_digest(&s, 0);
	cr_assert(s.progress.already);
	unlink(map_name);
	strike(&s);
}

Test(copy, a_hash_waits_for_no_piece_that_failed)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct stage s = set(1 << 20, 512, 1 << 20, 512);

		s.src->bad_off = seed * 40960;
		s.src->bad_len = 512;
		s.src->seed = s.dst->seed = seed;
		s.opt.hash = COPY_SHA256;
		s.opt.sparse = false;
		s.opt.request = 4096;
		s.opt.depth = 16;
		cr_assert_eq(run(&s), -EIO, "seed %u: %s", seed, s.diag.text);
		strike(&s);
	}
}

Test(copy, a_stopped_one_saves_its_map_and_goes_on_from_it)
{
	struct stage s = set(4 << 20, 512, 4 << 20, 512);
	struct stopper stopper = { .after = 300 };
	uint64_t kept;

	memset(s.src->bytes, 3, 4 << 20);
	own_map(&s);
	s.opt.request = 4096;
	s.opt.depth = 4;
	s.opt.stop = &stopper.stop;
	s.dst->wrote = stop_later;
	s.dst->arg = &stopper;
	s.dst->seed = 5;
	cr_assert_eq(run(&s), -EINTR);
	kept = check_map(&s);
	cr_assert(kept > 0 && kept < 4 << 20, "%llu", (unsigned long long)kept);

	stopper.stop = 0;
	s.src->read = 0;
	cr_assert_eq(run(&s), 0, "%s", s.diag.text);
	cr_assert_eq(s.src->read, (4 << 20) - kept);
	cr_assert_eq(memcmp(s.src->bytes, s.dst->bytes, 4 << 20), 0);
	cr_assert_eq(check_map(&s), 4 << 20);
	cr_assert_not(s.progress.already);

	s.src->read = 0;
	s.opt.verify = true;
	cr_assert_eq(run(&s), 0);
	cr_assert_eq(s.src->read, 4 << 20, "a finished one is only verified");
	cr_assert(s.progress.already);
	unlink(map_name);
	strike(&s);
}

Test(copy, the_map_never_runs_ahead_of_the_flush)
{
	struct stage s = set(2 << 20, 512, 2 << 20, 512);
	struct stopper stopper = { 0 };

	fill(&s, 11);
	own_map(&s);
	s.opt.request = 512;
	s.opt.depth = 3;
	s.dst->seed = 3;
	s.dst->wrote = stop_later;
	s.dst->arg = &stopper;
	s.dst->fail_write = (2 << 20) - 1024;
	s.src->bytes[(2 << 20) - 1024] = 1;
	s.src->hole[(2 << 20) / 512 - 2] = 0;
	cr_assert_eq(run(&s), -EIO);
	cr_assert(s.dst->flushes >= 2, "the map is saved during the copy");
	check_map(&s);
	unlink(map_name);
	strike(&s);
}

Test(copy, bad_blocks_are_in_the_map_and_tried_again)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	memset(s.src->bytes, 3, 1 << 20);
	own_map(&s);
	s.src->bad_off = 8192;
	s.src->bad_len = 1024;
	s.opt.keep_going = true;
	cr_assert_eq(run(&s), 0);
	cr_assert_eq(s.progress.bad, 1024);
	s.src->bad_len = 512;
	s.src->read = 0;
	cr_assert_eq(run(&s), 0);
	cr_assert_eq(s.progress.bad, 512);
	cr_assert(s.src->read <= 4096, "%llu", (unsigned long long)s.src->read);
	unlink(map_name);
	strike(&s);
}

Test(copy, a_map_of_another_size_or_for_a_new_file_is_refused)
{
	struct stage s = set(1 << 20, 512, 2 << 20, 512), t = set(2 << 20, 512, 2 << 20, 512);

	memset(s.src->bytes, 3, 1 << 20);
	own_map(&s);
	cr_assert_eq(run(&s), 0);
	t.opt.map = s.opt.map;
	cr_assert_eq(run(&t), -EINVAL);
	diag_says(&t.diag, DIAG_MISMATCH, map_object(), "1048576 2097152");
	cr_assert_eq(t.dst->written, 0);
	s.opt.dst_zero = true;
	cr_assert_eq(run(&s), -ESTALE);
	diag_says(&s.diag, DIAG_MISMATCH, map_object(), "1048576 destination empty");
	copy_disk_set(&s.dst_is, 0, "other", "fake:other");
	cr_assert_eq(run(&s), -ESTALE);
	diag_says(&s.diag, DIAG_MISMATCH, map_object(), "destination fake:destination");
	unlink(map_name);
	strike(&s);
	strike(&t);
}

Test(copy, an_unwritable_map_is_an_error_before_the_copy)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	s.opt.map = "/nonexistent/map";
	cr_assert_eq(run(&s), -ENOENT);
	diag_says(&s.diag, DIAG_NOT_FOUND, "map /nonexistent/map", "no_such_file");
	cr_assert_eq(s.src->read, 0);
	cr_assert_not(s.progress.saved);
	strike(&s);
}

Test(copy, a_map_of_other_disks_is_refused_whatever_their_size)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512), was = s;
	uint64_t done;

	memset(s.src->bytes, 3, 1 << 20);
	own_map(&s);
	cr_assert_eq(run(&s), 0);
	was = s;
	s.dst->written = 0;

	copy_disk_set(&s.src_is, 1 << 20, "other", s.src_is.uri);
	cr_assert_eq(run(&s), -ESTALE);
	diag_says(&s.diag, DIAG_MISMATCH, map_object(), "source fake:source");

	s.src_is = was.src_is;
	copy_disk_set(&s.dst_is, 1 << 20, "other", s.dst_is.uri);
	cr_assert_eq(run(&s), -ESTALE);
	diag_says(&s.diag, DIAG_MISMATCH, map_object(), "destination fake:destination");
	s.opt.dst_is = NULL;
	cr_assert_eq(
		copy_check_map(s.loop, &s.src->bdev, &s.opt, &done, &s.diag), 0, "not known yet");
	cr_assert_eq(done, 1 << 20);
	s.opt.dst_is = &s.dst_is;
	cr_assert_eq(copy_check_map(s.loop, &s.src->bdev, &s.opt, &done, &s.diag), -ESTALE);

	s.dst_is = was.dst_is;
	s.dst_is.size = 2 << 20;
	cr_assert_eq(run(&s), -ESTALE);

	s.dst_is = was.dst_is;
	copy_disk_set(&s.src_is, 1 << 20, was.src_is.id, "another name");
	cr_assert_eq(run(&s), 0, "%s", s.diag.text);
	cr_assert(s.progress.already);
	cr_assert_eq(s.dst->written, 0);
	unlink(map_name);
	strike(&s);
}

static void write_map(const char *text)
{
	FILE *f = fopen(map_name, "w");

	cr_assert(f && fputs(text, f) >= 0 && !fclose(f));
}

/* Another disk may have the URI since. */
Test(copy, a_map_of_a_disk_that_only_its_uri_identifies_needs_verification)
{
	struct stage s = set(1 << 20, 512, 1 << 20, 512);

	memset(s.src->bytes, 3, 1 << 20);
	own_map(&s);
	s.dst_is.by_uri = true;
	cr_assert_eq(run(&s), 0, "nothing is finished: %s", s.diag.text);
	memset(s.dst->bytes, 0, 1 << 20);
	cr_assert_eq(run(&s), -EINVAL);
	diag_says(&s.diag, DIAG_MISMATCH, map_object(), "1048576 fake:destination URI");
	text_says(s.diag.hint, "--verify");
	s.dst_is.by_uri = false;
	s.src_is.by_uri = true;
	cr_assert_eq(run(&s), -EINVAL);
	diag_says(&s.diag, DIAG_MISMATCH, map_object(), "1048576 fake:source URI");
	s.opt.verify = true;
	cr_assert_eq(run(&s), -EILSEQ);
	memset(s.dst->bytes, 3, 1 << 20);
	cr_assert_eq(run(&s), 0, "%s", s.diag.text);
	s.opt.verify = false;
	cr_assert_eq(run(&s), -EINVAL, "verified once, and then trusted");
	unlink(map_name);
	strike(&s);
}

/* As the version before names, or GNU ddrescue, has written it. */
Test(copy, a_map_without_names_needs_verification)
{
	static const char half[] = "0x0 ? 1\n0 524288 +\n524288 524288 ?\n";
	struct stage s = set(1 << 20, 512, 1 << 20, 512);
	struct stopper stopper = { .after = 3 };
	uint64_t done;

	memset(s.src->bytes, 3, 1 << 20);
	own_map(&s);
	write_map(half);
	cr_assert_eq(run(&s), -EINVAL);
	diag_says(&s.diag, DIAG_MISMATCH, map_object(), "--verify");
	cr_assert_eq(copy_check_map(s.loop, &s.src->bdev, &s.opt, &done, &s.diag), -EINVAL);
	cr_assert_eq(s.dst->written, 0);

	/* until then it gets no names, or the next run would trust it */
	s.opt.verify = true;
	s.opt.request = 512;
	s.opt.depth = 2;
	s.opt.stop = &stopper.stop;
	s.dst->wrote = stop_later;
	s.dst->arg = &stopper;
	s.dst->seed = 5;
	cr_assert_eq(run(&s), -EINTR);
	s.opt.verify = false;
	cr_assert_eq(run(&s), -EINVAL);
	stopper = (struct stopper){ 0 };
	s.opt.verify = true;
	cr_assert_eq(run(&s), -EILSEQ, "what it calls finished was never copied");
	memset(s.dst->bytes, 3, 1 << 20);
	cr_assert_eq(run(&s), 0, "%s", s.diag.text);
	s.opt.verify = false;
	cr_assert_eq(run(&s), 0, "verified, and still not trusted: %s", s.diag.text);

	write_map("0x0 ? 1\n0 1048576 ?\n");
	cr_assert_eq(run(&s), 0, "nothing in it is to be trusted: %s", s.diag.text);
	unlink(map_name);
	strike(&s);
}

Test(copy, a_map_that_cuts_blocks_is_of_use_and_cuts_no_request)
{
	struct stage s = set(64 << 10, 512, 64 << 10, 4096);

	memset(s.src->bytes, 3, 64 << 10);
	memset(s.dst->bytes, 3, 12 << 10);
	own_map(&s);
	write_map("0x0 ? 1\n0 8704 +\n8704 1 -\n8705 24063 ?\n32768 32768 +\n");
	s.opt.verify = true;
	cr_assert_eq(run(&s), -EILSEQ);
	memset(s.dst->bytes + (32 << 10), 3, 32 << 10);
	cr_assert_eq(run(&s), 0, "%s", s.diag.text);
	cr_assert_eq(s.dst->written, 24 << 10);
	unlink(map_name);
	strike(&s);
}

/* The map's directory, simulated by a FIFO: opening it for writing blocks until the loop's timer
 * opens it for reading. */
struct slow_dir {
	struct loop_timer timer;
	struct loop *loop;
	char fifo[64];
	unsigned turns;
	int reader;
};

static void turn(struct loop_timer *timer)
{
	struct slow_dir *slow = container_of(timer, struct slow_dir, timer);

	if (++slow->turns == 20)
		slow->reader = open(slow->fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	loop_timer_set(slow->loop, timer, loop_now(slow->loop) + 1000000);
}

static void block_map(struct fake_disk *disk, void *arg)
{
	struct slow_dir *slow = arg;

	(void)disk;
	if (slow->timer.on)
		return;
	cr_assert_eq(mkfifo(slow->fifo, 0600), 0);
	loop_timer_set(slow->loop, &slow->timer, loop_now(slow->loop));
}

Test(copy, a_slow_directory_of_the_map_does_not_stop_the_loop)
{
	for (int first = 0; first < 2; first++) {
		struct stage s = set(1 << 20, 512, 1 << 20, 512);
		struct slow_dir slow = { .timer.fire = turn, .loop = s.loop, .reader = -1 };

		memset(s.src->bytes, 3, 1 << 20);
		own_map(&s);
		snprintf(slow.fifo, sizeof(slow.fifo), "%s.new", map_name);
		s.dst->arg = &slow;
		if (first)
			block_map(s.dst, &slow);
		else
			s.dst->wrote = block_map;
		cr_assert(run(&s) < 0, "a FIFO cannot be a map");
		cr_assert_str_eq(s.diag.object, map_object());
		cr_assert_eq(s.progress.saved, !first);
		cr_assert_geq(slow.turns, 20);
		loop_timer_del(s.loop, &slow.timer);
		close(slow.reader);
		unlink(slow.fifo);
		unlink(map_name);
		strike(&s);
	}
}
