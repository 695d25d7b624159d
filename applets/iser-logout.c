/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iser-logout: end iSCSI sessions of the kernel, named by target, session or disk. */
#include "attach_detach.h"
#include "iscsi_rows.h"
#include "kernel_identity.h"
#include "kernel_iscsi.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000

struct logout_options {
	struct opt_common common;
	struct iscsi_target_options targets;
	bool all, force;
};

static const struct opt rows[] = {
	ISCSI_TARGET_ROWS(struct logout_options, targets),
	{ "all", 0, OPT_FLAG, offsetof(struct logout_options, all), NULL,
		"end all iSCSI sessions except those with the root file system" },
	{ "force", 0, OPT_FLAG, offsetof(struct logout_options, force), NULL,
		"end sessions in use too; unwritten data is lost" },
	{ 0 },
};

static const struct opt_foreign foreign[] = {
	{ "iscsiadm", "-m|--mode|-u|--logout",
		"omit it: rdmastor iser-logout -T IQN -p HOST[:PORT]" },
	{ "iscsiadm", "-l|--login", "log in with: rdmastor iser-login -T IQN -p HOST[:PORT]" },
	{ "iscsiadm", "-U|--logoutall", "use --all" },
	ISCSI_FOREIGN_ROWS,
	{ 0 },
};

static const struct logout_options defaults = { .common.timeout_ms = WAIT_MS };

struct logout {
	struct call *call;
	int root;
	uint64_t until;
	struct kernel_iscsi_session *list;
	bool *chosen;
	unsigned count;
};

static bool is_at(const struct kernel_iscsi_session *session, struct iscsi_target *target)
{
	const char *initiator = uri_value(&target->uri, "initiator");

	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		if ((target->any || c == target->carrier) &&
			kernel_iscsi_session_find(session, 1, initiator, iscsi_carrier_name(c),
				*target->name ? target->name : session->target, &target->portal))
			return true;
	return false;
}

/* Choose all sessions of a target. Return false if there is none. */
static bool choose_named(struct logout *logout, const char *name)
{
	bool any = false;

	for (unsigned i = 0; i < logout->count; i++)
		if (!strcmp(logout->list[i].target, name))
			any = logout->chosen[i] = true;
	return any;
}

static int choose(struct logout *logout)
{
	struct call *call = logout->call;
	const struct logout_options *opts = call->opts;
	struct kernel_iscsi_session named;
	struct iscsi_targets targets;
	int err = kernel_iscsi_sessions(logout->root, &logout->list, &logout->count, call->diag);

	if (err)
		return err;
	logout->chosen = calloc(logout->count + 1, sizeof(*logout->chosen));
	if (!logout->chosen)
		return diag_sys(call->diag, ENOMEM, "sessions");
	for (unsigned i = 0; opts->all && i < logout->count; i++) {
		logout->chosen[i] = !kernel_scsi_has_root(logout->root, logout->list[i].host);
		if (!logout->chosen[i])
			call_note(call, "session%u: skipped: the root file system is on it",
				logout->list[i].sid);
	}
	if (opts->all)
		return 0;
	err = iscsi_targets_read(&call->notes, call->operand, call->operands, &opts->targets, NULL,
		&targets, call->diag);
	if (!err)
		err = iscsi_targets_resolve(&targets, logout->until, call->diag);
	for (unsigned i = 0; !err && i < targets.count; i++)
		for (unsigned j = 0; j < logout->count; j++)
			logout->chosen[j] |= is_at(&logout->list[j], &targets.target[i]);
	iscsi_targets_free(&targets);
	for (unsigned i = 0; !err && i < call->operands; i++) {
		const char *word = call->operand[i];

		if (!iscsi_is_plain_word(word) || choose_named(logout, word))
			continue;
		err = iscsi_session_of(logout->root, word, &named, call->diag);
		if (err == -ENOENT && attach_is_gone(logout->root, word)) {
			*call->diag = (struct diag){ 0 };
			err = 0;
			continue;
		}
		if (err)
			diag_ctx(call->diag, "%s", word);
		for (unsigned j = 0; !err && j < logout->count; j++)
			logout->chosen[j] |= logout->list[j].sid == named.sid;
	}
	return err;
}

static int check_transport(const struct kernel_iscsi_session *session, struct diag *diag)
{
	if (!strcmp(session->transport, "iser") || !strcmp(session->transport, "tcp"))
		return 0;
	return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
		"session%u: transport %s is not supported: expected iser or tcp", session->sid,
		session->transport);
}

static int detach_all(
	struct logout *logout, struct attach_iscsi *list, struct attach **attach, unsigned *host)
{
	const struct logout_options *opts = logout->call->opts;
	const struct detach_options how = { .loop = &logout->call->loop,
		.deadline = logout->until,
		.force = opts->force,
		.dry_run = opts->common.dry_run,
		.verb = "log out" };
	struct scsi_hosts together = { .host = host };
	int err;

