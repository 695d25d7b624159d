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
#define PROBE_MS    3000
#define PORTALS     64 /* that are probed */
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

struct portal { /* of all records, each once */
	const struct iscsi_record *record;
	struct diag why; /* its name is not found */
	struct iscsi_probe *probe[ISCSI_CARRIERS];
};

struct discovery {
	struct call *call;
	struct loop *loop;
	int root;
	const char *word; /* the operand, for messages */
	struct uri uri;
	struct iscsi_credentials credentials;
	struct addr server;
	bool enabled[ISCSI_CARRIERS];
	struct iscsi_target_list found[ISCSI_CARRIERS];
	struct diag why[ISCSI_CARRIERS];
	struct diag rdma; /* what the system lacks for it */
	uint64_t until;
	struct portal portal[PORTALS];
	struct iscsi_probe probe[PORTALS * ISCSI_CARRIERS];
	unsigned portals, probes;
	bool probed;
};

static uint32_t left_ms(const struct discovery *d, uint32_t part)
{
	uint64_t now = loop_clock(), left = d->until > now ? (d->until - now) / MSEC / part : 0;

	return !d->until ? 0 : left ? (uint32_t)left : 1;
}

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
	const struct out_notes notes = call_notes(d->call);
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
		err = iscsi_credentials_read(
			&notes, d->root, &opts->credentials, &d->uri, &d->credentials, diag);
	if (!err)
		err = uri_done(&d->uri, diag);
	if (err)
		return err;
	if (!word)
		word = portal ? "auto" : strcmp(d->uri.scheme, "iser") ? "tcp" : "iser";
	d->enabled[ISCSI_TCP] = strcmp(word, "iser");
	d->enabled[ISCSI_ISER] = strcmp(word, "tcp");
	d->until = ms ? loop_clock() + ms * MSEC : 0;
	return uri_resolve(&d->uri, ISCSI_PORT, ms, &d->server, diag);
}

static void ask(struct discovery *d, enum iscsi_carrier carrier, uint32_t ms)
{
	struct iscsi_target_list *found = &d->found[carrier];
	struct diag *why = &d->why[carrier];
	struct out *out = d->call->out;
	const struct addr *at;
	char where[ADDR_TEXT];

	if (iscsi_discover(d->loop, &d->server, carrier, &d->credentials.from, ms, found, why) &&
		carrier == ISCSI_ISER && d->rdma.err)
		*why = d->rdma;
	at = why->err ? &d->server : &found->at;
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

static bool same_portal(const struct iscsi_record *a, const struct iscsi_record *b)
{
	return !strcmp(a->host, b->host) && a->port == b->port;
}

/* The answers of both transports mostly agree. */
static bool is_new(const struct discovery *d, const struct iscsi_record *record)
{
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		for (unsigned i = 0; i < d->found[c].count; i++) {
			const struct iscsi_record *other = &d->found[c].record[i];

			if (other == record)
				return true;
			if (same_portal(record, other) && record->tpgt == other->tpgt &&
				!strcmp(record->name, other->name))
				return false;
		}
	return true;
}

static struct portal *find_portal(struct discovery *d, const struct iscsi_record *record)
{
	for (unsigned i = 0; i < d->portals; i++)
		if (same_portal(record, d->portal[i].record))
			return &d->portal[i];
	return NULL;
}

static void add_portal(struct discovery *d, const struct iscsi_record *record)
{
	struct portal *portal = &d->portal[d->portals];
	struct addr addr;

	if (d->portals == PORTALS || find_portal(d, record))
		return;
	portal->record = record;
	d->portals++;
	if (addr_resolve(&addr, record->host, record->port, left_ms(d, 4), &portal->why))
		return;
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++) {
		if (!d->enabled[c])
			continue;
		portal->probe[c] = &d->probe[d->probes++];
		*portal->probe[c] = (struct iscsi_probe){ .addr = addr, .carrier = (uint8_t)c };
	}
}

static const char *portal_text(const struct iscsi_record *r, char text[PORTAL_TEXT])
{
	snprintf(text, PORTAL_TEXT, strchr(r->host, ':') ? "[%s]:%u" : "%s:%u", r->host, r->port);
	return text;
}

/* "answers over iser and tcp", or why not */
static void note_portal(const struct discovery *d, const struct portal *portal)
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

