/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The session monitor as a process: at most one, detached so that it survives switch_root, until no
 * session is left. */
#include "iscsi_monitor.h"
#include "iscsi_monitor_session.h"
#include "kernel_iscsi.h"
#include "kernel_process.h"
#include "loop.h"
#include "out.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME     "iscsi-monitor"
#define READY_MS 10000

struct process {
	struct iscsi_monitor *monitor;
	struct loop *loop;
	struct loop_signal signal;
	int root, lock;
};

static void log_line(void *arg, const char *line)
{
	(void)arg;
	out_message(OUT_INFO, "monitor: %s", line);
}

/* Release the lock only if there is no session. A starter that found it locked has created its
 * session before, so this check sees it. */
static void stop_if_idle(void *arg)
{
	struct process *process = arg;

	close(process->lock);
	process->lock = -1;
	if (!iscsi_monitor_is_idle(process->monitor))
		process->lock = kernel_iscsi_monitor_lock(process->root, NULL);
	if (process->lock < 0)
		loop_stop(process->loop);
}

static void caught(struct loop_signal *signal, int signo)
{
	struct process *process = container_of(signal, struct process, signal);

	out_message(OUT_WARNING,
		"monitor: ended by signal %d: lost connections will not be restored", signo);
	loop_stop(process->loop);
}

static const struct loop_options plain = { .name = NAME };
static const struct iscsi_monitor_events events = { NULL, log_line, stop_if_idle };

/* Lock after the fork: the lock belongs to this process. */
static int set_up(struct process *process, int ready, struct diag *diag)
{
	static const int ends[] = { SIGTERM, SIGINT };
	struct diag detach_why = { 0 };
	int keep[5] = { process->root, 0, ready }, logs = out_log_system(keep + 3);

	process->lock = kernel_iscsi_monitor_lock(process->root, diag);
	if (process->lock < 0)
		return process->lock;
	keep[1] = process->lock;
	process->root =
		kernel_detach_process(process->root, NAME, keep, 3 + (unsigned)logs, &detach_why);
	if (detach_why.err)
		out_message(OUT_WARNING, "monitor: %s", detach_why.text);
	return loop_new(&process->loop, &plain, diag) ||
			       loop_signal_add(process->loop, &process->signal, ends, 2, diag)
		       ? -diag->err
		       : 0;
}

static void report_result(int ready, const struct diag *diag)
{
	while (write(ready, diag, sizeof(*diag)) < 0 && errno == EINTR)
		;
	close(ready);
}

static void run_process(int root, int ready)
{
	struct process process = { .root = root, .signal.caught = caught };
	struct iscsi_monitor_events ev = events;
	struct diag diag = { 0 };
	int err = set_up(&process, ready, &diag);

	secret_forget(); /* the monitor reads those of sessions from the kernel */
	ev.arg = &process;
	if (!err)
		err = iscsi_monitor_new(&process.monitor, process.loop, process.root, &ev, &diag);
	report_result(ready, &diag);
	if (!err)
		loop_run(process.loop);
	iscsi_monitor_free(process.monitor);
	_exit(err ? 1 : 0);
}

static int wait_ready(int from, struct diag *diag)
{
	struct pollfd poll_fd = { .fd = from, .events = POLLIN };
	struct diag result;
	int n;

	while ((n = poll(&poll_fd, 1, READY_MS)) < 0 && errno == EINTR)
		;
	if (n <= 0)
		return diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"the monitor of iSCSI sessions is not ready after %d s", READY_MS / 1000);
	if (read(from, &result, sizeof(result)) != sizeof(result))
		return diag_set(diag, DIAG_SYSTEM, ECHILD,
			"the monitor of iSCSI sessions ended before it was ready");
	if (diag && result.err)
		*diag = result;
	return -result.err;
}

int iscsi_monitor_spawn(int root, int *pid, struct diag *diag)
{
	int ready[2], err;

	*pid = kernel_iscsid(root);
	if (*pid)
		return -EALREADY;
	*pid = kernel_iscsi_monitor(root);
	if (*pid)
		return 0;
	if (pipe2(ready, O_CLOEXEC))
		return diag_sys(diag, errno, "pipe");
	fflush(NULL);
	*pid = fork();
	if (*pid == 0)
		run_process(root, ready[1]);
	err = errno;
	close(ready[1]);
	err = *pid < 0 ? diag_sys(diag, err, "process for the monitor of iSCSI sessions")
		       : wait_ready(ready[0], diag);
	close(ready[0]);
	if (!err)
		return 0;
	if (*pid > 0)
		waitpid(*pid, NULL, err == -ETIMEDOUT ? WNOHANG : 0);
	*pid = err == -EBUSY ? kernel_iscsi_monitor(root) : 0;
	return err == -EBUSY ? 0 : err;
}

void iscsi_monitor_start(const struct call *call, int root, const char *word)
{
	struct diag why = { 0 };
	int pid, err;

	if (word && !strcmp(word, "off"))
		return;
	err = iscsi_monitor_spawn(root, &pid, &why);
	if (err && err != -EALREADY)
		call_warn(call, "lost connections will not be restored: %s", why.text);
	else if (call->loop.verbose)
		call_note(call, "process %d (%s) restores lost connections", pid,
			err ? "iscsid" : "the monitor");
}
