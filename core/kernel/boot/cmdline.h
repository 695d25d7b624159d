/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Split the kernel command line into words. */
#pragma once

/* Cut the next word out of the text, without quotation marks around it or its value; NULL at the
 * end. */
char *kernel_cmdline_word(char **rest);
/* The text after "KEY=" in a word; NULL if it is empty or the key differs. */
char *kernel_cmdline_value(char *word, const char *key);
