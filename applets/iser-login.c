/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iser-login: attach iSCSI targets as block devices through the kernel's initiators, or change
 * settings of a session. */
#include "attach_multipath.h"
#include "iscsi_monitor.h"
#include "iscsi_rows.h"
#include "kernel_identity.h"
#include "kernel_iscsi.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000

struct login_options {
	struct opt_common common;
	struct iscsi_login_options login;
	const char *print, *monitor;
};

#define AT(field) offsetof(struct login_options, field)
#define SETTING_ROW(field, option, record, kind, live, min, max, initial, help)                    \
	{ option, 0, OPT_TEXT, AT(login.set.value[ISCSI_AT_##field]), SETTING_##kind, help },
#define SETTING_NUMBER  "NUMBER"
#define SETTING_SECONDS "SECONDS"
#define SETTING_BYTES   "BYTES"
#define SETTING_BOOL    "YES|NO"
#define SETTING_DIGEST  "LIST"
static const struct opt rows[] = {
	ISCSI_TARGET_ROWS(struct login_options, login.targets),
	{ "from-cmdline", 0, OPT_FLAG, AT(login.from_cmdline), NULL,
		"log in to the targets of the kernel command line (iscsi:, iser:, rd.iscsi.*, "
		"iscsi_*)" },
	{ "ibft", 0, OPT_FLAG, AT(login.ibft), NULL,
		"log in to the targets of the boot firmware (iBFT)" },
	{ "tpgt", 0, OPT_TEXT, AT(login.tpgt), "NUMBER",
		"required portal group tag of the portal; default any" },
	ISCSI_CREDENTIAL_ROWS(struct login_options, login.credentials),
	{ "src", 0, OPT_TEXT, AT(login.src), "ADDRESS", "TCP: source address" },
	{ "iface", 0, OPT_TEXT, AT(login.iface), "NETDEV", "TCP: network interface to use" },
	{ "lun", 0, OPT_TEXT, AT(login.lun), "NUMBER|all",
		"LUN to wait for and to print; default all" },
	{ "on-loss", 0, OPT_TEXT, AT(login.set.on_loss), "POLICY", OPT_ON_LOSS_HELP },
	ISCSI_SETTING_LIST(SETTING_ROW){ "no-wait", 0, OPT_FLAG, AT(login.no_wait), NULL,
		"return without waiting for the block devices" },
	ISCSI_MONITOR_ROW(struct login_options, monitor),
	{ "print", 0, OPT_TEXT, AT(print), "dev|by-id",
		"print only the paths of the block devices" },
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	ISCSI_MONITOR_FOREIGN,
	{ "iscsiadm", "-m|--mode|-l|--login",
		"omit it: rdmastor iser-login -T IQN -p HOST[:PORT]" },
	{ "iscsiadm", "--logout", "end sessions with: rdmastor iser-logout -T IQN -p HOST[:PORT]" },
	{ "iscsiadm", "-U|--logoutall", "end all sessions with: rdmastor iser-logout --all" },
	{ "iscsiadm", "-L|--loginall",
		"log in as at boot with: rdmastor iser-login --from-cmdline" },
	{ "iscsiadm", "-o update|-n|--name|--value",
		"settings have options of their own: rdmastor iser-login --help" },
	{ "iscsiadm", "-o show|-P|-S|--show|-s", "list sessions with: rdmastor status" },
	ISCSI_FOREIGN_ROWS,
	{ 0 },
};

static const struct login_options defaults = { .common.timeout_ms = WAIT_MS };

/* Print every login, or plan; the first failure becomes that of the command. *has_session: a
 * session exists now, maybe without a connection. */
static int show_all(struct call *call, struct iscsi_logins *login, bool *has_session)
{
	const struct login_options *opts = call->opts;
	struct kernel_iscsi_session *list = NULL;
	unsigned shown = 0, failed = 0, count = 0;

	if (opts->common.dry_run)
		kernel_iscsi_sessions(login->root, &list, &count, NULL);
	out_list(call->out, "sessions");
	for (unsigned i = 0; i < login->targets.count; i++) {
		const struct iscsi_target *target = &login->targets.target[i];

		for (unsigned j = target->first; j < target->first + target->count; j++) {
			struct attach_iscsi *one = &login->attach[j];
			struct diag *why = &one->attach.why;

			if (why->err)
				diag_ctx(why, "%s", target->spelling);
			if (opts->common.dry_run && !why->err)
				iscsi_show_plan(call->out, &login->env->notes, login->root, one,
					list, count);
			else
				iscsi_show_login(call->out, login->root, one, opts->print);
			shown++;
			*has_session |= one->existed || one->attach.users[0] || !why->err;
			if (!why->err)
				continue;
			if (failed++)
				call_note(call, "%s: %s", why->object, why->text);
			else
				*call->diag = *why;
		}
	}
	out_end(call->out);
	free(list);
	if (failed == shown)
		return EXIT_FAILED;
	if (!failed)
		out_error(call->out, "error", &login->boot_config.why);
	return failed || login->boot_config.problems ? EXIT_PARTLY : EXIT_DONE;
}

/* Find the disks that several sessions lead to. */
static void join_paths(struct multipath *mp, struct iscsi_logins *login, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; i < login->count && !err; i++) {
		struct attach_iscsi *one = &login->attach[i];

		if (!one->attach.why.err && !login->env->dry_run)
			err = multipath_add_luns(
				mp, one->attach.what, one->params.target, &one->luns, diag);
	}
	if (!err)
		multipath_join(mp, diag);
}

static int log_in(struct call *call, struct iscsi_logins *login, bool *has_session)
{
	const struct login_options *opts = call->opts;
	struct multipath mp = { .root = login->root,
		.notes = &login->env->notes,
		.deadline = login->until,
		.detach = "iser-logout" };
	struct diag identity = { 0 };
	int err = iscsi_logins_read(login, call->diag);

	if (!err)
		err = loop_new(&mp.loop, &call->loop, call->diag);
	if (err)
		return err;
	err = iscsi_logins_run(login, mp.loop, call->diag);
	if (!err) {
		join_paths(&mp, login, &identity);
		err = show_all(call, login, has_session);
		multipath_show(&mp, call->out, opts->print);
		if (multipath_end(&mp, call->out, err, &identity, 1, call->diag))
			err = EXIT_PARTLY;
	}
	multipath_free(&mp);
	loop_free(mp.loop);
	return err;
}

/* "session1", "/dev/sda": change its settings, print its disks. */
static int adjust(struct call *call, int root, const char *word, bool *has_session)
{
	const struct login_options *opts = call->opts;
	struct kernel_iscsi_session session;
	struct attach_iscsi one = { .existed = true, .luns.lun = SCSI_LUN_ALL };
	uint32_t given;
	struct loop *loop;
	int err = iscsi_session_of(root, word, &session, call->diag);

	if (!err)
		err = iscsi_settings_read(
			&opts->login.set, NULL, &one.params.set, &given, call->diag);
	if (err)
		return err;
	*has_session = true;
	one.params.target = session.target;
	one.sid = session.sid;
	one.luns.host = session.host;
	one.params.carrier = strcmp(session.transport, "iser") ? ISCSI_TCP : ISCSI_ISER;
	if (!opts->common.dry_run && given) {
		err = loop_new(&loop, &call->loop, call->diag);
		if (err)
			return err;
		err = iscsi_adjust(loop, root, one.params.carrier,
			(struct iscsi_if_conn){ session.sid, session.cid }, &one.params.set, given,
			call->diag);
		loop_free(loop);
	}
	if (err)
		return err;
	kernel_scsi_luns(root, session.host, &one.luns.list, &one.luns.count, NULL);
	out_list(call->out, "sessions");
	iscsi_show_login(call->out, root, &one, opts->print);
	out_end(call->out);
	attach_luns_free(&one.luns);
	return 0;
}

static int check_options(const struct call *call)
{
	const struct login_options *opts = call->opts;
	bool boot = opts->login.from_cmdline || opts->login.ibft,
	     named = opts->login.targets.portals.count || opts->login.targets.target;

	if ((boot && (call->operands || named)) || (opts->login.from_cmdline && opts->login.ibft))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--from-cmdline, --ibft and named targets can't be combined");
	if (!boot && !call->operands && !named) {
		diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no target given: expected iser://HOST/IQN, or --target and --portal");
		return diag_hint(call->diag,
			       "list the targets of a portal with: rdmastor iser-discover HOST"),
		       -EINVAL;
	}
	for (unsigned i = call->operands; i-- > 0 && (call->operands > 1 || named);)
		if (iscsi_is_plain_word(call->operand[i])) {
			diag_set(call->diag, DIAG_USAGE, EINVAL,
				"'%s': an existing session must be the only operand",
				call->operand[i]);
			return diag_hint(call->diag, "name a target with: rdmastor iser-login -T "
						     "IQN -p HOST[:PORT]"),
			       -EINVAL;
		}
	return 0;
}

static int run(struct call *call)
{
	const struct login_options *opts = call->opts;
	uint32_t ms = opts->common.timeout_ms;
	const struct attach_env env = attach_env_of(call);
	struct iscsi_logins login = { .env = &env,
		.operand = call->operand,
		.operands = call->operands,
		.options = &opts->login,
		.until = ms ? loop_clock() + ms * MSEC : 0 };
	bool has_session = false;
	int err = check_options(call);

	if (err)
		return err;
	login.root = kernel_root();
	if (login.root < 0)
		return diag_sys(call->diag, errno, "open /");
	if (call->operands && iscsi_is_plain_word(call->operand[0])) {
		err = adjust(call, login.root, call->operand[0], &has_session);
		if (err) {
			diag_ctx(call->diag, "%s", call->operand[0]);
			uri_hint_host(call->operand[0], call->diag);
		}
	} else {
		err = log_in(call, &login, &has_session);
	}
	iscsi_logins_free(&login);
	for (unsigned i = 0; i < call->operands; i++)
		uri_hide(call->operand[i]); /* the session monitor is a fork of this process */
	if (has_session && !opts->common.dry_run)
		iscsi_monitor_start(call, login.root, opts->monitor);
	close(login.root);
	return err;
}

const struct applet applet_iser_login = {
	.name = "iser-login",
	.alias = "iscsi-login",
	.operands = "[URI|SESSION|DEVICE]...",
	.schemes = SCHEME_ISCSI,
	.keys = iscsi_logins_keys,
	.summary = "attach iSCSI targets as block devices, over iSER or TCP",
	.opts = rows,
	.defaults = &defaults,
	.foreign = foreign,
	.examples =
		"  rdmastor iser-login iser://10.0.0.1/iqn.2024-01.com.example:disk1\n"
		"  rdmastor iser-login -T iqn.2024-01.com.example:disk1 -p 10.0.0.1 -p 10.0.1.1\n"
		"  rdmastor iser-login iser://10.0.0.1/iqn.2024-01.com.example:disk1 "
		"iser://10.0.1.1/iqn.2024-01.com.example:disk1\n"
		"  rdmastor iser-login /dev/sdb --on-loss forever\n",
	.opts_size = sizeof(struct login_options),
	.max = 255,
	.has_dry_run = true,
	.run = run,
};
