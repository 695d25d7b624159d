/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iscsistart: log in to one iSCSI target, or to those of the boot firmware. Called by a link of
 * this name it has the options, output and exit statuses of open-iscsi's tool. */
#include "iscsi_logins.h"
#include "iscsi_monitor.h"
#include "iscsi_rows.h"
#include "kernel_identity.h"
#include <errno.h>
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

static void hide(int argc, char **argv)
{
	struct opt_getopt scan = { .rows = rows, .argc = argc, .argv = argv, .quiet = true };
	int letter;

	while ((letter = opt_getopt(&scan))) {
		char *secret = letter == 'w' || letter == 'W' ? scan.value : NULL;

		if (letter == 'P' && strstr(scan.value, "password") && strchr(scan.value, '='))
			secret = strchr(scan.value, '=') + 1;
		if (secret)
			explicit_bzero(secret, strlen(secret));
	}
}

/* Store an option of the tool, with its limits and messages. */
static int store_option(struct start_options *opts, const struct opt_getopt *scan)
{
	static const struct {
		char letter;
		uint16_t max;
		const char *what;
	} limits[] = { { 't', 255, "targetname" }, { 'a', 1025, "address" },
		{ 'u', 256, "username" }, { 'w', 256, "password" }, { 'U', 256, "username_in" },
		{ 'W', 256, "password_in" } };
	const struct opt *row = scan->row;
	void *to = (char *)opts + row->at;
	const char *value = scan->value;

	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].letter == row->letter && strlen(value) > limits[i].max) {
			printf(NAME ": invalid %s %s. Max %s length is %u.\n", limits[i].what,
				strchr("wW", row->letter) ? "" : value, limits[i].what,
				limits[i].max);
			return INVALID;
		}
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

/* As open-iscsi 2.1.8, in order: some options end the parsing. */
static int read_words(struct call *call, int argc, char **argv, void *to)
{
	struct opt_getopt scan = { .rows = rows, .argc = argc, .argv = argv };
	struct start_options *opts = to;
	int letter, rc = 0;

	call->operand = argv + (argc > 0);
	while (!rc && (letter = opt_getopt(&scan))) {
		if (letter == '?') {
			fputs("Try `" NAME " --help' for more information.\n", stderr);
			return INVALID;
		}
		if (letter == 'h') {
			opts->help = true;
			return 0;
		}
		rc = store_option(opts, &scan);
		if (strchr("vNf", letter))
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

static void note(struct iscsi_start *s, const char *text)
{
	const struct call *call = s->user;

	if (call->by_link)
		out_message(OUT_INFO, NAME ": %s", text);
	else
		call_note(call, "%s", text);
}

/* Read initiator, targets and settings from the options and the configuration. */
static int read_settings(struct iscsi_start *s, struct call *call)
{
	const struct start_options *opts = call->opts;

	if (!iscsi_start_targets(s, &opts->start, call->diag))
		return iscsi_start_settings(s, &opts->start, call->diag) ? EXIT_FAILED : 0;
	if (call->diag->code == DIAG_USAGE)
		return INVALID;
	if (!opts->start.firmware)
		return EXIT_FAILED;
	out_line(call->out, "Could not get boot entry.");
	return NOTHING;
}

static int show(struct iscsi_start *s, struct call *call)
{
	unsigned failed = iscsi_start_show(s, call->diag);

	if (!failed)
		return EXIT_DONE;
	return call->by_link || failed == s->boot_config.count ? EXIT_FAILED : EXIT_PARTLY;
}

static int log_in(struct iscsi_start *s, struct call *call)
{
	const struct start_options *opts = call->opts;
	uint32_t ms = opts->common.timeout_ms;
	struct loop *loop;
	int rc = read_settings(s, call);

	if (rc || opts->common.dry_run)
		return rc ? rc : show(s, call);
	for (unsigned i = 0; i < s->boot_config.count; i++) {
		const struct iscsi_boot_target *entry = &s->boot_config.entry[i];

		out_line(call->out, NAME ": Logging into %s %s:%u,%d", entry->name, entry->host,
			entry->port, entry->tpgt);
	}
	fflush(stdout);
	if (loop_new(&loop, &call->loop, call->diag))
		return EXIT_FAILED;
	rc = iscsi_start_run(s, loop, ms ? loop_clock() + ms * MSEC : 0, call->diag);
	loop_free(loop);
	return rc ? EXIT_FAILED : show(s, call);
}

static int start(struct iscsi_start *s, struct call *call)
{
	const struct start_options *opts = call->opts;
	int rc;

	if (s->root < 0) {
		diag_sys(call->diag, errno, "open /");
		return EXIT_FAILED;
	}
	if (!opts->network && !opts->print)
		return log_in(s, call);
	rc = opts->network ? iscsi_start_network(s, opts->common.dry_run, call->diag)
			   : iscsi_start_print(s, call->diag);
	return rc < 0 ? NOTHING : rc ? EXIT_FAILED : EXIT_DONE;
}

static int run(struct call *call)
{
	const struct start_options *opts = call->opts;
	struct iscsi_start s = { .root = kernel_root(),
		.out = call->out,
		.version = VERSION,
		.as_tool = call->by_link,
		.note = note,
		.user = call };
	struct diag *diag = call->diag;
	bool has_session;
	int rc;

	if (opts->help)
		return help();
	if (opts->version) {
		out_line(call->out, NAME " version " VERSION " (rdmastor)");
		out_text(call->out, "iscsistart_version", NULL, VERSION);
		return EXIT_DONE;
	}
	call->loop.verbose |= opts->debug && atoi(opts->debug) > 0;
	call->notes.verbose = s.verbose = call->loop.verbose;
	rc = start(&s, call);
	has_session = iscsi_start_has_session(&s);
	iscsi_start_free(&s);
	if (has_session)
		iscsi_monitor_start(call, s.root, opts->monitor); /* without the secrets */
	if (s.root >= 0)
		close(s.root);
	if (!call->by_link)
		return diag->err ? -diag->err : rc;
	if (diag->err)
		note(&s, diag->text);
	if (diag->hint[0])
		out_message(OUT_INFO, NAME ": hint: %s", diag->hint);
	*diag = (struct diag){ 0 };
	return rc;
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
