/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Translate source and mount options of NFS from the user's syntax to that of mount(2). */
#include "kernel_nfs.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mount.h>

/* mount(8), "FILESYSTEM-INDEPENDENT MOUNT OPTIONS" */
static const struct flag {
	const char *name;
	unsigned long set, clear;
} flags[] = {
	{ "ro", MS_RDONLY, 0 },
	{ "rw", 0, MS_RDONLY },
	{ "nosuid", MS_NOSUID, 0 },
	{ "suid", 0, MS_NOSUID },
	{ "nodev", MS_NODEV, 0 },
	{ "dev", 0, MS_NODEV },
	{ "noexec", MS_NOEXEC, 0 },
	{ "exec", 0, MS_NOEXEC },
	{ "sync", MS_SYNCHRONOUS, 0 },
	{ "async", 0, MS_SYNCHRONOUS },
	{ "dirsync", MS_DIRSYNC, 0 },
	{ "noatime", MS_NOATIME, 0 },
	{ "atime", 0, MS_NOATIME },
	{ "nodiratime", MS_NODIRATIME, 0 },
	{ "diratime", 0, MS_NODIRATIME },
	{ "relatime", MS_RELATIME, 0 },
	{ "norelatime", 0, MS_RELATIME },
	{ "strictatime", MS_STRICTATIME, 0 },
	{ "nostrictatime", 0, MS_STRICTATIME },
	{ "mand", MS_MANDLOCK, 0 },
	{ "nomand", 0, MS_MANDLOCK },
	{ "silent", MS_SILENT, 0 },
	{ "loud", 0, MS_SILENT },
	{ "user", MS_NOSUID | MS_NODEV | MS_NOEXEC, 0 },
	{ "users", MS_NOSUID | MS_NODEV | MS_NOEXEC, 0 },
	{ "owner", MS_NOSUID | MS_NODEV, 0 },
	{ "group", MS_NOSUID | MS_NODEV, 0 },
};

/* Interpreted by mount(8), systemd and other readers of fstab. */
static const char *const not_ours[] = { "defaults", "auto", "noauto", "nouser", "nousers",
	"noowner", "nogroup", "nofail", "_netdev", "fg" };

#define ALIKE(word, name) (!strcmp(word, name))

void kernel_nfs_options_init(struct nfs_options *o)
{
	*o = (struct nfs_options){ .minor = -1, .retry_min = -1 };
}

static int read_number(const char *name, const char *value, uint64_t min, uint64_t max,
	uint64_t *number, struct diag *diag)
{
	struct diag why = { 0 };

	if (!parse_u64(value ? value : "", min, max, number, &why))
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL, "option %s: %s", name, why.text);
}

static int wrong_version(const char *text, struct diag *diag)
{
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"option '%s': expected NFS version 3, 4, 4.0, 4.1 or 4.2", text);
}

/* "3", "4", "4.1" */
static int read_version(
	struct nfs_options *o, const char *text, const char *value, struct diag *diag)
{
	size_t len = strlen(value);

	if (len == 1 && (*value == '3' || *value == '4')) {
		o->major = (uint8_t)(*value - '0');
		return 0;
	}
	if (len != 3 || memcmp(value, "4.", 2) || value[2] < '0' || value[2] > '2')
		return wrong_version(text, diag);
	o->major = 4;
	o->minor = (int8_t)(value[2] - '0');
	return 0;
}

/* Return 1 if the option is a version. */
static int parse_version(struct nfs_options *o, const char *text, const char *name,
	const char *value, struct diag *diag)
{
	uint64_t number;
	int err;

	if (ALIKE(name, "vers") || ALIKE(name, "nfsvers")) {
		err = read_version(o, text, value ? value : "", diag);
	} else if (!value && name[0] == 'v' && name[1] >= '0' && name[1] <= '9') {
		err = read_version(o, text, name + 1, diag);
	} else if (ALIKE(name, "minorversion")) {
		err = read_number(name, value, 0, 2, &number, diag);
		if (!err)
			o->minor = (int8_t)number;
	} else {
		return 0;
	}
	return err ? err : 1;
}

