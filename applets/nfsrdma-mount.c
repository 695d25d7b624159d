/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nfsrdma-mount: mounts NFS over RDMA; as mount.nfsrdma it is what mount(8) runs for -t nfsrdma.
 * How to mount is left to core/attach. */
#include "applet.h"
#include "attach_nfs.h"
#include "kernel_identity.h"
#include "loop.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OLD_NAME   "mount.nfsrdma"
#define TIMEOUT_MS 30000
#define MINUTE_MS  60000
#define MOUNT_FAIL 32 /* mount(8), EXIT STATUS */

struct mount_options {
	struct opt_common common;
	struct nfs_cli_options cli;
	const char *fallback;
	bool from_cmdline, force, fake, no_mtab;
};

#define AT(field) offsetof(struct mount_options, field)
static const struct opt rows[] = {
	{ "options", 'o', OPT_LIST, AT(cli.options), "OPTIONS",
		"mount options of mount(8) and nfs(5); repeatable" },
	{ "read-only", 'r', OPT_FLAG, AT(cli.read_only), NULL, "mount read-only: -o ro" },
	{ "read-write", 'w', OPT_FLAG, AT(cli.read_write), NULL, "mount read-write: -o rw" },
	{ "types", 't', OPT_TEXT, AT(cli.types), "nfs|nfs4|nfsrdma",
		"file system type; nfs4: -o vers=4" },
	{ "fallback", 0, OPT_TEXT, AT(fallback), "none|tcp",
		"what to try if RDMA does not work; default none" },
	{ "from-cmdline", 0, OPT_FLAG, AT(from_cmdline), NULL,
		"mount the NFS root that the kernel command line names" },
	{ "force", 0, OPT_FLAG, AT(force), NULL, "mount over an existing mount" },
	{ "fake", 'f', OPT_FLAG, AT(fake), NULL, "same as --dry-run" },
	{ "no-mtab", 'n', OPT_FLAG, AT(no_mtab), NULL, "accepted for mount(8); no effect" },
	{ "sloppy", 's', OPT_FLAG, AT(cli.sloppy), NULL,
		"ignore mount options that the kernel does not know" },
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	{ "mount", "--source", "give the source as the first operand" },
	{ "mount", "--target", "give the directory as the second operand" },
	{ "mount", "-m|--mkdir", "create the directory first: mkdir -p DIR" },
	{ "mount", "-a|--all", "to mount the entries of /etc/fstab: mount -a -t nfsrdma" },
	{ "mount", "-i", "not needed: no mount helper is run" },
	{ 0 },
};

static const struct mount_options defaults = { .common.timeout_ms = TIMEOUT_MS };

struct mounting {
	struct call *call;
	const char *given; /* the source as typed; "" = of the kernel command line */
	uint32_t timeout_ms;
	struct nfs_mount mount;
};

static void note(void *arg, const char *text)
{
	struct mounting *g = arg;

	if (g->mount.concurrent)
		call_note(g->call, "%s: %s", g->mount.source.name, text);
	else
		call_note(g->call, "%s", text);
}

static int missing(const char *what, struct diag *diag)
{
	diag_set(diag, DIAG_USAGE, EINVAL, "missing operand %s", what);
	return diag_hint(diag, "rdmastor nfsrdma-mount HOST:/PATH DIR");
}

static int count_operands(const struct call *call, bool helper)
{
	const struct mount_options *opts = call->opts;
	unsigned most = opts->from_cmdline ? 1 : helper ? 2 : UINT8_MAX;
	char text[80];

	if (call->operands > most)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "unexpected operand '%s'",
			call->operand[most]);
	if (!call->operands)
		return missing(opts->from_cmdline ? "DIR"
						  : "SOURCE: expected HOST:/PATH or "
						    "nfs+rdma://HOST/PATH",
			call->diag);
	if (opts->from_cmdline || call->operands % 2 == 0)
		return 0;
	if (call->operands == 1)
		return missing("DIR", call->diag);
	snprintf(text, sizeof(text), "DIR after '%.60s'", call->operand[call->operands - 1]);
	return missing(text, call->diag);
}

