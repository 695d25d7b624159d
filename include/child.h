/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Other processes: the one that stays when a command goes to the background, and commands. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Forks: the child returns, with the descriptor by which it says that it is ready. The parent waits
 * for that and ends with 0, or with the child's own status once the child has failed and said so.
 * Before any device, thread or ring is opened. */
int child_daemon(int *ready, struct diag *);
/* Lets the parent go, and the terminal. */
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
/* Forks a process for a call that may never come back. It has only those descriptors (at most
 * CHILD_FDS), as 0 ... count - 1, runs fn with the first, which calls nothing but the kernel where
 * this process has threads, and ends with what it gives, 0 ... 255. *watch: readable when it has
 * ended; the caller closes it and asks child_ended(). */
#define CHILD_FDS 32
int child_aside(pid_t *, int *watch, const int *fds, unsigned count,
	int (*fn)(int fd, const void *arg), const void *arg);
/* The same to its end: gives what fn gave, or -errno. timeout_ms 0 = without bound. -ETIMEDOUT: it
 * is killed and, as it may be stuck in what it asked of the kernel, not waited for. */
int child_call(const int *fds, unsigned count, uint32_t timeout_ms,
	int (*fn)(int fd, const void *arg), const void *arg);
