/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print an applet's options for people (--help), shells (--complete) and the lint of man pages
 * (--option-rows). */
#include "opt.h"
#include "out.h"
#include "word.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT_MAX = 30, WIDTH = 80 };

static bool next_shown(const struct applet *applet, unsigned *index, struct opt *row)
{
	while (opt_row(applet, (*index)++, row))
		if (row->help)
			return true;
	return false;
}

static void left_column(const struct opt *row, char *left, size_t len)
{
	const char *arg = opt_takes_arg(row) || row->type == OPT_MAYBE || row->type == OPT_REST
				  ? row->arg
				  : NULL;
	char letter[] = { '-', row->letter, ',', ' ', 0 };

	snprintf(left, len, "  %s--%s%s%s", row->letter ? letter : "    ", row->name,
		arg ? " " : "", arg ? arg : "");
}

/* Print the help text, broken at blanks, each line indented to the column. */
static void right_column(const char *help, unsigned column, FILE *to)
{
	unsigned at = column;

	while (*help) {
		char word[160];
		size_t len = strcspn(help, " ");

		snprintf(word, sizeof(word), "%.*s", (int)len, help);
		if (at > column && at + out_characters(word) >= WIDTH) {
			fprintf(to, "\n%*s", (int)column, "");
			at = column;
		}
		fprintf(to, "%s%s", at > column ? " " : "", word);
		at += out_characters(word) + (at > column);
		help += len;
		help += strspn(help, " ");
	}
	fputc('\n', to);
}

/* "requests in flight; default 16" becomes "requests in flight, 1 to 1024 (default 16)". */
static void describe(const struct applet *applet, const struct opt *row, char *text, size_t len)
{
	const struct opt_common *preset = applet->defaults;
	uint32_t limit_ms = preset && !strcmp(row->name, "timeout") ? preset->timeout_ms : 0;
	const char *other = strstr(row->help, "; default");
	int about = (int)(other ? (size_t)(other - row->help) : strlen(row->help));
	bool ranged = opt_has_range(row);
	char range[64] = "";

	snprintf(text, len, "%.*s%s%s%s%s%s", about, row->help, ranged ? ", " : "",
		ranged ? opt_range(row, range) : "", other ? " (" : "", other ? other + 2 : "",
		other ? ")" : "");
	if (limit_ms)
		snprintf(text + strlen(text), len - strlen(text), " (default %.10g)",
			limit_ms / 1000.);
}

static void show_subs(const struct applet_sub *subs, FILE *to)
{
	int width = 0;

	for (const struct applet_sub *sub = subs; sub && sub->word; sub++)
		if ((int)strlen(sub->word) > width)
			width = (int)strlen(sub->word);
	for (const struct applet_sub *sub = subs; sub && sub->word; sub++)
		fprintf(to, "  %-*s %s\n%s", width, sub->word, sub->applet->summary,
			sub[1].word ? "" : "\n");
}

void opt_help(const struct applet *applet, FILE *to)
{
	char left[128], help[400];
	unsigned column = 0;
	struct opt row;

	for (unsigned i = 0; next_shown(applet, &i, &row);) {
		left_column(&row, left, sizeof(left));
		unsigned n = out_characters(left) + 2;

		if (n > column && n <= LEFT_MAX)
			column = n;
	}
	bool operands = applet->operands && *applet->operands;

	fprintf(to, "Usage: rdmastor %s [OPTION...]%s%s\n", applet->name, operands ? " " : "",
		operands ? applet->operands : "");
	fprintf(to, "%s\n\n", applet->summary);
	show_subs(applet->subs, to);
	for (unsigned i = 0; next_shown(applet, &i, &row);) {
		left_column(&row, left, sizeof(left));
		unsigned n = out_characters(left);

		if (n + 2 > column)
			fprintf(to, "%s\n%*s", left, (int)column, "");
		else
			fprintf(to, "%s%*s", left, (int)(column - n), "");
		describe(applet, &row, help, sizeof(help));
		right_column(help, column, to);
	}
	if (applet->examples)
		fprintf(to, "\nExamples:\n%s", applet->examples);
	if (applet->notes)
		fprintf(to, "\n%s", applet->notes);
	if (applet->schemes)
		fprintf(to, "\nHelp on URIs: rdmastor help uri\n");
}

