/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NFS mounts from the words of a command line. */
#pragma once
#include "applet.h"
#include "nfs_mount.h"

/* Options that say how to mount: a member `words` of the applet's. */
struct nfs_words {
	struct opt_list options; /* of -o */
	const char *types;
	bool read_only, read_write, sloppy;
};
/* Which source and with which options: of `given`, HOST:/PATH or a URI, or where that is NULL of
 * the kernel command line; then of words, which count over it. *timeout_ms changes if the URI has
 * one. Errors: in call->diag. */
int nfs_want_read(struct call *, const char *given, const struct nfs_words *, struct nfs_mount *,
	uint32_t *timeout_ms);
