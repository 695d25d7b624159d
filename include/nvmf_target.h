/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Being the target: bdevs offered over NVMe-oF (later also iSCSI, iSER and SRP) to hosts on the
 * network. */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "loop.h"
#include "uri.h"
#include "ways.h"

#define NVME_TARGET_DISKS   32
#define NVME_TARGET_LISTENS 16
#define NVME_TARGET_HOSTS   32

struct nvme_target_disk {
	struct bdev *bdev;
	/* of its subsystem; disks with the same NQN are namespaces of one subsystem, in order */
	const char *nqn;
	uint8_t uuid[16], nguid[16]; /* stable identity: kernel_disk_identity() */
	char serial[21];
	bool ro;
};

struct nvme_target_options {
	struct nvme_target_disk disk[NVME_TARGET_DISKS];
	unsigned disks;
	struct ways_listen listen[NVME_TARGET_LISTENS];
	unsigned listens;
	const char *host[NVME_TARGET_HOSTS]; /* host NQNs allowed; 0 = everybody */
	unsigned hosts;
	struct loop *const *loops; /* each owns the queues it is given, for life */
	unsigned nloops;
	/* data buffers of one loop: bytes each (0 = 128 KiB), number (0 = 64) */
	uint32_t buffer, buffers;
	uint16_t depth;       /* queue entries offered; 0 = 128 */
	uint16_t connections; /* at once; 0 = 1024 */
	uint32_t stall_ms;    /* for a host to do its part of one command; 0 = 30 s */
	/* A host was turned away for want of room, not told more often than every 10 s; NULL:
	 * nobody cares. On the target's loop. */
	void (*full)(const struct diag *why, void *user);
	void *user;
	/* accept digests on TCP: always offered when the host asks; true = demand them */
	bool hdr_digest, data_digest;
};

struct nvme_target_status { /* a snapshot for status output */
	unsigned hosts, queues;
	uint64_t turned_away; /* connections, for want of room */
	struct io_count count;
};

struct nvme_target;
/* Starts listening on every way each address has; an address that does not exist yet is waited for
 * (at most timeout_ms for the first of all; later ones in the background). Strings, bdevs and loops
 * outlive the target. */
int nvme_target_start(struct nvme_target **, struct loop *, const struct nvme_target_options *,
	uint32_t timeout_ms, struct diag *);
/* ways that are up now */
unsigned nvme_target_ways(const struct nvme_target *, unsigned listen, struct addr *bound);
void nvme_target_get_status(const struct nvme_target *, struct nvme_target_status *);
/* its lim.size is new: hosts are told by AEN */
void nvme_target_resized(struct nvme_target *, struct bdev *);
/* Stops accepting, answers what is in flight, disconnects, flushes. As nbd_server_stop(). */
int nvme_target_stop(struct nvme_target *, uint32_t timeout_ms, struct diag *);
