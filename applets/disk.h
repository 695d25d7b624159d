/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What applets that open disks share: who we are, how long loss is borne, and an explanation when a disk cannot be had. */
#pragma once
#include "applet.h"
#include "bdev.h"

/* Fills env: identity, --timeout, --on-loss (may be NULL). */
int disk_env(const struct call *, struct bdev_env *, const char *on_loss);
/* --on-loss, or what the URI says instead; UINT32_MAX = for ever. */
int disk_on_loss(const struct call *, const char *uri, const char *on_loss, uint32_t *ms);
/* What the disk is, in words that are the same for whoever opens it again; "" when nothing of it lasts (ram:). Never cut: what two disks
 * have in common may be long. bdev may be NULL for a file that is not open.
 * False: nothing identifies the disk; the text is its URI at most. */
#define DISK_KEY (URI_MAX + 128)
bool disk_key(const char *uri, const struct bdev *, char text[DISK_KEY]);
/* bdev_open(), which before it loads the kernel modules RDMA needs, refuses to write to what is
 * held, and names the holder. A lost connection, and one that is back, is a line on stderr:
 * bdev->report is set. */
int disk_open(const struct call *, struct bdev **, struct loop *, const char *uri, const struct bdev_env *);
/* One line when something else writes to the local disk that is to be read. */
void disk_warn_writers(const struct call *, const char *uri);
/* When no RDMA device was found, what the kernel lacks (kernel_rdma_ready) is the better cause; what came of the other way stays. */
int disk_blame_rdma(struct diag *why, const struct diag *rdma);
/* Some byte of the identifier is not zero. */
bool disk_id_known(const uint8_t *id, size_t len);
/* The path behind a file: URI or a plain path; false for other schemes. */
bool disk_path(const char *uri, char *path, size_t len);
/* Its members in the JSON object of whoever offers it. */
void disk_show(struct out *, const struct bdev *, bool ro);
