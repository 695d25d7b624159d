/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iscsiadm: discovery, login, logout and the list of sessions with open-iscsi's options, output and
 * exit statuses. Our own applets do the work. */
#include "applet.h"
#include "iscsi_logins.h"
#include "kernel_identity.h"
#include "kernel_iscsi.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct applet applet_iser_discover, applet_iser_login, applet_iser_logout;

#define WORDS 12

struct adm_options {
	struct opt_common common;
	const char *mode, *type, *target, *portal, *interface, *op, *sid, *level;
	bool login, logout, discover, help;
};

#define NO_DATABASE "no database is kept: pass settings to rdmastor iser-login"

#define AT(field) offsetof(struct adm_options, field)
static const struct opt rows[] = {
	{ "mode", 'm', OPT_TEXT, AT(mode), "discovery|discoverydb|node|session",
		"what to do, with the options below" },
	{ "type", 't', OPT_TEXT, AT(type), "st|sendtargets", "kind of discovery" },
	{ "discover", 'D', OPT_FLAG, AT(discover), NULL, "discover now (discoverydb)" },
	{ "portal", 'p', OPT_TEXT, AT(portal), "HOST[:PORT]", "portal" },
	{ "targetname", 'T', OPT_TEXT, AT(target), "IQN", "name of the target" },
	{ "login", 'l', OPT_FLAG, AT(login), NULL, "log in (node)" },
	{ "logout", 'u', OPT_FLAG, AT(logout), NULL, "log out (node, session)" },
	{ "interface", 'I', OPT_TEXT, AT(interface), "default|tcp|iser", "transport; default TCP" },
	{ "sid", 'r', OPT_TEXT, AT(sid), "NUMBER", "only this session" },
	{ "print", 'P', OPT_TEXT, AT(level), "0", "level of detail (session)" },
	{ "op", 'o', OPT_TEXT, AT(op), "show", "show sessions (session)" },
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	{ "iscsiadm", "-n|--name|--value", NO_DATABASE },
	{ "iscsiadm", "-R|--rescan|-s|--stats",
		"see the sessions and their disks with: rdmastor status" },
	{ "iscsiadm", "-S|--show", "see more with: rdmastor status" },
	{ "iscsiadm", "-L|--loginall",
		"log in as at boot with: rdmastor iser-login --from-cmdline" },
	{ "iscsiadm", "-U|--logoutall", "end all sessions with: rdmastor iser-logout --all" },
	{ "iscsiadm", "-m fw|-t fw",
		"log in to the firmware's targets: rdmastor iser-login --ibft" },
	{ "iscsiadm", "-m iface|-m host",
		"no interfaces are kept: bind a login with rdmastor iser-login --src or --iface" },
	{ "iscsiadm", "-t isns|-t slp", "not supported: ask a portal with -t st -p HOST" },
	{ "iscsiadm", "-d|--debug", "use --verbose" },
	{ 0 },
};

/* Run an applet with these arguments under our name. quiet: discard its results. */
static int run_as(struct call *call, const struct applet *applet, char **word, bool quiet)
{
	const struct opt_common *typed = call->opts; /* the first member */
	struct opt_common *opts = calloc(1, applet->opts_size);
	struct call sub = *call;
	struct out sink;
	char *text = NULL;
	size_t len;
	bool help = false;
	int argc = 0, err;

	while (word[argc])
		argc++;
	if (!opts)
		return diag_sys(call->diag, ENOMEM, "options");
	if (applet->defaults)
		memcpy(opts, applet->defaults, applet->opts_size);
	out_init(&sink, applet->name, false);
	if (quiet) {
		sink.to = open_memstream(&text, &len);
		sub.out = &sink;
	}
	sub.applet = applet;
	sub.opts = opts;
	err = !quiet || sink.to ? opt_parse(&sub, argc, word, opts, &help)
				: diag_sys(call->diag, ENOMEM, "results");
	if (typed->timeout_ms || typed->no_timeout) {
		opts->timeout_ms = typed->timeout_ms;
		opts->no_timeout = typed->no_timeout;
	}
	if (!err)
		err = applet->run(&sub);
	if (quiet && sink.to)
		fclose(sink.to);
	free(text);
	free(opts);
	return err;
}

static const char *transport_of(const struct adm_options *opts)
{
	return opts->interface && !strcmp(opts->interface, "iser") ? "iser" : "tcp";
}

static int refuse(struct call *call, const char *what, const char *hint)
{
	diag_set(call->diag, DIAG_USAGE, EINVAL, "%s", what);
	diag_hint(call->diag, "%s", hint);
	return -EINVAL;
}

static int discover(struct call *call)
{
	const struct adm_options *opts = call->opts;
	char *word[] = { "iser-discover", "--no-probe", "--transport", (char *)transport_of(opts),
		(char *)opts->portal, NULL };

	if (!opts->type || !opts->portal || (!strcmp(opts->mode, "discoverydb") && !opts->discover))
		return refuse(call, "expected -m discovery -t st -p HOST[:PORT]",
			"list the targets of a portal with: rdmastor iser-discover HOST[:PORT]");
	return run_as(call, &applet_iser_discover, word, false);
}

/* ---- Sessions. */

static void print_session(struct out *out, const struct kernel_iscsi_session *session)
{
	bool v6 = strchr(session->portal, ':');

	out_object(out, NULL);
	out_text(out, "transport", NULL, "%s", session->transport);
	out_text(out, "session", NULL, "session%u", session->sid);
	iscsi_show_portal(out, session->portal, session->portal_port);
	out_text(out, "target", NULL, "%s", session->target);
	out_end(out);

	out_line(out, "%s: [%u] %s%s%s:%u,%d %s (non-flash)", session->transport, session->sid,
		v6 ? "[" : "", session->portal, v6 ? "]" : "", session->portal_port, session->tpgt,
		session->target);
}

