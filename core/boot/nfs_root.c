/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse an NFS root on the kernel command line, in the syntax of dracut (dracut.cmdline(7)),
 * Debian's initramfs-tools (initramfs-tools(7)) and the kernel
 * (Documentation/admin-guide/nfs/nfsroot.rst). */
#include "cmdline.h"
#include "kernel_nfs.h"
#include "kernel_sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nfs_boot_params { /* of the command line; the last one of each counts */
	char *root, *nfsroot, *nfsopts, *ip;
	bool writable;
};

static void set_value(char **to, char *param, const char *key)
{
	char *value = kernel_cmdline_value(param, key);

	if (value)
		*to = value;
}

static bool is_nfs(const char *root)
{
	return !strncmp(root, "nfs:", 4) || !strncmp(root, "nfs4:", 5) ||
	       !strncmp(root, "nfs+rdma:", 9);
}

static void read_params(char *text, struct nfs_boot_params *w)
{
	char *rest = text, *param, *root;

	while ((param = kernel_cmdline_param(&rest))) {
		root = kernel_cmdline_value(param, "root");
		if (!root)
			root = kernel_cmdline_value(param, "netroot");
		if (root &&
			(is_nfs(root) || !strcmp(root, "/dev/nfs") || !w->root || !is_nfs(w->root)))
			w->root = root;
		set_value(&w->nfsroot, param, "nfsroot");
		set_value(&w->nfsopts, param, "nfsopts");
		if (kernel_cmdline_value(param, "ip") && strchr(param, ':'))
			w->ip = kernel_cmdline_value(param, "ip");
		if (!strcmp(param, "rw") || !strcmp(param, "ro"))
			w->writable = param[1] == 'w';
	}
}

/* Get the server of ip=CLIENT:SERVER:GATEWAY:…; IPv6 addresses are in brackets. */
static bool server_of(const char *ip, char *server, size_t len)
{
	const char *at = ip;
	size_t field;

	at += *at == '[' ? strcspn(at, "]") : 0;
	at += strcspn(at, ":");
	if (!*at++)
		return false;
	field = *at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ":");
	snprintf(server, len, "%.*s", (int)field, at);
	return *server;
}

/* Length of the server before ":/"; 0: none. Options may contain colons, a server only in
 * brackets. */
static size_t server_len(const char *text)
{
	size_t len = *text == '[' ? strcspn(text, "]") : 0;

	if (*text == '/')
		return 0;
	len += strcspn(text + len, ":");
	return text[len] == ':' && text[len + 1] == '/' ? len : 0;
}

static int malformed(const char *text, struct diag *diag)
{
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"invalid NFS root '%.100s': expected [SERVER:]/PATH[:OPTIONS]", text);
}

static bool add_options(struct nfs_root *r, const char *options, size_t len)
{
	size_t at = strlen(r->options), room = sizeof(r->options) - at;

	return !len || (size_t)snprintf(r->options + at, room, "%s%.*s", at ? "," : "", (int)len,
			       options) < room;
}

/* dracut's own forms may end with a colon. */
static size_t options_len(const char *text)
{
	size_t len = strlen(text);

	return len && text[len - 1] == ':' ? len - 1 : len;
}

/* "[SERVER:]/PATH[:OPTIONS]" or with ',' in the place of the second ':'; anaconda's
 * "OPTIONS:SERVER:/PATH" */
static int parse_path(const char *text, const char *ip, struct nfs_root *r, struct diag *diag)
{
	const char *at = text, *path;
	size_t len = server_len(at), path_len;
	char server[256] = "";

	if (!len && *at != '/' && *at != '[' && strchr(at, ':')) {
		size_t options = strcspn(at, ":");

		len = server_len(at + options + 1);
		if (!len || !add_options(r, at, options))
			return malformed(text, diag);
		at += options + 1;
	}
	path = at + len + (len > 0);
	path_len = strcspn(path, ":,");
	if (*path != '/' || len >= sizeof(server))
		return malformed(text, diag);
	snprintf(server, sizeof(server), "%.*s", (int)len, at);
	if (!len && (!ip || !server_of(ip, server, sizeof(server)))) {
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no server given for NFS root '%.100s'",
			text);
		return diag_hint(diag, "expected root=nfs:SERVER:/PATH, nfsroot=SERVER:/PATH or "
				       "ip=CLIENT:SERVER:...");
	}
	if (memmem(path, path_len, "%s", 2))
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"'%%s' in NFS root '%.100s' is not supported: expected the whole path",
			text);
	if ((size_t)snprintf(r->source, sizeof(r->source), "%s:%.*s", server, (int)path_len,
		    path) >= sizeof(r->source) ||
		(path[path_len] &&
			!add_options(r, path + path_len + 1, options_len(path + path_len + 1))))
		return diag_set(diag, DIAG_USAGE, E2BIG, "NFS root '%.100s...' is too long", text);
	return 0;
}