static int probe(struct discovery *d)
{
	uint32_t ms = left_ms(d, 1);
	int err;

	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		for (unsigned i = 0; i < d->found[c].count; i++)
			add_portal(d, &d->found[c].record[i]);
	err = iscsi_probe(d->loop, &d->credentials.from, d->probe, d->probes,
		!ms || ms > PROBE_MS ? PROBE_MS : ms, d->call->diag);
	d->probed = !err;
	for (unsigned i = 0; !err && i < d->portals; i++)
		note_portal(d, &d->portal[i]);
	return err;
}

static bool has_record(const struct iscsi_target_list *found, const struct iscsi_record *r)
{
	return found->count && r >= found->record && r < found->record + found->count;
}

/* iSER if the portal answers over it, else TCP; without a probe, or if it answers over neither, the
 * transport that the record was found over. */
static enum iscsi_carrier carrier_of(struct discovery *d, const struct iscsi_record *r)
{
	const struct portal *portal = find_portal(d, r);

	for (unsigned c = ISCSI_CARRIERS; portal && c-- > 0;)
		if (portal->probe[c] && portal->probe[c]->answers)
			return c;
	return has_record(&d->found[ISCSI_TCP], r) ? ISCSI_TCP : ISCSI_ISER;
}

static void print_record(struct discovery *d, const struct iscsi_record *r)
{
	const struct discover_options *opts = d->call->opts;
	const struct portal *portal = find_portal(d, r);
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
	iscsi_record_uri(r, carrier_of(d, r), uri);
	if (opts->uris)
		out_line(out, "%s", uri);
	else
		out_line(out, "%s,%d %s", portal_text(r, at), r->tpgt, r->name);
	/* iscsiadm has no such line */
	out_text(out, "uri",
		opts->uris || !strcmp(d->call->name, "iscsiadm") ? NULL : "uri: ", "%s", uri);
	out_end(out);
}

/* Of two failures, report the one of the transport that reached the portal. */
static int failed(struct discovery *d)
{
	bool tcp = d->enabled[ISCSI_TCP] &&
		   (!d->enabled[ISCSI_ISER] || d->why[ISCSI_ISER].code == DIAG_NO_DEVICE ||
			   d->why[ISCSI_ISER].code == DIAG_NO_MODULE ||
			   d->why[ISCSI_TCP].code != DIAG_REFUSED);

	*d->call->diag = d->why[tcp ? ISCSI_TCP : ISCSI_ISER];
	return -d->call->diag->err;
}

static int run(struct discovery *d)
{
	const struct discover_options *opts = d->call->opts;
	struct out *out = d->call->out;
	unsigned count = 0;
	int err;

	out_text(out, "initiator", NULL, "%s", d->credentials.name.name);
	out_list(out, "asked");
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		if (d->enabled[c])
			ask(d, c,
				left_ms(d,
					d->enabled[ISCSI_TCP] && d->enabled[ISCSI_ISER] ? 2 : 1));
	out_end(out);
	if ((!d->enabled[ISCSI_TCP] || d->why[ISCSI_TCP].err) &&
		(!d->enabled[ISCSI_ISER] || d->why[ISCSI_ISER].err))
		return failed(d);
	err = opts->no_probe ? 0 : probe(d);
	out_list(out, "records");
	for (unsigned c = 0; !err && c < ISCSI_CARRIERS; c++)
		for (unsigned i = 0; i < d->found[c].count; i++)
			if (is_new(d, &d->found[c].record[i])) {
				print_record(d, &d->found[c].record[i]);
				count++;
			}
	out_end(out);
	if (err || count)
		return err;
	diag_set(d->call->diag, DIAG_NOT_FOUND, ENOENT, "no target is listed for %s",
		d->credentials.name.name);
	return diag_hint(d->call->diag, "add this name to the target's access list, or use "
					"another: --initiator NAME"),
	       -ENOENT;
}

static int discover(struct call *call)
{
	struct discovery *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return diag_sys(call->diag, ENOMEM, "discovery");
	d->call = call;
	d->root = kernel_root();
	err = d->root < 0 ? diag_sys(call->diag, errno, "open /") : read_call(d);
	if (!err && d->enabled[ISCSI_ISER]) {
		kernel_rdma_ready(d->root, &d->rdma);
		d->rdma.hint[0] = 0;
	}
	if (!err)
		err = loop_new(&d->loop, &call->loop, call->diag);
	if (!err) {
		err = run(d);
		loop_free(d->loop);
		if (err < 0)
			diag_ctx(call->diag, "%s", d->word);
	}
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		iscsi_target_list_free(&d->found[c]);
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
