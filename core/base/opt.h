/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rows an applet has in effect, shared by parsing (opt.c) and showing (opt_show.c). */
#pragma once
#include "applet.h"

enum { OPT_HELP = 0x80 }; /* type of --help, which has no place in the option struct */

/* The index-th row: the applet's own, then the common ones it does not replace, letters it needs
 * itself taken off. False past the end. NULL = the common rows alone. */
bool opt_row(const struct applet *, unsigned index, struct opt *row);
bool opt_row_find(const struct applet *, const char *name, struct opt *row);
bool opt_takes_arg(const struct opt *);
bool opt_is_number(const struct opt *);
bool opt_has_range(const struct opt *); /* a limit that is the option's own */
/* The accepted numbers as the user would type them: "1 to 1024", "64K to 32M", "1ms to 600s". */
const char *opt_range(const struct opt *, char text[64]);
bool opt_has_words(const struct opt *); /* its argument is one of the words in row->arg */
/* Name of the index-th operand in the applet's "SRC DST", brackets and dots taken off; "" past the
 * end. */
const char *opt_operand_name(const struct applet *, unsigned index, char name[32]);
