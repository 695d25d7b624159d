/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse and write text (RFC 7143, 6.1). keys.c, chap.c and targets.c interpret the keys. */
#include "text.h"
#include "base64.h"
#include "names.h"
#include "wire/iscsi.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int iscsi_text_add(
	struct iscsi_text *t, const uint8_t *data, uint32_t len, size_t most, struct diag *diag)
{
	if (++t->pdus > ISCSI_TEXT_PDUS)
		return diag_set(
			diag, DIAG_PROTOCOL, EPROTO, "text of more than %u PDUs", ISCSI_TEXT_PDUS);
	if (len > most - t->len)
		return diag_set(diag, DIAG_PROTOCOL, EMSGSIZE, "text of more than %zu bytes", most);
	if (len + 1 > t->room - t->len) {
		size_t room = (t->len + len + 1) * 2;
		char *bytes = realloc(t->bytes, room);

		if (!bytes)
			return diag_sys(diag, ENOMEM, "text of the target");
		t->bytes = bytes;
		t->room = room;
	}
	memcpy(t->bytes + t->len, data, len);
	t->len += len;
	t->bytes[t->len] = 0;
	return 0;
}

void iscsi_text_clear(struct iscsi_text *t)
{
	t->len = t->pdus = 0;
}

void iscsi_text_free(struct iscsi_text *t)
{
	if (t->bytes)
		explicit_bzero(t->bytes, t->room);
	free(t->bytes);
	*t = (struct iscsi_text){ 0 };
}

static bool key_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr(".-+@_", c));
}

int iscsi_text_next(struct iscsi_text *t, size_t *at, char **key, char **value, struct diag *diag)
{
	size_t len, n = 0;
	char *pair;

	while (*at < t->len && !t->bytes[*at])
		++*at;
	if (*at >= t->len)
		return 0;
	pair = t->bytes + *at;
	len = strnlen(pair, t->len - *at);
	if (*at + len == t->len)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "text ends inside a key or value");
	while (key_char(pair[n]))
		n++;
	if (!n || n > ISCSI_KEY_MAX || pair[n] != '=')
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "text is not key=value");
	if (len - n - 1 > ISCSI_VALUE_MAX)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "value of more than %u bytes",
			ISCSI_VALUE_MAX);
	pair[n] = 0;
	*key = pair;
	*value = pair + n + 1;
	*at += len + 1;
	return 1;
}

void iscsi_text_put(struct wr *w, const char *key, const char *fmt, ...)
{
	size_t left = (size_t)(w->end - w->p);
	va_list ap;
	int n, m;

	if (w->bad)
		return;
	n = snprintf((char *)w->p, left, "%s=", key);
	if ((size_t)n < left) {
		va_start(ap, fmt);
		m = vsnprintf((char *)w->p + n, left - (size_t)n, fmt, ap);
		va_end(ap);
		wr_room(w, (size_t)n + (size_t)m + 1);
	} else {
		w->bad = true;
	}
}

void iscsi_text_put_binary(struct wr *w, const char *key, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	wr_bytes(w, key, strlen(key));
	wr_bytes(w, "=0x", 3);
	for (size_t i = 0; i < len; i++)
		wr_bytes(w, (char[]){ digits[bytes[i] >> 4], digits[bytes[i] & 15] }, 2);
	wr_bytes(w, "", 1);
}

bool iscsi_list_next(const char **at, char *item, size_t room)
{
	while (**at) {
		size_t len = strcspn(*at, ",");
		bool fits = len < room;

		if (fits) {
			memcpy(item, *at, len);
			item[len] = 0;
		}
		*at += len;
		*at += **at == ',';
		if (fits)
			return true;
	}
	return false;
}

static int hex_get(const char *p, uint8_t *to, size_t room)
{
	size_t len = strlen(p), n = 0;
	unsigned byte = 0;

	if (!len || (len + 1) / 2 > room)
		return -1;
	for (size_t i = 0; i < len; i++) { /* an odd number of digits: the first byte has one */
		int digit = hex_digit(p[i]);

		if (digit < 0)
			return -1;
		byte = byte << 4 | (unsigned)digit;
		if ((len - i) % 2) {
			to[n++] = (uint8_t)byte;
			byte = 0;
		}
	}
	return (int)n;
}

int iscsi_binary_get(const char *text, uint8_t *to, size_t room)
{
	if (text[0] != '0')
		return -1;
	return (text[1] | 0x20) == 'x'   ? hex_get(text + 2, to, room)
	       : (text[1] | 0x20) == 'b' ? base64_get(to, room, text + 2, strlen(text + 2))
					 : -1;
}
