/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Split the kernel command line into parameters. */
#include "cmdline.h"
#include <stdbool.h>
#include <string.h>

char *kernel_cmdline_param(char **rest)
{
	char *at = *rest + strspn(*rest, " \t\n"), *to = at, *param = at;
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
	return param;
}

char *kernel_cmdline_value(char *param, const char *key)
{
	size_t len = strlen(key);

	return !strncmp(param, key, len) && param[len] == '=' && param[len + 1] ? param + len + 1
										: NULL;
}
