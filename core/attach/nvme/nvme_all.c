/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connect everything that URIs, configuration or the kernel command line name. Discovery
 * controllers are queried and subsystems connected in parallel, reported ones as soon as the
 * controller has answered. Failures do not affect the others. */
#include "nvme_target.h"
#include "wire/nvmf.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPT_MS 30000
#define SUBSYSTEMS 4096 /* of one discovery controller */
#define RETRY_MS   1000

/* ---- Results, in the order of the input: those of a discovery controller in its place. */

static struct nvmf_job *add_job(
	struct nvmf_all *all, struct nvmf_job *after, const char *from, const char *discovery)
{
	struct nvmf_job *job = calloc(1, sizeof(*job)), **at = after ? &after->next : &all->job;

	if (!job)
		return NULL;
	job->all = all;
	job->from = from;
	job->discovery = discovery;
	job->next = *at;
	*at = job;
	return job;
}

static void finish_job(struct nvmf_job *job)
{
	struct nvmf_all *all = job->all;
	struct nvmf_job *next;

	job->done = true;
	while ((next = all->shown ? all->shown->next : all->job) && next->done) {
		if (!next->hidden)
			all->on_result(all, next);
		all->shown = next;
	}
}

static void note_retry(const struct nvmf_job *job, const struct diag *why)
{
	const struct out_notes *notes = &job->all->env->notes;

	if (notes->verbose)
		out_note(notes, "%s: %s; retrying", why->object[0] ? why->object : job->uri,
			why->text);
}

/* timeout_ms: of its URI or of all; 0: none */
static void start(struct attach *attach, struct nvmf_all *all, uint32_t timeout_ms)
{
	uint32_t limit_ms = all->limit_ms ? all->limit_ms : ATTEMPT_MS;

	attach->deadline = all->until;
	attach->limit_ms = timeout_ms && timeout_ms < limit_ms ? timeout_ms : limit_ms;
	attach->retry_ms = all->retry ? RETRY_MS : 0;
	all->pending++;
	attach_start(attach);
}

static void release(struct nvmf_all *all)
{
	if (!--all->pending)
		all->done(all);
}

/* ---- A connection. */

static struct nvmf_job *job_of(struct attach *attach)
{
	return container_of(attach, struct nvmf_job, nvme.attach);
}

static void connected(struct attach *attach)
{
	struct nvmf_job *job = job_of(attach);

	job->why = attach->why;
	finish_job(job);
	release(job->all);
}

static bool retry_connection(struct attach *attach)
{
	note_retry(job_of(attach), &attach->why);
	return true;
}

/* Two local addresses or interfaces are two paths to a target. */
static bool other_path(const char *const *a, const char *const *b, enum nvmf_key key)
{
	return a[key] && b[key] && strcmp(a[key], b[key]);
}

/* What a connection must have. */
static unsigned security(const struct nvmf_job *job)
{
	return (job->target.params.value[NVMF_DHCHAP_CTRL_SECRET] ? 1 : 0) |
	       (nvmf_target_encrypts(&job->target) ? 2 : 0);
}

/* Skip a target that this host connects already, with no less security. */
static bool is_known(const struct nvmf_job *job)
{
	static const enum nvmf_key keys[] = { NVMF_TRADDR, NVMF_NQN, NVMF_TRSVCID, NVMF_TRANSPORT,
		NVMF_HOSTNQN, NVMF_HOSTID };
	const unsigned all = sizeof(keys) / sizeof(*keys);
	const char *const *value = job->target.params.value, *const * other;
	unsigned same;

	for (const struct nvmf_job *at = job->all->job; at; at = at->next) {
		if (at == job || !at->target_valid)
			continue;
		other = at->target.params.value;
		for (same = 0; same < all && !strcmp(value[keys[same]], other[keys[same]]); same++)
			;
		if (same == all && !(security(job) & ~security(at)) &&
			!other_path(value, other, NVMF_HOST_TRADDR) &&
			!other_path(value, other, NVMF_HOST_IFACE))
			return true;
	}
	return false;
}

static void start_connection(struct nvmf_job *job)
{
	struct nvmf_all *all = job->all;
	struct attach *attach = &job->nvme.attach;

	job->hidden = is_known(job);
	job->target_valid = !job->hidden;
	if (job->hidden || all->plan) {
		finish_job(job);
		return;
	}
	attach_nvme_init(&job->nvme, &job->target, all->loop, all->root);
	job->nvme.named = true;
	attach->no_wait |= all->no_wait;
	attach->done = connected;
	attach->retrying = retry_connection;
	start(attach, all, job->target.timeout_ms);
}

/* ---- A discovery controller and its records. */

static void connect_record(
	struct nvmf_job *job, const struct nvmf_job *query, const struct nvmf_record *record)
{
	if (nvmf_record_target(&job->target, &query->target, &query->options, job->all->root,
		    record, job->uri, &job->why))
		finish_job(job);
	else
		start_connection(job);
}

