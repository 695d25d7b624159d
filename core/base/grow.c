/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Append elements to an allocated array. */
#include "grow.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define EXACT 1024 /* elements; beyond, room for a power of 2 */

static size_t room_for(size_t count)
{
	size_t room = EXACT;

	if (count <= EXACT)
		return count ? count : 1;
	while (room < count)
		room *= 2;
	return room;
}

void *grow_array(void *array, unsigned *count, size_t more, size_t each)
{
	size_t total;
	char *items;

	if (__builtin_add_overflow((size_t)*count, more, &total) || total > UINT_MAX)
		return NULL;
	memcpy(&items, array, sizeof(items)); /* memcpy, as the array is a pointer of any type */
	if (!items || room_for(total) != room_for(*count))
		items = reallocarray(items, room_for(total), each);
	if (!items)
		return NULL;
	memcpy(array, &items, sizeof(items));
	items += *count * each;
	*count = (unsigned)total;
	return memset(items, 0, more * each);
}
