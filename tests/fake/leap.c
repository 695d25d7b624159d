/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A clock that advances only while all threads are idle. */
#include "leap.h"
#include "tune.h"
#include "wait.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define TIMERS 16

int __real_clock_gettime(clockid_t, struct timespec *) __attribute__((weak));
int __real_epoll_wait(int, struct epoll_event *, int, int) __attribute__((weak));
int __real_timerfd_settime(int, int, const struct itimerspec *, struct itimerspec *)
	__attribute__((weak));
int __real_poll(struct pollfd *, nfds_t, int) __attribute__((weak));
int __real_socket(int, int, int) __attribute__((weak));
int __wrap_socket(int, int, int) __attribute__((weak)); /* tests may have one of their own */
int __wrap_poll(struct pollfd *, nfds_t, int);
int __wrap_clock_gettime(clockid_t, struct timespec *);
int __wrap_epoll_wait(int, struct epoll_event *, int, int);
int __wrap_timerfd_settime(int, int, const struct itimerspec *, struct itimerspec *);

uint64_t leap_now = 1000 * SECOND;
unsigned leap_turns;
bool leap_tune;

static struct {
	int fd;
	uint64_t due; /* 0 = not set */
} timer[TIMERS];
static unsigned runner_threads; /* count_threads() before the test has begun others */
static bool had_others;         /* threads or children, which may have sent something since */
static int echo;                /* a socket that is connected to itself */
static cpu_set_t allowed;       /* to this thread, before it was pinned */

/* The thread of the test and of the loop that the clock follows. */
static bool is_main(void)
{
	return syscall(SYS_gettid) == getpid();
}

/* Other threads may ask while time leaps. */
static uint64_t leap_clock(void)
{
	return __atomic_load_n(&leap_now, __ATOMIC_RELAXED);
}

static void leap_to(uint64_t ns)
{
	__atomic_store_n(&leap_now, ns, __ATOMIC_RELAXED);
}

/* Threads of this process, and one or two more. */
static unsigned count_threads(void)
{
	struct stat st;

	return syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) ? 0
									    : (unsigned)st.st_nlink;
}

static void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* By system calls, as tests wrap functions. */
static void open_echo(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	echo = (int)syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (syscall(SYS_bind, echo, &at, len) || syscall(SYS_getsockname, echo, &at, &len) ||
		syscall(SYS_connect, echo, &at, len))
		abort();
}

/* A congestion control that paces, such as bbr, keeps data back by timers of the kernel's own. Then
 * nothing runs, and there is more to come. */
int __wrap_socket(int domain, int type, int protocol)
{
	int fd = __real_socket(domain, type, protocol);

	if (fd < 0 || (domain != AF_INET && domain != AF_INET6))
		return fd;
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	if (leap_tune)
		tune_tcp(fd);
	return fd;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	uint64_t now = leap_clock();

	if (id != CLOCK_MONOTONIC || !now)
		return __real_clock_gettime(id, t);
	if (!runner_threads) { /* the first call of a test */
		runner_threads = count_threads();
		open_echo();
	}
	if (!CPU_COUNT(&allowed) && is_main()) { /* one CPU delivers all that is sent */
		sched_getaffinity(0, sizeof(allowed), &allowed);
		pin(sched_getcpu());
	}
	*t = (struct timespec){ .tv_sec = (time_t)(now / SECOND), .tv_nsec = (long)(now % SECOND) };
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

/* True if a datagram to this host came back while it was sent, as it does unless the kernel leaves
 * that to a thread of its own. */
static bool echoed(void)
{
	char byte = 0;

	if (syscall(SYS_sendto, echo, &byte, 1, 0, NULL, 0) != 1)
		abort();
	if (syscall(SYS_recvfrom, echo, &byte, 1, MSG_DONTWAIT, NULL, NULL) == 1)
		return true;
	if (syscall(SYS_recvfrom, echo, &byte, 1, 0, NULL, NULL) != 1)
		abort();
	return false;
}

/* Wait until this CPU has delivered what was sent to this host: it does so in order, but what it
 * sends in reply, such as an acknowledgement that opens a window, comes behind the datagram. */
static void delivered_here(void)
{
	for (unsigned at_once = 0; at_once < 2;)
		at_once = echoed() ? at_once + 1 : 0;
}

/* Each CPU delivers what was sent on it. Others may run on any: their threads are older, or they
 * have chosen. */
static void delivered(bool others)
{
	int here = sched_getcpu();

	delivered_here();
	for (int cpu = 0; others && cpu < CPU_SETSIZE; cpu++) {
		if (cpu == here || !CPU_ISSET(cpu, &allowed))
			continue;
		pin(cpu);
		delivered_here();
		pin(here);
	}
}

/* What other threads and all descendants do. */
struct others {
	bool sleep;    /* all of them */
	uint64_t mark; /* changes whenever one of them has run */
	bool tell;     /* print what each of them waits for */
};

static void look_at_process(int pid, struct others *);

/* By system calls: the file functions of sanitizers take locks, and a child that is forked by
 * another thread inherits them locked. Return false if the file is gone. */
static bool read_file(const char *path, char *text, size_t room)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : syscall(SYS_read, fd, text, room - 1);

	if (fd >= 0)
		syscall(SYS_close, fd);
	text[len > 0 ? len : 0] = 0;
	return len > 0;
}

