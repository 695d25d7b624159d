/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Remove secrets from texts that people, logs or ps(1) will see. The text may be malformed. */
#include "names.h"
#include "uri.h"
#include "uri_fill.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>

bool uri_percent_ends_user(const char *scheme, size_t len)
{
	return (len >= 5 && !strncasecmp(scheme + len - 5, "iscsi", 5)) ||
	       (len >= 4 && !strncasecmp(scheme + len - 4, "iser", 4));
}

/* Find the first password at or after `from`, including its separator. It ends where uri_parse()
 * ends it, at the last '@' of the authority; in a text that holds more than a URI that may remove
 * too much. */
static char *find_password(char *text, char *from, size_t *len)
{
	for (char *p = strstr(from, "://"); p; p = strstr(p + 3, "://")) {
		char *start = p + 3, *end = start + strcspn(start, "/?#");
		char *at = memrchr(start, '@', (size_t)(end - start)), *cut = start;

		if (!at)
			continue;
		while (cut < at && *cut != ':' &&
			!(*cut == '%' && uri_percent_ends_user(text, (size_t)(p - text))))
			cut++;
		*len = (size_t)(at - cut);
		if (*len)
			return cut;
	}
	return NULL;
}

static void cut_out(char *at, size_t len)
{
	size_t tail = strlen(at + len);

	memmove(at, at + len, tail);
	explicit_bzero(at + tail, len);
}

/* A key's value is secret because of the key's name, or because it decodes to a URI with a
 * password. */
static bool secret_value(const char *name, size_t name_len, const char *value, size_t len)
{
	static const char *const ends[] = { "password", "secret", "psk" };
	char plain[URI_MAX];
	size_t n = 0, found;

	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t k = strlen(ends[i]);

		if (name_len >= k && !strncasecmp(name + name_len - k, ends[i], k))
			return true;
	}
	for (size_t i = 0; i < len && n < sizeof(plain) - 1; i++) {
		bool escaped = value[i] == '%' && i + 2 < len && hex_digit(value[i + 1]) >= 0 &&
			       hex_digit(value[i + 2]) >= 0;

		plain[n++] =
			escaped ? (char)(hex_digit(value[i + 1]) * 16 + hex_digit(value[i + 2]))
				: value[i];
		i += escaped ? 2 : 0;
	}
	plain[n] = 0;
	bool secret = find_password(plain, plain, &found);

	explicit_bzero(plain, sizeof(plain));
	return secret;
}

/* Hide NVMe keys in their text form (Base 2.1, 8.3.5.5.7; TCP Transport 1.1, 3.6.1.5), which their
 * prefix identifies. */
static void hide_keys(char *text)
{
	static const char *const marks[] = { "DHHC-1:", "NVMeTLSkey-1:" };

	for (unsigned i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		for (char *p = text; (p = strstr(p, marks[i]));) {
			p += strlen(marks[i]);
			if (isdigit((unsigned char)p[0]) && isdigit((unsigned char)p[1]) &&
				p[2] == ':')
				cut_out(p + 3, strspn(p + 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijk"
							     "lmnopqrstuvwxyz0123456789+/=:"));
		}
}

/* Find the target's name in dracut's string; an '@' after it is part of the name. */
static size_t boot_name(const char *text, size_t len)
{
	static const char *const names[] = { ":iqn.", ":eui.", ":naa." };

	for (unsigned i = 0; i < 3; i++)
		for (size_t at = len; at-- > 0;)
			if (len - at >= 5 && !strncasecmp(text + at, names[i], 5))
				return at;
	return len;
}

/* Cut the secrets out of "USER:SECRET[:USER:SECRET]@HOST:…", the part behind "iscsi:"
 * (dracut.cmdline(7)). */
static void hide_boot_string(char *start, size_t len)
{
	char *at = memrchr(start, '@', boot_name(start, len));

	start = at ? memchr(start, ':', (size_t)(at - start)) : NULL;
	if (start)
		cut_out(start, (size_t)(at - start));
}

/* Those are all of the text, or words of it. */
static void hide_boot_strings(char *text)
{
	static const char *const prefix[] = { "iscsi:", "iser:" };
	char *from = text, *p;

	if (uri_is_iscsi(text)) {
		from = strchr(text, ':') + 1;
		hide_boot_string(from, strlen(from));
		from += strcspn(from, URI_ENDS);
	}
	for (unsigned i = 0; i < 2; i++)
		for (p = from; (p = strcasestr(p, prefix[i]));) {
			bool begins = p == text || !isalnum((unsigned char)p[-1]);

			p += strlen(prefix[i]);
			if (begins && strncmp(p, "//", 2))
				hide_boot_string(p, strcspn(p, URI_ENDS));
		}
}

void uri_hide(char *text)
{
	size_t len;

	hide_keys(text);
	if (uri_is_iscsi(text)) /* whose secret may contain "://" */
		hide_boot_strings(text);
	for (char *p = find_password(text, text, &len); p; p = find_password(text, p, &len))
		cut_out(p, len);
	hide_boot_strings(text);
	for (char *p = strchr(text, '?'); p && *p; p += strcspn(p, "&")) {
		char *name = ++p;
		size_t name_len = strcspn(name, "=&");

		if (name[name_len] != '=')
			continue;
		p += name_len + 1;
		len = strcspn(p, "&");
		if (secret_value(name, name_len, p, len))
			cut_out(p, len);
	}
}

void secret_disable_dumps(void)
{
	prctl(PR_SET_DUMPABLE, 0);
}
