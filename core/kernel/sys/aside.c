/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls that may block without end, in a process of their own that is not waited for without end.
 */
#include "aside.h"
#include "child.h"
#include "loop.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

struct errand {
	int (*fn)(int root, const void *arg);
	const void *arg;
};

/* The terminal's signals are the parent's business, whose end ends it too. */
static int run(int root, const void *arg)
{
	const struct errand *errand = arg;
	sigset_t set;

	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	return errand->fn(root, errand->arg);
}

/* True: it has ended. */
static bool wait_end(int watch, int ms)
{
	struct pollfd poll_fd = { .fd = watch, .events = POLLIN };
	uint64_t end = ms < 0 ? 0 : loop_clock() + (uint64_t)ms * 1000000;
	int rc;

	while ((rc = poll(&poll_fd, 1, ms)) < 0 && errno == EINTR)
		if (ms >= 0)
			ms = end > loop_clock() ? (int)((end - loop_clock()) / 1000000) : 0;
	return rc > 0;
}

int kernel_aside_run(int root, int (*fn)(int root, const void *arg), const void *arg,
	uint64_t until, uint32_t grace_ms, volatile bool *given_up)
{
	const struct errand errand = { .fn = fn, .arg = arg };
	uint64_t now = loop_clock();
	int watch, status = EIO, err;
	pid_t pid;
	bool ended;

	err = child_aside(&pid, &watch, &root, 1, run, &errand);
	if (err)
		return err;
	ended = wait_end(watch, !until ? -1 : until > now ? (int)((until - now) / 1000000) + 1 : 0);
	if (!ended) {
		if (given_up)
			*given_up = true;
		kill(pid, SIGTERM);
		ended = wait_end(watch, (int)grace_ms);
	}
	close(watch);
	if (!ended || !child_ended(pid, &status) || status == 128 + SIGTERM)
		return -ETIMEDOUT;
	return -status;
}
