/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse dracut's "iscsi:" strings like its parse_iscsi_root() (modules.d/45net-lib/net-lib.sh), and
 * LUNs of boot strings (RFC 4173, 5). */
#include "iscsi_conf.h"
#include "names.h"
#include "uri.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIELDS 16

struct fields {
	const char *at[FIELDS];
	size_t len[FIELDS];
	unsigned count;
};

static size_t scheme_len(const char *text)
{
	return !strncmp(text, "iscsi:", 6) ? 6 : !strncmp(text, "iser:", 5) ? 5 : 0;
}

bool kernel_iscsi_is_string(const char *text)
{
	size_t len = scheme_len(text);

	return len && strncmp(text + len, "//", 2);
}

/* The text after the last '@', as anything before it may be a secret. */
static const char *shown(const char *text)
{
	const char *at = strrchr(text, '@');

	return at ? at + 1 : text + scheme_len(text);
}

static int malformed(const char *text, struct diag *diag, const char *why)
{
	diag_set(diag, DIAG_USAGE, EINVAL, "'%.*s%s%.200s': %s", (int)scheme_len(text), text,
		strchr(text, '@') ? "...@" : "", shown(text), why);
	diag_hint(diag, "expected iscsi:[USER:SECRET@]HOST:PROTOCOL:PORT:LUN:NAME; all but HOST "
			"and NAME may be empty");
	return -EINVAL;
}

static bool copy(char *to, size_t room, const char *from, size_t len)
{
	if (len >= room)
		return false;
	memcpy(to, from, len);
	to[len] = 0;
	return true;
}

/* Find the last ":iqn.", as a name may contain a colon. A text that begins with a name has nothing
 * before it. */
static const char *find_name(const char *rest)
{
	static const char *const types[] = { ":iqn.", ":eui.", ":naa." };

	for (unsigned i = 0; i < 3; i++) {
		const char *found = NULL;

		if (!strncmp(rest, types[i] + 1, 4))
			return rest;
		for (const char *at = rest; (at = strstr(at, types[i])); at++)
			found = at + 1;
		if (found)
			return found;
	}
	return NULL;
}

static unsigned count_colons(const char *text)
{
	unsigned count = 0;

	for (; *text; text++)
		count += *text == ':';
	return count;
}

static bool split(struct fields *f, const char *text, size_t len)
{
	const char *end = text + len;

	f->count = 0;
	for (;;) {
		const char *colon = memchr(text, ':', (size_t)(end - text));
		size_t n = (size_t)((colon ? colon : end) - text);

		if (f->count == FIELDS)
			return false;
		f->at[f->count] = text;
		f->len[f->count++] = n;
		if (!colon)
			return true;
		text = colon + 1;
	}
}

/* Parse "user:secret[:user:secret]" before an '@' that at least four colons follow and that is not
 * part of the name. Returns the text after it. */
static const char *take_auth(const char *rest, struct iscsi_wish *wish, const char **why)
{
	const char *at = strchr(rest, '@'), *name = find_name(rest);
	struct fields f;

	if (!at || count_colons(at) < 4 || (name && name < at))
		return rest;
	if (!split(&f, rest, (size_t)(at - rest)) || f.count > 4) {
		*why = "more than two users and two secrets before '@'";
		return NULL;
	}
	for (unsigned i = 0; i < f.count; i++)
		if (!copy((i & 1 ? wish->secret : wish->user)[i / 2], ISCSI_WISH_TEXT, f.at[i],
			    f.len[i])) {
			*why = "user or secret too long: must be at most 256 bytes";
			return NULL;
		}
	return at + 1;
}

static const char *take_host(const char *rest, struct iscsi_wish *wish, const char **why)
{
	const char *host = rest, *end = rest + strcspn(rest, ":");

	if (*rest == '[') {
		host++;
		end = strchr(rest, ']');
		if (!end || (end[1] && end[1] != ':')) {
			*why = "'[' without ']:'";
			return NULL;
		}
	}
	if (!copy(wish->host, sizeof(wish->host), host, (size_t)(end - host))) {
		*why = "host too long: must be at most 255 bytes";
		return NULL;
	}
	end += *end == ']';
	return end + (*end == ':');
}

static bool take_port(struct iscsi_wish *wish, const char *text, size_t len)
{
	char number[8];
	uint64_t port;

	if (!len)
		return true;
	if (!copy(number, sizeof(number), text, len) ||
		parse_u64(number, 1, UINT16_MAX, &port, NULL))
		return false;
	wish->port = (uint16_t)port;
	return true;
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && !strncasecmp(text, word, len);
}

/* The protocol is ignored, like all implementations do, except for our extension "iser". The
 * interface is one of iscsiadm's, of which "iser" means the same. */
static const char *take_fields(struct iscsi_wish *wish, const struct fields *f, unsigned count)
{
	unsigned at = 2;
	char lun[24];

	if (f->len[0] && is_word(f->at[0], f->len[0], "iser"))
		wish->iser = true;
	if (count > 1 && !take_port(wish, f->at[1], f->len[1]))
		return "port must be 1 to 65535";
	if (count > 5)
		return "too many fields";
	if (count == 5 && is_word(f->at[at++], f->len[2], "iser"))
		wish->iser = true;
	if (count >= 4 && !copy(wish->netdev, sizeof(wish->netdev), f->at[at], f->len[at]))
		return "interface too long: must be at most 15 bytes";
	at += count >= 4;
	if (at >= count || !f->len[at])
		return NULL;
	if (!copy(lun, sizeof(lun), f->at[at], f->len[at]) || !lun_parse(&wish->lun, lun))
		return "invalid LUN";
	return NULL;
}

static bool is_number(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return true;
}

/* A name of an unknown type is the text after the LUN. Interface and device are present if either
 * is, and a number or nothing follows. */
static const char *take_rest(struct iscsi_wish *wish, const char *rest)
{
	const char *name = find_name(rest);
	unsigned named = 3;
	struct fields f;

	if (!split(&f, rest,
		    name && name > rest ? (size_t)(name - rest) - 1
		    : name              ? 0
					: strlen(rest)))
		return "too many fields";
	if (!name) {
		if (f.count > 5 && f.len[2] + f.len[3] && is_number(f.at[4], f.len[4]))
			named = 5;
		if (f.count <= named)
			return "no target name";
		name = f.at[named];
		f.count = named;
	}
	if (!*name)
		return "no target name";
	if (!kernel_iscsi_conf_name(wish->name, name))
		return "invalid target name: must be at most 223 bytes without blanks";
	return take_fields(wish, &f, f.count);
}

/* For dracut a bare "iscsi:" means the firmware's targets; scripts that expect a host append
 * "iscsi" or "ibft". */
static bool is_firmware(const char *rest)
{
	return !*rest || !strcmp(rest, "iscsi") || !strcmp(rest, "iscsi:") ||
	       !strcmp(rest, "ibft") || !strcmp(rest, "ibft:");
}

int kernel_iscsi_string(const char *text, struct iscsi_wish *wish, struct diag *diag)
{
	const char *rest = text + scheme_len(text), *why = NULL;

	*wish = (struct iscsi_wish){
		.tpgt = -1, .lun = ISCSI_WISH_NO_LUN, .iser = !strncmp(text, "iser:", 5)
	};
	if (rest == text)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"expected a string that begins with iscsi: or iser:");
	if (is_firmware(rest)) {
		wish->firmware = true;
		return 0;
	}
	rest = take_auth(rest, wish, &why);
	if (rest)
		rest = take_host(rest, wish, &why);
	if (rest)
		why = take_rest(wish, rest);
	return why ? malformed(text, diag, why) : 0;
}
