/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The list of URI schemes by name. */
#include "uri.h"
#include <stddef.h>
#include <string.h>

const struct scheme *scheme_find(const char *name)
{
	size_t len = strlen(name);

	for (const struct scheme *const *row = schemes; *row; row++) {
		const char *start = (*row)->start;

		if (!strncmp(start, name, len) && (start[len] == ':' || !start[len]))
			return *row;
	}
	return NULL;
}
