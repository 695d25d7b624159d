/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iser-discover: list the iSCSI targets of a portal as iscsiadm does, and probe each portal. The
 * discovery sessions are core/proto/iscsi's. */
#include "iser_show.h"
#include "iser_target.h"
#include "kernel_identity.h"
#include "kernel_iscsi_conf.h"
#include "kernel_rdma.h"
#include "loop.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 15000
#define MSEC       1000000ull
#define PROBE_MS   3000
#define PORTALS    64 /* that are probed */

struct discover_options {
	struct opt_common common;
	struct iscsi_who_options who;
	const char *transport;
	bool no_probe;
};

static const struct opt rows[] = {
	{ "transport", 't', OPT_TEXT, offsetof(struct discover_options, transport), "auto|iser|tcp",
		"transports for discovery and probes; auto: both; default auto, or the URI's" },
	{ "no-probe", 0, OPT_FLAG, offsetof(struct discover_options, no_probe), NULL,
		"do not probe the listed portals" },
	ISCSI_WHO_ROWS(struct discover_options),
	{ 0 },
};

#define OPERAND_ "give only the portal: rdmastor iser-discover HOST[:PORT]"
static const struct opt_foreign foreign[] = {
	{ "iscsiadm", "-m", OPERAND_ },
	{ "iscsiadm", "--mode", OPERAND_ },
	{ "iscsiadm", "-t st", OPERAND_ },
	{ "iscsiadm", "-t sendtargets", OPERAND_ },
	{ "iscsiadm", "-t fw",
		"print the firmware's targets: rdmastor iser-login --ibft --dry-run" },
	{ "iscsiadm", "--type", OPERAND_ },
	{ "iscsiadm", "-p", OPERAND_ },
	{ "iscsiadm", "--portal", OPERAND_ },
	{ "iscsiadm", "-D", OPERAND_ },
	{ "iscsiadm", "--discover", OPERAND_ },
	{ "iscsiadm", "-I", "use --transport iser or --transport tcp" },
	{ "iscsiadm", "--interface", "use --transport iser or --transport tcp" },
	{ "iscsiadm", "-l", "log in afterwards: rdmastor iser-login -T IQN -p HOST[:PORT]" },
	{ "iscsiadm", "--login", "log in afterwards: rdmastor iser-login -T IQN -p HOST[:PORT]" },
	{ "iscsiadm", "-o new",
		"no database is written: rdmastor iser-login -T IQN -p HOST[:PORT]" },
	{ "iscsiadm", "-d", "use --verbose" },
	{ "iscsiadm", "--debug", "use --verbose" },
	{ "iscsi-ls", "--initiator-name", "use --initiator NAME" },
	{ "iscsi-ls", "-s", "log in to see LUNs: rdmastor iser-login iscsi://HOST/IQN" },
	{ "iscsi-ls", "--show-luns", "log in to see LUNs: rdmastor iser-login iscsi://HOST/IQN" },
	{ 0 },
};
#undef OPERAND_

static const struct discover_options defaults = { .common.timeout_ms = TIMEOUT_MS };

struct portal { /* of all records, each once */
	const struct iscsi_record *record;
	struct diag why; /* its name is not found */
	bool tried;
	struct iscsi_probe *probe[ISCSI_CARRIERS];
};

struct discovery {
	struct call *call;
	struct loop *loop;
	struct uri *uri;
	struct iscsi_wish wish; /* what the URI was made of, if it was */
	struct iscsi_who who;
	struct addr server;
	bool want[ISCSI_CARRIERS];
	struct iscsi_found found[ISCSI_CARRIERS];
	struct diag why[ISCSI_CARRIERS];
	struct diag rdma; /* what the system lacks for it */
	uint64_t until;
	struct portal portal[PORTALS];
	struct iscsi_probe probe[PORTALS * ISCSI_CARRIERS];
	unsigned portals, probes;
};

