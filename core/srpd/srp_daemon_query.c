/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decide which ports of the fabric are queried when: all of them, or those of a notice or a
 * failure. Scans run in parallel, as a dead port takes seconds. Duplicate requests are merged. */
#include "srp_daemon_port.h"
#include <errno.h>
#include <string.h>

#define PAUSE_MS  1000 /* between two scans of the same thing */
#define TRIES_MAX 6    /* of a port that does not answer; then only after a notice about it */
#define RETRIES   2    /* concurrent scans of such ports; the others are reserved for notices */

void srp_daemon_port_scan_all(struct srp_port *port, uint64_t due_ns)
{
	uint64_t soonest = port->scanned_ns ? port->scanned_ns + PAUSE_MS * MSEC : 0;

	if (due_ns < soonest)
		due_ns = soonest;
	if (due_ns < port->full_ns)
		port->full_ns = due_ns;
	srp_daemon_port_turn(port);
}

static bool is_same(const struct mad_port_id *a, const struct mad_port_id *b)
{
	return a->lid ? a->lid == b->lid : !b->lid && !memcmp(a->gid, b->gid, sizeof(a->gid));
}

static struct srp_query *find(struct srp_port *port, const struct mad_port_id *named)
{
	for (unsigned i = 0; i < SRP_QUERIES; i++)
		if (port->query[i].state != SRP_QUERY_FREE && is_same(&port->query[i].named, named))
			return &port->query[i];
	return NULL;
}

/* Return a free entry, or that of the port queried longest ago. NULL: all are pending; scan the
 * whole fabric instead. */
static struct srp_query *alloc_query(struct srp_port *port)
{
	struct srp_query *best = NULL;

	for (unsigned i = 0; i < SRP_QUERIES; i++) {
		struct srp_query *query = &port->query[i];

		if (query->state == SRP_QUERY_FREE)
			return query;
		if (query->state == SRP_QUERY_DONE && (!best || query->began_ns < best->began_ns))
			best = query;
	}
	return best;
}

void srp_daemon_port_query(struct srp_port *port, const struct mad_port_id *named, bool trust,
	unsigned tries, uint64_t due_ns)
{
	struct srp_query *query = find(port, named);

	if (!query) {
		query = alloc_query(port);
		if (!query && !tries)
			srp_daemon_port_scan_all(port, due_ns);
		if (!query)
			return;
		*query = (struct srp_query){ .named = *named };
	}
	query->trust |= trust;
	if (query->state == SRP_QUERY_RUNNING) {
		query->repeat = true;
		return;
	}
	if (query->state != SRP_QUERY_PENDING || due_ns < query->due_ns)
		query->due_ns = due_ns;
	if (query->began_ns && query->due_ns < query->began_ns + PAUSE_MS * MSEC)
		query->due_ns = query->began_ns + PAUSE_MS * MSEC;
	query->state = SRP_QUERY_PENDING;
	query->tries = tries;
	srp_daemon_port_turn(port);
}

/* The queries of this scan are done; repeat those requested during the scan. */
static void settle(struct srp_job *job)
{
	struct srp_port *port = job->port;

	for (unsigned i = 0; i < SRP_QUERIES; i++) {
		struct srp_query *query = &port->query[i];

		if (query->state != SRP_QUERY_RUNNING || &port->job[query->job] != job)
			continue;
		query->state = SRP_QUERY_DONE;
		if (query->repeat)
			srp_daemon_port_query(port, &query->named, query->trust, 0, 0);
		query->repeat = false;
	}
}

static struct srp_query *find_target(struct srp_port *port, const struct mad_target *target)
{
	for (unsigned i = 0; i < SRP_QUERIES; i++) {
		struct srp_query *query = &port->query[i];

		if (query->state != SRP_QUERY_FREE &&
			(query->named.lid ? query->named.lid == target->lid
					  : wire_be(query->named.gid + 8, 8) == target->guid))
			return query;
	}
	return NULL;
}

/* Retry a silent port a few times: its driver may be starting, or the subnet manager be busy with
 * it. */
