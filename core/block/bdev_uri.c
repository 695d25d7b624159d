/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the URI of a disk tells before the disk is opened. */
#include "bdev.h"
#include "out.h"
#include "uri.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

bool bdev_uri_in_memory(const char *text)
{
	return !strncasecmp(text, "ram:", 4) || !strncasecmp(text, "null:", 5);
}

bool bdev_uri_path(const char *text, char *path, size_t len)
{
	struct uri *uri = uri_new(text);
	bool is_file = uri && !strcmp(uri->scheme, "file") &&
		       (size_t)snprintf(path, len, "%s", uri->path) < len;

	free(uri);
	return is_file;
}

bool bdev_uri_is_part(const char *text)
{
	struct uri *uri = uri_new(text);
	bool part = uri && (uri_has(uri, "offset") || uri_has(uri, "size") || uri_has(uri, "part"));

	free(uri);
	return part;
}

bool bdev_suggest_file(const char *text, struct diag *why)
{
	char path[URI_MAX], word[OUT_SHELL(URI_MAX)];

	if (strchr(text, ':') || !strchr(text, '?') || why->hint[0])
		return false;
	snprintf(path, sizeof(path), "file:%s", text);
	if (!bdev_uri_path(path, path, sizeof(path)) || access(path, F_OK))
		return false;
	snprintf(path, sizeof(path), "file:%s", text);
	diag_hint(why, "to pass keys with a path: %s", out_shell(path, word, URI_MAX));
	return true;
}
