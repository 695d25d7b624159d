/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iser-login: attach iSCSI targets as block devices through the kernel's initiators, or change
 * settings of a session. */
#include "iser_boot.h"
#include "iser_keep.h"
#include "iser_loss.h"
#include "iser_show.h"
#include "iser_target.h"
#include "kernel_identity.h"
#include "kernel_iscsi_session.h"
#include "loop.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS  30000
#define MSEC     1000000ull
#define SESSIONS 256 /* in one run */

struct login_options {
	struct opt_common common;
	struct iser_words words;
	struct iser_boot_words boot;
	struct iscsi_who_options who;
	struct iser_set_words set;
	const char *lun, *print, *src, *iface, *tpgt, *keeper;
	bool no_wait;
};

#define ISER_SET_TYPE struct login_options
static const struct opt rows[] = {
	ISER_NAME_ROWS(struct login_options),
	ISER_BOOT_ROWS(struct login_options),
	{ "tpgt", 0, OPT_TEXT, offsetof(struct login_options, tpgt), "NUMBER",
		"required portal group tag of the portal; default any" },
	ISCSI_WHO_ROWS(struct login_options),
	{ "src", 0, OPT_TEXT, offsetof(struct login_options, src), "ADDRESS",
		"TCP: source address" },
	{ "iface", 0, OPT_TEXT, offsetof(struct login_options, iface), "NETDEV",
		"TCP: network interface to use" },
	{ "lun", 0, OPT_TEXT, offsetof(struct login_options, lun), "NUMBER|all",
		"LUN to wait for and to print; default all" },
	ISER_SET_ROWS{ "no-wait", 0, OPT_FLAG, offsetof(struct login_options, no_wait), NULL,
		"return without waiting for the block devices" },
	ISER_KEEP_ROW(struct login_options, keeper),
	{ "print", 0, OPT_TEXT, offsetof(struct login_options, print), "dev|by-id",
		"print only the paths of the block devices" },
	{ 0 },
};

#define LOGIN_   "omit it: rdmastor iser-login -T IQN -p HOST[:PORT]"
#define LOGOUT_  "end sessions with: rdmastor iser-logout -T IQN -p HOST[:PORT]"
#define SETTING_ "settings have options of their own: rdmastor iser-login --help"
static const struct opt_foreign foreign[] = {
	{ "iscsiadm", "-m", LOGIN_ },
	{ "iscsiadm", "--mode", LOGIN_ },
	{ "iscsiadm", "-l", LOGIN_ },
	{ "iscsiadm", "--login", LOGIN_ },
	{ "iscsiadm", "--logout", LOGOUT_ },
	{ "iscsiadm", "-U", "end all sessions with: rdmastor iser-logout --all" },
	{ "iscsiadm", "--logoutall", "end all sessions with: rdmastor iser-logout --all" },
	{ "iscsiadm", "-L", "log in as at boot with: rdmastor iser-login --from-cmdline" },
	{ "iscsiadm", "--loginall", "log in as at boot with: rdmastor iser-login --from-cmdline" },
	{ "iscsiadm", "-o update", SETTING_ },
	{ "iscsiadm", "-n", SETTING_ },
	{ "iscsiadm", "--name", SETTING_ },
	{ "iscsiadm", "--value", SETTING_ },
	{ "iscsiadm", "-o show", "list sessions with: rdmastor status" },
	{ "iscsiadm", "-P", "list sessions with: rdmastor status" },
	{ "iscsiadm", "-S", "list sessions with: rdmastor status" },
	{ "iscsiadm", "--show", "list sessions with: rdmastor status" },
	{ "iscsiadm", "-s", "list sessions with: rdmastor status" },
	ISER_FOREIGN_ROWS,
	{ 0 },
};

static const struct login_options defaults = { .common.timeout_ms = WAIT_MS };

struct order { /* what one target of the command line becomes */
	struct iscsi_who who;
	struct addr src;
	uint32_t given;        /* settings that were given */
	unsigned first, count; /* of the wants */
};
struct login {
	struct call *call;
	int root;
	struct iscsi_wishes wishes;
	struct iser_targets targets;
	struct order *order;
	struct iscsi_want *want;
	const char **spelling;
	unsigned count;
	uint64_t until;
	bool there; /* a session that it was about is there now, perhaps lost */
};

