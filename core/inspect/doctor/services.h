/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The services of a host, and how they are probed. */
#pragma once
#include "probe.h"

extern const struct service services[SERVICES];

const struct service *service_find(const char *scheme); /* NULL: unknown */
/* Format a URI such as "nvme+tcp://[fd00::1]:4420"; port 0: without port. */
void service_uri(const struct service *, const char *host, uint16_t port, char uri[URI_MAX]);
/* Return whether the server uses the protocol, even if it refused. why: the error of the applet, if
 * err is not 0. */
bool service_answers(const struct diag *why);

/* Start an applet with --json and --timeout added. args: its name and arguments, ended by NULL,
 * valid until it has ended. If no process can be started, run.why is set at once. */
void probe_start(struct probes *, struct probe *, uint32_t ms, const char *const *args);
bool probe_started(const struct probe *);
void probes_wait(struct probes *); /* run the loop until all have ended */
