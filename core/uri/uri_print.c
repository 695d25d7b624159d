/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print URIs, so that what is printed can be parsed. */
#include "uri.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add(char text[URI_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(char text[URI_MAX], const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + len, URI_MAX - len, fmt, args);
	va_end(args);
}

static void encode(char text[URI_MAX], const char *from, const char *also)
{
	size_t len = strlen(text);

	for (; *from && len < URI_MAX - 1; from++) {
		unsigned char c = (unsigned char)*from;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || strchr(also, c);

		len += (size_t)snprintf(text + len, URI_MAX - len, plain ? "%c" : "%%%02X", c);
	}
}

void uri_start(char text[URI_MAX], const char *scheme, const char *host, unsigned port)
{
	uri_start_user(text, scheme, NULL, host, port);
}

void uri_start_user(
	char text[URI_MAX], const char *scheme, const char *user, const char *host, unsigned port)
{
	text[0] = 0;
	add(text, "%s://", scheme);
	if (user) {
		encode(text, user, "-._~");
		add(text, "@");
	}
	add(text, strchr(host, ':') ? "[%s]" : "%s", host);
	if (port)
		add(text, ":%u", port);
}

void uri_encode(char text[URI_MAX], const char *from)
{
	encode(text, from, "-._~/:");
}

void uri_add_name(char text[URI_MAX], const char *name)
{
	add(text, "/");
	encode(text, name, "-._~:");
}

void uri_add_unit(char text[URI_MAX], uint64_t unit)
{
	add(text, "/%" PRIu64, unit);
}

void uri_add_target(char text[URI_MAX], const struct uri *uri)
{
	char name[URI_MAX];

	if (!uri_name(uri, name, sizeof(name)))
		return;
	uri_add_name(text, name);
	uri_encode(text, uri->path + uri->name_len);
}

void uri_add_key(char text[URI_MAX], const char *name, const char *value)
{
	add(text, "%c%s=", strchr(text, '?') ? '&' : '?', name);
	encode(text, value, "-._~/:=");
}

void uri_add_keys(char text[URI_MAX], struct uri *uri, const char *const *names)
{
	for (; *names; names++)
		if (uri_value(uri, *names))
			uri_add_key(text, *names, uri_value(uri, *names));
}
