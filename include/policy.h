/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The loss policy: how long I/O is held while a connection is lost. */
#pragma once
#include "diag.h"
#include <stdint.h>

/* What a number of the kernel may be besides a count, mostly of seconds. */
#define VALUE_OFF     (-1) /* switched off; of a timeout: never */
#define VALUE_UNKNOWN (-2) /* not reported, or none; of a setting: keep it */

#define LOSS_FOREVER UINT32_MAX
#define LOSS_DEFAULT 60                /* seconds */
#define LOSS_MAX     UINT32_C(4294967) /* seconds */

/* "fail-fast" (0), "forever" (LOSS_FOREVER), "wait=SECONDS" or "SECONDS" up to max, which becomes
 * milliseconds. what: the option or key for the error, as "--on-loss". */
int loss_read(const char *text, const char *what, uint32_t max, uint32_t *ms, struct diag *);
int loss_seconds(uint32_t ms); /* rounded up, or VALUE_OFF for LOSS_FOREVER */
/* Whole seconds, as loss_read() takes them. */
#define LOSS_TEXT 24
const char *loss_text(int seconds, char text[LOSS_TEXT]);
