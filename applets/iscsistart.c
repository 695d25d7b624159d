/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iscsistart: log in to one iSCSI target, or to those of the boot firmware. Called by a link of
 * this name it has the options, output and exit statuses of open-iscsi's tool. */
#include "iscsi_logins.h"
#include "iscsi_monitor.h"
#include "iscsi_rows.h"
#include "kernel_identity.h"
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME    "iscsistart"
#define VERSION "2.1.8" /* of open-iscsi, whose output and options these are */
#define INVALID 7       /* its statuses: ISCSI_ERR_INVAL, ISCSI_ERR_NO_OBJS_FOUND */
#define NOTHING 21

struct start_options {
	struct opt_common common;
	struct iscsi_start_options start;
	const char *debug, *monitor;
	bool network, print, version, help;
};

#define AT(field) offsetof(struct start_options, field)
static const struct opt rows[] = {
	{ "config", 'c', OPT_TEXT, AT(start.config), "FILE",
		"with -b: file with settings; default /etc/iscsi/iscsid.conf" },
	{ "initiatorname", 'i', OPT_TEXT, AT(start.initiator), "NAME", "name of this initiator" },
	{ "targetname", 't', OPT_TEXT, AT(start.target), "NAME", "name of the target" },
	{ "tgpt", 'g', OPT_TEXT, AT(start.tgpt), "N", "portal group tag, only printed" },
	{ "address", 'a', OPT_TEXT, AT(start.address), "ADDRESS", "address of the portal" },
	{ "port", 'p', OPT_TEXT, AT(start.port), "N", "port of the portal; default 3260" },
	{ "username", 'u', OPT_TEXT, AT(start.user[0]), "NAME", "CHAP user name" },
	{ "password", 'w', OPT_TEXT, AT(start.secret[0]), "SECRET", "CHAP secret" },
	{ "username-in", 'U', OPT_TEXT, AT(start.user[1]), "NAME",
		"required CHAP name of the target in mutual CHAP" },
	{ "password-in", 'W', OPT_TEXT, AT(start.secret[1]), "SECRET",
		"the target's secret: enables mutual CHAP" },
	{ "debug", 'd', OPT_TEXT, AT(debug), "N", "1 or more: report each step" },
	{ "fwparam-connect", 'b', OPT_FLAG, AT(start.firmware), NULL,
		"log in to the targets of the boot firmware (iBFT)" },
	{ "fwparam-network", 'N', OPT_FLAG, AT(network), NULL,
		"set up the network as in the iBFT" },
	{ "fwparam-print", 'f', OPT_FLAG, AT(print), NULL, "print the iBFT" },
	{ "param", 'P', OPT_LIST, AT(start.params), "NAME=VALUE",
		"setting by its name in open-iscsi's records; iface.transport_name=iser selects "
		"iSER" },
	ISCSI_MONITOR_ROW(struct start_options, monitor),
	{ "version", 'v', OPT_FLAG, AT(version), NULL, "print the version" },
	{ 0 },
};
#undef AT

/* Print to stderr, with the name it was called by. */
__attribute__((format(printf, 2, 3))) static void note(
	const struct call *call, const char *fmt, ...)
{
	const struct start_options *opts = call->opts;
	va_list args;
	char *text;
	int len;

	va_start(args, fmt);
	len = opts->common.quiet ? -1 : vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0)
		return;
	out_message(OUT_INFO, "%s" NAME ": %s", call->by_link ? "" : "rdmastor ", text);
	free(text);
}

/* Parse as open-iscsi 2.1.8 does with getopt_long(), with its messages and in order: some options
 * end the parsing. '-' stands for '_' as in our own rows. */
