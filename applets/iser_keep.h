/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The keeper of iSCSI sessions, as those ask for it who make some. */
#pragma once
#include "applet.h"
#include <stddef.h>

#define ISER_KEEP_ROW(type, member) \
	{ "keeper", 0, OPT_TEXT, offsetof(type, member), "on|off", "log in again when a connection is lost, by a process that stays; default on" }
/* Last of all, with nothing of a loop left: sees to it that there is one, unless word is "off" (NULL: on). That there is none is told and is
 * no failure. */
void iser_keep(const struct call *, int root, const char *word);
