/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Explain an errno of mount(2). */
#include "nfs_steps.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ASK_MS 2000

/* Find the longest export that contains the path. */
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

/* Linux exports to everyone as "*". */
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

static bool has_time(const struct nfs_mount *m)
{
	return !m->until || loop_clock() < m->until;
}

/* mountd does not answer, or no time is left. */
static void guess_denied(struct nfs_mount *m)
{
	if (m->denied_errno != ENOENT) {
		diag_set(&m->attach.why, DIAG_AUTH, m->denied_errno,
			"access to '%s' denied by the server", m->source.path);
	} else {
		diag_set(&m->attach.why, DIAG_NOT_FOUND, m->denied_errno,
			"'%s' does not exist on the server, or this machine has no access",
			m->source.path);
		diag_hint(&m->attach.why, "list the exports with: rdmastor nfsrdma-discover %s",
			m->source.host);
	}
	m->on_explained(m);
}

static void exports_done(struct nfs_query *q)
{
	struct nfs_mount *m = container_of(q, struct nfs_mount, query);
	const struct nfs_export *e;
	char text[300];

	if (q->why.err) {
		guess_denied(m);
		return;
	}
	e = covering(&q->exports, m->source.path);
	if (e && (m->denied_errno != ENOENT || !strcmp(e->path, m->source.path))) {
		not_allowed(m, e, m->denied_errno, &m->attach.why);
	} else {
		name_them(&q->exports, text, sizeof(text));
		diag_set(&m->attach.why, DIAG_NOT_FOUND, ENOENT,
			"the server does not export '%s'%s%s", m->source.path,
			q->exports.count ? ", only " : "", text);
	}
	nfs_exports_free(&q->exports);
	m->on_explained(m);
}

static void ask_exports(struct nfs_mount *m, uint16_t port)
{
	m->query = (struct nfs_query){ .loop = m->attach.loop,
		.server = m->server,
		.until = nfs_limit(m, ASK_MS),
		.done = exports_done };
	nfs_query_exports(&m->query, port);
}

static void mountd_done(struct nfs_query *q)
{
	struct nfs_mount *m = container_of(q, struct nfs_mount, query);

	if (q->why.err || !has_time(m))
		guess_denied(m);
	else
		ask_exports(m, q->port);
}

static void explain_denied(struct nfs_mount *m, int err)
{
	uint16_t port = m->mountport ? m->mountport : m->options.mountport;

	m->denied_errno = err;
	if (!has_time(m)) {
		guess_denied(m);
	} else if (port) {
		ask_exports(m, port);
	} else {
		m->query = (struct nfs_query){ .loop = m->attach.loop,
			.server = m->server,
			.until = nfs_limit(m, ASK_MS),
			.done = mountd_done };
		nfs_query_mountd(&m->query);
	}
}

/* The last line is the most likely cause. With concurrent mounts it may be about another one. */
static const char *last_line(const struct nfs_mount *m, char line[200])
{
	const char *log = m->concurrent ? "" : m->lines;
	size_t len = strlen(log), start;

	while (len && log[len - 1] == '\n')
		len--;
	for (start = len; start && log[start - 1] != '\n';)
		start--;
	snprintf(line, 200, "%s%.*s%s", len ? " (kernel: " : "",
		(int)(len - start > 180 ? 180 : len - start), log + start, len ? ")" : "");
	return line;
}

void nfs_explain(struct nfs_mount *m, int err)
{
	struct diag *diag = &m->attach.why;
	char text[400], line[200];

	last_line(m, line);
	switch (err) {
	case ENOENT:
	case EACCES:
	case EPERM:
		explain_denied(m, err);
		return;
	case EINVAL:
		if (kernel_mount_refuses(&m->call.ask, text, sizeof(text)))
			diag_set(diag, DIAG_USAGE, EINVAL, "%s", text);
		else
			diag_set(diag, DIAG_UNSUPPORTED, EINVAL,
				"the kernel rejects the mount options: %.200s%s", m->data, line);
		break;
	case EBUSY:
		diag_set(diag, DIAG_BUSY, err, "%s is busy", m->dir);
		break;
	case ENODEV:
		diag_set(diag, DIAG_NO_MODULE, err, "this kernel has no NFS client");
		break;
	case ENOTDIR:
		diag_set(diag, DIAG_NOT_FOUND, err, "'%s' on the server is not a directory",
			m->source.path);
		break;
	case EPROTONOSUPPORT:
	case EOPNOTSUPP:
		diag_set(diag, DIAG_UNSUPPORTED, err,
			"the kernel or the server does not support NFS %s over %s%s",
			nfs_version_name(m->version), m->rdma ? "RDMA" : "TCP", line);
		break;
	default:
		diag_sys(diag, err, "mount%s", line);
	}
	m->on_explained(m);
}