static int read_numbers(
	const struct login_options *opts, struct iser_target *target, int *tpgt, struct diag *diag)
{
	const char *of_uri = uri_value(&target->uri, "tpgt"),
		   *group = opts->tpgt ? opts->tpgt : of_uri;
	struct diag why = { 0 };
	uint64_t number;

	*tpgt = target->tpgt;
	if (opts->lun && strcmp(opts->lun, "all") &&
		parse_u64(opts->lun, 0, SCSI_LUN_ALL - 1, &target->lun, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "--lun: %s", why.text);
	if (opts->lun && !strcmp(opts->lun, "all"))
		target->lun = SCSI_LUN_ALL;
	if (!group)
		return 0;
	if (parse_u64(group, 0, 65535, &number, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "tpgt: %s", why.text);
	*tpgt = (int)number;
	return 0;
}

static int read_way(const struct login_options *opts, struct iser_target *target, struct addr *src,
	const char **netdev, struct diag *diag)
{
	const char *src_key = uri_value(&target->uri, "src"),
		   *iface_key = uri_value(&target->uri, "iface");
	const char *from = opts->src ? opts->src : src_key;

	*netdev = opts->iface ? opts->iface : iface_key;
	if ((from || *netdev) && target->carrier == ISCSI_ISER)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s: not supported over iSER: the kernel follows its routes",
			from ? "--src" : "--iface");
	return from ? addr_resolve(src, from, 0, ADDR_LOOKUP_MS, diag) : 0;
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool same_addr(const struct addr *a, const struct addr *b)
{
	char one[ADDR_TEXT], other[ADDR_TEXT];

	return !strcmp(addr_text(a, one), addr_text(b, other));
}

/* Log in once per target; extra LUNs only extend the wait list. */
static bool is_twice(const struct login *login, const struct iscsi_want *want)
{
	for (unsigned i = 0; i < login->count; i++) {
		const struct iscsi_want *other = &login->want[i];

		if ((other->lun == SCSI_LUN_ALL || other->lun == want->lun) &&
			other->carrier == want->carrier && same_text(other->target, want->target) &&
			same_text(other->netdev, want->netdev) &&
			same_addr(&other->portal, &want->portal) &&
			same_addr(&other->src, &want->src))
			return true;
	}
	return false;
}

/* One target: a want for each of its sessions. */
static int read_target(struct login *login, unsigned index)
{
	struct call *call = login->call;
	const struct login_options *opts = call->opts;
	struct iser_target *target = &login->targets.target[index];
	struct order *order = &login->order[index];
	char at[ADDR_TEXT];
	uint32_t ms = 0; /* the URI's, for one attempt */
	struct iscsi_want want = { .target = target->name,
		.portal = target->portal,
		.carrier = target->carrier,
		.no_wait = opts->no_wait };
	int err = iscsi_who_read(call, &opts->who, &target->uri, &order->who);

	if (!err)
		err = read_numbers(opts, target, &want.tpgt, call->diag);
	if (!err)
		err = read_way(opts, target, &order->src, &want.netdev, call->diag);
	if (!err)
		err = iser_set_read(&opts->set, &target->uri, &want.set, &order->given, call->diag);
	if (!err)
		err = uri_msec(&target->uri, "timeout", &ms, call->diag);
	if (!err)
		err = uri_done(&target->uri, call->diag);
	if (err)
		return err;
	if (ms && !(order->given & 1u << ISER_login_timeout))
		want.set.login_timeout = (int32_t)((ms + 999) / 1000);
	if (!*target->name) {
		diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no target name: expected iser://HOST/IQN, or --target");
		diag_hint(call->diag, "list the targets with: rdmastor iser-discover %s://%s",
			target->carrier == ISCSI_ISER ? "iser" : "iscsi",
			addr_text(&target->portal, at));
		return -EINVAL;
	}
	want.lun = target->lun;
	want.src = order->src;
	order->first = login->count;
	if (is_twice(login, &want))
		return 0;
	if (login->count + want.set.nr_sessions > SESSIONS)
		return diag_set(call->diag, DIAG_USAGE, E2BIG, "too many sessions: must be 1 to %d",
			SESSIONS);
	want.from = &order->who.from;
	order->count = want.set.nr_sessions;
	for (want.nth = 0; want.nth < order->count; want.nth++) {
		login->spelling[login->count] = target->spelling;
		login->want[login->count++] = want;
	}
	return 0;
}

static int read_call(struct login *login)
{
	struct call *call = login->call;
	const struct login_options *opts = call->opts;
	bool boot = opts->boot.from_cmdline || opts->boot.ibft;
	int err = boot ? iser_boot_read(call, &opts->boot, login->root, &login->wishes) : 0;

	if (!err)
		err = iser_targets_read(call, &opts->words, boot ? &login->wishes : NULL,
			login->until, &login->targets);

	if (err)
		return err;
	login->order = calloc(login->targets.count, sizeof(*login->order));
	login->want = calloc(SESSIONS, sizeof(*login->want));
	login->spelling = calloc(SESSIONS, sizeof(*login->spelling));
	if (!login->order || !login->want || !login->spelling)
		return diag_sys(call->diag, ENOMEM, "targets");
	for (unsigned i = 0; !err && i < login->targets.count; i++) {
		err = read_target(login, i);
		if (err)
			diag_ctx(call->diag, "%s", login->targets.target[i].spelling);
	}
	return err;
}

/* Settings that are not given keep the session's values if it has to log in again. */
static void keep_settings(
	struct iscsi_want *want, uint32_t given, const struct kernel_iscsi_tmo *tmo)
{
	const struct {
		enum iser_setting setting;
		int now, *wanted;
	} kept[] = {
		{ ISER_replacement_timeout, tmo->recovery, &want->set.replacement_timeout },
		{ ISER_noop_interval, tmo->recv, &want->set.noop_interval },
		{ ISER_noop_timeout, tmo->ping, &want->set.noop_timeout },
		{ ISER_abort_timeout, tmo->abort, &want->set.abort_timeout },
		{ ISER_lu_reset_timeout, tmo->lu_reset, &want->set.lu_reset_timeout },
		{ ISER_tgt_reset_timeout, tmo->target_reset, &want->set.tgt_reset_timeout },
	};

	for (unsigned i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (!(given & 1u << kept[i].setting) && kept[i].now != VALUE_UNKNOWN)
			*kept[i].wanted = kept[i].now;
}

/* With --transport auto a session over TCP counts like one over iSER. */
static void choose_existing(struct login *login)
{
	struct kernel_iscsi_session *list;
	unsigned count;

	if (kernel_iscsi_sessions(login->root, &list, &count, NULL))
		return;
	for (unsigned i = 0; i < login->targets.count; i++) {
		const struct iser_target *target = &login->targets.target[i];
		struct order *order = &login->order[i];

		for (unsigned j = 0; j < order->count; j++) {
			struct iscsi_want *want = &login->want[order->first + j];
			const struct kernel_iscsi_session *session = kernel_iscsi_session_find(
				list, count, "tcp", target->name, &target->portal);

			if (target->any && session)
				want->carrier = ISCSI_TCP;
			session = kernel_iscsi_session_find(list, count,
				iscsi_carrier_word(want->carrier), target->name, &target->portal);
			if (session)
				keep_settings(want, order->given, &session->tmo);
		}
	}
	free(list);
}

/* --transport auto: fall back to TCP if iSER got no answer. */
static int try_tcp(struct login *login, struct loop *loop)
{
	int err = 0;

	for (unsigned i = 0; !err && i < login->targets.count; i++) {
		struct order *order = &login->order[i];
		struct iscsi_want *first = order->count ? &login->want[order->first] : NULL;

		if (!first || !login->targets.target[i].any || first->carrier != ISCSI_ISER ||
			!first->why.err || first->answers || first->why.err == EINTR)
			continue;
		if (login->call->loop.verbose)
			call_note(login->call, "%s: over iSER: %s",
				login->targets.target[i].spelling, first->why.text);
		for (unsigned j = 0; j < order->count; j++) {
			first[j].carrier = ISCSI_TCP;
			first[j].why = (struct diag){ 0 };
		}
		err = iscsi_attach(
			loop, login->root, first, order->count, login->until, login->call->diag);
	}
	return err;
}

static uint32_t live_settings(void)
{
	uint32_t live = 0;

	for (unsigned i = 0; i < ISCSI_SETTINGS; i++)
		live |= (uint32_t)iscsi_setting[i].live << i;
	return live;
}

/* Apply the given settings to sessions that existed, as far as they can change. */
static void adjust(struct login *login, struct loop *loop)
{
	for (unsigned i = 0; i < login->targets.count; i++)
		for (unsigned j = 0; j < login->order[i].count; j++) {
			struct iscsi_want *want = &login->want[login->order[i].first + j];
			uint32_t given = login->order[i].given & live_settings();

			if (want->existed && !want->why.err && given)
				iscsi_adjust(loop, login->root, want->carrier,
					(struct iscsi_if_conn){ .sid = want->sid }, &want->set,
					given, &want->why);
		}
}

/* The first failure becomes the command's. */
static int show_all(struct login *login)
{
	struct call *call = login->call;
	const struct login_options *opts = call->opts;
	unsigned failed = 0;

	out_list(call->out, "sessions");
	for (unsigned i = 0; i < login->count; i++) {
		struct iscsi_want *want = &login->want[i];

		if (want->why.err)
			diag_ctx(&want->why, "%s", login->spelling[i]);
		iser_show_want(call->out, login->root, want, opts->print);
		login->there |= want->existed || want->stays || !want->why.err;
		if (!want->why.err)
			continue;
		if (failed++)
			call_note(call, "%s: %s", want->why.object, want->why.text);
		else
			*call->diag = want->why;
	}
	out_end(call->out);
	if (failed == login->count)
		return EXIT_FAILED;
	return failed || login->wishes.problems ? EXIT_PARTLY : EXIT_DONE;
}

static void plan(struct login *login)
{
	struct out *out = login->call->out;
	struct kernel_iscsi_session *list = NULL;
	unsigned count = 0;

	kernel_iscsi_sessions(login->root, &list, &count, NULL);
	out_list(out, "sessions");
	for (unsigned i = 0; i < login->count; i++)
		iser_show_plan(out, &login->want[i], list, count);
	out_end(out);
	free(list);
}

static int log_in(struct login *login)
{
	struct call *call = login->call;
	const struct login_options *opts = call->opts;
	struct loop *loop;
	int err = read_call(login);

	if (err)
		return err;
	choose_existing(login);
	if (opts->common.dry_run) {
		plan(login);
		return login->wishes.problems ? EXIT_PARTLY : EXIT_DONE;
	}
	err = loop_new(&loop, &call->loop, call->diag);
	if (err)
		return err;
	err = iscsi_attach(loop, login->root, login->want, login->count, login->until, call->diag);
	if (!err)
		err = try_tcp(login, loop);
	if (!err && login->wishes.retry_max > 0)
		err = iser_boot_again(loop, login->root, login->want, login->count, &login->wishes,
			login->until, call->diag);
	if (!err)
		adjust(login, loop);
	loop_free(loop);
	return err ? err : show_all(login);
}

/* "session1", "/dev/sda": change its settings, print its disks. */
static int adjust_one(struct login *login, const char *word)
{
	struct call *call = login->call;
	const struct login_options *opts = call->opts;
	struct kernel_iscsi_session session;
	struct iscsi_want want = { .existed = true, .lun = SCSI_LUN_ALL };
	uint32_t given;
	struct loop *loop;
	int err = iser_session_of(login->root, word, &session, call->diag);

	if (!err)
		err = iser_set_read(&opts->set, NULL, &want.set, &given, call->diag);
	if (err)
		return err;
	login->there = true;
	want.target = session.target;
	want.sid = session.sid;
	want.host = session.host;
	want.carrier = strcmp(session.transport, "iser") ? ISCSI_TCP : ISCSI_ISER;
	if (!opts->common.dry_run && given) {
		err = loop_new(&loop, &call->loop, call->diag);
		if (err)
			return err;
		err = iscsi_adjust(loop, login->root, want.carrier,
			(struct iscsi_if_conn){ session.sid, session.cid }, &want.set, given,
			call->diag);
		loop_free(loop);
	}
	if (err)
		return err;
	kernel_scsi_luns(login->root, session.host, &want.luns, &want.count, NULL);
	out_list(call->out, "sessions");
	iser_show_want(call->out, login->root, &want, opts->print);
	out_end(call->out);
	iscsi_want_free(&want);
	return 0;
}

static int check_words(const struct call *call)
{
	const struct login_options *opts = call->opts;
	const char *word = NULL;
	unsigned sessions = 0;

	if (opts->boot.from_cmdline + opts->boot.ibft +
			(call->operands || opts->words.portals.count || opts->words.target) >
		1)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--from-cmdline, --ibft and named targets can't be combined");
	if (opts->boot.from_cmdline || opts->boot.ibft)
		return 0;
	for (unsigned i = 0; i < call->operands; i++)
		if (iser_is_session(call->operand[i])) {
			word = call->operand[i];
			sessions++;
		}
	if (!call->operands && !opts->words.portals.count && !opts->words.target) {
		diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no target given: expected iser://HOST/IQN, or --target and --portal");
		return diag_hint(call->diag,
			       "list the targets of a portal with: rdmastor iser-discover HOST"),
		       -EINVAL;
	}
	if (sessions && (sessions != 1 || call->operands != 1 || opts->words.portals.count ||
				opts->words.target)) {
		diag_set(call->diag, DIAG_USAGE, EINVAL,
			"'%s': an existing session must be the only operand", word);
		return diag_hint(call->diag,
			       "name a target with: rdmastor iser-login -T IQN -p HOST[:PORT]"),
		       -EINVAL;
	}
	return 0;
}

static int run(struct call *call)
{
	const struct login_options *opts = call->opts;
	struct login login = { .call = call,
		.until = opts->common.timeout_ms ? loop_clock() + opts->common.timeout_ms * MSEC
						 : 0 };
	int err = check_words(call);

	if (err)
		return err;
	login.root = kernel_root();
	if (login.root < 0)
		return diag_sys(call->diag, errno, "open /");
	if (call->operands && iser_is_session(call->operand[0])) {
		err = adjust_one(&login, call->operand[0]);
		if (err)
			diag_ctx(call->diag, "%s", call->operand[0]);
	} else {
		err = log_in(&login);
	}
	for (unsigned i = 0; i < login.count; i++)
		iscsi_want_free(&login.want[i]);
	for (unsigned i = 0; login.order && i < login.targets.count; i++)
		iscsi_who_forget(&login.order[i].who);
	iser_targets_free(&login.targets);
	kernel_iscsi_wishes_free(&login.wishes);
	free(login.order);
	free(login.want);
	free(login.spelling);
	for (unsigned i = 0; i < call->operands; i++)
		uri_hide(call->operand[i]); /* the keeper is a fork of this process */
	if (login.there && !opts->common.dry_run)
		iser_keep(call, login.root, opts->keeper);
	close(login.root);
	return err;
}

const struct applet applet_iser_login = {
	.name = "iser-login",
	.operands = "[URI|SESSION|DEVICE]...",
	.schemes = SCHEME_ISCSI,
	.summary = "attach iSCSI targets as block devices, over iSER or TCP",
	.opts = rows,
	.defaults = &defaults,
	.foreign = foreign,
	.examples = "  rdmastor iser-login iser://10.0.0.1/iqn.2024-01.example:disk1\n"
		    "  rdmastor iser-login -T iqn.2024-01.example:disk1 -p 10.0.0.1 -p 10.0.1.1\n"
		    "  rdmastor iser-login /dev/sdb --on-loss forever\n",
	.opts_size = sizeof(struct login_options),
	.max = 255,
	.changes = true,
	.run = run,
};
