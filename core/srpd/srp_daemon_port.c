/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One port of this host: lock and open it, then run what is due: scans, logins, checks of the
 * connections. */
#include "srp_daemon_port.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void srp_daemon_port_log(const struct srp_port *port, const char *fmt, ...)
{
	const struct srp_daemon *d = port->daemon;
	char text[SRP_LOG_LEN];
	va_list args;
	int len;

	if (!d->events.log)
		return;
	len = snprintf(text, sizeof(text), "%s port %u: ", port->info.dev, port->info.port);
	va_start(args, fmt);
	vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, args);
	va_end(args);
	d->events.log(d->events.arg, text);
}

uint64_t srp_daemon_backoff(const struct srp_daemon *d, unsigned tries)
{
	uint64_t ms = d->params.retry_ms;

	while (--tries && tries < 32 && ms < d->params.retry_max_ms)
		ms *= 2;
	return (ms < d->params.retry_max_ms ? ms : d->params.retry_max_ms) * MSEC;
}

void srp_daemon_port_turn(struct srp_port *port)
{
	loop_work_add(port->daemon->loop, &port->work);
}

/* Without a directory for locks, no other daemon holds one. */
static int get_lock(struct srp_port *port, struct diag *diag)
{
	const struct srp_daemon *d = port->daemon;

	if (d->params.once || port->lock >= 0)
		return 0;
	port->lock = kernel_srp_lock(d->params.root, port->info.dev, port->info.port, diag);
	port->locked_elsewhere = port->lock == -EBUSY;
	if (port->locked_elsewhere)
		return -EBUSY;
	if (port->lock < 0)
		srp_daemon_port_log(port, "%s: running without a lock", diag->text);
	*diag = (struct diag){ 0 };
	return 0;
}

static void ready(struct srp_port *port)
{
	const struct srp_daemon_params *params = &port->daemon->params;

	port->full_ns = loop_clock();
	if (params->recheck_ms && params->execute && !params->once)
		port->recheck_ns = port->full_ns + params->recheck_ms * MSEC;
}

static int open_port(struct srp_port *port, struct diag *diag)
{
	const struct srp_daemon *d = port->daemon;
	int err = mad_open(&port->mad, d->loop, &port->info, &d->params.limits, diag);

	if (err) {
		port->mad = NULL;
		return err;
	}
	if (!d->params.once)
		err = srp_daemon_watch_start(port, diag);
	if (err) {
		mad_close(port->mad);
		port->mad = NULL;
		return err;
	}
	ready(port);
	return 0;
}

static void finish(struct srp_port *port)
{
	if (port->finished)
		return;
	port->finished = true;
	srp_daemon_check_finished(port->daemon);
}

/* With `once` failures are not retried. */
static void give_up(struct srp_port *port, int err, struct diag *diag)
{
	const struct srp_daemon *d = port->daemon;

	if (d->events.failed)
		d->events.failed(d->events.arg, &port->info, err, diag);
	finish(port);
}

static void try_open(struct srp_port *port, uint64_t now, uint64_t *due_ns)
{
	const struct srp_daemon *d = port->daemon;
	struct diag diag = { 0 };
	int err;

	if (port->open_ns <= now && port->listed) {
		port->open_ns = now + srp_daemon_backoff(d, ++port->open_tries);
		err = get_lock(port, &diag);
		if (!err)
			err = open_port(port, &diag);
		if (!err) {
			port->open_tries = 0;
			return;
		}
		srp_daemon_port_log(port, "%s", diag.text);
		if (d->params.once) {
			give_up(port, err, &diag);
			return;
		}
	}
	if (port->listed && port->open_ns < *due_ns)
		*due_ns = port->open_ns;
}

static void recheck(struct srp_port *port, uint64_t now, uint64_t *due_ns)
{
	if (port->recheck_ns <= now) {
		srp_daemon_targets_recheck(port);
		port->recheck_ns = now + port->daemon->params.recheck_ms * MSEC;
	}
	if (port->recheck_ns < *due_ns)
		*due_ns = port->recheck_ns;
}

static void serve(struct srp_port *port, uint64_t now, uint64_t *due_ns)
{
	struct diag diag = { 0 };
	int err = mad_port_usable(mad_port(port->mad), &diag); /* the watch reports changes */

	if (err && port->daemon->params.once)
		give_up(port, err, &diag);
	if (err)
		return;
	srp_daemon_query_next(port, now, due_ns);
	srp_daemon_login_next(port, now, due_ns);
	if (port->daemon->params.once && !srp_daemon_query_busy(port) && !port->busy &&
		*due_ns == NEVER)
		finish(port);
}

static void turn(struct loop_work *work)
{
	struct srp_port *port = container_of(work, struct srp_port, work);
	uint64_t now = loop_clock(), due_ns = NEVER;

	if (port->closing || port->finished || port->skipped)
		return;
	if (!port->mad)
		try_open(port, now, &due_ns);
	if (port->mad) {
		recheck(port, now, &due_ns);
		serve(port, now, &due_ns);
	}
	if (due_ns != NEVER)
		loop_timer_set(port->daemon->loop, &port->timer, due_ns);
	else
		loop_timer_del(port->daemon->loop, &port->timer);
}

static void fire(struct loop_timer *timer)
{
	srp_daemon_port_turn(container_of(timer, struct srp_port, timer));
}

void srp_daemon_port_init(
	struct srp_port *port, struct srp_daemon *d, const struct mad_port_info *info)
{
	*port = (struct srp_port){ .daemon = d,
		.info = *info,
		.lock = -1,
		.listed = true,
		.full_ns = NEVER,
		.recheck_ns = NEVER };
	port->work.run = turn;
	port->timer.fire = fire;
}

int srp_daemon_port_begin(struct srp_port *port, struct diag *diag)
{
	int err = get_lock(port, diag);

	if (!err)
		err = open_port(port, diag);
	if (!err)
		srp_daemon_port_turn(port);
	return err;
}

/* Release what belongs to the device, and forget the fabric. */
static void release_device(struct srp_port *port)
{
	loop_work_del(port->daemon->loop, &port->work);
	loop_timer_del(port->daemon->loop, &port->timer);
	srp_daemon_query_stop(port);
	srp_daemon_login_stop(port);
	srp_daemon_targets_free(port);
	port->full_ns = port->recheck_ns = NEVER;
	port->subscribed = false;
}

static void closed(struct srp_port *port)
{
	const struct srp_daemon *d = port->daemon;

	if (port->mad)
		mad_close(port->mad);
	port->mad = NULL;
	port->closing = false;
	if (port->lock >= 0 && (d->stopping || !port->listed)) {
		close(port->lock);
		port->lock = -1;
	}
	if (d->stopping) {
		finish(port);
		return;
	}
	port->open_ns = loop_clock() + srp_daemon_backoff(d, 1);
	srp_daemon_port_turn(port);
}

void srp_daemon_port_close(struct srp_port *port)
{
	if (port->closing || port->finished)
		return;
	release_device(port);
	port->closing = true;
	if (!srp_daemon_watch_stop(port, closed))
		closed(port);
}

void srp_daemon_port_fini(struct srp_port *port)
{
	release_device(port);
	if (port->mad)
		mad_close(port->mad);
	if (port->lock >= 0)
		close(port->lock);
}
