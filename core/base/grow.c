/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Append elements to an allocated array. */
#include "grow.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void *grow_array(void *array, unsigned *count, size_t more, size_t each)
{
	size_t total;
	char *items;

	if (__builtin_add_overflow((size_t)*count, more, &total) || total > UINT_MAX)
		return NULL;
	memcpy(&items, array, sizeof(items)); /* memcpy, as the array is a pointer of any type */
	items = reallocarray(items, total ? total : 1, each);
	if (!items)
		return NULL;
	memcpy(array, &items, sizeof(items));
	items += *count * each;
	*count = (unsigned)total;
	return memset(items, 0, more * each);
}
