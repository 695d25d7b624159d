/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iscsistart: log in to one iSCSI target, or to those of the boot firmware. Called by a link of
 * this name it has the options, output and exit statuses of open-iscsi's tool. */
#include "iscsistart_fw.h"
#include "iscsistart_login.h"
#include "iser_keep.h"
#include "iser_show.h"
#include "kernel_identity.h"
#include "kernel_scsi.h"
#include "loop.h"
#include "uri.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct start_options, field)
static const struct opt rows[] = {
	{ "config", 'c', OPT_TEXT, AT(config), "FILE",
		"with -b: file with settings; default /etc/iscsi/iscsid.conf" },
	{ "initiatorname", 'i', OPT_TEXT, AT(initiator), "NAME", "name of this initiator" },
	{ "targetname", 't', OPT_TEXT, AT(target), "NAME", "name of the target" },
	{ "tgpt", 'g', OPT_TEXT, AT(tgpt), "N", "portal group tag, only printed" },
	{ "address", 'a', OPT_TEXT, AT(address), "ADDRESS", "address of the portal" },
	{ "port", 'p', OPT_TEXT, AT(port), "N", "port of the portal; default 3260" },
	{ "username", 'u', OPT_TEXT, AT(user[0]), "NAME", "CHAP user name" },
	{ "password", 'w', OPT_TEXT, AT(secret[0]), "SECRET", "CHAP secret" },
	{ "username-in", 'U', OPT_TEXT, AT(user[1]), "NAME",
		"required CHAP name of the target in mutual CHAP" },
	{ "password-in", 'W', OPT_TEXT, AT(secret[1]), "SECRET",
		"the target's secret: enables mutual CHAP" },
	{ "debug", 'd', OPT_TEXT, AT(debug), "N", "1 or more: report each step" },
	{ "fwparam-connect", 'b', OPT_FLAG, AT(connect), NULL,
		"log in to the targets of the boot firmware (iBFT)" },
	{ "fwparam-network", 'N', OPT_FLAG, AT(network), NULL,
		"set up the network as in the iBFT" },
	{ "fwparam-print", 'f', OPT_FLAG, AT(print), NULL, "print the iBFT" },
	{ "param", 'P', OPT_LIST, AT(params), "NAME=VALUE",
		"setting by its name in open-iscsi's records; iface.transport_name=iser selects "
		"iSER" },
	ISER_KEEP_ROW(struct start_options, keeper),
	{ "version", 'v', OPT_FLAG, AT(version), NULL, "print the version" },
	{ 0 },
};
#undef AT

void start_tell(const struct call *call, const char *fmt, ...)
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
	out_message("%s" START_NAME ": %s", call->linked ? "" : "rdmastor ", text);
	free(text);
}

