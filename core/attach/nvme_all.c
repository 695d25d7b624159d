/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Everything that URIs, configuration or the kernel command line name: discovery controllers are
 * asked and subsystems are connected at the same time, those that a controller reports as soon as
 * it has answered. A failure does not keep the rest from being tried. */
#include "nvme_want.h"
#include "wire/nvmf.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPT_MS 30000
#define SUBSYSTEMS 4096 /* of one discovery controller */
#define RETRY_MS   1000
#define MSEC       1000000ull

/* ---- Results, in the order of what was named: those of a discovery controller in its place. */

static struct nvmf_goal *add_goal(
	struct nvmf_all *all, struct nvmf_goal *after, const char *from, const char *discovery)
{
	struct nvmf_goal *goal = calloc(1, sizeof(*goal)), **at = after ? &after->next : &all->goal;

	if (!goal)
		return NULL;
	goal->all = all;
	goal->from = from;
	goal->discovery = discovery;
	goal->next = *at;
	*at = goal;
	return goal;
}

static void goal_over(struct nvmf_goal *goal)
{
	struct nvmf_all *all = goal->all;
	struct nvmf_goal *next;

	goal->over = true;
	while ((next = all->shown ? all->shown->next : all->goal) && next->over) {
		if (!next->hidden)
			all->over(all, next);
		all->shown = next;
	}
}

static void retry_soon(const struct nvmf_goal *goal, const struct diag *why)
{
	const struct call *call = goal->all->call;

	if (call->loop.verbose)
		call_note(call, "%s: %s; retrying", why->object[0] ? why->object : goal->uri,
			why->text);
}

static struct attach *limit(struct attach *attach, const struct nvmf_all *all)
{
	attach->deadline = all->until;
	attach->limit_ms = ATTEMPT_MS;
	attach->retry_ms = all->retry ? RETRY_MS : 0;
	return attach;
}

/* ---- A connection. */

static struct nvmf_goal *goal_of(struct attach *attach)
{
	return container_of(attach, struct nvmf_goal, nvme.attach);
}

static void connected(struct attach *attach)
{
	struct nvmf_goal *goal = goal_of(attach);

	goal->why = attach->why;
	goal_over(goal);
}

static bool connects_again(struct attach *attach)
{
	retry_soon(goal_of(attach), &attach->why);
	return true;
}

/* Two local addresses or interfaces are two paths to a target. */
static bool other_path(const char *const *a, const char *const *b, enum nvmf_key key)
{
	return a[key] && b[key] && strcmp(a[key], b[key]);
}

/* Each host tries each target once. */
static bool is_known(const struct nvmf_goal *goal)
{
	static const enum nvmf_key keys[] = { NVMF_TRADDR, NVMF_NQN, NVMF_TRSVCID, NVMF_TRANSPORT,
		NVMF_HOSTNQN, NVMF_HOSTID };
	const unsigned all = sizeof(keys) / sizeof(*keys);
	const char *const *value = goal->target.want.value, *const * other;
	unsigned same;

	for (const struct nvmf_goal *at = goal->all->goal; at; at = at->next) {
		if (at == goal || !at->planned)
			continue;
		other = at->target.want.value;
		for (same = 0; same < all && !strcmp(value[keys[same]], other[keys[same]]); same++)
			;
		if (same == all && !other_path(value, other, NVMF_HOST_TRADDR) &&
			!other_path(value, other, NVMF_HOST_IFACE))
			return true;
	}
	return false;
}

/* NULL: over already. */
static struct attach *connection(struct nvmf_goal *goal)
{
	const struct nvmf_all *all = goal->all;
	struct attach *attach = &goal->nvme.attach;

	goal->hidden = is_known(goal);
	goal->planned = !goal->hidden;
	if (goal->hidden || all->plan) {
		goal_over(goal);
		return NULL;
	}
	attach_nvme_init(&goal->nvme, &goal->target, all->loop, all->root);
	goal->nvme.named = true;
	attach->no_wait |= all->no_wait;
	attach->done = connected;
	attach->retrying = connects_again;
	return limit(attach, all);
}

/* ---- A discovery controller, and what it reports. */

