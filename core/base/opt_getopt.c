/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse arguments as glibc's getopt_long() does, with its messages, by the table of an applet's
 * options. For applets whose arguments are those of another tool. */
#include "opt.h"
#include <stdio.h>
#include <string.h>

static const struct opt help = { .name = "help", .letter = 'h', .type = OPT_FLAG };

/* The row after this one; NULL: the first. */
static const struct opt *next_row(const struct opt_getopt *scan, const struct opt *row)
{
	if (row == &help)
		return NULL;
	row = row ? row + 1 : scan->rows;
	while (row->name && !row->letter)
		row++;
	return row->name ? row : &help;
}

static bool begins(const char *name, const char *typed, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] != typed[i] && !(name[i] == '-' && typed[i] == '_'))
			return false;
	return true;
}

static const char *spell(const struct opt *row, char text[32])
{
	snprintf(text, 32, "%s", row->name);
	for (char *p = text; (p = strchr(p, '-'));)
		*p = '_';
	return text;
}

static int report_ambiguous(const struct opt_getopt *scan, const char *word, size_t len)
{
	const struct opt *row = NULL;
	char text[32];

	fprintf(stderr, "%s: option '--%s' is ambiguous; possibilities:", scan->argv[0], word);
	while ((row = next_row(scan, row)))
		if (begins(row->name, word, len))
			fprintf(stderr, " '--%s'", spell(row, text));
	fputc('\n', stderr);
	return '?';
}

static char *next_word(struct opt_getopt *scan)
{
	return scan->at + 1 < scan->argc ? scan->argv[++scan->at] : NULL;
}

/* word: without the leading "--" */
static int long_option(struct opt_getopt *scan, char *word)
{
	size_t len = strcspn(word, "=");
	const struct opt *row = NULL;
	unsigned possible = 0;
	bool exact = false;
	char text[32];

	while (!exact && (row = next_row(scan, row))) {
		if (!begins(row->name, word, len))
			continue;
		exact = !row->name[len];
		possible = exact ? 1 : possible + 1;
		scan->row = row;
	}
	if (possible > 1)
		return scan->quiet ? '?' : report_ambiguous(scan, word, len);
	if (!possible) {
		if (!scan->quiet)
			fprintf(stderr, "%s: unrecognized option '--%s'\n", scan->argv[0], word);
		return '?';
	}
	if (word[len])
		scan->value = word + len + 1;
	else if (opt_takes_arg(scan->row))
		scan->value = next_word(scan);
	if (opt_takes_arg(scan->row) == !!scan->value)
		return scan->row->letter;
	if (!scan->quiet)
		fprintf(stderr, "%s: option '--%s' %s an argument\n", scan->argv[0],
			spell(scan->row, text), word[len] ? "doesn't allow" : "requires");
	return '?';
}

static int short_option(struct opt_getopt *scan)
{
	char letter = *scan->letters++;
	const struct opt *row = NULL;

	while ((row = next_row(scan, row)) && row->letter != letter)
		;
	if (row && opt_takes_arg(row)) {
		scan->value = *scan->letters ? scan->letters : next_word(scan);
		scan->letters = NULL;
	}
	scan->row = row;
	if (row && (scan->value || !opt_takes_arg(row)))
		return letter;
	if (!scan->quiet)
		fprintf(stderr, "%s: %s -- '%c'\n", scan->argv[0],
			row ? "option requires an argument" : "invalid option", letter);
	return '?';
}

int opt_getopt(struct opt_getopt *scan)
{
	char *word;

	scan->value = NULL;
	if (scan->letters && *scan->letters)
		return short_option(scan);
	do
		word = next_word(scan);
	while (word && (word[0] != '-' || !word[1]));
	if (!word || !strcmp(word, "--"))
		return 0;
	if (word[1] == '-')
		return long_option(scan, word + 2);
	scan->letters = word + 1;
	return short_option(scan);
}
