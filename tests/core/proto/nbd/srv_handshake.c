/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD handshake byte by byte: golden replies, every cut, every damaged byte. */
/* Link: leap */
#include "srv.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct talk {
	struct bdev disk[2];
	struct nbd_export export[2];
	struct nbd_srv_handshake h;
	uint8_t in[20000];
	size_t len;
	int refuse;
};

static int enter(struct nbd_srv_handshake *h, unsigned export, struct diag *diag)
{
	struct talk *t = h->user;

	(void)export;
	return t->refuse ? diag_set(diag, DIAG_NO_MEMORY, t->refuse, "no memory for another client")
			 : 0;
}

static void talk_init(struct talk *t, uint32_t block)
{
	memset(t, 0, sizeof(*t));
	for (int i = 0; i < 2; i++) {
		t->disk[i].lim = (struct bdev_limits){
			.size = 1 << 20, .block = block, .best = 65536, .fua = true
		};
		for (int kind = 0; kind < IO_KINDS; kind++)
			t->disk[i].lim.max[kind] = 1 << 20;
		t->export[i] = (struct nbd_export){
			.name = i ? "two" : "one", .bdev = &t->disk[i], .ro = i
		};
		t->export[i].description = i ? "second" : NULL;
	}
	t->h = (struct nbd_srv_handshake){
		.export = t->export, .exports = 2, .enter = enter, .user = t
	};
	nbd_srv_handshake_start(&t->h);
	t->h.out_len = 0;
}

static void say(struct talk *t, const void *p, size_t len)
{
	memcpy(t->in + t->len, p, len);
	t->len += len;
}

static void say_flags(struct talk *t, uint32_t flags)
{
	be32 f = put_be32(flags);

	say(t, &f, sizeof(f));
}

static void say_option(struct talk *t, uint32_t option, const void *data, uint32_t len)
{
	struct nbd_opt opt = { put_be64(NBD_OPT_MAGIC), put_be32(option), put_be32(len) };

	say(t, &opt, sizeof(opt));
	if (data)
		say(t, data, len);
}

/* Feed all queued messages to the server. Write the replies to out, one after another. */
static size_t hear(struct talk *t, uint8_t *out, size_t room)
{
	size_t at = 0, n = 0;

	while (t->h.state < NBD_HANDSHAKE_DONE) {
		size_t used = nbd_srv_handshake_feed(&t->h, t->in + at, t->len - at);

		cr_assert_leq(used, t->len - at);
		if (t->h.out_len && n + t->h.out_len <= room) {
			memcpy(out + n, t->h.out, t->h.out_len);
			n += t->h.out_len;
		}
		t->h.out_len = 0;
		at += used;
		if (!used)
			break;
	}
	return n;
}

static uint32_t rep_type(const uint8_t *p)
{
	return get_be32(((const struct nbd_rep *)(const void *)p)->type);
}

static uint32_t rep_len(const uint8_t *p)
{
	return get_be32(((const struct nbd_rep *)(const void *)p)->len);
}

/* Type of the last reply to one option sent after the flags. */
static uint32_t last_reply(struct talk *t, uint32_t option, const void *data, uint32_t len)
{
	uint8_t out[70000];
	uint32_t type = 0;
	size_t n;

	say_option(t, option, data, len);
	n = hear(t, out, sizeof(out));
	for (size_t at = 0; at < n; at += sizeof(struct nbd_rep) + rep_len(out + at))
		type = rep_type(out + at);
	t->len = 0;
	return type;
}

static void begin(struct talk *t, uint32_t block)
{
	uint8_t out[8];

	talk_init(t, block);
	say_flags(t, NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES);
	hear(t, out, sizeof(out));
	cr_assert_eq(t->h.state, NBD_HANDSHAKE_OPTIONS);
	t->len = 0;
}

Test(nbd_srv_handshake, greeting_is_fixed_newstyle_without_zeroes)
{
	static const uint8_t expected[] = "NBDMAGICIHAVEOPT\0\3";
	struct talk t;

	talk_init(&t, 512);
	nbd_srv_handshake_start(&t.h);
	cr_assert_eq(t.h.out_len, 18);
	cr_assert_arr_eq(t.h.out, expected, 18);
}

