/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Stop a command on a signal or at --timeout, so that it can save or show its results. */
#include "applet.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

void end_by_signal(int signo)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	signal(signo, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(signo);
	_exit(128 + signo);
}

static void task_caught(struct loop_signal *signal, int signo)
{
	struct task *task = container_of(signal, struct task, signal);

	if (task->running && task->stop && task->repeated) {
		task->repeated(task);
		return;
	}
	if (!task->running || task->stop) {
		out_bar("");
		end_by_signal(signo);
	}
	task->signo = signo;
	__atomic_store_n(&task->stop, 1, __ATOMIC_RELAXED);
}

static void task_expired(struct loop_timer *timer)
{
	struct task *task = container_of(timer, struct task, timeout);

	task->timed_out = true;
	__atomic_store_n(&task->stop, 1, __ATOMIC_RELAXED);
}

int task_begin(struct task *task, const struct call *call, const struct loop_options *options)
{
	static const int signos[] = { SIGINT, SIGTERM, SIGHUP };
	const struct opt_common *common = call->opts;
	int err = loop_new(&task->loop, options, call->diag);

	if (err)
		return err;
	task->signal.caught = task_caught;
	task->timeout.fire = task_expired;
	err = loop_signal_add(task->loop, &task->signal, signos, 3, call->diag);
	if (err)
		loop_free(task->loop);
	else if (common->timeout_ms)
		loop_timer_set(
			task->loop, &task->timeout, loop_clock() + common->timeout_ms * MSEC);
	return err;
}

void task_end(struct task *task)
{
	loop_timer_del(task->loop, &task->timeout);
	loop_signal_del(task->loop, &task->signal);
	loop_free(task->loop);
}

int task_timed_out(const struct call *call)
{
	const struct opt_common *common = call->opts;
	char text[DIAG_SECONDS];

	return diag_set(call->diag, DIAG_TIMEOUT, ETIMEDOUT, "timed out after %s",
		diag_seconds(common->timeout_ms, text));
}
