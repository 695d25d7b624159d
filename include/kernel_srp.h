/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log in to SRP targets through ib_srp; each login creates a SCSI host with a remote port. Paths
 * are relative to a root descriptor. */
#pragma once
#include "policy.h"
#include "uri_read.h"

/* A connection of the kernel's SRP initiator. */
struct kernel_srp {
	char host[24]; /* "host6" */
	uint64_t id_ext, ioc_guid;
	bool by_cm; /* by RDMA/CM; the next three are unset then */
	uint64_t service_id;
	uint8_t dgid[16];
	uint16_t pkey;
	uint8_t dest[16]; /* IP address by RDMA/CM, IPv4 as ::ffff:a.b.c.d; zeros: unknown */
	char dev[64];     /* "": not reported */
	unsigned port;    /* 0: not reported */
};
/* List all connections by number. The caller frees the list. */
int kernel_srp_list(int root, struct kernel_srp **, unsigned *count, struct diag *);
/* Set dest of connections by RDMA/CM. Only the kernel's log has it, until newer lines overwrite
 * that of the login. */
void kernel_srp_set_dests(int root, struct kernel_srp *, unsigned count);
/* Find a connection with these values, except host. Unreported values of a connection match. NULL:
 * none. */
const struct kernel_srp *kernel_srp_find(
	const struct kernel_srp *, unsigned count, const struct kernel_srp *match, bool any_pkey);
/* Find it in sysfs. Sets host to its name, "": none. */
bool kernel_srp_connected(int root, const struct kernel_srp *match, bool any_pkey, char host[24]);
/* Whether host "host6" has such a connection now. */
bool kernel_srp_host_matches(
	int root, const char *host, const struct kernel_srp *match, bool any_pkey);
/* Return the limit of immediate data that ib_srp sends, in bytes; 0: none, or not loaded. */
uint32_t kernel_srp_imm_data(int root);
int kernel_srp_ready(int root, struct diag *); /* load ib_srp */
/* Read the rules of srp_daemon from a file; NULL: the default one, whose text is NULL if it is
 * missing. The caller frees *text. name: set to the path. reread: it was read before; never blocks.
 * -ESPIPE: not a regular file, so it can't be read again. */
int kernel_srp_rules(int root, const char *file, bool reread, char *name, size_t name_len,
	char **text, size_t *len, struct diag *);
/* Take the lock of a port, which is also that of rdma-core's srp_daemon. Returns a descriptor that
 * holds it. -EBUSY: diag names the holder; -EROFS, -ENOENT …: the file can't be created. */
int kernel_srp_lock(int root, const char *dev, unsigned port, struct diag *);

/* Check for missing options and invalid combinations, with the module's parameters. */
int kernel_srp_check(int root, const struct srp_params *, struct diag *);
/* Return true if the host of dest is a name, which the caller resolves. */
bool kernel_srp_dest_name(const struct srp_params *, char host[SRP_VALUE], uint16_t *port);
/* Set dest and src of checked parameters from the addresses of dest. -EINVAL: none is of the
 * address family of src; the others are removed from *dest. */
int kernel_srp_set_addrs(struct srp_params *, struct addr *dest, struct diag *);
/* The same with dest as it is, which is not a name. *dest: its address; family 0: there is none. */
int kernel_srp_parse_addrs(struct srp_params *, struct addr *dest, struct diag *);
void kernel_srp_set_dest(struct srp_params *, const struct addr *);
void kernel_srp_line(const struct srp_params *, char line[SRP_LINE]);

/* Local port of a login. */
struct srp_local {
	char dev[64];
	unsigned port;
};
/* Choose the local port for resolved parameters, unless dev (NULL: any) and port (0: any) are set:
 * an active one in the subnet of the GID, or with RDMA/CM the one that routes to the address.
 * others: text of other candidates, "": none. */
int kernel_srp_port(int root, const struct srp_params *, const char *dev, unsigned port,
	struct srp_local *, char *others, size_t len, struct diag *);

/* Timeouts of a remote port: seconds, VALUE_OFF or VALUE_UNKNOWN. */
struct srp_tmo {
	int reconnect_delay, fast_io_fail_tmo, dev_loss_tmo;
};
struct srp_rport {
	char name[24], state[16]; /* "port-6:1"; running, blocked, fail-fast, lost */
	struct srp_tmo tmo;
	unsigned failed_reconnects;
};
int kernel_srp_rport(int root, unsigned host, struct srp_rport *); /* -ENOENT */
/* Get the timeouts of a new port, which are the module's parameters. */
void kernel_srp_tmo_default(int root, struct srp_tmo *);
/* Check the kernel's rules (Documentation/ABI/stable/sysfs-transport-srp, srp_tmo_valid()). */
int kernel_srp_tmo_check(const struct srp_tmo *, struct diag *);
/* Return tmo, with values of `now` for VALUE_UNKNOWN. */
struct srp_tmo kernel_srp_tmo_merge(const struct srp_tmo *tmo, const struct srp_tmo *now);
/* Set the values that are not VALUE_UNKNOWN, in an order that the kernel accepts. Blocks while the
 * port reconnects. */
int kernel_srp_tmo_set(int root, unsigned host, const struct srp_tmo *, struct diag *);

int kernel_srp_supports(int root, const struct srp_local *, struct diag *); /* -ENODEV */
/* Log in. -EEXIST: the kernel is already connected; other -errno. Blocks until the target has
 * answered and its disks are found. The kernel handles one login at a time per port. */
int kernel_srp_add(int root, const struct srp_local *, const char *line);
/* Whether a line of the kernel's log is about SRP logins. */
bool kernel_srp_logged(const char *line);
/* Keep the lines of the failed login: drop those of existing hosts except `own` (-1: none), and all
 * if several logins failed, as lines do not name their target. */
void kernel_srp_log_of_failed(int root, int own, char *log);
/* Set the reason of a failed login from its errno and these lines. Returns -errno. */
int kernel_srp_add_why(int err, const char *log, struct diag *);

bool kernel_srp_loaded(int root);
/* Load ib_srp with parameters "name=value". *loaded: this call loaded it. -EALREADY: it is loaded
 * with another value. */
int kernel_srp_load(int root, char *const *params, unsigned count, bool *loaded, struct diag *);
/* Call `each` for every parameter of the loaded module. */
void kernel_srp_module_params(
	int root, void (*each)(const char *name, const char *value, void *arg), void *arg);

/* Whether a connection is, or may be, to this target, by this path (empty dgid or service_id: any)
 * and local port (NULL: any). */
bool kernel_srp_fits(
	const struct kernel_srp *, const struct srp_params *, const struct srp_local *local);
/* False: RDMA/CM, and the address is unknown. */
bool kernel_srp_path_known(const struct kernel_srp *);
/* Whether it is to this target, by any path. */
bool kernel_srp_same_target(
	const struct kernel_srp *, const struct srp_params *, const struct srp_local *local);
/* False if its SCSI host is being removed. */
bool kernel_srp_stays(int root, const char *host);
int kernel_srp_number(const char *host); /* 6 of "host6"; -1: invalid */
/* Log out: returns when the kernel has begun to remove the host, which may take as long as a
 * reconnect attempt. -ENOENT: no remote port. */
int kernel_srp_delete(int root, unsigned host);
