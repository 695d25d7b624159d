/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD request engine behind a real socket, over a disk that answers out of order and fails when told to. */
#include "disk.h"
#include "nbd.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MSEC 1000000ull
#define BUFFER 65536
#define SIZE (4u << 20)

struct stage {
	struct loop *loop;
	struct fake_disk *disk;
	struct nbd_server *server;
	struct diag diag;
	char path[64];
	int fd;
	uint8_t in[6u << 20];
	size_t len;
};

static int dial(struct stage *s)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(un.sun_path, s->path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	return fd;
}

static struct stage *set_hello(uint32_t block, uint32_t slots, bool ro, uint32_t hello_ms)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct nbd_options opt = { .exports = 1, .listens = 1, .slots = slots, .buffer = BUFFER, .nloops = 1, .loops = &s->loop,
		.hello_ms = hello_ms };
	struct sockaddr_un *un = (struct sockaddr_un *)(void *)&opt.listen[0].ss;

	cr_assert_eq(loop_new(&s->loop, &(struct loop_options){ .name = "test" }, &s->diag), 0);
	s->disk = fake_disk_new(s->loop, SIZE, block);
	for (size_t i = 0; i < SIZE; i++)
		s->disk->bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	opt.export[0] = (struct nbd_export){ .name = "", .bdev = &s->disk->bdev, .ro = ro };
	snprintf(s->path, sizeof(s->path), "/tmp/nbd-test-%d", (int)getpid());
	un->sun_family = AF_UNIX;
	strcpy(un->sun_path, s->path);
	opt.listen[0].len = sizeof(*un);
	cr_assert_eq(nbd_server_start(&s->server, s->loop, &opt, &s->diag), 0, "%s", s->diag.text);
	s->fd = dial(s);
	return s;
}

static struct stage *set(uint32_t block, uint32_t slots, bool ro)
{
	return set_hello(block, slots, ro, 30000);
}

static int strike(struct stage *s)
{
	int err = nbd_server_stop(s->server, 3000, &s->diag);

	if (s->fd >= 0)
		close(s->fd);
	fake_disk_free(s->disk);
	loop_free(s->loop);
	free(s);
	return err;
}

static void turns(struct stage *s, unsigned ms)
{
	volatile int never = 0;

	loop_wait(s->loop, &never, loop_clock() + ms * MSEC);
}

/* Runs the server until that many bytes have come, or none come any more. */
static size_t hear(struct stage *s, size_t want)
{
	size_t start = s->len;

	for (int idle = 0; s->len - start < want && idle < 400; idle++) {
		ssize_t n = recv(s->fd, s->in + s->len, want - (s->len - start), MSG_DONTWAIT);

		if (n > 0) {
			s->len += (size_t)n;
			idle = 0;
		} else if (!n || errno != EAGAIN) {
			break;
		} else {
			turns(s, 1);
		}
	}
	return s->len - start;
}

static bool closed(struct stage *s)
{
	char byte;

	for (int i = 0; i < 400; i++) {
		ssize_t n = recv(s->fd, &byte, 1, MSG_DONTWAIT);

		if (!n || (n < 0 && errno != EAGAIN))
			return true;
		turns(s, 1);
	}
	return false;
}

static void say(struct stage *s, const void *p, size_t len)
{
	const uint8_t *from = p;

	while (len) {
		ssize_t n = send(s->fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			from += n;
			len -= (size_t)n;
		} else {
			cr_assert_eq(errno, EAGAIN);
			turns(s, 1);
		}
	}
}

static void option(struct stage *s, uint32_t code, const void *data, uint32_t len)
{
	struct nbd_opt opt = { put_be64(NBD_OPT_MAGIC), put_be32(code), put_be32(len) };

	say(s, &opt, sizeof(opt));
	say(s, data, len);
}

static void hello(struct stage *s, bool structured)
{
	static const uint8_t meta[] = "\0\0\0\0\0\0\0\1\0\0\0\17base:allocation";

	say(s, "\0\0\0\3", 4);
	cr_assert_eq(hear(s, 18), 18);
	if (structured) {
		option(s, NBD_OPT_STRUCTURED_REPLY, "", 0);
		option(s, NBD_OPT_SET_META_CONTEXT, meta, sizeof(meta) - 1);
		cr_assert_eq(hear(s, 20 + 39 + 20), 79);
	}
	option(s, NBD_OPT_GO, "\0\0\0\0\0\1\0\3", 8);
	cr_assert_eq(hear(s, 32 + 34 + 20), 86);
	s->len = 0;
}