static uint32_t left_ms(const struct discovery *d, uint32_t part)
{
	uint64_t now = loop_clock(), left = d->until > now ? (d->until - now) / MSEC / part : 0;

	return !d->until ? 0 : left ? (uint32_t)left : 1;
}

/* dracut's string: of its target the portal is asked. */
static int read_string(struct discovery *d, const char *text, struct diag *diag)
{
	struct iscsi_wish *wish = &d->wish;
	char portal[URI_MAX];
	int err = kernel_iscsi_string(text, wish, diag);

	if (!err && !wish->host[0])
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no host in the string: expected iscsi:HOST::PORT::IQN");
	if (err)
		return err;
	wish->name[0] = wish->netdev[0] = 0;
	wish->lun = ISCSI_WISH_NO_LUN;
	kernel_iscsi_uri(wish, portal);
	err = uri_parse(d->uri, portal, diag);
	d->uri->user = wish->user[0][0] ? wish->user[0] : NULL;
	d->uri->password = wish->secret[0][0] ? wish->secret[0] : NULL;
	for (unsigned i = 0; i < 2; i++) {
		const char *value = i ? wish->secret[1] : wish->user[1];

		if (*value)
			d->uri->key[d->uri->keys++] =
				(struct uri_key){ .name = i ? "target_password" : "target_user",
					.value = value };
	}
	return err;
}

/* A URI, or a portal as it is printed. */
static int read_uri(struct call *call, struct uri *uri)
{
	const char *text = call->operand[0];
	bool is_uri = strstr(text, "://");
	char whole[URI_MAX];
	int tpgt, err = 0;

	if (!is_uri && strchr(text, '@')) /* and isn't hidden from the process list: the text isn't
					     quoted either */
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"invalid portal: user and password need --user and --secret-file, or an "
			"iscsi:// URI");
	if (is_uri)
		snprintf(whole, sizeof(whole), "%s", text);
	else
		err = iser_portal_uri(text, whole, &tpgt, call->diag);
	if (!err)
		err = uri_parse(uri, whole, call->diag);
	explicit_bzero(whole, sizeof(whole));
	if (err && !is_uri)
		snprintf(call->diag->object, sizeof(call->diag->object), "%s", text);
	if (err)
		return err;
	if (strcmp(uri->scheme, "iser") && strcmp(uri->scheme, "iscsi"))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"'%s' is not an iser: or iscsi: URI", uri->spelling);
	if (*uri->path)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"'%s' names a target: expected a portal, HOST[:PORT] or iscsi://HOST",
			uri->spelling);
	return 0;
}

static bool is_string(const struct discovery *d)
{
	return kernel_iscsi_is_string(d->call->operand[0]);
}

static void read_transport(struct discovery *d)
{
	const struct discover_options *opts = d->call->opts;
	bool uri = strstr(d->call->operand[0], "://") || is_string(d);
	const char *word = opts->transport                  ? opts->transport
			   : !uri                           ? "auto"
			   : strcmp(d->uri->scheme, "iser") ? "tcp"
							    : "iser";

	d->want[ISCSI_TCP] = strcmp(word, "iser");
	d->want[ISCSI_ISER] = strcmp(word, "tcp");
}

static int read_call(struct discovery *d)
{
	const struct discover_options *opts = d->call->opts;
	struct diag *diag = d->call->diag;
	uint32_t ms = opts->common.timeout_ms;
	int err = is_string(d) ? read_string(d, d->call->operand[0], diag)
			       : read_uri(d->call, d->uri);

	if (!err)
		err = uri_msec(d->uri, "timeout", &ms, diag);
	if (!err)
		err = iscsi_who_read(d->call, &opts->who, d->uri, &d->who);
	if (!err)
		err = uri_done(d->uri, diag);
	if (err)
		return err;
	read_transport(d);
	d->until = ms ? loop_clock() + ms * MSEC : 0;
	return uri_resolve(d->uri, ISCSI_PORT, ms, &d->server, diag);
}

