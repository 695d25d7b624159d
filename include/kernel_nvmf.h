/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe-oF through the kernel's initiator: connect by /dev/nvme-fabrics, read controllers in
 * /sys/class/nvme. Paths are relative to a root descriptor. */
#pragma once
#include "kernel_identity.h"
#include "kernel_log.h"
#include "loop.h"
#include "nvme_key.h"
#include "policy.h"
#include "uri.h"

/* Options of /dev/nvme-fabrics (Linux 6.12, drivers/nvme/host/fabrics.c, opt_tokens). */
enum nvmf_key {
	NVMF_TRANSPORT,
	NVMF_TRADDR,
	NVMF_TRSVCID,
	NVMF_NQN,
	NVMF_HOSTNQN,
	NVMF_HOSTID,
	NVMF_HOST_TRADDR,
	NVMF_HOST_IFACE,
	NVMF_QUEUE_SIZE,
	NVMF_NR_IO_QUEUES,
	NVMF_NR_WRITE_QUEUES,
	NVMF_NR_POLL_QUEUES,
	NVMF_RECONNECT_DELAY,
	NVMF_CTRL_LOSS_TMO,
	NVMF_FAST_IO_FAIL_TMO,
	NVMF_KEEP_ALIVE_TMO,
	NVMF_TOS,
	NVMF_DUPLICATE_CONNECT, /* from here to NVMF_TLS flags: "": yes */
	NVMF_DISABLE_SQFLOW,
	NVMF_HDR_DIGEST,
	NVMF_DATA_DIGEST,
	NVMF_DISCOVERY,
	NVMF_CONCAT,
	NVMF_TLS,
	NVMF_KEYRING,
	NVMF_TLS_KEY,
	NVMF_DHCHAP_SECRET, /* these two are secret and never printed */
	NVMF_DHCHAP_CTRL_SECRET,
	NVMF_KEYS,
};

struct nvmf_params {
	const char *value[NVMF_KEYS]; /* NULL: unset */
	/* the value is a default, left out if the kernel does not support the option */
	bool soft[NVMF_KEYS];
};

const char *kernel_nvmf_key_name(enum nvmf_key); /* "nr_io_queues" */
int kernel_nvmf_key_find(const char *name);      /* '-' and '_' are equal; -1: none */
bool kernel_nvmf_key_flag(enum nvmf_key);        /* it has no value */
/* Check one value; name: for messages, as the user typed it. */
int kernel_nvmf_key_check(enum nvmf_key, const char *name, const char *value, struct diag *);
/* Check all values and their combinations, also with the transport. Errors: usage, naming the key
 * and the range. */
int kernel_nvmf_check(const struct nvmf_params *, struct diag *);
/* Find a keyring by name (NULL: ".nvme") or number. Needs the driver. */
int kernel_nvmf_keyring(int root, const char *name, int32_t *ring, struct diag *);
struct nvmf_ring_key {
	int32_t ring, number; /* serial numbers; 0: none */
	bool added;           /* the keyring had no key with this identity */
};
/* Find the key with this identity in the keyring; add it if it is missing or differs, unless len is
 * 0. */
int kernel_nvmf_key(int32_t ring, const struct nvme_psk *, struct nvmf_ring_key *, struct diag *);
/* Remove a key from its keyring, unless a controller uses it or may do so. A process that has found
 * it, but has not connected yet, fails. 0 or -errno. */
int kernel_nvmf_key_remove(int root, const struct nvmf_ring_key *);

/* Resolve the addresses for the driver: link-local addresses get their scope, and an interface
 * becomes the source address of an RDMA connection. The parameters then point into `made`, which
 * is zeroed before the first call. May be called again for another traddr. */
struct nvmf_route {
	char traddr[ADDR_TEXT], host_traddr[ADDR_TEXT];
	const char *iface; /* whose address host_traddr is; NULL: it was given */
};
int kernel_nvmf_route(struct nvmf_params *, struct nvmf_route *made, struct diag *);

/* A controller in /sys/class/nvme; "": not reported. */
struct nvmf_ctrl {
	char name[16]; /* "nvme0" */
	char transport[8], state[16], nqn[224], hostnqn[224], hostid[40];
	char traddr[ADDR_TEXT], trsvcid[34], host_traddr[ADDR_TEXT], host_iface[16],
		src_addr[ADDR_TEXT];
	int ctrl_loss_tmo, reconnect_delay, fast_io_fail_tmo; /* seconds */
	unsigned queues; /* with the admin queue; 0: not reported */
	bool tls;        /* made with TLS */
	/* numbers of the kernel's keys: of the connection, 0: lost, or not reported; and the one
	 * that was specified, 0: none, or not reported */
	int32_t tls_key, tls_configured_key;
};
/* List fabrics controllers by number. The caller frees the list. */
int kernel_nvmf_list(int root, struct nvmf_ctrl **, unsigned *count, struct diag *);
/* Read a controller or its state only. -ENOENT: it does not exist. */
int kernel_nvmf_state(int root, const char *name, char state[16]);
int kernel_nvmf_read_ctrl(int root, const char *name, struct nvmf_ctrl *);
/* Find the controller connected to this target by this host, if possible one that has what
 * kernel_nvmf_missing() looks for. -ENOENT: none. */
