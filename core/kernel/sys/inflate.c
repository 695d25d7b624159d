/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decompress gzip files: DEFLATE (RFC 1951), bit by bit, as it is short and its only input is the
 * kernel's configuration. */
#include "inflate.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BITS_MAX  15 /* of a code */
#define LITERALS  288
#define DISTANCES 30
#define END       256 /* of a block */

struct stream {
	const uint8_t *from;
	size_t len, at;
	uint32_t hold; /* bits read but not used */
	unsigned held;
	uint8_t *to;
	size_t room, out;
	int err;
};

struct code { /* canonical: symbols by length, then by value */
	uint16_t count[BITS_MAX + 1], symbol[LITERALS];
};

static int fail(struct stream *s, int err)
{
	if (!s->err)
		s->err = err;
	return -1;
}

/* At most 16. */
static unsigned bits(struct stream *s, unsigned count)
{
	unsigned value;

	for (; s->held < count; s->held += 8) {
		if (s->at == s->len)
			return fail(s, EINVAL), 0;
		s->hold |= (uint32_t)s->from[s->at++] << s->held;
	}
	value = s->hold & ((1u << count) - 1);
	s->hold >>= count;
	s->held -= count;
	return value;
}

static void emit(struct stream *s, uint8_t byte)
{
	if (s->out == s->room)
		fail(s, ENOSPC);
	else
		s->to[s->out++] = byte;
}

/* Lengths of 0 are unused symbols. Invalid lengths give codes that mean the wrong symbols, no more.
 */
static void build(struct code *code, const uint8_t *length, unsigned symbols)
{
	uint16_t next[BITS_MAX + 2] = { 0 };

	memset(code, 0, sizeof(*code));
	for (unsigned i = 0; i < symbols; i++)
		code->count[length[i]]++;
	code->count[0] = 0;
	for (unsigned len = 1; len <= BITS_MAX; len++)
		next[len + 1] = (uint16_t)(next[len] + code->count[len]);
	for (unsigned i = 0; i < symbols; i++)
		if (length[i])
			code->symbol[next[length[i]]++] = (uint16_t)i;
}

static int decode(struct stream *s, const struct code *code)
{
	int value = 0, first = 0, index = 0;

	for (unsigned len = 1; len <= BITS_MAX && !s->err; len++) {
		value |= (int)bits(s, 1);
		if (value - first < code->count[len])
			return code->symbol[index + value - first];
		index += code->count[len];
		first = 2 * (first + code->count[len]);
		value *= 2;
	}
	return fail(s, EINVAL);
}

static void copy(struct stream *s, unsigned length, unsigned distance)
{
	if (distance > s->out)
		fail(s, EINVAL);
	for (; length && !s->err; length--)
		emit(s, s->to[s->out - distance]);
}

/* A block's symbols up to its end. */
static void symbols(struct stream *s, const struct code *literals, const struct code *distances)
{
	static const uint16_t length[] = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31,
		35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258 };
	static const uint8_t length_bits[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3,
		3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };
	static const uint16_t distance[] = { 1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129,
		193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385,
		24577 };

	while (!s->err) {
		int symbol = decode(s, literals), far;
		unsigned len;

		if (symbol < END) {
			if (symbol >= 0)
				emit(s, (uint8_t)symbol);
			continue;
		}
		if (symbol == END)
			return;
		symbol -= END + 1;
		if (symbol >= (int)(sizeof(length) / sizeof(*length))) {
			fail(s, EINVAL);
			return;
		}
		len = length[symbol] + bits(s, length_bits[symbol]);
		far = decode(s, distances);
		if (far < 0 || far >= DISTANCES) {
			fail(s, EINVAL);
			return;
		}
		copy(s, len, distance[far] + bits(s, far < 4 ? 0 : (unsigned)far / 2 - 1));
	}
}

static void stored(struct stream *s)
{
	unsigned len;

	s->hold = s->held = 0;
	len = bits(s, 16);
	if ((len ^ bits(s, 16)) != 0xffff)
		fail(s, EINVAL);
	while (len-- && !s->err)
		emit(s, (uint8_t)bits(s, 8));
}

static void fixed(struct stream *s)
{
	struct code literals, distances;
	uint8_t length[LITERALS];

	for (unsigned i = 0; i < LITERALS; i++)
		length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	build(&literals, length, LITERALS);
	memset(length, 5, DISTANCES);
	build(&distances, length, DISTANCES);
	symbols(s, &literals, &distances);
}

/* The lengths of both codes, themselves coded, with runs. */
static bool read_lengths(struct stream *s, uint8_t *length, unsigned count)
{
	static const uint8_t order[] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14,
		1, 15 };
	unsigned given = bits(s, 4) + 4, n = 0;
	uint8_t own[19] = { 0 };
	struct code code;

	for (unsigned i = 0; i < given; i++)
		own[order[i]] = (uint8_t)bits(s, 3);
	build(&code, own, 19);
	while (n < count && !s->err) {
		int symbol = decode(s, &code);
		unsigned run = 1;
		uint8_t value = 0;

		if (symbol < 16)
			value = (uint8_t)symbol;
		else if (symbol == 16 && !n)
			return false;
		else if (symbol == 16)
			value = length[n - 1], run = 3 + bits(s, 2);
		else
			run = symbol == 17 ? 3 + bits(s, 3) : 11 + bits(s, 7);
		if (s->err || run > count - n)
			return false;
		memset(length + n, value, run);
		n += run;
	}
	return !s->err;
}

static void dynamic(struct stream *s)
{
	unsigned literal = bits(s, 5) + 257, far = bits(s, 5) + 1;
	uint8_t length[LITERALS + 32];
	struct code literals, distances;

	if (literal > LITERALS || far > DISTANCES || !read_lengths(s, length, literal + far)) {
		fail(s, EINVAL);
		return;
	}
	build(&literals, length, literal);
	build(&distances, length + literal, far);
	symbols(s, &literals, &distances);
}

/* Skip a field that ends with a zero byte. */
static void skip_text(struct stream *s)
{
	while (bits(s, 8) && !s->err)
		;
}

static void header(struct stream *s)
{
	unsigned flags, extra;

	if (bits(s, 16) != 0x8b1f || bits(s, 8) != 8)
		fail(s, EINVAL);
	flags = bits(s, 8);
	for (unsigned i = 0; i < 6; i++)
		bits(s, 8);
	extra = flags & 4 ? bits(s, 16) : 0;
	while (extra-- && !s->err)
		bits(s, 8);
	if (flags & 8)
		skip_text(s);
	if (flags & 16)
		skip_text(s);
	if (flags & 2)
		bits(s, 16);
}

ssize_t kernel_gunzip(const uint8_t *from, size_t len, uint8_t *to, size_t room)
{
	static void (*const kinds[])(struct stream *) = { stored, fixed, dynamic };
	struct stream s = { .from = from, .len = len, .to = to, .room = room };
	bool last = false;

	header(&s);
	while (!last && !s.err) {
		unsigned kind;

		last = bits(&s, 1);
		kind = bits(&s, 2);
		if (kind == 3)
			fail(&s, EINVAL);
		else if (!s.err)
			kinds[kind](&s);
	}
	return s.err ? -s.err : (ssize_t)s.out;
}
