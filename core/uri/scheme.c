/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The list of URI schemes by name. */
#include "uri.h"
#include <errno.h>
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

int scheme_unknown(const char *name, unsigned uses, const char *also, struct diag *diag)
{
	char known[300] = "";

	for (const struct scheme *const *row = schemes; *row; row++)
		if ((*row)->uses & uses &&
			strlen(known) + strlen((*row)->start) + 3 < sizeof(known))
			strcat(strcat(known, (*row)->start), ", ");
	diag_set(diag, DIAG_USAGE, EINVAL, "unknown scheme '%s:'", name);
	diag_hint(diag, "expected %sor %s", known, also);
	return -EINVAL;
}
