/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Look up the keys of a parsed URI. A key that no caller looked up is an error. */
#include "names.h"
#include "uri_read.h"
#include "word.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void remember(struct uri *uri, const char *name)
{
	struct uri_key_names *known = &uri->known;

	for (unsigned i = 0; i < known->count; i++)
		if (!strcmp(known->name[i], name))
			return;
	if (known->count < URI_KEY_NAMES)
		known->name[known->count++] = name;
}

bool uri_has(const struct uri *uri, const char *name)
{
	for (unsigned i = 0; i < uri->keys; i++)
		if (word_same(uri->key[i].name, name))
			return true;
	return false;
}

const char *uri_value_nth(struct uri *uri, const char *name, unsigned nth)
{
	remember(uri, name);
	for (unsigned i = 0; i < uri->keys; i++)
		if (word_same(uri->key[i].name, name) && !nth--) {
			uri->key[i].used = true;
			return uri->key[i].value;
		}
	return NULL;
}

const char *uri_value(struct uri *uri, const char *name)
{
	return uri_value_nth(uri, name, 0);
}

/* Report an invalid value: the object is the URI, the message begins with the key. */
static int wrong_value(
	const struct uri *uri, const char *name, const struct diag *why, struct diag *diag)
{
	diag_set(diag, DIAG_USAGE, why->err, "%s=: %s", name, why->text);
	if (*why->hint)
		diag_hint(diag, "%s", why->hint);
	diag_ctx(diag, "%s", uri->spelling);
	return -why->err;
}

int uri_u32(struct uri *uri, const char *name, uint32_t min, uint32_t max, uint32_t *value,
	struct diag *diag)
{
	const char *text = uri_value(uri, name);
	struct diag why = { 0 };
	uint64_t number;

	if (!text)
		return 0;
	if (parse_u64(text, min, max, &number, &why))
		return wrong_value(uri, name, &why, diag);
	*value = (uint32_t)number;
	return 0;
}

int uri_bool(struct uri *uri, const char *name, bool *value, struct diag *diag)
{
	static const struct {
		const char *word;
		bool value;
	} row[] = { { "", true }, { "1", true }, { "yes", true }, { "on", true }, { "true", true },
		{ "0", false }, { "no", false }, { "off", false }, { "false", false } };
	const char *text = uri_value(uri, name);
	struct diag why = { 0 };

	if (!text)
		return 0;
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (!strcasecmp(text, row[i].word)) {
			*value = row[i].value;
			return 0;
		}
	diag_set(&why, DIAG_USAGE, EINVAL, "'%s': expected 1, yes, on, true, 0, no, off or false",
		text);
	return wrong_value(uri, name, &why, diag);
}

int uri_msec(struct uri *uri, const char *name, uint32_t *ms, struct diag *diag)
{
	const char *text = uri_value(uri, name);
	struct diag why = { 0 };
	uint32_t value = *ms;
	int err = text ? parse_msec(text, &value, &why) : 0;

	if (text && !err && !value)
		err = diag_set(&why, DIAG_USAGE, ERANGE, "must be more than 0");
	if (err)
		return wrong_value(uri, name, &why, diag);
	*ms = value;
	return 0;
}

int uri_refuse_key(
	const struct uri *uri, enum uri_initiator initiator, const char *name, struct diag *diag)
{
	if (!uri_has(uri, name))
		return 0;
	diag_set(diag, DIAG_USAGE, EINVAL,
		initiator == URI_KERNEL ? "%s=: not supported by the kernel's initiator"
					: "%s=: only the kernel's initiator supports it",
		name);
	return diag_ctx(diag, "%s", uri->spelling);
}

int uri_refuse_disk_keys(const struct uri *uri, struct diag *diag)
{
	static const char *const keys[] = { "path", "policy", "preferred", "quiesce", "detect",
		"ro", "part", "offset", "size" };
	int err = 0;

	for (unsigned i = 0; !err && i < sizeof(keys) / sizeof(*keys); i++)
		err = uri_refuse_key(uri, URI_KERNEL, keys[i], diag);
	return err;
}

