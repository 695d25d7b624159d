/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* srp-daemon, also as srp_daemon: find SRP targets on InfiniBand and connect the kernel to those
 * that the rules allow, once or continuously. */
#include "kernel_identity.h"
#include "kernel_rdma.h"
#include "kernel_srp.h"
#include "srp_daemon.h"
#include "uri.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_GIVEN UINT32_MAX

#define AT(field) offsetof(struct srp_daemon_options, field)
static const struct opt rows[] = {
	{ "once", 'o', OPT_FLAG, AT(once), NULL, "scan once, log in once, then exit" },
	{ "execute", 'e', OPT_FLAG, AT(execute), NULL, "connect the kernel to the targets" },
	{ "commands", 'c', OPT_FLAG, AT(commands), NULL, "print add_target lines" },
	{ "all", 'a', OPT_FLAG, AT(all), NULL, "also print targets that are already connected" },
	{ "rules", 'f', OPT_TEXT, AT(rules), "FILE", "rules file; default /etc/srp_daemon.conf" },
	{ "initiator-ext", 'n', OPT_FLAG, AT(initiator_ext), NULL,
		"make each path a separate initiator, for multipath" },
	{ "rescan", 'R', OPT_MSEC, AT(rescan_ms), "SECONDS",
		"interval of full scans; default never, scan on events only", 1, OPT_MSEC_MAX },
	{ "retry-connected", 'T', OPT_MSEC, AT(recheck_ms), "SECONDS",
		"interval of connection checks; 0: never; default 20", 0, OPT_MSEC_MAX },
	{ "tl-retry-count", 'l', OPT_U32, AT(tl_retry_count), "N",
		"transport retries of a connection", 2, 7 },
	{ "device", 'i', OPT_TEXT, AT(dev), "DEVICE", "RDMA device to serve, such as mlx5_0" },
	{ "port", 'p', OPT_U32, AT(port), "NUMBER", "port of that device", 1, 254 },
	{ "device-port", 'j', OPT_TEXT, AT(dev_port), "DEVICE:PORT",
		"RDMA device and port to serve" },
	{ "umad", 'd', OPT_TEXT, AT(umad), "FILE",
		"serve the port of this MAD device, such as /dev/infiniband/umad0" },
	{ "all-ports", 0, OPT_FLAG, AT(all_ports), NULL,
		"serve all InfiniBand ports, including hot-plugged ones" },
	{ "mad-timeout", 't', OPT_U32, AT(answer_ms), "MSEC",
		"time limit per answer, over all tries; default 5000", 1, OPT_U32_MAX },
	{ "tries", 'r', OPT_U32, AT(tries), "N", "requests sent in that time; default 3", 1,
		OPT_U32_MAX },
	{ "login-timeout", 0, OPT_MSEC, AT(login_ms), "SECONDS",
		"time limit of one login; default 60", 1, OPT_MSEC_MAX },
	{ "log", 0, OPT_TEXT, AT(log), "FILE", "write the log to FILE; SIGHUP reopens it" },
	{ "daemon", 0, OPT_FLAG, AT(background), NULL, "run in the background once ready" },
	{ "pid-file", 0, OPT_TEXT, AT(pid_file), "FILE",
		"write the process ID to FILE once ready" },
	{ "ready-fd", 0, OPT_U32, AT(ready_fd), "FD", "write a line to descriptor FD once ready", 0,
		OPT_U32_MAX },
	{ "debug", 'V', OPT_FLAG, AT(debug), NULL, "same as --verbose" },
	{ "systemd", 0, OPT_FLAG, AT(systemd), NULL, "ignored, for compatibility with srp_daemon" },
	{ 0 },
};
#undef AT

static const struct srp_daemon_options defaults = {
	.answer_ms = 5000,
	.tries = 3,
	.recheck_ms = 20000,
	.login_ms = 60000,
	.ready_fd = UINT32_MAX,
	.port = NOT_GIVEN,
	.rescan_ms = NOT_GIVEN,
	.tl_retry_count = NOT_GIVEN,
};

static int split(const struct call *call, const char *text, char dev[MAD_DEV_LEN], uint32_t *port)
{
	const char *colon = strrchr(text, ':');
	struct diag why = { 0 };
	uint64_t number;

	if (!colon || colon == text || colon - text >= MAD_DEV_LEN ||
		parse_u64(colon + 1, 1, 254, &number, &why))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"-j: invalid port '%s': expected DEVICE:PORT, such as mlx5_0:1", text);
	snprintf(dev, MAD_DEV_LEN, "%.*s", (int)(colon - text), text);
	*port = (uint32_t)number;
	return 0;
}

