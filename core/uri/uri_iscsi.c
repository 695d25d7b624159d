/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse dracut's "iscsi:" strings like its parse_iscsi_root() (modules.d/45net-lib/net-lib.sh;
 * RFC 4173, 5). The result is the struct uri of the same iscsi:// or iser:// URI. */
#include "names.h"
#include "uri_fill.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FIELDS 16

struct field {
	const char *at;
	size_t len;
};

struct iscsi_string {
	struct field user[4];             /* our user and secret, then the target's */
	struct field host, field[FIELDS]; /* what is between host and name */
	unsigned users, fields;
	const char *name;
	struct field netdev;
	uint64_t port, lun; /* port 0: none */
	bool has_lun, iser;
};

static size_t scheme_len(const char *text)
{
	return !strncasecmp(text, "iscsi:", 6) ? 6 : !strncasecmp(text, "iser:", 5) ? 5 : 0;
}

bool uri_is_iscsi(const char *text)
{
	size_t len = scheme_len(text);

	return len && strncmp(text + len, "//", 2);
}

bool uri_is_firmware(const char *text)
{
	const char *rest = text + scheme_len(text);

	return uri_is_iscsi(text) && (!*rest || !strcmp(rest, "iscsi") || !strcmp(rest, "iscsi:") ||
					     !strcmp(rest, "ibft") || !strcmp(rest, "ibft:"));
}

/* Find the last ":iqn.", as a name may contain a colon. A text that begins with a name has nothing
 * before it. */
static const char *find_name(const char *rest)
{
	static const char *const types[] = { ":iqn.", ":eui.", ":naa." };

	for (unsigned i = 0; i < 3; i++) {
		const char *found = NULL;

		if (!strncasecmp(rest, types[i] + 1, 4))
			return rest;
		for (const char *at = rest; (at = strcasestr(at, types[i])); at++)
			found = at + 1;
		if (found)
			return found;
	}
	return NULL;
}

/* Count those before a '?', which no name may have: what follows may be hidden as a secret. */
static unsigned count_colons(const char *text)
{
	unsigned count = 0;

	for (; *text && *text != '?'; text++)
		count += *text == ':';
	return count;
}

/* false: more than `most` */
static bool split(struct field *field, unsigned *count, unsigned most, const char *text, size_t len)
{
	const char *end = text + len;

	for (*count = 0; *count < most;) {
		const char *colon = memchr(text, ':', (size_t)(end - text));

		field[(*count)++] = (struct field){ text, (size_t)((colon ? colon : end) - text) };
		if (!colon)
			return true;
		text = colon + 1;
	}
	return false;
}

/* "user:secret[:user:secret]" before an '@' that at least four colons follow and that is not part
 * of the name. Returns the text after it. */
static const char *parse_auth(const char *rest, struct iscsi_string *to, const char **why)
{
	const char *at = strchr(rest, '@'), *name = find_name(rest);

	if (!at || count_colons(at) < 4 || (name && name < at))
		return rest;
	if (memchr(at + 1, '@', name ? (size_t)(name - at - 1) : strlen(at + 1))) {
		*why = "more than one '@' before the name";
		return NULL;
	}
	if (!split(to->user, &to->users, 4, rest, (size_t)(at - rest))) {
		*why = "more than two users and two secrets before '@'";
		return NULL;
	}
	if (memchr(to->user[0].at, '?', to->user[0].len)) {
		*why = "'?' in the user name";
		return NULL;
	}
	for (unsigned i = 0; i < to->users; i++)
		if (to->user[i].len > URI_ISCSI_SECRET) {
			*why = "user or secret too long: must be at most 256 bytes";
			return NULL;
		}
	return at + 1;
}

static const char *parse_host(const char *rest, struct iscsi_string *to, const char **why)
{
	const char *end = rest + strcspn(rest, ":");

	if (*rest == '[') {
		end = strchr(rest, ']');
		if (!end || (end[1] && end[1] != ':')) {
			*why = "'[' without ']:'";
			return NULL;
		}
		end++;
	}
	to->host = (struct field){ rest, (size_t)(end - rest) };
	if (to->host.len >= ADDR_HOST) {
		*why = "host too long: must be at most 255 bytes";
		return NULL;
	}
	return end + (*end == ':');
}

static bool is_word(struct field field, const char *word)
{
	return field.len == strlen(word) && !strncasecmp(field.at, word, field.len);
}

static const char *parse_port(struct iscsi_string *to, struct field field)
{
	char text[8];

	snprintf(text, sizeof(text), "%.*s", (int)field.len, field.at);
	if (field.len &&
		(field.len >= sizeof(text) || parse_u64(text, 1, UINT16_MAX, &to->port, NULL)))
		return "port must be 1 to 65535";
	return NULL;
}

static const char *parse_lun(struct iscsi_string *to, struct field field)
{
	char text[24];

	to->has_lun = field.len;
	snprintf(text, sizeof(text), "%.*s", (int)field.len, field.at);
	if (field.len && (field.len >= sizeof(text) || !lun_parse(&to->lun, text)))
		return "invalid LUN";
	return NULL;
}

