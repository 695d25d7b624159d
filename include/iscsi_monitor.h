/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The session monitor: one background process that logs in again when a session of the kernel's
 * iSCSI initiators has lost its connection. All its state comes from the kernel, so it can be
 * killed and replaced. If iscsid runs, the monitor leaves recovery to it. */
#pragma once
#include "applet.h"

/* Start the monitor unless it runs, or word is "off" (NULL: on). Failure is reported as a warning.
 * Forks: call it after all loops of this process are freed. */
void iscsi_monitor_start(const struct call *, int root, const char *word);