/* What a URI has for the connection applies to the records, too. A loss policy goes as such. */
static void pass_on(struct nvmf_options *own, const struct nvmf_target *t)
{
	for (int key = NVMF_HOSTNQN; key < NVMF_KEYS; key++) {
		if (kernel_nvmf_key_flag(key))
			own->flag[key] |= t->want.value[key] != NULL;
		else if (t->want.value[key] && !nvmf_target_by_policy(t, key))
			own->value[key] = t->want.value[key];
	}
	if (t->policy[0])
		own->on_loss = t->policy;
	if (t->tls.ring)
		own->value[NVMF_KEYRING] = t->tls.ring;
	if (t->tls.psk.len)
		own->tls_of = t;
}

/* Local address and TLS are for the same transport only. A name would make us ask name servers
 * (Base 2.1, 5.1.12.3.1: TRADDR is an address). */
static void connect_record(
	struct nvmf_goal *goal, const struct nvmf_goal *query, const struct nvmf_record *record)
{
	struct nvmf_options own = query->options;
	const struct nvmf_all *all = goal->all;
	struct attach *attach = NULL;
	struct addr addr;
	int err;

	pass_on(&own, &query->target);
	own.value[NVMF_TRANSPORT] = record->trtype == NVMF_TRTYPE_RDMA ? "rdma" : "tcp";
	own.value[NVMF_TRADDR] = record->traddr;
	own.value[NVMF_TRSVCID] = record->trsvcid;
	own.value[NVMF_NQN] = record->subnqn;
	if (strcmp(query->target.want.value[NVMF_TRANSPORT], own.value[NVMF_TRANSPORT])) {
		own.value[NVMF_HOST_TRADDR] = own.value[NVMF_HOST_IFACE] = NULL;
		own.flag[NVMF_HDR_DIGEST] = own.flag[NVMF_DATA_DIGEST] = own.flag[NVMF_TLS] =
			own.flag[NVMF_CONCAT] = false;
		own.value[NVMF_TLS_KEY] = own.value[NVMF_KEYRING] = own.tls_key_file =
			own.tls_key_fd = own.tls_key_identity = NULL;
		own.tls_of = NULL;
	}
	nvmf_uri(own.value, goal->uri);
	err = addr_known(&addr, record->traddr, 1, NULL) > 0
		      ? nvmf_target_read(
				&goal->target, all->call, all->root, &own, NULL, &goal->why)
		      : diag_set(&goal->why, DIAG_PROTOCOL, EPROTO, "invalid address '%s'",
				record->traddr);
	if (!err)
		err = nvmf_target_place(&goal->target, &addr, &goal->why);
	if (!err) {
		nvmf_uri(goal->target.want.value, goal->uri);
		attach = connection(goal);
	} else {
		goal_over(goal);
	}
	if (attach)
		attach_start(attach);
}

static void connect_log(struct nvmf_goal *query, const struct nvmf_log *log)
{
	struct nvmf_all *all = query->all;
	struct nvmf_goal *last = query;
	unsigned subsystems = 0;

	for (unsigned i = 0; i < log->count + log->troubles; i++) {
		const struct nvmf_record *record = i < log->count ? &log->record[i] : NULL;

		if (record && record->subtype != NVMF_SUBTYPE_NVME)
			continue;
		if (record && record->trtype != NVMF_TRTYPE_RDMA &&
			record->trtype != NVMF_TRTYPE_TCP) {
			call_warn(all->call, "%s: ignored: transport %s is not supported",
				record->subnqn, nvmf_trtype_word(record->trtype));
			continue;
		}
		if (record && ++subsystems > SUBSYSTEMS) {
			diag_set(&query->why, DIAG_PROTOCOL, EPROTO,
				"more than %d subsystems: the others are not connected",
				SUBSYSTEMS);
			continue;
		}
		last = add_goal(all, last, query->from, record ? query->uri : NULL);
		if (!last) {
			diag_sys(&query->why, ENOMEM, "discovery records");
			return;
		}
		if (record) {
			connect_record(last, query, record);
			continue;
		}
		snprintf(last->uri, sizeof(last->uri), "%s", log->trouble[i - log->count].uri);
		last->why = log->trouble[i - log->count].why;
		last->over = true;
	}
}

