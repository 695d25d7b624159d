/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Serving disks to hosts on the network: how a target of each protocol is started, and what can be
 * asked of any. Protocols see the rest of it in target.h. */
#pragma once
#include "bdev.h"
#include "ways.h"

#define TARGET_DISKS   32
#define TARGET_LISTENS 16
#define TARGET_HOSTS   32

struct target;

struct target_disk_options {
	struct bdev *bdev;
	/* NQN of its subsystem, or name of its iSCSI target: disks with the same name are its
	 * namespaces or LUNs, in order. Other protocols have no name for a disk. */
	const char *name;
	uint8_t uuid[16], nguid[16]; /* stable identity: kernel_disk_identity() */
	char serial[21];
	bool ro;
};

/* Strings, bdevs and loops outlive the target. Numbers: 0 is the protocol's default. */
struct target_options {
	struct target_disk_options disk[TARGET_DISKS];
	unsigned disks;
	struct ways_listen listen[TARGET_LISTENS];
	unsigned listens; /* 0: the protocol listens itself, with target_conn_begin() */
	/* Who is admitted, as the protocol names hosts: host NQN, iSCSI name, 32 hexadecimal digits
	 * of an SRP initiator port. */
	const char *host[TARGET_HOSTS];
	unsigned hosts; /* 0: everybody */
	/* CHAP, or NULL: [0] what every host has to prove, [1] how the target proves itself to
	 * those who ask; user[1] NULL: its name. */
	const char *user[2], *secret[2];
	struct loop *const *loops; /* workers; each owns the connections it is given, for life */
	unsigned nloops;
	uint32_t buffer, buffers; /* data buffers of one worker: bytes each, number (<= 65535) */
	uint16_t depth;           /* commands of a connection at once; only NVMe */
	unsigned connections;     /* most at once */
	uint32_t open_ms;         /* for a connection to become live */
	uint32_t stall_ms;        /* for a host to do its part of one command */
	bool hdr_digest, data_digest; /* demanded over TCP; offered anyway; only NVMe */
	/* A connection was refused because the target is full; at most every 10 s. May be NULL. On
	 * the target's loop. */
	void (*full)(const struct diag *why, void *user);
	void *full_user;
};

struct target_status {    /* a snapshot */
	unsigned clients; /* hosts, initiators or sessions */
	unsigned queues;  /* connections that move data, where the protocol counts them */
	uint64_t refused; /* connections, because the target was full */
	struct io_count count;
};

/* Starts a target over every way that its listeners want. An address that does not exist yet is
 * waited for: at most timeout_ms for the first of all, later ones in the background. */
typedef int target_serve(struct target **, struct loop *, const struct target_options *,
	uint32_t timeout_ms, struct diag *);
extern target_serve nvme_serve, iscsi_serve, srp_serve;

/* What device management announces of the SRP target. */
#define SRP_TARGET_DEPTH 64   /* commands of a channel: its request limit */
#define SRP_TARGET_IU    8448 /* longest message of an initiator, with immediate data */

/* All on the target's loop, unless said. */
/* ways that are up now; any thread */
unsigned target_ways(const struct target *, unsigned listen, struct addr *bound);
void target_get_status(const struct target *, struct target_status *);
/* the disk's lim.size is new: its hosts are told, as the protocol can */
void target_resized(struct target *, struct bdev *);
/* Stops listening, answers what is in flight, ends all connections, flushes, frees; runs the loop
 * meanwhile. NULL is none. -ETIMEDOUT: requests were given up; the flush's failure: data may not be
 * on the disk. -EINPROGRESS: a disk still holds requests: nothing is freed, lanes stay open, so the
 * disks must not be closed either, the process is to end. */
int target_stop(struct target *, uint32_t timeout_ms, struct diag *);
