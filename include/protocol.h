/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protocols as rows: what core/block and the applets know of them. */
#pragma once
#include "bdev.h"

struct proto { /* functions may be NULL */
	struct scheme scheme;
	bool local;       /* a disk of this host: opened without `paths` */
	bool exposed;     /* bdev_limits.exposed */
	bool lists_paths; /* its disks have bdev_ops.search */
	/* Look up the keys of the URI and call uri_done(), which fails if they are only listed (the
	 * loop is NULL). Then start to attach: a bdev that becomes UP or DOWN. */
	int (*attach)(struct bdev **, struct loop *, struct uri *, const struct bdev_env *,
		struct diag *);
	/* After attaching failed: add to `why` what would work there, if it can be found within ms.
	 * Runs the loop. */
	void (*suggest)(struct loop *, struct uri *, uint32_t ms, struct diag *why);
	/* List what the server offers, whatever the path of the URI: calls found() with the URI of
	 * each disk. Runs the loop for at most env->timeout_ms. */
	int (*discover)(struct loop *, struct uri *, const struct bdev_env *,
		void (*found)(const char *uri, void *user), void *user, struct diag *);
};
extern const struct proto nvme_rdma_proto, nvme_tcp_proto;
/* nbds: fails, as TLS is not supported */
extern const struct proto nbd_proto, nbd_unix_proto, nbds_proto, nbds_unix_proto;
extern const struct proto iscsi_proto, iser_proto, srp_cm_proto;
/* core/proto/kernel.c */
extern const struct proto srp_proto, nfs_rdma_proto;
/* core/block */
extern const struct proto file_proto, stream_proto, ram_proto, null_proto;
