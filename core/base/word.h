/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names as people type them: '_' is '-', and what they may have meant. */
#pragma once
#include <stdbool.h>

bool word_same(const char *typed, const char *name);
/* A slip of the fingers, or cut short. Among several names the caller takes the one with the
 * smallest word_distance(). */
bool word_near(const char *typed, const char *name);
/* Letters to insert, delete, replace or swap; 99 for words longer than 31. */
unsigned word_distance(const char *typed, const char *name);
/* Is `word` one of the words in "rdma|tcp"? */
bool word_among(const char *word, const char *set);
