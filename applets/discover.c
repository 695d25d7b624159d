/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* discover: print a URI for each disk that a host offers, by whatever protocol. Each protocol is
 * queried by its own applet in a child process; NBD, which has no other applet, here. */
#include "disk_open.h"
#include "grow.h"
#include "probe.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000
#define DAY_MS     86400000u
#define FOUND_MAX  8192 /* each is compared with those before */

struct discover_options {
	struct opt_common common;
	bool uris;
};

static const struct opt rows[] = {
	{ "uris", 'u', OPT_FLAG, offsetof(struct discover_options, uris), NULL,
		"print only the URIs" },
	{ 0 },
};

static const struct opt_foreign foreign[] = {
	{ "nbd-client", "-l|--list", "omit it: rdmastor discover HOST" },
	{ "qemu-nbd", "-L|--list", "omit it: rdmastor discover HOST" },
	{ "iscsiadm", "-m|--mode|-t|--type|-p|--portal",
		"pass only the host: rdmastor discover HOST" },
	{ "nvme-cli", "-a|--traddr|-s|--trsvcid|--transport",
		"pass only the host: rdmastor discover HOST[:PORT]" },
	{ "showmount", "-e|--exports", "omit it: rdmastor discover HOST" },
	{ 0 },
};

static const struct discover_options defaults = { .common.timeout_ms = TIMEOUT_MS };

/* Ports on InfiniBand have GIDs, which are IPv6 addresses. */
static const struct service srp = { "srp", "SRP", "srp-discover", 0 };

struct query {
	const struct service *service;
	struct probe probe;
	char uri[URI_MAX];
	struct diag why; /* err 0: it has listed disks */
};

struct discovery {
	struct call *call;
	struct loop *loop;
	struct uri uri; /* of the host, with the scheme if one is given */
	bool all;       /* protocols */
	struct query query[SERVICES + 1];
	unsigned queries;
	struct found {
		char *uri;
	} * found;
	unsigned count, listed; /* listed: with those found before */
	bool more;              /* than FOUND_MAX */
	bool failed;            /* out of memory */
};

/* ---- What is queried. */

static int not_a_host(struct discovery *d)
{
	diag_set(d->call->diag, DIAG_USAGE, EINVAL,
		"'%s': expected HOST, HOST:PORT, [ADDRESS]:PORT or SCHEME://HOST[:PORT]",
		d->call->operand[0]);
	return -EINVAL;
}

static int names_disk(struct discovery *d)
{
	not_a_host(d);
	diag_hint(d->call->diag, "show a disk with: rdmastor info %s", d->call->operand[0]);
	return -EINVAL;
}

/* HOST, HOST:PORT, [ADDRESS]:PORT or an IPv6 address, as the authority of a URI. */
static int read_host(struct discovery *d, const char *text)
{
	const char *colon = strchr(text, ':');
	bool v6 = *text != '[' && colon && strchr(colon + 1, ':');
	char uri[URI_MAX];

	if (!*text || strpbrk(text, "/?@ \t") || strlen(text) >= ADDR_HOST)
		return not_a_host(d);
	snprintf(uri, sizeof(uri), "nbd://%s%s%s", v6 ? "[" : "", text, v6 ? "]" : "");
	d->all = true;
	return uri_parse(&d->uri, uri, NULL) || !d->uri.host[0] ? not_a_host(d) : 0;
}

static int read_operand(struct discovery *d)
{
	const char *text = d->call->operand[0];
	int err;

	if (!strstr(text, "://"))
		return read_host(d, text);
	err = uri_parse(&d->uri, text, d->call->diag);
	return err ? err : d->uri.path[0] ? names_disk(d) : 0;
}

static void add_query(struct discovery *d, const struct service *service, const char *uri)
{
	struct query *query = &d->query[d->queries++];

	query->service = service;
	if (uri)
		snprintf(query->uri, sizeof(query->uri), "%s", uri);
	else
		service_uri(service, d->uri.host, d->uri.port, query->uri);
}

static int choose_queries(struct discovery *d)
{
	const struct service *one = d->all ? NULL : service_find(d->uri.scheme);

	if (one)
		add_query(d, one, d->call->operand[0]);
	else if (!d->all)
		return diag_set(d->call->diag, DIAG_USAGE, EINVAL,
			"unsupported scheme '%s:': expected nvme+tcp, nvme+rdma, iscsi, iser, nbd, "
			"nbd+unix or nfs+rdma",
			d->uri.scheme);
	for (unsigned i = 0; i < SERVICES && d->all; i++)
		add_query(d, &services[i], NULL);
	if (d->all && strchr(d->uri.host, ':') && !strchr(d->uri.host, '%'))
		add_query(d, &srp, d->uri.host);
	return 0;
}