void opt_rows(const struct applet *applet, FILE *to)
{
	struct opt row;

	for (unsigned i = 0; next_shown(applet, &i, &row);) {
		char letter[] = { '-', row.letter, 0 };

		fprintf(to, "--%s\t%s\t%s\t", row.name, row.letter ? letter : "",
			opt_takes_arg(&row) || row.type == OPT_MAYBE ? row.arg : "");
		if (opt_is_number(&row))
			fprintf(to, "%llu %llu%s", (unsigned long long)row.min,
				(unsigned long long)row.max, row.type == OPT_MSEC ? " ms" : "");
		fputc('\n', to);
	}
}

static void offer(const char *typed, const char *word, const char *about, FILE *to)
{
	if (!strncmp(typed, word, strlen(typed)))
		fprintf(to, "%s\t%s\n", word, about);
}

static void offer_applets(const char *typed, FILE *to)
{
	for (const struct applet *const *p = applets; *p; p++) {
		offer(typed, (*p)->name, (*p)->summary, to);
		if ((*p)->alias)
			offer(typed, (*p)->alias, (*p)->summary, to);
	}
	if (*typed == '-') {
		offer(typed, "--help", "show the help", to);
		offer(typed, "--install", "create links to rdmastor in a directory", to);
		offer(typed, "--cpio", "write an archive for an initramfs", to);
		offer(typed, "--list", "list the applets, one per line", to);
		offer(typed, "--version", "show the versions of rdmastor and its libraries", to);
	}
}

static void offer_options(const struct applet *applet, const char *typed, FILE *to)
{
	char word[72];
	struct opt row;

	for (unsigned i = 0; next_shown(applet, &i, &row);) {
		snprintf(word, sizeof(word), "--%s", row.name);
		offer(typed, word, row.help, to);
	}
}

/* Complete a key of the URI, "nvme+tcp://10.0.0.1/nqn?queues=4&ho". Values stay unread: one may be
 * the name of a file with a secret. */
static void offer_keys(const struct applet *applet, const char *typed, FILE *to)
{
	const char *mark = strchr(typed, '?'), *last = strrchr(mark, '&'),
		   *key = last ? last + 1 : mark + 1;
	struct uri_key_names known = { 0 };
	struct uri *uri = uri_new(typed);
	char text[URI_MAX];

	snprintf(text, sizeof(text), "%.*s?" URI_UNKNOWN_KEY, (int)(mark - typed), typed);
	if (uri && applet->keys && !strchr(key, '='))
		applet->keys(text, &known);
	for (unsigned i = 0; i < known.count; i++) {
		const char *name = known.name[i];

		if (!strncmp(key, name, strlen(key)) &&
			(!uri_has(uri, name) || !strcmp(name, key) || !strcmp(name, "path")))
			fprintf(to, "%.*s%s=\tURI key\n", (int)(key - typed), typed, name);
	}
	free(uri);
}

/* Whether a URI of a known scheme was typed, up to its keys. */
static bool is_at_keys(const char *typed)
{
	size_t len = strcspn(typed, ":");
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)len, typed);
	return typed[len] && strchr(typed, '?') && scheme_find(name);
}

/* Complete a value by its kind, "URI|DEVICE", "FILE", "DIR": URIs of the known schemes and their
 * keys, or paths. */
static void offer_kind(const struct applet *applet, const char *kind, const char *typed, FILE *to)
{
	static const char uri_kinds[] = "URI|SRC|DST|SOURCE|HOST|PORTAL";
	static const char file_kinds[] = "FILE|DEVICE|MAP";
	bool uri = false, file = false, dir = false, policy = false;
	char word[32];

	for (; *kind; kind += strcspn(kind, "|"), kind += *kind == '|') {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(kind, "|"), kind);
		uri |= word_among(word, uri_kinds);
		file |= word_among(word, file_kinds);
		dir |= !strcmp(word, "DIR");
		policy |= !strcmp(word, "POLICY");
	}
	if (policy) {
		offer(typed, "fail-fast", "fail at once when the target is lost", to);
		offer(typed, "wait=", "seconds that I/O waits for a lost target", to);
		offer(typed, "forever", "I/O waits until the target is back", to);
	}
	if (uri && is_at_keys(typed)) {
		offer_keys(applet, typed, to);
		return;
	}
	for (const struct scheme *const *row = schemes; uri && *row; row++)
		if ((*row)->uses & applet->schemes && (*row)->about)
			offer(typed, (*row)->start, (*row)->about, to);
	if (file || (uri && (applet->schemes & SCHEME_DISK)))
		fputs(":file\n", to);
	else if (dir)
		fputs(":dir\n", to);
}

