/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One scan: scan.c handles the fabric, scan_target.c queries one port. */
#pragma once
#include "xact.h"

struct mad_target_query { /* the requests about one target, one at a time */
	struct mad_target *target;
	struct mad_scan_job *scan;
	struct mad_unit **last;              /* the end of target->unit */
	uint8_t step, changes, silent, slot; /* step: enum mad_step */
	uint16_t service;
	uint64_t end_ns;
	uint16_t pkey_at; /* index into the port's table */
	uint32_t first_ms;
	struct mad_addr addr;
	struct mad_unit *cur_unit;
	struct mad_ioc *ioc;
	struct mad_req req;
	union {
		struct class_port_info set;
		struct path_record path;
		struct port_info_record port;
		struct node_record node;
	} data;
};

struct mad_scan_job {
	struct mad *mad;
	struct mad_scan_options options; /* .only is copied */
	void (*done)(void *arg, struct mad_scan_result *, int err, struct diag *);
	void *arg;
	struct mad_scan_result found;
	struct mad_target_query *queries; /* one for each of found.target */
	struct diag diag;
	struct mad_req req; /* to the subnet administrator, about the whole fabric */
	struct port_info_record query;
	uint16_t pkey_index; /* of the default partition; if absent, of the first */
	bool one_pkey; /* only the full default partition, which all ports share: no need to query
			  paths */
	bool direct;   /* named ports, queried by subnet management and in one partition */
	unsigned live; /* targets not done */
	int err;
	struct loop_timer deadline;
	struct loop_work finish;
};

/* Initialize a request to the subnet administrator; the caller sends it with mad_send(). */
void mad_scan_init_sa_req(const struct mad_scan_job *, struct mad_req *, uint8_t method,
	uint16_t attr, void (*done)(struct mad_req *, const struct mad_answer *));
/* Start with target->query->step; mad_scan_target_done() follows once, from the loop. */
void mad_scan_target_start(struct mad_target *);
void mad_scan_target_done(struct mad_target *);
void mad_scan_unit_clear(struct mad_unit *); /* free its controllers */
