/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The event loop: one thread owns one loop and everything on it. Descriptors, timers, end-of-turn
 * work, pollers, and the one way into another thread's loop (loop_post). All hooks are embedded in
 * their owner; nothing here allocates after loop_new(). Upcalls come on the loop's thread, from
 * loop_run() only, never from inside a registering call. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct loop;

struct loop_options {
	uint32_t poll_us; /* spin this long after the last event before sleeping; 0 = sleep at once.
			   * A spinning thread yields the CPU to all others, and stops spinning for
			   * a while when they keep it */
	bool insist;  /* spin also where loop_no_spin() was said. With pollers it keeps the CPU, and
		       * asks nothing but them for a  millisecond at a time */
	bool verbose; /* loop_trace() prints */
	const char *name; /* prefix of traced lines: "rdmastor export"; outlives the loop */
};
int loop_new(struct loop **, const struct loop_options *, struct diag *);
void loop_free(struct loop *); /* needs: every hook removed */
const struct loop_options *loop_options(const struct loop *);
/* A poll_us that pays on this machine: 0 with one CPU, which would only spin on what it is to give
 * others. */
uint32_t loop_poll_auto(void);
/* Never spin on this loop: its device is software and needs the CPU (rxe, siw). */
void loop_no_spin(struct loop *);
/* Nanoseconds this loop has spun so far: with the CPU, but waiting. On its own thread. */
uint64_t loop_spun(const struct loop *);

/* Runs until loop_stop(). Nested runs are for the control plane only (waiting in an applet's
 * opening phase). */
void loop_run(struct loop *);
void loop_stop(struct loop *); /* the innermost loop_run() returns after this turn */
/* Runs turns until *flag is non-zero (true) or the deadline (loop_now scale; 0 = none) has passed
 * (false). */
bool loop_wait(struct loop *, const volatile int *flag, uint64_t deadline_ns);
uint64_t loop_now(const struct loop *); /* CLOCK_MONOTONIC ns, taken once a turn */
uint64_t loop_clock(void);              /* the same clock, read now */

/* Descriptors (level-triggered epoll). `ready` may remove or free its own and any other hook. */
struct loop_fd {
	int fd;
	uint32_t events; /* EPOLLIN | EPOLLOUT as asked for */
	void (*ready)(struct loop_fd *, uint32_t events);
	/* NULL, or as ready(EPOLLIN) where nothing may be there; true: something was. Asked,
	 * instead of epoll, of a descriptor that alone has been ready of late while the loop spins.
	 */
	bool (*look)(struct loop_fd *);
	bool on;
};
/* fd, events, ready set by the caller */
int loop_fd_add(struct loop *, struct loop_fd *, struct diag *);
void loop_fd_change(struct loop *, struct loop_fd *, uint32_t events);
void loop_fd_del(struct loop *, struct loop_fd *); /* allowed when not added; does not close */

/* As many descriptors for this process as it may have: for who serves many connections. What it
 * starts inherits that. */
void loop_fds_raise(void);

/* One-shot timers. Those of the same time fire in the order they were set. */
struct loop_timer {
	uint64_t at_ns;
	void (*fire)(struct loop_timer *);
	/* prev: the sibling before it; of the first child the parent */
	struct loop_timer *child, *next, *prev;
	uint64_t serial; /* of loop_timer_set() */
	bool on;
};
void loop_timer_set(struct loop *, struct loop_timer *, uint64_t at_ns); /* sets or moves */
void loop_timer_del(struct loop *, struct loop_timer *);

/* Work at the end of this turn, once however often it is asked for: kicks, flushes, deferred frees
 * and upcalls. Hooks queued from such work run in the same turn, until none is left. */
struct loop_work {
	void (*run)(struct loop_work *);
	struct loop_work *next;
	bool on;
};
void loop_work_add(struct loop *, struct loop_work *);
void loop_work_del(struct loop *, struct loop_work *);

/* Pollers: asked once a turn. `poll` returns true if it did something. Before the loop sleeps it
 * calls `arm`, which asks for an event on the poller's descriptor and returns false when work has
 * arrived meanwhile. */
struct loop_poller {
	bool (*poll)(struct loop_poller *);
	bool (*arm)(struct loop_poller *);
	struct loop_poller *next;
};
void loop_poller_add(struct loop *, struct loop_poller *);
void loop_poller_del(struct loop *, struct loop_poller *);

/* The one door between threads. The message belongs to the receiver from here until `run` is called
 * on its loop. */
struct loop_msg {
	void (*run)(struct loop_msg *);
	struct loop_msg *next;
};
void loop_post(struct loop *, struct loop_msg *); /* any thread; order kept per sender */

/* Threads, each running a loop of its own until crew_stop(). */
struct crew;
int crew_start(struct crew **, unsigned count, const struct loop_options *, struct diag *);
struct loop *crew_loop(struct crew *, unsigned index);
/* stops and joins all, frees their loops; needs: every hook on them removed */
void crew_stop(struct crew *);
/* Runs fn(to, arg) on `to`'s thread for set-up and tear-down, and turns the caller's own loop
 * `from` meanwhile. The same loop twice: runs it at once. Gives what fn gave. */
int loop_call(struct loop *from, struct loop *to, int (*fn)(struct loop *to, void *arg), void *arg);

/* Signals as events: SIGTERM, SIGINT, SIGUSR1 … are blocked in every thread and delivered here
 * (signalfd); but those that whoever started us has had ignored (nohup) stay so. */
struct loop_signal {
	void (*caught)(struct loop_signal *, int signo);
	struct loop_fd fd;
};
int loop_signal_add(
	struct loop *, struct loop_signal *, const int *signos, unsigned count, struct diag *);
void loop_signal_del(struct loop *, struct loop_signal *);

/* One line on stderr when verbose: session steps and messages by name with direction, never per
 * I/O. */
void loop_trace(const struct loop *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Where device-wide state of one loop hangs (core/net keeps its RDMA devices here); freed by its
 * owner's `fini` from loop_free(). */
struct loop_attic {
	const void *key;
	void (*fini)(struct loop_attic *);
	struct loop_attic *next;
};
void loop_attic_add(struct loop *, struct loop_attic *);
struct loop_attic *loop_attic_find(struct loop *, const void *key);
