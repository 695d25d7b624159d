/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iser-discover: list the iSCSI targets of a portal as iscsiadm does, and probe each portal. The
 * discovery sessions are core/proto/iscsi's. */
#include "iscsi_rows.h"
#include "kernel_identity.h"
#include "kernel_rdma.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS  15000
#define PORTAL_TEXT 272

struct discover_options {
	struct opt_common common;
	struct iscsi_credential_options credentials;
	const char *transport;
	bool no_probe, uris;
};

static const struct opt rows[] = {
	{ "transport", 't', OPT_TEXT, offsetof(struct discover_options, transport), "auto|iser|tcp",
		"transports for discovery and probes; auto: both; default auto, or the URI's" },
	{ "no-probe", 0, OPT_FLAG, offsetof(struct discover_options, no_probe), NULL,
		"do not probe the listed portals" },
	{ "uris", 0, OPT_FLAG, offsetof(struct discover_options, uris), NULL,
		"print only the URIs of the targets" },
	ISCSI_CREDENTIAL_ROWS(struct discover_options, credentials),
	{ 0 },
};

static const struct opt_foreign foreign[] = {
	{ "iscsiadm", "-m|--mode|-t st|-t sendtargets|--type|-p|--portal|-D|--discover",
		"give only the portal: rdmastor iser-discover HOST[:PORT]" },
	{ "iscsiadm", "-t fw",
		"print the firmware's targets: rdmastor iser-login --ibft --dry-run" },
	{ "iscsiadm", "-I|--interface", "use --transport iser or --transport tcp" },
	{ "iscsiadm", "-l|--login",
		"log in afterwards: rdmastor iser-login -T IQN -p HOST[:PORT]" },
	{ "iscsiadm", "-o new",
		"no database is written: rdmastor iser-login -T IQN -p HOST[:PORT]" },
	{ "iscsiadm", "-d|--debug", "use --verbose" },
	{ "iscsi-ls", "--initiator-name", "use --initiator NAME" },
	{ "iscsi-ls", "-s|--show-luns",
		"log in to see LUNs: rdmastor iser-login iscsi://HOST/IQN" },
	{ 0 },
};

static const struct discover_options defaults = { .common.timeout_ms = TIMEOUT_MS };

struct discovery {
	struct call *call;
	int root;
	const char *word; /* the operand, for messages */
	struct uri uri;
	struct iscsi_credentials credentials;
	struct diag rdma; /* what the system lacks for it */
	struct iscsi_search search;
	bool probed;
};

/* A portal as it is printed. */
static int read_portal(struct discovery *d, const char *text, struct diag *diag)
{
	char whole[URI_MAX];
	int tpgt, err;

	if (strchr(text, '@')) /* and isn't hidden from the process list: the text isn't quoted
				  either */
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid portal: user and password need --user and --secret-file, or an "
			"iscsi:// URI");
	err = iscsi_portal_uri(text, whole, &tpgt, diag);
	if (!err)
		err = iscsi_uri_read(&d->uri, whole, diag);
	if (err)
		snprintf(diag->object, sizeof(diag->object), "%s", text);
	return err;
}

static int read_call(struct discovery *d)
{
	const struct discover_options *opts = d->call->opts;
	const char *text = d->call->operand[0], *word = opts->transport;
	bool portal = iscsi_is_plain_word(text);
	struct diag *diag = d->call->diag;
	uint32_t ms = opts->common.timeout_ms;
	int err = portal ? read_portal(d, text, diag) : iscsi_uri_read(&d->uri, text, diag);

	if (!err && uri_is_iscsi(text)) { /* query the portal of the target */
		d->uri.path = "";
		uri_value(&d->uri, "iface");
	}
	d->word = portal ? text : d->uri.spelling;
	if (!err && *d->uri.path)
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"'%s' names a target: expected a portal, HOST[:PORT] or iscsi://HOST",
			d->uri.spelling);
	if (!err)
		err = uri_msec(&d->uri, "timeout", &ms, diag);
	if (!err)
		err = iscsi_credentials_read(&d->call->notes, d->root, &opts->credentials, &d->uri,
			&d->credentials, diag);
	if (err)
		return err;
	if (!word)
		word = portal ? "auto" : strcmp(d->uri.scheme, "iser") ? "tcp" : "iser";
	d->search.enabled[ISCSI_TCP] = strcmp(word, "iser");
	d->search.enabled[ISCSI_ISER] = strcmp(word, "tcp");
	d->search.until = ms ? loop_clock() + ms * MSEC : 0;
	return uri_resolve(&d->uri, ISCSI_PORT, ms, &d->search.server, diag);
}

static void query(struct discovery *d, enum iscsi_carrier carrier)
{
	struct iscsi_target_list *found = &d->search.found[carrier];
	struct diag *why = &d->search.why[carrier];
	struct out *out = d->call->out;
	const struct addr *at;
	char where[ADDR_TEXT];

	if (iscsi_search_list(&d->search, carrier) && carrier == ISCSI_ISER && d->rdma.err)
		*why = d->rdma;
	at = why->err ? &d->search.server : &found->at;
	out_object(out, NULL);
	out_text(out, "transport", NULL, "%s", iscsi_carrier_name(carrier));
	iscsi_show_portal(out, addr_host(at, where), addr_port(at));
	out_error(out, "error", why);
	if (!why->err) {
		out_u64(out, "redirects", NULL, found->redirects);
		iscsi_show_chap(out, found->alg);
	}
	out_end(out);
	if (!why->err && found->skips)
		call_warn(d->call, "ignored: %s%s", found->skipped.text,
			found->skips > 1 ? ", and others" : "");
	if (d->call->loop.verbose)
		call_note(d->call, "queried over %s: %s%s%s", iscsi_carrier_name(carrier),
			why->err ? why->text : found->route,
			!why->err && *found->alg ? ", by CHAP with " : "",
			why->err ? "" : found->alg);
}

