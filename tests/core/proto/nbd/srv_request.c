/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD request engine behind a real socket, over a disk that answers out of order and fails on
 * request. */
/* Link: leap */
#include "nbd_client.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Long reads in simple replies among short ones: pieces in order, nothing in between, whatever
 * order the disk has. */
Test(nbd, long_simple_reads_stay_whole_and_in_order)
{
	for (unsigned seed = 1; seed < 12; seed++) {
		struct client *s = client_set(512, seed % 2 ? 4 : 16, false);
		uint64_t off[20];
		uint32_t len[20];
		bool seen[20] = { 0 };
		size_t at = 0;

		client_hello(s, false);
		s->disk->seed = seed;
		for (uint8_t i = 0; i < 20; i++) {
			off[i] = (i * 7919u % 1000) * 512;
			len[i] = i % 3 ? 4096 : BUFFER * 5 + 512 * i;
			client_ask(s, NBD_CMD_READ, 0, i, off[i], len[i]);
		}
		for (int n = 0; n < 20; n++) {
			uint8_t i;

			cr_assert_eq(client_hear(s, 16), 16);
			i = s->in[at + 8];
			cr_assert_lt(i, 20);
			cr_assert_not(seen[i]);
			seen[i] = true;
			cr_assert_eq(client_simple_error(s, at, i), 0);
			cr_assert_eq(client_hear(s, len[i]), len[i]);
			cr_assert_eq(memcmp(s->in + at + 16, s->disk->bytes + off[i], len[i]), 0,
				"seed %u request %u", seed, i);
			at += 16 + len[i];
		}
		cr_assert_eq(client_strike(s), 0);
	}
}

Test(nbd, long_structured_read_is_one_chunk_a_piece)
{
	for (unsigned seed = 0; seed < 6; seed++) {
		struct client *s = client_set(512, 4, false);
		uint32_t len = BUFFER * 20 + 1024, sum = 0;
		struct client_chunk chunk;

		client_hello(s, true);
		s->disk->seed = seed;
		client_ask(s, NBD_CMD_READ, 0, 9, 512, len);
		do {
			uint64_t off;

			chunk = client_next_chunk(s);
			cr_assert_eq(chunk.type, NBD_REPLY_TYPE_OFFSET_DATA);
			cr_assert_eq(chunk.cookie, 9);
			off = wire_be(chunk.data, 8);
			cr_assert(off >= 512 && off + chunk.len - 8 <= 512 + len);
			cr_assert_eq(
				memcmp(chunk.data + 8, s->disk->bytes + off, chunk.len - 8), 0);
			sum += chunk.len - 8;
		} while (!(chunk.flags & NBD_REPLY_FLAG_DONE));
		cr_assert_eq(sum, len);
		client_strike(s);
	}
}

Test(nbd, first_piece_failing_is_an_error_reply)
{
	struct client *s = client_set(512, 4, false);

	client_hello(s, false);
	s->disk->bad_off = 100;
	s->disk->bad_len = 1;
	client_ask(s, NBD_CMD_READ, 0, 1, 0, BUFFER * 20);
	client_ask(s, NBD_CMD_READ, 0, 2, 1 << 20, 512);
	cr_assert_eq(client_hear(s, 16 + 16 + 512), 16 + 16 + 512);
	cr_assert_eq(client_simple_error(s, 0, 1), NBD_EIO);
	cr_assert_eq(client_simple_error(s, 16, 2), 0);
	client_strike(s);
}

Test(nbd, later_piece_failing_ends_a_simple_connection)
{
	struct client *s = client_set(512, 4, false);

	client_hello(s, false);
	s->disk->bad_off = BUFFER * 10;
	s->disk->bad_len = 1;
	client_ask(s, NBD_CMD_READ, 0, 1, 0, BUFFER * 20);
	cr_assert_lt(client_hear(s, 16 + BUFFER * 20), 16 + BUFFER * 20);
	cr_assert_eq(client_simple_error(s, 0, 1), 0);
	cr_assert(client_closed(s));
	client_strike(s);
}

