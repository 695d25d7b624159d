/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Words to option structs, every way of typing them and every way of getting them wrong. */
#include "applet.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

struct tool {
	struct opt_common common;
	const char *transport, *name;
	struct opt_list path;
	uint32_t depth, wait_ms;
	uint64_t size;
	bool ro, run;
	struct opt_maybe device;
};
#define AT(field) offsetof(struct tool, field)

static const struct opt tool_rows[] = {
	{ "transport", 't', OPT_TEXT, AT(transport), "rdma|tcp", "carrier" },
	{ "name", 'n', OPT_TEXT, AT(name), "NAME", "name" },
	{ "path", 0, OPT_LIST, AT(path), "URI", "second way" },
	{ "queue-depth", 'Q', OPT_U32, AT(depth), "NUMBER", "requests in flight", 1, 1024 },
	{ "wait", 0, OPT_MSEC, AT(wait_ms), "SECONDS", "wait", 1, 600000 },
	{ "size", 's', OPT_SIZE, AT(size), "SIZE", "size", 512, 2 << 20 },
	{ "length", 0, OPT_SIZE, AT(size), "SIZE", "length", 1, OPT_SIZE_MAX },
	{ "ro", 'r', OPT_FLAG, AT(ro), NULL, "read only" },
	{ "run", 0, OPT_REST, AT(run), "CMD", "run a command" },
	{ "device", 'd', OPT_MAYBE, AT(device), "[N]", "a device", 0, 70 },
	{ "watch", 0, OPT_MAYBE, AT(device), "[N]", "repeat", 1, 9 },
	{ 0 },
};
static const struct opt_foreign tool_foreign[] = {
	{ "othertool", "-k|--naming", "use --name NAME" },
	{ "othertool", "--transports", "use --transport" },
	{ 0 },
};
static const struct tool tool_defaults = { .common.timeout_ms = 30000, .depth = 32 };
static const struct applet tool = {
	.name = "tool",
	.operands = "SRC [DST]",
	.summary = "a tool",
	.opts = tool_rows,
	.defaults = &tool_defaults,
	.opts_size = sizeof(struct tool),
	.min = 1,
	.max = 2,
	.foreign = tool_foreign,
};

static const struct opt plain_rows[] = {
	{ "output", 'o', OPT_TEXT, offsetof(struct opt_common, output), "text|json|json+|normal",
		"form" },
	{ "once", 0, OPT_FLAG, offsetof(struct opt_common, dry_run), NULL, "once" },
	{ 0 },
};
static const struct applet plain = { .name = "plain",
	.summary = "no operands",
	.opts = plain_rows,
	.opts_size = sizeof(struct opt_common),
	.has_dry_run = true,
	.own_letters = "v",
	.alias = "simple",
	.replaces = "oldplain" };
const struct applet *const applets[] = { &tool, &plain, NULL };

struct run {
	struct tool opts;
	struct call call;
	struct diag diag;
	char *word[48];
	bool help;
	int rc;
};

static void parse_words(struct run *run, const struct applet *applet, const char *const *word)
{
	int words = 1;

	memset(run, 0, sizeof(*run));
	run->opts = tool_defaults;
	run->call.applet = applet;
	run->call.diag = &run->diag;
	run->word[0] = (char *)"tool";
	for (; *word; word++)
		run->word[words++] = (char *)*word;
	run->rc = opt_parse(&run->call, words, run->word, &run->opts, &run->help);
}
#define PARSE(run, ...) parse_words(run, &tool, (const char *const[]){ __VA_ARGS__, NULL })

/* An applet may have no limit unless one is given, which is not the same as --timeout 0. */
Test(opt, never_is_not_unset)
{
	struct run run;

	PARSE(&run, "a");
	cr_assert(!run.opts.common.no_timeout && run.opts.common.timeout_ms == 30000);
	PARSE(&run, "a", "--timeout", "0");
	cr_assert(run.opts.common.no_timeout && run.opts.common.timeout_ms == 0);
	PARSE(&run, "a", "--timeout", "0", "--timeout", "7");
	cr_assert(!run.opts.common.no_timeout && run.opts.common.timeout_ms == 7000);
	parse_words(&run, &plain, (const char *const[]){ NULL });
	run.opts = (struct tool){ 0 };
	opt_parse(&run.call, 1, run.word, &run.opts, &run.help);
	cr_assert(!run.opts.common.no_timeout && run.opts.common.timeout_ms == 0);
}

