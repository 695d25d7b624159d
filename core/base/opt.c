/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse arguments into an applet's option struct by the table of its options. GNU's syntax, but no
 * abbreviations: a script that uses one breaks when an option is added. opt_show.c prints the same
 * table. */
#include "opt.h"
#include "uri.h"
#include "word.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct opt_common, field)

static const struct opt common_rows[] = {
	{ "output", 'o', OPT_TEXT, AT(output), "text|json", "output format; default text" },
	{ "json", 0, OPT_FLAG, AT(json), NULL, "same as --output json" },
	{ "verbose", 'v', OPT_FLAG, AT(verbose), NULL, "report each step on stderr" },
	{ "quiet", 'q', OPT_FLAG, AT(quiet), NULL, "print no messages except errors" },
	{ "timeout", 0, OPT_MSEC, AT(timeout_ms), "SECONDS", "time limit; 0: none", 0,
		OPT_MSEC_MAX },
	{ "dry-run", 0, OPT_FLAG, AT(dry_run), NULL,
		"check everything, print what would be done, change nothing" },
	{ "help", 'h', OPT_HELP, 0, NULL, "print this help" },
};
enum { COMMON_ROWS = sizeof(common_rows) / sizeof(common_rows[0]) };

static const struct opt no_rows[] = { { 0 } };

static const struct opt *own_rows(const struct applet *applet)
{
	return applet && applet->opts ? applet->opts : no_rows;
}

static bool replaced(const struct applet *applet, const struct opt *common)
{
	for (const struct opt *own = own_rows(applet); own->name; own++)
		if (!strcmp(own->name, common->name))
			return true;
	return applet && !applet->has_dry_run && common->at == AT(dry_run);
}

static bool letter_used(const struct applet *applet, char letter)
{
	for (const struct opt *own = own_rows(applet); own->name; own++)
		if (own->letter == letter)
			return true;
	return applet && applet->own_letters && strchr(applet->own_letters, letter);
}

bool opt_row(const struct applet *applet, unsigned index, struct opt *row)
{
	const struct opt *own = own_rows(applet);

	for (; own->name; own++)
		if (!index--) {
			*row = *own;
			return true;
		}
	for (unsigned i = 0; i < COMMON_ROWS; i++)
		if (!replaced(applet, &common_rows[i]) && !index--) {
			*row = common_rows[i];
			if (row->letter && letter_used(applet, row->letter))
				row->letter = 0;
			return true;
		}
	return false;
}

bool opt_row_find(const struct applet *applet, const char *name, struct opt *row)
{
	for (unsigned i = 0; opt_row(applet, i, row); i++)
		if (word_same(name, row->name))
			return true;
	return false;
}

static bool find_letter(const struct applet *applet, char letter, struct opt *row)
{
	for (unsigned i = 0; opt_row(applet, i, row); i++)
		if (row->letter == letter)
			return true;
	return false;
}

bool opt_takes_arg(const struct opt *row)
{
	return row->type != OPT_FLAG && row->type != OPT_PART && row->type != OPT_REST &&
	       row->type != OPT_HELP && row->type != OPT_MAYBE;
}

bool opt_is_number(const struct opt *row)
{
	return row->type == OPT_U32 || row->type == OPT_SIZE || row->type == OPT_MSEC ||
	       row->type == OPT_MAYBE;
}

bool opt_has_range(const struct opt *row)
{
	return row->max && row->max != OPT_U32_MAX && row->max != OPT_SIZE_MAX &&
	       row->max != OPT_MSEC_MAX;
}

static const char *unit_of(const struct opt *row)
{
	return row->type == OPT_MSEC ? " seconds" : "";
}

static void show_number(const struct opt *row, uint64_t value, char text[24])
{
	static const char units[] = "KMGTPE";
	unsigned unit = 0;

	if (row->type == OPT_MSEC) {
		snprintf(text, 24, "%.10g", (double)value / 1000);
		return;
	}
	for (; row->type == OPT_SIZE && value && !(value % 1024); unit++)
		value /= 1024;
	snprintf(text, 24, "%llu%.1s", (unsigned long long)value, unit ? &units[unit - 1] : "");
}

const char *opt_range(const struct opt *row, char text[64])
{
	char min[24], max[24];

	show_number(row, row->min, min);
	show_number(row, row->max, max);
	snprintf(text, 64, "%s to %s%s", min, max, unit_of(row));
	return text;
}

bool opt_has_choices(const struct opt *row)
{
	return row->arg && strchr(row->arg, '|') && !isupper((unsigned char)*row->arg);
}