static const char *portal_text(const struct iscsi_record *r, char text[PORTAL_TEXT])
{
	snprintf(text, PORTAL_TEXT, strchr(r->host, ':') ? "[%s]:%u" : "%s:%u", r->host, r->port);
	return text;
}

/* "answers over iser and tcp", or why not */
static void note_portal(const struct discovery *d, const struct iscsi_portal *portal)
{
	struct iscsi_probe *const *probe = portal->probe;
	const char *why = portal->why.text;
	char at[PORTAL_TEXT], transports[32] = "";

	portal_text(portal->record, at);
	for (unsigned c = ISCSI_CARRIERS; c-- > 0;) {
		if (!probe[c])
			continue;
		why = probe[c]->why.text;
		if (probe[c]->answers)
			snprintf(transports + strlen(transports),
				sizeof(transports) - strlen(transports), "%s%s",
				*transports ? " and " : "", iscsi_carrier_name(c));
	}
	if (*transports)
		call_note(d->call, "%s answers over %s", at, transports);
	else
		call_note(d->call, "%s: no answer: %s", at, why);
}

static void print_record(const struct discovery *d, const struct iscsi_record *r)
{
	const struct discover_options *opts = d->call->opts;
	const struct iscsi_portal *portal = iscsi_search_portal(&d->search, r);
	struct out *out = d->call->out;
	char at[PORTAL_TEXT], uri[URI_MAX];

	out_object(out, NULL);
	out_text(out, "target", NULL, "%s", r->name);
	iscsi_show_portal(out, r->host, r->port);
	if (r->tpgt >= 0)
		out_u64(out, "tpgt", NULL, (uint64_t)r->tpgt);
	if (portal && d->probed) {
		out_list(out, "transports");
		for (unsigned c = ISCSI_CARRIERS; c-- > 0;)
			if (portal->probe[c] && portal->probe[c]->answers)
				out_text(out, NULL, NULL, "%s", iscsi_carrier_name(c));
		out_end(out);
	}
	iscsi_record_uri(r, iscsi_search_carrier(&d->search, r), uri);
	if (opts->uris)
		out_line(out, "%s", uri);
	else
		out_line(out, "%s,%d %s", portal_text(r, at), r->tpgt, r->name);
	/* iscsiadm has no such line */
	out_text(out, "uri",
		opts->uris || !strcmp(d->call->name, "iscsiadm") ? NULL : "uri: ", "%s", uri);
	out_end(out);
}

static int run(struct discovery *d)
{
	const struct discover_options *opts = d->call->opts;
	const struct iscsi_record *record = NULL;
	struct iscsi_search *search = &d->search;
	struct diag *diag = d->call->diag;
	struct out *out = d->call->out;
	bool any = false;
	int err;

	out_text(out, "initiator", NULL, "%s", d->credentials.name.name);
	out_list(out, "asked");
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		if (search->enabled[c])
			query(d, c);
	out_end(out);
	err = iscsi_search_status(search, diag);
	if (err)
		return err;
	err = opts->no_probe ? 0 : iscsi_search_probe(search, diag);
	d->probed = !opts->no_probe && !err;
	for (unsigned i = 0; i < search->portals && d->probed; i++)
		note_portal(d, &search->portal[i]);
	out_list(out, "records");
	while (!err && (record = iscsi_search_next(search, record))) {
		print_record(d, record);
		any = true;
	}
	out_end(out);
	if (err || any)
		return err;
	diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no target is listed for %s",
		d->credentials.name.name);
	return diag_hint(diag, "add this name to the target's access list, or use "
			       "another: --initiator NAME");
}

static int discover(struct call *call)
{
	struct discovery *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return diag_sys(call->diag, ENOMEM, "discovery");
	d->call = call;
	d->search.from = &d->credentials.from;
	d->root = kernel_root();
	err = d->root < 0 ? diag_sys(call->diag, errno, "open /") : read_call(d);
	if (!err && d->search.enabled[ISCSI_ISER]) {
		kernel_rdma_ready(d->root, &d->rdma);
		d->rdma.hint[0] = 0;
	}
	if (!err)
		err = loop_new(&d->search.loop, &call->loop, call->diag);
	if (!err) {
		err = run(d);
		loop_free(d->search.loop);
		if (err < 0)
			diag_ctx(call->diag, "%s", d->word);
	}
	iscsi_search_free(&d->search);
	if (d->root >= 0)
		close(d->root);
	explicit_bzero(d, sizeof(*d));
	free(d);
	return err;
}

const struct applet applet_iser_discover = {
	.name = "iser-discover",
	.alias = "iscsi-discover",
	.operands = "PORTAL",
	.schemes = SCHEME_ISCSI,
	.summary = "list the iSCSI targets of a portal, over iSER and TCP",
	.opts = rows,
	.defaults = &defaults,
	.foreign = foreign,
	.examples = "  rdmastor iser-discover 10.0.0.1\n"
		    "  rdmastor iser-discover iser://10.0.0.1:3261 -u joe --secret-file joe.key\n",
	.opts_size = sizeof(struct discover_options),
	.min = 1,
	.max = 1,
	.run = discover,
};
