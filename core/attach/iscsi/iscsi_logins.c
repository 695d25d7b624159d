/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The logins of iser-login: session parameters from options, URIs and boot configuration, and what
 * follows a failure. */
#include "iscsi_logins.h"
#include "attach_row.h"
#include "iscsi_settings.h"
#include "kernel_iscsi.h"
#include "policy.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS 256 /* in one run */
#define RETRY_MS 1000

/* Read the targets of the kernel command line or the firmware. */
static int read_boot(struct iscsi_logins *logins, struct diag *diag)
{
	struct iscsi_boot_config *w = &logins->boot_config;
	const struct out_notes *notes = &logins->env->notes;
	bool all = notes->verbose || logins->env->dry_run;
	int err = logins->options->ibft ? kernel_iscsi_firmware(logins->root, w, diag)
					: kernel_iscsi_boot_read(logins->root, w, diag);

	if (err)
		return err;
	if (w->network && w->count && !logins->env->dry_run)
		kernel_iscsi_network(logins->root, w);
	for (char *at = w->notes, *line;
		(w->problems || all) && (line = strsep(&at, "\n")) && *line;)
		out_note(notes, "%s", line);
	for (unsigned i = 0; i < w->params; i++) {
		int len = (int)strcspn(w->param[i], "=");
		bool known = !strncmp(
			w->param[i], ISCSI_CHAP_ALGS_RECORD "=", sizeof(ISCSI_CHAP_ALGS_RECORD));

		for (unsigned j = 0; j < ISCSI_SETTINGS; j++)
			known |= !strncmp(w->param[i], iscsi_setting[j].record, (size_t)len) &&
				 !iscsi_setting[j].record[len];
		if (!known)
			out_warn(notes, "rd.iscsi.param=%.*s is ignored: not a setting of sessions",
				len, w->param[i]);
	}
	if (all && w->initiator[0])
		out_note(notes, "initiator name %s (%s)", w->initiator, w->initiator_from);
	for (unsigned i = 0; all && i < w->count; i++)
		out_note(notes, "%s at %s (%s)", w->entry[i].name, w->entry[i].host,
			w->entry[i].from);
	if (w->count)
		return 0;
	diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no valid target in the boot configuration");
	if (w->why.err)
		diag_hint(diag, "correct %s: %s", w->why.object, w->why.text);
	return -ENOENT;
}

/* Log in once per target; extra LUNs only extend the wait list. */
static bool is_duplicate(const struct iscsi_logins *logins, const struct iscsi_target *target,
	const struct iscsi_session_params *params, uint64_t lun)
{
	char text[4][ADDR_TEXT];

	addr_text(&params->portal, text[0]);
	addr_text(&params->src, text[1]);
	for (unsigned i = 0; i < logins->count; i++) {
		const struct iscsi_session_params *other = &logins->attach[i].params;
		const char *host = logins->attach[i].host;
		uint64_t others = logins->attach[i].luns.lun;

		if ((others == SCSI_LUN_ALL || others == lun) &&
			other->carrier == params->carrier &&
			!strcmp(other->target, params->target) &&
			!strcmp(other->from->initiator, params->from->initiator) &&
			!other->from->auth.target_secret == !params->from->auth.target_secret &&
			!strcmp(other->netdev ? other->netdev : "",
				params->netdev ? params->netdev : "") &&
			!strcmp(host ? host : "", target->host ? target->host : "") &&
			(!host || logins->attach[i].port == target->port) &&
			!strcmp(addr_text(&other->portal, text[2]), text[0]) &&
			!strcmp(addr_text(&other->src, text[3]), text[1]))
			return true;
	}
	return false;
}

/* Read what is not a setting: LUN, portal group, source address. */
static int read_numbers(struct iscsi_logins *logins, struct iscsi_target *target,
	struct iscsi_session_params *params, uint64_t *lun, struct diag *diag)
{
	const struct iscsi_login_options *options = logins->options;
	const char *group_key = uri_value(&target->uri, "tpgt"),
		   *src_key = uri_value(&target->uri, "src"),
		   *iface_key = uri_value(&target->uri, "iface"),
		   *group = options->tpgt ? options->tpgt : group_key,
		   *src = options->src ? options->src : src_key;
	struct diag why = { 0 };
	uint64_t number;

