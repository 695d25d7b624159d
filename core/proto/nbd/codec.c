/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Encode and decode NBD messages of server and client: data of options, information items, replies,
 * errors. Every length and count of a peer is checked against the bytes received. */
#include "out.h"
#include "wire/nbd.h"
#include <errno.h>

/* Decode a length and that many bytes, the form of names and queries in option data. */
static const char *string_get(struct rd *rd, uint32_t *len)
{
	const be32 *n = rd_take(rd, sizeof(*n));

	*len = n ? get_be32(*n) : 0;
	if (*len > NBD_STRING_MAX)
		rd->bad = true;
	return rd_take(rd, *len);
}

static void string_put(struct wr *wr, const char *text, uint32_t len)
{
	be32 n = put_be32(len);

	wr_bytes(wr, &n, sizeof(n));
	wr_bytes(wr, text, len);
}

bool nbd_go_get(struct nbd_go *go, const void *data, size_t len)
{
	struct rd rd = rd_init(data, len);
	const be16 *count, *item;
	unsigned items;

	*go = (struct nbd_go){ 0 };
	go->name = string_get(&rd, &go->name_len);
	count = rd_take(&rd, sizeof(*count));
	items = count ? get_be16(*count) : 0;
	item = rd_take(&rd, items * sizeof(*item));
	if (rd.bad || rd_left(&rd))
		return false;
	for (unsigned n = 0; n < items; n++)
		if (get_be16(item[n]) <= NBD_INFO_BLOCK_SIZE)
			go->info_types |= 1u << get_be16(item[n]);
	return true;
}

void nbd_go_put(struct wr *wr, const struct nbd_go *go)
{
	be16 count = put_be16((uint16_t)__builtin_popcount(go->info_types));

	string_put(wr, go->name, go->name_len);
	wr_bytes(wr, &count, sizeof(count));
	for (uint16_t type = 0; type <= NBD_INFO_BLOCK_SIZE; type++) {
		be16 item = put_be16(type);

		if (go->info_types & 1u << type)
			wr_bytes(wr, &item, sizeof(item));
	}
}

static bool is(const char *text, uint32_t len, const char *what)
{
	return len == strlen(what) && !memcmp(text, what, len);
}

bool nbd_meta_get(struct nbd_meta *meta, const void *data, size_t len)
{
	struct rd rd = rd_init(data, len);
	const be32 *count;

	*meta = (struct nbd_meta){ 0 };
	meta->name = string_get(&rd, &meta->name_len);
	count = rd_take(&rd, sizeof(*count));
	meta->queries = count ? get_be32(*count) : 0;
	for (uint32_t n = 0; n < meta->queries && !rd.bad; n++) {
		uint32_t query_len;
		const char *query = string_get(&rd, &query_len);

		meta->allocation |= query && is(query, query_len, NBD_META_ALLOCATION);
		meta->base |= query && is(query, query_len, "base:");
	}
	return !rd.bad && !rd_left(&rd);
}

void nbd_meta_put(struct wr *wr, const struct nbd_meta *meta)
{
	be32 count = put_be32((uint32_t)meta->allocation + meta->base);

	string_put(wr, meta->name, meta->name_len);
	wr_bytes(wr, &count, sizeof(count));
	if (meta->allocation)
		string_put(wr, NBD_META_ALLOCATION, strlen(NBD_META_ALLOCATION));
	if (meta->base)
		string_put(wr, "base:", 5);
}

bool nbd_info_get(struct nbd_terms *terms, uint16_t *type, const void *data, size_t len)
{
	const struct nbd_info_export *export = data;
	const struct nbd_info_block_size *block = data;

	if (len < sizeof(be16))
		return false;
	*type = get_be16(*(const be16 *)data);
	switch (*type) {
	case NBD_INFO_EXPORT:
		if (len != sizeof(*export))
			return false;
		terms->size = get_be64(export->size);
		terms->flags = get_be16(export->flags);
		return true;
	case NBD_INFO_BLOCK_SIZE:
		if (len != sizeof(*block))
			return false;
		terms->minimum = get_be32(block->minimum);
		terms->preferred = get_be32(block->preferred);
		terms->maximum = get_be32(block->maximum);
		return true;
	default:
		return true;
	}
}

static int breach(const char **why, const char *text)
{
	*why = text;
	return -1;
}

/* "Structured reply types": check the total length of a chunk, and decode the fixed part of its
 * payload. */
