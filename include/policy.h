/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The loss policy: how long I/O is held while a connection is lost. */
#pragma once
#include "diag.h"

/* Special values of kernel settings, mostly of seconds. */
#define VALUE_OFF     (-1) /* off; of a timeout: never */
#define VALUE_UNKNOWN (-2) /* not reported; to set: keep the current value */

#define LOSS_FOREVER UINT32_MAX
#define LOSS_DEFAULT 60                /* seconds */
#define LOSS_MAX     UINT32_C(4294967) /* seconds */

/* Parse "fail-fast" (0), "forever" (LOSS_FOREVER), "wait=SECONDS" or "SECONDS" up to max seconds.
 * what: the option or key for the diag, such as "--on-loss". */
int loss_read(const char *text, const char *what, uint32_t max, uint32_t *ms, struct diag *);
int loss_seconds(uint32_t ms); /* rounded up, or VALUE_OFF for LOSS_FOREVER */
/* Format seconds (or VALUE_OFF) for loss_read(). */
#define LOSS_TEXT 24
const char *loss_text(int seconds, char text[LOSS_TEXT]);