const char *opt_operand_name(const struct applet *applet, unsigned index, char name[32])
{
	const char *p = applet->operands ? applet->operands : "";
	bool many = false; /* "URI..." covers all further operands */

	name[0] = 0;
	for (unsigned i = 0; i <= index; i++) {
		p += strspn(p, " []");
		size_t len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_|");

		if (!len) {
			if (!many && !*p)
				name[0] = 0;
			return name;
		}
		many = p[len] == '.' || (unsigned char)p[len] >= 0x80;
		snprintf(name, 32, "%.*s", (int)len, p);
		p += strcspn(p, " ");
	}
	return name;
}

/* State of one parse. */
struct parser {
	struct call *call;
	char *opts;
	int argc, next; /* the word after the current one */
	char **argv;
	bool help, rest;
	int rc;       /* the first error; later ones are not reported */
	uint8_t part; /* number of the last OPT_PART */
};

static struct diag *first_error(struct parser *parser)
{
	return parser->rc ? NULL : parser->call->diag;
}

/* Add the hint for another tool's option "--name", "-x" or "-x VALUE". False: no known tool has
 * it. */
static bool hint_foreign(const struct applet *applet, const char *option, struct diag *diag)
{
	const struct opt_foreign *row = applet->foreign;

	while (row && row->tool && !word_among(option, row->options))
		row++;
	if (!row || !row->tool)
		return false;
	diag_hint(diag, "%s's %s: %s", row->tool, option, row->advice);
	return true;
}

/* Report an invalid value: the object is the option as typed. */
static int wrong_value(struct parser *parser, const char *typed, const struct diag *why)
{
	struct diag *diag = first_error(parser);
	int rc = diag_set(diag, DIAG_USAGE, why->err, "%s: %s", typed, why->text);

	if (*why->hint)
		diag_hint(diag, "%s", why->hint);
	else if (why->err == EINVAL)
		hint_foreign(parser->call->applet, typed, diag);
	return rc;
}

/* Print "a|b|c" as "a, b or c". */
static const char *list_choices(const char *arg, char choices[256])
{
	const char *bar, *between = "";
	size_t at = 0;

	for (; (bar = strchr(arg, '|')); arg = bar + 1, between = ", ")
		at += (size_t)snprintf(choices + at, at < 256 ? 256 - at : 0, "%s%.*s", between,
			(int)(bar - arg), arg);
	snprintf(choices + at, at < 256 ? 256 - at : 0, "%s%s", *between ? " or " : "", arg);
	return choices;
}

/* Report an unknown word, with a hint if another tool knows it. */
static int wrong_word(
	struct parser *parser, const struct opt *row, const char *typed, const char *value)
{
	struct diag *diag = first_error(parser);
	char whole[72], choices[256];

	diag_set(diag, DIAG_USAGE, EINVAL, "%s: invalid value '%s': expected %s", typed, value,
		list_choices(row->arg, choices));
	snprintf(whole, sizeof(whole), "%s %s", typed, value);
	if (!hint_foreign(parser->call->applet, whole, diag))
		hint_foreign(parser->call->applet, typed, diag);
	return -EINVAL;
}

static int store_text(
	struct parser *parser, const struct opt *row, const char *typed, const char *value)
{
	if (opt_has_choices(row) && !word_among(value, row->arg))
		return wrong_word(parser, row, typed, value);
	if (row->type == OPT_TEXT) {
		*(const char **)(void *)(parser->opts + row->at) = value;
		if (row->at == AT(output))
			((struct opt_common *)(void *)parser->opts)->json = false;
		return 0;
	}
	struct opt_list *list = (void *)(parser->opts + row->at);

	if (list->count == OPT_LIST_MAX)
		return diag_set(first_error(parser), DIAG_USAGE, E2BIG,
			"%s: must not be given more than %d times", typed, OPT_LIST_MAX);
	list->part[list->count] = parser->part;
	list->word[list->count] = parser->next;
	list->item[list->count++] = value;
	return 0;
}

/* The full range of the type is not useful: name only the bound that was exceeded. */
static int out_of_bounds(const struct opt *row, bool above, struct diag *why)
{
	char bound[24];

	show_number(row, above ? row->max : row->min, bound);
	if (above || row->min > 1)
		return diag_set(why, DIAG_USAGE, ERANGE, "must be at %s %s%s",
			above ? "most" : "least", bound, unit_of(row));
	return diag_set(why, DIAG_USAGE, ERANGE, "must be more than 0");
}

static int read_number(const struct opt *row, const char *value, uint64_t *number, struct diag *why)
{
	uint32_t ms = 0;
	char range[64];
	int err;

	if (row->type == OPT_SIZE)
		err = parse_size(value, number, why);
	else if (row->type == OPT_MSEC)
		err = parse_msec(value, &ms, why);
	else
		err = parse_u64(value, 0, UINT64_MAX, number, why);
	if (row->type == OPT_MSEC)
		*number = ms;
	if (err == -EINVAL || (!err && *number >= row->min && *number <= row->max))
		return err;
	if (opt_has_range(row))
		return diag_set(why, DIAG_USAGE, ERANGE, "must be %s", opt_range(row, range));
	return out_of_bounds(row, err || *number > row->max, why);
}

