/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Filling a struct uri piece by piece; shared by the URI grammar (uri.c) and the other spellings
 * (uri_trid.c). */
#pragma once
#include "uri.h"
#include <stddef.h>

struct uri_fill {
	struct uri *uri;
	struct diag *diag;
	size_t used; /* of uri->text */
};

/* Copies a piece of the text, NUL-terminated, percent-decoded if asked. NULL = an error is set.
 * `what` names the piece in it; NULL = it is secret. */
const char *uri_keep(
	struct uri_fill *, const char *what, const char *piece, size_t len, bool decode);
int uri_fill_key(struct uri_fill *, const char *name, const char *value);
int uri_fill_port(struct uri_fill *, const char *piece, size_t len);
/* A host without brackets: name, IPv4, or (v6) IPv6 with or without a scope. */
int uri_fill_host(struct uri_fill *, const char *piece, size_t len, bool v6);

bool uri_is_trid(const char *text);
int uri_parse_trid(struct uri_fill *, const char *text);

/* user%password: libiscsi's spelling, told by the end of the scheme's name, so that a misspelt
 * scheme shows no password. */
bool uri_percent_ends_user(const char *scheme, size_t len);
