/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of export share: its options. export.c has their rows and the list of fronts, each
 * front a file of its own. */
#pragma once
#include "daemon.h"

#define NBD_DEV_MAX 32767 /* 20 bits of minor numbers, 32 per device */

struct export_options {
	struct opt_common common;
	struct daemon_options life;
	bool run;

	struct opt_list nbd, name, allow;
	uint32_t clients, slots;
	uint64_t buffer;
	const char *mode;

	struct opt_maybe nbd_dev;
	uint32_t connections;

	struct opt_maybe ublk;
	uint32_t depth;
};

extern const struct front_kind export_nbd, export_nbd_dev, export_ublk;
