/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Probe a host: run applets in child processes, any number at once, to list what it offers. */
#pragma once
#include "applet_run.h"
#include "uri.h"

struct service {                   /* a protocol at its default port */
	const char *scheme, *name; /* "nvme+tcp", "NVMe over TCP" */
	const char *applet;        /* lists what a server offers, given a URI without path */
	uint16_t port;
};
#define SERVICES 6
extern const struct service services[SERVICES];

const struct service *service_find(const char *scheme); /* NULL: unknown */
/* Format a URI such as "nvme+tcp://[fd00::1]:4420"; port 0: without port. */
void service_uri(const struct service *, const char *host, uint16_t port, char uri[URI_MAX]);
/* Return whether the server uses the protocol, even if it refused. why: the error of the applet, if
 * err is not 0. */
bool service_answers(const struct diag *why);

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
/* Start an applet with --json and --timeout added. args: its name and arguments, ended by NULL,
 * valid until it has ended. If no process can be started, run.why is set at once. */
void probe_start(struct probes *, struct probe *, uint32_t ms, const char *const *args);
bool probe_started(const struct probe *);
void probes_wait(struct probes *); /* run the loop until all have ended */
