/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Other processes: the daemon behind a command, commands, and calls that may block forever. */
#pragma once
#include "loop.h"
#include <sys/types.h>

/* Fork, and return in the child with the descriptor for child_daemon_ready(). The parent exits with
 * 0 once that is called, or with the child's status if it exits before; if the parent ends before,
 * the child gets SIGTERM. Call before any device, thread or ring is opened. */
int child_daemon(int *ready, struct diag *);
/* Let the parent exit and leave the terminal (out_log_background()). */
void child_daemon_ready(int ready);

/* A command that runs later with the rights of now, and name=value in its environment. A single
 * argument is a line for `sh -c`; otherwise they are the program and its arguments, in which
 * "$name" is replaced by the value. No signal is blocked; SIGPIPE and SIGXFSZ have their default
 * actions. */
#define CHILD_VALUE 8192 /* most bytes of the value, with its final zero */
struct child_command {
	char *const *args;
	unsigned count;
	const char *name;
	pid_t pid; /* set by child_prepare(); 0: it does not run */
	int fd;    /* private */
};
/* Fork its process, which waits for child_begin(), or ends with this process. Call it before there
 * are threads. */
int child_prepare(struct child_command *, struct diag *);
/* Execute the program. Returns -errno if there is none; then the process has ended, pid is 0. */
int child_begin(struct child_command *, const char *value, struct diag *);
/* Reap the child. False: it still runs. *status is as in a shell, 128 + n for signal n. */
bool child_reap(pid_t, int *status);
/* Run a command to its end without input and output, blocking. Returns the status as above or
 * -errno: -ENOENT: no such program; -ETIMEDOUT: killed after timeout_ms. */
int child_run(char *const *argv, unsigned timeout_ms);
/* The same with the descriptors `in` and `out`, above 2, as standard input and output. */
int child_filter(char *const *argv, int in, int out, unsigned timeout_ms);

/* A call that may block forever, in a process of its own, with a deadline. The process has only the
 * descriptors it is given (at most CHILD_FDS), as 0 to count - 1. It ignores SIGINT and SIGHUP, and
 * gets SIGTERM when this process ends. Zero it first; it may be started again once it has ended. */
#define CHILD_FDS 32
struct child_call {
	/* In the child: return 0 or a positive errno. Only system calls are safe if this process
	 * has threads. fd: the first descriptor. out: memory shared with the caller. */
	int (*fn)(int fd, const void *arg, void *out);
	/* NULL, or called in the child if fn succeeded after the call was abandoned or its caller
	 * died. With undo, SIGTERM only interrupts fn; without, it ends the process. */
	void (*undo)(int fd, const void *arg, void *out);
	const void *arg; /* read until the start: the child has a copy */
	void *out;       /* copied to the child, and back at the end */
	size_t out_len;
	uint64_t until;    /* loop_clock() time of SIGTERM; 0: none */
	uint32_t grace_ms; /* from SIGTERM until the call is abandoned */
	bool detached;     /* let it finish if it is cancelled or this process ends */
	const void *owner; /* for child_call_abandoned(): an address; NULL: of this call */
	void (*done)(struct child_call *); /* once, from the loop */

	int err; /* 0 or -errno; -ETIMEDOUT: by the deadline; -EINTR: also if the process died */
	bool expired; /* the deadline has passed: SIGTERM was sent */
	/* private */
	struct loop *loop;
	struct loop_fd watch;
	struct loop_timer timer;
	uint64_t at_ns, end_ns;
	struct child_shared *shared;
	pid_t pid; /* 0: not running */
};
/* Start it on a loop; without one, call child_call_wait(). On error no done() or out follows. */
int child_call_start(struct child_call *, struct loop *, const int *fds, unsigned count);
/* Set the deadline to now. */
void child_call_expire(struct child_call *);
/* End it without done(). err: -ECANCELED, or the result if fn has returned. Does nothing if it does
 * not run. */
void child_call_cancel(struct child_call *);
/* Block until the call has ended. False: `until` (loop_clock(); 0: none) has passed. */
bool child_call_wait(struct child_call *, uint64_t until);
/* Start it, wait for its end and return its err. */
int child_call_run(struct child_call *, const int *fds, unsigned count);
/* Count the abandoned calls of this owner whose processes have not ended. */
unsigned child_call_abandoned(const void *owner);
