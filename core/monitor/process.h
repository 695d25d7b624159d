/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A monitor as a process of its own, detached so that it survives switch_root. */
#pragma once
#include "loop.h"

struct monitor_process {
	const struct monitor_kind *kind;
	struct loop *loop;
	struct loop_signal signal;
	int root;
	int lock; /* -1: none */
	void *monitor;
};
struct monitor_kind {
	const char *name;  /* of the process: "iscsi-monitor" */
	const char *title; /* "the monitor of iSCSI sessions" */
	/* Returns a descriptor that only one such process can have; NULL: any number may run. */
	int (*lock)(int root, struct diag *);
	int (*begin)(struct monitor_process *, struct diag *);
	void (*end)(struct monitor_process *);
};
/* Fork it, and wait up to 10 s until it is ready. Sets its pid. Needs root, and a process without
 * threads. */
int monitor_process_spawn(const struct monitor_kind *, int root, int *pid, struct diag *);