/* What names the port. */
static int check_port(const struct call *call, const struct srp_daemon_options *words)
{
	unsigned selectors =
		(words->dev || words->port != NOT_GIVEN) + !!words->dev_port + words->all_ports;
	char dev[MAD_DEV_LEN];
	uint32_t port;

	/* srp_daemon ignores -d if -i or -j is given */
	if (selectors + (words->umad && !srp_daemon_is_old(call)) > 1)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"-i and -p, -j, -d and --all-ports can't be combined");
	return words->dev_port ? split(call, words->dev_port, dev, &port) : 0;
}

static int check_words(const struct call *call, const struct srp_daemon_options *words)
{
	bool once = words->once || words->common.dry_run;

	if (call->operands && !srp_daemon_is_old(call))
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "unexpected operand '%s'",
			call->operand[0]);
	if (once && (words->background || words->pid_file || words->ready_fd != UINT32_MAX ||
			    words->log))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--daemon, --pid-file, --ready-fd and --log conflict with %s",
			words->once ? "-o" : "--dry-run");
	if (call->out->json && !once && (words->commands || !words->execute))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--json needs --once (-o), or -e without -c: "
			"a running daemon has no final result");
	return check_port(call, words);
}

/* 0: the default */
static uint32_t given(uint32_t value)
{
	return value == NOT_GIVEN ? 0 : value;
}

/* A daemon waits for a port that is not up yet. */
static int choose_port(const struct call *call, const struct srp_daemon_options *words,
	struct srp_daemon_params *opts)
{
	struct mad_port_choice choice = { .dev = words->dev, .port = given(words->port) };
	char dev[MAD_DEV_LEN];
	int err = 0;

	if (words->dev && !choice.port && srp_daemon_is_old(call))
		choice.port = 1; /* there, whatever its state */
	if (words->dev_port) {
		err = split(call, words->dev_port, dev, &choice.port);
		choice.dev = dev;
	} else if (!words->dev) {
		choice.umad = words->umad;
	}
	if (!err)
		err = mad_port_choose(&opts->port, &choice, call->diag);
	if (err && call->diag->code == DIAG_UNSUPPORTED)
		diag_hint(call->diag,
			"query one target on RoCE with: rdmastor srp-discover --gid GID");
	return err || !opts->once ? err : mad_port_usable(&opts->port, call->diag);
}

static int get_ready(struct call *call, const struct srp_daemon_options *words,
	struct srp_daemon_params *opts, struct srp_rules *rules)
{
	int err = srp_rules_read(rules, opts->root, words->rules, false, call->diag);

	if (!err)
		err = kernel_umad_ready(opts->root, call->diag);
	if (!err && !opts->all_ports)
		err = choose_port(call, words, opts);
	if (!err && opts->execute)
		err = kernel_srp_ready(opts->root, call->diag);
	opts->policy.rules = rules;
	opts->policy.more.imm_data = kernel_srp_imm_data(opts->root);
	return err;
}

static int serve(struct call *call)
{
	const struct srp_daemon_options *words = call->opts;
	struct srp_daemon_params opts = {
		.policy.more.initiator_ext = words->initiator_ext,
		.policy.more.tl_retry_count = words->execute || !srp_daemon_is_old(call)
						      ? given(words->tl_retry_count)
						      : 0,
		.limits = { .answer_ms = words->answer_ms, .tries = words->tries },
		.once = words->once || words->common.dry_run,
		.execute = words->execute && !words->common.dry_run,
		.all_ports = words->all_ports,
		.rescan_ms = given(words->rescan_ms),
		.recheck_ms = words->recheck_ms,
		.login_ms = words->login_ms,
		.retry_ms = 2000,
		.retry_max_ms = 300000,
	};
	struct srp_rules rules = { 0 };
	int err = check_words(call, words);

	if (err)
		return err;
	call->loop.verbose |= words->debug;
	out_times(call->loop.verbose);
	opts.root = kernel_root();
	if (opts.root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = get_ready(call, words, &opts, &rules);
	if (!err)
		err = opts.once ? srp_daemon_once(call, &opts) : srp_daemon_run(call, &opts);
	srp_rules_free(&rules);
	close(opts.root);
	return err;
}

const struct applet applet_srp_daemon = {
	.name = "srp-daemon",
	.replaces = SRP_DAEMON_OLD,
	.replaced_usage = "[-vVcaeon] [-d <umad device> | -i <device> [-p <port>] | -j "
			  "<device>:<port>] [-t <timeout (ms)>] [-r <tries>]\n"
			  "       [-R <rescan time>] [-T <retry time>] [-l <tl_retry count>] [-f "
			  "<rules file>]",
	.operands = "",
	.summary = "connect the kernel to SRP targets, once or as they appear",
	.opts = rows,
	.defaults = &defaults,
	.examples = "  rdmastor srp-daemon -o -e\n"
		    "  rdmastor srp-daemon --dry-run -f rules.conf\n"
		    "  rdmastor srp-daemon --all-ports -e -n -R 60 --daemon --log /run/srp.log\n",
	.opts_size = sizeof(struct srp_daemon_options),
	.max = UINT8_MAX,
	.has_dry_run = true,
	.run = serve,
};