static int store_number(
	struct parser *parser, const struct opt *row, const char *typed, const char *value)
{
	void *at = parser->opts + row->at;
	struct diag why = { 0 };
	uint64_t number;

	if (read_number(row, value, &number, &why))
		return wrong_value(parser, typed, &why);
	if (row->type == OPT_SIZE)
		*(uint64_t *)at = number;
	else if (row->type == OPT_MAYBE)
		*(struct opt_maybe *)at = (struct opt_maybe){
			.on = true, .has_number = true, .number = (uint32_t)number
		};
	else
		*(uint32_t *)at = (uint32_t)number;
	return 0;
}

static int store(struct parser *parser, const struct opt *row, const char *typed, const char *value)
{
	void *at = parser->opts + row->at;

	if (opt_is_number(row) && value)
		return store_number(parser, row, typed, value);
	switch (row->type) {
	case OPT_MAYBE:
		((struct opt_maybe *)at)->on = true;
		return 0;
	case OPT_TEXT:
	case OPT_LIST:
		return store_text(parser, row, typed, value);
	case OPT_HELP:
		parser->help = true;
		return 0;
	case OPT_PART:
		parser->part = (uint8_t)row->min;
		*(bool *)at = true;
		return 0;
	case OPT_REST:
		parser->rest = true;
		*(bool *)at = true;
		return 0;
	default:
		*(bool *)at = true;
		return 0;
	}
}

/* Store an option. typed: the option as typed ("--timeout", "-t"). joined: an argument in the same
 * word, or NULL. */
static int parse_option(
	struct parser *parser, const struct opt *row, const char *typed, const char *joined)
{
	if (row->type == OPT_MAYBE && !joined && parser->next < parser->argc &&
		isdigit((unsigned char)*parser->argv[parser->next]))
		joined = parser->argv[parser->next++];
	if (row->type == OPT_MAYBE || !opt_takes_arg(row))
		return store(parser, row, typed, joined);
	if (joined)
		return store(parser, row, typed, joined);
	if (parser->next == parser->argc)
		return diag_set(first_error(parser), DIAG_USAGE, EINVAL, "%s needs an argument: %s",
			typed, row->arg);
	return store(parser, row, typed, parser->argv[parser->next++]);
}

/* typed: "--name" */
static int unknown_long(struct parser *parser, const char *typed)
{
	struct diag *diag = first_error(parser);
	const char *name = typed + 2, *best = NULL;
	struct opt row;

	for (unsigned i = 0; opt_row(parser->call->applet, i, &row); i++)
		if (row.help && word_near(name, row.name) &&
			(!best || word_distance(name, row.name) < word_distance(name, best)))
			best = row.name;
	diag_set(diag, DIAG_USAGE, EINVAL, "unknown option '%s'", typed);
	if (!hint_foreign(parser->call->applet, typed, diag) && best)
		diag_hint(diag, "did you mean --%s?", best);
	return -EINVAL;
}

static int parse_long(struct parser *parser, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	char typed[72];
	struct opt row;

	snprintf(typed, sizeof(typed), "%.*s", (int)len, word);
	if (len >= sizeof(typed) || !opt_row_find(parser->call->applet, typed + 2, &row))
		return unknown_long(parser, typed);
	if (equals && !opt_takes_arg(&row) && row.type != OPT_MAYBE) {
		diag_set(first_error(parser), DIAG_USAGE, EINVAL, "%s takes no argument: '%s'",
			typed, equals + 1);
		hint_foreign(parser->call->applet, typed, first_error(parser));
		return -EINVAL;
	}
	return parse_option(parser, &row, typed, equals ? equals + 1 : NULL);
}

static int unknown_letter(struct parser *parser, const char *word, char letter)
{
	struct diag *diag = first_error(parser);
	char option[] = { '-', letter, 0 };
	struct opt row;

	diag_set(diag, DIAG_USAGE, EINVAL, "unknown option '%s'", option);
	if (word[2] && opt_row_find(parser->call->applet, word + 1, &row)) {
		diag_set(diag, DIAG_USAGE, EINVAL, "unknown option '%s' in '%s'", option, word);
		diag_hint(diag, "did you mean --%s?", row.name);
		/* the rest of the word may be a secret, as with nvme's -S */
	} else if (!hint_foreign(parser->call->applet, option, diag) && word[2]) {
		diag_set(diag, DIAG_USAGE, EINVAL, "unknown option '%s' in '%s'", option, word);
	}
	return -EINVAL;
}

