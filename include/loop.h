/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The event loop. One thread owns a loop and everything on it; loop_post() is the only call that
 * other threads may make. Hooks are embedded in their owner, zeroed before their first use, so
 * nothing allocates after loop_new(). Except for signals, removing a hook that is not on has no
 * effect. Upcalls come on the loop's thread from loop_run() and loop_wait() only, never from inside
 * a call that registers a hook. Times are CLOCK_MONOTONIC nanoseconds. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>

/* in nanoseconds, the unit of loop_clock() */
#define MSEC 1000000ull
#define SEC  1000000000ull

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct loop;

struct loop_options {
	/* Spin this long after the last event before sleeping; 0: sleep at once. A spinning thread
	 * yields the CPU, and stops spinning for a while if other tasks keep it. */
	uint32_t poll_us;
	/* Spin in spite of loop_no_spin(). A loop with pollers then doesn't yield, and handles
	 * other events once a millisecond. */
	bool force_spin;
	bool verbose;     /* loop_trace() prints */
	const char *name; /* prefix of traced lines: "rdmastor export"; must outlive the loop */
};
int loop_new(struct loop **, const struct loop_options *, struct diag *);
/* Run posted messages, then the `fini` of each loop_local. All other hooks must be removed. NULL is
 * allowed. */
void loop_free(struct loop *);
const struct loop_options *loop_options(const struct loop *);
/* Return a useful poll_us for this machine: 0 with a single CPU. */
uint32_t loop_poll_auto(void);
/* Never spin on this loop: its device is software and needs the CPU (rxe, siw). */
void loop_no_spin(struct loop *);
/* Return the time this loop has spent spinning. Call on its thread. */
uint64_t loop_spin_ns(const struct loop *);

/* Run until loop_stop(); if that was called before, return at once and clear the request. The
 * calling thread owns the loop from here on. Only the control plane may nest calls. */
void loop_run(struct loop *);
/* Make the innermost loop_run() return after this turn; loop_wait() ignores it. */
void loop_stop(struct loop *);
/* Run until *flag is non-zero. False: the deadline passed (loop_clock(); 0: none). */
bool loop_wait(struct loop *, const volatile int *flag, uint64_t deadline_ns);
/* The same until another thread sets *stop (may be NULL), which is read ten times a second. */
bool loop_wait_until(struct loop *, const volatile int *flag, const volatile int *stop);
uint64_t loop_now(const struct loop *); /* the time, read once a turn */
uint64_t loop_clock(void);              /* the time, read now */
/* Return the milliseconds until a deadline (loop_clock()), divided by `parts`, at least 1; 0 for
 * the deadline 0: none. */
static inline uint32_t loop_left_ms(uint64_t deadline_ns, unsigned parts)
{
	uint64_t now = loop_clock(), left = deadline_ns > now ? deadline_ns - now : 0;

	return !deadline_ns ? 0 : left / MSEC / parts ? (uint32_t)(left / MSEC / parts) : 1;
}

/* A descriptor, level-triggered. The caller sets fd, events, ready and poll. */
struct loop_fd {
	int fd;
	uint32_t events; /* EPOLLIN | EPOLLOUT | EPOLLRDHUP */
	/* May remove or free this and any other hook. */
	void (*ready)(struct loop_fd *, uint32_t events);
	/* NULL, or as ready(EPOLLIN), but there may be nothing to read; returns whether there was.
	 * Replaces epoll_wait() while the loop spins and no other descriptor is active. */
	bool (*poll)(struct loop_fd *);
	bool on;
};
int loop_fd_add(struct loop *, struct loop_fd *, struct diag *);
void loop_fd_change(struct loop *, struct loop_fd *, uint32_t events); /* no effect unless added */
void loop_fd_del(struct loop *, struct loop_fd *); /* doesn't close the descriptor */

/* Raise the soft limit on open files (RLIMIT_NOFILE) to the hard limit; children inherit it. */
void loop_raise_fd_limit(void);

/* A one-shot timer. Timers for the same time fire in the order in which they were set. */
struct loop_timer {
	uint64_t at_ns;
	void (*fire)(struct loop_timer *);
	/* a pairing heap; prev: the previous sibling, or the parent of the first child */
	struct loop_timer *child, *next, *prev;
	uint64_t serial; /* order of loop_timer_set() calls */
	bool on;
};
/* Start the timer, or move it if it runs. at_ns: loop_clock() time; a past one fires soon, one of
 * this turn within it. */
void loop_timer_set(struct loop *, struct loop_timer *, uint64_t at_ns);
void loop_timer_del(struct loop *, struct loop_timer *);

/* Work for the end of this turn, run once however often it is added: kicks, flushes, deferred frees
 * and upcalls. Work that it adds runs in the same turn. */
struct loop_work {
	void (*run)(struct loop_work *);
	struct loop_work *next;
	bool on;
};
void loop_work_add(struct loop *, struct loop_work *);
void loop_work_del(struct loop *, struct loop_work *);

/* A poller runs once a turn. It must not be added twice. */
struct loop_poller {
	bool (*poll)(struct loop_poller *); /* returns whether it did something */
	/* Called before the loop sleeps: request an event on the poller's descriptor. False: there
	 * is work already, don't sleep. */
	bool (*arm)(struct loop_poller *);
	struct loop_poller *next;
};
void loop_poller_add(struct loop *, struct loop_poller *);
void loop_poller_del(struct loop *, struct loop_poller *);

/* A message to a loop, owned by the receiver from loop_post() until `run` is called there. */
struct loop_msg {
	void (*run)(struct loop_msg *);
	struct loop_msg *next;
};
/* Post a message, which can't be withdrawn. Any thread. One sender's messages keep their order. */
void loop_post(struct loop *, struct loop_msg *);

/* Threads with a loop each. */
struct workers;
/* Start `count` threads, whose loops have copies of the options. */
int workers_start(struct workers **, unsigned count, const struct loop_options *, struct diag *);
struct loop *workers_loop(struct workers *, unsigned index);
/* Stop and join all threads and free their loops, from which every hook must be removed. NULL is
 * allowed. */
void workers_stop(struct workers *);
/* Run fn(to, arg) on the thread of `to` and return its result. The caller's loop `from` runs until
 * then. If both are the same loop, call fn at once. Control plane only. */
int loop_call(struct loop *from, struct loop *to, int (*fn)(struct loop *to, void *arg), void *arg);

/* Signals as events (signalfd). They are blocked, from then on, in the calling thread and those
 * that it starts. A signal that was ignored when the process started (nohup) stays ignored. */
struct loop_signal {
	void (*caught)(struct loop_signal *, int signo);
	struct loop_fd fd;
};
int loop_signal_add(
	struct loop *, struct loop_signal *, const int *signos, unsigned count, struct diag *);
void loop_signal_del(struct loop *, struct loop_signal *);

/* Print one line on stderr if verbose: session steps, and messages by name and direction. Never
 * per I/O. */
void loop_trace(const struct loop *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Data attached to a loop, found by its key: RDMA devices, for example. loop_free() calls `fini`,
 * the last added first. */
struct loop_local {
	const void *key;
	void (*fini)(struct loop_local *);
	struct loop_local *next;
};
void loop_local_add(struct loop *, struct loop_local *);
struct loop_local *loop_local_find(struct loop *, const void *key); /* NULL: none */
