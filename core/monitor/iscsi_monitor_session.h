/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A session of the monitor: parameters for a new login from what the kernel reports. */
#pragma once
#include "attach_iscsi.h"
#include "iscsi_recovery.h"
#include "kernel_iscsi.h"

struct monitor_session {
	struct recovery_session recovery;
	struct kernel_iscsi_session kernel; /* as of iscsi_monitor_session_read() */
	/* what the kernel reports only while logged in; VALUE_UNKNOWN, "" and 0: not reported */
	int header_digest, data_digest;
	char address[ADDR_TEXT];
	uint16_t port;
	/* of the login in progress */
	struct iscsi_link link;
	struct iscsi_session_params params;
	struct iscsi_identity from;
	struct kernel_iscsi_secrets secrets;
};
/* Return false for sessions of offload adapters, whose driver logs in itself. */
bool iscsi_monitor_supports(const struct kernel_iscsi_session *);
/* Read `kernel` from sysfs. -ENOENT: the session was removed. */
int iscsi_monitor_session_read(struct monitor_session *, int root);
/* Set up `link` for a login with the session's parameters, which were read before. The caller sets
 * link.nl, .done and .user, and calls iscsi_monitor_session_wipe() at the end, also on failure. */
int iscsi_monitor_session_prepare(
	struct monitor_session *, int root, uint32_t limit_ms, struct diag *);
void iscsi_monitor_session_wipe(struct monitor_session *); /* erase the secrets */

/* Start the monitor as a process of its own unless it runs. *pid: its pid, 0 if unknown. Waits up
 * to 10 s until it is ready. Needs root, and a process without threads. -EALREADY: iscsid is
 * running, *pid is iscsid's. */
int iscsi_monitor_spawn(int root, int *pid, struct diag *);

/* The monitor on a loop: what that process runs. */
struct iscsi_monitor;
struct iscsi_monitor_events {
	void *arg;
	void (*log)(void *arg, const char *line);
	/* No session is left. Called from the loop, perhaps repeatedly. New sessions are still
	 * monitored. */
	void (*idle)(void *arg);
};
/* Monitor all sessions that exist or will be created. The events must outlive the monitor. */
int iscsi_monitor_new(struct iscsi_monitor **, struct loop *, int root,
	const struct iscsi_monitor_events *, struct diag *);
/* List the sessions again. Return true if there is none. */
bool iscsi_monitor_is_idle(struct iscsi_monitor *);
/* Cancel logins in progress; sessions stay. NULL is allowed. */
void iscsi_monitor_free(struct iscsi_monitor *);
