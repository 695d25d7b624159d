/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One emitter with two encodings: text for people, one JSON document for scripts. The applets
 * choose the content. */
#include "out.h"
#include "uri.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_DEPTH_MAX = 31 };

/* RFC 3629: shortest form, no surrogates, up to U+10FFFF. */
unsigned out_utf8_len(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned len = 0;

	if (p[0] < 0x80)
		len = 1;
	else if (p[0] >= 0xc2 && p[0] <= 0xdf)
		len = 2;
	else if ((p[0] & 0xf0) == 0xe0)
		len = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		len = 4;
	for (unsigned i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

unsigned out_characters(const char *text)
{
	unsigned count = 0;

	for (; *text; text++)
		count += (*text & 0xc0) != 0x80;
	return count;
}

static uint32_t utf8_code(const unsigned char *p, unsigned len)
{
	uint32_t code = len == 1 ? *p : *p & (0x7fu >> len);

	for (unsigned i = 1; i < len; i++)
		code = code << 6 | (p[i] & 0x3f);
	return code;
}

/* Control characters, those that change the direction of text, and others without a shape: a
 * terminal would show another text than it is. */
static bool is_hidden(uint32_t code)
{
	static const uint32_t ranges[][2] = {
		{ 0, 0x1f },
		{ 0x7f, 0x9f },
		{ 0xad, 0xad },
		{ 0x34f, 0x34f },
		{ 0x61c, 0x61c },
		{ 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 },
		{ 0x180b, 0x180f },
		{ 0x200b, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2060, 0x206f },
		{ 0x3164, 0x3164 },
		{ 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb },
		{ 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff },
	};

	for (unsigned i = 0; i < sizeof(ranges) / sizeof(*ranges) && code >= ranges[i][0]; i++)
		if (code <= ranges[i][1])
			return true;
	return false;
}

static void put_code(FILE *to, uint32_t code)
{
	if (code < 0x10000)
		fprintf(to, "\\u%04x", code);
	else
		fprintf(to, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
			0xdc00 + (code & 0x3ff));
}

static void put_escaped(FILE *to, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned len;

	for (; *p; p += len ? len : 1) {
		len = out_utf8_len((const char *)p);
		if (!len)
			fputs("\\ufffd", to);
		else if (*p == '"' || *p == '\\')
			fprintf(to, "\\%c", *p);
		else if (*p == '\n')
			fputs("\\n", to);
		else if (*p == '\t')
			fputs("\\t", to);
		else if (is_hidden(utf8_code(p, len)))
			put_code(to, utf8_code(p, len));
		else
			fwrite(p, 1, len, to);
	}
}

static void put_string(FILE *to, const char *text)
{
	fputc('"', to);
	put_escaped(to, text);
	fputc('"', to);
}

void out_plain(FILE *to, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned len;

	for (; *p; p += len ? len : 1) {
		len = out_utf8_len((const char *)p);
		if (!len || (is_hidden(utf8_code(p, len)) && *p != '\t'))
			fputc('?', to);
		else
			fwrite(p, 1, len, to);
	}
}

void out_init(struct out *out, const char *applet, bool json)
{
	*out = (struct out){ .to = stdout, .json = json, .schema = applet };
}

static void open_document(struct out *out)
{
	if (out->opened)
		return;
	out->opened = true;
	if (out->array) {
		fputc('[', out->to);
		out->lists |= 1;
		return;
	}
	fputs(*out->schema ? "{\"schema\":\"rdmastor." : "{\"schema\":\"rdmastor", out->to);
	put_escaped(out->to, out->schema);
	fputs("\",\"version\":2", out->to);
	if (out->dry_run)
		fputs(",\"dry_run\":true", out->to);
	out->comma = true;
}

/* Remember that the stream failed; stdio does not keep the reason. */
static void note_failure(struct out *out)
{
	if (!out->err && ferror(out->to))
		out->err = errno ? errno : EIO;
}

/* Write what precedes a value: the document, the comma, the key. */
static void open_value(struct out *out, const char *key)
{
	open_document(out);
	note_failure(out);
	if (out->comma)
		fputc(',', out->to);
	out->comma = true;
	if (key && !(out->lists >> out->depth & 1)) {
		put_string(out->to, key);
		fputc(':', out->to);
	}
}

static void open_level(struct out *out, const char *key, bool list)
{
	if (!out->json)
		return;
	open_value(out, key);
	assert(out->depth < OUT_DEPTH_MAX);
	out->depth++;
	out->lists = (out->lists & ~(1u << out->depth)) | (uint32_t)list << out->depth;
	out->comma = false;
	fputc(list ? '[' : '{', out->to);
}

void out_list(struct out *out, const char *key)
{
	open_level(out, key, true);
}

void out_object(struct out *out, const char *key)
{
	open_level(out, key, false);
}

void out_end(struct out *out)
{
	if (!out->json)
		return;
	assert(out->depth > 0);
	fputc(out->lists >> out->depth & 1 ? ']' : '}', out->to);
	out->depth--;
	out->comma = true;
}

/* Format text for output, with control characters and passwords replaced: reasons quote user input,
 * which may contain URIs. NULL: no memory. The caller frees it. */
static char *shown(const char *fmt, va_list args)
{
	char *text;

	if (vasprintf(&text, fmt, args) < 0)
		return NULL;
	uri_hide(text);
	return text;
}

void out_text(struct out *out, const char *key, const char *label, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	char *text = shown(fmt, args);

	va_end(args);
	if (!text)
		return;
	if (out->json) {
		open_value(out, key);
		put_string(out->to, text);
	} else if (label) {
		fputs(label, out->to);
		out_plain(out->to, text);
		fputc('\n', out->to);
	}
	note_failure(out);
	free(text);
}

void out_word(struct out *out, const char *key, const char *text)
{
	char word[64];
	size_t len = 0;

	for (; text[len] && len < sizeof(word) - 1; len++)
		word[len] = text[len] == ' ' ? '-' : (char)tolower((unsigned char)text[len]);
	word[len] = 0;
	out_nonempty(out, key, word);
}

void out_nonempty(struct out *out, const char *key, const char *text)
{
	if (text[0])
		out_text(out, key, NULL, "%s", text);
}

void out_u64(struct out *out, const char *key, const char *label, uint64_t value)
{
	if (out->json)
		open_value(out, key);
	if (out->json)
		fprintf(out->to, "%" PRIu64, value);
	else if (label)
		fprintf(out->to, "%s%" PRIu64 "\n", label, value);
}

void out_real(struct out *out, const char *key, const char *label, double value, unsigned digits)
{
	if (out->json)
		open_value(out, key);
	if (out->json)
		fprintf(out->to, "%.*f", (int)digits, value);
	else if (label)
		fprintf(out->to, "%s%.*f\n", label, (int)digits, value);
}

void out_bool(struct out *out, const char *key, const char *label, bool value)
{
	if (out->json)
		open_value(out, key);
	if (out->json)
		fputs(value ? "true" : "false", out->to);
	else if (label)
		fprintf(out->to, "%s%s\n", label, value ? "yes" : "no");
}

void out_size(struct out *out, const char *key, const char *label, uint64_t bytes)
{
	char human[16];

	if (out->json)
		out_u64(out, key, label, bytes);
	else if (label && bytes < 1024)
		fprintf(out->to, "%s%s\n", label, out_human(bytes, human));
	else if (label)
		fprintf(out->to, "%s%s (%" PRIu64 " bytes)\n", label, out_human(bytes, human),
			bytes);
}

void out_line(struct out *out, const char *fmt, ...)
{
	va_list args;

	if (out->json)
		return;
	va_start(args, fmt);
	char *text = shown(fmt, args);

	va_end(args);
	if (!text)
		return;
	out_plain(out->to, text);
	fputc('\n', out->to);
	note_failure(out);
	free(text);
}

void out_secret(struct out *out, const char *text)
{
	if (out->json)
		return;
	fputs(text, out->to);
	fputc('\n', out->to);
	note_failure(out);
}

void out_error(struct out *out, const char *key, const struct diag *diag)
{
	const struct {
		const char *key, *value;
	} rows[] = {
		{ "code", diag_code_word(diag->code) },
		{ "errno", diag_errno_word(diag->err) },
		{ "object", diag->object },
		{ "text", diag->text },
		{ "hint", diag->hint },
	};

	if (!diag->err)
		return;
	out_object(out, key);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (*rows[i].value)
			out_text(out, rows[i].key, NULL, "%s", rows[i].value);
	out_end(out);
}

int out_flush(struct out *out)
{
	if (fflush(out->to) && !out->err)
		out->err = errno;
	note_failure(out);
	return -out->err;
}

int out_fini(struct out *out, const struct diag *diag)
{
	if (out->closed)
		return 0;
	out->closed = true;
	if (out->json) {
		open_document(out);
		while (out->depth)
			out_end(out);
		if (diag)
			out_error(out, "error", diag);
		fputs(out->array ? "]\n" : "}\n", out->to);
	}
	return out_flush(out);
}

const char *out_shell(const char *text, char *to, size_t len)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:,=@%+";
	static const char quote[] = "'\\''";
	size_t at = 1, n;

	if (*text && !text[strspn(text, plain)]) {
		snprintf(to, len, "%s", text);
		return to;
	}
	*to = '\'';
	for (; *text && at + sizeof(quote) < len; text++, at += n) {
		n = *text == '\'' ? sizeof(quote) - 1 : 1;
		memcpy(to + at, *text == '\'' ? quote : text, n);
	}
	memcpy(to + at, "'", 2);
	return to;
}

const char *out_human(uint64_t bytes, char text[16])
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned n = 0;

	if (bytes < 1024) {
		snprintf(text, 16, "%u byte%s", (unsigned)bytes, bytes == 1 ? "" : "s");
		return text;
	}
	while (n < 5 && bytes >> (10 * n + 20))
		n++;
	unsigned shift = 10 * (n + 1);
	uint64_t whole = bytes >> shift, part = bytes & ((UINT64_C(1) << shift) - 1);
	uint64_t tenths = whole * 10 + ((part >> (shift - 10)) * 10 + 512) / 1024;

	if (tenths >= 10240 && n < 5) {
		tenths = 10;
		n++;
	}
	if (tenths % 10)
		snprintf(text, 16, "%u.%u %s", (unsigned)(tenths / 10), (unsigned)(tenths % 10),
			unit[n]);
	else
		snprintf(text, 16, "%u %s", (unsigned)(tenths / 10), unit[n]);
	return text;
}