Test(nbd_srv_handshake, unknown_client_flags_end_it)
{
	struct talk t;
	uint8_t out[64];

	talk_init(&t, 512);
	say_flags(&t, 4);
	hear(&t, out, sizeof(out));
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_END);
}

/* "NBD_OPT_EXPORT_NAME": size, flags, and 124 zeroes unless both sides set NO_ZEROES. */
Test(nbd_srv_handshake, export_name_golden)
{
	static const uint8_t expected[] = { 0, 0, 0, 0, 0, 0x10, 0, 0, 0x09, 0x6d };
	struct talk t;
	uint8_t out[256];

	for (int zeroes = 0; zeroes < 2; zeroes++) {
		talk_init(&t, 512);
		say_flags(&t, NBD_FLAG_FIXED_NEWSTYLE | (zeroes ? 0 : NBD_FLAG_NO_ZEROES));
		say_option(&t, NBD_OPT_EXPORT_NAME, "", 0);
		cr_assert_eq(hear(&t, out, sizeof(out)), zeroes ? 134 : 10);
		cr_assert_arr_eq(out, expected, 10);
		cr_assert_eq(t.h.state, NBD_HANDSHAKE_DONE);
		cr_assert_eq(t.h.chosen, 0);
	}
}

Test(nbd_srv_handshake, export_name_of_no_export_ends_it)
{
	struct talk t;
	uint8_t out[256];

	begin(&t, 512);
	say_option(&t, NBD_OPT_EXPORT_NAME, "three", 5);
	cr_assert_eq(hear(&t, out, sizeof(out)), 0);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_END);
}

Test(nbd_srv_handshake, read_only_export_says_so)
{
	struct talk t;

	talk_init(&t, 512);
	cr_assert_eq(nbd_srv_flags(&t.export[1], true), NBD_FLAG_HAS_FLAGS | NBD_FLAG_READ_ONLY |
								NBD_FLAG_SEND_DF |
								NBD_FLAG_CAN_MULTI_CONN);
}

Test(nbd_srv_handshake, flags_follow_what_the_disk_can)
{
	struct talk t;

	talk_init(&t, 512);
	t.disk[0].lim.fua = false;
	t.disk[0].lim.max[IO_TRIM] = t.disk[0].lim.max[IO_ZERO] = t.disk[0].lim.max[IO_FLUSH] = 0;
	cr_assert_eq(
		nbd_srv_flags(&t.export[0], false), NBD_FLAG_HAS_FLAGS | NBD_FLAG_CAN_MULTI_CONN);
	t.disk[0].lim.ro = true;
	cr_assert(nbd_srv_flags(&t.export[0], false) & NBD_FLAG_READ_ONLY);
}

Test(nbd_srv_handshake, list_golden)
{
	static const uint8_t expected[] =
		"\0\3\xe8\x89\x04\x55\x65\xa9\0\0\0\3\0\0\0\2\0\0\0\7\0\0\0\3one"
		"\0\3\xe8\x89\x04\x55\x65\xa9\0\0\0\3\0\0\0\2\0\0\0\15\0\0\0\3twosecond"
		"\0\3\xe8\x89\x04\x55\x65\xa9\0\0\0\3\0\0\0\1\0\0\0\0";
	struct talk t;
	uint8_t out[256];

	begin(&t, 512);
	say_option(&t, NBD_OPT_LIST, "", 0);
	cr_assert_eq(hear(&t, out, sizeof(out)), sizeof(expected) - 1);
	cr_assert_arr_eq(out, expected, sizeof(expected) - 1);
}

static const uint8_t go_two[] = "\0\0\0\3two\0\3\0\1\0\2\0\3";

Test(nbd_srv_handshake, go_golden)
{
	static const uint8_t expected[] =
		"\0\3\xe8\x89\x04\x55\x65\xa9\0\0\0\7\0\0\0\3\0\0\0\14\0\0\0\0\0\0\0\x10\0\0\1\3"
		"\0\3\xe8\x89\x04\x55\x65\xa9\0\0\0\7\0\0\0\3\0\0\0\5\0\1two"
		"\0\3\xe8\x89\x04\x55\x65\xa9\0\0\0\7\0\0\0\3\0\0\0\10\0\2second"
		"\0\3\xe8\x89\x04\x55\x65\xa9\0\0\0\7\0\0\0\3\0\0\0\16\0\3\0\0\2\0\0\1\0\0\2\0\0\0"
		"\0\3\xe8\x89\x04\x55\x65\xa9\0\0\0\7\0\0\0\1\0\0\0\0";
	struct talk t;
	uint8_t out[512];

	begin(&t, 512);
	say_option(&t, NBD_OPT_GO, go_two, sizeof(go_two) - 1);
	cr_assert_eq(hear(&t, out, sizeof(out)), sizeof(expected) - 1);
	cr_assert_arr_eq(out, expected, sizeof(expected) - 1);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_DONE);
	cr_assert_eq(t.h.chosen, 1);
}

