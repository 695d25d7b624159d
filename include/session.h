/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protocols as rows: what block/ and the applets may know of them. */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "loop.h"
#include "uri.h"

struct proto { /* NULL = this protocol does not */
	struct scheme scheme;
	bool local;   /* a disk of this machine: opened without `paths` */
	bool exposed; /* bdev_limits.exposed */
	/* Starts attaching: a bdev that will be UP or DOWN. Asks the URI for its keys and ends with
	 * uri_done(). */
	int (*attach)(struct bdev **, struct loop *, struct uri *, const struct bdev_env *,
		struct diag *);
	/* Attaching has failed: what would work there instead, if that can be found out within ms,
	 * goes into `why`. Runs the loop. */
	void (*suggest)(struct loop *, struct uri *, uint32_t ms, struct diag *why);
	/* Lists what the server of the URI offers, whatever its path: found() with the URI of each
	 * disk. Runs the loop, for at most env->timeout_ms. */
	int (*discover)(struct loop *, struct uri *, const struct bdev_env *,
		void (*found)(const char *uri, void *user), void *user, struct diag *);
};
extern const struct proto nvme_rdma_proto, nvme_tcp_proto;
/* those with TLS say that they are not supported */
extern const struct proto nbd_proto, nbd_unix_proto, nbds_proto, nbds_unix_proto;
extern const struct proto iscsi_proto, iser_proto, srp_cm_proto;
/* core/proto/kernel.c */
extern const struct proto srp_proto, nfs_rdma_proto;
/* core/block */
extern const struct proto file_proto, stream_proto, ram_proto, null_proto;
