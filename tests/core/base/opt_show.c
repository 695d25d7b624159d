/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The same rows as people, shells and the lint see them. */
#include "applet.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tool {
	struct opt_common common;
	const char *transport, *map;
	struct opt_list path;
	bool ro, run, internal;
	uint32_t depth, wait_ms;
};
#define AT(field) offsetof(struct tool, field)

static const struct opt tool_rows[] = {
	{ "transport", 't', OPT_TEXT, AT(transport), "rdma|tcp", "carrier" },
	{ "path", 0, OPT_LIST, AT(path), "URI", "second way to the same disk" },
	{ "a-very-long-name-for-an-option", 'm', OPT_TEXT, AT(map), "FILE",
		"help text that is long enough that it does not fit into one line next to the "
		"names and therefore continues" },
	{ "depth", 0, OPT_U32, AT(depth), "N", "requests; default 16", 1, 64 },
	{ "wait", 0, OPT_MSEC, AT(wait_ms), "SECONDS", "wait", 500, OPT_MSEC_MAX },
	{ "internal", 0, OPT_FLAG, AT(internal), NULL, NULL },
	{ "ro", 0, OPT_FLAG, AT(ro), NULL, "read only" },
	{ "run", 0, OPT_REST, AT(run), "CMD…", "run a command" },
	{ 0 },
};
static void tool_keys(const char *uri_text, struct uri_key_names *asked)
{
	struct uri uri;

	cr_assert_eq(uri_parse(&uri, uri_text, NULL), 0, "%s", uri_text);
	uri_value(&uri, "ro");
	uri_value_nth(&uri, "path", 0);
	uri_value(&uri, "name");
	uri_value(&uri, "name-file");
	cr_assert_eq(uri_done(&uri, NULL), -EINVAL, "%s", uri_text);
	*asked = uri.known;
}
static const struct applet tool = { .name = "tool",
	.operands = "SRC DST",
	.summary = "a tool for tests",
	.opts = tool_rows,
	.opts_size = sizeof(struct tool),
	.min = 2,
	.max = 2,
	.schemes = SCHEME_DISK,
	.examples = "  rdmastor tool a b\n",
	.keys = tool_keys };
static const struct applet names = { .name = "names",
	.operands = "[FILE] DIR…",
	.summary = "words",
	.opts_size = sizeof(struct opt_common),
	.max = 255 };
const struct applet *const applets[] = { &tool, &names, NULL };

static char *text;
static size_t text_len;

static FILE *sink(void)
{
	return open_memstream(&text, &text_len);
}

static void sink_is(FILE *to, const char *expected)
{
	fclose(to);
	cr_assert_str_eq(text, expected);
	free(text);
}

Test(opt_show, help)
{
	static const char own[] =
		"Usage: rdmastor tool [OPTION...] SRC DST\n"
		"a tool for tests\n"
		"\n"
		"  -t, --transport rdma|tcp  carrier\n"
		"      --path URI            second way to the same disk\n"
		"  -m, --a-very-long-name-for-an-option FILE\n"
		"                            help text that is long enough that it does not fit\n"
		"                            into one line next to the names and therefore\n"
		"                            continues\n"
		"      --depth N             requests, 1 to 64 (default 16)\n"
		"      --wait SECONDS        wait\n"
		"      --ro                  read only\n"
		"      --run CMD…            run a command\n";
	static const char *const shared[] = {
		"\n  -o, --output text|json    ",
		"\n      --json                ",
		"\n  -v, --verbose             ",
		"\n  -q, --quiet               ",
		"\n      --timeout SECONDS     ",
		"\n  -h, --help                ",
	};
	const char *at;
	FILE *to = sink();

	opt_help(&tool, to);
	fclose(to);
	cr_assert_eq(strncmp(text, own, strlen(own)), 0, "%s", text);
	at = text + strlen(own) - 1;
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
		at = strstr(at, shared[i]);
		cr_assert(at, "%s is not in:%s", shared[i], text);
		at += strlen(shared[i]);
		cr_assert(*at > ' ', "no help:%s", text);
	}
	at = strstr(at, "\n\nExamples:\n");
	cr_assert_str_eq(at, "\n\nExamples:\n  rdmastor tool a b\n"
			     "\nHelp on URIs: rdmastor help uri\n");
	free(text);
}

Test(opt_show, rows)
{
	FILE *to = sink();

	opt_rows(&tool, to);
	fclose(to);
	cr_assert(strstr(text, "--transport\t-t\trdma|tcp\t\n"));
	cr_assert(strstr(text, "--depth\t\tN\t1 64\n"));
	cr_assert_null(strstr(text, "internal"));
	cr_assert(strstr(text, "--wait\t\tSECONDS\t500 4294967000 ms\n"));
	free(text);
	to = sink();
	opt_rows(&names, to);
	sink_is(to, "--output\t-o\ttext|json\t\n--json\t\t\t\n--verbose\t-v\t\t\n--quiet\t-q\t\t\n-"
		    "-timeout\t\tSECONDS\t0 4294967000 ms\n--help\t-h\t\t\n");
}

