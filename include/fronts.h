/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fronts that offer disks, for daemon_run(), and their command line options. */
#pragma once
#include "daemon.h"

#define NVME_PORT   4420
#define NBD_PORT    10809
#define NBD_DEV_MAX 32767 /* 20 bits of minor numbers, 32 per device */

struct export_front_options { /* numbers: 0 is the default */
	struct opt_list nbd, name, allow;
	uint32_t clients, slots, connections, depth;
	uint64_t buffer;
	const char *mode;
	struct opt_maybe nbd_dev, ublk;
};
/* An NBD server; without an address, on a private unix socket. */
extern const struct front_kind front_nbd;
extern const struct front_kind front_nbd_dev; /* /dev/nbdN of the kernel's NBD client */
extern const struct front_kind front_ublk;    /* /dev/ublkbN */

struct serve_front_options {       /* of one protocol; members of others are empty */
	struct opt_list rdma, tcp; /* listen addresses */
	struct opt_list ib;        /* InfiniBand ports, for SRP by service ID */
	struct opt_list nqn, allow_host;
	struct opt_list iqn, allow_initiator;
	/* CHAP: [0] of initiators, [1] of the target; `secret` has their values. NULL: none */
	const char *user[2], *secret[2];
};
extern const struct front_kind front_nvme;  /* an NVMe-oF target */
extern const struct front_kind front_iscsi; /* an iSCSI target */
extern const struct front_kind front_srp;   /* an SRP target */
