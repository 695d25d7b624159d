/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* srp-daemon as a daemon: log, signals, service manager, clean end. */
#include "child.h"
#include "kernel_process.h"
#include "loop.h"
#include "srp_daemon.h"
#include "srp_show.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MSEC    1000000ull
#define STOP_MS 3000
#define TELL_MS 10000  /* between updates of the service manager's status */
#define SAME_MS 600000 /* a repeated log line is only counted for this long */

struct run {
	struct call *call;
	const struct srp_daemon_words *words;
	struct srp_daemon_options *opts;
	struct srp_rules rules; /* read at SIGHUP; those before are the caller's */
	bool reread;
	struct srp_daemon *daemon;
	struct loop *loop;
	struct loop_signal signal;
	struct loop_timer watchdog, tell;
	struct srp_log log;
	char told[128];
	bool signals, stopping, pid_written;
	int pid_file; /* descriptor, once pid_written */
	int parent;
	int quit, over; /* told to end; has ended */
};

static void write_line(struct srp_log *log, const char *line)
{
	call_note(container_of(log, struct run, log)->call, "%s", line);
}

static void say(void *arg, const char *line)
{
	struct run *run = arg;

	srp_daemon_log_say(&run->log, line);
}

static void over(void *arg)
{
	struct run *run = arg;

	run->over = run->quit = 1;
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

/* The reader gets each line at once; if it is gone, end. */
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
		.form = run->words->commands ? SRP_COMMANDS : SRP_LISTING,
		.found = scan->found,
		.port = scan->port,
		.hosts = scan->hosts,
		.nhosts = scan->nhosts,
		.policy = run->opts->policy,
		.all = run->words->all,
		.any_pkey = run->words->execute,
	};

	srp_show(run->call, &show);
	flush(run);
}

/* In the output's own form, where the log goes. */
static void tell_status(struct run *run)
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

/* Each signal is answered: no suppression of repeated lines. */
static void answer(const struct run *run, const struct diag *diag, const char *then)
{
	call_warn(run->call, "%s: %s%s%s%s", diag->object, diag->text, then,
		diag->hint[0] ? "; hint: " : "", diag->hint);
}

static void reload(struct run *run)
{
	struct diag diag = { 0 };
	struct srp_rules rules;
	char text[64];

	if (run->words->log && out_log_file(run->words->log, &diag)) {
		answer(run, &diag, "; keeping the old log");
		diag = (struct diag){ 0 };
	}
	if (srp_rules_read(&rules, run->opts->root, run->words->rules, true, &diag)) {
		answer(run, &diag, "; keeping the old rules");
		return;
	}
	/* The daemon has a pointer to ours or to the caller's: it learns of the new ones before the
	 * old ones go */
	struct srp_rules old = run->rules;

	run->rules = rules;
	run->opts->policy.rules = &run->rules;
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
		tell_status(run);
		break;
	default:
		if (run->stopping)
			run->over = 1;
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

static void tell(struct loop_timer *timer)
{
	struct run *run = container_of(timer, struct run, tell);
	char summary[128], text[160];

	srp_daemon_summary(run->daemon, summary);
	if (strcmp(summary, run->told)) {
		memcpy(run->told, summary, sizeof(summary));
		snprintf(text, sizeof(text), "STATUS=%s", summary);
		kernel_notify(text, NULL);
	}
	loop_timer_set(run->loop, timer, loop_clock() + TELL_MS * MSEC);
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

static int say_ready(struct run *run)
{
	const struct srp_daemon_words *words = run->words;
	struct diag *diag = run->call->diag;
	char summary[128];
	int err = 0;

	if (words->pid_file) {
		run->pid_file = kernel_pid_file(run->opts->root, words->pid_file, diag);
		run->pid_written = run->pid_file >= 0;
		err = run->pid_written ? 0 : run->pid_file;
	}
	if (!err)
		err = show_ready(run);
	if (!err)
		err = kernel_notify_ready(words->ready_fd == UINT32_MAX ? -1 : (int)words->ready_fd,
			srp_daemon_summary(run->daemon, summary), diag);
	if (!err && words->background)
		child_daemon_ready(run->parent);
	return err;
}

static int start(struct run *run)
{
	static const int signos[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };
	const struct srp_daemon_words *words = run->words;
	const struct srp_daemon_events events = {
		.arg = run,
		.say = say,
		.scanned = words->commands || !words->execute ? scanned : NULL,
		.over = over,
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
		err = srp_daemon_start(&run->daemon, run->loop, run->opts, &events, call->diag);
	if (!err)
		err = say_ready(run);
	return err;
}

static void serve(struct run *run)
{
	run->watchdog.fire = feed_watchdog;
	run->tell.fire = tell;
	feed_watchdog(&run->watchdog);
	tell(&run->tell);
	loop_wait(run->loop, &run->quit, 0);
}

/* As far as it came. What does not end in time is ended by the process's end. */
static void end(struct run *run)
{
	if (run->daemon) {
		stop(run);
		if (loop_wait(run->loop, &run->over, loop_clock() + STOP_MS * MSEC))
			srp_daemon_free(run->daemon);
		else
			run->loop = NULL;
	}
	if (run->pid_written)
		kernel_pid_file_end(run->pid_file, run->words->pid_file);
	if (!run->loop)
		return;
	srp_daemon_log_end(&run->log);
	loop_timer_del(run->loop, &run->watchdog);
	loop_timer_del(run->loop, &run->tell);
	if (run->signals)
		loop_signal_del(run->loop, &run->signal);
	loop_free(run->loop);
}

int srp_daemon_run(struct call *call, struct srp_daemon_options *opts)
{
	const struct srp_daemon_words *words = call->opts;
	struct run run = { .call = call,
		.words = words,
		.opts = opts,
		.log = { .each_ms = SAME_MS, .write = write_line } };
	int err = 0;

	if (words->ready_fd != UINT32_MAX && fcntl((int)words->ready_fd, F_GETFD) < 0)
		return diag_sys(call->diag, errno, "--ready-fd %u", words->ready_fd);
	if (words->log)
		err = out_log_file(words->log, call->diag);
	if (!err && words->background)
		err = child_daemon(&run.parent, call->diag);
	if (!err)
		err = start(&run);
	if (!err)
		serve(&run);
	end(&run);
	srp_rules_free(&run.rules);
	return err;
}