static void ready_rdma(struct discovery *d)
{
	int root = d->want[ISCSI_ISER] ? kernel_root() : -1;

	if (root < 0)
		return;
	kernel_rdma_ready(root, &d->rdma);
	d->rdma.hint[0] = 0;
	close(root);
}

static void ask(struct discovery *d, enum iscsi_carrier carrier, uint32_t ms)
{
	struct iscsi_found *found = &d->found[carrier];
	struct diag *why = &d->why[carrier];
	struct out *out = d->call->out;
	const struct addr *at;
	char where[ADDR_TEXT];

	if (iscsi_discover(d->loop, &d->server, carrier, &d->who.from, ms, found, why) &&
		carrier == ISCSI_ISER && d->rdma.err)
		*why = d->rdma;
	at = why->err ? &d->server : &found->at;
	out_object(out, NULL);
	out_text(out, "transport", NULL, "%s", iscsi_carrier_word(carrier));
	iser_show_portal(out, addr_host(at, where), addr_port(at));
	out_error(out, "error", why);
	if (!why->err) {
		out_u64(out, "redirects", NULL, found->redirects);
		iser_show_chap(out, found->alg);
	}
	out_end(out);
	if (!why->err && d->call->loop.verbose)
		call_note(d->call, "queried over %s: %s%s%s", iscsi_carrier_word(carrier),
			found->way, *found->alg ? ", by CHAP with " : "", found->alg);
	else if (why->err && d->call->loop.verbose)
		call_note(d->call, "queried over %s: %s", iscsi_carrier_word(carrier), why->text);
}

static bool same_portal(const struct iscsi_record *a, const struct iscsi_record *b)
{
	return !strcmp(a->host, b->host) && a->port == b->port;
}

/* Has the list before this one, or this one further up, said the same? */
static bool is_new(const struct discovery *d, unsigned carrier, unsigned index)
{
	const struct iscsi_record *record = &d->found[carrier].record[index];

	for (unsigned c = 0; c <= carrier; c++)
		for (unsigned i = 0; i < (c == carrier ? index : d->found[c].count); i++) {
			const struct iscsi_record *other = &d->found[c].record[i];

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
		if (!d->want[c])
			continue;
		portal->probe[c] = &d->probe[d->probes++];
		*portal->probe[c] = (struct iscsi_probe){ .addr = addr, .carrier = (uint8_t)c };
	}
}

/* "iser and tcp", "iser", "tcp", "" */
static void answers_text(const struct portal *portal, char text[32])
{
	*text = 0;
	for (unsigned c = ISCSI_CARRIERS; c-- > 0;)
		if (portal->probe[c] && portal->probe[c]->answers)
			snprintf(text + strlen(text), 32 - strlen(text), "%s%s",
				*text ? " and " : "", iscsi_carrier_word(c));
}

static void tell_portal(const struct discovery *d, const struct portal *portal)
{
	const struct iscsi_record *r = portal->record;
	const char *open = strchr(r->host, ':') ? "[" : "", *close = *open ? "]" : "",
		   *why = portal->why.text;
	char text[32];

	answers_text(portal, text);
	if (*text) {
		call_note(
			d->call, "%s%s%s:%u answers over %s", open, r->host, close, r->port, text);
		return;
	}
	for (unsigned c = ISCSI_CARRIERS; c-- > 0;)
		if (portal->probe[c])
			why = portal->probe[c]->why.text;
	call_note(d->call, "%s%s%s:%u: no answer: %s", open, r->host, close, r->port, why);
}

static int probe(struct discovery *d)
{
	uint32_t ms = left_ms(d, 1);
	int err;

	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		for (unsigned i = 0; i < d->found[c].count; i++)
			add_portal(d, &d->found[c].record[i]);
	err = iscsi_probe(d->loop, &d->who.from, d->probe, d->probes,
		!ms || ms > PROBE_MS ? PROBE_MS : ms, d->call->diag);
	for (unsigned i = 0; !err && i < d->portals; i++) {
		d->portal[i].tried = true;
		tell_portal(d, &d->portal[i]);
	}
	return err;
}

