/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD codec of both roles: what is put is got, in the bytes of doc/proto.md; what is cut or
 * false is refused. */
#include "says.h"
#include "wire/nbd.h"
#include <criterion/criterion.h>
#include <errno.h>

Test(nbd_codec, go_in_golden_bytes_and_back)
{
	static const uint8_t golden[] = "\0\0\0\4disk\0\2\0\0\0\3";
	uint8_t bytes[64];
	struct wr wr = wr_init(bytes, sizeof(bytes));
	struct nbd_go go;
	size_t len;

	nbd_go_put(&wr, &(struct nbd_go){ .name = "disk",
				.name_len = 4,
				.info_types = 1u << NBD_INFO_EXPORT | 1u << NBD_INFO_BLOCK_SIZE });
	len = (size_t)(wr.p - bytes);
	cr_assert_eq(len, sizeof(golden) - 1);
	cr_assert_arr_eq(bytes, golden, len);
	cr_assert(nbd_go_get(&go, bytes, len));
	cr_assert(go.name_len == 4 && !memcmp(go.name, "disk", 4) && go.info_types == 9);
	for (size_t cut = 0; cut < len; cut++)
		cr_assert_not(nbd_go_get(&go, bytes, cut), "%zu bytes", cut);
	cr_assert_not(nbd_go_get(&go, golden, sizeof(golden)), "a byte too many");
	bytes[0] = 1;
	cr_assert_not(nbd_go_get(&go, bytes, len), "a name longer than all");
}

Test(nbd_codec, go_passes_over_items_it_does_not_know)
{
	struct nbd_go go;

	cr_assert(nbd_go_get(&go, "\0\0\0\0\0\3\0\7\0\3\xff\xff", 12));
	cr_assert_eq(go.info_types, 1u << NBD_INFO_BLOCK_SIZE);
}

Test(nbd_codec, meta_in_golden_bytes_and_back)
{
	static const uint8_t golden[] = "\0\0\0\1a\0\0\0\2\0\0\0\17base:allocation\0\0\0\5base:";
	uint8_t bytes[64];
	struct wr wr = wr_init(bytes, sizeof(bytes));
	struct nbd_meta meta;
	size_t len;

	nbd_meta_put(&wr,
		&(struct nbd_meta){ .name = "a", .name_len = 1, .allocation = true, .base = true });
	len = (size_t)(wr.p - bytes);
	cr_assert_eq(len, sizeof(golden) - 1);
	cr_assert_arr_eq(bytes, golden, len);
	cr_assert(nbd_meta_get(&meta, bytes, len));
	cr_assert(meta.name_len == 1 && meta.queries == 2 && meta.allocation && meta.base);
	for (size_t cut = 0; cut < len; cut++)
		cr_assert_not(nbd_meta_get(&meta, bytes, cut), "%zu bytes", cut);
	cr_assert(nbd_meta_get(&meta, "\0\0\0\0\0\0\0\1\0\0\0\4qemu", 16));
	cr_assert(meta.queries == 1 && !meta.allocation && !meta.base);
}

