/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How many commands of a connection an RDMA device has room for. */
#include "says.h"
#include "target_rdma.h"
#include <criterion/criterion.h>
#include <errno.h>

Test(rdma, commands_are_limited_by_what_the_device_has)
{
	static const struct {
		uint32_t recv, send, ord, read_sge;
		unsigned depth; /* of 32 commands, with 4 more receives and 6 more requests */
	} rows[] = {
		{ 64, 128, 16, 1, 32 },
		{ 20, 128, 16, 1, 16 },
		{ 64, 26, 16, 1, 10 },
		{ 64, 27, 16, 1, 10 },
		{ 20, 26, 16, 1, 10 },
		{ 4, 128, 16, 1, 0 },
		{ 3, 128, 16, 1, 0 },
		{ 64, 7, 16, 1, 0 },
		{ 64, 5, 16, 1, 0 },
		{ 64, 128, 0, 1, 0 },
		{ 64, 128, 16, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ep ep = { .caps = { .recv = rows[i].recv,
					 .send = rows[i].send,
					 .ord = rows[i].ord,
					 .read_sge = rows[i].read_sge } };

		cr_assert_eq(target_rdma_depth(&ep, 32, 4, 6), rows[i].depth, "row %zu", i);
		if (rows[i].depth)
			cr_assert(!ep.why.err);
		else
			diag_says(&ep.why, DIAG_NO_DEVICE, "", "receives requests reads");
	}
}