static void ask(struct stage *s, uint16_t type, uint16_t flags, uint8_t cookie, uint64_t off, uint32_t len)
{
	struct nbd_request req = { put_be32(NBD_REQUEST_MAGIC), put_be16(flags), put_be16(type), { cookie }, put_be64(off), put_be32(len) };

	say(s, &req, sizeof(req));
}

/* The simple reply at `at`: its error; its cookie must fit. */
static uint32_t simple_error(const struct stage *s, size_t at, uint8_t cookie)
{
	const struct nbd_simple_reply *rep = (const struct nbd_simple_reply *)(const void *)(s->in + at);

	cr_assert_leq(at + sizeof(*rep), s->len, "no reply for %u", cookie);
	cr_assert_eq(get_be32(rep->magic), NBD_SIMPLE_REPLY_MAGIC);
	cr_assert_eq(rep->cookie[0], cookie, "reply for %u, not %u", rep->cookie[0], cookie);
	return get_be32(rep->error);
}

struct chunk {
	uint16_t flags, type;
	uint8_t cookie;
	uint32_t len;
	const uint8_t *data;
};

static struct chunk next_chunk(struct stage *s)
{
	size_t at = s->len;
	const struct nbd_chunk *wire;
	struct chunk chunk;

	cr_assert_eq(hear(s, sizeof(*wire)), sizeof(*wire), "no chunk");
	wire = (const struct nbd_chunk *)(const void *)(s->in + at);
	cr_assert_eq(get_be32(wire->magic), NBD_STRUCTURED_REPLY_MAGIC);
	chunk = (struct chunk){ get_be16(wire->flags), get_be16(wire->type), wire->cookie[0], get_be32(wire->len), s->in + s->len };
	cr_assert_eq(hear(s, chunk.len), chunk.len);
	return chunk;
}

static uint32_t chunk_error(struct stage *s)
{
	struct chunk chunk = next_chunk(s);

	cr_assert_eq(chunk.type, NBD_REPLY_TYPE_ERROR);
	cr_assert_eq(chunk.flags, NBD_REPLY_FLAG_DONE);
	return (uint32_t)wire_be(chunk.data, 4);
}

/* Long reads in simple replies among short ones: pieces in order, nothing in between, whatever order the disk has. */
Test(nbd, long_simple_reads_stay_whole_and_in_order)
{
	for (unsigned seed = 1; seed < 12; seed++) {
		struct stage *s = set(512, seed % 2 ? 4 : 16, false);
		uint64_t off[20];
		uint32_t len[20];
		bool seen[20] = { 0 };
		size_t at = 0;

		hello(s, false);
		s->disk->seed = seed;
		for (uint8_t i = 0; i < 20; i++) {
			off[i] = (i * 7919u % 1000) * 512;
			len[i] = i % 3 ? 4096 : BUFFER * 5 + 512 * i;
			ask(s, NBD_CMD_READ, 0, i, off[i], len[i]);
		}
		for (int n = 0; n < 20; n++) {
			uint8_t i;

			cr_assert_eq(hear(s, 16), 16);
			i = s->in[at + 8];
			cr_assert_lt(i, 20);
			cr_assert_not(seen[i]);
			seen[i] = true;
			cr_assert_eq(simple_error(s, at, i), 0);
			cr_assert_eq(hear(s, len[i]), len[i]);
			cr_assert_eq(memcmp(s->in + at + 16, s->disk->bytes + off[i], len[i]), 0, "seed %u request %u", seed, i);
			at += 16 + len[i];
		}
		cr_assert_eq(strike(s), 0);
	}
}

