/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Probe a host: applets in child processes, any number at once, list what its services offer. */
#pragma once
#include "applet_run.h"
#include "uri.h"

struct service { /* a protocol at its default port */
	const char *scheme, *name; /* "nvme+tcp", "NVMe over TCP" */
	const char *applet;        /* lists what the server of a URI without a path offers */
	uint16_t port;
};
#define SERVICES 6
extern const struct service services[SERVICES];

const struct service *service_find(const char *scheme); /* NULL: none */
/* "nvme+tcp://[fd00::1]:4420"; port 0: without a port. */
void service_uri(const struct service *, const char *host, uint16_t port, char uri[URI_MAX]);
/* The server spoke the protocol, even if it refused; why: the error of the applet, err 0: none. */
bool service_answers(const struct diag *why);

struct probes { /* zeroed, then set by the owner */
	struct loop *loop;
	int (*run)(int argc, char **word); /* as of struct applet_run */
	bool verbose;                      /* each prints its steps */

	unsigned left; /* private */
};

#define PROBE_WORDS 24
struct probe { /* zeroed */
	struct applet_run run; /* its result; applet_run_free() */

	struct probes *all; /* private */
	char timeout[24];
	char *word[PROBE_WORDS];
};
/* words: an applet and its arguments, NULL ends them; they stay until it has ended. --json and
 * --timeout are added. Without a process run.why is set at once. */
void probe_start(struct probes *, struct probe *, uint32_t ms, const char *const *words);
bool probe_started(const struct probe *);
void probes_wait(struct probes *); /* Run the loop until all have ended. */
