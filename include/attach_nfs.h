/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NFS mounts from the command line. */
#pragma once
#include "nfs_mount.h"
#include "opt_list.h"
#include "out.h"

struct nfs_cli_options {         /* a member `cli` of the applet's options */
	struct opt_list options; /* of -o */
	const char *types;
	bool read_only, read_write, sloppy;
};
/* Set source and options of a mount from `given`, HOST:/PATH or a URI (NULL: the kernel command
 * line), then from the command line, which takes precedence. *timeout_ms changes if the URI has a
 * timeout. */
int nfs_mount_read(const struct out_notes *, const char *given, const struct nfs_cli_options *,
	struct nfs_mount *, uint32_t *timeout_ms, struct diag *);
/* Print the source as a URI. */
void nfs_mount_uri(const struct nfs_mount *, char uri[URI_MAX]);
#define NFS_MODULES 4
/* List the kernel modules that the mount needs; NULL ends them. */
void nfs_mount_modules(const struct nfs_mount *, const char *modules[NFS_MODULES]);
/* Print the mount command of a dry run, the modules to load and, as JSON, the flags. */
void nfs_mount_plan(struct out *, const struct out_notes *, const struct nfs_mount *);