/* ---- The answers. */

static void add_found(const char *uri, void *arg)
{
	struct discovery *d = arg;
	const char *host = strstr(uri, "://");
	struct found *found;

	if (!host || !strchr(host + 3, '/')) /* a server */
		return;
	d->listed++;
	d->more |= d->count == FOUND_MAX;
	if (d->more)
		return;
	for (unsigned i = 0; i < d->count; i++)
		if (!strcmp(d->found[i].uri, uri))
			return;
	found = grow(d->found, d->count);
	if (found)
		found->uri = strdup(uri);
	d->failed |= !found || !found->uri;
	if (found && !found->uri)
		d->count--;
}

/* This applet takes a user and a secret from a URI. */
static void hint_chap(struct query *query)
{
	const char *host = strstr(query->uri, "://");

	if (host && strstr(query->why.hint, "--secret-file"))
		diag_hint(&query->why,
			"the target may require CHAP: rdmastor discover "
			"'%.*s://USER@%.*s?secret-file=FILE'",
			(int)(host - query->uri), query->uri, (int)strcspn(host + 3, "?"),
			host + 3);
}

static void add_answer(struct discovery *d, struct query *query)
{
	unsigned before = d->listed;

	query->why = query->probe.run.why;
	hint_chap(query);
	applet_run_texts(&query->probe.run, "uri", "", add_found, d);
	if (!query->why.err && d->listed == before)
		diag_set(&query->why, DIAG_NOT_FOUND, ENOENT, "no disk is listed for this machine");
}

static void query_all(struct discovery *d, uint32_t ms)
{
	struct probes probes = { .loop = d->loop, .run = applet_main };

	for (unsigned i = 0; i < d->queries; i++) {
		struct query *query = &d->query[i];
		const char *uri[] = { query->service->applet, query->uri, NULL };
		const char *gid[] = { query->service->applet, "--gid", query->uri, NULL };

		probe_start(&probes, &query->probe, ms, query->service == &srp ? gid : uri);
	}
	probes_wait(&probes);
	for (unsigned i = 0; i < d->queries; i++) {
		add_answer(d, &d->query[i]);
		applet_run_free(&d->query[i].probe.run);
	}
}

static int query_nbd(struct discovery *d)
{
	struct bdev_env env;
	int err = disk_env(d->call, &env, NULL);

	if (!err)
		err = bdev_discover(
			d->loop, d->call->operand[0], &env, add_found, d, d->call->diag);
	if (err)
		return diag_ctx(d->call->diag, "%s", d->uri.spelling);
	return 0;
}

/* ---- The result. */

static void print_found(struct discovery *d, struct table *table)
{
	const struct discover_options *opts = d->call->opts;
	struct out *out = d->call->out;

	for (unsigned i = 0; i < d->count; i++) {
		const char *uri = d->found[i].uri;
		char scheme[32];

		snprintf(scheme, sizeof(scheme), "%.*s", (int)strcspn(uri, ":"), uri);
		if (table && !opts->uris) {
			table_row(table, (const char *[]){ scheme, uri });
			continue;
		}
		out_object(out, NULL);
		out_text(out, "protocol", NULL, "%s", scheme);
		out_text(out, "uri", opts->uris ? "" : NULL, "%s", uri);
		out_end(out);
	}
}

/* As with a name that is not found. */
static bool same_reason(const struct discovery *d)
{
	for (unsigned i = 1; i < d->queries; i++)
		if (strcmp(d->query[i].why.text, d->query[0].why.text))
			return false;
	return d->queries;
}

