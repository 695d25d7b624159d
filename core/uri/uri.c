/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The grammar of URIs and plain paths (rdmastor-uri(7)). uri_key.c handles the keys, uri_trid.c
 * transport IDs; each scheme's owner interprets the rest. */
#include "uri.h"
#include "names.h"
#include "uri_fill.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Decode "%XX". -1: invalid, or NUL, which a URI must not contain. */
static int unescape(const char *piece, size_t len)
{
	int high = len < 3 ? -1 : hex_digit(piece[1]), low = len < 3 ? -1 : hex_digit(piece[2]);

	return high < 0 || low < 0 || !(high | low) ? -1 : high * 16 + low;
}

const char *uri_fill_text(
	struct uri_fill *fill, const char *what, const char *piece, size_t len, bool decode)
{
	char *start = fill->uri->text + fill->used, *to = start;

	if (len >= URI_MAX - fill->used) {
		diag_set(fill->diag, DIAG_USAGE, ENAMETOOLONG,
			"URI too long: must be at most %d bytes", URI_MAX - 1);
		return NULL;
	}
	for (size_t i = 0; i < len; i++) {
		int c = piece[i];

		if (decode && c == '%') {
			c = unescape(piece + i, len - i);
			if (c < 0 && what)
				diag_set(fill->diag, DIAG_USAGE, EINVAL,
					"%s '%.*s': invalid percent-encoding '%.*s'", what,
					(int)len, piece, len - i < 3 ? (int)(len - i) : 3,
					piece + i);
			else if (c < 0)
				diag_set(fill->diag, DIAG_USAGE, EINVAL,
					"invalid percent-encoding in the password");
			if (c < 0) {
				diag_hint(fill->diag, "write a literal '%%' as %%25");
				return NULL;
			}
			i += 2;
		}
		*to++ = (char)c;
	}
	*to++ = 0;
	fill->used = (size_t)(to - fill->uri->text);
	return start;
}

int uri_fill_port(struct uri_fill *fill, const char *piece, size_t len)
{
	uint32_t port = 0;

	for (size_t i = 0; i < len && port <= UINT16_MAX; i++)
		port = isdigit((unsigned char)piece[i]) ? port * 10 + (uint32_t)(piece[i] - '0')
							: UINT32_MAX / 2;
	if (!port || port > UINT16_MAX)
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"invalid port '%.*s': must be 1 to 65535", (int)len, piece);
	fill->uri->port = (uint16_t)port;
	return 0;
}

static int fill_v6(struct uri_fill *fill, const char *piece, size_t len)
{
	struct in6_addr addr;
	char text[INET6_ADDRSTRLEN + 1];
	const char *percent = memchr(piece, '%', len);
	size_t numeric = percent ? (size_t)(percent - piece) : len;

	snprintf(text, sizeof(text), "%.*s", (int)numeric, piece);
	if (numeric >= sizeof(text) || inet_pton(AF_INET6, text, &addr) != 1 ||
		(percent && numeric + 1 == len))
		return diag_set(fill->diag, DIAG_USAGE, EINVAL, "invalid IPv6 address '%.*s'",
			(int)len, piece);
	/* RFC 6874 escapes the '%' before the scope, but most tools write it raw. "%25" alone is
	 * scope 25. */
	const char *scope = percent ? percent + 1 : "";

	if (percent && len - numeric > 3 && !strncmp(percent, "%25", 3))
		scope += 2;
	size_t scope_len = percent ? (size_t)(piece + len - scope) : 0;
	char whole[INET6_ADDRSTRLEN + 64];

	if (memchr(scope, ':', scope_len) || memchr(scope, '/', scope_len))
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"scope '%.*s': not an interface name", (int)scope_len, scope);
	if (scope_len >= 64)
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"scope '%.*s': too long for an interface name", (int)scope_len, scope);
	int n = snprintf(
		whole, sizeof(whole), "%s%s%.*s", text, percent ? "%" : "", (int)scope_len, scope);

	fill->uri->host = uri_fill_text(fill, "host", whole, (size_t)n, false);
	return fill->uri->host ? 0 : -EINVAL;
}

