/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logging in to one SRP target through ib_srp, and what that makes: a SCSI host with a remote port.
 * Everything is reached under a root descriptor. */
#pragma once
#include "diag.h"
#include "policy.h"
#include "uri.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A connection of the kernel's SRP initiator. */
struct kernel_srp {
	char host[24]; /* "host6" */
	uint64_t id_ext, ioc_guid;
	bool by_cm; /* by RDMA/CM: then not the three below */
	uint64_t service_id;
	uint8_t dgid[16];
	uint16_t pkey;
	char dev[64];  /* "" when the kernel does not say */
	unsigned port; /* 0 as well */
};
int kernel_srp_list(int root, struct kernel_srp **, unsigned *count, struct diag *); /* free() it */
/* Which of them is connected as `want` says (but host); what the kernel does not tell of one counts
 * as equal. NULL = none. */
const struct kernel_srp *kernel_srp_find(
	const struct kernel_srp *, unsigned count, const struct kernel_srp *want, bool any_pkey);
/* The same without a list, for one: by which host; "" = by none. */
bool kernel_srp_connected(int root, const struct kernel_srp *want, bool any_pkey, char host[24]);
/* Whether this host, "host6", is connected so now. */
bool kernel_srp_still(int root, const char *host, const struct kernel_srp *want, bool any_pkey);
/* bytes of immediate data ib_srp sends; 0 = none, or not loaded */
uint32_t kernel_srp_imm_data(int root);
int kernel_srp_ready(int root, struct diag *); /* loads ib_srp */
/* The rules file, or the default one, whose text is NULL when there is none; free() it. `name` is
 * what to call it. `again`: it was read before, and must be a file that has not changed by that:
 * -ESPIPE. Then it does not block. */
int kernel_srp_rules(int root, const char *file, bool again, char *name, size_t name_len,
	char **text, size_t *len, struct diag *);
/* The lock of a port, the one that srp_daemon (rdma-core) takes too: a descriptor that holds it as
 * long as it is open. -EBUSY: the holder is named. -EROFS, -ENOENT …: there is no place for one. */
int kernel_srp_lock(int root, const char *dev, unsigned port, struct diag *);

/* What add_target takes, in its own words (Linux 6.12, drivers/infiniband/ulp/srp/ib_srp.c,
 * srp_opt_tokens). */
enum srp_opt {
	SRP_OPT_ID_EXT,
	SRP_OPT_IOC_GUID,
	SRP_OPT_DGID, /* these three: by the InfiniBand connection manager */
	SRP_OPT_PKEY,
	SRP_OPT_SERVICE_ID,
	SRP_OPT_DEST, /* these two: by RDMA/CM */
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
	SRP_OPT_MAX_IT_IU_SIZE, /* last: kernels that do not know it stop reading there */
	SRP_OPTS,
};

struct srp_want {
	/* as they are sent, "" = not given; dest and src may still be names */
	char value[SRP_OPTS][80];
};
const char *kernel_srp_opt_name(enum srp_opt); /* "id_ext" */
int kernel_srp_opt_find(const char *name);     /* '-' and '_' are the same; -1 = there is none */
/* One value, brought into the form that is sent: 16 hexadecimal digits, a GID as 32. Errors: usage,
 * naming the key and its range. */
int kernel_srp_set(struct srp_want *, enum srp_opt, const char *value, struct diag *);
/* An add_target string, of any origin. A key that is given twice or already set is an error. */
int kernel_srp_parse(struct srp_want *, const char *line, struct diag *);
/* What is missing, and what does not go together. root: for the module's own parameters. */
int kernel_srp_check(int root, const struct srp_want *, struct diag *);
/* Names become numbers, src's family dest's. Needs: checked. */
int kernel_srp_resolve(struct srp_want *, struct diag *);
#define SRP_LINE 1024
/* what is written, without newline */
void kernel_srp_line(const struct srp_want *, char line[SRP_LINE]);