Test(nbd, long_structured_read_is_one_chunk_a_piece)
{
	for (unsigned seed = 0; seed < 6; seed++) {
		struct stage *s = set(512, 4, false);
		uint32_t len = BUFFER * 20 + 1024, sum = 0;
		struct chunk chunk;

		hello(s, true);
		s->disk->seed = seed;
		ask(s, NBD_CMD_READ, 0, 9, 512, len);
		do {
			uint64_t off;

			chunk = next_chunk(s);
			cr_assert_eq(chunk.type, NBD_REPLY_TYPE_OFFSET_DATA);
			cr_assert_eq(chunk.cookie, 9);
			off = wire_be(chunk.data, 8);
			cr_assert(off >= 512 && off + chunk.len - 8 <= 512 + len);
			cr_assert_eq(memcmp(chunk.data + 8, s->disk->bytes + off, chunk.len - 8), 0);
			sum += chunk.len - 8;
		} while (!(chunk.flags & NBD_REPLY_FLAG_DONE));
		cr_assert_eq(sum, len);
		strike(s);
	}
}

Test(nbd, first_piece_failing_is_an_error_reply)
{
	struct stage *s = set(512, 4, false);

	hello(s, false);
	s->disk->bad_off = 100;
	s->disk->bad_len = 1;
	ask(s, NBD_CMD_READ, 0, 1, 0, BUFFER * 20);
	ask(s, NBD_CMD_READ, 0, 2, 1 << 20, 512);
	cr_assert_eq(hear(s, 16 + 16 + 512), 16 + 16 + 512);
	cr_assert_eq(simple_error(s, 0, 1), NBD_EIO);
	cr_assert_eq(simple_error(s, 16, 2), 0);
	strike(s);
}

Test(nbd, later_piece_failing_ends_a_simple_connection)
{
	struct stage *s = set(512, 4, false);

	hello(s, false);
	s->disk->bad_off = BUFFER * 10;
	s->disk->bad_len = 1;
	ask(s, NBD_CMD_READ, 0, 1, 0, BUFFER * 20);
	cr_assert_lt(hear(s, 16 + BUFFER * 20), 16 + BUFFER * 20);
	cr_assert_eq(simple_error(s, 0, 1), 0);
	cr_assert(closed(s));
	strike(s);
}

Test(nbd, failing_piece_of_a_structured_read_names_its_offset)
{
	struct stage *s = set(512, 4, false);
	uint32_t good = 0, bad = 0;
	struct chunk chunk;

	hello(s, true);
	s->disk->seed = 3;
	s->disk->bad_off = BUFFER * 5;
	s->disk->bad_len = 1;
	ask(s, NBD_CMD_READ, 0, 1, 0, BUFFER * 20);
	do {
		chunk = next_chunk(s);
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
	strike(s);
}

Test(nbd, long_write_lands_whole_and_is_answered_once)
{
	struct stage *s = set(512, 3, false);
	uint32_t len = BUFFER * 20 + 512;
	uint8_t *data = malloc(len);

	hello(s, false);
	s->disk->seed = 5;
	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i >> 7);
	ask(s, NBD_CMD_WRITE, 0, 7, 1024, len);
	say(s, data, len);
	ask(s, NBD_CMD_READ, 0, 8, 0, 512);
	cr_assert_eq(hear(s, 32 + 512), 32 + 512);
	cr_assert_eq(memcmp(s->disk->bytes + 1024, data, len), 0);
	free(data);
	strike(s);
}

Test(nbd, long_write_with_a_failing_piece_is_an_error)
{
	struct stage *s = set(512, 3, false);
	static uint8_t data[BUFFER * 8];

	hello(s, false);
	s->disk->fail_write = BUFFER * 3;
	ask(s, NBD_CMD_WRITE, 0, 7, 0, sizeof(data));
	say(s, data, sizeof(data));
	cr_assert_eq(hear(s, 16), 16);
	cr_assert_eq(simple_error(s, 0, 7), NBD_EIO);
	strike(s);
}