int uri_fill_host(struct uri_fill *fill, const char *piece, size_t len, bool v6)
{
	bool numeric = memchr(piece, '.', len);
	struct in_addr addr;

	if (v6)
		return fill_v6(fill, piece, len);
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)piece[i]) && !strchr(".-_", piece[i]))
			return diag_set(fill->diag, DIAG_USAGE, EINVAL, "invalid host name '%.*s'",
				(int)len, piece);
		numeric &= isdigit((unsigned char)piece[i]) || piece[i] == '.';
	}
	fill->uri->host = uri_fill_text(fill, "host", piece, len, false);
	if (!fill->uri->host)
		return -EINVAL;
	if (numeric && inet_pton(AF_INET, fill->uri->host, &addr) != 1)
		return diag_set(fill->diag, DIAG_USAGE, EINVAL, "invalid IPv4 address '%s'",
			fill->uri->host);
	return 0;
}

/* user:password of RFC 3986, or libiscsi's user%password, whose password is not percent-encoded. */
static int fill_user(struct uri_fill *fill, const char *piece, size_t len)
{
	struct uri *uri = fill->uri;
	bool libiscsi = uri_percent_ends_user(uri->scheme, strlen(uri->scheme));
	size_t n = 0;

	while (n < len && piece[n] != ':' && !(libiscsi && piece[n] == '%'))
		n++;
	uri->user = uri_fill_text(fill, "user", piece, n, true);
	if (!uri->user)
		return -EINVAL;
	if (n == len)
		return 0;
	uri->password = uri_fill_text(fill, NULL, piece + n + 1, len - n - 1, piece[n] == ':');
	return uri->password ? 0 : -EINVAL;
}

int uri_fill_host_port(struct uri_fill *fill, const char *piece, size_t len)
{
	const char *end = piece + len, *close = memchr(piece, ']', len), *colon;
	bool v6 = len && *piece == '[';

	if (v6 && !close)
		return diag_set(
			fill->diag, DIAG_USAGE, EINVAL, "'%.*s': missing ']'", (int)len, piece);
	colon = v6 ? close + 1 : memchr(piece, ':', len);
	if (!colon)
		colon = end;
	if (v6 && colon < end && *colon != ':')
		return diag_set(fill->diag, DIAG_USAGE, EINVAL, "'%.*s' after ']': expected :PORT",
			(int)(end - colon), colon);
	if (!v6 && colon < end && memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
		diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"invalid address '%.*s': expected HOST:PORT", (int)len, piece);
		return diag_hint(
			fill->diag, "write an IPv6 address in brackets: [%.*s]", (int)len, piece);
	}
	if (colon == piece && len)
		return diag_set(
			fill->diag, DIAG_USAGE, EINVAL, "no host in '%.*s'", (int)len, piece);
	int rc = v6 ? uri_fill_host(fill, piece + 1, (size_t)(close - piece - 1), true)
		    : uri_fill_host(fill, piece, (size_t)(colon - piece), false);

	return rc || colon == end ? rc : uri_fill_port(fill, colon + 1, (size_t)(end - colon - 1));
}

static int fill_authority(struct uri_fill *fill, const char *piece, size_t len)
{
	const char *at = memrchr(piece, '@', len);
	int rc = at ? fill_user(fill, piece, (size_t)(at - piece)) : 0;

	if (rc)
		return rc;
	return at ? uri_fill_host_port(fill, at + 1, (size_t)(piece + len - at - 1))
		  : uri_fill_host_port(fill, piece, len);
}

static int fill_query(struct uri_fill *fill, const char *query)
{
	for (const char *p = query; *p; p += strcspn(p, "&"), p += *p == '&') {
		size_t len = strcspn(p, "&"), name_len = strcspn(p, "=&");

		if (!len)
			continue;
		if (!name_len)
			return diag_set(fill->diag, DIAG_USAGE, EINVAL, "'%.*s': no key before '='",
				(int)len, p);
		const char *name = uri_fill_text(fill, "key", p, name_len, true);
		size_t skip = name_len + (name_len < len);
		const char *value =
			name ? uri_fill_text(fill, name, p + skip, len - skip, true) : NULL;

		if (!value)
			return -EINVAL;
		int rc = uri_fill_key(fill, name, value);

		if (rc)
			return rc;
	}
	return 0;
}

int uri_fill_key(struct uri_fill *fill, const char *name, const char *value)
{
	struct uri *uri = fill->uri;

	if (uri->keys == URI_KEYS)
		return diag_set(fill->diag, DIAG_USAGE, E2BIG, "key '%s': more than %d keys", name,
			URI_KEYS);
	uri->key[uri->keys++] = (struct uri_key){ .name = name, .value = value };
	return 0;
}

