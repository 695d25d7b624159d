/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The session monitor as a process: at most one, until no session is left. */
#include "iscsi_monitor.h"
#include "iscsi_monitor_session.h"
#include "kernel_iscsi.h"
#include "out.h"
#include "process.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void log_line(void *arg, const char *line)
{
	(void)arg;
	out_message(OUT_INFO, "monitor: %s", line);
}

/* Release the lock only if there is no session. A starter that found it locked has created its
 * session before, so this check sees it. */
static void stop_if_idle(void *arg)
{
	struct monitor_process *process = arg;

	close(process->lock);
	process->lock = -1;
	if (!iscsi_monitor_is_idle(process->monitor))
		process->lock = kernel_iscsi_monitor_lock(process->root, NULL);
	if (process->lock < 0)
		loop_stop(process->loop);
}

static int begin(struct monitor_process *process, struct diag *diag)
{
	static struct iscsi_monitor_events events = { NULL, log_line, stop_if_idle };
	struct iscsi_monitor *monitor;
	int err;

	events.arg = process;
	err = iscsi_monitor_new(&monitor, process->loop, process->root, &events, diag);
	process->monitor = monitor;
	return err;
}

static void end(struct monitor_process *process)
{
	iscsi_monitor_free(process->monitor);
}

static const struct monitor_kind kind = { .name = "iscsi-monitor",
	.title = "the monitor of iSCSI sessions",
	.lock = kernel_iscsi_monitor_lock,
	.begin = begin,
	.end = end };

int iscsi_monitor_spawn(int root, int *pid, struct diag *diag)
{
	int err;

	*pid = kernel_iscsid(root);
	if (*pid)
		return -EALREADY;
	*pid = kernel_iscsi_monitor(root);
	if (*pid)
		return 0;
	err = monitor_process_spawn(&kind, root, pid, diag);
	if (!err)
		return 0;
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
