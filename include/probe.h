/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Search a host for disks: the applets that list what a protocol offers, as child processes. */
#pragma once
#include "applet_run.h"
#include "uri.h"

struct service {                   /* a protocol at its default port */
	const char *scheme, *name; /* "nvme+tcp", "NVMe over TCP" */
	const char *applet;        /* lists what a server offers, given a URI without path */
	uint16_t port;
};
#define SERVICES 6

struct probes { /* zeroed, then set by the caller */
	struct loop *loop;
	int (*run)(int argc, char **word); /* see struct applet_run */
	bool verbose;                      /* applets print their steps */

	unsigned running; /* private */
};

#define PROBE_ARGS 24
struct probe {                 /* zeroed */
	struct applet_run run; /* the result; free it with applet_run_free() */

	struct probes *all; /* private */
	char timeout[24];
	char *argv[PROBE_ARGS];
};

/* All disks that a host offers, for `discover`. Zeroed; the caller calls disk_search_free(). */
#define DISK_SEARCH_MAX 8192 /* disks; each is compared with those before */
struct disk_query {
	const struct service *service;
	struct diag why; /* err 0: it has listed disks */

	char uri[URI_MAX]; /* private */
	struct probe probe;
};
struct disk_search {
	const char *text; /* the host, as typed */
	struct uri host;  /* with the scheme, unless `all` */
	bool all;         /* protocols */
	struct disk_query query[SERVICES + 1];
	unsigned queries;
	char **found; /* URIs */
	unsigned count;
	bool more;      /* than DISK_SEARCH_MAX */
	bool no_memory; /* a disk is missing */

	unsigned listed; /* private */
};
/* Read "HOST", "HOST:PORT", "[ADDRESS]:PORT", or a URI without path. */
int disk_search_read(struct disk_search *, const char *text, struct diag *);
/* Query the service of the scheme, or all. Runs the loop; ms: limit of each query. */
int disk_search_run(struct disk_search *, struct probes *, uint32_t ms, struct diag *);
void disk_search_add(const char *uri, void *search); /* a disk; URIs of servers are skipped */
/* Return whether all queries failed alike, as with a name that is not found. */
bool disk_search_same_reason(const struct disk_search *);
/* No disk was found: set the reason that all queries share, else that of one that refused to list
 * its disks, else that the host offers none. Returns -errno. */
int disk_search_none(const struct disk_search *, struct diag *);
void disk_search_free(struct disk_search *);