int uri_fill_plain_key(struct uri_fill *fill, const char *name, const char *value, size_t len)
{
	const char *text = len ? uri_fill_text(fill, NULL, value, len, false) : NULL;

	return !len ? 0 : text ? uri_fill_key(fill, name, text) : -EINVAL;
}

static size_t decoded_len(const char *piece, size_t len)
{
	size_t escapes = 0;

	for (size_t i = 0; i < len; i++)
		escapes += piece[i] == '%';
	return len - 2 * escapes;
}

/* Decode the path and what follows it. */
static int fill_rest(struct uri_fill *fill, const char *rest)
{
	size_t len = strcspn(rest, "?#");
	const char *hash = strchr(rest, '#'), *slash = memrchr(rest, '/', len);

	if (hash) {
		diag_set(fill->diag, DIAG_USAGE, EINVAL, "'%s': a disk URI has no fragment", hash);
		return diag_hint(fill->diag, "write a literal '#' as %%23");
	}
	fill->uri->path = uri_fill_text(fill, "path", rest, len, true);
	if (!fill->uri->path)
		return -EINVAL;
	fill->uri->name_len = decoded_len(rest, slash ? (size_t)(slash - rest) : len);
	return rest[len] ? fill_query(fill, rest + len + 1) : 0;
}

/* A file name may contain any character, so split off keys only after "file:", and only at the
 * end. */
static const char *keys_of_file(const char *rest)
{
	const char *mark = strrchr(rest, '?');
	size_t len = mark ? strspn(mark + 1, "abcdefghijklmnopqrstuvwxyz-_") : 0;

	return len && (!mark[1 + len] || mark[1 + len] == '=' || mark[1 + len] == '&') ? mark
										       : NULL;
}

static int fill_file(struct uri_fill *fill, const char *rest, bool keys)
{
	const char *mark = keys ? keys_of_file(rest) : NULL;
	size_t len = mark ? (size_t)(mark - rest) : strlen(rest);

	if (!len)
		return diag_set(fill->diag, DIAG_USAGE, EINVAL, "no file name given");
	fill->uri->scheme = "file";
	fill->uri->path = uri_fill_text(fill, "path", rest, len, false);
	if (!fill->uri->path)
		return -EINVAL;
	return mark ? fill_query(fill, mark + 1) : 0;
}

/* file:///PATH (RFC 8089), unlike file:PATH, is percent-encoded. */
static int fill_file_url(struct uri_fill *fill, const char *rest)
{
	size_t len = strcspn(rest, "/?#");

	if (len && (len != 9 || strncasecmp(rest, "localhost", len)))
		return diag_set(fill->diag, DIAG_USAGE, EINVAL,
			"host '%.*s': files can only be opened on this machine", (int)len, rest);
	if (rest[len] != '/')
		return diag_set(fill->diag, DIAG_USAGE, EINVAL, "no file name given");
	fill->uri->scheme = "file";
	return fill_rest(fill, rest + len);
}

/* Length of "scheme" before ':'; 0 = the text does not begin with one (RFC 3986 3.1). */
static size_t scheme_len(const char *text)
{
	size_t len = 0;

	while (isalnum((unsigned char)text[len]) || (len && text[len] && strchr("+-.", text[len])))
		len++;
	return isalpha((unsigned char)text[0]) && text[len] == ':' ? len : 0;
}

static bool scheme_is(const char *text, size_t len, const char *scheme)
{
	return len == strlen(scheme) && !strncasecmp(text, scheme, len);
}

