/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decide which ports of the fabric are queried when: all of them, or those of a notice or a
 * failure. Scans run in parallel, as a dead port takes seconds. Duplicate requests are merged. */
#include "srp_daemon_port.h"
#include <errno.h>
#include <string.h>

#define PAUSE_MS  1000 /* between two scans of the same thing */
#define TRIES_MAX 6    /* of a port that does not answer, until it is heard of again */
#define RETRIES   2    /* scans of such ports at a time: the others are for what is heard of */

void srp_daemon_port_whole(struct srp_port *port, uint64_t due_ns)
{
	uint64_t soonest = port->scanned_ns ? port->scanned_ns + PAUSE_MS * MSEC : 0;

	if (due_ns < soonest)
		due_ns = soonest;
	if (due_ns < port->whole_ns)
		port->whole_ns = due_ns;
	srp_daemon_port_turn(port);
}

static bool is_same(const struct mad_named *a, const struct mad_named *b)
{
	return a->lid ? a->lid == b->lid : !b->lid && !memcmp(a->gid, b->gid, sizeof(a->gid));
}

static struct srp_ask *find(struct srp_port *port, const struct mad_named *named)
{
	for (unsigned i = 0; i < SRP_ASKS; i++)
		if (port->ask[i].state != SRP_ASK_FREE && is_same(&port->ask[i].named, named))
			return &port->ask[i];
	return NULL;
}

/* A free one, or that of the port asked longest ago; none when all wait to be asked: the whole
 * fabric will do. */
static struct srp_ask *take(struct srp_port *port)
{
	struct srp_ask *best = NULL;

	for (unsigned i = 0; i < SRP_ASKS; i++) {
		struct srp_ask *ask = &port->ask[i];

		if (ask->state == SRP_ASK_FREE)
			return ask;
		if (ask->state == SRP_ASK_DONE && (!best || ask->began_ns < best->began_ns))
			best = ask;
	}
	return best;
}

void srp_daemon_port_ask(struct srp_port *port, const struct mad_named *named, bool trust,
	unsigned tries, uint64_t due_ns)
{
	struct srp_ask *ask = find(port, named);

	if (!ask) {
		ask = take(port);
		if (!ask && !tries)
			srp_daemon_port_whole(port, due_ns);
		if (!ask)
			return;
		*ask = (struct srp_ask){ .named = *named };
	}
	ask->trust |= trust;
	if (ask->state == SRP_ASK_RUNNING) {
		ask->again = true;
		return;
	}
	if (ask->state != SRP_ASK_PENDING || due_ns < ask->due_ns)
		ask->due_ns = due_ns;
	if (ask->began_ns && ask->due_ns < ask->began_ns + PAUSE_MS * MSEC)
		ask->due_ns = ask->began_ns + PAUSE_MS * MSEC;
	ask->state = SRP_ASK_PENDING;
	ask->tries = tries;
	srp_daemon_port_turn(port);
}

/* The asks of this scan are done; repeat those requested during the scan. */
static void settle(struct srp_job *job)
{
	struct srp_port *port = job->port;

	for (unsigned i = 0; i < SRP_ASKS; i++) {
		struct srp_ask *ask = &port->ask[i];

		if (ask->state != SRP_ASK_RUNNING || &port->job[ask->job] != job)
			continue;
		ask->state = SRP_ASK_DONE;
		if (ask->again)
			srp_daemon_port_ask(port, &ask->named, ask->trust, 0, 0);
		ask->again = false;
	}
}

static struct srp_ask *find_target(struct srp_port *port, const struct mad_target *target)
{
	for (unsigned i = 0; i < SRP_ASKS; i++) {
		struct srp_ask *ask = &port->ask[i];

		if (ask->state != SRP_ASK_FREE &&
			(ask->named.lid ? ask->named.lid == target->lid
					: wire_be(ask->named.gid + 8, 8) == target->guid))
			return ask;
	}
	return NULL;
}

/* Retry a silent port a few times: its driver may be starting, or the subnet manager be busy with
 * it. */