/* The protocol is ignored, as by all implementations, except for our extension "iser". An
 * interface is a name of iscsiadm's; the one named "iser" selects iSER, too. */
static const char *parse_fields(struct iscsi_string *to)
{
	const struct field *field = to->field;
	const char *why = NULL;
	unsigned at = 2;

	to->iser |= is_word(field[0], "iser");
	if (to->fields > 1)
		why = parse_port(to, field[1]);
	if (!why && to->fields > 5)
		why = "too many fields";
	if (!why && to->fields == 5)
		to->iser |= is_word(field[at++], "iser");
	if (!why && to->fields >= 4)
		to->netdev = field[at++];
	if (to->netdev.len > 15)
		why = "interface too long: must be at most 15 bytes";
	return why || at >= to->fields ? why : parse_lun(to, field[at]);
}

static bool is_number(struct field field)
{
	for (size_t i = 0; i < field.len; i++)
		if (!isdigit((unsigned char)field.at[i]))
			return false;
	return true;
}

/* A name of an unknown type is the text after the LUN. Interface and device are present if either
 * is, and a number or nothing follows. */
static const char *parse_rest(struct iscsi_string *to, const char *rest)
{
	const char *name = find_name(rest);
	const struct field *field = to->field;
	size_t len = !name ? strlen(rest) : name > rest ? (size_t)(name - rest) - 1 : 0;

	if (!split(to->field, &to->fields, FIELDS, rest, len))
		return "too many fields";
	if (!name) {
		bool both = to->fields > 5 && field[2].len + field[3].len && is_number(field[4]);
		unsigned named = both ? 5 : 3;

		if (to->fields <= named)
			return "no target name";
		name = field[named].at;
		to->fields = named;
	}
	if (!*name)
		return "no target name";
	if (!name_is_plain(name))
		return "invalid target name: must be at most 223 bytes without blanks";
	to->name = name;
	return parse_fields(to);
}

static int fill_host(struct uri_fill *fill, struct field host)
{
	if (host.len && *host.at == '[')
		host = (struct field){ host.at + 1, host.len - 2 };
	return uri_fill_host(fill, host.at, host.len, memchr(host.at, ':', host.len));
}

static int fill_path(struct uri_fill *fill, const struct iscsi_string *from)
{
	char path[300];

	snprintf(path, sizeof(path), from->has_lun ? "%s/%llu" : "%s", from->name,
		(unsigned long long)from->lun);
	fill->uri->path = uri_fill_text(fill, "path", path, strlen(path), false);
	fill->uri->name_len = strlen(from->name);
	return fill->uri->path ? 0 : -EINVAL;
}

static int fill_users(struct uri_fill *fill, const struct iscsi_string *from)
{
	const struct field *user = from->user;
	struct uri *uri = fill->uri;
	int err;

	if (from->users)
		uri->user = uri_fill_text(fill, NULL, user[0].at, user[0].len, false);
	if (user[1].len)
		uri->password = uri_fill_text(fill, NULL, user[1].at, user[1].len, false);
	if ((from->users && !uri->user) || (user[1].len && !uri->password))
		return -EINVAL;
	err = uri_fill_plain_key(fill, "target_user", user[2].at, user[2].len);
	return err ? err : uri_fill_plain_key(fill, "target_password", user[3].at, user[3].len);
}

int uri_parse_iscsi(struct uri_fill *fill, const char *text)
{
	struct iscsi_string parts = { .iser = scheme_len(text) == 5 };
	const char *rest = text + scheme_len(text), *why = NULL;
	int err;

	if (uri_is_firmware(text)) {
		diag_set(fill->diag, DIAG_USAGE, EINVAL, "stands for the firmware's targets");
		diag_hint(fill->diag, "attach them: rdmastor iser-login --ibft");
		return -EINVAL;
	}
	if (strpbrk(text, URI_ENDS))
		why = "blank or quote in the string";
	if (!why)
		rest = parse_auth(rest, &parts, &why);
	if (!why)
		rest = parse_host(rest, &parts, &why);
	if (!why)
		why = parse_rest(&parts, rest);
	if (why) {
		diag_set(fill->diag, DIAG_USAGE, EINVAL, "%s", why);
		diag_hint(fill->diag, "expected iscsi:HOST:PROTOCOL:PORT:LUN:NAME, or with a user "
				      "USER:SECRET@HOST; all but HOST and NAME may be empty");
		return -EINVAL;
	}
	fill->uri->scheme = parts.iser ? "iser" : "iscsi";
	fill->uri->port = (uint16_t)parts.port;
	err = fill_host(fill, parts.host);
	if (!err)
		err = fill_path(fill, &parts);
	if (!err)
		err = uri_fill_plain_key(fill, "iface", parts.netdev.at, parts.netdev.len);
	return err ? err : fill_users(fill, &parts);
}