Test(nbd, failing_piece_of_a_structured_read_names_its_offset)
{
	struct client *s = client_set(512, 4, false);
	uint32_t good = 0, bad = 0;
	struct client_chunk chunk;

	client_hello(s, true);
	s->disk->seed = 3;
	s->disk->bad_off = BUFFER * 5;
	s->disk->bad_len = 1;
	client_ask(s, NBD_CMD_READ, 0, 1, 0, BUFFER * 20);
	do {
		chunk = client_next_chunk(s);
		if (chunk.type == NBD_REPLY_TYPE_OFFSET_DATA) {
			good += chunk.len - 8;
			continue;
		}
		cr_assert_eq(chunk.type, NBD_REPLY_TYPE_ERROR_OFFSET);
		cr_assert_eq(wire_be(chunk.data, 4), NBD_EIO);
		bad++;
	} while (!(chunk.flags & NBD_REPLY_FLAG_DONE));
	cr_assert_eq(bad, 1);
	cr_assert(good >= BUFFER * 15 && good < BUFFER * 20);
	client_strike(s);
}

Test(nbd, long_write_lands_whole_and_is_answered_once)
{
	struct client *s = client_set(512, 3, false);
	uint32_t len = BUFFER * 20 + 512;
	uint8_t *data = malloc(len);

	client_hello(s, false);
	s->disk->seed = 5;
	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i >> 7);
	client_ask(s, NBD_CMD_WRITE, 0, 7, 1024, len);
	client_say(s, data, len);
	client_ask(s, NBD_CMD_READ, 0, 8, 0, 512);
	cr_assert_eq(client_hear(s, 32 + 512), 32 + 512);
	cr_assert_eq(memcmp(s->disk->bytes + 1024, data, len), 0);
	free(data);
	client_strike(s);
}

/* Payload that waits for a command or a buffer, in the stage and in the socket behind it. */
Test(nbd, writes_of_all_lengths_beyond_the_slots_land_whole)
{
	struct client *s = client_set(512, 2, false);
	uint8_t *data = malloc(SIZE);
	unsigned count = 0;

	client_hello(s, false);
	s->disk->seed = 3;
	for (uint32_t i = 0; i < SIZE; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 21);
	for (uint32_t off = 0, len; off < SIZE; off += len, count++) {
		len = 512 * (1 + count * 37 % 300);
		len = len < SIZE - off ? len : SIZE - off;
		client_ask(s, NBD_CMD_WRITE, 0, 1, off, len);
		client_say(s, data + off, len);
	}
	cr_assert_eq(client_hear(s, count * 16), count * 16);
	for (unsigned i = 0; i < count; i++)
		cr_assert_eq(client_simple_error(s, i * 16, 1), 0);
	cr_assert_eq(memcmp(s->disk->bytes, data, SIZE), 0);
	free(data);
	client_strike(s);
}

Test(nbd, long_write_with_a_failing_piece_is_an_error)
{
	struct client *s = client_set(512, 3, false);
	static uint8_t data[BUFFER * 8];

	client_hello(s, false);
	s->disk->fail_write = BUFFER * 3;
	client_ask(s, NBD_CMD_WRITE, 0, 7, 0, sizeof(data));
	client_say(s, data, sizeof(data));
	cr_assert_eq(client_hear(s, 16), 16);
	cr_assert_eq(client_simple_error(s, 0, 7), NBD_EIO);
	client_strike(s);
}

Test(nbd, payload_of_a_refused_write_is_dropped)
{
	struct client *s = client_set(512, 4, true);
	static uint8_t data[300000];

	client_hello(s, false);
	memset(data, 0x25, sizeof(data));
	client_ask(s, NBD_CMD_WRITE, 0, 1, 0, sizeof(data) & ~511u);
	client_say(s, data, sizeof(data) & ~511u);
	client_ask(s, NBD_CMD_TRIM, 0, 2, 0, 512);
	client_ask(s, NBD_CMD_READ, 0, 3, 0, 512);
	cr_assert_eq(client_hear(s, 48 + 512), 48 + 512);
	cr_assert_eq(client_simple_error(s, 0, 1), NBD_EPERM);
	cr_assert_eq(client_simple_error(s, 16, 2), NBD_EPERM);
	cr_assert_eq(client_simple_error(s, 32, 3), 0);
	cr_assert_eq(s->disk->written, 0);
	client_strike(s);
}

