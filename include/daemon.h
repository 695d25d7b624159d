/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Applets that offer disks until they are stopped or their command ends: start, status and clean
 * stop. Fronts offer the disks, each with options of its own. */
#pragma once
#include "applet.h"
#include "bdev.h"
#include "privilege.h"

#define DAEMON_QUEUES 64
#define NBD_DEV_MAX   32767 /* 20 bits of minor numbers, 32 per device */

struct daemon_options { /* member of the applet's option struct */
	bool ro, daemon, force;
	bool anonymous; /* random identities for all disks */
	uint32_t queues, poll_us, stop_timeout_ms, ready_fd, retry_ms;
	const char *pid_file, *on_loss, *log;
	const char *user;  /* to become; NULL: as rights_read() */
	const char *state; /* only serve: folder of reservations; NULL: none */
};

struct front_kind;
struct export_front_options { /* numbers: 0 is the default */
	struct opt_list nbd, name, allow;
	uint32_t clients, slots, connections, depth;
	uint64_t buffer;
	const char *mode;
	/* of the NBD server: file of keys, folder of certificates; NULL: without TLS */
	const char *tls_psk_file, *tls_certificates;
	struct opt_maybe nbd_dev, ublk;
};
/* An NBD server; without an address, on a private unix socket. */
extern const struct front_kind front_nbd;
extern const struct front_kind front_nbd_dev; /* /dev/nbdN of the kernel's NBD client */
extern const struct front_kind front_ublk;    /* /dev/ublkbN */

struct serve_front_options {       /* of one protocol; members of others are empty */
	struct opt_list rdma, tcp; /* listen addresses; tag: their group, 0: group 1 */
	struct opt_list ib;        /* InfiniBand ports, for SRP by service ID */
	struct opt_list nqn, allow_host;
	struct opt_list iqn, allow_initiator;
	struct opt_list allow;           /* addresses and networks, of all protocols */
	const char *initiators_file;     /* with secrets of CHAP; NULL: unset */
	uint16_t cntlid_min, cntlid_max; /* of NVMe controllers; 0: the default */
	/* DH-HMAC-CHAP: file with hosts and secrets; names of the hash and DH group. NULL: unset */
	const char *hosts_file, *chap_hash, *chap_group;
};
extern const struct front_kind front_nvme;  /* an NVMe-oF target */
extern const struct front_kind front_iscsi; /* an iSCSI target */
extern const struct front_kind front_srp;   /* an SRP target */

/* The command line options of one kind of front. */
struct front_config {
	const struct front_kind *kind;
	bool enabled;
	const void *options; /* struct front.options */
};

/* Run the applet with the enabled fronts until it is stopped; the first one provides $uri of --run.
 * Return the exit status or -errno. */
int daemon_run(struct call *, const struct daemon_options *, const struct front_config *, unsigned);

/* A server that was started as root becomes another user. */
struct rights {
	const char *name; /* of --user; NULL: "nobody" */
	/* what it will need: verbs, management datagrams, a port below 1024, and the identities of
	 * its disks */
	bool verbs, mads, low_port, identity;
	bool drop;                  /* it gives up rights; set by rights_read() */
	struct privilege_user user; /* likewise */
	char kept[256];             /* why it stays root; "": it does not */
};
bool rights_low_port(const struct addr *);
/* Choose the user. Without --user only root becomes another one. -EPERM: not for this user. */
int rights_read(struct rights *, struct diag *);
/* If `drop`: call it before there are threads and verbs. Without --user the process stays root, but
 * without capabilities, where another user can't open the devices that it needs. */
int rights_drop(struct rights *, const struct call *, int root);
/* Print why it stays root, once it is ready: a failure is the only message. */
void rights_show(const struct rights *, const struct call *);

/* Print a note with the reason of call->diag if listening is still impossible after a second. */
struct daemon_wait {
	struct loop_timer timer;
	const struct call *call;
};
void daemon_wait_begin(struct daemon_wait *, const struct call *, struct loop *);
void daemon_wait_end(struct daemon_wait *, struct loop *);