#define NAMES 17
static const struct option names[] = {
	{ "config", 1, NULL, 'c' },
	{ "initiatorname", 1, NULL, 'i' },
	{ "targetname", 1, NULL, 't' },
	{ "tgpt", 1, NULL, 'g' },
	{ "address", 1, NULL, 'a' },
	{ "port", 1, NULL, 'p' },
	{ "username", 1, NULL, 'u' },
	{ "password", 1, NULL, 'w' },
	{ "username_in", 1, NULL, 'U' },
	{ "password_in", 1, NULL, 'W' },
	{ "debug", 1, NULL, 'd' },
	{ "fwparam_connect", 0, NULL, 'b' },
	{ "fwparam_network", 0, NULL, 'N' },
	{ "fwparam_print", 0, NULL, 'f' },
	{ "param", 1, NULL, 'P' },
	{ "help", 0, NULL, 'h' },
	{ "version", 0, NULL, 'v' },
	{ "username-in", 1, NULL, 'U' },
	{ "password-in", 1, NULL, 'W' },
	{ "fwparam-connect", 0, NULL, 'b' },
	{ "fwparam-network", 0, NULL, 'N' },
	{ "fwparam-print", 0, NULL, 'f' },
	{ 0 },
};

static bool begins(const char *name, const char *typed, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] != typed[i] && !(name[i] == '_' && typed[i] == '-'))
			return false;
	return true;
}

/* name: where argv[0] is, or NULL to be silent. -1: the end; '?': wrong. Operands are skipped. */
static int next_option(int argc, char **argv, const char *name)
{
	unsigned known = 0, possible = 0;
	const char *word;
	size_t len;
	int at, letter;

	opterr = 0;
	do {
		at = optind;
		letter = getopt_long(argc, argv, "+:c:i:t:g:a:p:u:w:U:W:d:bNfP:hv", names, NULL);
	} while (letter == -1 && optind == at && at < argc && ++optind);
	if (!name || (letter != '?' && letter != ':'))
		return letter == ':' ? '?' : letter;
	word = argv[at];
	while (known < NAMES && names[known].val != optopt)
		known++;
	if (word[1] != '-') {
		fprintf(stderr, "%s: %s -- '%c'\n", name,
			letter == ':' ? "option requires an argument" : "invalid option", optopt);
	} else if (known < NAMES) {
		fprintf(stderr, "%s: option '--%s' %s an argument\n", name, names[known].name,
			letter == ':' ? "requires" : "doesn't allow");
	} else {
		len = strcspn(word += 2, "=");
		for (unsigned i = 0; i < NAMES; i++) {
			if (!begins(names[i].name, word, len))
				continue;
			if (!possible++)
				fprintf(stderr,
					"%s: option '--%s' is ambiguous; possibilities:", name,
					word);
			fprintf(stderr, " '--%s'", names[i].name);
		}
		if (!possible)
			fprintf(stderr, "%s: unrecognized option '--%s'", name, word);
		fputc('\n', stderr);
	}
	return '?';
}

static void hide(int argc, char **argv)
{
	int letter;

	optind = 1;
	while ((letter = next_option(argc, argv, NULL)) != -1) {
		char *secret = letter == 'w' || letter == 'W' ? optarg : NULL;

		if (letter == 'P' && strstr(optarg, "password") && strchr(optarg, '='))
			secret = strchr(optarg, '=') + 1;
		if (secret)
			explicit_bzero(secret, strlen(secret));
	}
}

static int parse_option(struct start_options *opts, int letter, const char *value)
{
	static const struct {
		char letter;
		uint16_t max;
		const char *what;
	} limits[] = { { 't', 255, "targetname" }, { 'a', 1025, "address" },
		{ 'u', 256, "username" }, { 'w', 256, "password" }, { 'U', 256, "username_in" },
		{ 'W', 256, "password_in" } };
	const struct opt *row = rows;
	void *to;

	while (row->name && row->letter != letter)
		row++;
	if (!row->name) {
		fputs("Try `" NAME " --help' for more information.\n", stderr);
		return INVALID;
	}
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].letter == letter && strlen(value) > limits[i].max) {
			printf(NAME ": invalid %s %s. Max %s length is %u.\n", limits[i].what,
				letter == 'w' || letter == 'W' ? "" : value, limits[i].what,
				limits[i].max);
			return INVALID;
		}
	to = (char *)opts + row->at;
	if (row->type == OPT_FLAG) {
		*(bool *)to = true;
	} else if (row->type == OPT_TEXT) {
		*(const char **)to = value;
	} else if (!value[strcspn(value, "=")] || !strchr(value, '=')[1]) {
		fprintf(stderr, NAME ": Invalid --param %.*s. Missing value.\n",
			(int)strcspn(value, "="), value);
		return INVALID;
	} else if (opts->start.params.count == OPT_LIST_MAX) {
		fprintf(stderr, NAME ": more than %d --param\n", OPT_LIST_MAX);
		return INVALID;
	} else {
		opts->start.params.item[opts->start.params.count++] = value;
	}
	return 0;
}