static void answered(struct attach *attach)
{
	struct nvmf_query *query = container_of(attach, struct nvmf_query, attach);
	struct nvmf_goal *goal = query->user;

	goal->why = attach->why;
	if (!goal->why.err)
		connect_log(goal, &query->discovery.log);
	goal->hidden = !goal->why.err;
	goal_over(goal);
}

static bool asks_again(struct attach *attach)
{
	retry_soon(container_of(attach, struct nvmf_query, attach)->user, &attach->why);
	return true;
}

/* Without a given port, discovery over TCP tries both default ports. */
static struct attach *query(struct nvmf_goal *goal)
{
	bool port = goal->options.value[NVMF_TRSVCID] || goal->target.uri.port;
	struct nvmf_query *query = goal->query = calloc(1, sizeof(*query));

	if (!query)
		diag_sys(&goal->why, ENOMEM, "discovery");
	if (!query || nvmf_query_target(query, &goal->target, port, &goal->why)) {
		goal_over(goal);
		return NULL;
	}
	snprintf(goal->uri, sizeof(goal->uri), "%s", query->shown);
	nvmf_query_init(query, goal->all->loop, goal->all->root, goal->all->referrals);
	query->user = goal;
	query->attach.done = answered;
	query->attach.retrying = asks_again;
	return limit(&query->attach, goal->all);
}

/* ---- What is named. */