static int read_mount(struct call *call, struct mounting *g, unsigned i)
{
	const struct mount_options *opts = call->opts;
	struct nfs_mount *m = &g->mount;
	int err;

	g->call = call;
	g->timeout_ms = opts->common.timeout_ms;
	g->given = opts->from_cmdline ? "" : call->operand[2 * i];
	*m = (struct nfs_mount){ .typed = call->operand[opts->from_cmdline ? 0 : 2 * i + 1],
		.fallback_tcp = opts->fallback && !strcmp(opts->fallback, "tcp"),
		.dry_run = opts->common.dry_run || opts->fake,
		.force = opts->force,
		.concurrent = call->operands > 2,
		.note = note,
		.arg = g };
	err = nfs_mount_read(&call->notes, opts->from_cmdline ? NULL : g->given, &opts->cli, m,
		&g->timeout_ms, call->diag);
	if (!err && m->options.background && !i)
		call_warn(call, "option bg has no effect: mounting in the foreground "
				"(retry=MINUTES limits the attempts)");
	return err;
}

/* The source as a URI, whether it was given as one or as HOST:/PATH. */
static void print_uri(struct call *call, const struct mounting *g)
{
	const struct nfs_mount *m = &g->mount;
	char uri[URI_MAX];

	if (strstr(g->given, "://")) {
		out_text(call->out, "uri", NULL, "%s", g->given);
		return;
	}
	nfs_mount_uri(m, uri);
	out_text(call->out, "uri", NULL, "%s", uri);
}

static void print_mount(struct call *call, const struct mounting *g)
{
	const struct mount_options *opts = call->opts;
	const struct nfs_mount *m = &g->mount;
	bool dry_run = m->dry_run && !m->existed,
	     quiet = !strcmp(call->name, OLD_NAME) && !call->loop.verbose;
	char host[ADDR_TEXT];

	print_uri(call, g);
	out_text(call->out, "directory", NULL, "%s", m->dir);
	out_bool(call->out, "mounted", NULL, !dry_run);
	out_bool(call->out, "existed", NULL, m->existed);
	if (m->version)
		out_text(call->out, "vers", NULL, "%s", nfs_version_name(m->version));
	out_text(call->out, "transport", NULL, "%s", m->rdma ? "rdma" : "tcp");
	out_text(call->out, "traddr", NULL, "%s", addr_host(&m->server, host));
	out_text(call->out, "trsvcid", NULL, "%u", addr_port(&m->server));
	if (m->data[0])
		out_text(call->out, "data", NULL, "%s", m->data);
	out_error(call->out, "fallback", &m->fallback_why);
	if (m->fallback_why.err)
		call_warn(call, "%s over TCP; RDMA failed: %s", dry_run ? "would mount" : "mounted",
			m->fallback_why.text);
	if (dry_run) {
		nfs_mount_plan(call->out, &call->notes, m);
		return;
	}
	out_text(call->out, "options", NULL, "%s", m->mounted.super);
	if (!quiet && !opts->common.quiet)
		out_line(call->out, "%s %smounted on %s: NFS %s over %s", m->source.name,
			m->existed ? "already " : "", m->dir,
			m->version ? nfs_version_name(m->version) : "", m->rdma ? "RDMA" : "TCP");
	if (call->loop.verbose && m->probe_transport[0])
		call_note(call, "server probed over %s", m->probe_transport);
	if (call->loop.verbose)
		call_note(call, "mount options in effect: %s", m->mounted.super);
}