static int only_rdma(const char *text, struct diag *diag)
{
	diag_set(diag, DIAG_USAGE, EINVAL, "option '%s': only RDMA is supported", text);
	return diag_hint(diag,
		"to mount over TCP if RDMA fails: --fallback tcp; over TCP only: mount -t nfs");
}

static int parse_transport(const char *text, const char *name, const char *value, struct diag *diag)
{
	if (ALIKE(text, "rdma"))
		return 1;
	if (ALIKE(name, "proto") && value && (ALIKE(value, "rdma") || ALIKE(value, "rdma6")))
		return 1;
	if (ALIKE(name, "proto") || ALIKE(text, "tcp") || ALIKE(text, "udp") ||
		(ALIKE(name, "xprtsec") && (!value || strcmp(value, "none"))))
		return only_rdma(text, diag);
	return 0;
}

static int parse_number(
	struct nfs_options *o, const char *name, const char *value, struct diag *diag)
{
	uint64_t number;
	int err;

	if (ALIKE(name, "port")) {
		err = read_number(name, value, 1, UINT16_MAX, &number, diag);
		o->port = err ? 0 : (uint16_t)number;
	} else if (ALIKE(name, "mountport")) {
		err = read_number(name, value, 1, UINT16_MAX, &number, diag);
		o->mountport = err ? 0 : (uint16_t)number;
	} else if (ALIKE(name, "retry")) {
		err = read_number(name, value, 0, 100000, &number, diag);
		o->retry_min = err ? -1 : (int)number;
	} else {
		return 0;
	}
	return err ? err : 1;
}

static int parse_flag(struct nfs_options *o, const char *text, const char *name)
{
	for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (ALIKE(text, flags[i].name)) {
			o->flags = (o->flags & ~flags[i].clear) | flags[i].set;
			return 1;
		}
	for (unsigned i = 0; i < sizeof(not_ours) / sizeof(*not_ours); i++)
		if (ALIKE(text, not_ours[i]))
			return 1;
	if (ALIKE(text, "remount"))
		o->remount = true;
	else if (ALIKE(text, "bg"))
		o->background = true;
	else if (!ALIKE(name, "comment") && strncasecmp(text, "x-", 2))
		return 0;
	return 1;
}

/* Pass the option to the kernel, and note which defaults of ours it replaces. */
static int parse_rest(struct nfs_options *o, const char *text, const char *name, const char *value,
	struct diag *diag)
{
	size_t at = strlen(o->pass), room = sizeof(o->pass) - at;

	if (ALIKE(name, "addr") && value) {
		if ((size_t)snprintf(o->addr, sizeof(o->addr), "%s", value) >= sizeof(o->addr))
			return diag_set(
				diag, DIAG_USAGE, EINVAL, "option '%.80s...' is too long", text);
		return 0;
	}
	o->clientaddr |= ALIKE(name, "clientaddr");
	o->mountaddr |= ALIKE(name, "mountaddr");
	o->mountproto |= ALIKE(name, "mountproto");
	o->mountvers |= ALIKE(name, "mountvers");
	if (ALIKE(text, "lock"))
		o->lock = NFS_LOCK_ON;
	else if (ALIKE(text, "nolock") || ALIKE(name, "local_lock"))
		o->lock = NFS_LOCK_LOCAL;
	if ((size_t)snprintf(o->pass + at, room, "%s%s", at ? "," : "", text) >= room)
		return diag_set(diag, DIAG_USAGE, E2BIG, "the mount options exceed %d bytes",
			NFS_OPTIONS_MAX - 1);
	return 0;
}

static int parse_option(struct nfs_options *o, const char *text, struct diag *diag)
{
	const char *equals = strchr(text, '='), *value = equals ? equals + 1 : NULL;
	char name[64];
	int rc;

	snprintf(name, sizeof(name), "%.*s", (int)(equals ? equals - text : (long)strlen(text)),
		text);
	rc = parse_version(o, text, name, value, diag);
	if (!rc)
		rc = parse_transport(text, name, value, diag);
	if (!rc)
		rc = parse_number(o, name, value, diag);
	if (!rc)
		rc = parse_flag(o, text, name);
	if (!rc)
		rc = parse_rest(o, text, name, value, diag);
	return rc < 0 ? rc : 0;
}