Test(nbd_srv_handshake, every_cut_waits_for_more)
{
	struct talk t;
	uint8_t out[512];

	for (size_t cut = 0; cut < 4 + 16 + sizeof(go_two) - 1; cut++) {
		talk_init(&t, 512);
		say_flags(&t, NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES);
		say_option(&t, NBD_OPT_GO, go_two, sizeof(go_two) - 1);
		t.len = cut;
		cr_assert_eq(hear(&t, out, sizeof(out)), 0, "cut at %zu", cut);
		cr_assert_lt(t.h.state, NBD_HANDSHAKE_DONE);
	}
}

/* Every byte of a handshake with every bit flipped: refused or harmless, never out of bounds
 * (sanitizers watch). */
/* A server that polls looks at the first half of an option many times. */
Test(nbd_srv_handshake, an_option_in_two_halves_counts_once)
{
	static struct talk t;
	size_t used;

	talk_init(&t, 512);
	say_flags(&t, NBD_FLAG_FIXED_NEWSTYLE);
	used = nbd_srv_handshake_feed(&t.h, t.in, t.len);
	say_option(&t, NBD_OPT_EXPORT_NAME, "one", 3);
	for (unsigned i = 0; i < 10000; i++)
		cr_assert_eq(nbd_srv_handshake_feed(&t.h, t.in + used, t.len - used - 1), 0);
	cr_assert_eq(nbd_srv_handshake_feed(&t.h, t.in + used, t.len - used), t.len - used);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_DONE);
}

Test(nbd_srv_handshake, every_damaged_byte_is_refused_or_harmless)
{
	static const uint8_t meta[] = "\0\0\0\3two\0\0\0\1\0\0\0\17base:allocation";
	struct talk t;
	uint8_t out[70000];
	size_t whole = 0;

	for (size_t at = 0; !whole || at < whole; at++)
		for (int bit = 0; bit < 8; bit++) {
			talk_init(&t, 512);
			say_flags(&t, NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES);
			say_option(&t, NBD_OPT_STRUCTURED_REPLY, NULL, 0);
			say_option(&t, NBD_OPT_SET_META_CONTEXT, meta, sizeof(meta) - 1);
			say_option(&t, NBD_OPT_GO, go_two, sizeof(go_two) - 1);
			whole = t.len;
			t.in[at] ^= (uint8_t)(1 << bit);
			hear(&t, out, sizeof(out));
			if (t.h.state == NBD_HANDSHAKE_DONE)
				cr_assert_lt(t.h.chosen, 2);
		}
}

Test(nbd_srv_handshake, go_for_no_export_is_unknown)
{
	struct talk t;

	begin(&t, 512);
	cr_assert_eq(last_reply(&t, NBD_OPT_GO, "\0\0\0\5three\0\0", 11), NBD_REP_ERR_UNKNOWN);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_OPTIONS);
}

Test(nbd_srv_handshake, large_blocks_must_be_asked_for)
{
	struct talk t;

	begin(&t, 4096);
	cr_assert_eq(last_reply(&t, NBD_OPT_GO, "\0\0\0\0\0\0", 6), NBD_REP_ERR_BLOCK_SIZE_REQD);
	cr_assert_eq(last_reply(&t, NBD_OPT_INFO, "\0\0\0\0\0\0", 6), NBD_REP_ACK);
	cr_assert_eq(last_reply(&t, NBD_OPT_GO, "\0\0\0\0\0\1\0\3", 8), NBD_REP_ACK);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_DONE);
}

