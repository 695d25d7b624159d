/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Words of the kernel command line. */
#pragma once

/* The next word, without quotation marks around it or its value, cut out of the text; NULL at the
 * end. */
char *kernel_cmdline_word(char **rest);
/* What follows "KEY=" in a word, if there is something; else NULL. */
char *kernel_cmdline_value(char *word, const char *key);
