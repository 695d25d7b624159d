/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iser-logout: end iSCSI sessions of the kernel, named by target, session or disk. */
#include "iscsi_want.h"
#include "kernel_identity.h"
#include "kernel_iscsi_session.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000
#define MSEC    1000000ull

struct logout_options {
	struct opt_common common;
	struct iscsi_target_words words;
	bool all, force;
};

static const struct opt rows[] = {
	ISCSI_TARGET_ROWS(struct logout_options, words),
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
	struct loop *loop;
	uint64_t until;
	struct kernel_iscsi_session *list;
	bool *chosen;
	unsigned count;
};

static bool is_at(const struct kernel_iscsi_session *session, const struct iscsi_target *target)
{
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		if ((target->any || c == target->carrier) &&
			kernel_iscsi_session_find(session, 1, iscsi_carrier_word(c),
				*target->name ? target->name : session->target, &target->portal))
			return true;
	return false;
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
	err = iscsi_targets_read(call, &opts->words, NULL, logout->until, &targets);
	for (unsigned i = 0; !err && i < targets.count; i++)
		for (unsigned j = 0; j < logout->count; j++)
			logout->chosen[j] |= is_at(&logout->list[j], &targets.target[i]);
	iscsi_targets_free(&targets);
	for (unsigned i = 0; !err && i < call->operands; i++) {
		if (!iscsi_is_session(call->operand[i]))
			continue;
		err = iscsi_session_of(logout->root, call->operand[i], &named, call->diag);
		if (err)
			diag_ctx(call->diag, "%s", call->operand[i]);
		for (unsigned j = 0; !err && j < logout->count; j++)
			logout->chosen[j] |= logout->list[j].sid == named.sid;
	}
	return err;
}

static int refuse_used(int root, const struct kernel_iscsi_session *session, struct diag *diag)
{
	char who[400];

	kernel_scsi_users(root, session->host, who, sizeof(who));
	if (!who[0])
		return 0;
	diag_set(diag, DIAG_BUSY, EBUSY, "session%u is in use: %s", session->sid, who);
	return diag_hint(diag, "to log out anyway and lose unwritten data: --force"), -EBUSY;
}

static int end_one(
	struct logout *logout, const struct kernel_iscsi_session *session, struct diag *diag)
{
	const struct logout_options *opts = logout->call->opts;
	enum iscsi_carrier carrier = strcmp(session->transport, "iser") ? ISCSI_TCP : ISCSI_ISER;
	struct scsi_lun *luns = NULL;
	unsigned count = 0;
	int err = opts->force ? 0 : refuse_used(logout->root, session, diag);

	if (!err && strcmp(session->transport, "iser") && strcmp(session->transport, "tcp"))
		err = diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"session%u: transport %s is not supported: expected iser or tcp",
			session->sid, session->transport);
	if (err || opts->common.dry_run)
		return err;
	kernel_scsi_luns(logout->root, session->host, &luns, &count, NULL);
	err = iscsi_detach(logout->loop, logout->root, carrier,
		(struct iscsi_if_conn){ session->sid, session->cid }, logout->until, diag);
	kernel_scsi_drop_nodes(logout->root, luns, count);
	free(luns);
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
static int end_all(struct logout *logout)
{
	struct call *call = logout->call;
	unsigned chosen = 0, failed = 0;

	out_list(call->out, "sessions");
	for (unsigned i = 0; i < logout->count; i++) {
		struct diag why = { 0 };
		int err;

		if (!logout->chosen[i])
			continue;
		chosen++;
		err = end_one(logout, &logout->list[i], &why);
		show(call, &logout->list[i], &why);
		if (!err)
			continue;
		if (failed++)
			call_note(call, "%s", why.text);
		else
			*call->diag = why;
	}
	out_end(call->out);
	if (!chosen)
		out_line(call->out, "%s", "no matching session");
	return !failed ? EXIT_DONE : failed < chosen ? EXIT_PARTLY : EXIT_FAILED;
}

static int check_words(const struct call *call)
{
	const struct logout_options *opts = call->opts;
	bool named = call->operands || opts->words.portals.count || opts->words.target;

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
	int err = check_words(call);

	if (err)
		return err;
	logout.root = kernel_root();
	if (logout.root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = choose(&logout);
	if (!err)
		err = loop_new(&logout.loop, &call->loop, call->diag);
	if (!err) {
		err = end_all(&logout);
		loop_free(logout.loop);
	}
	free(logout.chosen);
	free(logout.list);
	close(logout.root);
	return err;
}

const struct applet applet_iser_logout = {
	.name = "iser-logout",
	.operands = "[URI|SESSION|DEVICE]...",
	.schemes = SCHEME_ISCSI,
	.summary = "end iSCSI sessions of the kernel",
	.opts = rows,
	.defaults = &defaults,
	.foreign = foreign,
	.examples = "  rdmastor iser-logout iser://10.0.0.1/iqn.2024-01.example:disk1\n"
		    "  rdmastor iser-logout session1 /dev/sdb\n",
	.opts_size = sizeof(struct logout_options),
	.max = 255,
	.changes = true,
	.run = run,
};
