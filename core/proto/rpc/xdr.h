/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* XDR (RFC 4506) on the bounded reader and writer: missing data reads as zero and sets `bad`. */
#pragma once
#include "wire.h"

static inline uint32_t xdr_u32(struct rd *r)
{
	const be32 *word = rd_take(r, sizeof(*word));

	return word ? get_be32(*word) : 0;
}

static inline uint64_t xdr_u64(struct rd *r)
{
	const be64 *word = rd_take(r, sizeof(*word));

	return word ? get_be64(*word) : 0;
}

/* 4.4: a boolean is 0 or 1. */
static inline bool xdr_bool(struct rd *r)
{
	uint32_t word = xdr_u32(r);

	if (word > 1)
		r->bad = true;
	return word == 1;
}

/* Read an opaque of variable length, at most `max` bytes; NULL when bad. */
static inline const uint8_t *xdr_opaque(struct rd *r, uint32_t max, uint32_t *len)
{
	const uint8_t *bytes;

	*len = xdr_u32(r);
	if (*len > max)
		r->bad = true;
	bytes = rd_take(r, r->bad ? 0 : *len);
	rd_take(r, r->bad ? 0 : (4 - *len % 4) % 4);
	if (!r->bad)
		return bytes;
	*len = 0;
	return NULL;
}

static inline void xdr_put_u32(struct wr *w, uint32_t value)
{
	const be32 word = put_be32(value);

	wr_bytes(w, &word, sizeof(word));
}

static inline void xdr_put_u64(struct wr *w, uint64_t value)
{
	const be64 word = put_be64(value);

	wr_bytes(w, &word, sizeof(word));
}

static inline void xdr_put_opaque(struct wr *w, const void *bytes, uint32_t len)
{
	static const uint8_t zero[4];

	xdr_put_u32(w, len);
	wr_bytes(w, bytes, len);
	wr_bytes(w, zero, (4 - len % 4) % 4);
}

static inline void xdr_put_text(struct wr *w, const char *text)
{
	xdr_put_opaque(w, text, (uint32_t)strlen(text));
}
