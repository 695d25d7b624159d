/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files that reports are written to. */
#pragma once
#include "diag.h"
#include <stdio.h>

/* mode: of fopen(). NULL: the failure is in diag. */
FILE *report_open(const char *path, const char *mode, struct diag *);
/* Close it, and report whether all of it was written. */
int report_close(FILE *, const char *path, struct diag *);