/* srp://GID-or-LID/IOC_GUID/ID_EXT[/LUN] and srp+cm://HOST:PORT/IOC_GUID/ID_EXT[/LUN]; other keys
 * are left to the caller, who ends with uri_done(). */
#define SRP_LUN_ALL UINT64_MAX
struct srp_place {
	uint16_t lid; /* instead of a GID; 0 = none */
	uint64_t lun; /* as a number of the SCSI layer; SRP_LUN_ALL */
};
int kernel_srp_uri(struct srp_want *, struct uri *, struct srp_place *, struct diag *);

/* The port of this machine that a login leaves from. */
struct srp_local {
	char dev[64];
	unsigned port;
};
/* dev NULL, port 0: chosen: for InfiniBand an active port in the GID's subnet, else the one that
 * routes to the address. `others`: further ones that would do, "" = none. Needs: resolved. */
int kernel_srp_port(int root, const struct srp_want *, const char *dev, unsigned port,
	struct srp_local *, char *others, size_t len, struct diag *);

/* The remote port's timeouts in seconds. */
struct srp_tmo {
	int reconnect_delay, fast_io_fail_tmo, dev_loss_tmo;
};
struct srp_rport {
	char name[24], state[16]; /* "port-6:1"; running, blocked, fail-fast, lost */
	struct srp_tmo tmo;
	unsigned failed_reconnects;
};
int kernel_srp_rport(int root, unsigned host, struct srp_rport *); /* -ENOENT */
/* what a new port gets: the module's parameters */
void kernel_srp_tmo_default(int root, struct srp_tmo *);
/* The manual's four rules (Documentation/ABI/stable/sysfs-transport-srp, srp_tmo_valid()). */
int kernel_srp_tmo_check(const struct srp_tmo *, struct diag *);
/* What is wanted, and `now` where that is VALUE_UNKNOWN. */
struct srp_tmo kernel_srp_tmo_merge(const struct srp_tmo *want, const struct srp_tmo *now);
/* Each of them that is not VALUE_UNKNOWN, in an order that the kernel takes. Blocks while the port
 * reconnects. */
int kernel_srp_tmo_set(int root, unsigned host, const struct srp_tmo *, struct diag *);

/* Whether the port has an add_target: -ENODEV. */
int kernel_srp_supports(int root, const struct srp_local *, struct diag *);
/* Log in: 0, -EEXIST: the kernel is connected already, or another -errno. Blocks until the target
 * has answered and its disks are found. The kernel takes one at a time for each port. */
int kernel_srp_add(int root, const struct srp_local *, const char *line);
/* Whether a line of the kernel's log is about logins; why one failed, by these lines. */
bool kernel_srp_logged(const char *line);
/* Keep the lines of the login that failed: drop those of hosts that exist (but not of `own`, -1 =
 * none), and all if several logins failed, as the kernel does not report which line is whose. */
void kernel_srp_log_of_failed(int root, int own, char *log);
int kernel_srp_add_why(int err, const char *log, struct diag *);

bool kernel_srp_loaded(int root);
/* Loads ib_srp, with parameters ("name=value"). *loaded: by this call. -EALREADY: already loaded
 * with another value. */
int kernel_srp_load(int root, char *const *params, unsigned count, bool *loaded, struct diag *);
/* Its parameters: calls with name and value. */
void kernel_srp_params(
	int root, void (*each)(const char *name, const char *value, void *arg), void *arg);

/* Whether a host is connected to this target as wanted, by this port (NULL: by any). An empty dgid
 * or service_id matches all. */
bool kernel_srp_fits(
	const struct kernel_srp *, const struct srp_want *, const struct srp_local *local);
/* The same by any path. */
bool kernel_srp_same_target(
	const struct kernel_srp *, const struct srp_want *, const struct srp_local *local);
int kernel_srp_number(const char *host); /* of "host6"; -1 */
/* Returns once the kernel has begun to remove it, which may take as long as a reconnect attempt.
 * -ENOENT: no remote port. */
int kernel_srp_delete(int root, unsigned host);
