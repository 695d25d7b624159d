/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the URIs of each protocol mean (rdmastor-uri(7)): one reader for our initiators, those of
 * the kernel, and boot. A reader sets all fields and looks up the keys that it names; the caller
 * looks up its others, then calls uri_done(). Texts are in the URI, which must outlive them. Errors
 * are DIAG_USAGE, unless a function says more. */
#pragma once
#include "names.h"
#include "uri.h"

enum uri_initiator { URI_OWN, URI_KERNEL }; /* for whose initiator a URI is read */

/* Refuse a key, if the URI has it, as that of the other initiator. */
int uri_refuse_key(const struct uri *, enum uri_initiator, const char *name, struct diag *);
/* Refuse the keys of all our own disks that no initiator of the kernel knows. */
int uri_refuse_disk_keys(const struct uri *, struct diag *);

/* Copy the value of a key, 1 to room - 1 bytes. Without the key *to is unchanged. */
int uri_text(struct uri *, const char *name, char *to, size_t room, struct diag *);
/* Read src=, the local address. */
int uri_source(struct uri *, struct addr *, struct diag *);

struct uri_rdma { /* keys of all protocols over RDMA */
	struct addr_rdma by;
	char dev[64]; /* RDMA device; "": any */
};
/* -ENOTSUP, DIAG_UNSUPPORTED: only software iWARP is allowed, which the kernel can't use. */
int uri_rdma_read(struct uri_rdma *, struct uri *, enum uri_initiator, struct diag *);

#define SCSI_LUN_ALL UINT64_MAX
/* Parse a LUN of the URI as the kernel numbers them, or "", which is SCSI_LUN_ALL. */
int uri_lun(const struct uri *, const char *text, uint64_t *lun, struct diag *);

/* ---- NVMe */

struct uri_nvme {
	char subnqn[NAME_PLAIN_MAX + 1]; /* "": none */
	uint32_t nsid;                   /* 0: none, or by UUID */
	bool by_uuid;
	uint8_t uuid[16];
};
/* Read the path, "", "SUBNQN", "SUBNQN/1" or "SUBNQN/urn:uuid:UUID". */
int uri_nvme_read(struct uri_nvme *, const struct uri *, struct diag *);

/* ---- SRP */

/* Options of add_target (Linux 6.12, drivers/infiniband/ulp/srp/ib_srp.c, srp_opt_tokens). */
enum srp_opt {
	SRP_OPT_ID_EXT,
	SRP_OPT_IOC_GUID,
	SRP_OPT_DGID, /* these three: InfiniBand connection manager */
	SRP_OPT_PKEY,
	SRP_OPT_SERVICE_ID,
	SRP_OPT_DEST, /* these two: RDMA/CM */
	SRP_OPT_SRC,
	SRP_OPT_IO_CLASS,
	SRP_OPT_INITIATOR_EXT,
	SRP_OPT_MAX_SECT,
	SRP_OPT_QUEUE_SIZE,
	SRP_OPT_MAX_CMD_PER_LUN,
	SRP_OPT_TARGET_CAN_QUEUE,
	SRP_OPT_CMD_SG_ENTRIES,
	SRP_OPT_ALLOW_EXT_SG,
	SRP_OPT_SG_TABLESIZE,
	SRP_OPT_COMP_VECTOR,
	SRP_OPT_TL_RETRY_COUNT,
	SRP_OPT_CH_COUNT,
	SRP_OPT_MAX_IT_IU_SIZE, /* last, as kernels without it stop parsing there */
	SRP_OPTS,
};

#define SRP_LINE  1024 /* an add_target string without newline */
#define SRP_VALUE 80
struct srp_params {
	/* as written to add_target, "": unset; dest and src may be names until resolved */
	char value[SRP_OPTS][SRP_VALUE];
};
/* struct srp_cmd and srp_indirect_buf (SRP-2, 6.8), before the descriptors of 16 bytes each */
#define SRP_IU_FIXED 68
const char *srp_opt_name(enum srp_opt); /* "id_ext" */
int srp_opt_find(const char *name);     /* '-' and '_' are equal; -1: none */
bool srp_opt_kernel_only(enum srp_opt); /* a limit of ib_srp */
/* Check and set one value, normalised: 16 hexadecimal digits, a GID as 32. Errors: usage, naming
 * the key and its range. */
int srp_params_set(struct srp_params *, enum srp_opt, const char *value, struct diag *);
/* Parse an add_target string. A key that is set to two different values is an error. */
int srp_params_parse(struct srp_params *, const char *line, struct diag *);

struct uri_srp {
	/* dest: only for the kernel; ours uses host and port of the URI, which are not empty then
	 */
	struct srp_params params;
	uint16_t lid; /* instead of a GID, only for the kernel; 0: none */
	uint64_t lun; /* SCSI_LUN_ALL */
};
/* Read srp://GID-or-LID/IOC_GUID/ID_EXT[/LUN] or srp+cm://HOST:PORT/IOC_GUID/ID_EXT[/LUN]. */
int uri_srp_read(struct uri_srp *, struct uri *, enum uri_initiator, struct diag *);

/* ---- iSCSI and iSER */

struct uri_iscsi {
	char target[NAME_PLAIN_MAX + 1]; /* "": none */
	uint64_t lun;                    /* SCSI_LUN_ALL */
};
/* Read the path, "", "IQN" or "IQN/LUN". */
int uri_iscsi_read(struct uri_iscsi *, const struct uri *, enum uri_initiator, struct diag *);
/* Copy the name of a target, of `len` bytes. */
int uri_iscsi_name(char target[NAME_PLAIN_MAX + 1], const char *name, size_t len, struct diag *);

struct uri_iscsi_identity { /* NULL: unset */
	const char *initiator;
	/* of CHAP, [0] ours, [1] the target's */
	const char *user[2], *secret[2], *secret_file[2];
	const char *algs;
};
struct uri_iscsi_identity uri_iscsi_identity(struct uri *);
