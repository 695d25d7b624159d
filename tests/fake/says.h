/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asserts what a failure says by what users rely on: its code, its object, and key words; never by
 * whole sentences. */
#pragma once
#include "diag.h"
#include <criterion/criterion.h>
#include <string.h>
#include <strings.h>

/* The first of the blank-separated words that is not in the text (in any case), NULL when all are.
 * '_' in a word stands for any one character, so that it can hold a blank. */
static inline const char *text_missing(const char *text, const char *words)
{
	static char word[128];
	size_t len, i;

	for (; *(words += strspn(words, " ")); words += len) {
		const char *part = text;

		len = strcspn(words, " ");
		cr_assert_lt(len, sizeof(word), "word too long: %s", words);
		memcpy(word, words, len);
		word[len] = 0;
		for (; *part; part++) {
			for (i = 0; i < len && part[i]; i++)
				if (word[i] != '_' && strncasecmp(&part[i], &word[i], 1))
					break;
			if (i == len)
				break;
		}
		if (!*part)
			return word;
	}
	return NULL;
}

/* How many of the lines have all the words; \n ends a line. */
static inline unsigned lines_saying(const char *lines, const char *words)
{
	unsigned count = 0;
	char line[1024];
	size_t len;

	for (; *lines; lines += len + !!lines[len]) {
		len = strcspn(lines, "\n");
		cr_assert_lt(len, sizeof(line));
		memcpy(line, lines, len);
		line[len] = 0;
		count += !text_missing(line, words);
	}
	return count;
}

#define text_says(text_, words_)                                                                   \
	do {                                                                                       \
		const char *text__ = (text_), *missing_ = text_missing(text__, words_);            \
		cr_assert_null(missing_, "no \"%s\" in \"%s\"", missing_ ? missing_ : "", text__); \
	} while (0)

/* object_: NULL = any, "" = none. The words are looked for in the text and the hint. */
#define diag_says(diag_, code_, object_, words_)                                                   \
	do {                                                                                       \
		const struct diag *d_ = (diag_);                                                   \
		const char *object__ = (object_);                                                  \
		char all_[sizeof(d_->text) + sizeof(d_->hint) + 1];                                \
		strcat(strcat(strcpy(all_, d_->text), " "), d_->hint);                             \
		cr_assert_eq(d_->code, (code_), "code %s, not %s: %s", diag_code_word(d_->code),   \
			diag_code_word(code_), d_->text);                                          \
		cr_assert(!object__ || !strcmp(d_->object, object__), "object \"%s\", not \"%s\"", \
			d_->object, object__ ? object__ : "");                                     \
		text_says(all_, words_);                                                           \
	} while (0)
