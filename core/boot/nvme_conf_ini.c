/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse nvme-cli 3's nvme-fabrics.conf: sections with defaults, and "controller =
 * transport=…;traddr=…" lines. A value missing in a line is taken from its section, then from
 * [Host], then from the defaults of its kind. */
#include "nvme_conf.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum kind { NOWHERE, HOST, DC_DEFAULTS, IO_DEFAULTS, DC, SUBSYSTEM, KINDS };

static const char *const titles[KINDS] = { [HOST] = "Host",
	[DC_DEFAULTS] = "Discovery Controller Defaults",
	[IO_DEFAULTS] = "I/O Controller Defaults",
	[DC] = "Discovery Controller",
	[SUBSYSTEM] = "Subsystem" };

struct reader {
	struct nvmf_entries *all;
	const char *from;
	enum kind kind;
	unsigned line, first;           /* first: index of the first entry of the current section */
	struct nvmf_entry level[KINDS]; /* DC and SUBSYSTEM: those of the current section */
	struct diag *diag;
};

/* A comment begins the line, or follows a blank. */
static void cut_comment(char *line)
{
	char *at = line;

	while ((at = strchr(at, '#')) && at != line && !isspace((unsigned char)at[-1]))
		at++;
	if (at)
		*at = 0;
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	for (len = strlen(text); len && isspace((unsigned char)text[len - 1]);)
		text[--len] = 0;
	return text;
}

/* Complete the section's entries at its end, as keys may follow them. */
static int end_section(struct reader *r)
{
	int err = 0;

	if (r->kind != DC && r->kind != SUBSYSTEM)
		return 0;
	for (unsigned i = r->first; i < r->all->count && !err; i++)
		err = kernel_conf_inherit(&r->all->entry[i], &r->level[r->kind], r->diag);
	kernel_conf_clear(&r->level[r->kind]);
	return err;
}

static int begin_section(struct reader *r, char *title)
{
	int err = end_section(r);

	r->kind = NOWHERE;
	r->first = r->all->count;
	for (int i = 1; i < KINDS; i++)
		if (!strcasecmp(title, titles[i]))
			r->kind = (enum kind)i;
	if (r->kind == NOWHERE)
		kernel_conf_note(r->all, "%.70s line %u: ignored: unknown section [%.40s]", r->from,
			r->line, title);
	return err;
}

static int add_controller(struct reader *r, char *value)
{
	struct nvmf_entry *entry;

	if (r->kind != DC && r->kind != SUBSYSTEM) {
		kernel_conf_note(r->all,
			"%.70s line %u: ignored: a controller belongs in [%s] or [%s]", r->from,
			r->line, titles[DC], titles[SUBSYSTEM]);
		return 0;
	}
	entry = kernel_conf_add(r->all, r->from, r->line, r->diag);
	if (!entry)
		return -r->diag->err;
	entry->discover = r->kind == DC;
	if (strstr(value, "://")) {
		entry->uri = strdup(value);
		return entry->uri ? 0 : diag_sys(r->diag, ENOMEM, "configuration");
	}
	return kernel_conf_tid(r->all, entry, value, r->diag);
}

static bool says_yes(const char *value)
{
	return !strcasecmp(value, "true") || !strcasecmp(value, "yes") ||
	       !strcasecmp(value, "on") || !strcmp(value, "1");
}

/* The kernel's default serves as well, unlike for identity, addresses and secrets. */
static bool is_tuning(int key)
{
	return key >= NVMF_QUEUE_SIZE && key <= NVMF_TOS;
}

/* An empty value or "no" overrides the value of a level above: keep it until that level is
 * known. */
static int parse_key(struct reader *r, char *name, char *value)
{
	struct nvmf_entry *level = &r->level[r->kind];
	struct diag why = { 0 };
	int key;

	for (char *p = name; *p; p++)
		*p = *p == '-' ? '_' : (char)tolower((unsigned char)*p);
	if (!strcmp(name, "controller"))
		return *value ? add_controller(r, value) : 0;
	if (!strncmp(name, "kxchap", 6))
		memcpy(name, "dhchap", 6);
	key = kernel_nvmf_key_find(name);
	if (key < 0 || r->kind == NOWHERE) {
		if (r->kind != NOWHERE)
			kernel_conf_note(r->all, "%.70s line %u: ignored: unknown key '%.40s'",
				r->from, r->line, name);
		return 0;
	}
	if (*value && is_tuning(key) && r->kind < DC &&
		kernel_nvmf_key_check(key, name, value, &why)) {
		kernel_conf_warn(r->all, "%.70s line %u: ignored: %s", r->from, r->line, why.text);
		return 0;
	}
	if (kernel_nvmf_key_flag(key))
		return kernel_conf_set(level, key, says_yes(value) ? "" : "0", r->diag);
	return kernel_conf_set(level, key, value, r->diag);
}

static int parse_line(struct reader *r, char *line)
{
	char *value = strchr(line, '='), *close;

	if (*line == '[') {
		close = strchr(line, ']');
		if (!close)
			return diag_set(r->diag, DIAG_USAGE, EINVAL, "%.70s line %u: missing ']'",
				r->from, r->line);
		*close = 0;
		return begin_section(r, trim(line + 1));
	}
	if (!value)
		return diag_set(r->diag, DIAG_USAGE, EINVAL,
			"%.70s line %u: '%.40s': expected [SECTION] or KEY = VALUE", r->from,
			r->line, line);
	*value++ = 0;
	return parse_key(r, trim(line), trim(value));
}

static int complete(struct reader *r, struct nvmf_entry *entry)
{
	int err = kernel_conf_inherit(entry, &r->level[HOST], r->diag);

	if (!err)
		err = kernel_conf_inherit(
			entry, &r->level[entry->discover ? DC_DEFAULTS : IO_DEFAULTS], r->diag);
	for (int key = 0; key < NVMF_KEYS && !err; key++) {
		const char *value = entry->value[key];

		if (value && (kernel_nvmf_key_flag(key) ? !strcmp(value, "0") : !*value))
			err = kernel_conf_set(entry, key, NULL, r->diag);
	}
	return err;
}

int kernel_nvmf_conf_ini(struct nvmf_entries *all, char *text, const char *from, struct diag *diag)
{
	struct reader *r = calloc(1, sizeof(*r));
	unsigned first = all->count;
	char *rest = text, *line;
	int err = 0;

	if (!r)
		return diag_sys(diag, ENOMEM, "configuration");
	*r = (struct reader){ .all = all, .from = from, .diag = diag, .first = first };
	while (!err && (line = strsep(&rest, "\n"))) {
		r->line++;
		cut_comment(line);
		line = trim(line);
		if (*line && *line != ';')
			err = parse_line(r, line);
	}
	if (!err)
		err = end_section(r);
	for (unsigned i = first; i < all->count && !err; i++)
		err = complete(r, &all->entry[i]);
	for (int i = 0; i < KINDS; i++)
		kernel_conf_clear(&r->level[i]);
	free(r);
	return err;
}
