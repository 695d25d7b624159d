/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Being an iSCSI target: bdevs offered as logical units to initiators on the network. */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "iscsi.h"
#include "loop.h"
#include "uri.h"
#include "ways.h"

#define ISCSI_TARGET_DISKS      32
#define ISCSI_TARGET_LISTENS    16
#define ISCSI_TARGET_INITIATORS 32
#define ISCSI_TARGET_PORTAL_TAG 1

struct iscsi_target_disk {
	struct bdev *bdev;
	/* name of its target; disks with the same name are LUNs of one target, in order from 0 */
	const char *name;
	uint8_t uuid[16], nguid[16]; /* stable identity: kernel_disk_identity() */
	char serial[21];
	bool ro;
};

struct iscsi_target_options {
	struct iscsi_target_disk disk[ISCSI_TARGET_DISKS];
	unsigned disks;
	struct ways_listen listen[ISCSI_TARGET_LISTENS];
	unsigned listens;
	const char *initiator[ISCSI_TARGET_INITIATORS]; /* names allowed; 0 = everybody */
	unsigned initiators;
	/* CHAP that every initiator has to pass; with target_secret the target proves itself, as
	 * target_user, to those who ask */
	struct iscsi_auth auth;
	struct loop *const *loops; /* each owns the sessions it is given, for life */
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

struct iscsi_target_status { /* a snapshot for status output */
	unsigned sessions;
	uint64_t refused; /* connections refused because the target was full */
	struct io_count count;
};

struct iscsi_target;
/* As nvme_target_start() and its companions. */
int iscsi_target_start(struct iscsi_target **, struct loop *, const struct iscsi_target_options *,
	uint32_t timeout_ms, struct diag *);
unsigned iscsi_target_ways(const struct iscsi_target *, unsigned listen, struct addr *bound);
void iscsi_target_get_status(const struct iscsi_target *, struct iscsi_target_status *);
void iscsi_target_resized(struct iscsi_target *, struct bdev *);
int iscsi_target_stop(struct iscsi_target *, uint32_t timeout_ms, struct diag *);