	params->netdev = options->iface ? options->iface : iface_key;
	params->tpgt = target->tpgt;
	*lun = target->lun;
	if (options->lun && !strcmp(options->lun, "all"))
		*lun = SCSI_LUN_ALL;
	else if (options->lun && parse_u64(options->lun, 0, SCSI_LUN_ALL - 1, lun, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "--lun: %s", why.text);
	if (group && parse_u64(group, 0, 65535, &number, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "tpgt: %s", why.text);
	if (group)
		params->tpgt = (int)number;
	if ((src || params->netdev) && target->carrier == ISCSI_ISER)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s: not supported over iSER: the kernel follows its routes",
			src ? "--src" : "--iface");
	return src ? addr_source(&params->src, "src", src, diag) : 0;
}

/* Include the initiator and all keys that userspace supports. Secrets are not printed: the user has
 * to put them into a file. */
static void hint_userspace(struct attach_iscsi *one)
{
	const struct iscsi_session_params *params = &one->params;
	struct iscsi_target *target =
		container_of(params->from, struct iscsi_target, credentials.from);
	const struct iscsi_auth *auth = &params->from->auth;
	const bool tcp = params->carrier == ISCSI_TCP;
	const int32_t digest[2] = { params->set.header_digest, params->set.data_digest };
	const char *const name[] = { "hdr_digest", "data_digest" };
	struct kernel_initiator own;
	char uri[URI_MAX], at[ADDR_TEXT], text[LOSS_TEXT];

	iscsi_attach_uri(one, uri);
	if (kernel_initiator(one->attach.root, NULL, &own, NULL) ||
		strcmp(own.name, params->from->initiator))
		uri_add_key(uri, "initiator", params->from->initiator);
	if (auth->user)
		uri_add_key(uri, "user", auth->user);
	if (auth->secret)
		uri_add_key(uri, "secret-file",
			target->credentials.file[0] ? target->credentials.file[0] : "FILE");
	if (auth->target_user)
		uri_add_key(uri, "target_user", auth->target_user);
	if (auth->target_secret)
		uri_add_key(uri, "target-secret-file",
			target->credentials.file[1] ? target->credentials.file[1] : "FILE");
	if (target->credentials.algs)
		uri_add_key(uri, "auth", target->credentials.algs);
	if (params->src.ss.ss_family)
		uri_add_key(uri, "src", addr_host(&params->src, at));
	if (params->netdev)
		uri_add_key(uri, "iface", params->netdev);
	for (unsigned i = 0; tcp && i < 2; i++)
		if (digest[i] == ISCSI_DIGEST_CRC32C || digest[i] == ISCSI_DIGEST_CRC32C_NONE)
			uri_add_key(uri, name[i], "1");
	if (params->set.replacement_timeout != LOSS_DEFAULT)
		uri_add_key(uri, "loss", loss_text(params->set.replacement_timeout, text));
	attach_hint_userspace(uri, &one->attach.why);
}

/* Keep the session's values of unspecified settings if it has to log in again. */
static void keep_settings(
	struct iscsi_settings *set, uint32_t given, const struct kernel_iscsi_tmo *tmo)
{
	const struct {
		unsigned setting;
		int now, *wanted;
	} rows[] = {
		{ ISCSI_AT_replacement_timeout, tmo->recovery, &set->replacement_timeout },
		{ ISCSI_AT_noop_interval, tmo->recv, &set->noop_interval },
		{ ISCSI_AT_noop_timeout, tmo->ping, &set->noop_timeout },
		{ ISCSI_AT_abort_timeout, tmo->abort, &set->abort_timeout },
		{ ISCSI_AT_lu_reset_timeout, tmo->lu_reset, &set->lu_reset_timeout },
		{ ISCSI_AT_tgt_reset_timeout, tmo->target_reset, &set->tgt_reset_timeout },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!(given & 1u << rows[i].setting) && rows[i].now != VALUE_UNKNOWN)
			*rows[i].wanted = rows[i].now;
}

/* With --transport auto, prefer an existing session over TCP to a new one over iSER. */
static void choose_existing(struct attach_iscsi *one)
{
	struct iscsi_session_params *params = &one->params;
	const struct iscsi_target *target =
		container_of(params->from, struct iscsi_target, credentials.from);
	const char *initiator = iscsi_own_name(params->from);
	const struct kernel_iscsi_session *session;
	struct kernel_iscsi_session *list;
	unsigned count;

	if (kernel_iscsi_sessions(one->attach.root, &list, &count, NULL))
		return;
	if (target->any && kernel_iscsi_session_find(
				   list, count, initiator, "tcp", params->target, &params->portal))
		params->carrier = ISCSI_TCP;
	session = kernel_iscsi_session_find(list, count, initiator,
		iscsi_carrier_name(params->carrier), params->target, &params->portal);
	if (session)
		keep_settings(&params->set, target->given, &session->tmo);
	free(list);
}

static int read_target(struct iscsi_logins *logins, struct iscsi_target *target, struct diag *diag)
{
	const struct iscsi_login_options *options = logins->options;
	char portal[URI_MAX];
	uint32_t ms = 0; /* of the URI: per attempt */
	struct iscsi_session_params params = {
		.target = target->name, .portal = target->portal, .carrier = target->carrier
	};
	uint64_t lun = SCSI_LUN_ALL;
	bool no_limit;
	int err = read_numbers(logins, target, &params, &lun, diag);

	if (!err)
		err = iscsi_settings_read(
			&options->set, &target->uri, &params.set, &target->given, diag);
	if (!err)
		err = uri_msec(&target->uri, "timeout", &ms, diag);
	if (!err)
		err = iscsi_credentials_read(&logins->env->notes, logins->root,
			&options->credentials, &target->uri, &target->credentials, diag);
	if (err)
		return err;
	no_limit =
		logins->env->no_timeout && !ms && !(target->given & 1u << ISCSI_AT_login_timeout);
	if (ms && !(target->given & 1u << ISCSI_AT_login_timeout))
		params.set.login_timeout = (int32_t)((ms + 999) / 1000);
	if (!*target->name) {
		diag_set(diag, DIAG_USAGE, EINVAL,
			"no target name: expected iser://HOST/IQN, or --target");
		uri_start(portal, target->carrier == ISCSI_ISER ? "iser" : "iscsi",
			target->uri.host, target->port);
		diag_hint(diag, "list the targets with: rdmastor iser-discover %s", portal);
		return -EINVAL;
	}
	params.from = &target->credentials.from;
	target->first = logins->count;
	if (is_duplicate(logins, target, &params, lun))
		return 0;
	if (logins->count + params.set.nr_sessions > SESSIONS)
		return diag_set(
			diag, DIAG_USAGE, E2BIG, "too many sessions: must be 1 to %d", SESSIONS);
	target->count = params.set.nr_sessions;
	for (params.nth = 0; params.nth < target->count; params.nth++)
		logins->attach[logins->count++] =
			(struct attach_iscsi){ .attach.no_wait = options->no_wait,
				.attach.find_only = logins->env->dry_run,
				.params = params,
				.due = true,
				.no_lookup_limit = no_limit,
				.host = target->host,
				.port = target->port,
				.found = choose_existing,
				.luns.lun = lun,
				.no_module = hint_userspace };
	return 0;
}

int iscsi_logins_read(struct iscsi_logins *logins, struct diag *diag)
{
	const struct iscsi_login_options *options = logins->options;
	bool boot = options->from_cmdline || options->ibft;
	int err = boot ? read_boot(logins, diag) : 0;

	if (!err)
		err = iscsi_targets_read(&logins->env->notes, logins->operand, logins->operands,
			&options->targets, boot ? &logins->boot_config : NULL, &logins->targets,
			diag);
	if (err)
		return err;
	logins->attach = calloc(SESSIONS, sizeof(*logins->attach));
	if (!logins->attach)
		return diag_sys(diag, ENOMEM, "targets");
	for (unsigned i = 0; !err && i < logins->targets.count; i++) {
		err = read_target(logins, &logins->targets.target[i], diag);
		if (err)
			diag_ctx(diag, "%s", logins->targets.target[i].spelling);
	}
	return err;
}

void iscsi_logins_keys(const char *uri, struct uri_key_names *asked)
{
	static const struct attach_env env = { .notes.quiet = true };
	static const struct iscsi_login_options none;
	struct diag why = { 0 };
	struct iscsi_logins *logins = calloc(1, sizeof(*logins));
	struct iscsi_target *target = calloc(1, sizeof(*target));

	if (logins && target) {
		*logins = (struct iscsi_logins){ .env = &env, .options = &none, .root = -1 };
		if (!iscsi_uri_read(&target->uri, uri, &why) && read_target(logins, target, &why))
			*asked = target->uri.known;
		explicit_bzero(target, sizeof(*target));
	}
	free(target);
	free(logins);
}

static bool is_interrupted(const struct iscsi_logins *logins)
{
	for (unsigned i = 0; i < logins->count; i++)
		if (logins->attach[i].attach.why.err == EINTR || logins->attach[i].attach.cancelled)
			return true;
	return false;
}

static bool is_unanswered(const struct attach_iscsi *one)
{
	return one->attach.why.err && one->attach.why.err != EINTR && !one->result.answers;
}

/* --transport auto: fall back to TCP if iSER got no answer and there was no session over it. */
static void choose_tcp(struct iscsi_logins *logins)
{
	for (unsigned i = 0; i < logins->targets.count; i++) {
		const struct iscsi_target *target = &logins->targets.target[i];
		struct attach_iscsi *first = &logins->attach[target->first];

		if (!target->count || !target->any || first->params.carrier != ISCSI_ISER ||
			first->existed || !is_unanswered(first))
			continue;
		if (logins->env->notes.verbose)
			out_note(&logins->env->notes, "%s: over iSER: %s", target->spelling,
				first->attach.why.text);
		for (unsigned j = 0; j < target->count; j++) {
			first[j].params.carrier = ISCSI_TCP;
			first[j].due = true;
		}
	}
}

/* rd.iscsi.login_retry_max: retry portals that did not answer for as long as that many logins may
 * take, as the network may be late. */
static bool should_retry(struct attach *attach)
{
	struct attach_iscsi *one = container_of(attach, struct attach_iscsi, attach);
	const struct iscsi_logins *logins = one->user;
	uint64_t soon = loop_clock() + SEC;

	return is_unanswered(one) && !one->existed && (!logins->until || soon < logins->until) &&
	       soon < logins->retries_since + (uint64_t)logins->boot_config.retry_max *
						      (uint64_t)one->params.set.login_timeout * SEC;
}

static void choose_retries(struct iscsi_logins *logins)
{
	logins->retries_since = loop_clock();
	for (unsigned i = 0; i < logins->count && logins->boot_config.retry_max > 0; i++) {
		struct attach_iscsi *one = &logins->attach[i];

		one->user = logins;
		one->attach.retry_ms = RETRY_MS;
		one->attach.retrying = should_retry;
		one->due = should_retry(&one->attach);
	}
}

static void adjust(struct iscsi_logins *logins)
{
	uint32_t live = 0;

	for (unsigned i = 0; i < ISCSI_SETTINGS; i++)
		live |= (uint32_t)iscsi_setting[i].live << i;
	for (unsigned i = 0; i < logins->targets.count; i++) {
		const struct iscsi_target *target = &logins->targets.target[i];
		struct attach_iscsi *one = &logins->attach[target->first];
		uint32_t given = target->given & live;

		for (unsigned j = 0; j < target->count; j++)
			if (one[j].existed && !one[j].attach.why.err && given)
				iscsi_adjust(logins->loop, logins->root, one[j].params.carrier,
					(struct iscsi_if_conn){ .sid = one[j].sid },
					&one[j].params.set, given, &one[j].attach.why);
	}
}

static bool is_unresolved(const struct iscsi_logins *logins, const struct iscsi_target *target)
{
	const struct attach_iscsi *first = &logins->attach[target->first];

	return target->from && target->count && !first->params.portal.ss.ss_family &&
	       first->attach.why.err != EINTR;
}

static void drop_unresolved(struct iscsi_logins *logins)
{
	struct iscsi_target *target = logins->targets.target;
	bool others = false;

	for (unsigned i = 0; i < logins->targets.count; i++)
		others |= target[i].count && !is_unresolved(logins, &target[i]);
	for (unsigned i = 0; i < logins->targets.count; i++) {
		struct diag *why = &logins->attach[target[i].first].attach.why;

		if (!is_unresolved(logins, &target[i]))
			continue;
		diag_ctx(why, "%s", target[i].from);
		if (!others)
			continue;
		out_note(&logins->env->notes, "%s: %s", why->object, why->text);
		if (!logins->boot_config.problems++)
			logins->boot_config.why = *why;
		target[i].count = 0;
	}
}

static void start_round(struct attach_group *group)
{
	struct iscsi_logins *logins = container_of(group, struct iscsi_logins, group);
	static void (*const choose[])(struct iscsi_logins *) = { NULL, choose_tcp, choose_retries };
	const unsigned rounds = sizeof(choose) / sizeof(*choose);

	for (; logins->round < rounds && !group->pending; logins->round++) {
		if (is_interrupted(logins) || (logins->round && logins->env->dry_run))
			continue;
		if (choose[logins->round])
			choose[logins->round](logins);
		iscsi_attach_start(group, logins->loop, logins->root, logins->attach, logins->count,
			logins->until);
	}
	if (group->pending)
		return;
	drop_unresolved(logins);
	adjust(logins);
	logins->done(logins);
}

void iscsi_logins_start(struct iscsi_logins *logins, struct loop *loop)
{
	logins->loop = loop;
	logins->round = 0;
	logins->group.done = start_round;
	start_round(&logins->group);
}

void iscsi_logins_cancel(struct iscsi_logins *logins)
{
	for (unsigned i = 0; i < logins->count && logins->group.pending; i++)
		attach_cancel(&logins->attach[i].attach);
}

static void ignore_end(struct iscsi_logins *logins)
{
	(void)logins;
}

int iscsi_logins_run(struct iscsi_logins *logins, struct loop *loop, struct diag *diag)
{
	logins->done = ignore_end;
	iscsi_logins_start(logins, loop);
	return attach_run(loop, NULL, 0, diag);
}

void iscsi_logins_free(struct iscsi_logins *logins)
{
	for (unsigned i = 0; i < logins->count; i++)
		attach_luns_free(&logins->attach[i].luns);
	free(logins->attach);
	iscsi_targets_free(&logins->targets);
	kernel_iscsi_boot_free(&logins->boot_config);
}