/* The next chunk is an error, the last one, with a message that has these words. */
static void error_says(struct client *s, uint32_t error, const char *words)
{
	struct client_chunk chunk = client_next_chunk(s);
	char text[300];
	size_t len;

	cr_assert(chunk.type == NBD_REPLY_TYPE_ERROR || chunk.type == NBD_REPLY_TYPE_ERROR_OFFSET);
	cr_assert_eq(wire_be(chunk.data, 4), error);
	len = wire_be(chunk.data + 4, 2);
	cr_assert_eq(chunk.len, 6 + len + (chunk.type == NBD_REPLY_TYPE_ERROR_OFFSET ? 8 : 0));
	cr_assert_lt(len, sizeof(text));
	memcpy(text, chunk.data + 6, len);
	text[len] = 0;
	text_says(text, words);
}

static const char *disk_says(uint32_t detail)
{
	return detail == 7 ? "medium \xff lost in \xc3\xa4" : NULL;
}

Test(nbd, errors_have_a_reason)
{
	struct client *s = client_set(512, 3, false);
	static uint8_t data[BUFFER * 2];

	client_hello(s, true);
	client_ask(s, NBD_CMD_READ, 0, 1, SIZE, 512);
	error_says(s, NBD_EINVAL, "beyond end");
	s->disk->fail_write = 0;
	client_ask(s, NBD_CMD_WRITE, 0, 2, 0, sizeof(data));
	client_say(s, data, sizeof(data));
	error_says(s, NBD_EIO, "input/output error");
	s->disk->bdev.status_text = disk_says;
	s->disk->bad_detail = 7;
	s->disk->bad_off = BUFFER;
	s->disk->bad_len = 1;
	client_ask(s, NBD_CMD_READ, 0, 4, BUFFER, 512);
	error_says(s, NBD_EIO, "medium_?_lost_in_\xc3\xa4");
	client_strike(s);
	s = client_set(512, 3, true);
	client_hello(s, true);
	client_ask(s, NBD_CMD_TRIM, 0, 2, 0, 512);
	error_says(s, NBD_EPERM, "read-only");
	client_strike(s);
}

Test(nbd, wrong_requests_have_their_errors)
{
	static const struct {
		uint16_t type, flags;
		uint64_t off;
		uint32_t len, error;
	} rows[] = {
		{ NBD_CMD_READ, 0, SIZE, 512, NBD_EINVAL },
		{ NBD_CMD_READ, 0, UINT64_MAX - 511, 512, NBD_EINVAL },
		{ NBD_CMD_READ, 0, 0, SIZE + 1, NBD_EINVAL },
		{ NBD_CMD_READ, NBD_CMD_FLAG_REQ_ONE, 0, 512, NBD_EINVAL },
		{ NBD_CMD_READ, 0x80, 0, 512, NBD_EINVAL },
		{ NBD_CMD_READ, NBD_CMD_FLAG_FUA, 0, 512, NBD_EINVAL },
		{ NBD_CMD_READ, NBD_CMD_FLAG_DF, 0, BUFFER * 2, NBD_EOVERFLOW },
		{ NBD_CMD_TRIM, 0, SIZE, 512, NBD_EINVAL },
		{ NBD_CMD_TRIM, 0, 1, 512, NBD_EINVAL },
		{ NBD_CMD_WRITE_ZEROES, 0, SIZE - 512, 1024, NBD_ENOSPC },
		{ NBD_CMD_WRITE_ZEROES, 0, 0, 100, NBD_EINVAL },
		{ NBD_CMD_FLUSH, 0, 512, 0, NBD_EINVAL },
		{ NBD_CMD_FLUSH, 0, 0, 512, NBD_EINVAL },
		{ NBD_CMD_CACHE, 0, 0, 512, NBD_EINVAL },
		{ 77, 0, 0, 512, NBD_EINVAL },
		{ NBD_CMD_BLOCK_STATUS, 0, SIZE, 512, NBD_EINVAL },
		{ NBD_CMD_BLOCK_STATUS, 0, 0, 0, NBD_EINVAL },
	};
	struct client *s = client_set(512, 4, false);

	client_hello(s, true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		client_ask(s, rows[i].type, rows[i].flags, 1, rows[i].off, rows[i].len);
		cr_assert_eq(client_chunk_error(s), rows[i].error, "row %zu", i);
	}
	client_strike(s);
}

