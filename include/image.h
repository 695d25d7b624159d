/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Formats that a file opened as raw may hold instead. */
#pragma once
#include "diag.h"
#include <stddef.h>
#include <stdint.h>

/* Sets why if the file begins like a disk image or archive of another format; its hint converts it.
 */
void image_header(const uint8_t *head, size_t len, const char *path, struct diag *why);