Test(nbd_codec, information_of_the_right_length)
{
	static const uint8_t export[] = "\0\0\0\0\0\0\0\20\0\0\1\11",
			     block[] = "\0\3\0\0\2\0\0\0\20\0\2\0\0\0";
	struct nbd_terms terms = { 0 };
	uint16_t type;

	cr_assert(nbd_info_get(&terms, &type, export, 12));
	cr_assert(type == NBD_INFO_EXPORT && terms.size == 1 << 20 && terms.flags == 0x109);
	cr_assert(nbd_info_get(&terms, &type, block, 14));
	cr_assert(type == NBD_INFO_BLOCK_SIZE && terms.minimum == 512 && terms.preferred == 4096 &&
		  terms.maximum == 1 << 25);
	cr_assert(nbd_info_get(&terms, &type, "\0\2text", 6));
	cr_assert_eq(type, NBD_INFO_DESCRIPTION);
	for (size_t len = 0; len < 16; len++) {
		cr_assert_eq(nbd_info_get(&terms, &type, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", len),
			len == 12, "%zu", len);
		cr_assert_eq(nbd_info_get(&terms, &type, "\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0", len),
			len == 14, "%zu", len);
	}
}

static const char *why;

static int get(struct nbd_answer *a, uint16_t type, bool done, const void *payload, uint32_t len,
	uint32_t length)
{
	static const uint8_t cookie[8] = "\1\2\3\4\5\6\7";
	uint8_t bytes[128];

	memset(bytes, 0xee, sizeof(bytes));
	nbd_chunk_put((struct nbd_chunk *)(void *)bytes, type, done, cookie, length);
	memcpy(bytes + sizeof(struct nbd_chunk), payload, len);
	why = NULL;
	return nbd_answer_get(a, bytes, sizeof(struct nbd_chunk) + len, &why);
}

Test(nbd_codec, simple_replies)
{
	static const uint8_t cookie[8] = "\1\2\3\4\5\6\7";
	struct nbd_simple_reply reply;
	struct nbd_answer a;

	nbd_simple_put(&reply, NBD_EIO, cookie);
	for (size_t len = 0; len < sizeof(reply); len++)
		cr_assert_eq(nbd_answer_get(&a, &reply, len, &why), 0, "%zu", len);
	cr_assert_eq(nbd_answer_get(&a, &reply, sizeof(reply), &why), sizeof(reply));
	cr_assert(a.simple && a.done && a.error == NBD_EIO && !memcmp(&a.cookie, cookie, 8));
	reply.magic = put_be32(NBD_SIMPLE_REPLY_MAGIC + 1);
	cr_assert_eq(nbd_answer_get(&a, &reply, sizeof(reply), &why), -1);
	text_says(why, "NBD reply");
}

Test(nbd_codec, chunks)
{
	struct nbd_answer a;

	cr_assert_eq(get(&a, NBD_REPLY_TYPE_NONE, true, "", 0, 0), 20);
	cr_assert(a.done && !a.simple && !a.len && !memcmp(&a.cookie, "\1\2\3\4\5\6\7", 8));
	cr_assert_eq(
		get(&a, NBD_REPLY_TYPE_OFFSET_DATA, false, "\0\0\0\0\0\0\20\0", 8, 8 + 512), 28);
	cr_assert(!a.done && a.off == 4096 && a.len == 512);
	cr_assert_eq(get(&a, NBD_REPLY_TYPE_OFFSET_DATA, false, "\0\0\0\0\0\0\20", 7, 8 + 512), 0,
		"needs more");
	cr_assert_eq(
		get(&a, NBD_REPLY_TYPE_OFFSET_HOLE, true, "\0\0\0\0\0\0\20\0\0\0\2\0", 12, 12), 32);
	cr_assert(a.off == 4096 && a.len == 512);
	cr_assert_eq(get(&a, NBD_REPLY_TYPE_BLOCK_STATUS, true, "\0\0\0\7", 4, 12), 24);
	cr_assert(a.context == 7 && a.len == 8);
	cr_assert_eq(get(&a, NBD_REPLY_TYPE_ERROR, true, "\0\0\0\5\0\4", 6, 10), 26);
	cr_assert(a.error == NBD_EIO && a.len == 4);
	cr_assert_eq(get(&a, NBD_REPLY_TYPE_ERROR_OFFSET, false, "\0\0\0\5\0\0", 6, 14), 26);
	cr_assert(a.error == NBD_EIO && a.len == 8 && !a.done);
	cr_assert_eq(get(&a, 0x8123, true, "\0\0\0\5\0\0", 6, 6), 26, "an error of a type to come");
}

Test(nbd_codec, chunks_that_cannot_be)
{
	static const struct {
		uint16_t type;
		bool done;
		const char *payload;
		uint32_t len, length;
	} bad[] = {
		{ NBD_REPLY_TYPE_NONE, false, "", 0, 0 },
		{ NBD_REPLY_TYPE_NONE, true, "", 0, 1 },
		{ NBD_REPLY_TYPE_OFFSET_DATA, true, "\0\0\0\0\0\0\0", 8, 8 },
		{ NBD_REPLY_TYPE_OFFSET_DATA, true, "", 0, 0 },
		{ NBD_REPLY_TYPE_OFFSET_HOLE, true, "", 0, 11 },
		{ NBD_REPLY_TYPE_OFFSET_HOLE, true, "", 0, 13 },
		{ NBD_REPLY_TYPE_OFFSET_HOLE, true, "\0\0\0\0\0\0\0\0\0\0\0", 12, 12 },
		{ NBD_REPLY_TYPE_BLOCK_STATUS, true, "", 0, 4 },
		{ NBD_REPLY_TYPE_BLOCK_STATUS, true, "", 0, 13 },
		{ NBD_REPLY_TYPE_BLOCK_STATUS, true, "", 0, 4 + 8 * (NBD_EXTENTS_MAX + 1) },
		{ 3, true, "", 0, 0 },
		{ 6, true, "", 0, 16 },
		{ NBD_REPLY_TYPE_ERROR, true, "", 0, 5 },
		{ NBD_REPLY_TYPE_ERROR, true, "", 0, NBD_ERROR_MAX + 1 },
		{ NBD_REPLY_TYPE_ERROR, true, "\0\0\0\0\0", 6, 6 },
		{ NBD_REPLY_TYPE_ERROR, true, "\0\0\0\5\0\1", 6, 6 },
		{ NBD_REPLY_TYPE_ERROR_OFFSET, true, "\0\0\0\5\0", 6, 13 },
	};
	struct nbd_answer a;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		cr_assert_eq(get(&a, bad[i].type, bad[i].done, bad[i].payload, bad[i].len,
				     bad[i].length),
			-1, "number %u", i);
		cr_assert(why && *why);
	}
}