Test(nbd, payload_of_a_refused_write_is_dropped)
{
	struct stage *s = set(512, 4, true);
	static uint8_t data[300000];

	hello(s, false);
	memset(data, 0x25, sizeof(data));
	ask(s, NBD_CMD_WRITE, 0, 1, 0, sizeof(data) & ~511u);
	say(s, data, sizeof(data) & ~511u);
	ask(s, NBD_CMD_TRIM, 0, 2, 0, 512);
	ask(s, NBD_CMD_READ, 0, 3, 0, 512);
	cr_assert_eq(hear(s, 48 + 512), 48 + 512);
	cr_assert_eq(simple_error(s, 0, 1), NBD_EPERM);
	cr_assert_eq(simple_error(s, 16, 2), NBD_EPERM);
	cr_assert_eq(simple_error(s, 32, 3), 0);
	cr_assert_eq(s->disk->written, 0);
	strike(s);
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
	struct stage *s = set(512, 4, false);

	hello(s, true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ask(s, rows[i].type, rows[i].flags, 1, rows[i].off, rows[i].len);
		cr_assert_eq(chunk_error(s), rows[i].error, "row %zu", i);
	}
	strike(s);
}

Test(nbd, write_beyond_the_end_has_no_space)
{
	struct stage *s = set(512, 4, false);
	static uint8_t data[1024];

	hello(s, false);
	ask(s, NBD_CMD_WRITE, 0, 1, SIZE - 512, 1024);
	say(s, data, 1024);
	ask(s, NBD_CMD_WRITE, 0, 2, 1, 512);
	say(s, data, 512);
	cr_assert_eq(hear(s, 32), 32);
	cr_assert_eq(simple_error(s, 0, 1), NBD_ENOSPC);
	cr_assert_eq(simple_error(s, 16, 2), NBD_EINVAL);
	strike(s);
}

Test(nbd, too_long_a_write_ends_the_connection)
{
	struct stage *s = set(512, 4, false);

	hello(s, false);
	ask(s, NBD_CMD_WRITE, 0, 1, 0, NBD_PAYLOAD_MAX + 1);
	cr_assert(closed(s));
	strike(s);
}

Test(nbd, wrong_magic_ends_the_connection)
{
	struct stage *s = set(512, 4, false);

	hello(s, false);
	say(s, "this is not a request of NBD", 28);
	cr_assert(closed(s));
	strike(s);
}

Test(nbd, unaligned_reads_come_from_the_blocks_around)
{
	for (uint32_t block = 512; block <= 65536; block *= 8) {
		struct stage *s = set(block, 4, false);
		static const uint32_t from[] = { 1, 511, 4095, 65535, 70000 }, len[] = { 1, 2, 513, 65536, 200001 };

		hello(s, false);
		for (int i = 0; i < 25; i++) {
			s->len = 0;
			ask(s, NBD_CMD_READ, 0, 1, from[i / 5], len[i % 5]);
			cr_assert_eq(hear(s, 16 + len[i % 5]), 16 + len[i % 5]);
			cr_assert_eq(simple_error(s, 0, 1), 0);
			cr_assert_eq(memcmp(s->in + 16, s->disk->bytes + from[i / 5], len[i % 5]), 0);
		}
		strike(s);
	}
}

Test(nbd, reads_longer_than_the_disk_takes_are_split)
{
	struct stage *s = set(512, 4, false);

	s->disk->bdev.lim.max[IO_READ] = 4096 + 100; /* rounded down to blocks */
	s->fd = (close(s->fd), dial(s));
	hello(s, true);
	ask(s, NBD_CMD_READ, NBD_CMD_FLAG_DF, 1, 3, 65536);
	struct chunk chunk = next_chunk(s);
	cr_assert_eq(chunk.len, 8 + 65536);
	cr_assert_eq(chunk.flags, NBD_REPLY_FLAG_DONE);
	cr_assert_eq(memcmp(chunk.data + 8, s->disk->bytes + 3, 65536), 0);
	strike(s);
}

Test(nbd, zero_of_any_length_is_split_at_the_disks_limit)
{
	struct stage *s = set(512, 2, false);

	s->disk->bdev.lim.max[IO_ZERO] = 8192;
	s->fd = (close(s->fd), dial(s));
	hello(s, false);
	ask(s, NBD_CMD_WRITE_ZEROES, 0, 1, 0, SIZE);
	cr_assert_eq(hear(s, 16), 16);
	cr_assert_eq(simple_error(s, 0, 1), 0);
	cr_assert_eq(s->disk->zeroed, SIZE);
	strike(s);
}

