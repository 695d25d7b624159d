/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names as people type them: '_' equals '-', and misspelt names get a suggestion. */
#pragma once
#include <stdbool.h>

bool word_same(const char *typed, const char *name);
/* Whether `typed` is a misspelling or a prefix of `name`. Among several names the caller takes the
 * one with the smallest word_distance(). */
bool word_near(const char *typed, const char *name);
/* Number of letters to insert, delete, replace or swap; 99 for words longer than 31. */
unsigned word_distance(const char *typed, const char *name);
/* Whether `word` is one of the words in "rdma|tcp". */
bool word_among(const char *word, const char *set);
