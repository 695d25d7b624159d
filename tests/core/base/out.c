/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One sequence of calls, two encodings; nothing a peer sends can break either. */
#include "out.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

struct sink {
	struct out out;
	char *text;
	size_t len;
};

static void sink_open(struct sink *sink, bool json)
{
	out_init(&sink->out, "test", json);
	sink->out.to = open_memstream(&sink->text, &sink->len);
	cr_assert_not_null(sink->out.to);
}

static void sink_is(struct sink *sink, const struct diag *diag, const char *expected)
{
	cr_assert_eq(out_fini(&sink->out, diag), 0);
	fclose(sink->out.to);
	cr_assert_str_eq(sink->text, expected);
	free(sink->text);
}

static void emit(struct out *out)
{
	out_line(out, "heading %d", 1);
	out_text(out, "name", "name:  ", "disk %d", 7);
	out_size(out, "size", "size:  ", 64 << 20);
	out_bool(out, "ro", "ro:    ", false);
	out_u64(out, "secret", NULL, 5);
	out_real(out, "share", "share: ", 2. / 3, 3);
	out_list(out, "records");
	for (unsigned i = 0; i < 2; i++) {
		out_object(out, NULL);
		out_u64(out, "id", "id:    ", i);
		out_end(out);
	}
	out_end(out);
	out_list(out, "words");
	out_text(out, NULL, NULL, "a");
	out_text(out, NULL, NULL, "b");
	out_end(out);
	out_object(out, "empty");
	out_end(out);
	out_bool(out, "last", "last:  ", true);
}

Test(out, json)
{
	struct sink sink;

	sink_open(&sink, true);
	emit(&sink.out);
	sink_is(&sink, NULL,
		"{\"schema\":\"rdmastor.test\",\"version\":2,\"name\":\"disk "
		"7\",\"size\":67108864,\"ro\":false,\"secret\":5,\"share\":0.667,"
		"\"records\":[{\"id\":0},{\"id\":1}],\"words\":[\"a\",\"b\"],\"empty\":{},\"last\":"
		"true}\n");
}

Test(out, text)
{
	struct sink sink;

	sink_open(&sink, false);
	emit(&sink.out);
	sink_is(&sink, NULL,
		"heading 1\nname:  disk 7\nsize:  64 MiB (67108864 bytes)\nro:    no\nshare: "
		"0.667\nid:    0\nid:    1\nlast:  yes\n");
}

Test(out, no_result_is_still_a_document)
{
	struct sink sink;

	sink_open(&sink, true);
	sink_is(&sink, NULL, "{\"schema\":\"rdmastor.test\",\"version\":2}\n");
}

Test(out, a_failure_in_the_middle_still_ends_in_one_document)
{
	struct sink sink;
	struct diag diag = { 0 };

	diag_set(&diag, DIAG_REFUSED, ECONNREFUSED, "target said \"no\"");
	diag_ctx(&diag, "10.0.0.1:4420");
	diag_hint(&diag, "ask again");
	sink_open(&sink, true);
	out_list(&sink.out, "records");
	out_object(&sink.out, NULL);
	out_u64(&sink.out, "id", NULL, 1);
	sink_is(&sink, &diag,
		"{\"schema\":\"rdmastor.test\",\"version\":2,\"records\":[{\"id\":1}],\"error\":{"
		"\"code\":\"refused\",\"errno\":\"ECONNREFUSED\","
		"\"object\":\"10.0.0.1:4420\",\"text\":\"target said \\\"no\\\"\",\"hint\":\"ask "
		"again\"}}\n");
}

Test(out, parts_of_a_failure_that_are_not_known_are_left_out)
{
	struct sink sink;
	struct diag diag = { 0 };

	diag_set(&diag, DIAG_IO, EIO, "read");
	sink_open(&sink, true);
	sink_is(&sink, &diag,
		"{\"schema\":\"rdmastor.test\",\"version\":2,\"error\":{\"code\":\"io\",\"errno\":"
		"\"EIO\",\"text\":\"read\"}}\n");
}

Test(out, a_document_is_closed_once)
{
	struct sink sink;
	struct diag diag = { .err = EIO };

	sink_open(&sink, true);
	cr_assert_eq(out_fini(&sink.out, NULL), 0);
	sink_is(&sink, &diag, "{\"schema\":\"rdmastor.test\",\"version\":2}\n");
}