/* A comma between quotation marks does not separate options, as in context="…:s0:c1,c2". */
static size_t word_len(const char *text)
{
	bool quoted = false;
	size_t len = 0;

	for (; text[len] && (quoted || text[len] != ','); len++)
		quoted ^= text[len] == '"';
	return len;
}

int kernel_nfs_options_read(struct nfs_options *o, const char *text, struct diag *diag)
{
	char word[1024];
	int err = 0;

	while (!err && *text) {
		size_t len = word_len(text);

		if (len >= sizeof(word))
			return diag_set(diag, DIAG_USAGE, E2BIG,
				"option '%.80s...' exceeds %zu bytes", text, sizeof(word) - 1);
		memcpy(word, text, len);
		word[len] = 0;
		if (len)
			err = parse_option(o, word, diag);
		text += len;
		text += *text == ',';
	}
	if (!err && o->major == 3 && o->minor >= 0)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "NFS 3 has no minor versions");
	if (!err && o->minor >= 0)
		o->major = 4;
	return err;
}

void kernel_nfs_flags_text(unsigned long set, char *text, size_t len)
{
	size_t used = 0;

	text[0] = 0;
	for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags) && used < len; i++)
		if (flags[i].set && !(flags[i].set & (flags[i].set - 1)) && set & flags[i].set)
			used += (size_t)snprintf(
				text + used, len - used, "%s%s", used ? "," : "", flags[i].name);
}

struct text {
	char *at;
	size_t used;
	bool bad;
};

static void add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *text, const char *fmt, ...)
{
	size_t room = NFS_OPTIONS_MAX - text->used;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text->at + text->used, room, fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= room)
		text->bad = true;
	else
		text->used += (size_t)len;
}

int kernel_nfs_options_write(const struct nfs_options *o, const struct nfs_numbers *n,
	char out[NFS_OPTIONS_MAX], struct diag *diag)
{
	const char *six = n->server.ss.ss_family == AF_INET6 ? "6" : "";
	struct text text = { .at = out };
	char host[ADDR_TEXT];

	out[0] = 0;
	addr_host(&n->server, host);
	if (n->major == 3)
		add(&text, "vers=3");
	else
		add(&text, "vers=4.%u", n->minor);
	add(&text, ",proto=%s%s,port=%u,addr=%s", n->rdma ? "rdma" : "tcp", six,
		addr_port(&n->server), host);
	if (n->major == 4 && !o->clientaddr)
		add(&text, ",clientaddr=%s", n->client);
	if (n->major == 3) {
		if (!o->mountaddr)
			add(&text, ",mountaddr=%s", host);
		if (!o->mountvers)
			add(&text, ",mountvers=3");
		if (!o->mountproto)
			add(&text, ",mountproto=tcp%s", six);
		add(&text, ",mountport=%u", n->mountport);
		if (n->nolock)
			add(&text, ",nolock");
	}
	if (o->pass[0])
		add(&text, ",%s", o->pass);
	return text.bad ? diag_set(diag, DIAG_USAGE, E2BIG, "the mount options exceed %d bytes",
				  NFS_OPTIONS_MAX - 1)
			: 0;
}

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

void kernel_nfs_source_keys(const char *text, struct uri_key_names *asked)
{
	struct uri *uri = calloc(1, sizeof(*uri));
	struct nfs_options options = { 0 };
	struct nfs_source source;
	uint32_t ms = 0;

	if (uri && !uri_parse(uri, text, NULL) && from_uri(uri, &source, &options, &ms, NULL))
		*asked = uri->known;
	free(uri);
}

/* Parse HOST:/PATH; IPv6 addresses are in brackets. */
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
		uri_hint_host(text, diag);
		return -EINVAL;
	}
	if ((size_t)snprintf(s->host, sizeof(s->host), "%.*s", (int)(end - text - bracket),
		    text + bracket) >= sizeof(s->host) ||
		(size_t)snprintf(s->path, sizeof(s->path), "%s", path + 1) >= sizeof(s->path))
		return too_long(text, diag);
	return make_name(s, text, diag);
}

int kernel_nfs_source_read(const char *text, struct nfs_source *s, struct nfs_options *o,
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
