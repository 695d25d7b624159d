/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Secrets that come from files and descriptors. */
#pragma once
#include "applet.h"

/* Reads the first line; longer than room: -E2BIG. Errors never quote it, as it may be a secret all
 * the same. A file that other users can read is noted. */
int secret_of_file(const struct call *, const char *path, char *secret, size_t room, struct diag *);
int secret_of_fd(const char *option, const char *number, char *secret, size_t room, struct diag *);