int kernel_nvmf_find(int root, const struct nvmf_params *, struct nvmf_ctrl *);
/* Return what these options ask for and the controller was connected without: "TLS", or
 * "authentication of the controller" (no secret of it is configured; before Linux 6.0 unknown, so
 * not missing). NULL: nothing. */
const char *kernel_nvmf_missing(int root, const struct nvmf_params *, const struct nvmf_ctrl *);
/* Modules of the ciphers of TLS, which may be built in or not exist; NULL ends them. */
extern const char *const kernel_nvmf_ciphers[];
bool kernel_nvmf_any_tls(int root); /* a controller's connection is encrypted, or lost */
bool kernel_nvmf_same_host(const char *, const char *); /* the same address in any spelling */

/* Load the drivers of the transport, with TLS for sockets if `tls` is set, and create
 * /dev/nvme-fabrics; for "rdma" check that there is an RDMA device. */
int kernel_nvmf_ready(int root, const char *transport, bool tls, struct diag *);
#define NVMF_LINE      4096 /* the kernel takes a page */
#define NVMF_LEFT_OUT  256
#define NVMF_SUPPORTED 2048
/* Read the options that this kernel supports; "": it does not list them. Blocks while the kernel
 * connects another controller (nvmf_dev_mutex). */
void kernel_nvmf_supported_options(int root, char known[NVMF_SUPPORTED]);
/* Build the line for kernel_nvmf_write_line() from checked parameters. mask: hide secrets, for
 * messages. left_out: soft options that this kernel does not support. -ENOTSUP: it does not support
 * another one; -E2BIG. */
int kernel_nvmf_line(const struct nvmf_params *, const char *known, bool mask, char line[NVMF_LINE],
	char left_out[NVMF_LEFT_OUT], struct diag *);

/* Whether kernel_nvmf_ready() would load nothing. */
bool kernel_nvmf_loaded(int root, const char *transport);
/* Connect: blocks until the kernel has created nvmeINSTANCE or failed with -errno. The kernel takes
 * one line at a time (nvmf_dev_mutex). A signal interrupts most of its waits. */
int kernel_nvmf_write_line(int root, const char *line, int *instance);

/* Set of controller numbers. */
#define NVME_NUMBERS 4096
struct nvme_numbers {
	uint64_t bit[NVME_NUMBERS / 64];
};
/* Start of an attempt to connect: a position in the kernel's log, and controllers of others. */
struct nvmf_log_mark {
	struct kernel_log log;
	struct nvme_numbers others;
};
/* Record it, before the attempt. */
void kernel_nvmf_log_mark(int root, struct nvmf_log_mark *);
/* Read the log lines since then that can belong to the attempt. instance: the controller that it
 * created; -1: it failed. Ends the mark. */
void kernel_nvmf_log_since(int root, struct nvmf_log_mark *, const struct nvmf_params *,
	int instance, char *text, size_t len);
/* Set the reason of a failed attempt from the errno of the write and these lines, in which secrets
 * are overwritten. Returns -errno. */
int kernel_nvme_why(int root, int err, char *lines, const struct nvmf_params *, struct diag *);

/* A namespace as a block device. */
struct nvmf_disk {
	char name[32];        /* "nvme0n1"; with multipath the head's name */
	uint32_t nsid, block; /* block: bytes */
	uint64_t size;        /* bytes */
	char wwid[140]; /* "uuid.…", "eui.…": the link of udev is /dev/disk/by-id/nvme-WWID */
	unsigned major, minor;
	bool joined; /* set by the caller: a multipath device is printed instead */
};
#define NVMF_DISKS 1024
/* List the disks of a controller by NSID. The caller frees the list. */
int kernel_nvmf_disks(
	int root, const char *ctrl, struct nvmf_disk **, unsigned *count, struct diag *);
/* Get the active namespace IDs of a controller in ascending order, by Identify (Base 2.1,
 * 5.1.13.2.2). Returns their number or -errno. May block. Not thread-safe. */
int kernel_nvmf_active(int root, const char *ctrl, uint32_t *nsid, unsigned max);

/* List users of the disks that only these controllers reach, or of maps of dm-multipath over these
 * disks: mounts, swap, dm, md, processes; "" = none. *listed is set before it opens the disks,
 * which may block. */
void kernel_nvmf_users(
	int root, const struct nvmf_ctrl *, unsigned count, char *text, size_t len, bool *listed);
/* Remove the maps of dm-multipath over disks that only these controllers reach. force: not those in
 * use, but let their pending I/O fail. -EBUSY: one is in use. May block. */
