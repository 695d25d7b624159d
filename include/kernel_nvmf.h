/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe-oF through the kernel's own initiator: /dev/nvme-fabrics and what it makes of a connection
 * in /sys/class/nvme. Everything is reached under a root descriptor. Moments are loop_clock()'s; 0
 * = no bound. */
#pragma once
#include "diag.h"
#include "kernel_identity.h"
#include "kernel_log.h"
#include "loop.h"
#include "policy.h"
#include "uri.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a connection is made of, in the kernel's words (Linux 6.12, drivers/nvme/host/fabrics.c,
 * opt_tokens). */
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
	NVMF_DUPLICATE_CONNECT, /* from here to TLS flags: "" = yes */
	NVMF_DISABLE_SQFLOW,
	NVMF_HDR_DIGEST,
	NVMF_DATA_DIGEST,
	NVMF_DISCOVERY,
	NVMF_CONCAT,
	NVMF_TLS,
	NVMF_KEYRING,
	NVMF_TLS_KEY,
	NVMF_DHCHAP_SECRET, /* these two are secret: never shown */
	NVMF_DHCHAP_CTRL_SECRET,
	NVMF_KEYS,
};

struct nvmf_want {
	const char *value[NVMF_KEYS]; /* NULL = not given */
	/* nobody asked for it: left out where the kernel does not know it */
	bool soft[NVMF_KEYS];
};

const char *kernel_nvmf_key_name(enum nvmf_key); /* "nr_io_queues" */
int kernel_nvmf_key_find(const char *name);      /* '-' and '_' are the same; -1 = there is none */
bool kernel_nvmf_key_flag(enum nvmf_key);
/* name: as the user typed it */
int kernel_nvmf_key_check(enum nvmf_key, const char *name, const char *value, struct diag *);
/* Values, ranges, and whether they belong to the transport, before anything is touched. Errors:
 * usage, naming the key and the range. */
int kernel_nvmf_check(const struct nvmf_want *, struct diag *);
/* A configured PSK for TLS as "NVMeTLSkey-1:…" (TCP Transport 1.1, 3.6.1.5), read like that. */
struct nvmf_psk {
	unsigned hash; /* 0: none, 1: SHA-256, 2: SHA-384 */
	unsigned len;  /* 32 or 48 */
	uint8_t key[48];
};
int kernel_nvmf_psk_read(struct nvmf_psk *, const char *name, const char *text, struct diag *);

/* What TLS gets of it for one host and subsystem: the PSK, and the identity with its digest that
 * both ends find it by (3.6.1.3, 3.6.1.4). old: as libnvme before 1.16 derived it, not by RFC 8446.
 * -EINVAL: NQNs that are too long. */
#define NVMF_PSK_DIGEST 65
struct nvmf_tls_key {
	char identity[9 + 2 * 224 + NVMF_PSK_DIGEST];
	uint8_t key[48];
	unsigned len;
};
int kernel_nvmf_psk_derive(const struct nvmf_psk *, const char *hostnqn, const char *nqn, bool old,
	struct nvmf_tls_key *);

/* In the kernel's keyrings: `ring` by its name (".nvme" when NULL) or number; `key` in it, which is
 * put there unless it is there already, or with len 0 the one that has this identity. Gives their
 * numbers. Needs: the driver. */
int kernel_nvmf_keyring(int root, const char *name, int32_t *ring, struct diag *);
int kernel_nvmf_key(int32_t ring, const struct nvmf_tls_key *, int32_t *key, struct diag *);

/* What is to be connected, with the driver's own limits and this machine's network: an interface is
 * turned into the address that an RDMA connection leaves from, link-local addresses get their
 * scope. Values that are made are kept in `made`. */
struct nvmf_route {
	char traddr[ADDR_TEXT], host_traddr[ADDR_TEXT];
};
int kernel_nvmf_route(struct nvmf_want *, struct nvmf_route *made, struct diag *);