static void retry_silent(struct srp_port *port, const struct mad_target *target)
{
	const struct srp_query *query = find_target(port, target);
	unsigned tries = query ? query->tries + 1 : 1;
	struct mad_port_id named = { .lid = target->lid };
	char why[128];

	srp_daemon_port_log(port, "LID %u (%016llx%016llx): %s", target->lid,
		(unsigned long long)target->prefix, (unsigned long long)target->guid,
		mad_target_error(target, why));
	if (tries > TRIES_MAX ||
		(query && query->state != SRP_QUERY_DONE)) /* given up, or pending already */
		return;
	mad_gid_make(named.gid, target->prefix, target->guid);
	srp_daemon_port_query(port, query ? &query->named : &named, target->management, tries,
		loop_clock() + srp_daemon_backoff(port->daemon, tries));
}

static void has_answered(struct srp_port *port, const struct mad_target *target)
{
	struct srp_query *query = find_target(port, target);

	if (query)
		query->tries = 0;
}

/* Whether the subnet administrator, not the port, did not answer. */
static bool is_sa_lost(const struct mad_target *target)
{
	return (target->err == -ETIMEDOUT || target->err == -EBUSY) &&
	       target->failed <= MAD_STEP_PATH;
}

/* False: the answers of the subnet administrator are incomplete. */
static bool process_result(struct srp_job *job, const struct mad_scan_result *found)
{
	struct srp_port *port = job->port;
	const struct srp_daemon *d = port->daemon;
	const struct srp_scan scan = { .port = &port->info,
		.found = found,
		.hosts = job->hosts,
		.nhosts = job->nhosts,
		.full = job->full };
	bool all = !found->cut;

	srp_daemon_targets_prune(job, found);
	if (d->events.scanned)
		d->events.scanned(d->events.arg, &scan);
	for (unsigned i = 0; i < found->count && !d->params.once; i++) {
		if (!found->target[i].err)
			has_answered(port, &found->target[i]);
		else if (is_sa_lost(&found->target[i]))
			all = false;
		else
			retry_silent(port, &found->target[i]);
	}
	return all;
}

/* Scan the whole fabric again, with growing delays. */
static void scan_again(struct srp_port *port)
{
	port->full_tries++;
	srp_daemon_port_scan_all(
		port, loop_clock() + srp_daemon_backoff(port->daemon, port->full_tries));
}

static void failed(struct srp_port *port, int err, struct diag *diag)
{
	const struct srp_daemon *d = port->daemon;

	srp_daemon_port_log(port, "%s", diag->text);
	if (!d->params.once)
		scan_again(port);
	else if (d->events.failed)
		d->events.failed(d->events.arg, &port->info, err, diag);
}

static void succeeded(struct srp_job *job, const struct mad_scan_result *found)
{
	struct srp_port *port = job->port;
	const struct srp_daemon_params *params = &port->daemon->params;

	if (!process_result(job, found)) {
		srp_daemon_port_log(port,
			found->cut ? "truncated table from the subnet administrator (LID %u): "
				     "incomplete record"
				   : "no answer from the subnet administrator (LID %u) about some "
				     "ports",
			port->info.sm_lid);
		scan_again(port);
	} else if (job->full) {
		port->full_tries = 0;
	}
	if (job->full && params->rescan_ms && !params->once)
		srp_daemon_port_scan_all(port, loop_clock() + params->rescan_ms * MSEC);
}

static void scanned(void *arg, struct mad_scan_result *found, int err, struct diag *diag)
{
	struct srp_job *job = arg;
	struct srp_port *port = job->port;

	job->scan = NULL;
	port->scans++;
	settle(job);
	if (job->full)
		port->scanned_ns = loop_clock();
	if (!err)
		succeeded(job, found);
	else
		failed(port, err, diag);
	mad_scan_result_free(found);
	srp_daemon_port_turn(port);
}

/* Add targets at once: don't wait for silent ports. */
static void target_done(void *arg, const struct mad_target *target)
{
	struct srp_job *job = arg;

	srp_daemon_targets_add(job, target);
	srp_daemon_port_turn(job->port);
}