	for (unsigned i = 0; i < logout->count; i++)
		if (logout->chosen[i] && !list[i].attach.why.err)
			host[together.count++] = logout->list[i].host;
	for (unsigned i = 0; i < logout->count; i++) {
		const struct kernel_iscsi_session *session = &logout->list[i];

		if (!logout->chosen[i] || list[i].attach.why.err)
			continue;
		list[i] = (struct attach_iscsi){ .attach = { .proto = &attach_iscsi_row,
							 .root = logout->root },
			.params.carrier =
				strcmp(session->transport, "iser") ? ISCSI_TCP : ISCSI_ISER,
			.sid = session->sid,
			.cid = session->cid,
			.luns = { .host = session->host, .together = together } };
		attach[i] = &list[i].attach;
		snprintf(attach[i]->what, sizeof(attach[i]->what), "session%u", session->sid);
	}
	err = attach_detach_all(&how, attach, logout->count, logout->call->diag);
	for (unsigned i = 0; i < logout->count; i++)
		attach_luns_free(&list[i].luns);
	return err;
}

static void show(
	struct call *call, const struct kernel_iscsi_session *session, const struct diag *why)
{
	const struct logout_options *opts = call->opts;
	struct out *out = call->out;

	out_object(out, NULL);
	out_text(out, "session", NULL, "session%u", session->sid);
	out_text(out, "target", NULL, "%s", session->target);
	out_text(out, "transport", NULL, "%s", session->transport);
	iscsi_show_portal(out, session->portal, session->portal_port);
	out_bool(out, "logged_out", NULL, !why->err && !opts->common.dry_run);
	out_error(out, "error", why);
	if (!why->err)
		out_line(out, "session%u: %s %s", session->sid,
			opts->common.dry_run ? "would log out of" : "logged out of",
			session->target);
	out_end(out);
}

/* The first failure becomes the command's. */
static int show_all(struct logout *logout, const struct attach_iscsi *list)
{
	struct call *call = logout->call;
	unsigned chosen = 0, failed = 0;

	out_list(call->out, "sessions");
	for (unsigned i = 0; i < logout->count; i++) {
		const struct diag *why = &list[i].attach.why;

		if (!logout->chosen[i])
			continue;
		chosen++;
		show(call, &logout->list[i], why);
		if (!why->err)
			continue;
		if (failed++)
			call_note(call, "%s", why->text);
		else
			*call->diag = *why;
	}
	out_end(call->out);
	if (!chosen)
		out_line(call->out, "%s", "nothing to log out of: no such iSCSI session");
	return !failed ? EXIT_DONE : failed < chosen ? EXIT_PARTLY : EXIT_FAILED;
}

static int end_all(struct logout *logout)
{
	struct attach_iscsi *list = calloc(logout->count + 1, sizeof(*list));
	struct attach **attach = calloc(logout->count + 1, sizeof(*attach));
	unsigned *host = calloc(logout->count + 1, sizeof(*host));
	int err = list && attach && host ? 0 : diag_sys(logout->call->diag, ENOMEM, "sessions");

	for (unsigned i = 0; i < logout->count && !err; i++)
		check_transport(&logout->list[i], &list[i].attach.why);
	if (!err)
		err = detach_all(logout, list, attach, host);
	err = err ? err : show_all(logout, list);
	free(host);
	free(attach);
	free(list);
	return err;
}

static int check_options(const struct call *call)
{
	const struct logout_options *opts = call->opts;
	bool named = call->operands || opts->targets.portals.count || opts->targets.target;

	if (!named && !opts->all)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no session given: expected a URI, --target and --portal, session1, a disk "
			"or --all");
	if (named && opts->all)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--all and a named target can't be combined");
	return 0;
}

static int run(struct call *call)
{
	const struct logout_options *opts = call->opts;
	struct logout logout = { .call = call,
		.until = opts->common.timeout_ms ? loop_clock() + opts->common.timeout_ms * MSEC
						 : 0 };
	int err = check_options(call);

	if (err)
		return err;
	logout.root = kernel_root();
	if (logout.root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = choose(&logout);
	if (!err)
		err = end_all(&logout);
	free(logout.chosen);
	free(logout.list);
	close(logout.root);
	return err;
}

const struct applet applet_iser_logout = {
	.name = "iser-logout",
	.alias = "iscsi-logout",
	.operands = "[URI|SESSION|DEVICE]...",
	.schemes = SCHEME_ISCSI,
	.summary = "end iSCSI sessions of the kernel",
	.opts = rows,
	.defaults = &defaults,
	.foreign = foreign,
	.examples = "  rdmastor iser-logout iser://10.0.0.1/iqn.2024-01.com.example:disk1\n"
		    "  rdmastor iser-logout session1 /dev/sdb\n",
	.opts_size = sizeof(struct logout_options),
	.max = 255,
	.has_dry_run = true,
	.run = run,
};