static int read_words(struct call *call, int argc, char **argv, void *to)
{
	struct start_options *opts = to;
	int letter, rc = 0;

	call->operand = argv + (argc > 0);
	optind = 1;
	while (!rc && (letter = next_option(argc, argv, argv[0])) != -1) {
		if (letter == 'h') {
			opts->help = true;
			return 0;
		}
		rc = parse_option(opts, letter, optarg);
		if (letter == 'v' || letter == 'N' || letter == 'f')
			return rc;
	}
	return rc;
}

static int help(void)
{
	fputs("Usage: " NAME " [OPTION]\n"
	      "Open-iSCSI initiator.\n"
	      "  -c, --config=[path]      set config file (default /etc/iscsi/iscsid.conf).\n"
	      "  -i, --initiatorname=name set InitiatorName to name (Required)\n"
	      "  -t, --targetname=name    set TargetName to name (Required)\n"
	      "  -g, --tgpt=N             set target portal group tag to N (Required)\n"
	      "  -a, --address=A.B.C.D    set IP address to A.B.C.D (Required)\n"
	      "  -p, --port=N             set port to N (Default 3260)\n"
	      "  -u, --username=N         set username to N (optional)\n"
	      "  -w, --password=N         set password to N (optional\n"
	      "  -U, --username_in=N      set incoming username to N (optional)\n"
	      "  -W, --password_in=N      set incoming password to N (optional)\n"
	      "  -d, --debug=debuglevel   print debugging information \n"
	      "  -b, --fwparam_connect    create a session to the target using iBFT or OF\n"
	      "  -N, --fwparam_network    bring up the network as specified by iBFT or OF\n"
	      "  -f, --fwparam_print      print the iBFT or OF info to STDOUT \n"
	      "  -P, --param=NAME=VALUE   set parameter with the name NAME to VALUE\n"
	      "  -h, --help               display this help and exit\n"
	      "  -v, --version            display version and exit\n",
		stdout);
	return EXIT_DONE;
}

struct start { /* one run */
	struct iscsi_start core;
	struct call *call;
	const struct start_options *opts;
};

static void note_ignored(struct iscsi_start *core, const char *text)
{
	note(core->user, "%s", text);
}

/* Read initiator, targets and settings from the options and the configuration. */
static int read_settings(struct start *s)
{
	struct iscsi_start_options opts = s->opts->start;
	struct call *call = s->call;

	opts.exiting = call->by_link ? ". Exiting " NAME : NULL;
	if (!iscsi_start_targets(&s->core, &opts, call->diag))
		return iscsi_start_settings(&s->core, &opts, call->diag) ? EXIT_FAILED : 0;
	if (call->diag->code == DIAG_USAGE)
		return INVALID;
	if (!opts.firmware)
		return EXIT_FAILED;
	out_line(call->out, "Could not get boot entry.");
	return NOTHING;
}

