/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logging in to targets, one at a time for each port as the kernel does, and again after a failure
 * with growing pauses. */
#include "srp_daemon_port.h"
#include "srp_show.h"
#include <errno.h>
#include <stdio.h>

/* By which SCSI host the kernel is connected to it; false: it is not. */
static bool is_connected(const struct srp_port *port, const struct mad_srp *srp, char host[24])
{
	struct kernel_srp want;

	srp_host_wanted(&port->info, srp, &want);
	return kernel_srp_connected(port->daemon->opts.root, &want, true, host);
}

static void tell(
	const struct srp_port *port, const struct srp_known *known, int err, struct diag *diag)
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

static void failed(struct srp_port *port, struct srp_known *known, const struct diag *diag)
{
	char text[MAD_SRP_TEXT];

	known->state = SRP_FAILED;
	known->host[0] = 0;
	known->tries++;
	known->due_ns = port->daemon->opts.once
				? NEVER
				: loop_clock() + srp_daemon_backoff(port->daemon, known->tries);
	snprintf(known->why, sizeof(known->why), "%.*s", (int)sizeof(known->why) - 1, diag->text);
	known->why_code = diag->code;
	known->why_err = diag->err;
	srp_daemon_port_say(port, "%s: %s%s%s", mad_srp_text(&known->srp, text), diag->text,
		diag->hint[0] ? "; hint: " : "", diag->hint);
}

static void connected(struct srp_port *port, struct srp_known *known)
{
	char text[MAD_SRP_TEXT];

	srp_daemon_target_up(known, port->login.host.host);
	srp_daemon_port_say(
		port, "%s: connected as %s", mad_srp_text(&known->srp, text), known->host);
}

static void done(struct attach *attach)
{
	struct srp_port *port = container_of(attach, struct srp_port, login.attach);
	struct srp_known *known = port->busy;
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
	tell(port, known, -diag.err, &diag);
	srp_daemon_port_turn(port);
}

/* To recognize the connection by. */
static void want(struct srp_want *want, const struct mad_srp *srp)
{
	char text[33];

	*want = (struct srp_want){ 0 };
	kernel_srp_set(want, SRP_OPT_ID_EXT, srp->id_ext, NULL);
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)srp->ioc_guid);
	kernel_srp_set(want, SRP_OPT_IOC_GUID, text, NULL);
	snprintf(text, sizeof(text), "%016llx%016llx", (unsigned long long)srp->prefix,
		(unsigned long long)srp->guid);
	kernel_srp_set(want, SRP_OPT_DGID, text, NULL);
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)srp->service_id);
	kernel_srp_set(want, SRP_OPT_SERVICE_ID, text, NULL);
}

/* False: it needs none. */
static bool start(struct srp_port *port, struct srp_known *known)
{
	const struct srp_daemon *d = port->daemon;
	struct attach_srp *login = &port->login;
	struct srp_verdict verdict;
	char host[24];

	srp_decide(&d->opts.policy, &known->srp, &verdict);
	if (!verdict.allow) {
		known->state = SRP_DENIED;
		return false;
	}
	if (is_connected(port, &known->srp, host)) { /* by another partition, or another program */
		srp_daemon_target_up(known, host);
		return false;
	}
	snprintf(port->line, sizeof(port->line), "%s", verdict.line);
	want(&port->want, &known->srp);
	*login = (struct attach_srp){ .attach = { .proto = &attach_srp_row,
					      .loop = d->loop,
					      .root = d->opts.root,
					      .limit_ms = d->opts.login_ms,
					      .no_wait = true,
					      .own_turn = true,
					      .done = done },
		.want = &port->want,
		.line = port->line,
		.dev = port->info.dev,
		.port = port->info.port,
		.tmo = { VALUE_UNKNOWN, VALUE_UNKNOWN, VALUE_UNKNOWN },
		.leaves_no_wait = true };
	known->state = SRP_BUSY;
	port->busy = known;
	attach_start(&login->attach);
	return true;
}

void srp_daemon_login_next(struct srp_port *port, uint64_t now, uint64_t *due_ns)
{
	struct srp_known *known;

	if (!port->daemon->opts.execute || port->busy)
		return;
	while ((known = srp_daemon_targets_next(port, now, due_ns)))
		if (start(port, known))
			return;
}

/* A login that had just succeeded is a connection like the others: it stays. */
void srp_daemon_login_stop(struct srp_port *port)
{
	struct srp_known *known = port->busy;
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