/* The first failure becomes the command's. */
static int print_several(struct call *call, struct mounting *list, unsigned count)
{
	unsigned failed = 0;

	out_list(call->out, "mounts");
	for (unsigned i = 0; i < count; i++) {
		struct nfs_mount *m = &list[i].mount;
		struct diag *why = &m->attach.why;

		out_object(call->out, NULL);
		if (!why->err) {
			print_mount(call, &list[i]);
		} else {
			print_uri(call, &list[i]);
			out_text(call->out, "directory", NULL, "%s", m->dir[0] ? m->dir : m->typed);
			out_bool(call->out, "mounted", NULL, false);
			out_bool(call->out, "existed", NULL, false);
			out_error(call->out, "error", why);
		}
		out_end(call->out);
		if (why->err && failed++)
			call_note(call, "%s: %s", why->object, why->text);
		else if (why->err)
			*call->diag = *why;
	}
	out_end(call->out);
	return !failed ? EXIT_DONE : failed < count ? EXIT_PARTLY : -call->diag->err;
}

static void ignore_end(struct attach *attach)
{
	(void)attach;
}

static int run_mounts(struct call *call, struct mounting *list, unsigned count, int root)
{
	struct attach *attach[UINT8_MAX];
	uint64_t now = loop_clock();
	struct loop *loop;
	int err = loop_new(&loop, &call->loop, call->diag);

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++) {
		struct nfs_mount *m = &list[i].mount;
		uint64_t minutes = m->options.retry_min > 0 ? (uint64_t)m->options.retry_min : 0;

		attach[i] = &m->attach;
		m->attach.proto = &nfs_attach;
		m->attach.loop = loop;
		m->attach.root = root;
		m->attach.done = ignore_end;
		if (list[i].timeout_ms)
			m->attach.deadline =
				now + (list[i].timeout_ms + minutes * MINUTE_MS) * MSEC;
	}
	err = attach_run(loop, attach, count, call->diag);
	loop_free(loop);
	for (unsigned i = 0; i < count; i++)
		if (attach[i]->why.err)
			diag_ctx(&attach[i]->why, "%s", list[i].mount.source.name);
	return err;
}

static int mount_all(struct call *call)
{
	bool helper = !strcmp(call->name, OLD_NAME);
	unsigned count = (call->operands + 1) / 2;
	struct mounting *list = NULL;
	int err = count_operands(call, helper), root;

	if (err)
		return err;
	list = calloc(count, sizeof(*list));
	root = list ? kernel_root() : -1;
	if (root < 0)
		err = diag_sys(call->diag, list ? errno : ENOMEM, "mount");
	for (unsigned i = 0; i < count && !err; i++)
		err = read_mount(call, &list[i], i);
	if (!err)
		err = run_mounts(call, list, count, root);
	if (!err && count > 1) {
		err = print_several(call, list, count);
	} else if (!err && list->mount.attach.why.err) {
		*call->diag = list->mount.attach.why;
		err = -call->diag->err;
	} else if (!err) {
		print_mount(call, list);
	}
	if (root >= 0)
		close(root);
	free(list);
	return err && helper && call->diag->code != DIAG_USAGE ? MOUNT_FAIL : err;
}

const struct applet applet_nfsrdma_mount = {
	.name = "nfsrdma-mount",
	.replaces = OLD_NAME,
	.replaced_version = true,
	.replaced_usage = "HOST:/PATH DIR [-rvwfnshV] [-t TYPE] [-o OPTIONS]",
	.operands = "SOURCE DIR [SOURCE DIR ...]",
	.examples = "  rdmastor nfsrdma-mount 10.0.0.1:/exp /mnt\n"
		    "  rdmastor nfsrdma-mount -o vers=4.2,soft nfs+rdma://10.0.0.1/exp /mnt\n"
		    "  rdmastor nfsrdma-mount --fallback tcp 10.0.0.1:/exp /mnt\n"
		    "  rdmastor nfsrdma-mount 10.0.0.1:/a /mnt/a 10.0.0.2:/b /mnt/b\n",
	.foreign = foreign,
	.schemes = SCHEME_NFS,
	.keys = kernel_nfs_source_keys,
	.summary = "mount NFS over RDMA",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct mount_options),
	.max = UINT8_MAX,
	.has_dry_run = true,
	.own_letters = "o",
	.run = mount_all,
};