static void report_session(struct start *s, unsigned i)
{
	const struct attach_iscsi *one = &s->core.attach[i];
	const struct iscsi_boot_target *entry = &s->core.boot_config.entry[i];
	struct call *call = s->call;
	const char *text;
	unsigned number;

	if (one->attach.why.err && call->by_link) {
		number = iscsi_start_error(one, &text);
		note(call, "initiator reported error (%u - %s)", number, text);
	}
	if (one->attach.why.err && (call->by_link || s->core.boot_config.count > 1)) {
		note(call, "%s: %s", entry->name, one->attach.why.text);
		if (one->attach.why.hint[0])
			note(call, "hint: %s", one->attach.why.hint);
	}
	if (one->attach.why.err)
		return;
	if (one->existed)
		note(call, "session%u to this target already exists", one->sid);
	else
		note(call,
			"Connection%u:0 to [target: %s, portal: %s,%u] through [iface: %s] is "
			"operational now",
			one->sid, entry->name, entry->host, entry->port,
			one->params.carrier == ISCSI_ISER ? "iser" : "default");
	for (unsigned j = 0; j < one->luns.count && call->by_link; j++)
		if (one->luns.list[j].node[0])
			note(call, "/dev/%s: LUN %llu", one->luns.list[j].node,
				(unsigned long long)one->luns.list[j].lun);
}

/* An object of the open list. planned: nothing was done. */
static void print_session(struct start *s, unsigned i, bool planned)
{
	const struct attach_iscsi *one = planned ? NULL : &s->core.attach[i];
	const struct iscsi_boot_target *entry = &s->core.boot_config.entry[i];
	struct out *out = s->call->out;
	char where[ADDR_TEXT];

	out_object(out, NULL);
	out_text(out, "target", NULL, "%s", entry->name);
	iscsi_show_portal(out,
		one && iscsi_start_resolved(one) ? addr_host(&one->params.portal, where)
						 : entry->host,
		entry->port);
	out_text(out, "transport", NULL, "%s",
		iscsi_carrier_name(s->core.records.iser ? ISCSI_ISER : ISCSI_TCP));
	if (planned) {
		out_text(out, "initiator", NULL, "%s", s->core.records.initiator);
	} else {
		out_bool(out, "logged_in", NULL, !one->attach.why.err);
		out_error(out, "error", &one->attach.why);
	}
	if (one && !one->attach.why.err) {
		out_bool(out, "existed", NULL, one->existed);
		out_text(out, "session", NULL, "session%u", one->sid);
		out_list(out, "luns");
		for (unsigned j = 0; j < one->luns.count && (out->json || !s->call->by_link); j++)
			kernel_scsi_show(out, &one->luns.list[j], NULL);
		out_end(out);
	}
	out_end(out);
	if (planned)
		out_line(out, "%s at %s port %u, over %s, as %s", entry->name, entry->host,
			entry->port, s->core.records.iser ? "iSER" : "TCP",
			s->core.records.initiator);
}

static int show_all(struct start *s, bool planned)
{
	struct call *call = s->call;
	unsigned failed = 0, count = s->core.boot_config.count;

	out_list(call->out, "sessions");
	for (unsigned i = 0; i < count; i++) {
		if (!planned)
			report_session(s, i);
		print_session(s, i, planned);
		failed += !planned && s->core.attach[i].attach.why.err;
	}
	out_end(call->out);
	if (!failed || call->by_link)
		return failed ? EXIT_FAILED : EXIT_DONE;
	if (failed < count)
		return EXIT_PARTLY;
	if (count == 1) {
		*call->diag = s->core.attach->attach.why;
		diag_ctx(call->diag, "%s", s->core.boot_config.entry->name);
	} else {
		diag_set(call->diag, DIAG_IO, EIO, "all %u logins failed", failed);
	}
	return EXIT_FAILED;
}

static void retrying(struct iscsi_start *core, const struct attach_iscsi *one)
{
	const struct call *call = core->user;

	if (call->loop.verbose)
		note(call, "%s: %s; retrying", one->params.target, one->attach.why.text);
}