static int fill_scheme(struct uri_fill *fill, const char *text, size_t len)
{
	const char *scheme = uri_fill_text(fill, "scheme", text, len, false);

	if (!scheme)
		return -EINVAL;
	for (char *p = fill->uri->text; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	fill->uri->scheme = scheme;
	return 0;
}

static int fill_hierarchical(struct uri_fill *fill, const char *text, size_t len)
{
	const char *rest = text + len + 3;
	size_t authority = strcspn(rest, "/?#");
	int rc = fill_scheme(fill, text, len);

	if (!rc)
		rc = fill_authority(fill, rest, authority);
	rest += authority;
	return rc ? rc : fill_rest(fill, rest + (*rest == '/'));
}

static int fill_opaque(struct uri_fill *fill, const char *text, size_t len)
{
	int rc = fill_scheme(fill, text, len);

	return rc ? rc : fill_rest(fill, text + len + 1);
}

static const char *after_nbd(const char *text)
{
	return !strncasecmp(text, "nbd:", 4) && strncmp(text + 4, "//", 2) && strchr(text + 4, ':')
		       ? text + 4
		       : NULL;
}

/* The form that qemu had before URIs, not encoded: "nbd:HOST:PORT" or "nbd:unix:PATH", and
 * ":exportname=NAME". */
static int fill_qemu(struct uri_fill *fill, const char *rest)
{
	static const char mark[] = ":exportname=";
	const char *found = strstr(rest, mark), *name = found ? found + strlen(mark) : "";
	size_t len = found ? (size_t)(found - rest) : strlen(rest);
	bool is_unix = !strncmp(rest, "unix:", 5);
	const char *socket =
		is_unix ? uri_fill_text(fill, "socket", rest + 5, len - 5, false) : NULL;

	fill->uri->scheme = is_unix ? "nbd+unix" : "nbd";
	fill->uri->path = uri_fill_text(fill, "export", name, strlen(name), false);
	if (!fill->uri->path || (is_unix && !socket))
		return -EINVAL;
	return is_unix ? uri_fill_key(fill, "socket", socket) : uri_fill_host_port(fill, rest, len);
}

/* An address, "localhost", "NAME:PORT" or a name of three labels. */
static bool is_host(const char *text)
{
	const char *colon = strchr(text, ':'), *dot = strchr(text, '.');
	struct addr addr;

	if (!*text || strpbrk(text, "/?= \t"))
		return false;
	if (*text == '[' || !strcmp(text, "localhost") || !addr_numeric(&addr, text, 1, NULL))
		return true;
	if (colon)
		return colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
	return dot && strchr(dot + 1, '.');
}

void uri_hint_host(const char *text, struct diag *diag)
{
	if (is_host(text))
		diag_hint(diag, "list the disks of a host with: rdmastor discover %s", text);
}

static int fill_any(struct uri_fill *fill, const char *text)
{
	size_t len = scheme_len(text);

	if (!*text)
		return diag_set(fill->diag, DIAG_USAGE, EINVAL, "empty URI");
	if (!strcmp(text, "-")) {
		fill->uri->scheme = "-";
		return 0;
	}
	if (uri_is_trid(text))
		return uri_parse_trid(fill, text);
	if (uri_is_iscsi(text))
		return uri_parse_iscsi(fill, text);
	if (scheme_is(text, len, "file"))
		return strncmp(text + len, "://", 3) ? fill_file(fill, text + len + 1, true)
						     : fill_file_url(fill, text + len + 3);
	if (len && !strncmp(text + len, "://", 3))
		return fill_hierarchical(fill, text, len);
	if (scheme_is(text, len, "ram") || scheme_is(text, len, "null"))
		return fill_opaque(fill, text, len);
	if (!len || !access(text, F_OK))
		return fill_file(fill, text, false);
	if (after_nbd(text))
		return fill_qemu(fill, after_nbd(text));
	diag_set(fill->diag, DIAG_USAGE, EINVAL, "no '//' after '%.*s:', and no file has this name",
		(int)len, text);
	diag_hint(fill->diag, "for a new file of this name: ./%s", text);
	uri_hint_host(text, fill->diag);
	return -EINVAL;
}

bool uri_is_address(const char *text)
{
	return strstr(text, "://") || uri_is_trid(text) || uri_is_iscsi(text) || after_nbd(text);
}

int uri_parse(struct uri *uri, const char *text, struct diag *diag)
{
	struct uri_fill fill = { .uri = uri, .diag = diag };

	memset(uri, 0, sizeof(*uri));
	uri->scheme = uri->host = uri->path = "";
	snprintf(uri->spelling, sizeof(uri->spelling), "%s", text);
	uri_hide(uri->spelling);
	if (strlen(text) >= URI_MAX)
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG,
			"URI too long: must be at most %d bytes", URI_MAX - 1);
	int rc = fill_any(&fill, text);

	return rc && diag ? diag_ctx(diag, "%s", uri->spelling) : rc;
}

const char *uri_unit(const struct uri *uri)
{
	return uri->path + uri->name_len + (uri->path[uri->name_len] == '/');
}

bool uri_name(const struct uri *uri, char *name, size_t room)
{
	return (size_t)snprintf(name, room, "%.*s", (int)uri->name_len, uri->path) < room;
}

struct uri *uri_new(const char *text)
{
	struct uri *uri = calloc(1, sizeof(*uri));

	if (uri && !uri_parse(uri, text, NULL))
		return uri;
	free(uri);
	return NULL;
}
