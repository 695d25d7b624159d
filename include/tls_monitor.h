/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The TLS monitor: a background process in the place of tlshd, while the kernel's NVMe/TCP
 * initiator has encrypted connections. Their reconnects need a handshake each. */
#pragma once
#include "applet.h"
#include "tls_upcall.h"

/* Start it if there is such a connection and no process answers the kernel, unless word is "off"
 * (NULL: on). Failure is reported as a warning. Forks: call it after all loops of this process are
 * freed. */
void tls_monitor_start(const struct call *, int root, const char *word);
/* Start it in any case. forever: until a signal ends it. Sets its pid. Needs root, and a process
 * without threads. */
int tls_monitor_spawn(int root, bool forever, int *pid, struct diag *);
/* Log a handshake; name: of the process. */
void tls_monitor_log(const char *name, const struct tls_upcall_end *);
