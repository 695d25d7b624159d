/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The targets that scans have found, and the state of each. */
#include "srp_daemon_port.h"
#include "srp_rules.h"
#include <stdio.h>
#include <string.h>

static struct srp_daemon_target **bucket(struct srp_port *port, const struct mad_srp *srp)
{
	uint64_t hash =
		(srp->guid ^ srp->service_id ^ srp->ioc_guid * 3 ^ srp->id * 5 ^ srp->pkey) *
		UINT64_C(0x9e3779b97f4a7c15);

	return &port->known[hash >> 56];
}

static bool is_same(const struct mad_srp *a, const struct mad_srp *b)
{
	return a->guid == b->guid && a->prefix == b->prefix && a->id == b->id &&
	       a->ioc_guid == b->ioc_guid && a->service_id == b->service_id && a->pkey == b->pkey;
}

static struct srp_daemon_target *get(struct srp_port *port, const struct mad_srp *srp)
{
	struct srp_daemon_target **at = bucket(port, srp), *known;

	for (known = *at; known && !is_same(&known->srp, srp); known = known->next)
		;
	if (known)
		return known;
	known = port->targets < SRP_TARGETS ? calloc(1, sizeof(*known)) : NULL;
	if (!known)
		return NULL;
	port->targets++;
	known->next = *at;
	*at = known;
	known->state = SRP_FOUND;
	return known;
}

void srp_daemon_target_up(struct srp_daemon_target *known, const char *host)
{
	known->state = SRP_UP;
	known->tries = 0;
	known->why[0] = 0;
	snprintf(known->host, sizeof(known->host), "%s", host);
}

static void wait_for_login(struct srp_port *port, struct srp_daemon_target *known)
{
	known->state = SRP_WAITING;
	known->due_ns = loop_clock();
	known->turn = port->turns++;
}

/* A scan has found the target. After a notice retry a failed login at once, as the cause may be
 * fixed. The list of hosts is as of the start of the scan: since then hosts may have been removed
 * or created. */
static void update_state(const struct srp_job *job, struct srp_daemon_target *known)
{
	struct srp_port *port = job->port;
	const struct srp_daemon *d = port->daemon;
	const struct kernel_srp *listed;
	struct srp_verdict verdict;
	struct kernel_srp key;
	char host[24] = "";

	if (known->state == SRP_BUSY)
		return;
	srp_host_key(&port->info, &known->srp, &key);
	listed = kernel_srp_find(job->hosts, job->nhosts, &key, d->params.execute);
	if (listed || known->state == SRP_UP)
		snprintf(host, sizeof(host), "%s", listed ? listed->host : known->host);
	srp_decide(&d->params.policy, &known->srp, &verdict);
	if (host[0] && kernel_srp_host_matches(d->params.root, host, &key, d->params.execute)) {
		srp_daemon_target_up(known, host);
	} else if (!verdict.allow) {
		known->state = SRP_DENIED;
	} else if (!d->params.execute) {
		known->state = SRP_FOUND;
	} else if (known->state != SRP_FAILED || !job->full) {
		wait_for_login(port, known);
	}
}

static void add_service(struct srp_job *job, const struct mad_target *target,
	const struct mad_unit *unit, const struct mad_ioc *ioc, const struct mad_service *service)
{
	struct srp_port *port = job->port;
	struct srp_daemon_target *known;
	struct mad_srp srp;

	if (!mad_srp_get(&srp, target, unit, ioc, service))
		return;
	known = get(port, &srp);
	if (!known) {
		srp_daemon_port_log(port, "more than %d targets: ignoring the others", SRP_TARGETS);
		return;
	}
	known->srp = srp;
	known->seen_ns = loop_clock();
	update_state(job, known);
}