int uri_text(struct uri *uri, const char *name, char *to, size_t room, struct diag *diag)
{
	const char *value = uri_value(uri, name);

	if (!value)
		return 0;
	if (!*value || strlen(value) >= room)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s='%s': must have 1 to %zu characters",
			name, value, room - 1);
	snprintf(to, room, "%s", value);
	return 0;
}

int uri_source(struct uri *uri, struct addr *src, struct diag *diag)
{
	const char *value = uri_value(uri, "src");

	return value ? addr_source(src, "src", value, diag) : 0;
}

int uri_lun(const struct uri *uri, const char *text, uint64_t *lun, struct diag *diag)
{
	*lun = SCSI_LUN_ALL;
	return !*text || lun_parse(lun, text)
		       ? 0
		       : diag_set(diag, DIAG_USAGE, EINVAL, "invalid LUN '%s' in '%s'", text,
				 uri->spelling);
}

/* "known keys: block, timeout, ro"; "..." for those that there is no room for. */
static void list_known(const struct uri *uri, struct diag *diag)
{
	static const char start[] = "known keys: ", more[] = ", ...";
	char text[sizeof(diag->hint) - sizeof(start)] = "";

	for (unsigned i = 0; i < uri->known.count; i++) {
		const char *name = uri->known.name[i];
		size_t at = strlen(text), room = sizeof(text) - at - strlen(more);

		if (strlen(name) + 3 > room) {
			strcat(text, more);
			break;
		}
		snprintf(text + at, room, "%s%s", i ? ", " : "", name);
	}
	diag_hint(diag, "%s%s", start, text);
}

static int refuse(const struct uri *uri, const char *name, struct diag *diag)
{
	const char *best = NULL;

	for (unsigned i = 0; i < uri->known.count; i++) {
		const char *known = uri->known.name[i];

		if (word_same(name, known)) {
			diag_set(diag, DIAG_USAGE, EINVAL, "duplicate key '%s'", name);
			return diag_ctx(diag, "%s", uri->spelling);
		}
		if (word_near(name, known) &&
			(!best || word_distance(name, known) < word_distance(name, best)))
			best = known;
	}
	diag_set(diag, DIAG_USAGE, EINVAL, "unknown key '%s'", name);
	if (best)
		diag_hint(diag, "did you mean %s=?", best);
	else if (diag)
		list_known(uri, diag);
	return diag_ctx(diag, "%s", uri->spelling);
}

int uri_done(struct uri *uri, struct diag *diag)
{
	for (unsigned i = 0; i < uri->keys; i++)
		if (!uri->key[i].used) {
			refuse(uri, uri->key[i].name, diag);
			return -EINVAL;
		}
	return 0;
}

static bool is_known(const struct uri *uri, const char *name)
{
	for (unsigned i = 0; i < uri->known.count; i++)
		if (word_same(uri->known.name[i], name))
			return true;
	return false;
}

int uri_check_keys(
	const char *text, void (*keys)(const char *text, struct uri_key_names *), struct diag *diag)
{
	struct uri *uri = calloc(1, sizeof(*uri));
	char bare[URI_MAX + 2];
	int err = uri ? uri_parse(uri, text, diag) : diag_sys(diag, ENOMEM, "URI");

	if (!err && uri->keys && keys) {
		snprintf(
			bare, sizeof(bare), "%.*s?" URI_UNKNOWN_KEY, (int)strcspn(text, "?"), text);
		keys(bare, &uri->known);
		explicit_bzero(bare, sizeof(bare));
		for (unsigned i = 0; i < uri->keys; i++)
			uri->key[i].used = is_known(uri, uri->key[i].name);
		if (uri->known.count)
			err = uri_done(uri, diag);
	}
	if (uri)
		explicit_bzero(uri, sizeof(*uri));
	free(uri);
	return err;
}
