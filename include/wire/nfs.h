/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RPC programs around NFS: the port mapper (RFC 1833), MOUNT version 3 (RFC 1813, appendix I), NFS
 * version 4 (RFC 7530, 7862, 8881) as far as a server is asked what it has. */
#pragma once
#include "wire.h"

#define PORTMAP_PROG    100000
#define PORTMAP_PORT    111
#define PORTMAP_VERSION 2 /* RFC 1833, 3 */
#define PORTMAP_GETPORT 3
#define RPCBIND_VERSION 4 /* RFC 1833, 2 */
#define RPCBIND_GETADDR 3
#define PORTMAP_TCP     6

#define MOUNT_PROG     100005
#define MOUNT_VERSION  3
#define MOUNT_EXPORT   5
#define MOUNT_PATH_MAX 1024
#define MOUNT_NAME_MAX 255

#define STATUS_PROG    100024 /* network status monitor */
#define STATUS_VERSION 1

#define NFS_PROG     100003
#define NFS4_VERSION 4
#define NFS3_VERSION 3

#define NFS4_COMPOUND 1
/* RFC 7530, 16 */
enum nfs4_op {
	NFS4_OP_GETATTR = 9,
	NFS4_OP_LOOKUP = 15,
	NFS4_OP_PUTROOTFH = 24,
	NFS4_OP_READDIR = 26
};
enum nfs4_stat { /* RFC 7530, 13 */
	NFS4_OK = 0,
	NFS4ERR_PERM = 1,
	NFS4ERR_NOENT = 2,
	NFS4ERR_ACCESS = 13,
	NFS4ERR_WRONGSEC = 10016,
	NFS4ERR_MINOR_VERS_MISMATCH = 10021,
};
/* RFC 7530, 5.6: attributes by number */
enum { NFS4_ATTR_TYPE = 1, NFS4_ATTR_FSID = 8, NFS4_ATTR_RDATTR_ERROR = 11 };
#define NFS4_DIR       2 /* of nfs_ftype4 */
#define NFS4_NAME_MAX  255
#define NFS4_TAG_MAX   1024
#define NFS4_VERIFIER  8
#define NFS4_ATTRS_MAX 1024