static void drop(struct srp_port *port,
	bool (*gone)(const struct srp_daemon_target *, const void *), const void *arg)
{
	for (unsigned i = 0; i < SRP_BUCKETS; i++) {
		struct srp_daemon_target **at = &port->known[i];

		while (*at) {
			struct srp_daemon_target *known = *at;

			if (known->state == SRP_BUSY || !gone(known, arg)) {
				at = &known->next;
				continue;
			}
			*at = known->next;
			port->targets--;
			free(known);
		}
	}
}

struct answers {
	const struct srp_job *job;
	const struct mad_scan_result *found;
};

/* Whether the scan covered the target's port without failure, but did not find the target. */
static bool not_seen(const struct srp_daemon_target *known, const void *arg)
{
	const struct answers *answers = arg;
	bool covered = answers->job->full && !answers->found->cut;

	if (known->seen_ns >= answers->job->began_ns)
		return false;
	for (unsigned i = 0; i < answers->found->count; i++) {
		const struct mad_target *target = &answers->found->target[i];

		if (target->guid != known->srp.guid)
			continue;
		if (target->err)
			return false;
		covered = true;
	}
	return covered;
}

static bool always(const struct srp_daemon_target *known, const void *arg)
{
	(void)known;
	(void)arg;
	return true;
}

static bool is_at(const struct srp_daemon_target *known, const void *arg)
{
	uint8_t gid[16];

	mad_gid_make(gid, known->srp.prefix, known->srp.guid);
	return !memcmp(gid, arg, sizeof(gid));
}

void srp_daemon_targets_add(struct srp_job *job, const struct mad_target *target)
{
	char text[160];

	if (mad_srp_describe_ignored(target, text))
		srp_daemon_port_log(job->port, "LID %u: %s", target->lid, text);
	for (const struct mad_unit *unit = target->unit; unit; unit = unit->next)
		for (const struct mad_ioc *ioc = unit->ioc; ioc; ioc = ioc->next)
			for (const struct mad_service *service = ioc->service; service;
				service = service->next)
				add_service(job, target, unit, ioc, service);
}

void srp_daemon_targets_prune(struct srp_job *job, const struct mad_scan_result *found)
{
	drop(job->port, not_seen, &(struct answers){ job, found });
}

void srp_daemon_targets_remove(struct srp_port *port, const uint8_t gid[16])
{
	drop(port, is_at, gid);
}

void srp_daemon_targets_free(struct srp_port *port)
{
	drop(port, always, NULL);
}

void srp_daemon_targets_recheck(struct srp_port *port)
{
	struct kernel_srp *hosts, key;
	char text[MAD_SRP_TEXT];
	unsigned count;

	if (kernel_srp_list(port->daemon->params.root, &hosts, &count, NULL))
		return;
	for (unsigned i = 0; i < SRP_BUCKETS; i++)
		for (struct srp_daemon_target *known = port->known[i]; known; known = known->next) {
			if (known->state != SRP_UP)
				continue;
			srp_host_key(&port->info, &known->srp, &key);
			if (kernel_srp_find(hosts, count, &key, true))
				continue;
			srp_daemon_port_log(port, "%s: connection lost (%s)",
				mad_srp_text(&known->srp, text), known->host);
			wait_for_login(port, known);
		}
	free(hosts);
}

static bool is_before(const struct srp_daemon_target *a, const struct srp_daemon_target *b)
{
	return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->turn < b->turn);
}

struct srp_daemon_target *srp_daemon_targets_next(
	struct srp_port *port, uint64_t now, uint64_t *due_ns)
{
	struct srp_daemon_target *best = NULL;

	for (unsigned i = 0; i < SRP_BUCKETS; i++)
		for (struct srp_daemon_target *known = port->known[i]; known; known = known->next)
			if ((known->state == SRP_WAITING || known->state == SRP_FAILED) &&
				(!best || is_before(known, best)))
				best = known;
	if (!best)
		return NULL;
	if (best->due_ns <= now)
		return best;
	if (best->due_ns < *due_ns)
		*due_ns = best->due_ns;
	return NULL;
}