Test(nbd_srv_handshake, info_with_lengths_that_lie_is_invalid)
{
	struct talk t;

	begin(&t, 512);
	cr_assert_eq(last_reply(&t, NBD_OPT_INFO, "\0\0\0\7two\0\0", 9), NBD_REP_ERR_INVALID);
	cr_assert_eq(
		last_reply(&t, NBD_OPT_INFO, "\xff\xff\xff\xfftwo\0\0", 9), NBD_REP_ERR_INVALID);
	cr_assert_eq(last_reply(&t, NBD_OPT_INFO, "\0\0\0\3two\0\2\0\1", 11), NBD_REP_ERR_INVALID);
	cr_assert_eq(last_reply(&t, NBD_OPT_INFO, "\0\0\0\3two\0\0\0", 10), NBD_REP_ERR_INVALID);
	cr_assert_eq(last_reply(&t, NBD_OPT_INFO, NULL, 0), NBD_REP_ERR_INVALID);
}

Test(nbd_srv_handshake, what_is_not_offered_is_unsupported)
{
	struct talk t;

	begin(&t, 512);
	cr_assert_eq(last_reply(&t, NBD_OPT_STARTTLS, NULL, 0), NBD_REP_ERR_POLICY);
	cr_assert_eq(last_reply(&t, 4, NULL, 0), NBD_REP_ERR_UNSUP);
	cr_assert_eq(last_reply(&t, 0x7fffffff, "data", 4), NBD_REP_ERR_UNSUP);
}

Test(nbd_srv_handshake, options_without_data_refuse_data)
{
	struct talk t;

	begin(&t, 512);
	cr_assert_eq(last_reply(&t, NBD_OPT_LIST, "x", 1), NBD_REP_ERR_INVALID);
	cr_assert_eq(last_reply(&t, NBD_OPT_STRUCTURED_REPLY, "x", 1), NBD_REP_ERR_INVALID);
	cr_assert_not(t.h.structured);
}

Test(nbd_srv_handshake, abort_is_acknowledged)
{
	struct talk t;

	begin(&t, 512);
	cr_assert_eq(last_reply(&t, NBD_OPT_ABORT, NULL, 0), NBD_REP_ACK);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_END);
}

Test(nbd_srv_handshake, meta_context_needs_structured_replies)
{
	struct talk t;

	begin(&t, 512);
	cr_assert_eq(last_reply(&t, NBD_OPT_LIST_META_CONTEXT, "\0\0\0\0\0\0\0\0", 8),
		NBD_REP_ERR_INVALID);
	cr_assert_eq(last_reply(&t, NBD_OPT_STRUCTURED_REPLY, NULL, 0), NBD_REP_ACK);
	cr_assert_eq(last_reply(&t, NBD_OPT_LIST_META_CONTEXT, "\0\0\0\0\0\0\0\0", 8), NBD_REP_ACK);
}

/* All, a namespace, an exact name are listed; only an exact name is selected. */
Test(nbd_srv_handshake, meta_context_queries)
{
	static const struct {
		uint32_t option;
		const char *data;
		uint32_t len;
		unsigned contexts;
	} rows[] = {
		{ NBD_OPT_LIST_META_CONTEXT, "\0\0\0\0\0\0\0\0", 8, 1 },
		{ NBD_OPT_LIST_META_CONTEXT, "\0\0\0\0\0\0\0\1\0\0\0\5base:", 17, 1 },
		{ NBD_OPT_LIST_META_CONTEXT, "\0\0\0\0\0\0\0\1\0\0\0\3x:y", 15, 0 },
		{ NBD_OPT_SET_META_CONTEXT, "\0\0\0\0\0\0\0\0", 8, 0 },
		{ NBD_OPT_SET_META_CONTEXT, "\0\0\0\0\0\0\0\1\0\0\0\5base:", 17, 0 },
		{ NBD_OPT_SET_META_CONTEXT, "\0\0\0\0\0\0\0\2\0\0\0\3x:y\0\0\0\17base:allocation",
			34, 1 },
	};
	struct talk t;
	uint8_t out[512];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(&t, 512);
		last_reply(&t, NBD_OPT_STRUCTURED_REPLY, NULL, 0);
		say_option(&t, rows[i].option, rows[i].data, rows[i].len);
		cr_assert_eq(hear(&t, out, sizeof(out)), 20 + rows[i].contexts * 39, "row %zu", i);
		cr_assert_eq(
			t.h.meta, rows[i].option == NBD_OPT_SET_META_CONTEXT && rows[i].contexts);
	}
}

