/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Allocated arrays that grow at the end. The caller keeps the element count, from which the
 * allocated size is derived. */
#pragma once
#include <stddef.h>

/* Append a zeroed element and return it. NULL: no memory; array and count are unchanged. */
#define grow(array, count) grow_by(array, count, 1)
/* Append `more` elements and return the first. */
#define grow_by(array, count, more)                                                                \
	((typeof(array))grow_array(&(array), &(count), more, sizeof(*(array))))

/* array: the address of the pointer, of any type. */
void *grow_array(void *array, unsigned *count, size_t more, size_t each);
