/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* discover: print a URI for each disk that a host offers, by whatever protocol. Each protocol is
 * queried by its own applet in a child process; NBD, which has no other applet, here. */
#include "disk_open.h"
#include "probe.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000
#define DAY_MS     86400000u

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

struct discovery {
	struct call *call;
	struct loop *loop;
	struct disk_search search;
};

static int query_nbd(struct discovery *d)
{
	struct diag *diag = d->call->diag, warning = { 0 };
	struct bdev_env env;
	int err = disk_env(d->call, &env, NULL);

	if (!err) {
		err = bdev_discover(
			d->loop, d->search.text, &env, disk_search_add, &d->search, &warning);
		if (err)
			*diag = warning;
	}
	if (err)
		return diag_ctx(diag, "%s", d->search.host.spelling);
	if (warning.err)
		call_warn(d->call, "%s: %s", d->search.host.spelling, warning.text);
	return d->search.no_memory ? diag_sys(diag, ENOMEM, "discovery") : 0;
}

static void print_found(struct discovery *d, struct table *table)
{
	const struct discover_options *opts = d->call->opts;
	struct out *out = d->call->out;

	for (unsigned i = 0; i < d->search.count; i++) {
		const char *uri = d->search.found[i];
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
	} else if (d->search.count) {
		while (table_pass(&table, head))
			print_found(d, &table);
	}
	out_bool(out, "more", NULL, d->search.more);
	if (d->search.more)
		call_warn(d->call, "there are more disks: only the first %d are listed",
			DISK_SEARCH_MAX);
	out_list(out, "failed_protocols");
	for (unsigned i = 0; i < d->search.queries; i++) {
		const struct disk_query *query = &d->search.query[i];

		if (!query->why.err)
			continue;
		out_object(out, NULL);
		out_text(out, "protocol", NULL, "%s", query->service->scheme);
		out_error(out, "error", &query->why);
		out_end(out);
		if (opts->common.verbose ||
			(!d->search.count && !disk_search_same_reason(&d->search)))
			call_note(d->call, "%s: %s", query->service->name, query->why.text);
	}
	out_end(out);
}

static int discover(struct discovery *d)
{
	const struct discover_options *opts = d->call->opts;
	struct disk_search *search = &d->search;
	struct diag *diag = d->call->diag;
	bool nbd = !search->all && !strncmp(search->host.scheme, "nbd", 3);
	struct probes probes = { .loop = d->loop, .run = applet_main };
	uint32_t ms = opts->common.no_timeout ? DAY_MS : opts->common.timeout_ms;
	int err = nbd ? query_nbd(d) : disk_search_run(search, &probes, ms, diag);

	if (err)
		return err;
	out_nonempty(d->call->out, "host", search->host.host);
	print_result(d);
	if (search->count)
		return 0;
	return nbd ? diag_set(diag, DIAG_NOT_FOUND, ENOENT, "the server lists no export")
		   : disk_search_none(search, diag);
}

static int run(struct call *call)
{
	struct discovery *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return diag_sys(call->diag, ENOMEM, "discovery");
	d->call = call;
	err = disk_search_read(&d->search, call->operand[0], call->diag);
	if (!err)
		err = loop_new(&d->loop, &call->loop, call->diag);
	if (!err) {
		disk_check_secrets(call, call->operand[0]);
		err = discover(d);
		loop_free(d->loop);
	}
	disk_search_free(&d->search);
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
