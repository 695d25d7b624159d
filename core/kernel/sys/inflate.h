/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decompress gzip files. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Decompress the first member of a gzip file (RFC 1952), without checking its checksum. Returns the
 * number of bytes; -EINVAL: invalid or incomplete; -ENOSPC: longer than `room`. */
ssize_t kernel_gunzip(const uint8_t *from, size_t len, uint8_t *to, size_t room);
