/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nfsrdma-discover: lists the transports, versions and exports of an NFS server, and its NFSv4
 * tree. The calls are left to core/proto/rpc. */
#include "applet.h"
#include "kernel_identity.h"
#include "kernel_rdma.h"
#include "loop.h"
#include "nfs.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 10000

struct discover_options {
	struct opt_common common;
	uint32_t port, tcp_port;
};

#define AT(field) offsetof(struct discover_options, field)
static const struct opt rows[] = {
	{ "port", 'p', OPT_U32, AT(port), "PORT", "port of the server for RDMA; default 20049", 1,
		65535 },
	{ "tcp-port", 0, OPT_U32, AT(tcp_port), "PORT", "port of the server for TCP; default 2049",
		1, 65535 },
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	{ "showmount", "-e|--exports", "not needed: exports and their clients are always listed" },
	{ "showmount", "-a|--all|-d|--directories", "mounts of other clients are not listed" },
	{ "showmount", "--no-headers", "not needed: no headers are printed" },
	{ "rpcinfo", "-t", "not needed: TCP is always probed" },
	{ 0 },
};

static const struct discover_options defaults = {
	.common.timeout_ms = TIMEOUT_MS, .port = NFS_RDMA_PORT, .tcp_port = NFS_TCP_PORT
};

struct discovery {
	struct call *call;
	struct loop *loop;
	struct addr server;
	char host[256];   /* as typed */
	uint16_t port[2]; /* TCP, RDMA */
	unsigned versions[2];
	struct diag why[2];
	uint64_t until;
	struct diag rdma; /* what the system lacks for it */
};

static uint32_t left_ms(const struct discovery *d, uint32_t part)
{
	uint64_t now = loop_clock(), left = d->until > now ? (d->until - now) / MSEC / part : 0;

	return !d->until ? 0 : left ? (uint32_t)left : 1;
}

static int read_uri(struct call *call, struct discovery *d)
{
	struct uri *uri = calloc(1, sizeof(*uri));
	int err = uri ? uri_parse(uri, call->operand[0], call->diag)
		      : diag_sys(call->diag, ENOMEM, "source");

	if (!err && strcmp(uri->scheme, "nfs+rdma"))
		err = diag_set(call->diag, DIAG_USAGE, EINVAL,
			"unsupported URI '%s': expected nfs+rdma://HOST", call->operand[0]);
	if (!err)
		err = uri_done(uri, call->diag);
	if (!err)
		snprintf(d->host, sizeof(d->host), "%s", uri->host);
	if (!err && uri->port)
		d->port[true] = uri->port;
	free(uri);
	return err;
}

static int read_call(struct call *call, struct discovery *d)
{
	const struct discover_options *opts = call->opts;
	const char *text = call->operand[0];
	size_t len = strlen(text);
	int err = 0;

	d->port[true] = (uint16_t)opts->port;
	d->port[false] = (uint16_t)opts->tcp_port;
	if (strstr(text, ":/") && !strstr(text, "://"))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"'%s' is an export: expected HOST alone", text);
	if (strstr(text, "://"))
		err = read_uri(call, d);
	else if (*text == '[' && text[len - 1] == ']')
		snprintf(d->host, sizeof(d->host), "%.*s", (int)len - 2, text + 1);
	else
		snprintf(d->host, sizeof(d->host), "%s", text);
	return err ? err
		   : addr_resolve(&d->server, d->host, NFS_RDMA_PORT, left_ms(d, 1), call->diag);
}

static void print_versions(struct out *out, unsigned versions)
{
	out_list(out, "versions");
	for (unsigned version = NFS_V42; version; version >>= 1)
		if (versions & version)
			out_text(out, NULL, NULL, "%s", nfs_version_name(version));
	out_end(out);
}

static void ask(struct discovery *d, bool rdma)
{
	struct out *out = d->call->out;
	struct diag *why = &d->why[rdma];
	struct addr at = d->server;
	struct nfs_server_info answer;
	char where[ADDR_TEXT], text[32];

	addr_set_port(&at, d->port[rdma]);
	if (!nfs_probe(d->loop, &at, rdma, 0, left_ms(d, rdma ? 3 : 2), &answer, why))
		d->versions[rdma] = answer.versions;
	else if (rdma && d->rdma.err && why->code != DIAG_REFUSED)
		*why = d->rdma;
	if (!why->err) {
		at = answer.at;
		addr_keep_peer(&d->server, &at);
	}
	out_object(out, NULL);
	out_text(out, "transport", NULL, "%s", rdma ? "rdma" : "tcp");
	out_text(out, "traddr", NULL, "%s", addr_host(&at, where));
	out_text(out, "trsvcid", NULL, "%u", d->port[rdma]);
	out_bool(out, "answers", NULL, !why->err);
	if (why->err) {
		out_error(out, "error", why);
		out_line(out, "%-7s %s: %s", rdma ? "rdma" : "tcp", addr_text(&at, where),
			why->text);
	} else {
		print_versions(out, answer.versions);
		out_line(out, "%-7s %s: NFS %s", rdma ? "rdma" : "tcp", addr_text(&at, where),
			nfs_versions_text(answer.versions, text));
		if (d->call->loop.verbose)
			call_note(
				d->call, "%s probed over %s", rdma ? "RDMA" : "TCP", answer.route);
	}
	out_end(out);
}