Test(nbd, write_beyond_the_end_has_no_space)
{
	struct client *s = client_set(512, 4, false);
	static uint8_t data[1024];

	client_hello(s, false);
	client_ask(s, NBD_CMD_WRITE, 0, 1, SIZE - 512, 1024);
	client_say(s, data, 1024);
	client_ask(s, NBD_CMD_WRITE, 0, 2, 1, 512);
	client_say(s, data, 512);
	cr_assert_eq(client_hear(s, 32), 32);
	cr_assert_eq(client_simple_error(s, 0, 1), NBD_ENOSPC);
	cr_assert_eq(client_simple_error(s, 16, 2), NBD_EINVAL);
	client_strike(s);
}

Test(nbd, too_long_a_write_ends_the_connection)
{
	struct client *s = client_set(512, 4, false);

	client_hello(s, false);
	client_ask(s, NBD_CMD_WRITE, 0, 1, 0, NBD_PAYLOAD_MAX + 1);
	cr_assert(client_closed(s));
	client_strike(s);
}

Test(nbd, wrong_magic_ends_the_connection)
{
	struct client *s = client_set(512, 4, false);

	client_hello(s, false);
	client_say(s, "this is not a request of NBD", 28);
	cr_assert(client_closed(s));
	client_strike(s);
}

Test(nbd, unaligned_reads_come_from_the_blocks_around)
{
	for (uint32_t block = 512; block <= 65536; block *= 8) {
		struct client *s = client_set(block, 4, false);
		static const uint32_t from[] = { 1, 511, 4095, 65535, 70000 },
				      len[] = { 1, 2, 513, 65536, 200001 };

		client_hello(s, false);
		for (int i = 0; i < 25; i++) {
			s->len = 0;
			client_ask(s, NBD_CMD_READ, 0, 1, from[i / 5], len[i % 5]);
			cr_assert_eq(client_hear(s, 16 + len[i % 5]), 16 + len[i % 5]);
			cr_assert_eq(client_simple_error(s, 0, 1), 0);
			cr_assert_eq(
				memcmp(s->in + 16, s->disk->bytes + from[i / 5], len[i % 5]), 0);
		}
		client_strike(s);
	}
}

Test(nbd, reads_longer_than_the_disk_takes_are_split)
{
	struct client *s = client_set(512, 4, false);

	s->disk->bdev.lim.max[IO_READ] = 4096 + 100; /* rounded down to blocks */
	s->fd = (close(s->fd), client_dial(s));
	client_hello(s, true);
	client_ask(s, NBD_CMD_READ, NBD_CMD_FLAG_DF, 1, 3, 65536);
	struct client_chunk chunk = client_next_chunk(s);
	cr_assert_eq(chunk.len, 8 + 65536);
	cr_assert_eq(chunk.flags, NBD_REPLY_FLAG_DONE);
	cr_assert_eq(memcmp(chunk.data + 8, s->disk->bytes + 3, 65536), 0);
	client_strike(s);
}

Test(nbd, zero_of_any_length_is_split_at_the_disks_limit)
{
	struct client *s = client_set(512, 2, false);

	s->disk->bdev.lim.max[IO_ZERO] = 8192;
	s->fd = (close(s->fd), client_dial(s));
	client_hello(s, false);
	client_ask(s, NBD_CMD_WRITE_ZEROES, 0, 1, 0, SIZE);
	cr_assert_eq(client_hear(s, 16), 16);
	cr_assert_eq(client_simple_error(s, 0, 1), 0);
	cr_assert_eq(s->disk->zeroed, SIZE);
	client_strike(s);
}

