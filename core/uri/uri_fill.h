/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fill a struct uri piece by piece; shared by the URI grammar (uri.c), transport IDs (uri_trid.c)
 * and dracut's strings (uri_iscsi.c). */
#pragma once
#include "uri.h"
#include <stddef.h>

struct uri_fill {
	struct uri *uri;
	struct diag *diag;
	size_t used; /* bytes of uri->text */
};

/* Copy a piece of the text, NUL-terminated, percent-decoded if `decode`. NULL: the error is set.
 * `what` names the piece in the error message; NULL = it is secret. */
const char *uri_fill_text(
	struct uri_fill *, const char *what, const char *piece, size_t len, bool decode);
int uri_fill_key(struct uri_fill *, const char *name, const char *value);
/* Copy the value as it is; nothing if it is empty. */
int uri_fill_plain_key(struct uri_fill *, const char *name, const char *value, size_t len);
int uri_fill_port(struct uri_fill *, const char *piece, size_t len);
/* HOST, HOST:PORT, [IPV6] or [IPV6]:PORT */
int uri_fill_host_port(struct uri_fill *, const char *piece, size_t len);
/* Set a host without brackets: name, IPv4, or (v6) IPv6 with or without a scope. */
int uri_fill_host(struct uri_fill *, const char *piece, size_t len, bool v6);

bool uri_is_trid(const char *text);
int uri_parse_trid(struct uri_fill *, const char *text);
int uri_parse_iscsi(struct uri_fill *, const char *text);
#define URI_ENDS " \t\n'\"" /* ends such a string in a longer text */

/* Whether user%password, libiscsi's spelling, applies. Only the end of the scheme is compared, so
 * that a misspelt scheme shows no password either. */
bool uri_percent_ends_user(const char *scheme, size_t len);
