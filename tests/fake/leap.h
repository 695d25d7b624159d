/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A fake clock: once all threads are idle, it leaps to the next timer, so that a day takes a
 * moment, and a busy machine delays nothing. For programs linked with --wrap= for clock_gettime,
 * epoll_wait, poll and timerfd_settime (the fabric in memory uses timerfd).
 *
 * It follows the main thread and its loop. Other threads and child processes must not wait for
 * a time: one that sleeps counts as idle. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

extern uint64_t leap_now;   /* nanoseconds, as CLOCK_MONOTONIC; 0: the real clock */
extern unsigned leap_turns; /* number of waits of the loop */
extern bool leap_tune;      /* call tune_tcp() for all sockets, the program's own, too */

/* For loop_wait(): a deadline on this clock. On the real one there is none (0), as how long
 * something takes depends on how busy the machine is; tests/run ends a test that hangs. */
uint64_t leap_limit(uint64_t ns);
/* A time limit for what is tested: ms on this clock, NO_LIMIT_MS of wait.h on the real one. */
uint32_t leap_limit_ms(uint32_t ms);