Test(nbd, requests_of_no_length_succeed)
{
	struct client *s = client_set(512, 4, false);

	client_hello(s, false);
	client_ask(s, NBD_CMD_READ, 0, 1, 0, 0);
	client_ask(s, NBD_CMD_WRITE, 0, 2, 0, 0);
	client_ask(s, NBD_CMD_TRIM, 0, 3, 0, 0);
	cr_assert_eq(client_hear(s, 48), 48);
	for (uint8_t i = 0; i < 3; i++)
		cr_assert_eq(client_simple_error(s, 16u * i, i + 1), 0);
	client_strike(s);
}

/* A thousand requests against two slots: all wait their turn, all are answered. */
Test(nbd, more_requests_than_slots)
{
	struct client *s = client_set(512, 2, false);

	client_hello(s, false);
	s->disk->seed = 1;
	for (int i = 0; i < 1000; i++)
		client_ask(s, NBD_CMD_READ, 0, (uint8_t)i, 0, 512);
	cr_assert_eq(client_hear(s, 1000 * 528), 1000 * 528);
	client_strike(s);
}

Test(nbd, status_counts_from_the_byte_asked_for)
{
	struct client *s = client_set(4096, 4, false);
	static const uint8_t expected[] = { 0, 0, 0, 1, /* extents */ 0, 0, 0x1f, 0xff, 0, 0, 0, 0,
		0, 0, 0x10, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0 };
	struct client_chunk chunk;

	memset(s->disk->hole + 2 * 8, 1, 8); /* block 2 */
	client_hello(s, true);
	client_ask(s, NBD_CMD_BLOCK_STATUS, 0, 1, 1, 0x3000);
	chunk = client_next_chunk(s);
	cr_assert_eq(chunk.type, NBD_REPLY_TYPE_BLOCK_STATUS);
	cr_assert_eq(chunk.len, sizeof(expected));
	cr_assert_arr_eq(chunk.data, expected, sizeof(expected));
	client_ask(s, NBD_CMD_BLOCK_STATUS, NBD_CMD_FLAG_REQ_ONE, 1, 1, 0x3000);
	chunk = client_next_chunk(s);
	cr_assert_eq(chunk.len, 12);
	cr_assert_arr_eq(chunk.data, expected, 12);
	client_strike(s);
}

Test(nbd, disk_without_a_map_is_all_data)
{
	struct client *s = client_set(512, 4, false);
	static const uint8_t expected[] = { 0, 0, 0, 1, 0, 0x40, 0, 0, 0, 0, 0, 0 };
	struct client_chunk chunk;

	s->disk->bdev.lim.max[IO_MAP] = 0;
	s->fd = (close(s->fd), client_dial(s));
	client_hello(s, true);
	client_ask(s, NBD_CMD_BLOCK_STATUS, 0, 1, 0, SIZE);
	chunk = client_next_chunk(s);
	cr_assert_eq(chunk.len, sizeof(expected));
	cr_assert_arr_eq(chunk.data, expected, sizeof(expected));
	client_strike(s);
}

Test(nbd, steady_state_errors_of_the_disk_are_mapped)
{
	static const int status[][2] = { { -EACCES, NBD_EPERM }, { -ENOMEM, NBD_ENOMEM },
		{ -EDQUOT, NBD_ENOSPC }, { -EOVERFLOW, NBD_EOVERFLOW }, { -ENOTCONN, NBD_EIO },
		{ -ESHUTDOWN, NBD_ESHUTDOWN }, { -EOPNOTSUPP, NBD_EINVAL },
		{ -EINVAL, NBD_EINVAL } };
	struct client *s = client_set(512, 4, false);

	client_hello(s, true);
	s->disk->bad_len = SIZE;
	for (size_t i = 0; i < sizeof(status) / sizeof(status[0]); i++) {
		s->disk->bad_status = status[i][0];
		client_ask(s, NBD_CMD_READ, 0, 1, 0, 512);
		cr_assert_eq(client_chunk_error(s), (uint32_t)status[i][1]);
	}
	client_strike(s);
}