static void show_lines(const struct call *call, const char *at)
{
	while (*at) {
		size_t len = strcspn(at, "\n");

		call_note(call, "%.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
}

void nvmf_show_notes(const struct call *call, const struct nvmf_entries *conf)
{
	if (call->loop.verbose)
		show_lines(call, conf->notes);
	show_lines(call, conf->skipped);
}

int nvmf_all_read(struct nvmf_all *all, bool *any)
{
	const struct call *call = all->call;
	const char *const *value = all->options->value;
	bool named = call->operands || value[NVMF_TRADDR],
	     config = all->config && strcmp(all->config, "none");
	struct diag *diag = call->diag;
	int err = nvmf_options_check(all->options, diag);

	if (!err && call->operands && value[NVMF_TRADDR])
		err = diag_set(diag, DIAG_USAGE, EINVAL, "a URI and -t, -a, -s can't be combined");
	if (!err && named + config + all->from_cmdline + all->nbft > 1)
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"a URI or -a, --config, --from-cmdline and --nbft can't be combined");
	if (!err && value[NVMF_TRADDR])
		err = nvmf_target_named(value[NVMF_TRANSPORT], value[NVMF_TRADDR], diag);
	if (err)
		return err;
	if (all->from_cmdline)
		err = kernel_nvmf_conf_kernel(all->root, &all->conf, diag);
	else if (all->nbft)
		err = kernel_nvmf_conf_nbft(all->root, &all->conf, diag);
	else if (!named)
		err = kernel_nvmf_conf_read(
			all->root, config ? all->config : NULL, &all->conf, diag);
	nvmf_show_notes(call, &all->conf);
	if (all->conf.off)
		call_note(call, "nothing to connect: rd.nonvmf is on the kernel command line");
	*any = named || all->conf.count;
	return err;
}

static void name_source(struct identity *who, const struct nvmf_entry *entry,
	const char *const option[NVMF_KEYS], const char *from)
{
	if (entry->value[NVMF_HOSTNQN] && !option[NVMF_HOSTNQN])
		snprintf(who->nqn_from, sizeof(who->nqn_from), "%.60s", from);
	if (entry->value[NVMF_HOSTID] && !option[NVMF_HOSTID])
		snprintf(who->id_from, sizeof(who->id_from), "%.60s", from);
}

static int add_entry(struct nvmf_all *all, struct nvmf_goal **last, const struct nvmf_entry *entry,
	const char *from)
{
	struct nvmf_goal *goal = add_goal(all, *last, from, NULL);

	if (!goal)
		return -ENOMEM;
	*last = goal;
	goal->options = *all->options;
	nvmf_options_add(&goal->options, entry, 0);
	nvmf_entry_name(entry, goal->options.value, goal->uri);
	if (!goal->uri[0])
		snprintf(goal->uri, sizeof(goal->uri), "%s", from);
	if (entry->damage) {
		goal->why = *entry->damage;
		return 0;
	}
	if (nvmf_target_read(
		    &goal->target, all->call, all->root, &goal->options, entry->uri, &goal->why))
		return 0;
	goal->target.nsid = entry->nsid ? entry->nsid : goal->target.nsid;
	name_source(&goal->target.who, entry, all->options->value, from);
	/* once: all have the same, unless configuration files give others */
	if (!all->identity_shown)
		nvmf_show_identity(&goal->target);
	all->identity_shown = true;
	goal->discover = entry->discover || nvmf_target_discovery(&goal->target);
	return 0;
}

static int add_entries(struct nvmf_all *all, unsigned *count)
{
	const struct call *call = all->call;
	static const char from[] = "command line";
	struct nvmf_entry typed = { .discover = all->options->value[NVMF_NQN] };
	struct nvmf_goal *last = NULL;
	int err = 0;

	if (all->options->value[NVMF_TRADDR])
		err = add_entry(all, &last, &typed, from);
	typed.discover = false;
	for (unsigned i = 0; i < call->operands && !err; i++) {
		typed.uri = call->operand[i];
		err = add_entry(all, &last, &typed, from);
	}
	for (unsigned i = 0; i < all->conf.count && !all->conf.off && !err; i++)
		err = add_entry(all, &last, &all->conf.entry[i], all->conf.entry[i].from);
	for (struct nvmf_goal *goal = all->goal; goal; goal = goal->next)
		++*count;
	return err ? diag_sys(call->diag, -err, "connect") : 0;
}

/* Names are looked up before anything is connected. */
static void find_all(struct nvmf_all *all, struct nvmf_target **targets)
{
	unsigned count = 0;

	for (struct nvmf_goal *goal = all->goal; goal; goal = goal->next)
		if (!goal->why.err)
			targets[count++] = &goal->target;
	nvmf_targets_find(all->loop, targets, count);
	for (struct nvmf_goal *goal = all->goal; goal; goal = goal->next) {
		struct nvmf_target *t = &goal->target;

		if (!goal->why.err && t->why.err)
			goal->why = t->why;
		else if (!goal->why.err)
			nvmf_target_place(t, &t->addr, &goal->why);
	}
}

static int run_all(struct nvmf_all *all, unsigned count)
{
	struct nvmf_target **targets = calloc(count + 1, sizeof(*targets));
	struct attach **list = calloc(count + 1, sizeof(*list));
	int err = targets && list ? 0 : diag_sys(all->call->diag, ENOMEM, "connect");

	if (!err)
		find_all(all, targets);
	count = 0;
	for (struct nvmf_goal *goal = all->goal; goal && !err; goal = goal->next) {
		if (goal->why.err)
			goal_over(goal);
		else
			list[count++] = goal->discover ? query(goal) : connection(goal);
	}
	if (!err)
		err = attach_run(all->loop, list, count, all->call->diag);
	for (struct nvmf_goal *goal = all->goal; goal && !err; goal = goal->next)
		if (!goal->over) { /* dropped by a second signal */
			goal->why = (goal->query ? &goal->query->attach : &goal->nvme.attach)->why;
			goal_over(goal);
		}
	free(targets);
	free(list);
	return err;
}

int nvmf_all_run(struct nvmf_all *all)
{
	const struct opt_common *common = &all->options->common;
	unsigned count = 0;
	int err = add_entries(all, &count);

	all->until = common->timeout_ms ? loop_clock() + common->timeout_ms * MSEC : 0;
	if (!err)
		err = loop_new(&all->loop, &all->call->loop, all->call->diag);
	return err ? err : run_all(all, count);
}

void nvmf_all_free(struct nvmf_all *all)
{
	struct nvmf_goal *goal;

	loop_free(all->loop);
	while ((goal = all->goal)) {
		all->goal = goal->next;
		attach_nvme_free(&goal->nvme);
		nvmf_target_wipe(&goal->target);
		if (goal->query)
			nvmf_log_free(&goal->query->discovery.log);
		free(goal->query);
		free(goal);
	}
	kernel_nvmf_conf_free(&all->conf);
}
