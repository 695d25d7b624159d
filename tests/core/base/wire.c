/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The copy of short messages: all bytes, and none beyond. */
#include "wire.h"
#include <criterion/criterion.h>

Test(wire, copies_of_every_length_are_exact)
{
	uint8_t from[130], to[132];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i + 1);
	for (size_t len = 0; len <= sizeof(from); len++) {
		memset(to, 0, sizeof(to));
		wire_copy(to + 1, from, len);
		cr_assert(!memcmp(to + 1, from, len), "%zu bytes", len);
		cr_assert(!to[0] && !to[len + 1], "beyond %zu bytes", len);
	}
	wire_copy(to, NULL, 0);
}