static void print_result(struct discovery *d)
{
	static const char *const head[] = { "PROTOCOL", "URI" };
	const struct discover_options *opts = d->call->opts;
	struct out *out = d->call->out;
	struct table table = TABLE(out, head);

	if (opts->common.json || opts->uris) {
		out_list(out, "records");
		print_found(d, NULL);
		out_end(out);
	} else if (d->count) {
		while (table_pass(&table, head))
			print_found(d, &table);
	}
	out_bool(out, "more", NULL, d->more);
	if (d->more)
		call_warn(d->call, "there are more disks: only the first %d are listed", FOUND_MAX);
	out_list(out, "failed_protocols");
	for (unsigned i = 0; i < d->queries; i++) {
		const struct query *query = &d->query[i];

		if (!query->why.err)
			continue;
		out_object(out, NULL);
		out_text(out, "protocol", NULL, "%s", query->service->scheme);
		out_error(out, "error", &query->why);
		out_end(out);
		if (opts->common.verbose || (!d->count && !same_reason(d)))
			call_note(d->call, "%s: %s", query->service->name, query->why.text);
	}
	out_end(out);
}

/* The first that answered without a list, or NULL: what it has is unknown. */
static const struct query *find_unlisted(const struct discovery *d)
{
	for (unsigned i = 0; i < d->queries; i++)
		if (service_answers(&d->query[i].why) && d->query[i].why.err &&
			d->query[i].why.code != DIAG_NOT_FOUND)
			return &d->query[i];
	return NULL;
}

/* The reason that all protocols share, else that of one that refused to list its disks, else that
 * the host offers none. */
static int nothing_found(struct discovery *d)
{
	const struct query *first = d->query, *unlisted = find_unlisted(d);
	struct diag *diag = d->call->diag;
	bool same = true, answers = false;

	if (same_reason(d)) {
		*diag = first->why;
		return diag_ctx(diag, "%s", d->call->operand[0]);
	}
	if (unlisted) {
		diag_set(diag, unlisted->why.code, unlisted->why.err, "%s: %s",
			unlisted->service->name, unlisted->why.text);
		diag_hint(diag, "%s", unlisted->why.hint);
		return diag_ctx(diag, "%s", d->call->operand[0]);
	}
	for (unsigned i = 0; i < d->queries; i++) {
		same &= d->query[i].why.code == first->why.code;
		answers |= service_answers(&d->query[i].why);
	}
	diag_set(diag, same ? first->why.code : DIAG_NOT_FOUND, same ? first->why.err : ENOENT,
		"no disk found: %s",
		answers       ? "the host lists none for this machine"
		: d->uri.port ? "no protocol answers at this port"
			      : "no protocol answers at its default port");
	diag_ctx(diag, "%s", d->call->operand[0]);
	if (!answers && !d->uri.port)
		diag_hint(diag, "if the server has another port: rdmastor discover HOST:PORT");
	return -diag->err;
}

static int discover(struct discovery *d)
{
	const struct discover_options *opts = d->call->opts;
	bool nbd = !d->all && !strncmp(d->uri.scheme, "nbd", 3);
	int err = nbd ? 0 : choose_queries(d);

	if (!err)
		err = loop_new(&d->loop, &d->call->loop, d->call->diag);
	if (err)
		return err;
	if (nbd)
		err = query_nbd(d);
	else
		query_all(d, opts->common.no_timeout ? DAY_MS : opts->common.timeout_ms);
	if (!err && d->failed)
		err = diag_sys(d->call->diag, ENOMEM, "discovery");
	if (!err) {
		out_nonempty(d->call->out, "host", d->uri.host);
		print_result(d);
	}
	if (!err && !d->count && nbd)
		err = diag_set(d->call->diag, DIAG_NOT_FOUND, ENOENT, "the server lists no export");
	else if (!err && !d->count)
		err = nothing_found(d);
	loop_free(d->loop);
	return err;
}

static int run(struct call *call)
{
	struct discovery *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return diag_sys(call->diag, ENOMEM, "discovery");
	d->call = call;
	err = read_operand(d);
	if (!err)
		err = discover(d);
	for (unsigned i = 0; i < d->count; i++)
		free(d->found[i].uri);
	free(d->found);
	explicit_bzero(d, sizeof(*d));
	free(d);
	return err;
}

const struct applet applet_discover = {
	.name = "discover",
	.operands = "HOST|URI",
	.schemes = SCHEME_DISK | SCHEME_ATTACH,
	.summary = "list the disks that a host offers, by all protocols",
	.opts = rows,
	.defaults = &defaults,
	.foreign = foreign,
	.examples = "  rdmastor discover 10.0.0.1\n"
		    "  rdmastor discover -u nbd://10.0.0.1:10810\n"
		    "  rdmastor discover --json server | jq -r '.records[].uri'\n",
	.opts_size = sizeof(struct discover_options),
	.min = 1,
	.max = 1,
	.run = run,
};