static void start(struct srp_job *job, struct mad_scan_options *options)
{
	struct srp_port *port = job->port;
	struct diag diag = { 0 };

	free(job->hosts);
	if (kernel_srp_list(port->daemon->params.root, &job->hosts, &job->nhosts, &diag))
		srp_daemon_port_log(port, "%s", diag.text);
	job->began_ns = loop_clock();
	options->target_done = target_done;
	options->arg = job;
	if (!mad_scan_start(port->mad, options, scanned, job, &job->scan))
		return;
	job->scan = NULL;
	settle(job);
	diag_sys(&diag, ENOMEM, "scan");
	failed(port, -ENOMEM, &diag);
}

/* A full scan includes the pending queries, except of ports whose announcement the subnet
 * administrator may not know yet. */
static void start_full(struct srp_job *job)
{
	struct mad_scan_options options = { 0 };
	struct srp_port *port = job->port;

	for (unsigned i = 0; i < SRP_QUERIES; i++)
		if (port->query[i].state == SRP_QUERY_PENDING && !port->query[i].trust)
			port->query[i].state = SRP_QUERY_DONE;
	port->full_ns = NEVER;
	job->full = true;
	job->retry = false;
	start(job, &options);
}

static bool is_due(const struct srp_query *query, uint64_t now, bool retry)
{
	return query->state == SRP_QUERY_PENDING && query->due_ns <= now &&
	       (query->tries != 0) == retry;
}

/* Start one scan of all due queries that have the same `trust` as the first. */
static void start_asks(struct srp_job *job, uint64_t now, bool retry)
{
	struct mad_scan_options options = { .by_sa = true };
	struct srp_port *port = job->port;
	struct mad_port_id named[SRP_QUERIES];

	for (unsigned i = 0; i < SRP_QUERIES; i++) {
		struct srp_query *query = &port->query[i];

		if (!is_due(query, now, retry) ||
			(options.count && query->trust != options.trust_management))
			continue;
		options.trust_management = query->trust;
		named[options.count++] = query->named;
		query->state = SRP_QUERY_RUNNING;
		query->job = (uint8_t)(job - port->job);
		query->began_ns = now;
	}
	if (!options.count)
		return;
	options.only = named;
	job->full = false;
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

static unsigned jobs(const struct srp_port *port, bool full, bool retry)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SRP_JOBS; i++)
		count += port->job[i].scan && port->job[i].full == full &&
			 port->job[i].retry == retry;
	return count;
}

/* Start one scan. False: none is due that may run now. */
static bool start_next(struct srp_port *port, uint64_t now)
{
	struct srp_job *job = free_job(port);

	if (!job)
		return false;
	start_asks(job, now, false);
	if (!job->scan && port->full_ns <= now && !jobs(port, true, false))
		start_full(job);
	else if (!job->scan && jobs(port, false, true) < RETRIES)
		start_asks(job, now, true);
	return job->scan;
}

/* Called again when a scan ends, for queries that are due but may not run yet. */
void srp_daemon_query_next(struct srp_port *port, uint64_t now, uint64_t *due_ns)
{
	while (start_next(port, now))
		;
	if (port->full_ns > now && port->full_ns < *due_ns)
		*due_ns = port->full_ns;
	for (unsigned i = 0; i < SRP_QUERIES; i++) {
		const struct srp_query *query = &port->query[i];

		if (query->state == SRP_QUERY_PENDING && query->due_ns > now &&
			query->due_ns < *due_ns)
			*due_ns = query->due_ns;
	}
}

bool srp_daemon_query_busy(const struct srp_port *port)
{
	for (unsigned i = 0; i < SRP_JOBS; i++)
		if (port->job[i].scan)
			return true;
	return false;
}

void srp_daemon_query_stop(struct srp_port *port)
{
	for (unsigned i = 0; i < SRP_JOBS; i++) {
		if (port->job[i].scan)
			mad_scan_cancel(port->job[i].scan);
		free(port->job[i].hosts);
		port->job[i] = (struct srp_job){ 0 };
	}
	memset(port->query, 0, sizeof(port->query));
}