Test(nbd, requests_of_no_length_succeed)
{
	struct stage *s = set(512, 4, false);

	hello(s, false);
	ask(s, NBD_CMD_READ, 0, 1, 0, 0);
	ask(s, NBD_CMD_WRITE, 0, 2, 0, 0);
	ask(s, NBD_CMD_TRIM, 0, 3, 0, 0);
	cr_assert_eq(hear(s, 48), 48);
	for (uint8_t i = 0; i < 3; i++)
		cr_assert_eq(simple_error(s, 16u * i, i + 1), 0);
	strike(s);
}

/* A thousand requests against two slots: all wait their turn, all are answered. */
Test(nbd, more_requests_than_slots)
{
	struct stage *s = set(512, 2, false);

	hello(s, false);
	s->disk->seed = 1;
	for (int i = 0; i < 1000; i++)
		ask(s, NBD_CMD_READ, 0, (uint8_t)i, 0, 512);
	cr_assert_eq(hear(s, 1000 * 528), 1000 * 528);
	strike(s);
}

Test(nbd, status_counts_from_the_byte_asked_for)
{
	struct stage *s = set(4096, 4, false);
	static const uint8_t want[] = { 0, 0, 0, 1, /* extents */ 0, 0, 0x1f, 0xff, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0,
		0, 0 };
	struct chunk chunk;

	memset(s->disk->hole + 2 * 8, 1, 8); /* block 2 */
	hello(s, true);
	ask(s, NBD_CMD_BLOCK_STATUS, 0, 1, 1, 0x3000);
	chunk = next_chunk(s);
	cr_assert_eq(chunk.type, NBD_REPLY_TYPE_BLOCK_STATUS);
	cr_assert_eq(chunk.len, sizeof(want));
	cr_assert_arr_eq(chunk.data, want, sizeof(want));
	ask(s, NBD_CMD_BLOCK_STATUS, NBD_CMD_FLAG_REQ_ONE, 1, 1, 0x3000);
	chunk = next_chunk(s);
	cr_assert_eq(chunk.len, 12);
	cr_assert_arr_eq(chunk.data, want, 12);
	strike(s);
}

Test(nbd, disk_without_a_map_is_all_data)
{
	struct stage *s = set(512, 4, false);
	static const uint8_t want[] = { 0, 0, 0, 1, 0, 0x40, 0, 0, 0, 0, 0, 0 };
	struct chunk chunk;

	s->disk->bdev.lim.max[IO_MAP] = 0;
	s->fd = (close(s->fd), dial(s));
	hello(s, true);
	ask(s, NBD_CMD_BLOCK_STATUS, 0, 1, 0, SIZE);
	chunk = next_chunk(s);
	cr_assert_eq(chunk.len, sizeof(want));
	cr_assert_arr_eq(chunk.data, want, sizeof(want));
	strike(s);
}

Test(nbd, disconnect_answers_what_came_before)
{
	struct stage *s = set(512, 4, false);

	hello(s, false);
	s->disk->seed = 2;
	for (uint8_t i = 0; i < 30; i++)
		ask(s, NBD_CMD_READ, 0, i, 0, 512);
	ask(s, NBD_CMD_DISC, 0, 99, 0, 0);
	cr_assert_eq(hear(s, 30 * 528), 30 * 528);
	cr_assert(closed(s));
	strike(s);
}

/* Whatever a client was in the middle of, it may go, and the disk may still be at work then. */
Test(nbd, client_may_go_at_any_byte)
{
	static uint8_t data[1024];
	struct stage *s = set(512, 4, false);

	s->disk->seed = 7;
	for (size_t cut = 0; cut < 120; cut++) {
		hello(s, cut % 2);
		ask(s, NBD_CMD_READ, 0, 1, 0, BUFFER * 8);
		ask(s, NBD_CMD_WRITE, 0, 2, 0, 1024);
		say(s, data, cut < 92 ? cut * 11 : 1024);
		turns(s, cut % 3);
		close(s->fd);
		turns(s, cut % 2);
		s->fd = dial(s);
	}
	hello(s, false);
	ask(s, NBD_CMD_READ, 0, 1, 0, 512);
	cr_assert_eq(hear(s, 528), 528);
	cr_assert_eq(strike(s), 0);
}

Test(nbd, handshake_has_a_deadline)
{
	struct stage *s = set_hello(512, 4, false, 200);

	cr_assert_eq(hear(s, 18), 18);
	cr_assert(closed(s));
	cr_assert_eq(strike(s), 0);
}

