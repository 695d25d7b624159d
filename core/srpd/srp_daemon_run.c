/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* srp-daemon until stopped: log, signals, service manager. */
#include "child.h"
#include "kernel_process.h"
#include "loop.h"
#include "srp_daemon_loop.h"
#include "srp_show.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP_MS   3000
#define STATUS_MS 10000  /* between updates of the service manager's status */
#define REPEAT_MS 600000 /* a repeated log line is only counted for this long */

struct run {
	struct call *call;
	const struct srp_daemon_options *options;
	struct srp_daemon_params *params;
	struct srp_rules rules; /* read at SIGHUP; the first ones are the caller's */
	bool reread;
	struct srp_daemon *daemon;
	struct loop *loop;
	struct loop_signal signal;
	struct loop_timer watchdog, status;
	struct srp_log log;
	char last_status[128];
	bool signals, stopping, pid_written;
	int pid_file; /* descriptor, once pid_written */
	int parent;
	int quit, finished; /* stop requested; stopped */
};

static void write_line(struct srp_log *log, const char *line)
{
	call_note(container_of(log, struct run, log)->call, "%s", line);
}

static void log_message(void *arg, const char *line)
{
	struct run *run = arg;

	srp_daemon_log_add(&run->log, line);
}

static void finished(void *arg)
{
	struct run *run = arg;

	run->finished = run->quit = 1;
}

static void stop(struct run *run)
{
	if (run->stopping)
		return;
	run->stopping = true;
	run->quit = 1;
	kernel_notify("STOPPING=1", NULL);
	srp_daemon_stop(run->daemon);
}

/* Write each line at once; if the reader is gone, stop. */
static void flush(struct run *run)
{
	if (out_flush(run->call->out))
		run->quit = 1;
}

static void scanned(void *arg, const struct srp_scan *scan)
{
	struct run *run = arg;
	const struct srp_filter all = { 0 };
	const struct srp_show show = {
		.filter = &all,
		.form = run->options->commands ? SRP_COMMANDS : SRP_LISTING,
		.found = scan->found,
		.port = scan->port,
		.hosts = scan->hosts,
		.nhosts = scan->nhosts,
		.policy = run->params->policy,
		.all = run->options->all,
		.any_pkey = run->options->execute,
	};

	srp_show(run->call, &show);
	flush(run);
}

/* Write the status to the log, as JSON if the output is. */
static void log_status(struct run *run)
{
	struct out out;
	char *text;
	size_t len;

	out_init(&out, "srp-daemon.status", run->call->out->json);
	out.to = open_memstream(&text, &len);
	if (!out.to)
		return;
	srp_daemon_show(run->daemon, &out, false);
	out_fini(&out, NULL);
	fclose(out.to);
	out_lines(text, len);
	free(text);
}

/* Report each failure of a reload, without suppressing repeated lines. */
static void warn_reload(const struct run *run, const struct diag *diag, const char *then)
{
	call_warn(run->call, "%s: %s%s%s%s", diag->object, diag->text, then,
		diag->hint[0] ? "; hint: " : "", diag->hint);
}

static void reload(struct run *run)
{
	struct diag diag = { 0 };
	struct srp_rules rules;
	char text[64];

	if (run->options->log && out_log_file(run->options->log, &diag)) {
		warn_reload(run, &diag, "; keeping the old log");
		diag = (struct diag){ 0 };
	}
	if (srp_rules_read(&rules, run->params->root, run->options->rules, true, &diag)) {
		warn_reload(run, &diag, "; keeping the old rules");
		return;
	}
	/* The daemon uses the old rules: replace them before they are freed */
	struct srp_rules old = run->rules;

	run->rules = rules;
	run->params->policy.rules = &run->rules;
	srp_daemon_rules(run->daemon, &run->rules);
	srp_rules_free(&old);
	snprintf(text, sizeof(text), "rules in force: %u", rules.count);
	write_line(&run->log, text);
}

static void caught(struct loop_signal *signal, int signo)
{
	struct run *run = container_of(signal, struct run, signal);

	switch (signo) {
	case SIGHUP:
		reload(run);
		break;
	case SIGUSR1:
		log_status(run);
		break;
	default:
		if (run->stopping)
			run->finished = 1;
		stop(run);
	}
}

static void feed_watchdog(struct loop_timer *timer)
{
	struct run *run = container_of(timer, struct run, watchdog);
	uint32_t ms = kernel_watchdog_ms();

	if (!ms)
		return;
	kernel_notify("WATCHDOG=1", NULL);
	loop_timer_set(run->loop, timer, loop_clock() + ms * MSEC / 2);
}

