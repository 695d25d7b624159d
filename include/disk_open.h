/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For applets that open disks: identity, loss policy, and the reason of failures. */
#pragma once
#include "applet.h"
#include "bdev.h"
#include "kernel_identity.h"

/* Return a descriptor of "/", which is opened once and never closed, or -errno. */
int disk_root(struct diag *);
void disk_root_close(void); /* the next call opens it again */

/* Set env: identity, --timeout, --on-loss (may be NULL). */
int disk_env(const struct call *, struct bdev_env *, const char *on_loss);
/* Get the loss policy: loss= of the URI, otherwise --on-loss, otherwise the default. UINT32_MAX: no
 * limit. */
int disk_on_loss(const struct call *, const char *uri, const char *on_loss, uint32_t *ms);
/* Get a key that identifies the disk whenever it is opened; "" if there is none (ram:). It is never
 * truncated, as keys may share a long prefix. bdev may be NULL for a file that is not open. False:
 * the disk has no identifier; the key is its URI or "". */
#define DISK_KEY (URI_MAX + 192)
bool disk_key(const char *uri, const struct bdev *, char text[DISK_KEY]);
/* Give all disks of this process random identities and no key from now on: so that no host takes
 * them for disks that it knows. Not thread-safe. */
void disk_make_anonymous(void);
/* Get the identity of the disk for other hosts, from its real path, or from its key if it is remote
 * or a part. Warn if that of a file is not permanent. */
int disk_identify(
	const struct call *, const char *uri, const struct bdev *, struct disk_identity *);
/* Whether the URI is one of verbs, for which modules are loaded. */
bool disk_needs_rdma(const char *uri);
/* Let the helper open what the disk needs whenever it connects: secrets and unix sockets
 * (helper.h). 0 or -ENOMEM. */
int disk_allow(const char *uri);
/* Warn if other users can read a file with secrets that a key of the URI names, also of a path. */
void disk_check_secrets(const struct call *, const char *uri);
/* What disk_open() does first, and what it can't do any more once this process has given up the
 * rights of root: load kernel modules for RDMA, and warnings about files. */
void disk_prepare(const struct call *, const char *uri);
/* Load kernel modules for RDMA if the URI needs them, and call bdev_open(). -EBUSY: to be written,
 * but in use; the diag names the user. bdev->report prints lost and restored connections. */
int disk_open(const struct call *, struct bdev **, struct loop *, const char *uri,
	const struct bdev_env *);
/* The `keys` function of applets whose operands are disks. */
void disk_keys(const char *text, struct uri_key_names *);
/* Warn if this host has only a random name for the disk: it differs in each run, so no access list
 * has it. */
void disk_warn_random(const struct call *, int root, const char *uri);
/* Warn if a local disk to be read is open for writing elsewhere. */
void disk_warn_writers(const struct call *, const char *uri);
