/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Compare input with known names, and suggest the nearest one. */
#include "word.h"
#include "min.h"
#include <string.h>

enum { WORD_MAX = 31, WORD_FAR = 99 };

static char plain(char c)
{
	return c == '_' ? '-' : c;
}

bool word_same(const char *typed, const char *name)
{
	for (; *typed && plain(*typed) == plain(*name); typed++)
		name++;
	return !*typed && !*name;
}

unsigned word_distance(const char *typed, const char *name)
{
	unsigned char row[3][WORD_MAX + 1];
	size_t n = strlen(typed), m = strlen(name);

	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_FAR;
	for (size_t j = 0; j <= m; j++)
		row[0][j] = (unsigned char)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned char *now = row[i % 3], *last = row[(i + 2) % 3],
			      *before = row[(i + 1) % 3];

		now[0] = (unsigned char)i;
		for (size_t j = 1; j <= m; j++) {
			bool same = plain(typed[i - 1]) == plain(name[j - 1]);
			unsigned best =
				min_u32(min_u32(last[j], now[j - 1]) + 1u, last[j - 1] + !same);

			if (i > 1 && j > 1 && plain(typed[i - 1]) == plain(name[j - 2]) &&
				plain(typed[i - 2]) == plain(name[j - 1]))
				best = min_u32(best, before[j - 2] + 1u);
			now[j] = (unsigned char)best;
		}
	}
	return row[n % 3][m];
}

bool word_near(const char *typed, const char *name)
{
	size_t n = strlen(typed);

	if (n >= 2 && !strncmp(typed, name, n))
		return true;
	return n >= 3 && word_distance(typed, name) <= (n < 6 ? 1 : 2);
}

bool word_among(const char *word, const char *set)
{
	size_t n = strlen(word);

	for (const char *p = set; *p; p += strcspn(p, "|"), p += *p == '|')
		if (strcspn(p, "|") == n && !strncmp(p, word, n))
			return true;
	return false;
}
