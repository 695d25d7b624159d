/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The keeper: one process for all sessions of the kernel's iSCSI initiators, which logs in again
 * when a connection was lost. It knows nothing but what the kernel tells, so that another one goes
 * on where it was killed. iscsid, where it runs, is left in charge. */
#pragma once
#include "applet.h"
#include "diag.h"
#include "loop.h"

/* One is there when this returns, *pid (0: nobody tells). Starts it unless it is there: a process
 * of its own, of which nothing is left in this one. Needs: root, and no threads. With iscsid in
 * charge none is started: -EALREADY, and *pid is iscsid's. */
int iscsi_keeper_start(int root, int *pid, struct diag *);

/* The same for applets that log in, unless word is "off" (NULL: on). Needs: no loop of this process
 * is left. Failure to start it is reported but not fatal. */
#define ISCSI_KEEPER_ROW(type, member)                                                             \
	{                                                                                          \
		"keeper", 0, OPT_TEXT, offsetof(type, member), "on|off",                           \
			"start a background process that restores lost connections; default on"    \
	}
void iscsi_keeper_begin(const struct call *, int root, const char *word);

/* What that process does; for tests. */
struct iscsi_keeper;
struct iscsi_keeper_events {
	void *arg;
	void (*say)(void *arg, const char *line);
	void (*over)(void *arg); /* from the loop: no session is there. It goes on if one comes */
};
int iscsi_keeper_new(struct iscsi_keeper **, struct loop *, int root,
	const struct iscsi_keeper_events *, struct diag *);
bool iscsi_keeper_idle(struct iscsi_keeper *); /* looks: no session is there */
void iscsi_keeper_free(struct iscsi_keeper *); /* sessions stay; a login under way is given up */