Test(out, json_strings_are_always_valid)
{
	static const struct {
		const char *in, *json;
	} rows[] = {
		{ "\"\\/", "\\\"\\\\/" },
		{ "\n\t\r\b\x01\x1f\x7f", "\\n\\t\\u000d\\u0008\\u0001\\u001f\\u007f" },
		{ "é€😀", "é€😀" },
		{ "\xff", "\\ufffd" },
		{ "a\xc3", "a\\ufffd" },          /* cut off */
		{ "\xc0\xaf", "\\ufffd\\ufffd" }, /* longer than need be */
		{ "\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd" },
		{ "\xf0\x8f\xbf\xbf", "\\ufffd\\ufffd\\ufffd\\ufffd" },
		{ "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd" },            /* surrogate */
		{ "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd" }, /* past U+10FFFF */
		{ "\x80x", "\\ufffdx" },
		{ "\xe2\x82y", "\\ufffd\\ufffdy" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sink sink;
		char expected[256];

		sink_open(&sink, true);
		out_text(&sink.out, "s", NULL, "%s", rows[i].in);
		snprintf(expected, sizeof(expected),
			"{\"schema\":\"rdmastor.test\",\"version\":2,\"s\":\"%s\"}\n",
			rows[i].json);
		sink_is(&sink, NULL, expected);
	}
}

Test(out, text_cannot_drive_the_terminal)
{
	struct sink sink;

	sink_open(&sink, false);
	out_text(&sink.out, "s", "s: ", "%s", "a\x1b[2J\nforged: yes\tb\xc2\x9b\xff é");
	out_line(&sink.out, "%s", "x\ry");
	sink_is(&sink, NULL, "s: a?[2J?forged: yes\tb?? é\nx?y\n");
}

#define RIGHT_TO_LEFT "\xe2\x80\xae"

Test(out, text_is_what_it_looks_like)
{
	static const char *const hidden[] = { "\xc2\xad", "\xd8\x9c", "\xe2\x80\x8b",
		"\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", RIGHT_TO_LEFT, "\xe2\x81\xa6",
		"\xe2\x81\xa9", "\xef\xbb\xbf", "\xf3\xa0\x80\xa0" };
	struct sink sink;

	for (unsigned i = 0; i < sizeof(hidden) / sizeof(*hidden); i++) {
		sink_open(&sink, false);
		out_line(&sink.out, "a%sb", hidden[i]);
		sink_is(&sink, NULL, "a?b\n");
	}
	sink_open(&sink, false);
	out_line(&sink.out, "%s", "é ש ع 日 😀");
	sink_is(&sink, NULL, "é ש ع 日 😀\n");
	sink_open(&sink, true);
	out_text(&sink.out, "s", NULL, "%s", "a" RIGHT_TO_LEFT "\xc2\x9b\xf3\xa0\x80\xa0é日😀");
	sink_is(&sink, NULL,
		"{\"schema\":\"rdmastor.test\",\"version\":2,\"s\":"
		"\"a\\u202e\\u009b\\udb40\\udc20é日😀\"}\n");
}

Test(out, words_of_the_kernel_are_lower_case)
{
	struct sink sink;

	sink_open(&sink, true);
	out_word(&sink.out, "state", "LOGGED_IN");
	out_word(&sink.out, "type", "RoCE v2");
	out_word(&sink.out, "none", "");
	sink_is(&sink, NULL,
		"{\"schema\":\"rdmastor.test\",\"version\":2,\"state\":\"logged_in\",\"type\":"
		"\"roce-v2\"}\n");
}

Test(out, passwords_of_uris_are_in_no_result)
{
	struct sink sink;

	for (int json = 0; json < 2; json++) {
		sink_open(&sink, json);
		out_list(&sink.out, "connections");
		out_object(&sink.out, NULL);
		out_text(&sink.out, "text", "text: ", "%s",
			"no answer from nvme+tcp://joe:hush@h/n?secret=hush");
		out_line(&sink.out, "%s", "iscsi://joe%hush@h/x: DHHC-1:00:aHVzaA==:");
		out_end(&sink.out);
		out_end(&sink.out);
		sink_is(&sink, NULL,
			json ? "{\"schema\":\"rdmastor.test\",\"version\":2,\"connections\":[{"
			       "\"text\":\"no answer from nvme+tcp://joe@h/n?secret=\"}]}\n"
			     : "text: no answer from nvme+tcp://joe@h/n?secret=\niscsi://joe@h/x: "
			       "DHHC-1:00:\n");
	}
}

Test(out, a_full_disk_is_noticed)
{
	struct out out;

	out_init(&out, "test", true);
	out.to = fopen("/dev/full", "w");
	cr_assert_not_null(out.to);
	cr_assert_eq(out_fini(&out, NULL), -ENOSPC);
	fclose(out.to);
}

/* What did not fit into the stream's memory failed long before the end. */
Test(out, why_a_disk_was_full_is_not_forgotten)
{
	struct out out;

	for (int lines = 0; lines < 2; lines++) {
		out_init(&out, "test", !lines);
		out.to = fopen("/dev/full", "w");
		cr_assert_not_null(out.to);
		for (unsigned i = 0; i < 10000; i++)
			lines ? out_line(&out, "line %u", i)
			      : out_text(&out, "text", NULL, "text %u", i);
		errno = 0;
		cr_assert_eq(out_fini(&out, NULL), -ENOSPC);
		fclose(out.to);
	}
}

Test(out, words_for_a_shell)
{
	static const struct {
		const char *text, *word;
	} rows[] = {
		{ "a-Z_0.9/:,=@%+", "a-Z_0.9/:,=@%+" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "it's", "'it'\\''s'" },
		{ "'", "''\\'''" },
		{ "$(x)`y`\\;*[1]~#!&|<>\"\n", "'$(x)`y`\\;*[1]~#!&|<>\"\n'" },
		{ "/tmp/ä", "'/tmp/ä'" },
	};
	char word[OUT_SHELL(32)];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_str_eq(out_shell(rows[i].text, word, sizeof(word)), rows[i].word);
	cr_expect_str_eq(out_shell("''''", word, OUT_SHELL(4)), "''\\'''\\'''\\'''\\'''");
	cr_expect_str_eq(out_shell("a b c d", word, 9), "'a b'", "cut, and still a word");
}

Test(out, human_sizes)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 bytes" },
		{ 1, "1 byte" },
		{ 1023, "1023 bytes" },
		{ 1024, "1 KiB" },
		{ 1536, "1.5 KiB" },
		{ 64 << 20, "64 MiB" },
		{ (1 << 20) - 1, "1 MiB" },
		{ 1610612736, "1.5 GiB" },
		{ 1000204886016, "931.5 GiB" },
		{ UINT64_C(1) << 40, "1 TiB" },
		{ UINT64_MAX, "16 EiB" },
	};
	char text[16];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_str_eq(out_human(rows[i].bytes, text), rows[i].text);
}
