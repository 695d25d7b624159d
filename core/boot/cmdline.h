/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Split the kernel command line into parameters. */
#pragma once

/* Cut the next parameter out of the text, without quotation marks around it or its value; NULL at
 * the end. */
char *kernel_cmdline_param(char **rest);
/* Return the text after "KEY=" in a parameter; NULL if it is empty or the key differs. */
char *kernel_cmdline_value(char *param, const char *key);
