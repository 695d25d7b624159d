/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sentence behind an errno of mount(2). */
#include "nfs_why.h"
#include "loop.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ASK_MS 2000

/* The export that the path is in, the longest. */
static const struct nfs_export *covering(const struct nfs_exports *list, const char *path)
{
	const struct nfs_export *best = NULL;
	size_t best_len = 0;

	for (unsigned i = 0; i < list->count; i++) {
		size_t len = strlen(list->item[i].path);

		while (len && list->item[i].path[len - 1] == '/')
			len--;
		if (!strncmp(list->item[i].path, path, len) && (!path[len] || path[len] == '/') &&
			(!best || len > best_len)) {
			best = &list->item[i];
			best_len = len;
		}
	}
	return best;
}

static void name_them(const struct nfs_exports *list, char *text, size_t len)
{
	size_t used = 0;

	text[0] = 0;
	for (unsigned i = 0; i < list->count && used < len; i++)
		used += (size_t)snprintf(
			text + used, len - used, "%s%s", i ? ", " : "", list->item[i].path);
	if (used >= len && len > 4)
		memcpy(text + len - 4, "...", sizeof("..."));
}

/* The star is how Linux writes it. */
static bool to_everyone(const struct nfs_export *e)
{
	return !e->to[0] || e->to[strspn(e->to, "*")] == 0 || strstr(e->to, "*,") == e->to;
}

static int not_allowed(
	const struct nfs_mount *m, const struct nfs_export *e, int err, struct diag *diag)
{
	if (to_everyone(e) && err == ENOENT)
		return diag_set(diag, DIAG_NOT_FOUND, err,
			"the server exports '%s', but it does not exist there", m->source.path);
	if (to_everyone(e))
		return diag_set(diag, DIAG_AUTH, err,
			"access to '%s' denied although it is exported to everyone: the server may "
			"require another "
			"security flavor (-o sec=)",
			m->source.path);
	return diag_set(diag, DIAG_AUTH, err,
		"access to '%s' denied: %s is exported to %.200s only", m->source.path, e->path,
		e->to);
}

static uint32_t left_ms(uint64_t until)
{
	uint64_t now = loop_clock(), ms = !until        ? ASK_MS
					  : until > now ? (until - now) / 1000000
							: 0;

	return ms > ASK_MS ? ASK_MS : (uint32_t)ms;
}

/* False: it does not answer, or there is no time left to ask it. */
static bool ask_exports(struct loop *loop, const struct addr *server, uint16_t port, uint64_t until,
	struct nfs_exports *list)
{
	return (port || (left_ms(until) &&
				!nfs_mountd(loop, server, left_ms(until), &port, NULL))) &&
	       left_ms(until) && !nfs_exports(loop, server, port, left_ms(until), list, NULL);
}

static int denied(struct loop *loop, const struct nfs_mount *m, uint16_t mountport, int err,
	uint64_t until, struct diag *diag)
{
	uint16_t port = mountport ? mountport : m->options.mountport;
	const struct nfs_export *e;
	struct nfs_exports list;
	char text[300];

	if (!ask_exports(loop, &m->server, port, until, &list)) {
		if (err != ENOENT)
			return diag_set(diag, DIAG_AUTH, err, "access to '%s' denied by the server",
				m->source.path);
		diag_set(diag, DIAG_NOT_FOUND, err,
			"'%s' does not exist on the server, or this machine has no access",
			m->source.path);
		return diag_hint(diag, "list the exports with: rdmastor nfsrdma-discover %s",
			m->source.host);
	}
	e = covering(&list, m->source.path);
	if (e && (err != ENOENT || !strcmp(e->path, m->source.path))) {
		not_allowed(m, e, err, diag);
	} else {
		name_them(&list, text, sizeof(text));
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "the server does not export '%s'%s%s",
			m->source.path, list.count ? ", only " : "", text);
	}
	nfs_exports_free(&list);
	return -diag->err;
}

/* The last line is the nearest to the end. */
static const char *last_line(const char *log, char line[200])
{
	size_t len = strlen(log), start;

	while (len && log[len - 1] == '\n')
		len--;
	for (start = len; start && log[start - 1] != '\n';)
		start--;
	snprintf(line, 200, "%s%.*s%s", len ? " (kernel: " : "",
		(int)(len - start > 180 ? 180 : len - start), log + start, len ? ")" : "");
	return line;
}

int nfs_why(struct loop *loop, const struct nfs_mount *m, uint16_t mountport, int err,
	const char *log, uint64_t until, struct diag *diag)
{
	const struct kernel_mount_ask ask = { .source = m->source.name,
		.dir = m->dir,
		.type = "nfs",
		.data = m->data,
		.flags = m->options.flags };
	char text[400], line[200];

	last_line(log, line);
	switch (err) {
	case ENOENT:
	case EACCES:
	case EPERM:
		return denied(loop, m, mountport, err, until, diag);
	case EINVAL:
		if (kernel_mount_refuses(&ask, text, sizeof(text)))
			return diag_set(diag, DIAG_USAGE, EINVAL, "%s", text);
		return diag_set(diag, DIAG_UNSUPPORTED, EINVAL,
			"the kernel rejects the mount options: %.200s%s", m->data, line);
	case EBUSY:
		return diag_set(diag, DIAG_BUSY, err, "%s is busy", m->dir);
	case ENODEV:
		return diag_set(diag, DIAG_NO_MODULE, err, "this kernel has no NFS client");
	case ENOTDIR:
		return diag_set(diag, DIAG_NOT_FOUND, err, "'%s' on the server is not a directory",
			m->source.path);
	case EPROTONOSUPPORT:
	case EOPNOTSUPP:
		return diag_set(diag, DIAG_UNSUPPORTED, err,
			"the kernel or the server does not support NFS %s over %s%s",
			nfs_version_word(m->version), m->rdma ? "RDMA" : "TCP", line);
	default:
		return diag_sys(diag, err, "mount%s", line);
	}
}
