/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fork a monitor, detach it, and learn whether it is ready. */
#include "process.h"
#include "kernel_process.h"
#include "out.h"
#include "uri.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS 10000

static void caught(struct loop_signal *signal, int signo)
{
	struct monitor_process *process = container_of(signal, struct monitor_process, signal);

	out_message(OUT_WARNING, "%s: ended by signal %d: lost connections will not be restored",
		process->kind->name, signo);
	loop_stop(process->loop);
}

/* Lock after the fork: the lock belongs to this process. */
static int set_up(struct monitor_process *process, int ready, struct diag *diag)
{
	static const int ends[] = { SIGTERM, SIGINT };
	const struct monitor_kind *kind = process->kind;
	const struct loop_options plain = { .name = kind->name };
	struct diag detach_why = { 0 };
	int keep[5] = { process->root, ready }, logs = out_log_system(keep + 2);
	unsigned count = 2 + (unsigned)logs;

	if (kind->lock) {
		process->lock = kind->lock(process->root, diag);
		if (process->lock < 0)
			return process->lock;
		keep[count++] = process->lock;
	}
	process->root = kernel_detach_process(process->root, kind->name, keep, count, &detach_why);
	if (detach_why.err)
		out_message(OUT_WARNING, "%s: %s", kind->name, detach_why.text);
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

static void run_process(const struct monitor_kind *kind, int root, int ready)
{
	struct monitor_process process = {
		.kind = kind, .root = root, .lock = -1, .signal.caught = caught
	};
	struct diag diag = { 0 };
	int err = set_up(&process, ready, &diag);

	secret_forget(); /* a monitor reads its secrets from the kernel */
	if (!err)
		err = kind->begin(&process, &diag);
	report_result(ready, &diag);
	if (!err) {
		loop_run(process.loop);
		kind->end(&process);
	}
	_exit(err ? 1 : 0);
}

static int wait_ready(const struct monitor_kind *kind, int from, struct diag *diag)
{
	struct pollfd poll_fd = { .fd = from, .events = POLLIN };
	struct diag result;
	int n;

	while ((n = poll(&poll_fd, 1, READY_MS)) < 0 && errno == EINTR)
		;
	if (n <= 0)
		return diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT, "%s is not ready after %d s",
			kind->title, READY_MS / 1000);
	if (read(from, &result, sizeof(result)) != sizeof(result))
		return diag_set(
			diag, DIAG_SYSTEM, ECHILD, "%s ended before it was ready", kind->title);
	if (diag && result.err)
		*diag = result;
	return -result.err;
}

int monitor_process_spawn(const struct monitor_kind *kind, int root, int *pid, struct diag *diag)
{
	int ready[2], err;

	if (pipe2(ready, O_CLOEXEC))
		return diag_sys(diag, errno, "pipe");
	fflush(NULL);
	*pid = fork();
	if (*pid == 0)
		run_process(kind, root, ready[1]);
	err = errno;
	close(ready[1]);
	err = *pid < 0 ? diag_sys(diag, err, "process for %s", kind->title)
		       : wait_ready(kind, ready[0], diag);
	close(ready[0]);
	if (*pid > 0 && err == -ETIMEDOUT)
		kill(*pid, SIGKILL);
	if (err && *pid > 0)
		waitpid(*pid, NULL, 0);
	return err;
}
