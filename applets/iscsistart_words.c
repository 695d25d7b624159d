/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iscsistart's words as open-iscsi 2.1.8 reads them: GNU getopt_long's forms and messages,
 * abbreviated names too; in their order, as the first of some ends it. */
#include "iscsistart_words.h"
#include <string.h>

static const struct name {
	const char *name;
	char letter;
	bool arg;
} names[] = {
	{ "config", 'c', true },
	{ "initiatorname", 'i', true },
	{ "targetname", 't', true },
	{ "tgpt", 'g', true },
	{ "address", 'a', true },
	{ "port", 'p', true },
	{ "username", 'u', true },
	{ "password", 'w', true },
	{ "username_in", 'U', true },
	{ "password_in", 'W', true },
	{ "debug", 'd', true },
	{ "fwparam_connect", 'b', false },
	{ "fwparam_network", 'N', false },
	{ "fwparam_print", 'f', false },
	{ "param", 'P', true },
	{ "help", 'h', false },
	{ "version", 'v', false },
};
#define NAMES (sizeof(names) / sizeof(names[0]))

struct words {
	int argc, next;
	char **argv;
	char *letters; /* what is left of a word of letters; NULL: none */
	bool quiet;
};
enum { WORDS_END = -1, WORDS_BAD = '?' };

/* In our own rows '-' stands for '_'. */
static bool begins(const char *name, const char *typed, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!name[i] || (name[i] != typed[i] && !(name[i] == '_' && typed[i] == '-')))
			return false;
	return true;
}

static int take_arg(struct words *w, char *joined, char **value)
{
	if (!joined && w->next < w->argc)
		joined = w->argv[w->next++];
	*value = joined;
	return joined ? 0 : -1;
}

static void tell_ambiguous(const struct words *w, const char *typed, size_t len)
{
	fprintf(stderr, "%s: option '--%s' is ambiguous; possibilities:", w->argv[0], typed);
	for (unsigned i = 0; i < NAMES; i++)
		if (begins(names[i].name, typed, len))
			fprintf(stderr, " '--%s'", names[i].name);
	fputc('\n', stderr);
}

static const struct name *find_name(const struct words *w, const char *typed, size_t len)
{
	const struct name *found = NULL;
	bool several = false;

	for (unsigned i = 0; i < NAMES; i++) {
		if (!begins(names[i].name, typed, len))
			continue;
		if (!names[i].name[len])
			return &names[i];
		several |= found != NULL;
		found = &names[i];
	}
	if (several && !w->quiet)
		tell_ambiguous(w, typed, len);
	else if (!found && !w->quiet)
		fprintf(stderr, "%s: unrecognized option '--%s'\n", w->argv[0], typed);
	return several ? NULL : found;
}

static int next_long(struct words *w, char *typed, char **value)
{
	char *equals = strchr(typed, '=');
	const struct name *name =
		find_name(w, typed, equals ? (size_t)(equals - typed) : strlen(typed));

	if (!name)
		return WORDS_BAD;
	if (!name->arg && !equals)
		return name->letter;
	if (name->arg && !take_arg(w, equals ? equals + 1 : NULL, value))
		return name->letter;
	if (!w->quiet)
		fprintf(stderr, "%s: option '--%s' %s an argument\n", w->argv[0], name->name,
			name->arg ? "requires" : "doesn't allow");
	return WORDS_BAD;
}

static int next_letter(struct words *w, char **value)
{
	char letter = *w->letters++, *joined = *w->letters ? w->letters : NULL;
	const struct name *name = names, *end = names + NAMES;

	while (name < end && name->letter != letter)
		name++;
	if (!joined || (name < end && name->arg))
		w->letters = NULL;
	if (name < end && (!name->arg || !take_arg(w, joined, value)))
		return letter;
	if (!w->quiet)
		fprintf(stderr, "%s: %s -- '%c'\n", w->argv[0],
			name == end ? "invalid option" : "option requires an argument", letter);
	return WORDS_BAD;
}