Test(opt, defaults_stay)
{
	struct run run;

	PARSE(&run, "a");
	cr_assert_eq(run.rc, 0);
	cr_assert_eq(run.opts.depth, 32);
	cr_assert_eq(run.opts.common.timeout_ms, 30000);
	cr_assert_str_eq(run.opts.common.output, "text");
	cr_assert_null(run.opts.name);
	cr_assert_eq(run.call.operands, 1);
	cr_assert_eq(run.call.rest, 1);
	cr_assert_eq(run.call.opts, &run.opts);
}

Test(opt, every_type_in_every_form)
{
	struct run run;

	PARSE(&run, "--transport=tcp", "a", "--queue_depth", "64", "-nx", "-s", "4K", "-rv",
		"--wait", "0.5", "--path=u1", "b", "--path", "u2", "--timeout", "500ms");
	cr_assert_eq(run.rc, 0, "%s", run.diag.text);
	cr_assert_str_eq(run.opts.transport, "tcp");
	cr_assert_eq(run.opts.depth, 64);
	cr_assert_str_eq(run.opts.name, "x");
	cr_assert_eq(run.opts.size, 4096);
	cr_assert(run.opts.ro);
	cr_assert(run.opts.common.verbose);
	cr_assert_not(run.opts.common.quiet);
	cr_assert_eq(run.opts.wait_ms, 500);
	cr_assert_eq(run.opts.common.timeout_ms, 500);
	cr_assert_eq(run.opts.path.count, 2);
	cr_assert_str_eq(run.opts.path.item[0], "u1");
	cr_assert_str_eq(run.opts.path.item[1], "u2");
	cr_assert_eq(run.call.operands, 2);
	cr_assert_str_eq(run.call.operand[0], "a");
	cr_assert_str_eq(run.call.operand[1], "b");
}

Test(opt, bundle_ends_with_a_letter_that_takes_an_argument)
{
	struct run run;

	PARSE(&run, "-rqs1M", "a");
	cr_assert_eq(run.rc, 0);
	cr_assert(run.opts.ro && run.opts.common.quiet);
	cr_assert_eq(run.opts.size, 1 << 20);
	PARSE(&run, "-rs", "2M", "a");
	cr_assert_eq(run.opts.size, 2 << 20);
}

Test(opt, two_hyphens_end_the_options)
{
	struct run run;

	PARSE(&run, "--", "--ro", "-");
	cr_assert_eq(run.rc, 0);
	cr_assert_not(run.opts.ro);
	cr_assert_str_eq(run.call.operand[0], "--ro");
	cr_assert_str_eq(run.call.operand[1], "-");
}

Test(opt, an_argument_may_begin_with_a_hyphen_or_be_empty)
{
	struct run run;

	PARSE(&run, "--name", "--ro", "a");
	cr_assert_str_eq(run.opts.name, "--ro");
	PARSE(&run, "--name=", "a");
	cr_assert_str_eq(run.opts.name, "");
	PARSE(&run, "--name=a=b", "a");
	cr_assert_str_eq(run.opts.name, "a=b");
}

Test(opt, words_after_run_are_the_commands)
{
	struct run run;

	PARSE(&run, "a", "--ro", "--run", "sh", "-c", "--bogus", "--");
	cr_assert_eq(run.rc, 0, "%s", run.diag.text);
	cr_assert(run.opts.run && run.opts.ro);
	cr_assert_eq(run.call.rest, 1);
	cr_assert_eq(run.call.operands, 5);
	cr_assert_str_eq(run.call.operand[1], "sh");
	cr_assert_str_eq(run.call.operand[3], "--bogus");
	cr_assert_str_eq(run.call.operand[4], "--");
}

Test(opt, json_by_any_name)
{
	struct run run;

	PARSE(&run, "a", "--json");
	cr_assert(run.opts.common.json);
	cr_assert_str_eq(run.opts.common.output, "json");
	PARSE(&run, "a", "-ojson");
	cr_assert(run.opts.common.json);
	parse_words(&run, &plain, (const char *const[]){ "--output", "json+", NULL });
	cr_assert_eq(run.rc, 0, "%s", run.diag.text);
	cr_assert(run.opts.common.json);
	cr_assert_str_eq(run.opts.common.output, "json+");
	PARSE(&run, "a", "--output", "text");
	cr_assert_not(run.opts.common.json);
}

