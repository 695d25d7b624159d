/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Arguments of other tools are parsed as glibc parses them: fixed command lines, and random ones
 * compared with getopt_long() itself. */
#include "applet.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS 8

const struct applet *const applets[] = { NULL };

static const struct opt rows[] = {
	{ "named", 'd', OPT_FLAG, 0, NULL, "" },
	{ "name", 'n', OPT_TEXT, 0, "NAME", "" },
	{ "hidden", 0, OPT_TEXT, 0, "X", "" },
	{ "fw-connect", 'b', OPT_FLAG, 0, NULL, "" },
	{ "fw-network", 'N', OPT_FLAG, 0, NULL, "" },
	{ "param", 'P', OPT_LIST, 0, "NAME=VALUE", "" },
	{ "port", 'p', OPT_U32, 0, "N", "", 1, 65535 },
	{ 0 },
};

/* The same for getopt_long(), with --help. */
static const char letters[] = "dn:bNP:p:h";
static const struct option glibc_rows[] = {
	{ "named", no_argument, NULL, 'd' },
	{ "name", required_argument, NULL, 'n' },
	{ "fw_connect", no_argument, NULL, 'b' },
	{ "fw_network", no_argument, NULL, 'N' },
	{ "param", required_argument, NULL, 'P' },
	{ "port", required_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int reader;

static void init(void)
{
	int fd[2];

	cr_assert_eq(pipe(fd), 0);
	cr_assert_eq(dup2(fd[1], STDERR_FILENO), STDERR_FILENO);
	close(fd[1]);
	reader = fd[0];
	fcntl(reader, F_SETFL, O_NONBLOCK);
}
TestSuite(opt_getopt, .init = init);

/* What was parsed, "n=disk b ? ", and the messages. */
struct trace {
	char options[256], messages[2048];
};

static void add(struct trace *trace, int letter, const char *value)
{
	size_t at = strlen(trace->options);

	snprintf(trace->options + at, sizeof(trace->options) - at, "%c%s%s ", letter,
		value ? "=" : "", value ? value : "");
}

static void read_messages(struct trace *trace)
{
	ssize_t len = read(reader, trace->messages, sizeof(trace->messages) - 1);

	trace->messages[len > 0 ? len : 0] = 0;
}

/* Put the words behind the tool's name. */
static int make_argv(char *argv[WORDS + 2], const char *const *word)
{
	int argc = 1;

	argv[0] = (char *)"tool";
	for (; *word && argc <= WORDS; word++)
		argv[argc++] = (char *)*word;
	argv[argc] = NULL;
	return argc;
}

static struct trace parse(const char *const *word, bool quiet)
{
	char *argv[WORDS + 2];
	struct opt_getopt scan = {
		.rows = rows, .argc = make_argv(argv, word), .argv = argv, .quiet = quiet
	};
	struct trace trace = { 0 };
	int letter;

	while ((letter = opt_getopt(&scan))) {
		if (letter != '?')
			cr_assert_eq(scan.row->letter, letter);
		add(&trace, letter, letter == '?' ? NULL : scan.value);
	}
	read_messages(&trace);
	return trace;
}

static struct trace parse_by_glibc(const char *const *word)
{
	char *argv[WORDS + 2];
	struct trace trace = { 0 };
	int letter, argc = make_argv(argv, word);

	optind = 0;
	while ((letter = getopt_long(argc, argv, letters, glibc_rows, NULL)) != -1)
		add(&trace, letter, letter == '?' ? NULL : optarg);
	read_messages(&trace);
	return trace;
}

#define PARSES(options_, messages_, ...)                                                           \
	do {                                                                                       \
		struct trace trace_ = parse((const char *const[]){ __VA_ARGS__, NULL }, false);    \
		cr_assert_str_eq(trace_.options, options_);                                        \
		cr_assert_str_eq(trace_.messages, messages_);                                      \
	} while (0)

Test(opt_getopt, short_options_alone_and_in_clusters)
{
	PARSES("b ", "", "-b");
	PARSES("b d N ", "", "-bdN");
	PARSES("b N d ", "", "-bN", "-d");
	PARSES("h ", "", "-h");
}

Test(opt_getopt, a_value_is_the_rest_of_the_word_or_the_next_word)
{
	PARSES("n=disk ", "", "-ndisk");
	PARSES("n=disk ", "", "-n", "disk");
	PARSES("b n=dN b ", "", "-bndN", "-b");
	PARSES("b n=disk d ", "", "-bn", "disk", "-d");
	PARSES("n==x ", "", "-n=x");
	PARSES("n=disk ", "", "--name=disk");
	PARSES("n=disk b ", "", "--name", "disk", "-b");
	PARSES("P=a=b ", "", "--param=a=b");
}

Test(opt_getopt, a_value_may_begin_with_a_hyphen_or_be_empty)
{
	PARSES("n=-b d ", "", "-n", "-b", "-d");
	PARSES("n=--named d ", "", "--name", "--named", "-d");
	PARSES("n=-- b ", "", "-n", "--", "-b");
	PARSES("n=- ", "", "-n", "-");
	PARSES("n=-1 ", "", "-n-1");
	PARSES("n= b ", "", "-n", "", "-b");
	PARSES("n= b ", "", "--name=", "-b");
	PARSES("n= b ", "", "--name", "", "-b");
}

Test(opt_getopt, values_of_numbers_are_not_checked)
{
	PARSES("p=x p=99999 ", "", "-p", "x", "--port=99999");
}

Test(opt_getopt, an_option_may_be_repeated)
{
	PARSES("P=a P=b P=c b b ", "", "-P", "a", "--param", "b", "-Pc", "-bb");
}

Test(opt_getopt, operands_are_skipped)
{
	PARSES("", "", "a", "-", "");
	PARSES("b n=x ", "", "one", "-b", "-", "two", "-n", "x", "three");
}

Test(opt_getopt, two_hyphens_end_the_options)
{
	PARSES("b ", "", "-b", "--", "-d", "--bogus");
	PARSES("", "", "operand", "--", "-d");
}

Test(opt_getopt, no_words_are_no_options)
{
	char *name = (char *)"tool";
	struct opt_getopt scan = { .rows = rows, .argc = 1, .argv = &name };

	cr_assert_eq(opt_getopt(&scan), 0);
	scan = (struct opt_getopt){ .rows = rows };
	cr_assert_eq(opt_getopt(&scan), 0);
}

Test(opt_getopt, names_may_be_abbreviated)
{
	PARSES("P=x h ", "", "--pa", "x", "--hel");
	PARSES("n=x ", "", "--name=x"); /* exact, and an abbreviation of --named */
	PARSES("d ", "", "--named");
	PARSES("b N ", "", "--fw_c", "--fw_network");
	PARSES("b N ", "", "--fw-c", "--fw-network");
}

Test(opt_getopt, ambiguous_names_are_listed_with_underscores)
{
	PARSES("? b ", "tool: option '--nam' is ambiguous; possibilities: '--named' '--name'\n",
		"--nam", "-b");
	PARSES("? ",
		"tool: option '--fw=x' is ambiguous; possibilities: '--fw_connect' "
		"'--fw_network'\n",
		"--fw=x");
	PARSES("? ",
		"tool: option '--=x' is ambiguous; possibilities: '--named' '--name' "
		"'--fw_connect' '--fw_network' '--param' '--port' '--help'\n",
		"--=x");
}

Test(opt_getopt, unknown_options_are_reported_and_passed_over)
{
	PARSES("b ? d ", "tool: invalid option -- 'x'\n", "-bxd");
	PARSES("? ? ", "tool: invalid option -- '?'\ntool: invalid option -- '='\n", "-?=");
	PARSES("? b ", "tool: unrecognized option '--bogus=1'\n", "--bogus=1", "-b");
	PARSES("? ", "tool: unrecognized option '--names'\n", "--names");
	PARSES("? ", "tool: unrecognized option '--Name'\n", "--Name");
	PARSES("b ? ", "tool: invalid option -- '-'\n", "-b-");
}

Test(opt_getopt, an_option_without_a_letter_does_not_exist)
{
	PARSES("? ", "tool: unrecognized option '--hidden'\n", "--hidden");
}

Test(opt_getopt, a_missing_value_is_reported)
{
	PARSES("b ? ", "tool: option requires an argument -- 'n'\n", "-bn");
	PARSES("? ", "tool: option '--name' requires an argument\n", "--name");
	PARSES("? ", "tool: option '--param' requires an argument\n", "--pa");
}

Test(opt_getopt, a_flag_takes_no_value)
{
	PARSES("? b ", "tool: option '--fw_connect' doesn't allow an argument\n",
		"--fw-connect=yes", "-b");
	PARSES("? ", "tool: option '--named' doesn't allow an argument\n", "--named=");
}

Test(opt_getopt, quiet_finds_the_same_without_messages)
{
	static const char *const words[][WORDS + 1] = {
		{ "-bxd" },
		{ "--nam", "-b" },
		{ "--bogus", "-n", "x" },
		{ "--named=1", "-d" },
		{ "-b", "-n" },
		{ "--name" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct trace loud = parse(words[i], false), quiet = parse(words[i], true);

		cr_assert_str_eq(quiet.options, loud.options, "%s", words[i][0]);
		cr_assert_neq(*loud.messages, 0, "%s", words[i][0]);
		cr_assert_str_eq(quiet.messages, "", "%s", words[i][0]);
	}
}

/* Unlike glibc we take '-' for '_' in a name, as the options of other applets have it. */
static bool has_hyphen(const char *word)
{
	return !strncmp(word, "--", 2) && strchr(word + 2, '-');
}

Test(opt_getopt, random_words_are_parsed_as_by_glibc)
{
	static const char *const parts[] = { "-", "--", "-b", "-d", "-n", "-p", "-h", "-x", "b",
		"d", "n", "N", "P", "=", "x", "--name", "--named", "--nam", "--p", "--pa", "--po",
		"--fw", "--fw_c", "--fw_network", "--hel", "--hidden", "--bogus", "", "disk" };
	unsigned seed = 1;

	unsetenv("POSIXLY_CORRECT");
	for (unsigned round = 0; round < 20000; round++) {
		const char *word[WORDS + 1] = { 0 };
		char text[WORDS][64], line[WORDS * 64] = "";
		struct trace ours, theirs;
		unsigned words = (unsigned)rand_r(&seed) % (WORDS - 2);

		for (unsigned i = 0; i < words; i++) {
			unsigned joined = (unsigned)rand_r(&seed) % 4;

			text[i][0] = 0;
			for (unsigned k = 0; k <= joined / 2; k++)
				strcat(text[i], parts[(unsigned)rand_r(&seed) %
							(sizeof(parts) / sizeof(parts[0]))]);
			if (has_hyphen(text[i]))
				strcpy(text[i], "-b");
			strcat(strcat(line, " "), text[i]);
			word[i] = text[i];
		}
		ours = parse(word, false);
		theirs = parse_by_glibc(word);
		cr_assert_str_eq(ours.options, theirs.options, "%s", line);
		cr_assert_str_eq(ours.messages, theirs.messages, "%s", line);
	}
}
