/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Time that passes only when nobody has anything to do. */
#include "leap.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define TIMERS 16

int __real_clock_gettime(clockid_t, struct timespec *) __attribute__((weak));
int __real_epoll_wait(int, struct epoll_event *, int, int) __attribute__((weak));
int __real_timerfd_settime(int, int, const struct itimerspec *, struct itimerspec *)
	__attribute__((weak));
int __wrap_clock_gettime(clockid_t, struct timespec *);
int __wrap_epoll_wait(int, struct epoll_event *, int, int);
int __wrap_timerfd_settime(int, int, const struct itimerspec *, struct itimerspec *);

uint64_t leap_now = 1000 * SECOND;
unsigned leap_turns;

static struct {
	int fd;
	uint64_t due; /* 0 = not set */
} timer[TIMERS];

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	if (id != CLOCK_MONOTONIC || !leap_now)
		return __real_clock_gettime(id, t);
	*t = (struct timespec){ .tv_sec = (time_t)(leap_now / SECOND),
		.tv_nsec = (long)(leap_now % SECOND) };
	return 0;
}

/* False: it was closed. */
static bool ring(unsigned i)
{
	const struct itimerspec soon = { .it_value.tv_nsec = 1 };

	timer[i].due = 0;
	return !__real_timerfd_settime(timer[i].fd, 0, &soon, NULL);
}

static unsigned find(int fd)
{
	unsigned spare = TIMERS;

	for (unsigned i = 0; i < TIMERS; i++) {
		if (timer[i].due && timer[i].fd == fd)
			return i;
		if (!timer[i].due)
			spare = i;
	}
	if (spare == TIMERS)
		abort();
	return spare;
}

/* Absolute times only. */
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *old)
{
	const struct itimerspec never = { 0 };
	unsigned i;

	if (!leap_now)
		return __real_timerfd_settime(fd, flags, when, old);
	i = find(fd);
	timer[i].fd = fd;
	timer[i].due = (uint64_t)when->it_value.tv_sec * SECOND + (uint64_t)when->it_value.tv_nsec;
	if (timer[i].due && timer[i].due <= leap_now)
		ring(i);
	else
		__real_timerfd_settime(fd, 0, &never, NULL);
	return 0;
}

/* On a busy machine the kernel delivers later what was sent to this host: in order, for each CPU.
 * So wait for a datagram behind all of it. By system calls, as tests wrap functions. */
static void delivered(void)
{
	static int fd = -1;
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	char byte = 0;

	if (fd < 0) {
		fd = (int)syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (syscall(SYS_bind, fd, &at, len) || syscall(SYS_getsockname, fd, &at, &len) ||
			syscall(SYS_connect, fd, &at, len))
			abort();
	}
	if (syscall(SYS_sendto, fd, &byte, 1, 0, NULL, 0) != 1 ||
		syscall(SYS_recvfrom, fd, &byte, 1, 0, NULL, NULL) != 1)
		abort();
}

int __wrap_epoll_wait(int epoll, struct epoll_event *event, int count, int ms)
{
	uint64_t until = ms < 0 ? UINT64_MAX : leap_now + (uint64_t)ms * 1000000;
	unsigned next = TIMERS;
	int got;

	if (!leap_now)
		return __real_epoll_wait(epoll, event, count, ms);
	got = __real_epoll_wait(epoll, event, count, 0);
	leap_turns++;
	if (got || !ms)
		return got;
	delivered();
	got = __real_epoll_wait(epoll, event, count, 0);
	if (got)
		return got;
	for (unsigned i = 0; i < TIMERS; i++)
		if (timer[i].due && timer[i].due < until &&
			(next == TIMERS || timer[i].due < timer[next].due))
			next = i;
	if (next < TIMERS) {
		leap_now = timer[next].due > leap_now ? timer[next].due : leap_now;
		return ring(next) ? __real_epoll_wait(epoll, event, count, 1000) : 0;
	}
	if (until == UINT64_MAX) {
		fputs("leap: nothing will ever happen\n", stderr);
		abort();
	}
	leap_now = until;
	return 0;
}