struct owner {
	struct nbd_adopted adopted;
	unsigned over;
	bool goodbye;
};

static void adopted_over(struct nbd_adopted *adopted, bool goodbye)
{
	struct owner *owner = container_of(adopted, struct owner, adopted);

	owner->over++;
	owner->goodbye = goodbye;
}

/* It needs no handshake and takes nobody's place; its owner is told how it ended. */
Test(nbd, adopted_connection_is_served_at_once)
{
	struct stage *s = set(512, 4, false);
	struct owner owner = { .adopted.over = adopted_over };
	int fd[2];

	cr_assert_eq(nbd_server_flags(s->server, 0), nbd_export_flags(&nbd_server_options(s->server)->export[0], false));
	for (unsigned round = 1; round <= 2; round++) {
		close(s->fd);
		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
		cr_assert_eq(nbd_server_adopt(s->server, 0, fd[0], "test", &owner.adopted, &s->diag), 0);
		s->fd = fd[1];
		ask(s, NBD_CMD_READ, 0, round, 512, 512);
		cr_assert_eq(hear(s, 528), 528);
		cr_assert(!memcmp(s->in + s->len - 512, s->disk->bytes + 512, 512));
		if (round == 1)
			ask(s, NBD_CMD_DISC, 0, 2, 0, 0);
		else
			shutdown(s->fd, SHUT_WR);
		cr_assert(closed(s));
		turns(s, 20);
		cr_assert_eq(owner.over, round);
		cr_assert_eq(owner.goodbye, round == 1);
	}
	cr_assert_eq(nbd_server_clients(s->server), 0);
	cr_assert_eq(strike(s), 0);
}

/* The deadline ends with the handshake. */
Test(nbd, idle_client_may_stay)
{
	struct stage *s = set_hello(512, 4, false, 1500);

	hello(s, false);
	turns(s, 1800);
	ask(s, NBD_CMD_READ, 0, 1, 0, 512);
	cr_assert_eq(hear(s, 528), 528);
	cr_assert_eq(strike(s), 0);
}

