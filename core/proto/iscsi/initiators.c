/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the file of initiators that authenticate. */
#include "initiators.h"
#include "names.h"
#include "secret_list.h"
#include "secret_mem.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_MIN 12 /* 96 bits: RFC 7143, 12.1.3 */
#define ALL_OTHERS "*"

static int set_text(
	char *to, size_t least, size_t most, const char *key, const char *value, struct diag *diag)
{
	size_t len = strlen(value);

	if (*to)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s is given twice", key);
	if (len < least || len > most)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s must be %zu to %zu bytes, not %zu",
			key, least, most, len);
	memcpy(to, value, len + 1);
	return 0;
}

static int read_word(struct iscsi_initiator *initiator, const char *word, struct diag *diag)
{
	const struct {
		const char *key;
		char *to;
		size_t least, most;
	} keys[] = {
		{ "user=", initiator->user[0], 1, ISCSI_CHAP_NAME_MAX },
		{ "secret=", initiator->secret[0], SECRET_MIN, ISCSI_CHAP_SECRET_MAX },
		{ "target-user=", initiator->user[1], 1, ISCSI_CHAP_NAME_MAX },
		{ "target-secret=", initiator->secret[1], SECRET_MIN, ISCSI_CHAP_SECRET_MAX },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t len = strlen(keys[i].key);

		if (!strncmp(word, keys[i].key, len))
			return set_text(keys[i].to, keys[i].least, keys[i].most, keys[i].key,
				word + len, diag);
	}
	if (!strcmp(word, "chap=md5")) {
		initiator->md5 = true;
		return 0;
	}
	/* it may be a secret: not quoted */
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"unknown word: expected user=NAME, secret=SECRET, target-user=NAME, "
		"target-secret=SECRET or chap=md5");
}

/* In a file of another kind the first word may be a secret: it is not quoted. */
static int check_words(const struct iscsi_initiator *initiator, struct diag *diag)
{
	if (!*initiator->user[0] || !*initiator->secret[0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s is missing: expected %s",
			*initiator->user[0] ? "secret=SECRET" : "user=NAME",
			"INITIATOR user=NAME secret=SECRET");
	if (*initiator->user[1] && !*initiator->secret[1])
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "target-user= needs target-secret=SECRET");
	return 0;
}

static int make_room(void *user, unsigned lines, struct diag *diag)
{
	struct iscsi_initiators *list = user;

	list->initiator = secret_alloc((lines + 1ul) * sizeof(*list->initiator));
	return list->initiator ? 0 : diag_sys(diag, ENOMEM, "read");
}

static const struct iscsi_initiator *find(const struct iscsi_initiators *list, const char *name)
{
	const struct iscsi_initiator *found = NULL;

	for (unsigned i = 0; i < list->count; i++)
		if (!strcmp(list->initiator[i].name, name))
			found = &list->initiator[i];
	return found;
}

static int read_line(void *user, unsigned number, const char *name, char *words, struct diag *diag)
{
	struct iscsi_initiators *list = user;
	struct iscsi_initiator *initiator = &list->initiator[list->count];
	const char *word;
	int err = 0;

	if (!name_is_plain(name))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid initiator name: must be 1 to %d bytes without control characters",
			NAME_PLAIN_MAX);
	if (find(list, name))
		return diag_set(
			diag, DIAG_USAGE, EEXIST, "initiator '%s' is in the file twice", name);
	snprintf(initiator->name, sizeof(initiator->name), "%s", name);
	initiator->line = number;
	while (!err && (word = secret_list_word(&words)))
		err = read_word(initiator, word, diag);
	if (!err)
		err = check_words(initiator, diag);
	if (err)
		explicit_bzero(initiator, sizeof(*initiator));
	list->count += !err;
	list->md5 |= initiator->md5;
	return err;
}

/* RFC 7143, 12.1.3: with a secret of both directions, the target's response to a challenge of one
 * initiator would prove another one to it. */
static int check_directions(void *user, unsigned *number, struct diag *diag)
{
	const struct iscsi_initiators *list = user;

	for (unsigned i = 0; i < list->count; i++) {
		const struct iscsi_initiator *mutual = &list->initiator[i];

		for (unsigned other = 0; *mutual->secret[1] && other < list->count; other++) {
			if (strcmp(mutual->secret[1], list->initiator[other].secret[0]) != 0)
				continue;
			*number = mutual->line;
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"target-secret= is also the secret= of '%s': RFC 7143 forbids the "
				"same secret in both directions",
				list->initiator[other].name);
		}
	}
	return 0;
}

int iscsi_initiators_read(struct iscsi_initiators **out, const char *path, struct diag *diag)
{
	static const struct secret_list_reader reader = {
		.begin = make_room, .line = read_line, .end = check_directions
	};
	struct iscsi_initiators *list = calloc(1, sizeof(*list));
	int err;

	if (!list)
		return diag_sys(diag, ENOMEM, "%s", path);
	err = secret_list_read(path, &reader, list, diag);
	if (err)
		iscsi_initiators_free(list);
	else
		*out = list;
	return err;
}

unsigned iscsi_initiators_count(const struct iscsi_initiators *list)
{
	return list->count;
}

void iscsi_initiators_free(struct iscsi_initiators *list)
{
	if (!list)
		return;
	secret_free(list->initiator);
	free(list);
}

const struct iscsi_initiator *iscsi_initiators_find(
	const struct iscsi_initiators *list, const char *name)
{
	const struct iscsi_initiator *own = find(list, name), *others = find(list, ALL_OTHERS);

	return own ? own : others;
}

bool iscsi_initiator_is_same(const struct iscsi_initiator *one, const struct iscsi_initiator *other)
{
	for (unsigned i = 0; i < 2; i++)
		if (strcmp(one->user[i], other->user[i]) != 0 ||
			strcmp(one->secret[i], other->secret[i]) != 0)
			return false;
	return one->md5 == other->md5 && !strcmp(one->name, other->name);
}
