/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files that reports are written to. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stdio.h>

/* Create or truncate it, or append to it. NULL: the failure is in diag. */
FILE *report_open(const char *path, bool append, struct diag *);
/* Open a regular file to read it. */
FILE *report_reopen(const char *path, struct diag *);
/* Close it, and report whether all of it was written. */
int report_close(FILE *, const char *path, struct diag *);
