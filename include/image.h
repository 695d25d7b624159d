/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Formats of disk images and archives that a file opened as raw may have. */
#pragma once
#include "diag.h"
#include <stddef.h>

/* Set `why` if the first bytes of the file are those of such a format; the hint converts it. */
void image_header(const uint8_t *head, size_t len, const char *path, struct diag *why);
