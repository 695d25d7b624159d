/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A client that keeps the rules: checked writes and reads on host.h's lane. */
#pragma once
#include "host.h"

#define HONEST_SIZE (1u << 20) /* its part of the disk, from the start */

/* Writes random data to random places, each time followed by a read that must return it. All must
 * succeed. Runs the loop until that number of writes is done and `others` has returned true.
 * `others` (or NULL) is called after each request, and at least every millisecond. Returns the
 * longest time that one request took, in nanoseconds. */
uint64_t honest_run(unsigned writes, bool (*others)(void));
void honest_check(const uint8_t *disk); /* what was written is there */