Test(nbd_srv_handshake, option_too_long_is_skipped)
{
	static uint8_t data[9000];
	struct talk t;

	begin(&t, 512);
	cr_assert_eq(last_reply(&t, NBD_OPT_INFO, data, sizeof(data)), NBD_REP_ERR_TOO_BIG);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_OPTIONS);
	cr_assert_eq(last_reply(&t, NBD_OPT_ABORT, NULL, 0), NBD_REP_ACK);
}

Test(nbd_srv_handshake, attacks_end_it)
{
	struct talk t;
	uint8_t out[64];

	begin(&t, 512);
	say_option(&t, NBD_OPT_INFO, NULL, NBD_OPTION_SKIP + 1);
	hear(&t, out, sizeof(out));
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_END);
	begin(&t, 512);
	say(&t, "sixteen bytes of rubbish", 24);
	hear(&t, out, sizeof(out));
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_END);
	begin(&t, 512);
	for (int i = 0; i < NBD_OPTIONS; i++)
		cr_assert_eq(last_reply(&t, NBD_OPT_STRUCTURED_REPLY, NULL, 0), NBD_REP_ACK);
	cr_assert_eq(last_reply(&t, NBD_OPT_STRUCTURED_REPLY, NULL, 0), 0);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_END);
}

Test(nbd_srv_handshake, old_client_may_only_name_an_export)
{
	struct talk t;
	uint8_t out[256];

	talk_init(&t, 512);
	say_flags(&t, 0);
	say_option(&t, NBD_OPT_LIST, NULL, 0);
	cr_assert_eq(hear(&t, out, sizeof(out)), 0);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_END);
}

Test(nbd_srv_handshake, no_room_for_the_client_is_reported)
{
	struct talk t;

	begin(&t, 512);
	t.refuse = ENOMEM;
	cr_assert_eq(last_reply(&t, NBD_OPT_GO, "\0\0\0\0\0\0", 6), NBD_REP_ERR_POLICY);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_OPTIONS);
}

/* "FORCEDTLS mode". */
Test(nbd_srv_handshake, nothing_is_negotiated_before_tls)
{
	static const uint32_t options[] = { NBD_OPT_LIST, NBD_OPT_INFO, NBD_OPT_GO,
		NBD_OPT_STRUCTURED_REPLY, NBD_OPT_LIST_META_CONTEXT, NBD_OPT_SET_META_CONTEXT, 99 };
	struct talk t;

	begin(&t, 512);
	t.h.tls = true;
	for (unsigned i = 0; i < sizeof(options) / sizeof(*options); i++)
		cr_assert_eq(last_reply(&t, options[i], NULL, 0), NBD_REP_ERR_TLS_REQD);
	cr_assert(t.h.plain && !t.h.structured && !t.h.meta);
	cr_assert_eq(last_reply(&t, NBD_OPT_STARTTLS, "x", 1), NBD_REP_ERR_INVALID);
	cr_assert_eq(last_reply(&t, NBD_OPT_STARTTLS, NULL, 0), NBD_REP_ACK);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_STARTTLS);
	cr_assert_eq(nbd_srv_handshake_feed(&t.h, (const void *)"IHAVEOPT", 8), 0);
	t.h.structured = true;
	t.h.meta = 1;
	nbd_srv_handshake_secured(&t.h);
	cr_assert(!t.h.structured && !t.h.meta);
	cr_assert_eq(last_reply(&t, NBD_OPT_STARTTLS, NULL, 0), NBD_REP_ERR_INVALID);
	cr_assert_eq(last_reply(&t, NBD_OPT_STRUCTURED_REPLY, NULL, 0), NBD_REP_ACK);
	cr_assert_eq(last_reply(&t, NBD_OPT_LIST, NULL, 0), NBD_REP_ACK);
}

Test(nbd_srv_handshake, export_name_and_abort_before_tls)
{
	struct talk t;

	begin(&t, 512);
	t.h.tls = true;
	last_reply(&t, NBD_OPT_EXPORT_NAME, "one", 3);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_END);
	begin(&t, 512);
	t.h.tls = true;
	cr_assert_eq(last_reply(&t, NBD_OPT_ABORT, NULL, 0), NBD_REP_ACK);
	cr_assert_eq(t.h.state, NBD_HANDSHAKE_END);
}
