/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The source of a mount, as users write it. */
#include "nfs_mount.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int too_long(const char *text, struct diag *diag)
{
	return diag_set(diag, DIAG_USAGE, ENAMETOOLONG, "source '%.80s...' is too long", text);
}

static int make_name(struct nfs_source *s, const char *text, struct diag *diag)
{
	const char *form = strchr(s->host, ':') ? "[%s]:%s" : "%s:%s";

	return (size_t)snprintf(s->name, sizeof(s->name), form, s->host, s->path) < sizeof(s->name)
		       ? 0
		       : too_long(text, diag);
}

static int from_uri(struct uri *uri, struct nfs_source *s, struct nfs_options *o,
	uint32_t *timeout_ms, struct diag *diag)
{
	const char *version = uri_value(uri, "vers");
	char text[64];
	bool ro = false;
	int err = uri_bool(uri, "ro", &ro, diag);

	if (!err)
		err = uri_msec(uri, "timeout", timeout_ms, diag);
	if (!err)
		err = uri_done(uri, diag);
	if (!err && (uri->user || !*uri->host))
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid source '%s': expected nfs+rdma://HOST[:PORT]/PATH", uri->spelling);
	if (!err && version && strchr(version, ',')) {
		diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid vers='%.40s': expected 3, 4, 4.0, 4.1 or 4.2", version);
		diag_hint(diag, "pass mount options with -o");
		err = -EINVAL;
	}
	if (err)
		return err;
	if ((size_t)snprintf(s->host, sizeof(s->host), "%s", uri->host) >= sizeof(s->host) ||
		(size_t)snprintf(s->path, sizeof(s->path), "/%s", uri->path) >= sizeof(s->path))
		return too_long(uri->spelling, diag);
	if (uri->port)
		o->port = uri->port;
	snprintf(text, sizeof(text), "%s%s%.40s", ro ? "ro," : "", version ? "vers=" : "",
		version ? version : "");
	err = kernel_nfs_options_read(o, text, diag);
	return err ? err : make_name(s, uri->spelling, diag);
}

/* HOST:/PATH; with an address of IPv6 in brackets. */
static int from_pair(const char *text, struct nfs_source *s, struct diag *diag)
{
	bool bracket = *text == '[';
	const char *end = bracket ? strchr(text, ']') : strchr(text, ':'),
		   *path = end ? end + bracket : NULL;

	if (!path || path[0] != ':' || path[1] != '/' || end == text + bracket) {
		diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid source '%s': expected HOST:/PATH or nfs+rdma://HOST/PATH", text);
		if (path && !bracket && strchr(path + 1, ':'))
			diag_hint(diag, "put an IPv6 address in brackets: [fd00::1]:/path");
		return -EINVAL;
	}
	if ((size_t)snprintf(s->host, sizeof(s->host), "%.*s", (int)(end - text - bracket),
		    text + bracket) >= sizeof(s->host) ||
		(size_t)snprintf(s->path, sizeof(s->path), "%s", path + 1) >= sizeof(s->path))
		return too_long(text, diag);
	return make_name(s, text, diag);
}

int nfs_source_read(const char *text, struct nfs_source *s, struct nfs_options *o,
	uint32_t *timeout_ms, struct diag *diag)
{
	struct uri *uri;
	int err;

	*s = (struct nfs_source){ 0 };
	if (!strstr(text, "://"))
		return from_pair(text, s, diag);
	uri = calloc(1, sizeof(*uri));
	if (!uri)
		return diag_sys(diag, ENOMEM, "source");
	err = uri_parse(uri, text, diag);
	if (!err && strcmp(uri->scheme, "nfs+rdma"))
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"unsupported URI '%s': expected nfs+rdma://HOST/PATH", text);
	if (!err)
		err = from_uri(uri, s, o, timeout_ms, diag);
	free(uri);
	return err;
}
