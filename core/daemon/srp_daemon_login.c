/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logging in to targets, one at a time for each port as the kernel does, and again after a failure
 * with growing pauses. */
#include "srp_daemon_port.h"
#include <errno.h>
#include <stdio.h>

/* By which SCSI host the kernel is connected to it; false: it is not. */
static bool is_connected(const struct srp_port *port, const struct mad_srp *srp, char host[24])
{
	struct kernel_srp want;

	srp_want(port, srp, &want);
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
	known->state = SRP_FAILED;
	known->tries++;
	known->due_ns = port->daemon->opts.once
				? NEVER
				: loop_clock() + srp_daemon_backoff(port->daemon, known->tries);
	snprintf(known->why, sizeof(known->why), "%.*s", (int)sizeof(known->why) - 1, diag->text);
	known->why_code = diag->code;
	known->why_err = diag->err;
	srp_daemon_port_say(port, "target %s at %016llx%016llx: %s%s%s", known->srp.id_ext,
		(unsigned long long)known->srp.prefix, (unsigned long long)known->srp.guid,
		diag->text, diag->hint[0] ? "; hint: " : "", diag->hint);
}

static void settle(struct srp_port *port, struct srp_known *known, int err, struct diag *diag)
{
	char host[24];

	if ((!err || err == -EEXIST) && is_connected(port, &known->srp, host)) {
		srp_daemon_target_up(known, host);
		srp_daemon_port_say(port, "target %s at %016llx%016llx: connected as %s",
			known->srp.id_ext, (unsigned long long)known->srp.prefix,
			(unsigned long long)known->srp.guid, host);
	} else {
		if (err == -EEXIST) {
			diag_set(diag, DIAG_BUSY, EEXIST,
				"the kernel is already connected to this target by another path");
			diag_hint(diag, "connect each path as a separate initiator with -n");
		} else if (!err) {
			err = diag_set(diag, DIAG_IO, ENOTCONN,
				"login succeeded, but the connection is already lost");
		}
		failed(port, known, diag);
	}
	tell(port, known, err, diag);
}

static void done(struct kernel_srp_add *add, int err, struct diag *diag)
{
	struct srp_port *port = container_of(add, struct srp_port, add);
	struct srp_known *known = port->busy;

	port->busy = NULL;
	port->logins++;
	settle(port, known, err, diag);
	srp_daemon_port_turn(port);
}

/* False: it needs none, or that has failed at once. */
static bool start(struct srp_port *port, struct srp_known *known)
{
	const struct srp_daemon *d = port->daemon;
	struct srp_verdict verdict;
	struct diag diag = { 0 };
	char host[24];
	int err;

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
	port->add.done = done;
	port->add.loop = d->loop;
	known->state = SRP_BUSY;
	err = kernel_srp_add_start(d->opts.root, &port->add, port->info.dev, port->info.port,
		port->line, d->opts.login_ms, &diag);
	if (!err) {
		port->busy = known;
		return true;
	}
	failed(port, known, &diag);
	tell(port, known, err, &diag);
	return false;
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

void srp_daemon_login_stop(struct srp_port *port)
{
	kernel_srp_add_stop(&port->add);
	if (port->busy)
		port->busy->state = SRP_WAITING;
	port->busy = NULL;
}
