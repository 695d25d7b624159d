/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Secrets that come from files and descriptors. */
#pragma once
#include "diag.h"
#include <stddef.h>

/* The first line. What it is not is not told, as it may be a secret all the same; longer than room: -E2BIG. */
int secret_of_file(const char *path, char *secret, size_t room, struct diag *);
int secret_of_fd(const char *number, char *secret, size_t room, struct diag *);