static int parse_letters(struct parser *parser, const char *word)
{
	int rc = 0;

	for (const char *p = word + 1; *p && !rc; p++) {
		char typed[] = { '-', *p, 0 };
		struct opt row;

		if (!find_letter(parser->call->applet, *p, &row))
			return unknown_letter(parser, word, *p);
		if (opt_takes_arg(&row) || (row.type == OPT_MAYBE && isdigit((unsigned char)p[1])))
			return parse_option(parser, &row, typed, p[1] ? p + 1 : NULL);
		rc = parse_option(parser, &row, typed, NULL);
	}
	return rc;
}

static int check_operands(struct parser *parser)
{
	const struct call *call = parser->call;
	const struct applet *applet = call->applet;
	unsigned count = call->rest;
	char name[32];

	if (count < applet->min) {
		opt_operand_name(applet, count, name);
		return diag_set(first_error(parser), DIAG_USAGE, EINVAL, "missing operand%s%s",
			*name ? " " : "", name);
	}
	if (applet->max != UINT8_MAX && count > applet->max)
		return diag_set(first_error(parser), DIAG_USAGE, EINVAL, "unexpected operand '%s'",
			call->operand[applet->max]);
	if (parser->rest && call->operands == call->rest)
		return diag_set(first_error(parser), DIAG_USAGE, EINVAL, "no COMMAND given");
	return 0;
}

/* Marks an applet's own default; --timeout 0 is a value of its own. */
#define UNSET UINT32_MAX

static void finish_timeout(struct opt_common *common)
{
	common->no_timeout = !common->timeout_ms;
	if (common->timeout_ms == UNSET)
		common->timeout_ms = 0;
}

/* --json is --output json, and the last of them wins. An applet may have more formats whose names
 * begin with json. */
static void finish_output(struct opt_common *common)
{
	if (common->json)
		common->output = "json";
	else if (common->output && !strncmp(common->output, "json", 4))
		common->json = true;
	else if (!common->output)
		common->output = "text";
}

int opt_parse(struct call *call, int argc, char **argv, void *opts, bool *help)
{
	struct parser parser = {
		.call = call, .opts = opts, .argc = argc, .next = 1, .argv = argv
	};
	struct opt_common *common = opts;
	bool only_operands = false;

	if (!common->timeout_ms)
		common->timeout_ms = UNSET;
	call->operand = argv + (argc > 0);
	call->operands = call->rest = 0;
	while (parser.next < argc) {
		char *word = argv[parser.next++];
		int rc = 0;

		if (only_operands || word[0] != '-' || !word[1])
			call->operand[call->operands++] = word;
		else if (!strcmp(word, "--"))
			only_operands = true;
		else if (word[1] == '-')
			rc = parse_long(&parser, word);
		else
			rc = parse_letters(&parser, word);
		if (parser.rest && !only_operands) {
			call->rest = call->operands;
			only_operands = true;
		}
		if (rc && !parser.rc)
			parser.rc = rc;
	}
	if (!parser.rest)
		call->rest = call->operands;
	int rc = check_operands(&parser);

	if (!parser.rc)
		parser.rc = rc;
	finish_output(common);
	finish_timeout(common);
	call->opts = opts;
	*help = parser.help;
	return parser.rc;
}

const struct applet *applet_find(const char *name)
{
	for (const struct applet *const *p = applets; *p; p++)
		if (!strcmp((*p)->name, name) || ((*p)->alias && !strcmp((*p)->alias, name)) ||
			((*p)->replaces && !strcmp((*p)->replaces, name)))
			return *p;
	return NULL;
}

void applet_names(const char *only, void (*each)(const char *name, void *arg), void *arg)
{
	bool own = !only || strcmp(only, "replacements"),
	     replaced = !only || strcmp(only, "applets");

	for (const struct applet *const *p = applets; *p; p++) {
		bool same = (*p)->read_args != NULL; /* it has the name of the tool it replaces */

		if ((own && !(*p)->subs) || (same && replaced))
			each((*p)->name, arg);
		if ((*p)->alias && own)
			each((*p)->alias, arg);
		if ((*p)->replaces && replaced)
			each((*p)->replaces, arg);
	}
}

const struct applet *applet_sub(const struct applet *applet, const char *word)
{
	const struct applet_sub *sub = applet->subs;

	while (sub && sub->word && strcmp(sub->word, word))
		sub++;
	return sub && sub->word ? sub->applet : NULL;
}

const char *applet_suggest(const char *typed)
{
	const char *best = NULL;

	for (const struct applet *const *p = applets; *p; p++) {
		const char *names[] = { (*p)->name, (*p)->alias };

		for (unsigned i = 0; i < 2 && names[i]; i++)
			if (word_near(typed, names[i]) &&
				(!best || word_distance(typed, names[i]) <
						  word_distance(typed, best)))
				best = names[i];
	}
	return best;
}
