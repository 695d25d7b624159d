/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by applets that open disks: identity, loss policy, and the reason when a disk can't be
 * opened. */
#pragma once
#include "applet.h"
#include "bdev.h"
#include "kernel_identity.h"
#include "loop.h"

/* Descriptor of "/", opened once and never closed, or -errno. */
int disk_root(struct diag *);

/* Fills env: identity, --timeout, --on-loss (may be NULL). */
int disk_env(const struct call *, struct bdev_env *, const char *on_loss);
/* loss= of the URI, otherwise --on-loss; UINT32_MAX: no limit. */
int disk_on_loss(const struct call *, const char *uri, const char *on_loss, uint32_t *ms);
/* A key of the disk that is the same each time it is opened; "" if none persists (ram:). Never
 * truncated, as keys may share a long prefix. bdev may be NULL for a file that is not open. False:
 * nothing identifies the disk; the key is its URI at most. */
#define DISK_KEY (URI_MAX + 192)
bool disk_key(const char *uri, const struct bdev *, char text[DISK_KEY]);
/* The disk's identity for other hosts: of a file or device by its real path, of a remote disk by
 * its key. Note one that does not last. */
int disk_identify(
	const struct call *, const char *uri, const struct bdev *, struct disk_identity *);
/* Load the kernel modules for RDMA and call bdev_open(). A disk that is held is not opened for
 * writing; the error names the holder. bdev->report prints lost and restored connections. */
int disk_open(const struct call *, struct bdev **, struct loop *, const char *uri,
	const struct bdev_env *);
/* .keys of applets whose operands are disks. */
void disk_keys(const char *text, struct uri_asked *);
/* One line when something else writes to the local disk that is to be read. */
void disk_warn_writers(const struct call *, const char *uri);
/* If no RDMA device was found, replace the cause with what the kernel lacks (kernel_rdma_ready);
 * keep the result of the fallback. */
int disk_blame_rdma(struct diag *why, const struct diag *rdma);
/* True if a byte of the identifier is not zero. */
bool disk_id_known(const uint8_t *id, size_t len);
/* Whether the URI has a key for a part of the disk: offset=, size= or part=. */
bool disk_is_part(const char *uri);
/* Refuse to create a file of this name: it is that of an existing file with keys, as in
 * disk.img?part=1. 0: not so. */
int disk_refuse_keys(const char *path, struct diag *);
/* ram: or null:, without storage: each process has its own, and it is empty. */
bool disk_in_memory(const char *uri);
/* The path behind a file: URI or a plain path; false for other schemes. */
bool disk_path(const char *uri, char *path, size_t len);
