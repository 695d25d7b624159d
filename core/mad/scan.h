/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One scan: scan.c knows the fabric, scan_target.c asks one port. */
#pragma once
#include "xact.h"

struct mad_scan_job {
	struct mad *mad;
	struct mad_scan_options options; /* .only is our own copy */
	void (*done)(void *arg, struct mad_found *, int err, struct diag *);
	void *arg;
	struct mad_found found;
	struct diag diag;
	struct mad_req req; /* to the subnet administrator, for the whole fabric */
	struct port_info_record ask;
	uint16_t pkey_index; /* of the default partition, else of the first */
	bool one_pkey;       /* the full default one, which everybody has: nothing to ask about */
	bool direct;   /* ports that were named, asked by subnet management and in one partition */
	unsigned live; /* not done */
	int err;
	struct loop_timer deadline;
	struct loop_work over;
};

/* A request to the subnet administrator. */
void mad_scan_ask_sa(const struct mad_scan_job *, struct mad_req *, uint8_t method, uint16_t attr,
	void (*done)(struct mad_req *, const struct mad_answer *));
/* Begins with t->step; calls mad_scan_target_done() once, from the loop. */
void mad_scan_target_start(struct mad_target *);
void mad_scan_target_done(struct mad_target *);
void mad_scan_unit_clear(struct mad_unit *); /* of its controllers */