static void ask_again(struct srp_port *port, const struct mad_target *target)
{
	const struct srp_ask *ask = find_target(port, target);
	unsigned tries = ask ? ask->tries + 1 : 1;
	struct mad_named named = { .lid = target->lid };
	char why[128];

	srp_daemon_port_say(port, "LID %u (%016llx%016llx): %s", target->lid,
		(unsigned long long)target->prefix, (unsigned long long)target->guid,
		mad_target_why(target, why));
	if (tries > TRIES_MAX ||
		(ask && ask->state != SRP_ASK_DONE)) /* given up, or to be asked anyway */
		return;
	mad_gid_make(named.gid, target->prefix, target->guid);
	srp_daemon_port_ask(port, ask ? &ask->named : &named, target->management, tries,
		loop_clock() + srp_daemon_backoff(port->daemon, tries));
}

static void has_answered(struct srp_port *port, const struct mad_target *target)
{
	struct srp_ask *ask = find_target(port, target);

	if (ask)
		ask->tries = 0;
}

/* It was not the port that did not answer, but the subnet administrator when it was asked about it.
 */
static bool is_sa_lost(const struct mad_target *target)
{
	return (target->err == -ETIMEDOUT || target->err == -EBUSY) &&
	       target->failed <= MAD_STEP_PATH;
}

/* False: the subnet administrator did not tell all there is. */
static bool take_in(struct srp_job *job, const struct mad_found *found)
{
	struct srp_port *port = job->port;
	const struct srp_daemon *d = port->daemon;
	const struct srp_scan scan = { .port = &port->info,
		.found = found,
		.hosts = job->hosts,
		.nhosts = job->nhosts,
		.whole = job->whole };
	bool all = !found->cut;

	srp_daemon_targets_end(job, found);
	if (d->events.scanned)
		d->events.scanned(d->events.arg, &scan);
	for (unsigned i = 0; i < found->count && !d->opts.once; i++) {
		if (!found->target[i].err)
			has_answered(port, &found->target[i]);
		else if (is_sa_lost(&found->target[i]))
			all = false;
		else
			ask_again(port, &found->target[i]);
	}
	return all;
}

/* What was missed is in the next scan of the whole fabric, later and later. */
static void scan_again(struct srp_port *port)
{
	port->whole_tries++;
	srp_daemon_port_whole(
		port, loop_clock() + srp_daemon_backoff(port->daemon, port->whole_tries));
}

static void failed(struct srp_port *port, int err, struct diag *diag)
{
	const struct srp_daemon *d = port->daemon;

	srp_daemon_port_say(port, "%s", diag->text);
	if (!d->opts.once)
		scan_again(port);
	else if (d->events.failed)
		d->events.failed(d->events.arg, &port->info, err, diag);
}

static void succeeded(struct srp_job *job, const struct mad_found *found)
{
	struct srp_port *port = job->port;
	const struct srp_daemon_options *opts = &port->daemon->opts;

	if (!take_in(job, found)) {
		srp_daemon_port_say(port,
			found->cut ? "truncated table from the subnet administrator (LID %u): "
				     "incomplete record"
				   : "no answer from the subnet administrator (LID %u) about some "
				     "ports",
			port->info.sm_lid);
		scan_again(port);
	} else if (job->whole) {
		port->whole_tries = 0;
	}
	if (job->whole && opts->rescan_ms && !opts->once)
		srp_daemon_port_whole(port, loop_clock() + opts->rescan_ms * MSEC);
}

static void scanned(void *arg, struct mad_found *found, int err, struct diag *diag)
{
	struct srp_job *job = arg;
	struct srp_port *port = job->port;

	job->scan = NULL;
	port->scans++;
	settle(job);
	if (job->whole)
		port->scanned_ns = loop_clock();
	if (!err)
		succeeded(job, found);
	else
		failed(port, err, diag);
	mad_found_free(found);
	srp_daemon_port_turn(port);
}

/* Those that answer do not wait for those that do not. */
static void asked(void *arg, const struct mad_target *target)
{
	struct srp_job *job = arg;

	srp_daemon_targets_take(job, target);
	srp_daemon_port_turn(job->port);
}