static void update_status(struct loop_timer *timer)
{
	struct run *run = container_of(timer, struct run, status);
	char summary[128], text[160];

	srp_daemon_summary(run->daemon, summary);
	if (strcmp(summary, run->last_status)) {
		memcpy(run->last_status, summary, sizeof(summary));
		snprintf(text, sizeof(text), "STATUS=%s", summary);
		kernel_notify(text, NULL);
	}
	loop_timer_set(run->loop, timer, loop_clock() + STATUS_MS * MSEC);
}

static int show_ready(struct run *run)
{
	struct out *out = run->call->out;
	int err;

	if (!out->json)
		return 0;
	srp_daemon_show(run->daemon, out, true);
	out_u64(out, "pid", NULL, (uint64_t)getpid());
	err = out_fini(out, NULL);
	if (!err)
		return 0;
	diag_sys(run->call->diag, -err, "write");
	return diag_ctx(run->call->diag, "standard output");
}

static int report_ready(struct run *run)
{
	const struct srp_daemon_options *options = run->options;
	struct diag *diag = run->call->diag;
	char summary[128];
	int err = 0;

	if (options->pid_file) {
		run->pid_file = kernel_pid_file(run->params->root, options->pid_file, diag);
		run->pid_written = run->pid_file >= 0;
		err = run->pid_written ? 0 : run->pid_file;
	}
	if (!err)
		err = show_ready(run);
	if (!err)
		err = kernel_notify_ready(
			options->ready_fd == UINT32_MAX ? -1 : (int)options->ready_fd,
			srp_daemon_summary(run->daemon, summary), diag);
	if (!err && options->background)
		child_daemon_ready(run->parent);
	return err;
}

static int start(struct run *run)
{
	static const int signos[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };
	const struct srp_daemon_options *options = run->options;
	const struct srp_daemon_events events = {
		.arg = run,
		.log = log_message,
		.scanned = options->commands || !options->execute ? scanned : NULL,
		.finished = finished,
	};
	struct call *call = run->call;
	int err = loop_new(&run->loop, &call->loop, call->diag);

	if (err)
		return err;
	run->signal.caught = caught;
	run->log.loop = run->loop;
	err = loop_signal_add(
		run->loop, &run->signal, signos, sizeof(signos) / sizeof(signos[0]), call->diag);
	run->signals = !err;
	if (!err)
		err = srp_daemon_start(&run->daemon, run->loop, run->params, &events, call->diag);
	if (!err)
		err = report_ready(run);
	return err;
}

static void serve(struct run *run)
{
	run->watchdog.fire = feed_watchdog;
	run->status.fire = update_status;
	feed_watchdog(&run->watchdog);
	update_status(&run->status);
	loop_wait(run->loop, &run->quit, 0);
}

/* Undo what was started. A daemon that does not stop in time is left to the end of the process. */
static void end(struct run *run)
{
	if (run->daemon) {
		stop(run);
		if (loop_wait(run->loop, &run->finished, loop_clock() + STOP_MS * MSEC))
			srp_daemon_free(run->daemon);
		else
			run->loop = NULL;
	}
	if (run->pid_written)
		kernel_pid_file_end(run->pid_file, run->options->pid_file);
	if (!run->loop)
		return;
	srp_daemon_log_end(&run->log);
	loop_timer_del(run->loop, &run->watchdog);
	loop_timer_del(run->loop, &run->status);
	if (run->signals)
		loop_signal_del(run->loop, &run->signal);
	loop_free(run->loop);
}

int srp_daemon_run(struct call *call, struct srp_daemon_params *params)
{
	const struct srp_daemon_options *options = call->opts;
	struct run run = { .call = call,
		.options = options,
		.params = params,
		.log = { .each_ms = REPEAT_MS, .write = write_line } };
	int err = 0;

	if (options->ready_fd != UINT32_MAX && fcntl((int)options->ready_fd, F_GETFD) < 0)
		return diag_sys(call->diag, errno, "--ready-fd %u", options->ready_fd);
	if (options->log)
		err = out_log_file(options->log, call->diag);
	if (!err && options->background)
		err = child_daemon(&run.parent, call->diag);
	if (!err)
		err = start(&run);
	if (!err)
		serve(&run);
	end(&run);
	srp_rules_free(&run.rules);
	return err;
}