static int chunk_get(struct nbd_answer *a, struct rd *rd, uint32_t len, const char **why)
{
	const be64 *off;
	const be32 *word;
	const be16 *text;

	switch (a->type) {
	case NBD_REPLY_TYPE_NONE:
		return len || !a->done
			       ? breach(why, "NONE chunk with data or without the done flag")
			       : 0;
	case NBD_REPLY_TYPE_OFFSET_DATA:
		if (len <= sizeof(*off))
			return breach(why, "data chunk without data");
		off = rd_take(rd, sizeof(*off));
		a->off = off ? get_be64(*off) : 0;
		a->len = len - sizeof(*off);
		return 0;
	case NBD_REPLY_TYPE_OFFSET_HOLE:
		if (len != sizeof(*off) + sizeof(*word))
			return breach(why, "hole chunk of the wrong length");
		off = rd_take(rd, sizeof(*off));
		word = rd_take(rd, sizeof(*word));
		a->off = off ? get_be64(*off) : 0;
		a->len = word ? get_be32(*word) : 1;
		return a->len ? 0 : breach(why, "hole of length 0");
	case NBD_REPLY_TYPE_BLOCK_STATUS:
		if (len < sizeof(*word) + sizeof(struct nbd_extent) ||
			(len - sizeof(*word)) % sizeof(struct nbd_extent) ||
			len > sizeof(*word) + NBD_EXTENTS_MAX * sizeof(struct nbd_extent))
			return breach(why, "block status chunk of invalid length");
		word = rd_take(rd, sizeof(*word));
		a->context = word ? get_be32(*word) : 0;
		a->len = len - sizeof(*word);
		return 0;
	}
	if (!(a->type & NBD_REPLY_TYPE_ERRORS))
		return breach(why, "chunk of unknown type");
	if (len < sizeof(*word) + sizeof(*text) || len > NBD_ERROR_MAX)
		return breach(why, "error chunk of invalid length");
	word = rd_take(rd, sizeof(*word));
	text = rd_take(rd, sizeof(*text));
	a->error = word ? get_be32(*word) : 1;
	a->text_len = text ? get_be16(*text) : 0;
	a->len = len - sizeof(*word) - sizeof(*text);
	if (!a->error)
		return breach(why, "error chunk with error 0");
	if (a->text_len + (a->type == NBD_REPLY_TYPE_ERROR_OFFSET ? sizeof(*off) : 0) > a->len)
		return breach(why, "error chunk shorter than its text");
	return 0;
}

int nbd_answer_get(struct nbd_answer *a, const void *p, size_t have, const char **why)
{
	struct rd rd = rd_init(p, have);
	const struct nbd_simple_reply *simple = p;
	const struct nbd_chunk *chunk = p;
	uint32_t magic;

	if (have < sizeof(be32))
		return 0;
	magic = get_be32(*(const be32 *)p);
	if (magic != NBD_SIMPLE_REPLY_MAGIC && magic != NBD_STRUCTURED_REPLY_MAGIC)
		return breach(why, "not an NBD reply");
	*a = (struct nbd_answer){ .simple = magic == NBD_SIMPLE_REPLY_MAGIC };
	if (!rd_take(&rd, a->simple ? sizeof(*simple) : sizeof(*chunk)))
		return 0;
	if (a->simple) {
		a->done = true;
		a->error = get_be32(simple->error);
		memcpy(&a->cookie, simple->cookie, sizeof(a->cookie));
		return sizeof(*simple);
	}
	a->done = get_be16(chunk->flags) & NBD_REPLY_FLAG_DONE;
	a->type = get_be16(chunk->type);
	memcpy(&a->cookie, chunk->cookie, sizeof(a->cookie));
	if (chunk_get(a, &rd, get_be32(chunk->len), why))
		return -1;
	return rd.bad ? 0 : (int)(rd.p - (const uint8_t *)p);
}

void nbd_simple_put(struct nbd_simple_reply *reply, uint32_t error, const uint8_t cookie[8])
{
	*reply = (struct nbd_simple_reply){ put_be32(NBD_SIMPLE_REPLY_MAGIC), put_be32(error),
		{ 0 } };
	memcpy(reply->cookie, cookie, sizeof(reply->cookie));
}

void nbd_chunk_put(
	struct nbd_chunk *chunk, uint16_t type, bool done, const uint8_t cookie[8], uint32_t len)
{
	*chunk = (struct nbd_chunk){ put_be32(NBD_STRUCTURED_REPLY_MAGIC),
		put_be16(done ? NBD_REPLY_FLAG_DONE : 0), put_be16(type), { 0 }, put_be32(len) };
	memcpy(chunk->cookie, cookie, sizeof(chunk->cookie));
}

size_t nbd_text_get(char *text, size_t room, const void *message, size_t len)
{
	size_t at = strnlen(message, len), end = at < room ? at : room - 1;

	memcpy(text, message, end);
	text[end] = 0;
	if (end == at)
		return end;
	for (at = end; at && end - at < 3 && ((unsigned char)text[at - 1] & 0xc0) == 0x80;)
		at--;
	if (at && !out_utf8_len(text + at - 1))
		end = at - 1;
	text[end] = 0;
	return end;
}

size_t nbd_text_put(char *message, size_t room, const char *text)
{
	size_t len = nbd_text_get(message, room, text, strlen(text));

	for (size_t at = 0, n; at < len; at += n ? n : 1) {
		n = out_utf8_len(message + at);
		if (!n)
			message[at] = '?';
	}
	return len;
}

uint32_t nbd_error_of(int err, bool fast)
{
	switch (err) {
	case EPERM:
	case EACCES:
	case EROFS:
		return NBD_EPERM;
	case ENOMEM:
		return NBD_ENOMEM;
	case EINVAL:
		return NBD_EINVAL;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return NBD_ENOSPC;
	case EOVERFLOW:
		return NBD_EOVERFLOW;
	case EOPNOTSUPP:
		return fast ? NBD_ENOTSUP : NBD_EINVAL;
	case ESHUTDOWN:
	case EHOSTUNREACH: /* the connection to the disk is lost; its blocks are not damaged */
	case ENOLINK:
		return NBD_ESHUTDOWN;
	default:
		return NBD_EIO;
	}
}

int nbd_errno_of(uint32_t error, bool fast)
{
	switch (error) {
	case NBD_EPERM:
		return EPERM;
	case NBD_EIO:
		return EIO;
	case NBD_ENOMEM:
		return ENOMEM;
	case NBD_ENOSPC:
		return ENOSPC;
	case NBD_EOVERFLOW:
		return EOVERFLOW;
	case NBD_ENOTSUP:
		return fast ? EOPNOTSUPP : EINVAL;
	case NBD_ESHUTDOWN:
		return ESHUTDOWN;
	case NBD_EINVAL:
	default:
		return EINVAL;
	}
}
