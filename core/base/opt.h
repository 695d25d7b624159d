/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An applet's options, as used by parsing (opt.c) and printing (opt_show.c). */
#pragma once
#include "applet.h"

enum { OPT_HELP = 0x80 }; /* type of --help, which has no member in the option struct */

/* Get the index-th option: the applet's own first, then the common ones that it does not replace,
 * without short names it uses itself. False past the end. NULL = the common ones only. */
bool opt_row(const struct applet *, unsigned index, struct opt *row);
bool opt_row_find(const struct applet *, const char *name, struct opt *row);
bool opt_takes_arg(const struct opt *);
bool opt_is_number(const struct opt *);
bool opt_has_range(const struct opt *); /* whether the option sets limits of its own */
/* Print the valid range as the user would type it: "1 to 1024", "64K to 32M", "1ms to 600s". */
const char *opt_range(const struct opt *, char text[64]);
/* Whether the argument must be one of the words in row->arg ("rdma|tcp"). */
bool opt_has_choices(const struct opt *);
/* Name of the index-th operand in the applet's "SRC DST", without brackets and dots; "" past the
 * end. */
const char *opt_operand_name(const struct applet *, unsigned index, char name[32]);