static int help(void)
{
	fputs("Usage: " START_NAME " [OPTION]\n"
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

static int wrong(struct start *s, const char *text)
{
	diag_set(s->call->diag, DIAG_USAGE, EINVAL, "%s%s", text,
		s->call->linked ? ". Exiting " START_NAME : "");
	return START_INVALID;
}

static int read_number(struct start *s, const char *what, const char *text, uint64_t min,
	uint64_t max, uint64_t *number)
{
	struct diag why = { 0 };

	if (!text || !parse_u64(text, min, max, number, &why))
		return 0;
	diag_set(s->call->diag, DIAG_USAGE, EINVAL, "%s: %s", what, why.text);
	return START_INVALID;
}

static int one_session(struct start *s)
{
	const struct start_options *opts = s->opts;
	uint64_t port = ISCSI_PORT, group = 0;
	struct iscsi_wish *wish;
	int rc;

	if (!opts->initiator)
		return wrong(s, "InitiatorName not set");
	if (!opts->tgpt || !strcmp(opts->tgpt, "-1"))
		return wrong(s, "Portal Group not set");
	if (!opts->target || !*opts->target)
		return wrong(s, "TargetName not set");
	if (!opts->address || !*opts->address)
		return wrong(s, "IP Address not set");
	rc = read_number(s, "port", opts->port, 1, UINT16_MAX, &port);
	if (!rc)
		rc = read_number(s, "tgpt", opts->tgpt, 0, UINT16_MAX, &group);
	if (rc)
		return rc;
	s->session = calloc(1, sizeof(*s->session));
	if (!s->session)
		return diag_sys(s->call->diag, ENOMEM, START_NAME), EXIT_FAILED;
	s->sessions = 1;
	wish = &s->session->wish;
	*wish = (struct iscsi_wish){
		.port = (uint16_t)port, .tpgt = (int)group, .lun = ISCSI_WISH_NO_LUN
	};
	if (strlen(opts->target) >= sizeof(wish->name) ||
		strlen(opts->address) >= sizeof(wish->host))
		return wrong(s, "TargetName or IP Address is too long");
	strcpy(wish->name, opts->target);
	snprintf(wish->host, sizeof(wish->host), "%.*s",
		(int)strcspn(opts->address + (*opts->address == '['), "]"),
		opts->address + (*opts->address == '['));
	for (unsigned i = 0; i < 2; i++) {
		if ((opts->user[i] && strlen(opts->user[i]) >= ISCSI_WISH_TEXT) ||
			(opts->secret[i] && strlen(opts->secret[i]) >= ISCSI_WISH_TEXT))
			return wrong(s, "user name or secret too long: must be at most 256 bytes");
		strcpy(wish->user[i], opts->user[i] ? opts->user[i] : "");
		strcpy(wish->secret[i], opts->secret[i] ? opts->secret[i] : "");
	}
	return 0;
}

static void firmware_session(struct start *s, const struct ibft *ibft, unsigned i)
{
	struct start_session *session = &s->session[i];
	const struct ibft_nic_info *nic = kernel_ibft_nic(ibft, &ibft->target[i]);

	kernel_ibft_wish(ibft, &ibft->target[i], &session->wish);
	session->wish.tpgt = 1;
	snprintf(session->target, sizeof(session->target), "target%u", ibft->target[i].index);
	if (nic)
		snprintf(session->nic, sizeof(session->nic), "ethernet%u", nic->index);
}

static int firmware_sessions(struct start *s)
{
	struct ibft *ibft = calloc(1, sizeof(*ibft));
	struct diag *diag = s->call->diag;
	int rc = START_NOTHING;

	if (!ibft)
		return diag_sys(diag, ENOMEM, "iBFT"), EXIT_FAILED;
	if (!kernel_ibft(s->root, ibft, diag) && !ibft->targets)
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no target in the iBFT");
	else if (!diag->err && !ibft->initiator[0] && !s->opts->initiator)
		diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"no initiator name in the iBFT: expected -i NAME");
	if (diag->err) {
		out_line(s->call->out, "Could not get boot entry.");
		goto done;
	}
	s->session = calloc(ibft->targets, sizeof(*s->session));
	if (!s->session) {
		diag_sys(diag, ENOMEM, START_NAME);
		goto done;
	}
	s->sessions = ibft->targets;
	for (unsigned i = 0; i < ibft->targets; i++)
		firmware_session(s, ibft, i);
	strcpy(s->initiator, ibft->initiator);
	rc = 0;
done:
	explicit_bzero(ibft, sizeof(*ibft));
	free(ibft);
	return rc;
}

static void print_session(struct start *s, const struct start_session *session)
{
	const struct iscsi_want *want = &session->want;
	struct out *out = s->call->out;
	char where[ADDR_TEXT];

	out_object(out, NULL);
	out_text(out, "target", NULL, "%s", session->wish.name);
	iser_show_portal(out,
		session->resolved ? addr_host(&want->portal, where) : session->wish.host,
		session->wish.port);
	out_text(out, "transport", NULL, "%s", iscsi_carrier_word(want->carrier));
	out_bool(out, "logged_in", NULL, !want->why.err);
	out_error(out, "error", &want->why);
	if (!want->why.err) {
		out_bool(out, "existed", NULL, want->existed);
		out_text(out, "session", NULL, "session%u", want->sid);
		out_list(out, "luns");
		for (unsigned i = 0; i < want->count && (out->json || !s->call->linked); i++)
			kernel_scsi_show(out, &want->luns[i], NULL);
		out_end(out);
	}
	out_end(out);
}

static void tell_session(struct start *s, const struct start_session *session)
{
	const struct iscsi_want *want = &session->want;
	const char *text;
	unsigned number;

	if (want->why.err && s->call->linked) {
		number = start_error(session, &text);
		start_tell(s->call, "initiator reported error (%u - %s)", number, text);
	}
	if (want->why.err && (s->call->linked || s->sessions > 1)) {
		start_tell(s->call, "%s: %s", session->wish.name, want->why.text);
		if (want->why.hint[0])
			start_tell(s->call, "hint: %s", want->why.hint);
	}
	if (want->why.err)
		return;
	if (want->existed)
		start_tell(s->call, "session%u to this target already exists", want->sid);
	else
		start_tell(s->call,
			"Connection%u:0 to [target: %s, portal: %s,%u] through [iface: %s] is "
			"operational now",
			want->sid, session->wish.name, session->wish.host, session->wish.port,
			want->carrier == ISCSI_ISER ? "iser" : "default");
	for (unsigned i = 0; i < want->count && s->call->linked; i++)
		if (want->luns[i].node[0])
			start_tell(s->call, "/dev/%s: LUN %llu", want->luns[i].node,
				(unsigned long long)want->luns[i].lun);
}

static int result(struct start *s)
{
	unsigned failed = 0;

	out_list(s->call->out, "sessions");
	for (unsigned i = 0; i < s->sessions; i++) {
		tell_session(s, &s->session[i]);
		print_session(s, &s->session[i]);
		failed += s->session[i].want.why.err != 0;
	}
	out_end(s->call->out);
	if (!failed || s->call->linked)
		return failed ? EXIT_FAILED : EXIT_DONE;
	if (failed < s->sessions)
		return EXIT_PARTLY;
	if (s->sessions == 1) {
		*s->call->diag = s->session->want.why;
		diag_ctx(s->call->diag, "%s", s->session->wish.name);
	} else {
		diag_set(s->call->diag, DIAG_IO, EIO, "all %u logins failed", failed);
	}
	return EXIT_FAILED;
}

static int take_name(struct start *s)
{
	if (!s->opts->initiator)
		return 0;
	if (strlen(s->opts->initiator) >= sizeof(s->initiator))
		return wrong(s, "InitiatorName is too long");
	strcpy(s->initiator, s->opts->initiator);
	return 0;
}

/* Mutual CHAP that is only half configured must not end in a login without it. */
static int check_secrets(struct start *s)
{
	for (unsigned i = 0; i < s->sessions; i++) {
		const struct iscsi_wish *wish = &s->session[i].wish;
		bool in = wish->user[1][0] || wish->secret[1][0];

		if (!in || (wish->secret[0][0] && wish->secret[1][0]))
			continue;
		diag_set(s->call->diag, DIAG_USAGE, EINVAL,
			wish->secret[0][0]
				? "mutual CHAP also needs the target's secret: --password-in"
				: "CHAP configuration has incoming authentication credentials but "
				  "has no outgoing credentials configured.");
		return EXIT_FAILED;
	}
	return 0;
}

static void plan_json(struct start *s, const struct start_session *session)
{
	struct out *out = s->call->out;

	out_object(out, NULL);
	out_text(out, "target", NULL, "%s", session->wish.name);
	iser_show_portal(out, session->wish.host, session->wish.port);
	out_text(
		out, "transport", NULL, "%s", iscsi_carrier_word(s->iser ? ISCSI_ISER : ISCSI_TCP));
	out_text(out, "initiator", NULL, "%s", s->initiator);
	out_end(out);
}

static int plan(struct start *s)
{
	out_list(s->call->out, "sessions");
	for (unsigned i = 0; i < s->sessions; i++) {
		plan_json(s, &s->session[i]);
		out_line(s->call->out, "%s at %s port %u, over %s, as %s", s->session[i].wish.name,
			s->session[i].wish.host, s->session[i].wish.port, s->iser ? "iSER" : "TCP",
			s->initiator);
	}
	out_end(s->call->out);
	return EXIT_DONE;
}

static int log_in(struct start *s)
{
	bool made = false;
	int rc = s->opts->connect ? firmware_sessions(s) : one_session(s);

	if (!rc)
		rc = take_name(s);
	if (!rc)
		rc = start_settings(s);
	if (!rc)
		rc = check_secrets(s);
	if (rc)
		return rc;
	if (s->opts->common.dry_run)
		return plan(s);
	s->from = calloc(s->sessions, sizeof(*s->from));
	if (!s->from)
		return diag_sys(s->call->diag, ENOMEM, START_NAME), EXIT_FAILED;
	if (loop_new(&s->loop, &s->call->loop, s->call->diag))
		return EXIT_FAILED;
	rc = start_login(s) ? EXIT_FAILED : result(s);
	loop_free(s->loop);
	for (unsigned i = 0; i < s->sessions; i++)
		made |= s->session[i].resolved && !s->session[i].want.why.err;
	if (made)
		iser_keep(s->call, s->root, s->opts->keeper);
	return rc;
}

static void forget(struct start *s)
{
	for (unsigned i = 0; i < s->sessions; i++)
		iscsi_want_free(&s->session[i].want);
	if (s->session)
		explicit_bzero(s->session, s->sessions * sizeof(*s->session));
	free(s->session);
	free(s->from);
}

/* Called by the tool's name: its statuses and its form of messages. */
static int end(struct call *call, int rc)
{
	struct diag *diag = call->diag;

	if (!call->linked)
		return diag->err ? -diag->err : rc;
	if (diag->err)
		start_tell(call, "%s", diag->text);
	if (diag->hint[0])
		start_tell(call, "hint: %s", diag->hint);
	*diag = (struct diag){ 0 };
	return rc;
}

static int run(struct call *call)
{
	const struct start_options *opts = call->opts;
	struct start s = { .call = call, .opts = opts };
	int rc;

	if (opts->help)
		return help();
	if (opts->version) {
		out_line(call->out, START_NAME " version " START_VERSION " (rdmastor)");
		out_text(call->out, "iscsistart_version", NULL, START_VERSION);
		return EXIT_DONE;
	}
	call->loop.verbose |= opts->debug && atoi(opts->debug) > 0;
	s.root = kernel_root();
	if (s.root < 0)
		return end(call, (diag_sys(call->diag, errno, "open /"), EXIT_FAILED));
	rc = opts->network ? start_network(call, s.root)
	     : opts->print ? start_print(call, s.root)
			   : log_in(&s);
	forget(&s);
	close(s.root);
	return end(call, rc);
}

const struct applet applet_iscsistart = {
	.name = START_NAME,
	.operands = "",
	.summary = "log in to an iSCSI target, or to those of the boot firmware",
	.opts = rows,
	.examples =
		"  rdmastor iscsistart -i iqn.2024-01.example:host -t iqn.2024-01.example:disk \\\n"
		"      -g 1 -a 10.0.0.1 -P iface.transport_name=iser\n"
		"  rdmastor iscsistart -f --json\n",
	.opts_size = sizeof(struct start_options),
	.max = 0,
	.changes = true,
	.own_letters = "ovq",
	.words = start_words,
	.hide = start_hide,
	.run = run,
};