/* Count the matching sessions and pass them to each (may be NULL). */
static int each_session(struct call *call,
	void (*each)(struct out *, const struct kernel_iscsi_session *), unsigned *count)
{
	const struct adm_options *opts = call->opts;
	struct kernel_iscsi_session *list = NULL;
	int root = kernel_root(), err;

	*count = 0;
	err = root < 0 ? diag_sys(call->diag, errno, "open /")
		       : iscsi_sessions_of(root, opts->sid, opts->target, opts->portal, &list,
				 count, call->diag);
	for (unsigned i = 0; each && i < *count; i++)
		each(call->out, &list[i]);
	free(list);
	if (root >= 0)
		close(root);
	return err;
}

static int no_sessions(struct call *call)
{
	return diag_set(call->diag, DIAG_NOT_FOUND, ENOENT, "no matching sessions");
}

static int show_sessions(struct call *call)
{
	unsigned count;
	int err;

	out_list(call->out, "sessions");
	err = each_session(call, print_session, &count);
	out_end(call->out);
	return err || count ? err : no_sessions(call);
}

static void print_login(struct out *out, const struct kernel_iscsi_session *session)
{
	out_line(out, "Login to [iface: %s, target: %s, portal: %s,%u] successful.",
		strcmp(session->transport, "iser") ? "default" : "iser", session->target,
		session->portal, session->portal_port);
}

static void print_logout(struct out *out, const struct kernel_iscsi_session *session)
{
	out_line(out, "Logging out of session [sid: %u, target: %s, portal: %s,%u]", session->sid,
		session->target, session->portal, session->portal_port);
}

static int log_in(struct call *call)
{
	const struct adm_options *opts = call->opts;
	char *word[] = { "iser-login", "--target", (char *)opts->target, "--portal",
		(char *)opts->portal, "--transport", (char *)transport_of(opts),
		opts->common.dry_run ? "--dry-run" : NULL, NULL };
	unsigned count;
	int err;

	if (!opts->target || !opts->portal)
		return refuse(call, "no database of nodes is kept: expected -T IQN -p HOST[:PORT]",
			"log in with: rdmastor iser-login -T IQN -p HOST[:PORT]");
	err = run_as(call, &applet_iser_login, word, !opts->common.dry_run);
	return err || opts->common.dry_run ? err : each_session(call, print_login, &count);
}

static int log_out(struct call *call)
{
	const struct adm_options *opts = call->opts;
	char session[24] = "", *word[WORDS] = { "iser-logout" };
	unsigned count, n = 1;
	int err = each_session(call, opts->common.dry_run ? NULL : print_logout, &count);

	if (err || !count)
		return err ? err : no_sessions(call);
	if (opts->sid) {
		snprintf(session, sizeof(session), "session%.10s", opts->sid);
		word[n++] = session;
	} else if (opts->portal) {
		word[n++] = "--portal";
		word[n++] = (char *)opts->portal;
		if (opts->target) {
			word[n++] = "--target";
			word[n++] = (char *)opts->target;
		}
	} else {
		word[n++] = opts->target ? (char *)opts->target : "--all";
	}
	if (opts->common.dry_run)
		word[n++] = "--dry-run";
	err = run_as(call, &applet_iser_logout, word, !opts->common.dry_run);
	if (!err && !opts->common.dry_run)
		out_line(call->out, "%s", "Logout successful.");
	return err;
}

static int run_mode(struct call *call)
{
	const struct adm_options *opts = call->opts;

	if (!opts->mode)
		return refuse(call, "no mode given: expected -m discovery, -m node or -m session",
			"or use rdmastor discover, iser-discover, iser-login, iser-logout, status");
	if (opts->op && strcmp(opts->op, "show"))
		return refuse(call, "-o: only show is supported", NO_DATABASE);
	if (opts->level && strcmp(opts->level, "0"))
		return refuse(call, "-P: only 0 is supported", "see more with: rdmastor status");
	if (opts->login && opts->logout)
		return refuse(call, "-l and -u can't be combined", "specify one of them");
	if (!strncmp(opts->mode, "discovery", 9))
		return discover(call);
	if (opts->logout)
		return log_out(call);
	if (!strcmp(opts->mode, "node"))
		return opts->login ? log_in(call)
				   : refuse(call, "no database of nodes is kept: expected -l or -u",
					     "list sessions with: rdmastor status");
	return show_sessions(call);
}

static int run(struct call *call)
{
	const struct adm_options *opts = call->opts;
	int err;

	if (opts->help) {
		opt_help(call->applet, stdout);
		call->out->json = false;
		return EXIT_DONE;
	}
	err = run_mode(call);
	if (err < 0 && call->by_link)
		return iscsi_adm_status(call->diag);
	return err;
}

/* Invalid options have the exit status of iscsiadm. */
static int read_words(struct call *call, int argc, char **argv, void *options)
{
	struct adm_options *opts = options;
	int err = opt_parse(call, argc, argv, opts, &opts->help);

	return err && !opts->help ? iscsi_adm_status(call->diag) : 0;
}

const struct applet applet_iscsiadm = {
	.name = "iscsiadm",
	.operands = "",
	.summary = "discover, log in and log out with open-iscsi's options",
	.examples = "  iscsiadm -m discovery -t st -p 10.0.0.1\n"
		    "  iscsiadm -m node -T iqn.2024-01.com.example:disk1 -p 10.0.0.1 -l\n"
		    "  iscsiadm -m session\n",
	.opts = rows,
	.foreign = foreign,
	.opts_size = sizeof(struct adm_options),
	.own_letters = "o",
	.has_dry_run = true,
	.read_args = read_words,
	.run = run,
};