/* A controller as /sys/class/nvme tells it; "" = not told. */
struct nvmf_ctrl {
	char name[16]; /* "nvme0" */
	char transport[8], state[16], nqn[224], hostnqn[224], hostid[40];
	char traddr[ADDR_TEXT], trsvcid[34], host_traddr[ADDR_TEXT], host_iface[16],
		src_addr[ADDR_TEXT];
	int ctrl_loss_tmo, reconnect_delay, fast_io_fail_tmo; /* seconds */
	/* with the admin queue; 0 = not told */
	unsigned queues;
};
/* fabrics only; free() it */
int kernel_nvmf_list(int root, struct nvmf_ctrl **, unsigned *count, struct diag *);
/* -ENOENT: there is none */
int kernel_nvmf_state(int root, const char *name, char state[16]);
int kernel_nvmf_look(int root, const char *name, struct nvmf_ctrl *);
/* The one that is connected to what is wanted, by the host that is wanted: 0, or -ENOENT. */
int kernel_nvmf_find(int root, const struct nvmf_want *, struct nvmf_ctrl *);

/* One address, however it is written. */
bool kernel_nvmf_same_host(const char *, const char *);

/* Drivers and an RDMA device, loaded and waited for where that is possible. */
int kernel_nvmf_ready(int root, const char *transport, struct diag *);
#define NVMF_LINE     4096 /* the kernel takes a page */
#define NVMF_LEFT_OUT 256
#define NVMF_KNOWN    2048
/* The options that this kernel knows; "" = it does not list them. Blocks while the kernel connects
 * (nvmf_dev_mutex). */
void kernel_nvmf_known(int root, char known[NVMF_KNOWN]);
/* The line for kernel_nvmf_write_line(), secrets masked unless it is, and which options this kernel
 * does not know (soft ones, "" = none). Needs: checked. */
int kernel_nvmf_line(const struct nvmf_want *, const char *known, bool mask, char line[NVMF_LINE],
	char left_out[NVMF_LEFT_OUT], struct diag *);

bool kernel_nvmf_loaded(int root, const char *transport); /* kernel_nvmf_ready() loads nothing */
/* Blocks until the kernel has connected, to nvmeINSTANCE, or failed: -errno. The kernel takes one
 * line at a time (nvmf_dev_mutex); a signal interrupts most of what it waits for. */
int kernel_nvmf_write_line(int root, const char *line, int *instance);

/* Numbers of controllers, a bit each. */
#define NVME_NUMBERS 4096
struct nvme_numbers {
	uint64_t bit[NVME_NUMBERS / 64];
};
/* The lines of the kernel's log that can be of one attempt, which has begun at the mark. instance:
 * of the controller it has made; -1: it has failed. */
struct nvmf_words {
	struct kernel_log log;
	struct nvme_numbers others;
};
void kernel_nvmf_words_mark(int root, struct nvmf_words *);
void kernel_nvmf_words_since(int root, struct nvmf_words *, const struct nvmf_want *, int instance,
	char *text, size_t len);
/* The reason for a failed attempt from the errno of the write and those lines. */
int kernel_nvme_why(int err, char *words, const struct nvmf_want *, struct diag *);

/* A namespace as a block device of this machine. */
struct nvmf_disk {
	char name[32];        /* "nvme0n1": with multipath the head's, never a path's */
	uint32_t nsid, block; /* block: bytes */
	uint64_t size;        /* bytes */
	char wwid[140]; /* "uuid.…", "eui.…": the link of udev is /dev/disk/by-id/nvme-WWID */
	unsigned major, minor;
};
#define NVMF_DISKS 1024
/* by nsid; free() it */
int kernel_nvmf_disks(
	int root, const char *ctrl, struct nvmf_disk **, unsigned *count, struct diag *);
/* Active namespace IDs of a controller (Base 2.1, 5.1.13.2.2), rising: their number, or -errno. It
 * is asked, which may block. */
int kernel_nvmf_active(int root, const char *ctrl, uint32_t *nsid, unsigned max);

/* Users of the disks of these controllers: mounts, swap, dm, md, processes; "" = none. A disk with
 * another live path is not lost. May block; *enough is set once mounts and openers were searched.
 */
void kernel_nvmf_users(
	int root, const struct nvmf_ctrl *, unsigned count, char *text, size_t len, bool *enough);
