/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Figures as text with three significant digits. */
#pragma once

enum figure_kind { FIGURE_COUNT, FIGURE_NS, FIGURE_RATE, FIGURE_PERCENT }; /* rate: bytes/s */

/* Return the unit in which the value has one to three digits before the point ("k", "us", "MiB/s"),
 * and set what to divide it by. */
const char *figure_unit(double value, enum figure_kind, double *divisor);
/* Print a value of at least 0: "12.3k", "1.50 ms", "998 MiB/s", "99.9 %". */
const char *figure_text(double value, enum figure_kind, char text[24]);
