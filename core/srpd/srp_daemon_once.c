/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* srp-daemon -o and --dry-run: one scan of each port, one login to each target, and their results.
 */
#include "grow.h"
#include "srp_daemon_loop.h"
#include "srp_show.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct result { /* of a login */
	char dev[MAD_DEV_LEN], line[MAD_SRP_LINE], host[24];
	unsigned port;
	int err;
	struct diag diag;
};

struct once {
	struct call *call;
	const struct srp_daemon_options *options;
	const struct srp_daemon_params *params;
	struct result *result; /* for JSON, whose lists come one after the other */
	unsigned results;
	unsigned ports, ports_failed, cut, answered, silent, logins, logins_failed;
	struct diag first; /* failure */
	bool noted;        /* `first` was printed */
	int finished;
};

bool srp_daemon_is_old(const struct call *call)
{
	return !strcmp(call->name, SRP_DAEMON_OLD);
}

static void remember(struct once *once, const struct diag *diag, bool noted)
{
	if (once->first.err)
		return;
	once->first = *diag;
	once->noted = noted && !once->options->common.quiet;
}

static void count(struct once *once, const struct mad_scan_result *found)
{
	struct diag diag = { 0 };

	for (unsigned i = 0; i < found->count; i++) {
		const struct mad_target *target = &found->target[i];

		once->answered += target->unit != NULL;
		if (!target->err)
			continue;
		once->silent++;
		srp_target_diag(target, &diag);
		remember(once, &diag, true);
	}
}

static void scanned(void *arg, const struct srp_scan *scan)
{
	struct once *once = arg;
	const struct srp_daemon_options *options = once->options;
	const struct srp_filter all = { 0 };
	const struct srp_show show = {
		.filter = &all,
		.form = options->common.dry_run ? SRP_DECISIONS
			: options->commands     ? SRP_COMMANDS
						: SRP_LISTING,
		.found = scan->found,
		.port = scan->port,
		.hosts = scan->hosts,
		.nhosts = scan->nhosts,
		.policy = once->params->policy,
		.all = options->all,
		.any_pkey = options->execute,
	};
	struct out *out = once->call->out;

	once->ports++;
	once->cut += scan->found->cut;
	count(once, scan->found);
	if (options->all_ports)
		out_object(out, NULL);
	if (out->json || !options->execute || options->commands || options->common.dry_run)
		srp_show(once->call, &show);
	if (options->all_ports)
		out_end(out);
	if (options->execute || show.form != SRP_LISTING)
		srp_note_left_out(once->call, &show);
	srp_note_failures(once->call, &show);
	if (!scan->found->failed && !srp_daemon_is_old(once->call))
		srp_note_nothing(once->call, &show);
}

static void add_result(struct once *once, const struct srp_login *login)
{
	struct result *result = grow(once->result, once->results);

	if (!result)
		return;
	*result = (struct result){
		.port = login->port->port, .err = login->err, .diag = *login->diag
	};
	snprintf(result->dev, sizeof(result->dev), "%s", login->port->dev);
	snprintf(result->line, sizeof(result->line), "%s", login->line);
	snprintf(result->host, sizeof(result->host), "%s", login->host);
}

static void logged_in(void *arg, const struct srp_login *login)
{
	struct once *once = arg;
	struct call *call = once->call;
	bool ok = !login->err;
	char at[MAD_SRP_TEXT];

	if (call->out->json)
		add_result(once, login);
	once->logins++;
	if (ok) {
		if (!srp_daemon_is_old(call))
			out_line(call->out, "connected (%s)  %s", login->host, login->line);
		return;
	}
	once->logins_failed++;
	mad_srp_text(login->srp, at);
	diag_ctx(login->diag, "%s", at);
	remember(once, login->diag, true);
	call_note(call, "%s: %s%s%s", at, login->diag->text, login->diag->hint[0] ? "; hint: " : "",
		login->diag->hint);
}

