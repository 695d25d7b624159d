/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Allocated arrays that grow at the end, and no other way. The element count is an unsigned of the
 * caller's, and tells how much room there is. */
#pragma once
#include <stddef.h>

/* Append a zeroed element: its address, or NULL if memory is short. Array and count are then as
 * before. */
#define grow(array, count) grow_by(array, count, 1)
/* Append `more` elements: the first of them. */
#define grow_by(array, count, more)                                                                \
	((typeof(array))grow_array(&(array), &(count), more, sizeof(*(array))))

/* array: the address of the pointer, of any type. */
void *grow_array(void *array, unsigned *count, size_t more, size_t each);