/* Answers nobody takes stay within the slots; nobody else waits for them. */
Test(nbd, client_that_never_reads_harms_nobody)
{
	struct stage *s = set(512, 4, false);
	int mute = s->fd, sent = 0;
	struct nbd_request req = { put_be32(NBD_REQUEST_MAGIC), .len = put_be32(BUFFER) };

	hello(s, false);
	for (int idle = 0; idle < 20; idle++, turns(s, 1))
		while (sent < 100000 && send(mute, &req, sizeof(req), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(req)) {
			idle = 0;
			sent++;
		}
	cr_assert(sent > 1000 && sent < 100000, "%d", sent);
	s->fd = dial(s);
	s->len = 0;
	hello(s, false);
	ask(s, NBD_CMD_READ, 0, 1, 0, 512);
	cr_assert_eq(hear(s, 528), 528);
	cr_assert_eq(nbd_server_clients(s->server), 2);
	close(mute);
	cr_assert_eq(strike(s), 0);
}

Test(nbd, stop_answers_what_flies_and_flushes)
{
	struct stage *s = set(512, 8, false);
	struct fake_disk *disk = s->disk;
	uint64_t flushes = disk->flushes;
	static uint8_t data[4096];
	int fd = s->fd;

	hello(s, false);
	disk->seed = 1;
	memset(data, 0x77, sizeof(data));
	for (uint8_t i = 0; i < 8; i++) {
		ask(s, NBD_CMD_WRITE, 0, i, i * 4096u, 4096);
		say(s, data, sizeof(data));
	}
	turns(s, 1);
	cr_assert_eq(nbd_server_stop(s->server, 3000, &s->diag), 0);
	s->server = NULL;
	cr_assert_eq(recv(fd, s->in, 1000, MSG_DONTWAIT), 8 * 16);
	cr_assert_eq(disk->flushes, flushes + 1);
	cr_assert_eq(memcmp(disk->safe + 7 * 4096, data, 4096), 0);
	cr_assert_neq(access(s->path, F_OK), 0);
	strike(s);
}

Test(nbd, stop_that_cannot_flush_fails)
{
	struct stage *s = set(512, 4, false);

	s->disk->flush_status = -EIO;
	cr_assert_eq(nbd_server_stop(s->server, 3000, &s->diag), -EIO);
	cr_assert(strstr(s->diag.text, "data may not be on the disk"), "%s", s->diag.text);
	s->server = NULL;
	strike(s);
}

Test(nbd, steady_state_errors_of_the_disk_are_mapped)
{
	static const int status[][2] = { { -EACCES, NBD_EPERM }, { -ENOMEM, NBD_ENOMEM }, { -EDQUOT, NBD_ENOSPC },
		{ -EOVERFLOW, NBD_EOVERFLOW }, { -ENOTCONN, NBD_EIO }, { -ESHUTDOWN, NBD_ESHUTDOWN }, { -EOPNOTSUPP, NBD_EINVAL }, { -EINVAL, NBD_EINVAL } };
	struct stage *s = set(512, 4, false);

	hello(s, true);
	s->disk->bad_len = SIZE;
	for (size_t i = 0; i < sizeof(status) / sizeof(status[0]); i++) {
		s->disk->bad_status = status[i][0];
		ask(s, NBD_CMD_READ, 0, 1, 0, 512);
		cr_assert_eq(chunk_error(s), (uint32_t)status[i][1]);
	}
	strike(s);
}

Test(nbd, what_the_disk_holds_for_a_gone_client_is_dropped)
{
	struct stage *s = set(512, 4, false);

	hello(s, false);
	s->disk->hold = true;
	for (uint8_t i = 0; i < 9; i++)
		ask(s, NBD_CMD_READ, 0, i, 0, 512);
	turns(s, 5);
	cr_assert_eq(s->disk->cancelled, 0);
	close(s->fd);
	turns(s, 5);
	cr_assert_eq(s->disk->cancelled, 4);
	cr_assert_eq(nbd_server_clients(s->server), 0);
	s->disk->hold = false;
	s->fd = -1;
	cr_assert_eq(strike(s), 0);
}

Test(nbd, stop_gives_up_what_the_disk_holds)
{
	static uint8_t data[512];
	struct stage *s = set(512, 4, false);
	struct fake_disk *disk = s->disk;

	hello(s, false);
	disk->hold = true;
	ask(s, NBD_CMD_WRITE, 0, 1, 0, 512);
	say(s, data, 512);
	turns(s, 5);
	cr_assert_eq(nbd_server_stop(s->server, 50, &s->diag), -ETIMEDOUT, "given back");
	cr_assert(strstr(s->diag.text, "data may not be on the disk"), "%s", s->diag.text);
	cr_assert_geq(disk->cancelled, 1);
	s->server = NULL;
	strike(s);
}

Test(nbd, stop_does_not_wait_for_a_flush_that_is_never_answered)
{
	static struct stage *s; /* what the disk keeps cannot be freed */
	uint64_t before;

	s = set(512, 4, false);
	s->disk->hold = s->disk->keep = true;
	before = loop_clock();
	cr_assert_eq(nbd_server_stop(s->server, 50, &s->diag), -EINPROGRESS, "not to be closed");
	cr_assert_lt(loop_clock() - before, 2000 * MSEC);
	cr_assert(strstr(s->diag.text, "data may not be on the disk"), "%s", s->diag.text);
}

Test(nbd, failed_go_can_be_tried_again)
{
	struct stage *s = set(512, 4, false);

	s->disk->map_status = -ENOMEM;
	say(s, "\0\0\0\3", 4);
	cr_assert_eq(hear(s, 18), 18);
	option(s, NBD_OPT_GO, "\0\0\0\0\0\1\0\3", 8);
	s->len = 0;
	hear(s, 20);
	cr_assert_eq(wire_be(s->in + 12, 4), NBD_REP_ERR_POLICY);
	hear(s, (size_t)wire_be(s->in + 16, 4));
	option(s, NBD_OPT_GO, "\0\0\0\0\0\1\0\3", 8);
	cr_assert_eq(hear(s, 86), 86);
	s->len = 0;
	ask(s, NBD_CMD_READ, 0, 1, 0, 512);
	cr_assert_eq(hear(s, 528), 528);
	strike(s);
}
