/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The TLS monitor: answers the kernel until no encrypted connection is left. Keys and requests come
 * from the kernel, so it can be killed and replaced, and several can run at once. */
#include "tls_monitor.h"
#include "kernel_handshake.h"
#include "kernel_nvmf.h"
#include "out.h"
#include "process.h"
#include "tls_upcall.h"
#include <stdlib.h>
#include <string.h>

#define CHECK_MS     5000
#define LOG_MS       60000
#define LOG_FAILURES 10 /* reported in that time */

struct monitor {
	struct monitor_process *process;
	struct tls_upcall *upcall;
	struct loop_timer timer;
};

/* Strangers may fail as often as they like. */
static bool is_flood(const char *name)
{
	static uint64_t since;
	static unsigned failures;

	if (!since || loop_clock() - since >= LOG_MS * MSEC) {
		if (failures > LOG_FAILURES)
			out_message(OUT_WARNING, "%s: %u more handshakes failed", name,
				failures - LOG_FAILURES);
		since = loop_clock();
		failures = 0;
	}
	return failures++ >= LOG_FAILURES;
}

void tls_monitor_log(const char *name, const struct tls_upcall_end *end)
{
	const char *from = end->server ? "from" : "to";

	if (end->why->err && is_flood(name))
		return;
	if (end->why->err)
		out_message(OUT_WARNING, "%s: TLS %s %s with key '%s': %s", name, from, end->peer,
			end->identity, end->why->text);
	else
		out_message(OUT_INFO, "%s: TLS %s %s with key '%s'", name, from, end->peer,
			end->identity);
}

static void ended(void *arg, const struct tls_upcall_end *end)
{
	(void)arg;
	tls_monitor_log("tls-monitor", end);
}

static int answer(struct monitor *monitor, struct diag *diag)
{
	static const struct tls_upcall_events events = { NULL, ended };
	struct monitor_process *process = monitor->process;

	return tls_upcall_open(&monitor->upcall, process->loop, process->root, &events, diag);
}

/* A starter that saw this process answer has made its connection before: look once more when it no
 * longer does. */
static void check(struct loop_timer *timer)
{
	struct monitor *monitor = container_of(timer, struct monitor, timer);
	struct monitor_process *process = monitor->process;

	loop_timer_set(process->loop, timer, loop_clock() + CHECK_MS * MSEC);
	if (kernel_nvmf_any_tls(process->root) || tls_upcall_is_busy(monitor->upcall))
		return;
	tls_upcall_close(monitor->upcall);
	monitor->upcall = NULL;
	if (!kernel_nvmf_any_tls(process->root) || answer(monitor, NULL))
		loop_stop(process->loop);
}

static struct monitor only = { .timer.fire = check };

static int begin_forever(struct monitor_process *process, struct diag *diag)
{
	only.process = process;
	process->monitor = &only;
	return answer(&only, diag);
}

static int begin(struct monitor_process *process, struct diag *diag)
{
	loop_timer_set(process->loop, &only.timer, loop_clock() + CHECK_MS * MSEC);
	return begin_forever(process, diag);
}

static void end(struct monitor_process *process)
{
	struct monitor *monitor = process->monitor;

	tls_upcall_close(monitor->upcall);
}

int tls_monitor_spawn(int root, bool forever, int *pid, struct diag *diag)
{
	const struct monitor_kind kind = { .name = "tls-monitor",
		.title = "the TLS monitor",
		.begin = forever ? begin_forever : begin,
		.end = end };

	return monitor_process_spawn(&kind, root, pid, diag);
}

void tls_monitor_start(const struct call *call, int root, const char *word)
{
	static const char lost[] = "encrypted connections that are lost will not be restored";
	struct diag why = { 0 };
	int pid, answered = kernel_nvmf_any_tls(root) ? kernel_handshakes_answered(root) : 1;

	if (answered > 0 || answered == -EOPNOTSUPP)
		return;
	if (word && !strcmp(word, "off") && answered)
		call_warn(call,
			"encrypted connections that are lost may not be restored: whether tlshd or "
			"a TLS monitor runs is unknown");
	else if (word && !strcmp(word, "off"))
		call_warn(call, "%s: neither tlshd nor a TLS monitor runs", lost);
	else if (tls_monitor_spawn(root, false, &pid, &why))
		call_warn(call, "%s: %s", lost, why.text);
	else if (call->loop.verbose)
		call_note(call, "process %d (the TLS monitor) restores lost connections", pid);
}
