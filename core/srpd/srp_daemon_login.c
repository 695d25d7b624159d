/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log in to targets, one at a time per port, like the kernel; retry with growing delays. */
#include "srp_daemon_port.h"
#include "srp_rules.h"
#include <errno.h>
#include <stdio.h>

/* Get the SCSI host of the kernel's connection to the target; false: not connected. */
static bool is_connected(const struct srp_port *port, const struct mad_srp *srp, char host[24])
{
	struct kernel_srp key;

	srp_host_key(&port->info, srp, &key);
	return kernel_srp_connected(port->daemon->params.root, &key, true, host);
}

static void report_login(const struct srp_port *port, const struct srp_daemon_target *known,
	int err, struct diag *diag)
{
	const struct srp_daemon *d = port->daemon;
	const struct srp_login login = {
		.port = &port->info,
		.srp = &known->srp,
		.line = port->line,
		.host = known->host,
		.err = err,
		.diag = diag,
	};

	if (d->events.login)
		d->events.login(d->events.arg, &login);
}

static void failed(struct srp_port *port, struct srp_daemon_target *known, const struct diag *diag)
{
	char text[MAD_SRP_TEXT];

	known->state = SRP_FAILED;
	known->host[0] = 0;
	known->tries++;
	known->due_ns = port->daemon->params.once
				? NEVER
				: loop_clock() + srp_daemon_backoff(port->daemon, known->tries);
	snprintf(known->why, sizeof(known->why), "%.*s", (int)sizeof(known->why) - 1, diag->text);
	known->why_code = diag->code;
	known->why_err = diag->err;
	srp_daemon_port_log(port, "%s: %s%s%s", mad_srp_text(&known->srp, text), diag->text,
		diag->hint[0] ? "; hint: " : "", diag->hint);
}

static void connected(struct srp_port *port, struct srp_daemon_target *known)
{
	char text[MAD_SRP_TEXT];

	srp_daemon_target_up(known, port->login.host.host);
	srp_daemon_port_log(
		port, "%s: connected as %s", mad_srp_text(&known->srp, text), known->host);
}

static void done(struct attach *attach)
{
	struct srp_port *port = container_of(attach, struct srp_port, login.attach);
	struct srp_daemon_target *known = port->busy;
	struct diag diag = attach->why;

	port->busy = NULL;
	port->logins++;
	attach_luns_free(&port->login.luns);
	if (!diag.err) {
		connected(port, known);
	} else {
		if (diag.err == EEXIST)
			diag_hint(&diag, "connect each path as a separate initiator with -n");
		failed(port, known, &diag);
	}
	report_login(port, known, -diag.err, &diag);
	srp_daemon_port_turn(port);
}

/* Set the parameters that identify the connection. */
static void set_params(struct srp_params *params, const struct mad_srp *srp)
{
	char text[33];

	*params = (struct srp_params){ 0 };
	srp_params_set(params, SRP_OPT_ID_EXT, srp->id_ext, NULL);
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)srp->ioc_guid);
	srp_params_set(params, SRP_OPT_IOC_GUID, text, NULL);
	snprintf(text, sizeof(text), "%016llx%016llx", (unsigned long long)srp->prefix,
		(unsigned long long)srp->guid);
	srp_params_set(params, SRP_OPT_DGID, text, NULL);
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)srp->service_id);
	srp_params_set(params, SRP_OPT_SERVICE_ID, text, NULL);
}

/* Start a login; false: not required. */
static bool start(struct srp_port *port, struct srp_daemon_target *known)
{
	const struct srp_daemon *d = port->daemon;
	struct attach_srp *login = &port->login;
	struct srp_verdict verdict;
	char host[24];

	srp_decide(&d->params.policy, &known->srp, &verdict);
	if (!verdict.allow) {
		known->state = SRP_DENIED;
		return false;
	}
	if (is_connected(port, &known->srp,
		    host)) { /* through another partition, or by another program */
		srp_daemon_target_up(known, host);
		return false;
	}
	snprintf(port->line, sizeof(port->line), "%s", verdict.line);
	set_params(&port->login_params, &known->srp);
	*login = (struct attach_srp){ .attach = { .proto = &attach_srp_row,
					      .loop = d->loop,
					      .root = d->params.root,
					      .limit_ms = d->params.login_ms,
					      .no_wait = true,
					      .owner_serializes = true,
					      .done = done },
		.params = &port->login_params,
		.line = port->line,
		.dev = port->info.dev,
		.port = port->info.port,
		.tmo = { VALUE_UNKNOWN, VALUE_UNKNOWN, VALUE_UNKNOWN },
		.no_removal_wait = true };
	known->state = SRP_BUSY;
	port->busy = known;
	attach_start(&login->attach);
	return true;
}

void srp_daemon_login_next(struct srp_port *port, uint64_t now, uint64_t *due_ns)
{
	struct srp_daemon_target *known;

	if (!port->daemon->params.execute || port->busy)
		return;
	while ((known = srp_daemon_targets_next(port, now, due_ns)))
		if (start(port, known))
			return;
}

/* A login that has just succeeded is kept. */
void srp_daemon_login_stop(struct srp_port *port)
{
	struct srp_daemon_target *known = port->busy;
	bool undoing = port->login.attach.why.err || port->login.attach.first.err;
	char host[24];

	port->busy = NULL;
	if (!known)
		return;
	attach_drop(&port->login.attach);
	attach_luns_free(&port->login.luns);
	known->state = SRP_WAITING;
	if (!undoing && port->login.attach.made && is_connected(port, &known->srp, host))
		connected(port, known);
}
