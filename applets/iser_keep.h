/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The keeper of iSCSI sessions, for applets that log in. */
#pragma once
#include "applet.h"
#include <stddef.h>

#define ISER_KEEP_ROW(type, member)                                                                \
	{                                                                                          \
		"keeper", 0, OPT_TEXT, offsetof(type, member), "on|off",                           \
			"start a background process that restores lost connections; default on"    \
	}
/* Start the keeper unless word is "off" (NULL: on). Needs: no loop of this process is left. Failure
 * to start it is reported but not fatal. */
void iser_keep(const struct call *, int root, const char *word);
