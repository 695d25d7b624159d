/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Wait for other processes and threads. There is no limit: how long they take depends on how busy
 * the machine is, and tests/run ends a test that hangs. */
#pragma once
#include "loop.h"
#include <stdlib.h>
#include <unistd.h>

#define WAIT_UNTIL(holds)                                                                          \
	do {                                                                                       \
		while (!(holds))                                                                   \
			usleep(1000);                                                              \
	} while (0)

/* A time limit, in milliseconds, that only a test that hangs would reach. */
#define NO_LIMIT_MS 3600000u

/* For loop_wait(), where the test can say more than that it hangs: a deadline shortly before
 * tests/run ends the program. */
static inline uint64_t wait_limit(void)
{
	static uint64_t begun;
	const char *seconds = getenv("TEST_TIMEOUT");

	if (!begun)
		begun = loop_clock();
	return begun + (seconds ? strtoull(seconds, NULL, 10) : 900) * 900000000;
}