/* An expected line that ends in a tab is a word with any help. */
static void completes(const char *const *word, const char *expected)
{
	const char *got;
	char *words[8];
	int n = 0;
	FILE *to = sink();

	for (; word[n]; n++)
		words[n] = (char *)word[n];
	opt_complete(n, words, to);
	fclose(to);
	got = text;
	for (size_t len; *expected; expected += len + 1) {
		len = strcspn(expected, "\n");
		cr_assert_eq(strncmp(got, expected, len), 0, "%s, not %s", got, expected);
		cr_assert_eq(
			got[len] != '\n', expected[len - 1] == '\t', "%s, not %s", got, expected);
		got += strcspn(got, "\n") + 1;
	}
	cr_assert_str_eq(got, "");
	free(text);
}
#define COMPLETES(expected, ...) completes((const char *const[]){ __VA_ARGS__, NULL }, expected)
#define URIS                                                                                       \
	"nvme+rdma://\t\nnvme+tcp://\t\nnbd://\t\nnbd+unix://\t\nnbds://\t\nnbds+unix://"         \
	"\t\niser://\t\niscsi://\t\nsrp://\t\nsrp+cm://\t\nfile:\t\nram:\t\nnull:\t\n:file\n"

Test(opt_show, completes_applets)
{
	COMPLETES("tool\ta tool for tests\nnames\twords\nhelp\tshow the help of an applet, or on "
		  "URIs\n",
		"");
	COMPLETES("tool\ta tool for tests\n", "to");
	COMPLETES("--list\t\n", "--l");
	COMPLETES(":dir\n", "--install", "/x");
	COMPLETES("names\twords\n", "help", "n");
	COMPLETES("", "bogus", "");
}

Test(opt_show, completes_options)
{
	COMPLETES("--transport\tcarrier\n--timeout\t\n", "tool", "--t");
	COMPLETES("--ro\tread only\n", "tool", "x", "--ro");
	COMPLETES("", "tool", "--nothing");
	COMPLETES("", "tool", "--int");
}

Test(opt_show, completes_values)
{
	COMPLETES("rdma\tcarrier\ntcp\tcarrier\n", "tool", "--transport", "");
	COMPLETES("tcp\tcarrier\n", "tool", "-t", "t");
	COMPLETES("--transport=tcp\tcarrier\n", "tool", "--transport=t");
	COMPLETES(":file\n", "tool", "--a-very-long-name-for-an-option", "");
	COMPLETES(":file\n", "tool", "-m", "/et");
	COMPLETES(":file\n", "tool", "--a_very_long_name_for_an_option=/et");
	COMPLETES(URIS, "tool", "--path", "");
	COMPLETES("", "tool", "--timeout", "");
	COMPLETES("", "tool", "--ro=");
}

Test(opt_show, completes_operands)
{
	COMPLETES(URIS, "tool", "");
	COMPLETES("nvme+tcp://\t\n:file\n", "tool", "x", "nvme+t");
	COMPLETES("", "tool", "x", "y", "");
	COMPLETES(":file\n", "names", "");
	COMPLETES(":dir\n", "names", "x", "");
	COMPLETES(URIS, "tool", "--transport", "tcp", "-v", "");
	COMPLETES("", "tool", "x", "--run", "");
	COMPLETES("", "tool", "--", "");
}

Test(opt_show, completes_keys_of_uris)
{
	COMPLETES("nbd://h/?ro=\t\nnbd://h/?path=\t\nnbd://h/?name=\t\nnbd://h/?name-file=\t\n",
		"tool", "nbd://h/?");
	COMPLETES("nbd://h/?name=\t\nnbd://h/?name-file=\t\n", "tool", "x", "nbd://h/?name");
	COMPLETES("nbd://h/?name-file=\t\n", "tool", "--path", "nbd://h/?name-");
	COMPLETES("nbd://h/?name=a&ro=\t\n", "tool", "nbd://h/?name=a&r");
	COMPLETES("", "tool", "nbd://h/?ro=1&r");
	COMPLETES("nbd://h/?path=a&path=b&path=\t\n", "tool", "nbd://h/?path=a&path=b&p");
	COMPLETES("", "tool", "nbd://h/?name=");
	COMPLETES("", "tool", "nbd://h/?unknown");
	COMPLETES(":file\n", "tool", "disk?ro");
}