static void failed(void *arg, const struct mad_port_info *port, int err, struct diag *diag)
{
	struct once *once = arg;

	(void)err;
	once->ports++;
	once->ports_failed++;
	diag_ctx(diag, "%s port %u", port->dev, port->port);
	if (diag->hint[0] && (diag->code != DIAG_UNREACHABLE || diag->err == ENETUNREACH))
		diag_hint(diag, "find targets without it: rdmastor srp-discover --walk");
	remember(once, diag, once->options->all_ports);
	if (!once->options->all_ports)
		return;
	call_note(once->call, "%s: %s", diag->object, diag->text);
	out_object(once->call->out, NULL);
	out_text(once->call->out, "rdma_device", NULL, "%s", port->dev);
	out_u64(once->call->out, "rdma_port", NULL, port->port);
	out_error(once->call->out, "error", diag);
	out_end(once->call->out);
}

static void finished(void *arg)
{
	struct once *once = arg;

	once->finished = 1;
}

static void show_logins(const struct once *once)
{
	struct out *out = once->call->out;

	out_list(out, "logins");
	for (unsigned i = 0; i < once->results; i++) {
		const struct result *result = &once->result[i];

		out_object(out, NULL);
		out_text(out, "rdma_device", NULL, "%s", result->dev);
		out_u64(out, "rdma_port", NULL, result->port);
		out_text(out, "add_target", NULL, "%s", result->line);
		out_bool(out, "connected", NULL, result->host[0]);
		if (result->host[0])
			out_text(out, "host", NULL, "%s", result->host);
		else
			out_error(out, "error", &result->diag);
		out_end(out);
	}
	out_end(out);
}

/* srp_daemon ignores targets that do not answer. */
static int status(const struct once *once)
{
	bool failed_some = once->ports_failed || once->logins_failed ||
			   ((once->silent || once->cut) && !srp_daemon_is_old(once->call));
	bool some = once->logins > once->logins_failed ||
		    (!once->logins_failed && once->answered) ||
		    (once->ports > once->ports_failed && !once->silent && !once->logins_failed);

	if (!failed_some)
		return EXIT_DONE;
	if (some && !srp_daemon_is_old(once->call))
		return EXIT_PARTLY;
	if (once->noted && !once->call->out->json)
		return EXIT_FAILED;
	*once->call->diag = once->first;
	return -once->first.err;
}

static int run(struct once *once, struct loop *loop)
{
	const struct srp_daemon_events events = { .arg = once,
		.scanned = scanned,
		.login = logged_in,
		.failed = failed,
		.finished = finished };
	uint32_t timeout_ms = once->options->common.timeout_ms;
	struct srp_daemon *daemon;
	int err = srp_daemon_start(&daemon, loop, once->params, &events, once->call->diag);

	if (err)
		return err;
	if (once->options->all_ports)
		out_list(once->call->out, "ports");
	if (!loop_wait(loop, &once->finished,
		    timeout_ms ? loop_clock() + timeout_ms * 1000000ull : 0)) {
		struct diag diag = { 0 };

		diag_set(
			&diag, DIAG_TIMEOUT, ETIMEDOUT, "timed out after %g s", timeout_ms / 1000.);
		remember(once, &diag, true);
		once->ports_failed++;
		call_note(once->call, "%s", diag.text);
	}
	if (once->options->all_ports)
		out_end(once->call->out);
	if (once->params->execute && once->call->out->json)
		show_logins(once);
	srp_daemon_free(daemon);
	return status(once);
}

int srp_daemon_once(struct call *call, struct srp_daemon_params *params)
{
	struct once once = { .call = call, .options = call->opts, .params = params };
	struct loop *loop;
	int err = loop_new(&loop, &call->loop, call->diag);

	if (err)
		return err;
	err = run(&once, loop);
	free(once.result);
	loop_free(loop);
	return err;
}
