/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An NFS server in so far as it is asked what it has: a call's bytes in, the reply's out. Carriers
 * are the test's. */
#pragma once
#include "uri.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nfs_server {
	uint32_t low, high;  /* versions of NFS */
	unsigned minors;     /* bit n: 4.n */
	uint16_t mount_port; /* that its port mapper tells; 0 = none */
	struct nfs_server_dir {
		const char *path; /* "/a/b"; parents come before */
		uint64_t fsid;
		bool file;
	} dir[64]; /* the root is there, with fsid 0; path NULL ends it */
	struct nfs_server_export {
		const char *path, *to[4];
	} export[64];
	uint32_t reject; /* rpc_accept of every reply; 0: it is served */
	bool deny;       /* the credentials */
	unsigned calls;  /* counted */
	_Atomic enum {   /* of its replies over TCP */
		NFS_SERVER_WHOLE,
		NFS_SERVER_BYTES, /* one at a time */
		NFS_SERVER_FRAGMENTS,
		NFS_SERVER_HUGE, /* so they say */
		NFS_SERVER_EMPTY,
		NFS_SERVER_MUTE,
	} manner;
};
/* Length of the reply; 0: no RPC call. */
size_t nfs_server_reply(
	struct nfs_server *, const uint8_t *call, size_t len, uint8_t *reply, size_t room);
/* Serves on a port of loopback from a thread, one such server at a time. */
struct addr nfs_server_start(struct nfs_server *);
void nfs_server_stop(void);