int kernel_nvmf_flush(
	int root, const struct nvmf_ctrl *, unsigned count, bool force, struct diag *);
/* Whether the root file system is on one of its disks, through any layers. */
bool kernel_nvmf_has_root(int root, const char *ctrl);
/* Whether the controller still exists: the kernel reuses the name of a removed one. */
bool kernel_nvmf_same(int root, const struct nvmf_ctrl *);
/* While the connection is lost, fail requests at once and give up at the next reconnect. Does
 * nothing if the controller is another one. */
void kernel_nvmf_fail_fast(int root, const struct nvmf_ctrl *);
/* Delete a controller; blocks until it is removed. -ENOENT: it does not exist. */
int kernel_nvmf_delete(int root, const struct nvmf_ctrl *);
void kernel_nvmf_delete_number(int root, int instance); /* best effort; it must be our own */
/* Device nodes of a controller: note them before it is removed, then drop those that the kernel
 * does not. Disks with another path keep theirs. */
struct nvmf_nodes {
	struct nvmf_disk *disks;      /* the caller frees it */
	unsigned count, major, minor; /* major, minor: of the controller itself */
};
void kernel_nvmf_nodes_note(int root, const char *ctrl, struct nvmf_nodes *);
void kernel_nvmf_nodes_drop(int root, const char *ctrl, const struct nvmf_nodes *);
/* Find the controllers of "nvme0", "/dev/nvme0n1", "nvme0c1n1" or a link to one of them. Returns
 * their number, at most max; -ENOENT: none. */
int kernel_nvmf_of_device(int root, const char *device, char ctrl[][16], unsigned max);

/* ---- The driver's own multipath. */

bool kernel_nvmf_multipath(int root); /* nvme_core.multipath is on */
/* Set how the subsystem of a controller chooses a path: "numa", "round-robin", "queue-depth".
 * -ENOTSUP: the kernel does not know it. */
int kernel_nvmf_set_policy(int root, const char *ctrl, const char *policy, struct diag *);

/* A configured connection; values are texts. */
struct nvmf_entry {
	char *value[NVMF_KEYS]; /* malloc'ed; NULL: unset; flags: "" */
	char *uri;              /* if it is a URI */
	bool discover;          /* a discovery controller, to query */
	char from[96];          /* "/etc/nvme/discovery.conf line 3" */
	uint32_t nsid;          /* of the namespace to wait for; 0: all */
	struct diag *damage;    /* malloc'ed: why it is invalid; NULL: valid */
};
struct nvmf_entries {
	struct nvmf_entry *entry;
	unsigned count;
	char notes[1024];   /* lines about ignored parts, as far as they fit */
	char skipped[1024]; /* lines about ignored parts that the user must know */
	bool off;           /* the kernel command line forbids NVMe-oF */
	bool no_nbft;       /* it forbids use of the NBFT */
};
/* Append the entries of a file in any of the three formats. path NULL: all files of /etc/nvme,
 * which may be absent. -ENOENT: no such file. */
int kernel_nvmf_conf_read(int root, const char *path, struct nvmf_entries *, struct diag *);
/* Append those of the kernel command line, and of the NBFT unless it forbids that. */
int kernel_nvmf_conf_kernel(int root, struct nvmf_entries *, struct diag *);
/* Append those of the firmware's NBFT, with its host NQN and host ID. -ENOENT: no NBFT. */
int kernel_nvmf_conf_nbft(int root, struct nvmf_entries *, struct diag *);
void kernel_nvmf_conf_free(struct nvmf_entries *); /* wipes secrets */

/* Namespaces and subsystems of any transport, as nvme-cli lists them; "": not reported. */
struct nvme_namespace {
	char name[32], generic[32]; /* "nvme0n1", "ng0n1" */
	bool generic_node;          /* it exists in /dev */
	char serial[24], model[48], firmware[16];
	uint32_t nsid, block, metadata; /* block, metadata: bytes */
	uint64_t size, used;            /* bytes */
	bool used_known;
};
/* List namespaces by number; the caller frees the list. Sends Identify if the kernel does not
 * report the usage (before Linux 6.8), for at most a second each. */
int kernel_nvme_namespaces(int root, struct nvme_namespace **, unsigned *count, struct diag *);

/* A controller and its subsystem. */
struct nvme_member {
	char subsystem[24], nqn[224], policy[24], type[16]; /* "nvme-subsys0" */
	char name[16], transport[8], address[600], state[16];
	char ana[24]; /* ANA state of the path to `device` */
	char hostnqn[224], hostid[40];
};
/* List controllers by host, subsystem and number; the caller frees the list. device: only those
 * with this namespace ("nvme0n1", "/dev/nvme0n1"); NULL: all. -ENOENT: no such namespace. */
int kernel_nvme_members(
	int root, const char *device, struct nvme_member **, unsigned *count, struct diag *);
