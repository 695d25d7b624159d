/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nfsrdma-mount: mounts NFS over RDMA; as mount.nfsrdma it is what mount(8) runs for -t nfsrdma. How a mount is made is core/service's. */
#include "applet.h"
#include "kernel.h"
#include "nfs_mount.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define OLD_NAME   "mount.nfsrdma"
#define TIMEOUT_MS 30000
#define MOUNT_FAIL 32 /* mount(8), EXIT STATUS */

struct mount_options {
	struct opt_common common;
	struct opt_list options;
	const char *fallback;
	bool from_cmdline, force, fake, no_mtab, sloppy;
};

#define AT(field) offsetof(struct mount_options, field)
static const struct opt rows[] = {
	{ "options", 'o', OPT_LIST, AT(options), "OPTIONS", "mount options, as mount(8) and nfs(5) have them" },
	{ "fallback", 0, OPT_TEXT, AT(fallback), "none|tcp", "mount over TCP when RDMA does not work" },
	{ "from-cmdline", 0, OPT_FLAG, AT(from_cmdline), NULL, "mount the NFS root that the kernel command line names" },
	{ "force", 0, OPT_FLAG, AT(force), NULL, "also over what is mounted on the directory" },
	{ "fake", 'f', OPT_FLAG, AT(fake), NULL, "the same as --dry-run" },
	{ "no-mtab", 'n', OPT_FLAG, AT(no_mtab), NULL, "taken for mount(8), which gives it; there is no mtab" },
	{ "sloppy", 's', OPT_FLAG, AT(sloppy), NULL, "the kernel passes over options it does not know" },
	{ 0 },
};
#undef AT

static const struct mount_options defaults = { .common.timeout_ms = TIMEOUT_MS };

static void note(void *arg, const char *text)
{
	call_note(arg, "%s", text);
}

static int read_cmdline(struct call *call, struct nfs_mount *m)
{
	struct nfs_root found;
	int root = kernel_root(), err;

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = kernel_nfs_root(root, &found, call->diag);
	close(root);
	if (!err)
		err = nfs_options_read(&m->options, found.options, call->diag);
	if (!err)
		err = nfs_source_read(found.source, &m->source, &m->options, &m->timeout_ms, call->diag);
	if (!err && call->loop.verbose)
		call_note(call, "the kernel command line says %s", found.from);
	return err;
}

static int read_call(struct call *call, struct nfs_mount *m)
{
	const struct mount_options *opts = call->opts;
	unsigned operands = opts->from_cmdline ? 1 : 2;
	int err;

	if (call->operands > operands)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "'%s' is one operand too many", call->operand[operands]);
	if (call->operands < operands)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, operands == 2 && !call->operands ? "what to mount is missing: HOST:/PATH or nfs+rdma://HOST/PATH" :
			"the directory to mount on is missing");
	nfs_options_init(&m->options);
	err = opts->from_cmdline ? read_cmdline(call, m) : nfs_source_read(call->operand[0], &m->source, &m->options, &m->timeout_ms, call->diag);
	for (unsigned i = 0; !err && i < opts->options.count; i++)
		err = nfs_options_read(&m->options, opts->options.item[i], call->diag);
	if (!err && opts->sloppy)
		err = nfs_options_read(&m->options, "sloppy", call->diag);
	if (!err && m->options.background)
		call_note(call, "option bg: this waits, retry=MINUTES says how long");
	return err;
}

static const char *way_word(bool rdma)
{
	return rdma ? "RDMA" : "TCP";
}

static void print_dry_run(struct call *call, const struct nfs_mount *m)
{
	char flags[200], all[NFS_OPTIONS_MAX + 256], options[OUT_SHELL(sizeof(all))], source[OUT_SHELL(sizeof(m->source.name))], dir[OUT_SHELL(PATH_MAX)];

	nfs_flags_text(m->options.flags, flags, sizeof(flags));
	snprintf(all, sizeof(all), "%s%s%s%s%s", m->options.remount ? "remount" : "", m->options.remount && *flags ? "," : "", flags,
		(*flags || m->options.remount) && m->data[0] ? "," : "", m->data);
	out_line(call->out, "mount -i -t nfs -o %s %s %s", out_shell(all, options, sizeof(options)), out_shell(m->source.name, source, sizeof(source)),
		out_shell(m->dir, dir, sizeof(dir)));
	out_text(call->out, "flags", NULL, "%s", flags);
}