/* before: "--output=" if the value is part of the same word, else "" */
static void offer_values(const struct applet *applet, const struct opt *row, const char *before,
	const char *typed, FILE *to)
{
	char word[160];

	if (!opt_has_choices(row)) {
		offer_kind(applet, row->arg, typed, to);
		return;
	}
	for (const char *p = row->arg; *p; p += strcspn(p, "|"), p += *p == '|') {
		int len = (int)strcspn(p, "|");

		if (strncmp(typed, p, strlen(typed)))
			continue;
		snprintf(word, sizeof(word), "%s%.*s", before, len, p);
		fprintf(to, "%s\t%s\n", word, row->help);
	}
}

/* Find the option whose argument follows `word`: "--name", "-x" or a bundle that ends in such a
 * letter. */
static bool waits_for_arg(const struct applet *applet, const char *word, struct opt *row)
{
	if (word[0] != '-' || !word[1])
		return false;
	if (word[1] == '-')
		return word[2] && !strchr(word, '=') && opt_row_find(applet, word + 2, row) &&
		       opt_takes_arg(row);
	for (const char *p = word + 1; *p; p++) {
		bool found = false;

		for (unsigned i = 0; !found && opt_row(applet, i, row); i++)
			found = row->letter == *p;
		if (!found)
			return false;
		if (opt_takes_arg(row))
			return !p[1];
	}
	return false;
}

/* After "--" no word is an option, and the kind of each operand is unknown. */
static bool ends_options(const struct applet *applet, const char *word)
{
	struct opt row;

	if (strncmp(word, "--", 2))
		return false;
	return !word[2] || (opt_row_find(applet, word + 2, &row) && row.type == OPT_REST);
}

static void complete_words(const struct applet *applet, int count, char **word, FILE *to)
{
	unsigned operands = 0;
	char *typed = word[count - 1], *equals = strchr(typed, '='), name[72];
	bool waiting = false;
	struct opt row;

	for (int i = 1; i < count - 1; i++) {
		bool was = waiting;

		if (!was && ends_options(applet, word[i]))
			return;
		waiting = !was && waits_for_arg(applet, word[i], &row);
		operands += !was && (word[i][0] != '-' || !word[i][1]);
	}
	if (waiting) {
		offer_values(applet, &row, "", typed, to);
	} else if (!strncmp(typed, "--", 2) && equals) {
		snprintf(name, sizeof(name), "%.*s", (int)(equals - typed) + 1, typed);
		char *end = strchr(name, '=');

		if (!end)
			return;
		*end = 0;
		bool found = opt_row_find(applet, name + 2, &row) && opt_takes_arg(&row);

		*end = '=';
		if (found)
			offer_values(applet, &row, name, equals + 1, to);
	} else if (*typed == '-') {
		offer_options(applet, typed, to);
	} else {
		offer_kind(applet, opt_operand_name(applet, operands, name), typed, to);
	}
}

static void offer_subs(const struct applet *applet, const char *typed, FILE *to)
{
	for (const struct applet_sub *sub = applet->subs; sub->word; sub++)
		offer(typed, sub->word, sub->applet->summary, to);
}

void opt_complete(int count, char **word, FILE *to)
{
	if (count < 1)
		return;
	if (count == 1) {
		offer_applets(word[0], to);
		offer(word[0], "help", "show the help of an applet, or on URIs", to);
		return;
	}
	const struct applet *applet = applet_find(word[0]), *sub;

	for (; applet && count > 2 && (sub = applet_sub(applet, word[1])); applet = sub) {
		count--;
		word++;
	}
	if (applet && applet->subs && count == 2)
		offer_subs(applet, word[1], to);
	else if (applet)
		complete_words(applet, count, word, to);
	else if (count == 2 && !strcmp(word[0], "--install"))
		fputs(":dir\n", to);
	if (count != 2 || strcmp(word[0], "help"))
		return;
	offer_applets(word[1], to);
	offer(word[1], "uri", "syntax of disk URIs", to);
}
