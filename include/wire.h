/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Integers of protocol messages: byte arrays of alignment 1, so that layouts have no padding and a
 * wrong byte order does not compile. And a bounded reader and writer with sticky errors. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
	uint8_t b[2];
} be16;
typedef struct {
	uint8_t b[3];
} be24;
typedef struct {
	uint8_t b[4];
} be32;
typedef struct {
	uint8_t b[8];
} be64;
typedef struct {
	uint8_t b[2];
} le16;
typedef struct {
	uint8_t b[3];
} le24;
typedef struct {
	uint8_t b[4];
} le32;
typedef struct {
	uint8_t b[8];
} le64;

#define WIRE_SIZE(type, n) _Static_assert(sizeof(type) == (n) && _Alignof(type) == 1, #type)

static inline uint64_t wire_be(const uint8_t *b, int n)
{
	uint64_t v = 0;
	for (int i = 0; i < n; i++)
		v = v << 8 | b[i];
	return v;
}

static inline uint64_t wire_le(const uint8_t *b, int n)
{
	uint64_t v = 0;
	for (int i = n; i-- > 0;)
		v = v << 8 | b[i];
	return v;
}

static inline void wire_put_be(uint8_t *b, int n, uint64_t v)
{
	for (int i = n; i-- > 0; v >>= 8)
		b[i] = (uint8_t)v;
}

static inline void wire_put_le(uint8_t *b, int n, uint64_t v)
{
	for (int i = 0; i < n; i++, v >>= 8)
		b[i] = (uint8_t)v;
}

#define WIRE_TYPE(order, bits, host)                                                               \
	static inline host get_##order##bits(order##bits v)                                        \
	{                                                                                          \
		return (host)wire_##order(v.b, sizeof(v.b));                                       \
	}                                                                                          \
	static inline order##bits put_##order##bits(host v)                                        \
	{                                                                                          \
		order##bits w;                                                                     \
		wire_put_##order(w.b, sizeof(w.b), v);                                             \
		return w;                                                                          \
	}
WIRE_TYPE(be, 24, uint32_t)
WIRE_TYPE(le, 24, uint32_t)
#undef WIRE_TYPE

/* One load and one byte swap: compilers do not find them in the loops. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define WIRE_SWAP_be(bits, v) __builtin_bswap##bits(v)
#define WIRE_SWAP_le(bits, v) (v)
#else
#define WIRE_SWAP_be(bits, v) (v)
#define WIRE_SWAP_le(bits, v) __builtin_bswap##bits(v)
#endif
#define WIRE_WORD(order, bits)                                                                     \
	static inline uint##bits##_t get_##order##bits(order##bits v)                              \
	{                                                                                          \
		uint##bits##_t word;                                                               \
		memcpy(&word, v.b, sizeof(word));                                                  \
		return WIRE_SWAP_##order(bits, word);                                              \
	}                                                                                          \
	static inline order##bits put_##order##bits(uint##bits##_t v)                              \
	{                                                                                          \
		uint##bits##_t word = WIRE_SWAP_##order(bits, v);                                  \
		order##bits w;                                                                     \
		memcpy(w.b, &word, sizeof(word));                                                  \
		return w;                                                                          \
	}
WIRE_WORD(be, 16)
WIRE_WORD(be, 32)
WIRE_WORD(be, 64)
WIRE_WORD(le, 16)
WIRE_WORD(le, 32)
WIRE_WORD(le, 64)
#undef WIRE_WORD
#undef WIRE_SWAP_be
#undef WIRE_SWAP_le

/* memcpy() for short messages: musl's takes 20 ns to start, as long as copying 512 bytes. */
static inline void wire_copy(void *to, const void *from, size_t n)
{
	const uint8_t *p = from;
	uint8_t *out = to;

	if (n >= 16 && n <= 32) {
		memcpy(out, p, 16);
		memcpy(out + n - 16, p + n - 16, 16);
	} else if (n > 32 && n <= 64) {
		memcpy(out, p, 32);
		memcpy(out + n - 32, p + n - 32, 32);
	} else if (n) {
		memcpy(out, p, n);
	}
}

/* Reader: rd_take() past the end returns NULL and sets `bad` for good. Test it once, at the end. */
struct rd {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct rd rd_init(const void *p, size_t len)
{
	return (struct rd){ .p = p, .end = (const uint8_t *)p + len };
}

static inline size_t rd_left(const struct rd *r)
{
	return (size_t)(r->end - r->p);
}

static inline const void *rd_take(struct rd *r, size_t n)
{
	const uint8_t *p = r->p;
	if (r->bad || n > rd_left(r)) {
		r->bad = true;
		return NULL;
	}
	r->p += n;
	return p;
}

/* Writer: the same. */
struct wr {
	uint8_t *p, *end;
	bool bad;
};

static inline struct wr wr_init(void *p, size_t len)
{
	return (struct wr){ .p = p, .end = (uint8_t *)p + len };
}

static inline void *wr_room(struct wr *w, size_t n)
{
	uint8_t *p = w->p;
	if (w->bad || n > (size_t)(w->end - w->p)) {
		w->bad = true;
		return NULL;
	}
	w->p += n;
	return p;
}

static inline void wr_bytes(struct wr *w, const void *from, size_t n)
{
	void *p = wr_room(w, n);
	if (p && n)
		memcpy(p, from, n);
}
