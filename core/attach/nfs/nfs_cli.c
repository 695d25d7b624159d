/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Source and options of an NFS mount from the command line, and the command that a dry run prints.
 */
#include "attach_nfs.h"
#include "kernel_identity.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int read_cmdline(
	const struct out_notes *notes, struct nfs_mount *m, uint32_t *timeout_ms, struct diag *diag)
{
	struct nfs_root found;
	int root = kernel_root(), err;

	if (root < 0)
		return diag_sys(diag, errno, "open /");
	err = kernel_nfs_root(root, &found, diag);
	close(root);
	if (!err)
		err = kernel_nfs_options_read(&m->options, found.options, diag);
	if (!err)
		err = kernel_nfs_source_read(
			found.source, &m->source, &m->options, timeout_ms, diag);
	if (err)
		return diag_ctx(diag, "kernel command line");
	if (notes->verbose)
		out_note(notes, "kernel command line: %s", found.from);
	return 0;
}

/* -o overrides the other options, as with mount.nfs. */
static int read_cli(
	const struct nfs_cli_options *cli, struct nfs_options *options, struct diag *diag)
{
	int err = 0;

	if (cli->read_only && cli->read_write)
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "--read-only and --read-write can't be combined");
	if (cli->types && !strcmp(cli->types, "nfs4"))
		err = kernel_nfs_options_read(options, "vers=4", diag);
	if (!err && (cli->read_only || cli->read_write))
		err = kernel_nfs_options_read(options, cli->read_only ? "ro" : "rw", diag);
	for (unsigned i = 0; !err && i < cli->options.count; i++)
		err = kernel_nfs_options_read(options, cli->options.item[i], diag);
	return !err && cli->sloppy ? kernel_nfs_options_read(options, "sloppy", diag) : err;
}

int nfs_mount_read(const struct out_notes *notes, const char *given,
	const struct nfs_cli_options *cli, struct nfs_mount *m, uint32_t *timeout_ms,
	struct diag *diag)
{
	int err;

	kernel_nfs_options_init(&m->options);
	err = given ? kernel_nfs_source_read(given, &m->source, &m->options, timeout_ms, diag)
		    : read_cmdline(notes, m, timeout_ms, diag);
	return err ? err : read_cli(cli, &m->options, diag);
}

void nfs_mount_uri(const struct nfs_mount *m, char uri[URI_MAX])
{
	uri_start(uri, "nfs+rdma", m->source.host, m->options.port);
	uri_encode(uri, m->source.path);
}

void nfs_mount_modules(const struct nfs_mount *m, const char *modules[NFS_MODULES])
{
	unsigned n = 0;

	modules[n++] = "nfs";
	if (m->options.major)
		modules[n++] = m->options.major == 3 ? "nfsv3" : "nfsv4";
	if (m->rdma)
		modules[n++] = "rpcrdma";
	modules[n] = NULL;
}

void nfs_mount_plan(struct out *out, const struct out_notes *notes, const struct nfs_mount *m)
{
	char flags[200], all[NFS_OPTIONS_MAX + 256], options[OUT_SHELL(sizeof(all))],
		source[OUT_SHELL(sizeof(m->source.name))], dir[OUT_SHELL(PATH_MAX)];
	const char *modules[NFS_MODULES];

	kernel_nfs_flags_text(m->options.flags, flags, sizeof(flags));
	snprintf(all, sizeof(all), "%s%s%s%s%s", m->options.remount ? "remount" : "",
		m->options.remount && *flags ? "," : "", flags,
		(*flags || m->options.remount) && m->data[0] ? "," : "", m->data);
	nfs_mount_modules(m, modules);
	attach_show_missing(out, notes, m->attach.root, modules);
	out_line(out, "mount -i -t nfs -o %s %s %s", out_shell(all, options, sizeof(options)),
		out_shell(m->source.name, source, sizeof(source)),
		out_shell(m->dir, dir, sizeof(dir)));
	if (*flags)
		out_text(out, "flags", NULL, "%s", flags);
}
