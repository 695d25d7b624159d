/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A monitor that is ready, that fails, and that is not ready in time. */
/* Link: kernel_detach_process poll kill waitpid */
#include "process.h"
#include "kernel_process.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static bool timed_out; /* the time to get ready passes at once */
static int killed, killed_by;

int __wrap_kernel_detach_process(
	int root, const char *name, const int *keep, unsigned count, struct diag *);
int __wrap_kernel_detach_process(
	int root, const char *name, const int *keep, unsigned count, struct diag *diag)
{
	(void)name;
	(void)keep;
	(void)count;
	(void)diag;
	return root;
}

int __real_poll(struct pollfd *, nfds_t, int timeout);
int __wrap_poll(struct pollfd *, nfds_t, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return timed_out ? 0 : __real_poll(fds, count, timeout);
}

int __real_kill(pid_t, int signo);
int __wrap_kill(pid_t, int signo);
int __wrap_kill(pid_t pid, int signo)
{
	killed = pid;
	killed_by = signo;
	return __real_kill(pid, signo);
}

pid_t __real_waitpid(pid_t, int *status, int options);
pid_t __wrap_waitpid(pid_t, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	cr_assert(!timed_out || (killed == pid && killed_by == SIGKILL), "it would wait forever");
	return __real_waitpid(pid, status, options);
}

static int begin(struct monitor_process *process, struct diag *diag)
{
	(void)process;
	(void)diag;
	return 0;
}

static void end(struct monitor_process *process)
{
	(void)process;
}

static int begin_fails(struct monitor_process *process, struct diag *diag)
{
	(void)process;
	return diag_set(diag, DIAG_BUSY, EBUSY, "no place");
}

static int begin_blocks(struct monitor_process *process, struct diag *diag)
{
	(void)process;
	(void)diag;
	alarm(60); /* if the test fails */
	pause();
	return 0;
}

static int spawn(int (*begins)(struct monitor_process *, struct diag *), int *pid, struct diag *why)
{
	const struct monitor_kind kind = {
		.name = "test-monitor", .title = "the monitor", .begin = begins, .end = end
	};

	return monitor_process_spawn(&kind, -1, pid, why);
}

static void is_gone(int pid)
{
	cr_assert_lt(__real_waitpid(pid, NULL, 0), 0);
	cr_assert_eq(errno, ECHILD);
}

Test(monitor_process, ready)
{
	struct diag why = { 0 };
	int pid, status;

	cr_assert_eq(spawn(begin, &pid, &why), 0, "%s", why.text);
	cr_assert_eq(__real_kill(pid, SIGTERM), 0);
	cr_assert_eq(__real_waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	cr_assert_eq(killed, 0);
}

Test(monitor_process, fails)
{
	struct diag why = { 0 };
	int pid;

	cr_assert_eq(spawn(begin_fails, &pid, &why), -EBUSY);
	diag_says(&why, DIAG_BUSY, "", "no place");
	is_gone(pid);
}

/* It would restore connections although its starter has said that they will not be. */
Test(monitor_process, not_ready_in_time_is_ended)
{
	struct diag why = { 0 };
	int pid;

	timed_out = true;
	cr_assert_eq(spawn(begin_blocks, &pid, &why), -ETIMEDOUT);
	diag_says(&why, DIAG_TIMEOUT, "", "monitor not ready 10");
	is_gone(pid);
}
