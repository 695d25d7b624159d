/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A clock of the test's own, which leaps to whatever is due next, so that a day takes a moment. For
 * programs linked with
 * --wrap=clock_gettime,--wrap=epoll_wait,--wrap=timerfd_settime (the fabric in memory uses
 * timerfd). */
#pragma once
#include <stdint.h>

extern uint64_t leap_now;   /* nanoseconds, as CLOCK_MONOTONIC; 0: the real clock, for threads */
extern unsigned leap_turns; /* how often somebody waited */
