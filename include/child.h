/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Other processes: the one that stays when a command goes to the background, commands, and calls
 * that may block forever. */
#pragma once
#include "diag.h"
#include "loop.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Forks: the child returns, with the descriptor by which it says that it is ready. The parent waits
 * for that and ends with 0, or with the child's own status once the child has failed and said so.
 * Before any device, thread or ring is opened. */
int child_daemon(int *ready, struct diag *);
/* Lets the parent go, and the terminal: out_log_background(). */
void child_daemon_ready(int ready);

/* Starts a command with name=value in its environment: one word is a line for `sh -c`, several are
 * program and arguments, in which "$name" stands for the value. Its signals are as they were before
 * ours. */
int child_start(pid_t *, char *const *words, unsigned count, const char *name, const char *value,
	struct diag *);
/* False while it runs; then its status as a shell tells it: 128 + n for signal n. */
bool child_ended(pid_t, int *status);
/* Runs a command to its end, without input and output; its status as above, or -errno: -ENOENT when
 * it does not exist, -ETIMEDOUT when it was killed. */
int child_run(char *const *argv, unsigned timeout_ms);
/* The same with these descriptors, above 2, as standard input and output. */
int child_filter(char *const *argv, int in, int out, unsigned timeout_ms);

/* One call that may block forever, in a process of its own, with a deadline. The process has only
 * the descriptors it is given (at most CHILD_FDS), as 0 ... count - 1. It ignores SIGINT and
 * SIGHUP, and gets SIGTERM when this process ends. */
#define CHILD_FDS 32
struct child_call { /* zeroed, then set by the owner; the same one may be started again once over */
	/* In the child: returns 0 or an errno. Calls nothing but the kernel where this process has
	 * threads. fd: the first descriptor. out: memory shared with the caller. */
	int (*fn)(int fd, const void *arg, void *out);
	/* NULL, or in the child after fn has succeeded too late: when the call was abandoned or its
	 * caller is dead. With undo, SIGTERM only interrupts fn; without, it ends the process. */
	void (*undo)(int fd, const void *arg, void *out);
	const void *arg; /* used by start only: the child has a copy */
	void *out;       /* copied to the child, and back when the call is over */
	size_t out_len;
	uint64_t until;    /* loop_clock(): SIGTERM; 0 = never */
	uint32_t grace_ms; /* after it: time to end by itself, then it is abandoned */
	bool stays;        /* cancelling it, or the end of this process, lets it finish */
	void (*done)(struct child_call *); /* once, from the loop */

	int err;   /* when over: 0, -errno; -ETIMEDOUT: ended by the deadline */
	bool late; /* the deadline has passed: SIGTERM was sent */

	struct loop *loop; /* private from here */
	struct loop_fd watch;
	struct loop_timer timer;
	uint64_t at_ns, end_ns;
	struct child_shared *shared;
	pid_t pid; /* 0: not under way */
};
/* loop NULL: the caller waits with child_call_wait(). Returns 0 or -errno. */
int child_call_start(struct child_call *, struct loop *, const int *fds, unsigned count);
/* The deadline is now. */
void child_call_expire(struct child_call *);
/* Ends it, without done(). err becomes -ECANCELED; 0 if it had succeeded just before. Allowed when
 * not under way. */
void child_call_cancel(struct child_call *);
/* Blocks until the call is over (true), or until that moment of loop_clock() (false; 0 = never). */
bool child_call_wait(struct child_call *, uint64_t until);
/* Starts it and waits. Returns its err. */
int child_call_run(struct child_call *, const int *fds, unsigned count);
/* Number of abandoned calls of this owner that the kernel still holds. */
unsigned child_call_left(const struct child_call *);
