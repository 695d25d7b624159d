/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Zero detection and comparison at every length and alignment. */
#include "copy_scan.h"
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

Test(copy_scan, one_byte_anywhere_is_seen)
{
	uint8_t a[300] = { 0 }, b[300] = { 0 };

	for (size_t from = 0; from < 9; from++) {
		for (size_t len = 0; len < 200; len++) {
			cr_assert(scan_zero(a + from, len));
			cr_assert_eq(scan_differs(a + from, b + from, len), len);
			for (size_t at = 0; at < len; at++) {
				a[from + at] = 0x80;
				cr_assert_not(scan_zero(a + from, len));
				cr_assert_eq(scan_differs(a + from, b + from, len), at);
				cr_assert_eq(scan_differs(b + from, a + from, len), at);
				a[from + at] = 0;
			}
		}
	}
}

Test(copy_scan, bytes_outside_do_not_count)
{
	uint8_t a[200], b[200] = { 0 };

	memset(a, 1, sizeof(a));
	memset(a + 30, 0, 100);
	cr_assert(scan_zero(a + 30, 100));
	cr_assert_eq(scan_differs(a + 30, b + 30, 100), 100);
	b[50] = b[130] = 2;
	cr_assert_eq(scan_differs(a + 30, b + 30, 100), 20);
}