static uint64_t number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static void tell(const char *dir, char state)
{
	char path[96], in[64], call[256];

	snprintf(path, sizeof(path), "%s/wchan", dir);
	read_file(path, in, sizeof(in));
	snprintf(path, sizeof(path), "%s/syscall", dir);
	read_file(path, call, sizeof(call));
	fprintf(stderr, "leap: %s: %c in %s, system call %s", dir, state, in, call);
}

/* dir: of a thread */
static void look_at_thread(const char *dir, bool self, struct others *others)
{
	char path[96], text[4096], *at = text, *end;
	const char *state;

	snprintf(path, sizeof(path), "%s/status", dir);
	if (!self && read_file(path, text, sizeof(text))) {
		state = strstr(text, "\nState:\t");
		/* it runs, waits for a disk, or is traced */
		if (state && strchr("RDt", state[8]))
			others->sleep = false;
		others->mark += (1ull << 32) + number_after(text, "\nvoluntary_ctxt_switches:") +
				number_after(text, "\nnonvoluntary_ctxt_switches:");
		if (others->tell)
			tell(dir, state ? state[8] : '?');
	}
	snprintf(path, sizeof(path), "%s/children", dir);
	read_file(path, text, sizeof(text));
	for (long pid; (pid = strtol(at, &end, 10)) && end != at; at = end)
		look_at_process((int)pid, others);
}

static void look_at_process(int pid, struct others *others)
{
	struct entry {
		uint64_t ino, off;
		uint16_t len;
		uint8_t type;
		char name[];
	};
	_Alignas(struct entry) char list[2048];
	char path[64];
	long len;
	int dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 && (len = syscall(SYS_getdents64, dir, list, sizeof(list))) > 0)
		for (long at = 0; at < len;) {
			const struct entry *entry = (const void *)(list + at);

			at += entry->len;
			if (entry->name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "/proc/%d/task/%.20s", pid, entry->name);
			look_at_thread(path, atoi(entry->name) == getpid(), others);
		}
	if (dir >= 0)
		syscall(SYS_close, dir);
}

/* The mark is 0 without others but the threads of the test runner. */
static struct others look_at_others(void)
{
	struct others others = { .sleep = true };

	if (count_threads() > runner_threads ||
		!syscall(SYS_waitid, P_ALL, 0, NULL, WEXITED | WNOHANG | WNOWAIT, NULL))
		look_at_process(getpid(), &others);
	return others;
}

/* True if neither the kernel nor others have anything to do. */
static bool others_idle(void)
{
	struct others before = look_at_others(), after;

	delivered(before.mark || had_others);
	had_others = before.mark;
	after = look_at_others();
	return before.sleep && after.sleep && before.mark == after.mark;
}

/* Of a caller that waits for a child without a loop. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms)
{
	bool real = !leap_clock() || !is_main(), idle = real;
	int got;

	while (!idle) {
		idle = others_idle();
		got = __real_poll(fds, count, idle || !ms ? 0 : 1);
		if (got || !ms)
			return got;
	}
	if (real || ms < 0)
		return __real_poll(fds, count, ms);
	leap_to(leap_now + (uint64_t)ms * 1000000);
	return 0;
}

int __wrap_epoll_wait(int epoll, struct epoll_event *event, int count, int ms)
{
	uint64_t until = ms < 0 ? UINT64_MAX : leap_now + (uint64_t)ms * 1000000;
	unsigned next = TIMERS;
	int got;

	if (!leap_clock() || !is_main())
		return __real_epoll_wait(epoll, event, count, ms);
	got = __real_epoll_wait(epoll, event, count, 0);
	leap_turns++;
	if (got || !ms)
		return got;
	for (bool idle = false; !idle;) {
		idle = others_idle();
		got = __real_epoll_wait(epoll, event, count, idle ? 0 : 1);
		if (got)
			return got;
	}
	for (unsigned i = 0; i < TIMERS; i++)
		if (timer[i].due && timer[i].due < until &&
			(next == TIMERS || timer[i].due < timer[next].due))
			next = i;
	if (next < TIMERS) {
		if (timer[next].due > leap_now)
			leap_to(timer[next].due);
		return ring(next) ? __real_epoll_wait(epoll, event, count, 1000) : 0;
	}
	if (until == UINT64_MAX) {
		fputs("leap: nothing will ever happen\n", stderr);
		look_at_process(getpid(), &(struct others){ .tell = true });
		abort();
	}
	leap_to(until);
	return 0;
}

uint64_t leap_limit(uint64_t ns)
{
	return __real_clock_gettime && leap_now ? leap_now + ns : 0;
}

uint32_t leap_limit_ms(uint32_t ms)
{
	return __real_clock_gettime && leap_now ? ms : NO_LIMIT_MS;
}
