/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#pragma once
#include "applet.h"

/* The row of --retry, the same in all applets that have it. */
#define OPT_RETRY_ROW(type, field)                                                                 \
	{                                                                                          \
		"retry", 0, OPT_MSEC, offsetof(type, field), "SECONDS",                            \
			"retry this long if a disk can't be reached at first; default 0", 0,       \
			OPT_MSEC_MAX                                                               \
	}
