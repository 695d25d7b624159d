/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Checks what blocks of a disk hold, and what reads return, against the writes that one host has
 * sent. Each block of a write holds the number of the write.
 *
 * A write may take effect any number of times while it is in flight, as it may be sent again over
 * another path. So writes that are in flight together may land in any order, and more than once.
 * But once it is done, neither it nor an older one may land after something newer was seen: a write
 * that began later and has succeeded, or a read that began later and has returned other data. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define HISTORY_BLOCK  512
#define HISTORY_BLOCKS 32
#define HISTORY_WRITES 2048

/* Clears everything. All blocks hold write 0, which is done. */
void history_begin(void);
void history_fill(unsigned write, unsigned first, unsigned count, void *data);
/* The number of the new write. */
unsigned history_write(unsigned first, unsigned count);
void history_write_done(unsigned write, bool success);
/* A time, for what begins now. */
uint32_t history_now(void);
/* The next three return NULL, or what is wrong, in a static buffer. */
/* A read that began at that time has returned this data. */
const char *history_read_done(uint32_t begun, unsigned first, unsigned count, const void *data);
/* A flush that began at that time has succeeded, and this is on stable storage. */
const char *history_flush_done(uint32_t begun, const void *stable);
/* The disk has executed a write with this data. */
const char *history_landed(unsigned first, unsigned count, const void *data);