/* The next option's letter and its argument. Operands are passed over. */
static int next_option(struct words *w, char **value)
{
	*value = NULL;
	while (!w->letters) {
		char *word;

		if (w->next >= w->argc)
			return WORDS_END;
		word = w->argv[w->next++];
		if (!strcmp(word, "--"))
			return WORDS_END;
		if (!strncmp(word, "--", 2))
			return next_long(w, word + 2, value);
		if (word[0] == '-' && word[1])
			w->letters = word + 1;
	}
	return next_letter(w, value);
}

void start_hide(int argc, char **argv)
{
	struct words w = { .argc = argc, .next = 1, .argv = argv, .quiet = true };
	char *value;
	int letter;

	while ((letter = next_option(&w, &value)) != WORDS_END) {
		char *secret = letter == 'w' || letter == 'W' ? value : NULL;

		if (letter == 'P' && strstr(value, "password"))
			secret = strchr(value, '=') ? strchr(value, '=') + 1 : NULL;
		if (secret)
			explicit_bzero(secret, strlen(secret));
	}
}

static int too_long(const char *what, const char *value, size_t max)
{
	printf(START_NAME ": invalid %s %s. Max %s length is %zu.\n", what,
		*what == 'p' ? "" : value, what, max);
	return START_INVALID;
}

static int take_text(const char **to, const char *what, const char *value, size_t max)
{
	*to = value;
	return strlen(value) > max ? too_long(what, value, max) : 0;
}

static int take_param(struct start_options *opts, const char *value)
{
	const char *equals = strchr(value, '=');

	if (!equals || !equals[1]) {
		fprintf(stderr, START_NAME ": Invalid --param %.*s. Missing value.\n",
			(int)strcspn(value, "="), value);
		return START_INVALID;
	}
	if (opts->params.count == OPT_LIST_MAX) {
		fprintf(stderr, START_NAME ": more than %d --param\n", OPT_LIST_MAX);
		return START_INVALID;
	}
	opts->params.item[opts->params.count++] = value;
	return 0;
}

static int take(struct start_options *opts, int letter, const char *value)
{
	switch (letter) {
	case 'c':
		opts->config = value;
		return 0;
	case 'i':
		opts->initiator = value;
		return 0;
	case 't':
		return take_text(&opts->target, "targetname", value, 255);
	case 'g':
		opts->tgpt = value;
		return 0;
	case 'a':
		return take_text(&opts->address, "address", value, 1025);
	case 'p':
		opts->port = value;
		return 0;
	case 'u':
		return take_text(&opts->user[0], "username", value, 256);
	case 'w':
		return take_text(&opts->secret[0], "password", value, 256);
	case 'U':
		return take_text(&opts->user[1], "username_in", value, 256);
	case 'W':
		return take_text(&opts->secret[1], "password_in", value, 256);
	case 'd':
		opts->debug = value;
		return 0;
	case 'b':
		opts->connect = true;
		return 0;
	case 'P':
		return take_param(opts, value);
	default:
		fprintf(stderr, "Try `" START_NAME " --help' for more information.\n");
		return START_INVALID;
	}
}

int start_words(struct call *call, int argc, char **argv, void *to)
{
	struct words w = { .argc = argc, .next = 1, .argv = argv };
	struct start_options *opts = to;
	char *value;
	int letter, rc = 0;

	call->operand = argv + (argc > 0);
	while (!rc && (letter = next_option(&w, &value)) != WORDS_END) {
		bool *end = letter == 'h'   ? &opts->help
			    : letter == 'v' ? &opts->version
			    : letter == 'N' ? &opts->network
			    : letter == 'f' ? &opts->print
					    : NULL;

		if (end) {
			*end = true;
			return 0;
		}
		rc = take(opts, letter, value);
	}
	return rc;
}
