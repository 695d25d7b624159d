/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The output format, as nvme-cli has it. */
#pragma once
#include "applet.h"

#define NVME_OUTPUT_ROWS                                                                           \
	{ "output", 'o', OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal",        \
		"output format; normal is text" },                                                 \
	{                                                                                          \
		"output-format", 0, OPT_TEXT, offsetof(struct opt_common, output),                 \
			"text|json|normal", "same as --output"                                     \
	}
