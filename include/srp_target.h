/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Being an SRP target: bdevs offered as logical units to initiators that come by RDMA/CM, or by a
 * service ID on InfiniBand. */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "loop.h"
#include "uri.h"
#include "ways.h"

#define SRP_TARGET_DISKS      32
#define SRP_TARGET_LISTENS    16
#define SRP_TARGET_INITIATORS 32
#define SRP_TARGET_DEPTH      64   /* commands of a channel: its request limit */
#define SRP_TARGET_IU         8448 /* longest message of an initiator, with immediate data */

struct srp_target_disk { /* LUNs in order, from 0 */
	struct bdev *bdev;
	uint8_t uuid[16], nguid[16]; /* stable identity: kernel_disk_identity() */
	char serial[21];
	bool ro;
};

struct srp_target_options {
	struct srp_target_disk disk[SRP_TARGET_DISKS];
	unsigned disks;
	struct ways_listen listen[SRP_TARGET_LISTENS];
	unsigned listens;
	uint8_t guid[8];                              /* both its ID_EXT and its IOC_GUID */
	uint8_t initiator[SRP_TARGET_INITIATORS][16]; /* ports allowed; 0 = everybody */
	unsigned initiators;
	struct loop *const *loops; /* each owns the channels it is given, for life */
	unsigned nloops;
	/* data buffers of one loop: bytes each (0 = 128 KiB), number (0 = 64) */
	uint32_t buffer, buffers;
	uint16_t connections; /* at once; 0 = 1024 */
	uint32_t stall_ms;    /* for an initiator to do its part of one command; 0 = 30 s */
	/* A connection was refused because the target is full; at most every 10 s. May be NULL. On
	 * the target's loop. */
	void (*full)(const struct diag *why, void *user);
	void *user;
};

struct srp_target_status { /* a snapshot for status output */
	unsigned channels, initiators;
	uint64_t refused; /* connections, as the target was full */
	struct io_count count;
};

struct srp_target;
/* As nvme_target_start() and its companions. */
int srp_target_start(struct srp_target **, struct loop *, const struct srp_target_options *,
	uint32_t timeout_ms, struct diag *);
unsigned srp_target_ways(const struct srp_target *, unsigned listen, struct addr *bound);
void srp_target_get_status(const struct srp_target *, struct srp_target_status *);
void srp_target_resized(struct srp_target *, struct bdev *);
int srp_target_stop(struct srp_target *, uint32_t timeout_ms, struct diag *);
