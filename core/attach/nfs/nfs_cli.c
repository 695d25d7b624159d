/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Source and options of an NFS mount from the command line. */
#include "attach_nfs.h"
#include "kernel_identity.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static int read_cmdline(struct call *call, struct nfs_mount *m, uint32_t *timeout_ms)
{
	struct nfs_root found;
	int root = kernel_root(), err;

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = kernel_nfs_root(root, &found, call->diag);
	close(root);
	if (!err)
		err = kernel_nfs_options_read(&m->options, found.options, call->diag);
	if (!err)
		err = kernel_nfs_source_read(
			found.source, &m->source, &m->options, timeout_ms, call->diag);
	if (err)
		return diag_ctx(call->diag, "kernel command line");
	if (call->loop.verbose)
		call_note(call, "kernel command line: %s", found.from);
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

int nfs_mount_read(struct call *call, const char *given, const struct nfs_cli_options *cli,
	struct nfs_mount *m, uint32_t *timeout_ms)
{
	int err;

	kernel_nfs_options_init(&m->options);
	err = given ? kernel_nfs_source_read(given, &m->source, &m->options, timeout_ms, call->diag)
		    : read_cmdline(call, m, timeout_ms);
	return err ? err : read_cli(cli, &m->options, call->diag);
}
