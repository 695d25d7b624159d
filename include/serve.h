/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Targets that serve disks over the network: start, status and stop. target.h has what protocols
 * use. */
#pragma once
#include "access.h"
#include "bdev.h"
#include "listener.h"

#define TARGET_DISKS   32
#define TARGET_LISTENS 16
#define TARGET_HOSTS   32
#define TARGET_ALLOWS  32

struct target;
struct nvme_hosts;
struct iscsi_initiators;

struct target_disk_options {
	struct bdev *bdev;
	/* NQN of its subsystem, or name of its iSCSI target; unused by other protocols. Disks with
	 * the same name are namespaces or LUNs, in order. */
	const char *name;
	uint8_t uuid[16], nguid[16]; /* stable identity: kernel_disk_identity() */
	char serial[21];
	bool ro;
};

/* Addresses and networks that may connect; count 0: any. */
struct target_allows {
	struct target_allow {
		struct addr net; /* IPv4 or IPv6 */
		uint8_t prefix;  /* bits */
	} item[TARGET_ALLOWS];
	unsigned count;
};
/* Add "10.0.0.0/8" or "fd00::1", an InfiniBand GID as an IPv6 address. -EINVAL: malformed; -E2BIG:
 * too many. */
int target_allows_add(struct target_allows *, const char *text, struct diag *);
bool target_allows_peer(const struct target_allows *, const struct addr *); /* unix: true */

/* Strings, bdevs and loops must outlive the target. Numbers: 0 is the protocol's default. */
struct target_options {
	struct target_disk_options disk[TARGET_DISKS];
	unsigned disks;
	struct listen_addr listen[TARGET_LISTENS];
	unsigned listens; /* 0: the protocol listens itself */
	/* allowed hosts: host NQN, iSCSI initiator name, or 32 hexadecimal digits of an SRP
	 * initiator port */
	const char *host[TARGET_HOSTS];
	unsigned hosts;              /* 0: no restriction */
	struct target_allows allows; /* not for unix sockets */
	/* iSCSI: initiators that must authenticate; then others must be in `host`. NULL: none */
	const struct iscsi_initiators *initiators;
	/* DH-HMAC-CHAP and TLS; only NVMe */
	struct target_chap {
		/* hosts that must authenticate or use TLS; then others must be in `host`. NULL:
		 * none */
		const struct nvme_hosts *hosts;
		uint8_t hash;   /* enum nvme_chap_hash; 0: what the host prefers */
		bool one_group; /* only this one */
		uint8_t group;  /* enum nvme_chap_group */
	} chap;
	struct loop *const *loops; /* of the workers */
	unsigned nloops;
	uint32_t buffer, buffers; /* data buffers of one worker: bytes each, number (up to 65535) */
	uint16_t depth;           /* outstanding commands of a connection; only NVMe */
	unsigned connections;     /* limit */
	uint16_t cntlid_min, cntlid_max; /* controller IDs to use; only NVMe */
	uint32_t open_ms;                /* timeout of the handshake */
	uint32_t stall_ms;               /* timeout of a host's part of one command */
	bool hdr_digest, data_digest;    /* required over TCP, not only offered; only NVMe */
	/* A connection was refused because of a limit; called at most every 10 s on the target's
	 * loop. May be NULL. */
	void (*full)(const struct diag *why, void *user);
	void *full_user;
};

struct target_status {    /* a snapshot */
	unsigned clients; /* hosts, initiators or sessions */
	unsigned queues;  /* I/O connections, if the protocol counts them */
	uint64_t refused; /* refused connections */
	struct io_count count;
};

/* Start a target on all its listeners and transports, on that loop. Wait up to timeout_ms until the
 * first listener is up if its address does not exist yet; others come up in the background. */
typedef int target_serve(struct target **, struct loop *, const struct target_options *,
	uint32_t timeout_ms, struct diag *);
extern target_serve nvme_serve, iscsi_serve, srp_serve;

/* Properties of the SRP target for device management. */
#define SRP_TARGET_DEPTH 64   /* request limit of a channel */
#define SRP_TARGET_IU    8448 /* longest message of an initiator, including immediate data */

/* Return the transports of that listener that are up, and its bound address. Any thread. */
unsigned target_transports(const struct target *, unsigned listen, struct addr *bound);
/* Call the others on the target's loop. */
void target_get_status(const struct target *, struct target_status *);
/* Notify hosts that lim.size of the disk has changed, if the protocol can. */
void target_resized(struct target *, struct bdev *);
/* Return the access through that listener. Any thread. */
enum access target_get_access(const struct target *, unsigned listen);
/* Set the access through all listeners of a group, for commands that arrive from now on; those in
 * flight are completed. Hosts are notified. *before: the previous state. Return 0, -ENOENT: no
 * listener has the group; -ENOTSUP: the protocol does not report access. */
int target_set_access(struct target *, unsigned group, enum access, enum access *before);
/* Stop listening, complete outstanding commands, end all connections, flush the disks and free the
 * target; runs the loop. NULL: no-op. Return 0, or the failure of the flush: data may not be on the
 * disk. -ETIMEDOUT: requests were aborted. -EINPROGRESS: a disk still holds requests; nothing is
 * freed, the disks must not be closed, and the process must end. */
int target_stop(struct target *, uint32_t timeout_ms, struct diag *);