static void print(struct call *call, const struct nfs_mount *m)
{
	const struct mount_options *opts = call->opts;
	bool dry_run = m->dry_run && !m->already, quiet = !strcmp(call->name, OLD_NAME) && !call->loop.verbose;
	char host[ADDR_TEXT];

	out_text(call->out, "source", NULL, "%s", m->source.name);
	out_text(call->out, "directory", NULL, "%s", m->dir);
	out_bool(call->out, "mounted", NULL, !dry_run);
	out_bool(call->out, "already", NULL, m->already);
	if (m->version)
		out_text(call->out, "version", NULL, "%s", nfs_version_word(m->version));
	out_text(call->out, "transport", NULL, "%s", m->rdma ? "rdma" : "tcp");
	out_text(call->out, "address", NULL, "%s", addr_host(&m->server, host));
	out_text(call->out, "data", NULL, "%s", m->data);
	if (m->way[0])
		out_text(call->out, "path", NULL, "%s", m->way);
	if (m->fell_back.err) {
		out_object(call->out, "fallback");
		out_text(call->out, "code", NULL, "%s", diag_code_word(m->fell_back.code));
		out_text(call->out, "text", NULL, "%s", m->fell_back.text);
		out_end(call->out);
		call_note(call, "%s TCP, because over RDMA: %s", dry_run ? "would mount over" : "mounted over", m->fell_back.text);
	}
	if (dry_run) {
		print_dry_run(call, m);
		return;
	}
	out_text(call->out, "options", NULL, "%s", m->mounted.super);
	if (m->mounted.transport[0])
		out_text(call->out, "statistics", NULL, "%s", m->mounted.transport);
	if (!quiet && !opts->common.quiet)
		out_line(call->out, "%s is %smounted on %s: NFS %s over %s", m->source.name, m->already ? "already " : "", m->dir,
			m->version ? nfs_version_word(m->version) : "", way_word(m->rdma));
	if (call->loop.verbose)
		call_note(call, "%s%s%s", m->mounted.super, m->way[0] ? "; asked over " : "", m->way);
}

static int find_dir(struct call *call, const char *typed, char dir[PATH_MAX])
{
	int root = kernel_root(), err;

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = kernel_mount_dir(root, typed, dir);
	close(root);
	if (err == -ETIMEDOUT)
		return diag_set(call->diag, DIAG_TIMEOUT, ETIMEDOUT, "the way to directory '%s' does not end: it leads through a mount whose server is gone", typed);
	if (err)
		diag_set(call->diag, DIAG_NOT_FOUND, -err, "there is no directory '%s' to mount on: %s", typed, diag_errno_text(-err));
	return err;
}

static int mount_it(struct call *call)
{
	const struct mount_options *opts = call->opts;
	struct nfs_mount m = { .fallback_tcp = opts->fallback && !strcmp(opts->fallback, "tcp"),
		.dry_run = opts->common.dry_run || opts->fake,
		.over = opts->force,
		.timeout_ms = opts->common.timeout_ms,
		.note = note,
		.arg = call };
	bool helper = !strcmp(call->name, OLD_NAME);
	char dir[PATH_MAX];
	const char *typed;
	struct loop *loop;
	int err = read_call(call, &m);

	if (err)
		return err;
	typed = call->operand[call->operands - 1];
	m.dir = dir;
	err = find_dir(call, typed, dir);
	if (err)
		return helper ? MOUNT_FAIL : err;
	err = loop_new(&loop, &call->loop, call->diag);
	if (err)
		return err;
	err = nfs_mount(loop, &m, call->diag);
	loop_free(loop);
	if (!err)
		print(call, &m);
	return err && helper && call->diag->code != DIAG_USAGE ? MOUNT_FAIL : err;
}

const struct applet applet_nfsrdma_mount = {
	.name = "nfsrdma-mount",
	.replaces = OLD_NAME,
	.replaced_usage = "HOST:/PATH DIR [-sfnv] [-o OPTIONS]",
	.operands = "SOURCE DIR",
	.schemes = SCHEME_NFS,
	.summary = "mount NFS over RDMA",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct mount_options),
	.max = UINT8_MAX,
	.changes = true,
	.own_letters = "o",
	.run = mount_it,
};