Test(nbd_codec, errors_there_and_back)
{
	static const int errors[] = { EPERM, EIO, ENOMEM, EINVAL, ENOSPC, EOVERFLOW, ESHUTDOWN };

	for (unsigned i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		cr_assert_eq(nbd_errno_of(nbd_error_of(errors[i], false), false), errors[i]);
	cr_assert_eq(nbd_error_of(EOPNOTSUPP, true), NBD_ENOTSUP);
	cr_assert_eq(nbd_error_of(EOPNOTSUPP, false), NBD_EINVAL);
	cr_assert_eq(nbd_errno_of(NBD_ENOTSUP, true), EOPNOTSUPP);
	cr_assert_eq(nbd_errno_of(NBD_ENOTSUP, false), EINVAL);
	cr_assert_eq(nbd_errno_of(4711, false), EINVAL);
	cr_assert_eq(nbd_error_of(EXDEV, false), NBD_EIO);
	cr_assert_eq(
		nbd_error_of(EHOSTUNREACH, false), NBD_ESHUTDOWN, "not an error of the medium");
	cr_assert_eq(nbd_error_of(EROFS, false), NBD_EPERM);
}

Test(nbd_codec, messages_are_cut_between_characters)
{
	char text[8];

	cr_assert_eq(nbd_text_get(text, sizeof(text), "no\0more", 7), 2);
	cr_assert_str_eq(text, "no");
	cr_assert_eq(nbd_text_get(text, sizeof(text), "1234567", 7), 7);
	cr_assert_str_eq(text, "1234567");
	cr_assert_eq(nbd_text_get(text, sizeof(text), "123456\xc3\xa4", 8), 6);
	cr_assert_str_eq(text, "123456");
	cr_assert_eq(nbd_text_get(text, sizeof(text), "12345\xc3\xa4z", 8), 7);
	cr_assert_str_eq(text, "12345\xc3\xa4");
	cr_assert_eq(nbd_text_get(text, sizeof(text), "1234\xf0\x9f\x98\x80", 8), 4);
	cr_assert_eq(
		nbd_text_get(text, sizeof(text), "\x80\x80\x80\x80\x80\x80\x80\x80\x80", 9), 3);
	cr_assert_eq(nbd_text_get(text, sizeof(text), "\xff", 1), 1, "as it is");
	cr_assert_eq(nbd_text_get(text, sizeof(text), "", 0), 0);
	cr_assert_eq(nbd_text_put(text, sizeof(text), "a\xff\xc3\xa4\xc3"), 5);
	cr_assert_str_eq(text, "a?\xc3\xa4?");
}
