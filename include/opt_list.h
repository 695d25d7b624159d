/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The values of a repeatable option. */
#pragma once
#include <stdint.h>

#define OPT_LIST_MAX 32
struct opt_list {
	const char *item[OPT_LIST_MAX];
	uint8_t part[OPT_LIST_MAX]; /* number of the last OPT_PART before the item; 0: none */
	int word[OPT_LIST_MAX];     /* position on the command line */
	uint16_t tag[OPT_LIST_MAX]; /* for the applet; initially 0 */
	unsigned count;
};