static void connect_log(struct nvmf_job *query, const struct nvmf_log *log)
{
	struct nvmf_all *all = query->all;
	struct nvmf_job *last = query;
	unsigned subsystems = 0;

	for (unsigned i = 0; i < log->count + log->failures; i++) {
		const struct nvmf_record *record = i < log->count ? &log->record[i] : NULL;

		if (record && record->subtype != NVMF_SUBTYPE_NVME)
			continue;
		if (record && record->trtype != NVMF_TRTYPE_RDMA &&
			record->trtype != NVMF_TRTYPE_TCP) {
			out_warn(&all->env->notes, "%s: ignored: transport %s is not supported",
				record->subnqn, nvmf_trtype_str(record->trtype));
			continue;
		}
		if (record && ++subsystems > SUBSYSTEMS) {
			diag_set(&query->why, DIAG_PROTOCOL, EPROTO,
				"more than %d subsystems: the others are not connected",
				SUBSYSTEMS);
			continue;
		}
		last = add_job(all, last, query->from, record ? query->uri : NULL);
		if (!last) {
			diag_sys(&query->why, ENOMEM, "discovery records");
			return;
		}
		if (record) {
			connect_record(last, query, record);
			continue;
		}
		snprintf(last->uri, sizeof(last->uri), "%s", log->failure[i - log->count].uri);
		last->why = log->failure[i - log->count].why;
		last->done = true;
	}
}

static void answered(struct attach *attach)
{
	struct nvmf_query *query = container_of(attach, struct nvmf_query, attach);
	struct nvmf_job *job = query->user;

	job->why = attach->why;
	if (!job->why.err)
		connect_log(job, &query->discovery.log);
	job->hidden = !job->why.err;
	finish_job(job);
	release(job->all);
}

static bool retry_query(struct attach *attach)
{
	note_retry(container_of(attach, struct nvmf_query, attach)->user, &attach->why);
	return true;
}

/* Without a port, discovery over TCP tries both default ports. */
static void start_query(struct nvmf_job *job)
{
	bool port = job->options.value[NVMF_TRSVCID] || job->target.uri.port;
	struct nvmf_query *query = job->query = calloc(1, sizeof(*query));

	if (!query)
		diag_sys(&job->why, ENOMEM, "discovery");
	if (!query || nvmf_query_target(query, &job->target, job->target.params.value[NVMF_NQN],
			      port, &job->why)) {
		finish_job(job);
		return;
	}
	snprintf(job->uri, sizeof(job->uri), "%s", query->shown);
	nvmf_query_init(query, job->all->loop, job->all->root, job->all->referrals);
	query->user = job;
	query->attach.done = answered;
	query->attach.retrying = retry_query;
	start(&query->attach, job->all, job->target.timeout_ms);
}

/* ---- Input. */