/* nfs://SERVER[:PORT]/PATH (RFC 2224), or with our own schemes; the port is that of TCP. */
static int parse_uri(const char *text, struct nfs_root *r, struct diag *diag)
{
	const char *at = strstr(text, "://") + 3, *path = strchr(at, '/'), *end;

	if (!path || path == at)
		return malformed(text, diag);
	end = *at == '[' ? memchr(at, ']', (size_t)(path - at)) : at;
	end = end ? memchr(end, ':', (size_t)(path - end)) : NULL;
	if (end && !strncmp(text, "nfs+rdma:", 9)) {
		char port[32];

		snprintf(port, sizeof(port), "port=%.*s", (int)(path - end - 1), end + 1);
		add_options(r, port, strlen(port));
	}
	if ((size_t)snprintf(r->source, sizeof(r->source), "%.*s:%s",
		    (int)((end ? end : path) - at), at, path) >= sizeof(r->source))
		return diag_set(diag, DIAG_USAGE, E2BIG, "NFS root '%.100s...' is too long", text);
	return 0;
}

static bool over_rdma(const struct nfs_root *r, const char *root)
{
	char value[8];

	return (root && !strncmp(root, "nfs+rdma:", 9)) ||
	       kernel_mount_option(r->options, "rdma", value, sizeof(value)) ||
	       (kernel_mount_option(r->options, "proto", value, sizeof(value)) &&
		       (!strcmp(value, "rdma") || !strcmp(value, "rdma6")));
}

static int parse_root(const struct nfs_boot_params *w, struct nfs_root *r, struct diag *diag)
{
	const char *root = w->root ? w->root : "";

	if (!strcmp(root, "/dev/nfs") || (!is_nfs(root) && w->nfsroot)) {
		if (!w->nfsroot || !strcmp(w->nfsroot, "auto"))
			return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
				"NFS root from DHCP is not supported: expected "
				"nfsroot=SERVER:/PATH");
		snprintf(r->from, sizeof(r->from), "nfsroot=%s", w->nfsroot);
		return parse_path(w->nfsroot, w->ip, r, diag);
	}
	if (!is_nfs(root))
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"no NFS root: expected root=nfs:... or nfsroot=...");
	snprintf(r->from, sizeof(r->from), "root=%s", root);
	if (!strncmp(root, "nfs4:", 5))
		add_options(r, "vers=4", 6);
	root = strchr(root, ':') + 1;
	return strncmp(root, "//", 2) ? parse_path(root, w->ip, r, diag)
				      : parse_uri(w->root, r, diag);
}

int kernel_nfs_root_read(const char *cmdline, struct nfs_root *r, struct diag *diag)
{
	char *text = strdup(cmdline);
	struct nfs_boot_params w = { 0 };
	int err;

	*r = (struct nfs_root){ 0 };
	if (!text)
		return diag_sys(diag, ENOMEM, "kernel command line");
	read_params(text, &w);
	err = parse_root(&w, r, diag);
	if (!err && w.nfsopts && !add_options(r, w.nfsopts, strlen(w.nfsopts)))
		err = diag_set(diag, DIAG_USAGE, E2BIG, "nfsopts= is too long");
	r->rdma = over_rdma(r, w.root);
	/* the root's own options take precedence */
	if (!err) {
		char own[sizeof(r->options)];

		memcpy(own, r->options, sizeof(own));
		if ((size_t)snprintf(r->options, sizeof(r->options), "%s%s%s",
			    w.writable ? "rw" : "ro", own[0] ? "," : "", own) >= sizeof(r->options))
			err = diag_set(diag, DIAG_USAGE, E2BIG,
				"the options of the NFS root are too long");
	}
	free(text);
	return err;
}

int kernel_nfs_root(int root, struct nfs_root *r, struct diag *diag)
{
	char *text = kernel_sys_cmdline(root);
	int err = text ? kernel_nfs_root_read(text, r, diag) : kernel_sys_no_cmdline(diag);

	free(text);
	return err;
}