Test(opt, json_counts_even_after_an_error)
{
	struct run run;

	PARSE(&run, "--bogus", "--also-bogus", "--json");
	cr_assert_eq(run.rc, -EINVAL);
	cr_assert(run.opts.common.json);
	diag_says(&run.diag, DIAG_USAGE, NULL, "'--bogus'"); /* the first error */
}

Test(opt, every_error_quotes_what_was_typed)
{
	static const struct {
		const char *word[5];
		const char *words, *hint;
	} rows[] = {
		{ { "a", "--bogus" }, "option '--bogus'", "" },
		{ { "a", "-k", "x" }, "option '-k'", "othertool -k --name" },
		{ { "a", "--naming=x" }, "option '--naming'", "othertool --naming: --name" },
		{ { "a", "-rk" }, "option '-k'", "othertool --name" },
		{ { "a", "--transports=rdma" }, "option '--transports'", "othertool --transport" },
		{ { "a", "--timeuot", "3" }, "option '--timeuot'", "--timeout" },
		{ { "a", "--time=3" }, "option '--time'", "--timeout" },
		{ { "a", "-z" }, "option '-z'", "" },
		{ { "a", "-rz" }, "option '-z' '-rz'", "" },
		{ { "a", "-timeout" }, "-t 'imeout' rdma tcp", "" },
		{ { "a", "-wait" }, "option '-w' '-wait'", "--wait" },
		{ { "a", "--timeout" }, "--timeout SECONDS", "" },
		{ { "a", "-s" }, "-s SIZE", "" },
		{ { "a", "--ro=yes" }, "--ro 'yes'", "" },
		{ { "a", "--queue_depth=10x" }, "--queue_depth '10x'", "" },
		{ { "a", "-Q", "0" }, "-Q 1_to_1024", "" },
		{ { "a", "-Q", "-1" }, "-Q '-1'", "" },
		{ { "a", "--queue-depth", "1025" }, "--queue-depth 1_to_1024", "" },
		{ { "a", "-Q", "4294967297" }, "-Q 1_to_1024", "" },
		{ { "a", "-Q", "18446744073709551617" }, "-Q 1_to_1024", "" },
		{ { "a", "-s511" }, "-s 512_to_2M", "" },
		{ { "a", "--size", "3M" }, "--size 512_to_2M", "" },
		{ { "a", "--size", "99999999T" }, "--size 512_to_2M", "" },
		{ { "a", "--size=10x" }, "--size '10x'", "1024" },
		{ { "a", "--size=-1" }, "--size '-1'", "" },
		{ { "a", "--wait=-1" }, "--wait '-1'", "" },
		{ { "a", "--wait=0" }, "--wait 0.001_to_600", "" },
		{ { "a", "--wait=600001ms" }, "--wait 0.001_to_600", "" },
		{ { "a", "--wait=9999999999" }, "--wait 0.001_to_600", "" },
		{ { "a", "--timeout=4294968" }, "--timeout 4294967_s", "" },
		{ { "a", "--length=0" }, "--length 0", "" },
		{ { "a", "--length=8E" }, "--length 9223372036854775807", "" },
		{ { "a", "--length=99999999T" }, "--length 9223372036854775807", "" },
		{ { "a", "--device=71" }, "--device 0_to_70", "" },
		{ { "a", "--device=99999999999999999999999" }, "--device 0_to_70", "" },
		{ { "a", "--device=-1" }, "--device '-1'", "" },
		{ { "a", "--watch=0" }, "--watch 1_to_9", "" },
		{ { "a", "--size=1Z" }, "--size '1Z'", "1024" },
		{ { "a", "--wait=soon" }, "--wait 'soon'", "" },
		{ { "a", "--transport=fc" }, "--transport 'fc' rdma tcp", "" },
		{ { "a", "--output", "xml" }, "--output 'xml' text json", "" },
		{ { "a", "--dry-run" }, "option '--dry-run'", "" },
		{ { "--ro" }, "SRC", "" },
		{ { "a", "b", "c" }, "operand 'c'", "" },
		{ { "a", "--run" }, "command", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run run;

		parse_words(&run, &tool, rows[i].word);
		cr_assert_lt(run.rc, 0, "%s", rows[i].words);
		diag_says(&run.diag, DIAG_USAGE, NULL, rows[i].words);
		text_says(run.diag.hint, rows[i].hint);
		cr_assert_eq(!*run.diag.hint, !*rows[i].hint, "%s", run.diag.hint);
	}
}

Test(opt, what_follows_another_tools_letter_is_not_repeated)
{
	const char *word[5] = { "a", "-rksecret" };
	struct run run;

	parse_words(&run, &tool, word);
	diag_says(&run.diag, DIAG_USAGE, NULL, "option '-k'");
	cr_assert(!strstr(run.diag.text, "secret") && !strstr(run.diag.hint, "secret"));
}

Test(opt, a_list_has_an_end)
{
	const char *word[OPT_LIST_MAX + 3] = { "a" };
	struct run run;

	for (unsigned i = 1; i <= OPT_LIST_MAX + 1; i++)
		word[i] = "--path=x";
	parse_words(&run, &tool, word);
	cr_assert_eq(run.rc, -E2BIG);
	diag_says(&run.diag, DIAG_USAGE, NULL, "--path 32");
	cr_assert_eq(run.opts.path.count, OPT_LIST_MAX);
}

Test(opt, help_is_seen_among_errors)
{
	struct run run;

	PARSE(&run, "--bogus", "-h");
	cr_assert(run.help);
}

Test(opt, an_applet_may_replace_common_rows_and_letters)
{
	struct run run;

	parse_words(&run, &plain, (const char *const[]){ "-o", "normal", "--dry-run", NULL });
	cr_assert_eq(run.rc, 0, "%s", run.diag.text);
	cr_assert_str_eq(run.opts.common.output, "normal");
	cr_assert(run.opts.common.dry_run);
	parse_words(&run, &plain, (const char *const[]){ "-v", NULL });
	diag_says(&run.diag, DIAG_USAGE, NULL, "option '-v'");
	parse_words(&run, &plain, (const char *const[]){ "x", NULL });
	diag_says(&run.diag, DIAG_USAGE, NULL, "operand 'x'");
}

Test(opt, applets_are_found_and_guessed)
{
	cr_assert_eq(applet_find("tool"), &tool);
	cr_assert_null(applet_find("too"));
	cr_assert_eq(applet_find("oldplain"), &plain, "by the name of the tool it replaces");
	cr_assert_eq(applet_find("simple"), &plain, "by its alias");
	cr_assert_str_eq(applet_suggest("simpel"), "simple");
	cr_assert_str_eq(applet_suggest("tol"), "tool");
	cr_assert_null(applet_suggest("zebra"));
}

static void device_is(const struct run *run, bool given, uint32_t number, unsigned operands)
{
	cr_assert_eq(run->rc, 0, "%s", run->diag.text);
	cr_assert(run->opts.device.on);
	cr_assert_eq(run->opts.device.has_number, given);
	cr_assert_eq(run->opts.device.number, number);
	cr_assert_eq(run->call.operands, operands);
}

Test(opt, a_number_may_follow)
{
	struct run run;

	PARSE(&run, "a");
	cr_assert_not(run.opts.device.on);
	PARSE(&run, "a", "--device");
	device_is(&run, false, 0, 1);
	PARSE(&run, "--device", "a");
	device_is(&run, false, 0, 1);
	PARSE(&run, "--device", "7", "a");
	device_is(&run, true, 7, 1);
	PARSE(&run, "--device", "7a", "a");
	cr_assert_lt(run.rc, 0);
	diag_says(&run.diag, DIAG_USAGE, NULL, "--device '7a'");
	PARSE(&run, "--device", "./7a");
	device_is(&run, false, 0, 1);
	PARSE(&run, "--device=7", "8");
	device_is(&run, true, 7, 1);
	PARSE(&run, "-rd", "3", "a");
	device_is(&run, true, 3, 1);
	PARSE(&run, "-d3", "a");
	device_is(&run, true, 3, 1);
	PARSE(&run, "-dr", "a");
	device_is(&run, false, 0, 1);
	cr_assert(run.opts.ro);
	PARSE(&run, "--device=x", "a");
	cr_assert_eq(run.rc, -EINVAL);
	diag_says(&run.diag, DIAG_USAGE, NULL, "--device 'x'");
}