static void print_clients(struct out *out, const struct nfs_export *e)
{
	out_list(out, "allowed_clients");
	for (const char *at = e->to; *at;) {
		size_t len = strcspn(at, ",");

		out_text(out, NULL, NULL, "%.*s", (int)len, at);
		at += len + (at[len] == ',');
	}
	out_end(out);
	out_u64(out, "allowed_total", NULL, e->clients);
}

/* Of a directory, if the server answers over RDMA. */
static void print_uri(struct discovery *d, const char *path)
{
	char uri[URI_MAX];

	if (!d->versions[true])
		return;
	uri_start(uri, "nfs+rdma", d->host, d->port[true] == NFS_RDMA_PORT ? 0 : d->port[true]);
	uri_encode(uri, path);
	out_text(d->call->out, "uri", "uri     ", "%s", uri);
}

static void print_exports(struct discovery *d)
{
	struct out *out = d->call->out;
	struct nfs_exports list = { 0 };
	struct diag why = { 0 };
	uint16_t port = 0;

	if (!nfs_mountd(d->loop, &d->server, left_ms(d, 2), &port, &why))
		nfs_exports(d->loop, &d->server, port, left_ms(d, 2), &list, &why);
	out_object(out, "mount");
	out_error(out, "error", &why);
	if (!why.err)
		out_text(out, "trsvcid", NULL, "%u", port);
	out_list(out, "exports");
	for (unsigned i = 0; i < list.count; i++) {
		const struct nfs_export *e = &list.item[i];

		out_object(out, NULL);
		out_text(out, "path", NULL, "%s", e->path);
		print_clients(out, e);
		out_line(out, "%-7s %s to %s", "export", e->path, e->to[0] ? e->to : "everyone");
		print_uri(d, e->path);
		out_end(out);
	}
	out_end(out);
	out_end(out);
	if (why.err && d->call->loop.verbose)
		call_note(d->call, "exports: %s", why.text);
	nfs_exports_free(&list);
}

/* Over TCP if that answers: its replies may be longer. */
static void print_tree(struct discovery *d)
{
	struct out *out = d->call->out;
	bool rdma = !(d->versions[false] & NFS_V40);
	struct addr at = d->server;
	struct nfs_paths found = { 0 };
	struct diag why = { 0 };

	addr_set_port(&at, d->port[rdma]);
	if (!(d->versions[rdma] & NFS_V40))
		diag_set(&why, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
			"reading the tree requires NFS 4.0, which the server does not support");
	else
		nfs_paths(d->loop, &at, rdma, left_ms(d, 1), &found, &why);
	out_object(out, "tree");
	out_error(out, "error", &why);
	out_list(out, "directories");
	for (unsigned i = 0; !why.err && i <= found.count; i++) {
		out_text(out, NULL, NULL, "%s", i ? found.path[i - 1] : "/");
		out_line(out, "%-7s %s", "path", i ? found.path[i - 1] : "/");
	}
	out_end(out);
	out_bool(out, "more", NULL, found.more);
	out_end(out);
	if (why.err && d->call->loop.verbose)
		call_note(d->call, "NFSv4 tree: %s", why.text);
	nfs_paths_free(&found);
}

static int run(struct discovery *d)
{
	struct call *call = d->call;
	unsigned any;

	out_list(call->out, "transports");
	ask(d, true);
	ask(d, false);
	out_end(call->out);
	any = d->versions[true] | d->versions[false];
	if (any)
		print_exports(d);
	if (any & ~NFS_V3)
		print_tree(d);
	if (d->versions[true])
		return EXIT_DONE;
	*call->diag = d->why[true];
	diag_ctx(call->diag, "%s", call->operand[0]);
	return any ? EXIT_PARTLY : -call->diag->err;
}

static int discover(struct call *call)
{
	const struct discover_options *opts = call->opts;
	struct discovery d = { .call = call,
		.until = opts->common.timeout_ms ? loop_clock() + opts->common.timeout_ms * MSEC
						 : 0 };
	int err = read_call(call, &d), root = kernel_root();

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	if (!err) {
		kernel_rdma_ready(root, &d.rdma);
		d.rdma.hint[0] = 0;
		err = loop_new(&d.loop, &call->loop, call->diag);
	}
	close(root);
	if (err)
		return err;
	err = run(&d);
	loop_free(d.loop);
	return err;
}

const struct applet applet_nfsrdma_discover = {
	.name = "nfsrdma-discover",
	.operands = "HOST",
	.examples = "  rdmastor nfsrdma-discover 10.0.0.1\n"
		    "  rdmastor nfsrdma-discover --json server | jq -r '.mount.exports[].path'\n",
	.foreign = foreign,
	.schemes = SCHEME_NFS,
	.summary = "list what an NFS server offers over RDMA",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct discover_options),
	.min = 1,
	.max = 1,
	.run = discover,
};
