/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The keeper: one process for all sessions of the kernel's iSCSI initiators, which logs in again
 * when a connection was lost. It knows nothing but what the kernel tells, so that another one goes
 * on where it was killed. iscsid, where it runs, is left in charge. */
#pragma once
#include "applet.h"

/* The same for applets that log in, unless word is "off" (NULL: on). Needs: no loop of this process
 * is left. Failure to start it is reported but not fatal. */
#define ISCSI_KEEPER_ROW(type, member)                                                             \
	{                                                                                          \
		"keeper", 0, OPT_TEXT, offsetof(type, member), "on|off",                           \
			"start a background process that restores lost connections; default on"    \
	}
void iscsi_keeper_begin(const struct call *, int root, const char *word);
