/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The local rules for modules of modprobe.d(5), read as kmod does, so that the result is the same
 * without it. */
#include "grow.h"
#include "kernel_sys.h"
#include "modules.h"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conf {
	const char *dir;
	char name[256];
};

struct rules {
	int root;
	const char *dir, *module;
	bool needed, found;
	char *options;
	size_t len;
	struct conf *conf;
	unsigned confs;
};

/* Treat '-' and '_' alike, except between brackets. */
static char *same_dashes(char *name)
{
	bool bracket = false;

	for (char *p = name; *p; p++) {
		bracket = *p == '[' || (bracket && *p != ']');
		if (*p == '-' && !bracket)
			*p = '_';
	}
	return name;
}

/* Cut off the next field and advance; "" = none. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t\r");

	*rest = word + strcspn(word, " \t\r");
	if (**rest)
		*(*rest)++ = 0;
	*rest += strspn(*rest, " \t\r");
	return word;
}

static void parse_line(struct rules *rules, char *line)
{
	const char *word = next_word(&line), *of = same_dashes(next_word(&line));
	size_t at = rules->options ? strlen(rules->options) : 0;

	if (!strcmp(word, "install"))
		rules->found |= !fnmatch(of, rules->module, 0);
	else if (!strcmp(word, "alias") && *line && !rules->needed &&
		 !fnmatch(of, rules->module, 0))
		rules->found |= strcmp(same_dashes(next_word(&line)), rules->module) != 0;
	else if (!strcmp(word, "options") && *line && rules->options && !strcmp(of, rules->module))
		snprintf(rules->options + at, rules->len - at, "%s%s", at ? " " : "", line);
}

/* Join lines that end with a backslash. */
static void join(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		if (from[0] == '\\' && from[1] == '\n')
			from += 2;
		else
			*to++ = *from++;
	}
	*to = 0;
}

static void read_conf(struct rules *rules, const struct conf *conf)
{
	char path[320], *text, *rest, *line;

	snprintf(path, sizeof(path), "%s/%s", conf->dir, conf->name);
	text = rest = kernel_sys_read_conf(rules->root, path);
	if (text)
		join(text);
	while ((line = strsep(&rest, "\n")))
		parse_line(rules, line);
	free(text);
}

/* A file is hidden by one with the same name in an earlier directory. */
static void add_conf(const char *name, void *arg)
{
	struct rules *rules = arg;
	size_t len = strlen(name);
	struct conf *more;

	if (len < 6 || strcmp(name + len - 5, ".conf"))
		return;
	for (size_t i = 0; i < rules->confs; i++)
		if (!strcmp(rules->conf[i].name, name))
			return;
	more = grow(rules->conf, rules->confs);
	if (!more)
		return;
	more->dir = rules->dir;
	snprintf(more->name, sizeof(more->name), "%s", name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct conf *)a)->name, ((const struct conf *)b)->name);
}

static void read_rules(struct rules *rules)
{
	static const char *const dirs[] = { "etc/modprobe.d", "run/modprobe.d",
		"usr/local/lib/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d" };

	for (unsigned i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		rules->dir = dirs[i];
		kernel_sys_list(rules->root, rules->dir, add_conf, rules);
	}
	if (rules->confs)
		qsort(rules->conf, rules->confs, sizeof(*rules->conf), by_name);
	for (size_t i = 0; i < rules->confs; i++)
		read_conf(rules, &rules->conf[i]);
	free(rules->conf);
}

bool kernel_module_has_rule(int root, const char *module, bool needed)
{
	char name[64];
	struct rules rules = { .root = root, .module = name, .needed = needed };

	snprintf(name, sizeof(name), "%s", module);
	same_dashes(name);
	read_rules(&rules);
	return rules.found;
}

void kernel_module_options(int root, const char *module, const char *params, char *text, size_t len)
{
	char name[64];
	struct rules rules = {
		.root = root, .module = name, .needed = true, .options = text, .len = len
	};
	size_t at;

	snprintf(name, sizeof(name), "%s", module);
	same_dashes(name);
	text[0] = 0;
	read_rules(&rules);
	at = strlen(text);
	snprintf(text + at, len - at, "%s%s", at && *params ? " " : "", params);
}