static void start(struct srp_job *job, struct mad_scan_options *options)
{
	struct srp_port *port = job->port;
	struct diag diag = { 0 };

	free(job->hosts);
	if (kernel_srp_list(port->daemon->opts.root, &job->hosts, &job->nhosts, &diag))
		srp_daemon_port_say(port, "%s", diag.text);
	job->began_ns = loop_clock();
	options->asked = asked;
	options->arg = job;
	if (!mad_scan_start(port->mad, options, scanned, job, &job->scan))
		return;
	job->scan = NULL;
	settle(job);
	diag_sys(&diag, ENOMEM, "scan");
	failed(port, -ENOMEM, &diag);
}

/* It includes what was to be asked; but ports that the subnet administrator may not know enough of
 * yet are asked themselves. */
static void start_whole(struct srp_job *job)
{
	struct mad_scan_options options = { 0 };
	struct srp_port *port = job->port;

	for (unsigned i = 0; i < SRP_ASKS; i++)
		if (port->ask[i].state == SRP_ASK_PENDING && !port->ask[i].trust)
			port->ask[i].state = SRP_ASK_DONE;
	port->whole_ns = NEVER;
	job->whole = true;
	job->retry = false;
	start(job, &options);
}

static bool is_due(const struct srp_ask *ask, uint64_t now, bool retry)
{
	return ask->state == SRP_ASK_PENDING && ask->due_ns <= now && (ask->tries != 0) == retry;
}

/* All that are due and of the kind of the first. */
static void start_asks(struct srp_job *job, uint64_t now, bool retry)
{
	struct mad_scan_options options = { .by_sa = true };
	struct srp_port *port = job->port;
	struct mad_named named[SRP_ASKS];

	for (unsigned i = 0; i < SRP_ASKS; i++) {
		struct srp_ask *ask = &port->ask[i];

		if (!is_due(ask, now, retry) ||
			(options.count && ask->trust != options.trust_management))
			continue;
		options.trust_management = ask->trust;
		named[options.count++] = ask->named;
		ask->state = SRP_ASK_RUNNING;
		ask->job = (uint8_t)(job - port->job);
		ask->began_ns = now;
	}
	if (!options.count)
		return;
	options.only = named;
	job->whole = false;
	job->retry = retry;
	start(job, &options);
}

static struct srp_job *free_job(struct srp_port *port)
{
	for (unsigned i = 0; i < SRP_JOBS; i++)
		if (!port->job[i].scan) {
			port->job[i].port = port;
			return &port->job[i];
		}
	return NULL;
}

static unsigned jobs(const struct srp_port *port, bool whole, bool retry)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SRP_JOBS; i++)
		count += port->job[i].scan && port->job[i].whole == whole &&
			 port->job[i].retry == retry;
	return count;
}

/* Starts one of them; false: nothing is due that may run. */
static bool start_next(struct srp_port *port, uint64_t now)
{
	struct srp_job *job = free_job(port);

	if (!job)
		return false;
	start_asks(job, now, false);
	if (!job->scan && port->whole_ns <= now && !jobs(port, true, false))
		start_whole(job);
	else if (!job->scan && jobs(port, false, true) < RETRIES)
		start_asks(job, now, true);
	return job->scan;
}

/* What is due and may not run yet is looked at again when a scan ends. */
void srp_daemon_ask_next(struct srp_port *port, uint64_t now, uint64_t *due_ns)
{
	while (start_next(port, now))
		;
	if (port->whole_ns > now && port->whole_ns < *due_ns)
		*due_ns = port->whole_ns;
	for (unsigned i = 0; i < SRP_ASKS; i++) {
		const struct srp_ask *ask = &port->ask[i];

		if (ask->state == SRP_ASK_PENDING && ask->due_ns > now && ask->due_ns < *due_ns)
			*due_ns = ask->due_ns;
	}
}

bool srp_daemon_ask_busy(const struct srp_port *port)
{
	for (unsigned i = 0; i < SRP_JOBS; i++)
		if (port->job[i].scan)
			return true;
	return false;
}

void srp_daemon_ask_stop(struct srp_port *port)
{
	for (unsigned i = 0; i < SRP_JOBS; i++) {
		if (port->job[i].scan)
			mad_scan_cancel(port->job[i].scan);
		free(port->job[i].hosts);
		port->job[i] = (struct srp_job){ 0 };
	}
	memset(port->ask, 0, sizeof(port->ask));
}
