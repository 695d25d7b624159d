/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files that list peers and their secrets, one peer a line: words between blanks, the first of
 * which is its name. A '#' at the beginning of a word begins a comment. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>

struct secret_list_reader {
	/* Called first: at most this many lines follow. */
	int (*begin)(void *user, unsigned lines, struct diag *);
	/* Called for each line with a name: number counts from 1, words is for secret_list_word().
	 * The text is wiped afterwards. */
	int (*line)(void *user, unsigned number, const char *name, char *words, struct diag *);
	/* Called last; NULL: nothing. *number: the line of an error. */
	int (*end)(void *user, unsigned *number, struct diag *);
};

/* Read a file of up to 1 MiB. Disables core dumps, and wipes all memory that held secrets. An error
 * has the path, and the line, as object. DIAG_PERMISSION: other users have access to it. */
int secret_list_read(
	const char *path, const struct secret_list_reader *, void *user, struct diag *);
/* Return the text of a file of up to 1 MiB, *size bytes and a 0, for the caller to free by
 * secret_free(); NULL: diag is set. only_owner: DIAG_PERMISSION if other users have access to it.
 */
char *secret_list_text(const char *path, bool only_owner, size_t *size, struct diag *);
/* Let the helper open this file (helper.h), for either function. 0 or -ENOMEM. */
int secret_list_allow(const char *path);
/* Return the next word, terminated, and advance *words. NULL: the end. */
char *secret_list_word(char **words);
