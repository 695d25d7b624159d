/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* tls-daemon: TLS handshakes for the kernel's NVMe/TCP initiator and target, in the place of
 * tlshd. */
#include "kernel_handshake.h"
#include "kernel_identity.h"
#include "kernel_process.h"
#include "out.h"
#include "tls_monitor.h"
#include "tls_upcall.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

struct tls_options {
	struct opt_common common;
	bool background;
	uint32_t ready_fd;
};

#define AT(field) offsetof(struct tls_options, field)
static const struct opt rows[] = {
	{ "daemon", 0, OPT_FLAG, AT(background), NULL, "run in the background once ready" },
	{ "ready-fd", 0, OPT_U32, AT(ready_fd), "FD", "write a line to descriptor FD once ready", 0,
		OPT_U32_MAX },
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	{ "tlshd", "-s|--stderr", "omit it: in the foreground messages go to stderr" },
	{ "tlshd", "-c|--config", "omit it: keys are in the kernel's keyrings" },
	{ 0 },
};

static const struct tls_options defaults = { .ready_fd = UINT32_MAX };

struct work {
	struct call *call;
	struct loop *loop;
	struct loop_signal signal;
	struct tls_upcall *upcall;
	unsigned succeeded, failed;
};

static void ended(void *arg, const struct tls_upcall_end *end)
{
	struct work *w = arg;

	if (end->why->err)
		w->failed++;
	else
		w->succeeded++;
	tls_monitor_log("tls-daemon", end);
}

static void caught(struct loop_signal *signal, int signo)
{
	(void)signo;
	loop_stop(container_of(signal, struct work, signal)->loop);
}

static int answer(struct work *w, int root)
{
	static const int ends[] = { SIGTERM, SIGINT };
	const struct tls_options *opts = w->call->opts;
	const struct tls_upcall_events events = { w, ended };
	int err = loop_signal_add(w->loop, &w->signal, ends, 2, w->call->diag);

	if (err)
		return err;
	err = tls_upcall_open(&w->upcall, w->loop, root, &events, w->call->diag);
	if (!err)
		err = kernel_notify_ready(opts->ready_fd == UINT32_MAX ? -1 : (int)opts->ready_fd,
			"answers the kernel's TLS handshakes", w->call->diag);
	if (!err)
		loop_run(w->loop);
	tls_upcall_close(w->upcall);
	loop_signal_del(w->loop, &w->signal);
	return err;
}

static int run_foreground(struct call *call, int root)
{
	struct work w = { .call = call, .signal.caught = caught };
	int err = loop_new(&w.loop, &call->loop, call->diag);

	if (!err)
		err = answer(&w, root);
	loop_free(w.loop);
	if (err)
		return err;
	out_u64(call->out, "handshakes", NULL, w.succeeded);
	out_u64(call->out, "failed", NULL, w.failed);
	out_line(call->out, "%u handshakes, %u failed", w.succeeded, w.failed);
	return 0;
}

static int run_background(struct call *call, int root)
{
	int pid, err = tls_monitor_spawn(root, true, &pid, call->diag);

	if (err)
		return err;
	out_u64(call->out, "pid", NULL, (uint64_t)pid);
	out_line(call->out, "process %d", pid);
	return 0;
}

static int run(struct call *call)
{
	const struct tls_options *opts = call->opts;
	int root, err;

	if (opts->background && opts->ready_fd != UINT32_MAX)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--ready-fd conflicts with --daemon, which returns once ready");
	root = kernel_root();
	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	if (kernel_handshakes_answered(root) == 1)
		call_warn(call, "another process answers, too: the first one gets a request");
	err = opts->background ? run_background(call, root) : run_foreground(call, root);
	close(root);
	return err;
}

const struct applet applet_tls_daemon = {
	.name = "tls-daemon",
	.operands = "",
	.summary = "answer the kernel's TLS handshakes for NVMe/TCP, as tlshd does",
	.examples = "  rdmastor tls-daemon --daemon\n",
	.foreign = foreign,
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct tls_options),
	.run = run,
};
