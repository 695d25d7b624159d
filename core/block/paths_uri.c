/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse the URIs of a disk's paths: the main one, and its path= keys, each a whole URI or a
 * host[:port] that replaces that of the main one. */
#include "block.h"
#include "paths.h"
#include "policy.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Relocate a pointer into the text of a copied URI. */
static const char *moved(const struct uri *from, struct uri *to, const char *text)
{
	return text >= from->text && text < from->text + sizeof(from->text)
		       ? to->text + (text - from->text)
		       : text;
}

static void uri_copy(struct uri *to, const struct uri *from)
{
	*to = *from;
	to->scheme = moved(from, to, from->scheme);
	to->user = moved(from, to, from->user);
	to->password = moved(from, to, from->password);
	to->host = moved(from, to, from->host);
	to->path = moved(from, to, from->path);
	for (unsigned i = 0; i < to->keys; i++) {
		to->key[i].name = moved(from, to, from->key[i].name);
		to->key[i].value = moved(from, to, from->key[i].value);
	}
}

/* Modifies the copy's own text; the value of path= is no longer needed there. */
static int uri_rehost(struct uri *uri, char *value, struct diag *diag)
{
	char *host = value, *port = NULL, *end, text[URI_MAX];
	uint64_t number;

	snprintf(text, sizeof(text), "%s://%.256s", uri->scheme, value);
	uri_add_target(text, uri);
	memcpy(uri->spelling, text, sizeof(text));
	if (*host == '[') {
		end = strchr(++host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return diag_set(
				diag, DIAG_USAGE, EINVAL, "path=%s: '[' without ']'", value);
		*end = 0;
		port = end[1] ? end + 2 : NULL;
	} else if (strchr(host, ':') == strrchr(host, ':') && strchr(host, ':')) {
		port = strchr(host, ':');
		*port++ = 0;
	}
	if (!*host)
		return diag_set(diag, DIAG_USAGE, EINVAL, "path=: no host given");
	if (port) {
		if (parse_u64(port, 1, 65535, &number, NULL))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"path=%s: invalid port '%s': must be 1 to 65535", value, port);
		uri->port = (uint16_t)number;
	}
	uri->host = host;
	return 0;
}

static int loss_of(struct uri *uri, uint32_t *loss_ms, struct diag *diag)
{
	const char *value = uri_value(uri, "loss");

	if (!value || !loss_read(value, "loss=", LOSS_MAX, loss_ms, diag))
		return 0;
	return diag_ctx(diag, "%s", uri->spelling);
}

static const char *const policies[] = { [PATHS_FAILOVER] = "failover",
	[PATHS_ROUND_ROBIN] = "round-robin",
	[PATHS_QUEUE_DEPTH] = "queue-depth" };

const char *paths_policy_word(enum paths_policy policy)
{
	return policies[policy];
}

static int read_policy(struct uri *uri, struct paths_keys *keys, struct diag *diag)
{
	const char *value = uri_value(uri, "policy");

	if (!value)
		return 0;
	for (uint8_t i = 0; i < sizeof(policies) / sizeof(*policies); i++)
		if (!strcmp(value, policies[i])) {
			keys->policy = i;
			return 0;
		}
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"policy='%s': must be failover, round-robin or queue-depth", value);
}

static int read_preferred(struct uri *uri, struct paths_keys *keys, struct diag *diag)
{
	const char *value = uri_value(uri, "preferred");

	if (!value)
		return 0;
	if (keys->policy != PATHS_FAILOVER)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"preferred= requires policy=failover: policy=%s uses all paths",
			uri_value(uri, "policy"));
	while (keys->preferred++ < keys->others)
		if (!strcmp(value, uri_value_nth(uri, "path", keys->preferred - 1)))
			return 0;
	return diag_set(
		diag, DIAG_USAGE, EINVAL, "preferred='%s': must be the same as a path= key", value);
}

/* The key is unknown to schemes without such a list, so that nothing offers it there. */
static int read_paths(struct uri *uri, struct paths_keys *keys, struct diag *diag)
{
	const char *value;

	if (!bdev_lists_paths(uri)) {
		if (!uri_has(uri, "paths"))
			return 0;
		diag_set(diag, DIAG_USAGE, EINVAL,
			"paths=: targets of %s do not list their addresses", uri->scheme);
		return diag_hint(diag, "name the other paths in the URI: path=HOST[:PORT]"),
		       -EINVAL;
	}
	value = uri_value(uri, "paths");
	keys->search = value;
	if (value && strcmp(value, "auto"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "paths='%s': must be auto", value);
	return 0;
}

int paths_keys(struct uri *uri, struct paths_keys *keys, struct diag *diag)
{
	const char *value;
	int err = loss_of(uri, &keys->loss_ms, diag);

	if (!err)
		err = uri_msec(uri, "quiesce", &keys->quiesce_ms, diag);
	if (!err)
		err = read_policy(uri, keys, diag);
	if (!err)
		err = read_paths(uri, keys, diag);
	while (!err && (value = uri_value_nth(uri, "path", keys->others))) {
		if (keys->others++ == URI_PATHS)
			return diag_set(
				diag, DIAG_USAGE, EINVAL, "more than %u path= keys", URI_PATHS);
		if (!*value)
			return diag_set(diag, DIAG_USAGE, EINVAL, "path=: no host given");
	}
	return err ? err : read_preferred(uri, keys, diag);
}

int paths_uris(struct paths *paths, struct uri *uri, struct diag *diag)
{
	struct paths_keys keys = { .loss_ms = paths->loss_ms, .quiesce_ms = paths->quiesce_ms };
	const char *value;
	int err = paths_keys(uri, &keys, diag);

	paths->loss_ms = keys.loss_ms;
	paths->quiesce_ms = keys.quiesce_ms;
	paths->policy = keys.policy;
	paths->preferred = keys.preferred;
	paths->find = keys.search;
	if (err)
		return err;
	/* all path= keys are marked as used by now, also in the copies */
	paths->count = 1 + keys.others;
	uri_copy(&paths->path[keys.preferred ? 1 : 0].uri, uri);
	for (unsigned i = 0; i < keys.others && !err; i++) {
		unsigned place = i + 1 == keys.preferred  ? 0
				 : i + 1 < keys.preferred ? i + 2
							  : i + 1;
		struct uri *other = &paths->path[place].uri;

		value = uri_value_nth(uri, "path", i);
		if (strstr(value, "://")) {
			err = uri_parse(other, value, diag);
		} else {
			uri_copy(other, uri);
			err = uri_rehost(other, other->text + (value - uri->text), diag);
		}
	}
	return err;
}

void paths_add(struct paths *paths, const struct path *like, const struct addr *addr)
{
	struct uri *uri = &paths->path[paths->count++].uri;

	uri_copy(uri, &like->uri);
	addr_host(addr, uri->numeric);
	uri->host = uri->numeric;
	uri->port = addr_port(addr);
	uri_start(uri->spelling, uri->scheme, uri->host, uri->port);
	uri_add_target(uri->spelling, uri);
}