/* the system runs on one of its disks, through any layers */
bool kernel_nvmf_has_root(int root, const char *ctrl);
/* The kernel gives the number of a removed controller to the next one: it is still this one. */
bool kernel_nvmf_same(int root, const struct nvmf_ctrl *);
/* From now on requests that hang fail at once. Does nothing to another controller. */
void kernel_nvmf_hurry(int root, const struct nvmf_ctrl *);
/* Blocks until it is removed: -ENOENT if it was. */
int kernel_nvmf_delete(int root, const struct nvmf_ctrl *);
void kernel_nvmf_delete_number(int root, int instance); /* one that this process has made */
/* The device nodes of a controller: noted before it is removed, dropped after that where the kernel
 * does not. A disk may live on over another path. */
struct nvmf_nodes {
	struct nvmf_disk *disks;      /* free() */
	unsigned count, major, minor; /* major, minor: of the controller itself */
};
void kernel_nvmf_nodes_note(int root, const char *ctrl, struct nvmf_nodes *);
void kernel_nvmf_nodes_drop(int root, const char *ctrl, const struct nvmf_nodes *);
/* "nvme0", "/dev/nvme0n1", "nvme0c1n1", a link to one of them: the controllers behind it are listed
 * first in *list. -ENOENT */
int kernel_nvmf_of_device(int root, const char *device, char ctrl[][16], unsigned max);

/* What configuration says is to be connected, still in words. */
struct nvmf_entry {
	char *value[NVMF_KEYS]; /* malloc'ed; NULL = not said; flags: "" */
	char *uri;              /* written as one */
	bool discover;          /* it is to be asked what there is, not connected to */
	char from[96];          /* "/etc/nvme/discovery.conf line 3" */
	uint32_t nsid;          /* of the namespace to wait for; 0 = all */
	struct diag *damage;    /* malloc'ed: why it can't be read; NULL = it can */
};
struct nvmf_entries {
	struct nvmf_entry *entry;
	unsigned count;
	char notes[1024];   /* what was passed over, each with a newline, as far as there is room */
	char skipped[1024]; /* the same, of what the user has to know */
	bool off;           /* the kernel command line forbids NVMe-oF */
	bool no_nbft;       /* or its use of the NBFT */
};
/* A file in any of the three forms; -ENOENT: there is none. NULL = all of /etc/nvme, absent ones
 * are none. */
int kernel_nvmf_conf_read(int root, const char *path, struct nvmf_entries *, struct diag *);
int kernel_nvmf_conf_kernel(int root, struct nvmf_entries *, struct diag *); /* /proc/cmdline */
/* The firmware's NBFT; -ENOENT: there is none. Host NQN and ID are the table's. */
int kernel_nvmf_conf_nbft(int root, struct nvmf_entries *, struct diag *);
void kernel_nvmf_conf_free(struct nvmf_entries *); /* wipes secrets */

/* NVMe namespaces and subsystems of this machine, on any transport, as nvme-cli's list commands
 * show them. Everything is reached under a root descriptor; "" = not reported. */

struct nvme_namespace {
	char name[32], generic[32]; /* "nvme0n1", "ng0n1" */
	bool generic_node;          /* /dev has it */
	char serial[24], model[48], firmware[16];
	uint32_t nsid, block, metadata; /* block, metadata: bytes */
	uint64_t size, used;            /* bytes */
	bool used_known;
};
/* By number; free() it. Asks a controller where the kernel doesn't report the usage (before
 * Linux 6.8), for at most a second. */
int kernel_nvme_namespaces(int root, struct nvme_namespace **, unsigned *count, struct diag *);

/* A controller and its subsystem. */
struct nvme_member {
	char subsystem[24], nqn[224], policy[24], type[16]; /* "nvme-subsys0" */
	char name[16], transport[8], address[600], state[16];
	char ana[24]; /* of the path to the namespace that was asked for */
	char hostnqn[224], hostid[40];
};
/* By host, subsystem and number; free() it. device: only those with this namespace ("nvme0n1",
 * "/dev/nvme0n1"), or NULL. -ENOENT: no such namespace. */
int kernel_nvme_members(
	int root, const char *device, struct nvme_member **, unsigned *count, struct diag *);
