/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/uri core/base */
/* Whatever is typed: parsed within its storage, and what people see has no password. */
#include "uri.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pieces(const struct uri *uri)
{
	char name[URI_MAX];

	if (!uri_name(uri, name, sizeof(name)) || strncmp(uri->path, name, strlen(name)) ||
		strlen(uri_unit(uri)) + uri->name_len > strlen(uri->path))
		abort();
	const char *piece[5] = { uri->user, uri->password, uri->host, uri->path, uri->scheme };

	for (unsigned i = 0; i < 5; i++)
		if (piece[i] && strlen(piece[i]) >= URI_MAX)
			abort();
	for (unsigned i = 0; i < uri->keys; i++)
		if (strlen(uri->key[i].name) + strlen(uri->key[i].value) >= URI_MAX ||
			!*uri->key[i].name)
			abort();
}

/* What is shown is the same URI, except that it has no password. */
static void check_hidden(const struct uri *uri, const char *text)
{
	struct uri shown;

	if (uri_parse(&shown, text, NULL) || shown.password || strcmp(shown.host, uri->host) ||
		strcmp(shown.user, uri->user))
		abort();
	if (strcmp(uri->spelling, text))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct diag diag = { 0 };
	struct uri uri;

	memcpy(text, data, size);
	text[size] = 0;
	int rc = uri_parse(&uri, text, &diag);

	if (rc ? rc != -diag.err || diag.code != DIAG_USAGE : !*uri.scheme)
		abort();
	if (!rc)
		check_pieces(&uri);
	uri_hide(text);
	if (!rc && uri.password)
		check_hidden(&uri, text);
	uri_value(&uri, "path");
	uri_done(&uri, &diag);
	free(text);
	return 0;
}