/* *has_session: a session needs the monitor. */
static int log_in(struct start *s, bool *has_session)
{
	struct call *call = s->call;
	uint32_t ms = s->opts->common.timeout_ms;
	struct loop *loop;
	int rc;

	s->core.retrying = retrying;
	s->core.note = note_ignored;
	s->core.user = call;
	rc = read_settings(s);
	if (rc)
		return rc;
	if (s->opts->common.dry_run)
		return show_all(s, true);
	for (unsigned i = 0; i < s->core.boot_config.count; i++) {
		const struct iscsi_boot_target *entry = &s->core.boot_config.entry[i];

		out_line(call->out, NAME ": Logging into %s %s:%u,%d", entry->name, entry->host,
			entry->port, entry->tpgt);
	}
	fflush(stdout);
	if (loop_new(&loop, &call->loop, call->diag))
		return EXIT_FAILED;
	rc = iscsi_start_run(&s->core, loop, ms ? loop_clock() + ms * MSEC : 0, call->diag)
		     ? EXIT_FAILED
		     : show_all(s, false);
	loop_free(loop);
	for (unsigned i = 0; s->core.attach && i < s->core.boot_config.count; i++)
		*has_session |= iscsi_start_resolved(&s->core.attach[i]) &&
				!s->core.attach[i].attach.why.err;
	return rc;
}

static void note_damage(const char *text, void *call)
{
	note(call, "%s", text);
}

/* -f: print the targets of the iBFT; -N: set up their network. */
static int use_table(struct call *call, int root, bool print)
{
	const struct start_options *opts = call->opts;
	int rc = print ? kernel_ibft_show(root, call->out, VERSION, note_damage, call, call->diag)
		       : kernel_ibft_set_up(root, call->out, opts->common.dry_run, note_damage,
				 call, call->diag);

	if (rc >= 0)
		return rc ? EXIT_FAILED : EXIT_DONE;
	out_line(call->out, "%s",
		print ? "Could not get list of targets from firmware."
		      : "Could not setup fw entries.");
	return NOTHING;
}

/* Called as iscsistart: use its exit statuses and messages. */
static int end(struct call *call, int rc)
{
	struct diag *diag = call->diag;

	if (!call->by_link)
		return diag->err ? -diag->err : rc;
	if (diag->err)
		note(call, "%s", diag->text);
	if (diag->hint[0])
		note(call, "hint: %s", diag->hint);
	*diag = (struct diag){ 0 };
	return rc;
}

static int run(struct call *call)
{
	const struct start_options *opts = call->opts;
	struct start s = { .call = call, .opts = opts };
	bool has_session = false;
	int rc;

	if (opts->help)
		return help();
	if (opts->version) {
		out_line(call->out, NAME " version " VERSION " (rdmastor)");
		out_text(call->out, "iscsistart_version", NULL, VERSION);
		return EXIT_DONE;
	}
	call->loop.verbose |= opts->debug && atoi(opts->debug) > 0;
	call->notes.verbose = call->loop.verbose;
	s.core.root = kernel_root();
	if (s.core.root < 0)
		return end(call, (diag_sys(call->diag, errno, "open /"), EXIT_FAILED));
	rc = opts->network || opts->print ? use_table(call, s.core.root, !opts->network)
					  : log_in(&s, &has_session);
	iscsi_start_free(&s.core);
	if (has_session)
		iscsi_monitor_start(call, s.core.root, opts->monitor); /* without the secrets */
	close(s.core.root);
	return end(call, rc);
}

static const struct opt_foreign foreign[] = { ISCSI_MONITOR_FOREIGN, { 0 } };

const struct applet applet_iscsistart = {
	.name = NAME,
	.operands = "",
	.summary = "log in to an iSCSI target, or to those of the boot firmware",
	.opts = rows,
	.foreign = foreign,
	.examples = "  rdmastor iscsistart -i iqn.2024-01.com.example:host -g 1 -a 10.0.0.1 \\\n"
		    "      -t iqn.2024-01.com.example:disk1 -P iface.transport_name=iser\n"
		    "  rdmastor iscsistart -f --json\n",
	.opts_size = sizeof(struct start_options),
	.max = 0,
	.has_dry_run = true,
	.own_letters = "ovq",
	.read_args = read_words,
	.hide = hide,
	.run = run,
};