static void print_transports(struct out *out, const struct portal *portal)
{
	out_list(out, "transports");
	for (unsigned c = ISCSI_CARRIERS; c-- > 0;)
		if (portal->probe[c] && portal->probe[c]->answers)
			out_text(out, NULL, NULL, "%s", iscsi_carrier_word(c));
	out_end(out);
}

static void print_record(struct discovery *d, const struct iscsi_record *r)
{
	const char *open = strchr(r->host, ':') ? "[" : "", *close = *open ? "]" : "";
	const struct portal *portal = find_portal(d, r);
	struct out *out = d->call->out;

	out_object(out, NULL);
	out_text(out, "target", NULL, "%s", r->name);
	iser_show_portal(out, r->host, r->port);
	if (r->tpgt >= 0)
		out_u64(out, "tpgt", NULL, (uint64_t)r->tpgt);
	if (portal && portal->tried)
		print_transports(out, portal);
	out_end(out);
	out_line(out, "%s%s%s:%u,%d %s", open, r->host, close, r->port, r->tpgt, r->name);
}

/* Of two failures, report the one of the transport that reached the portal. */
static int failed(struct discovery *d)
{
	bool tcp = d->want[ISCSI_TCP] &&
		   (!d->want[ISCSI_ISER] || d->why[ISCSI_ISER].code == DIAG_NO_DEVICE ||
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

	out_text(out, "initiator", NULL, "%s", d->who.name.name);
	out_list(out, "asked");
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		if (d->want[c])
			ask(d, c, left_ms(d, d->want[ISCSI_TCP] && d->want[ISCSI_ISER] ? 2 : 1));
	out_end(out);
	if ((!d->want[ISCSI_TCP] || d->why[ISCSI_TCP].err) &&
		(!d->want[ISCSI_ISER] || d->why[ISCSI_ISER].err))
		return failed(d);
	err = opts->no_probe ? 0 : probe(d);
	out_list(out, "records");
	for (unsigned c = 0; !err && c < ISCSI_CARRIERS; c++)
		for (unsigned i = 0; i < d->found[c].count; i++)
			if (is_new(d, c, i)) {
				print_record(d, &d->found[c].record[i]);
				count++;
			}
	out_end(out);
	if (err || count)
		return err;
	diag_set(d->call->diag, DIAG_NOT_FOUND, ENOENT, "no target is listed for %s",
		d->who.name.name);
	return diag_hint(d->call->diag, "add this name to the target's access list, or use "
					"another: --initiator NAME"),
	       -ENOENT;
}

static int discover(struct call *call)
{
	struct discovery *d = calloc(1, sizeof(*d));
	int err = d ? 0 : diag_sys(call->diag, ENOMEM, "discovery");

	if (err)
		return err;
	d->call = call;
	d->uri = calloc(1, sizeof(*d->uri));
	err = d->uri ? read_call(d) : diag_sys(call->diag, ENOMEM, "discovery");
	if (!err) {
		ready_rdma(d);
		err = loop_new(&d->loop, &call->loop, call->diag);
	}
	if (!err) {
		err = run(d);
		loop_free(d->loop);
		if (err < 0)
			diag_ctx(call->diag, "%s",
				strstr(call->operand[0], "://") || is_string(d) ? d->uri->spelling
										: call->operand[0]);
	}
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		iscsi_found_free(&d->found[c]);
	if (d->uri)
		explicit_bzero(d->uri, sizeof(*d->uri));
	explicit_bzero(&d->wish, sizeof(d->wish));
	iscsi_who_forget(&d->who);
	free(d->uri);
	free(d);
	return err;
}

const struct applet applet_iser_discover = {
	.name = "iser-discover",
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