static void show_lines(const struct out_notes *notes, const char *at)
{
	while (*at) {
		size_t len = strcspn(at, "\n");

		out_note(notes, "%.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
}

void nvmf_show_notes(const struct out_notes *notes, const struct nvmf_entries *conf)
{
	if (notes->verbose)
		show_lines(notes, conf->notes);
	show_lines(notes, conf->skipped);
}

int nvmf_all_read(struct nvmf_all *all, bool *any, struct diag *diag)
{
	const char *const *value = all->options->value;
	bool named = all->operands || value[NVMF_TRADDR],
	     config = all->config && strcmp(all->config, "none");
	int err = nvmf_options_check(all->options, diag);

	if (!err && all->operands && value[NVMF_TRADDR])
		err = diag_set(diag, DIAG_USAGE, EINVAL, "a URI and -t, -a, -s can't be combined");
	if (!err && named + config + all->from_cmdline + all->nbft > 1)
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"a URI or -a, --config, --from-cmdline and --nbft can't be combined");
	if (!err && value[NVMF_TRADDR])
		err = nvmf_target_check_address(value[NVMF_TRANSPORT], value[NVMF_TRADDR], diag);
	if (err)
		return err;
	if (all->from_cmdline)
		err = kernel_nvmf_conf_kernel(all->root, &all->conf, diag);
	else if (all->nbft)
		err = kernel_nvmf_conf_nbft(all->root, &all->conf, diag);
	else if (!named)
		err = kernel_nvmf_conf_read(
			all->root, config ? all->config : NULL, &all->conf, diag);
	nvmf_show_notes(&all->env->notes, &all->conf);
	if (all->conf.off)
		out_note(&all->env->notes,
			"nothing to connect: rd.nonvmf is on the kernel command line");
	*any = named || all->conf.count;
	return err;
}

static void name_source(struct identity *identity, const struct nvmf_entry *entry,
	const char *const option[NVMF_KEYS], const char *from)
{
	if (entry->value[NVMF_HOSTNQN] && !option[NVMF_HOSTNQN])
		snprintf(identity->nqn_from, sizeof(identity->nqn_from), "%.60s", from);
	if (entry->value[NVMF_HOSTID] && !option[NVMF_HOSTID])
		snprintf(identity->id_from, sizeof(identity->id_from), "%.60s", from);
}

static int add_entry(struct nvmf_all *all, struct nvmf_job **last, const struct nvmf_entry *entry,
	const char *from)
{
	struct nvmf_job *job = add_job(all, *last, from, NULL);

	if (!job)
		return -ENOMEM;
	*last = job;
	job->options = *all->options;
	nvmf_options_add(&job->options, entry, 0);
	nvmf_entry_name(entry, job->options.value, job->uri);
	if (!job->uri[0])
		snprintf(job->uri, sizeof(job->uri), "%s", from);
	if (entry->damage) {
		job->why = *entry->damage;
		return 0;
	}
	if (nvmf_target_read(
		    &job->target, all->env, all->root, &job->options, entry->uri, &job->why))
		return 0;
	if (job->target.find_paths) {
		diag_set(&job->why, DIAG_USAGE, EINVAL, "paths=auto is for nvmf-connect");
		return diag_hint(&job->why, "without an NQN, nvmf-connect-all connects all paths"),
		       0;
	}
	job->target.nsid = entry->nsid ? entry->nsid : job->target.nsid;
	name_source(&job->target.identity, entry, all->options->value, from);
	/* print it once: only configuration files may differ */
	if (!all->identity_shown)
		nvmf_show_identity(&job->target);
	all->identity_shown = true;
	job->discover = entry->discover || nvmf_target_discovery(&job->target);
	return 0;
}

static int add_entries(struct nvmf_all *all, unsigned *count, struct diag *diag)
{
	static const char from[] = "command line";
	struct nvmf_entry typed = { .discover = all->options->value[NVMF_NQN] };
	struct nvmf_job *last = NULL;
	int err = 0;

	if (all->options->value[NVMF_TRADDR])
		err = add_entry(all, &last, &typed, from);
	typed.discover = false;
	for (unsigned i = 0; i < all->operands && !err; i++) {
		typed.uri = all->operand[i];
		err = add_entry(all, &last, &typed, from);
	}
	for (unsigned i = 0; i < all->conf.count && !all->conf.off && !err; i++)
		err = add_entry(all, &last, &all->conf.entry[i], all->conf.entry[i].from);
	for (struct nvmf_job *job = all->job; job; job = job->next)
		++*count;
	return err ? diag_sys(diag, -err, "connect") : 0;
}

/* All names are resolved before the first connection. Of entries for one path, that with the most
 * security comes first. */
static void looked_up(struct nvmf_lookups *lookups)
{
	struct nvmf_all *all = container_of(lookups, struct nvmf_all, lookups);

	for (struct nvmf_job *job = all->job; job; job = job->next) {
		struct nvmf_target *t = &job->target;

		if (!job->why.err && t->why.err)
			job->why = t->why;
		else if (!job->why.err)
			nvmf_target_set_addr(t, &t->addr, &job->why);
		if (job->why.err)
			finish_job(job);
	}
	for (unsigned level = 4; level--;)
		for (struct nvmf_job *job = all->job; job; job = job->next)
			if (!job->why.err && !job->discover && security(job) == level)
				start_connection(job);
	for (struct nvmf_job *job = all->job; job; job = job->next)
		if (!job->why.err && job->discover)
			start_query(job);
	release(all);
}

int nvmf_all_start(struct nvmf_all *all, struct diag *diag)
{
	const struct attach_env *env = all->env;
	unsigned count = 0;
	int err = add_entries(all, &count, diag);

	all->until = env->timeout_ms ? loop_clock() + env->timeout_ms * MSEC : 0;
	all->target = err ? NULL : calloc(count + 1, sizeof(*all->target));
	if (!all->target)
		return err ? err : diag_sys(diag, ENOMEM, "connect");
	count = 0;
	for (struct nvmf_job *job = all->job; job; job = job->next)
		if (!job->why.err)
			all->target[count++] = &job->target;
	all->lookups = (struct nvmf_lookups){
		.loop = all->loop, .target = all->target, .count = count, .done = looked_up
	};
	all->pending = 1;
	nvmf_lookups_start(&all->lookups);
	return 0;
}

static struct attach *attach_of(struct nvmf_job *job)
{
	return job->query ? &job->query->attach : &job->nvme.attach;
}

void nvmf_all_cancel(struct nvmf_all *all)
{
	if (!all->pending)
		return;
	all->pending++;
	nvmf_lookups_cancel(&all->lookups);
	for (struct nvmf_job *job = all->job; job; job = job->next)
		if (!job->done)
			attach_cancel(attach_of(job));
	release(all);
}

static void ignore_end(struct nvmf_all *all)
{
	(void)all;
}

int nvmf_all_run(struct nvmf_all *all, struct diag *diag)
{
	int err;

	all->done = ignore_end;
	err = nvmf_all_start(all, diag);
	return err ? err : attach_run(all->loop, NULL, 0, diag);
}

void nvmf_all_free(struct nvmf_all *all)
{
	struct nvmf_job *job;

	while ((job = all->job)) {
		all->job = job->next;
		attach_nvme_free(&job->nvme);
		nvmf_target_wipe(&job->target);
		if (job->query)
			nvmf_log_free(&job->query->discovery.log);
		free(job->query);
		free(job);
	}
	free(all->target);
	kernel_nvmf_conf_free(&all->conf);
}
