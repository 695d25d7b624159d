/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Split the kernel command line into words. */
#include "cmdline.h"
#include <stdbool.h>
#include <string.h>

char *kernel_cmdline_word(char **rest)
{
	char *at = *rest + strspn(*rest, " \t\n"), *to = at, *word = at;
	bool quoted = false;

	if (!*at)
		return NULL;
	for (; *at && (quoted || !strchr(" \t\n", *at)); at++) {
		if (*at == '"')
			quoted = !quoted;
		else
			*to++ = *at;
	}
	*rest = at + (*at != 0);
	*to = 0;
	return word;
}

char *kernel_cmdline_value(char *word, const char *key)
{
	size_t len = strlen(key);

	return !strncmp(word, key, len) && word[len] == '=' && word[len + 1] ? word + len + 1
									     : NULL;
}
