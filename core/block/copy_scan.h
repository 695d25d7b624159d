/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Scan memory at full speed; the C library's memcmp() may go byte by byte. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

bool scan_zero(const void *, size_t len);
/* Index of the first difference; len if there is none. */
size_t scan_differs(const void *, const void *, size_t len);
