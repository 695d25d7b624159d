/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-discover: query discovery controllers and their referrals, and print the log pages as
 * nvme-cli does. */
#include "bdev.h"
#include "disk_open.h"
#include "grow.h"
#include "nvmf_rows.h"
#include "out.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct discover_options {
	struct opt_common common;
	struct nvmf_options nvmf;
	const char *config;
	bool no_referrals, uris;
};

#define AT(field)  offsetof(struct discover_options, field)
#define VALUE(key) OPT_TEXT, AT(nvmf.value[key])
#define FLAG(key)  OPT_FLAG, AT(nvmf.flag[key])
#define IGNORED(name, letter, key)                                                                 \
	{                                                                                          \
		name, letter, VALUE(key), "N", "accepted for nvme-cli's command lines; no effect"  \
	}
static const struct opt rows[] = {
	{ "transport", 't', VALUE(NVMF_TRANSPORT), "rdma|tcp", "transport" },
	{ "traddr", 'a', VALUE(NVMF_TRADDR), "ADDRESS", "address of the discovery controller" },
	{ "trsvcid", 's', VALUE(NVMF_TRSVCID), "PORT",
		"port; default 4420 over RDMA, 8009 then 4420 over TCP" },
	{ "nqn", 'n', VALUE(NVMF_NQN), "NQN",
		"subsystem NQN of the discovery controller; default the well-known NQN" },
	{ "host-traddr", 'w', VALUE(NVMF_HOST_TRADDR), "ADDRESS", "local address" },
	{ "host-iface", 'f', VALUE(NVMF_HOST_IFACE), "NETDEV", "local network interface (TCP)" },
	{ "hostnqn", 'q', VALUE(NVMF_HOSTNQN), "NQN", "host NQN" },
	{ "hostid", 'I', VALUE(NVMF_HOSTID), "UUID", "host identifier" },
	{ "hdr-digest", 'g', FLAG(NVMF_HDR_DIGEST), NULL, "header digests (TCP)" },
	{ "data-digest", 'G', FLAG(NVMF_DATA_DIGEST), NULL, "data digests (TCP)" },
	{ "tos", 'T', VALUE(NVMF_TOS), "N", "type of service, 0 to 255" },
	{ "config", 'J', OPT_TEXT, AT(config), "FILE",
		"query the discovery controllers in FILE; default the files in /etc/nvme" },
	{ "no-referrals", 0, OPT_FLAG, AT(no_referrals), NULL, "do not follow referrals" },
	{ "uris", 'u', OPT_FLAG, AT(uris), NULL, "print only the URIs of the subsystems" },
	IGNORED("nr-io-queues", 'i', NVMF_NR_IO_QUEUES),
	IGNORED("nr-write-queues", 'W', NVMF_NR_WRITE_QUEUES),
	IGNORED("nr-poll-queues", 'P', NVMF_NR_POLL_QUEUES),
	IGNORED("queue-size", 'Q', NVMF_QUEUE_SIZE),
	IGNORED("keep-alive-tmo", 'k', NVMF_KEEP_ALIVE_TMO),
	IGNORED("reconnect-delay", 'c', NVMF_RECONNECT_DELAY),
	IGNORED("ctrl-loss-tmo", 'l', NVMF_CTRL_LOSS_TMO),
	IGNORED("fast-io-fail-tmo", 'F', NVMF_FAST_IO_FAIL_TMO),
	{ "duplicate-connect", 'D', FLAG(NVMF_DUPLICATE_CONNECT), NULL,
		"accepted for nvme-cli's command lines; no effect" },
	{ "disable-sqflow", 0, FLAG(NVMF_DISABLE_SQFLOW), NULL,
		"accepted for nvme-cli's command lines; no effect" },
	{ "output", 'o', OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal",
		"output format; normal is text" },
	{ "output-format", 0, OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal",
		"same as --output" },
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	{ "nvme-cli", "-S|--dhchap-secret|-C|--dhchap-ctrl-secret",
		"discovery has no authentication; nvmf-connect-all passes secrets to the kernel" },
	{ "nvme-cli", "--tls|--tls-key|--tls-key-identity|--keyring|--concat",
		"discovery doesn't use TLS; nvmf-connect-all passes the key to the kernel" },
	{ "nvme-cli", "-p|--persistent|--force", NVMF_NO_PERSISTENT },
	NVMF_FOREIGN,
	{ 0 },
};

static const struct discover_options defaults;

struct discovery {
	struct call *call;
	struct loop *loop;
	int root;
	struct nvmf_queries all;
	struct nvmf_log log; /* of all */
	unsigned logs, fails;
	const char *hostnqn; /* of the last query */
};

static bool same_record(const struct nvmf_record *a, const struct nvmf_record *b)
{
	return a->trtype == b->trtype && a->adrfam == b->adrfam && a->subtype == b->subtype &&
	       a->portid == b->portid && !strcmp(a->traddr, b->traddr) &&
	       !strcmp(a->trsvcid, b->trsvcid) && !strcmp(a->subnqn, b->subnqn);
}

/* Merge a log into the others, without duplicate records. */
static int merge(struct discovery *d, const struct nvmf_log *log, struct diag *diag)
{
	struct nvmf_log *all = &d->log;
	unsigned before = all->count;

	if (!d->logs++)
		all->genctr = log->genctr;
	for (unsigned i = 0; i < log->count; i++) {
		struct nvmf_record *record;
		unsigned at = 0;

		while (at < before && !same_record(&all->record[at], &log->record[i]))
			at++;
		record = at == before ? grow(all->record, all->count) : NULL;
		if (record)
			*record = log->record[i];
		else if (at == before)
			return diag_sys(diag, ENOMEM, "discovery records");
	}
	for (unsigned i = 0; i < log->failures; i++) {
		struct nvmf_failure *failure = grow(all->failure, all->failures);

		if (!failure)
			return diag_sys(diag, ENOMEM, "discovery records");
		*failure = log->failure[i];
	}
	return 0;
}

/* Query in parallel. */
static int query_controllers(struct discovery *d)
{
	const struct discover_options *opts = d->call->opts;
	const struct opt_common *common = &opts->common;
	struct attach **list = calloc(d->all.count, sizeof(*list));
	int err;

	if (!list)
		return diag_sys(d->call->diag, ENOMEM, "discovery");
	for (unsigned i = 0; i < d->all.count; i++) {
		struct nvmf_query *query = &d->all.query[i];

		if (query->attach.why.err)
			continue;
		nvmf_query_init(query, d->loop, d->root, !opts->no_referrals);
		query->never = common->no_timeout;
		query->attach.deadline =
			common->timeout_ms ? loop_clock() + common->timeout_ms * MSEC : 0;
		if (kernel_identity(d->root, query->nqn, query->hostid, &query->identity,
			    &query->attach.why))
			continue;
		list[i] = &query->attach;
		d->hostnqn = query->identity.hostnqn;
		if (d->call->loop.verbose)
			call_note(d->call, "%s: host NQN %s (%s)", query->shown,
				query->identity.hostnqn, query->identity.nqn_from);
		if (query->identity.random)
			call_warn_once(d->call, "random host NQN for this run: %s",
				query->identity.hostnqn);
	}
	err = attach_run(d->loop, list, d->all.count, d->call->diag);
	free(list);
	return err;
}

/* Merge the log of a query, or complete its error: what RDMA lacks, or which URI would work. */
static int merge_answer(struct discovery *d, struct nvmf_query *query)
{
	struct diag *why = &query->attach.why;

	if (!why->err)
		return merge(d, &query->discovery.log, why);
	if (query->since && why->code != DIAG_USAGE && why->err != EINTR) {
		disk_blame_rdma(why, &query->rdma);
		if (!d->all.any_transport)
			bdev_suggest(d->loop, query->uri.spelling, &query->env, query->since, why);
	}
	if (!strncmp(why->object, "transport=", 10))
		snprintf(why->object, sizeof(why->object), "%.255s", query->uri.host);
	d->fails++;
	return -why->err;
}

/* Software iWARP appends its TCP error (core/net/ep.c): cut it if plain TCP failed with the same.
 */
static void drop_same_cause(struct diag *rdma, const struct diag *tcp)
{
	static const char by[] = "; over TCP: ";
	char *tcp_part = strstr(rdma->text, by);
	const char *same = diag_errno_text(tcp->err);

	if (tcp_part && !strncmp(tcp_part + strlen(by), same, strlen(same)))
		*tcp_part = 0;
}

/* One host over both transports: one answer is enough. */
static int either_failed(struct discovery *d)
{
	struct diag *rdma = &d->all.query[0].attach.why, *tcp = &d->all.query[1].attach.why;

	*d->call->diag = *tcp;
	drop_same_cause(rdma, tcp);
	diag_both(d->call->diag, "TCP", tcp->text, "RDMA", rdma->text);
	return -tcp->err;
}

static int query_all(struct discovery *d)
{
	int err = query_controllers(d);

	for (unsigned i = 0; i < d->all.count && !err; i++) {
		const struct nvmf_query *query = &d->all.query[i];

		if (!merge_answer(d, &d->all.query[i]))
			continue;
		if (!d->call->diag->err)
			*d->call->diag = query->attach.why;
	}
	if (err || !d->all.any_transport)
		return d->logs ? 0 : -d->call->diag->err;
	if (!d->logs)
		return either_failed(d);
	for (unsigned i = 0; i < d->all.count && d->call->loop.verbose; i++)
		if (d->all.query[i].attach.why.err)
			call_note(d->call, "%s: %s", d->all.query[i].shown,
				d->all.query[i].attach.why.text);
	*d->call->diag = (struct diag){ 0 };
	d->fails = 0;
	return 0;
}

/* nvme-cli has no such line. */
static void print_uri(struct call *call, const struct nvmf_record *r)
{
	char uri[URI_MAX];

	if (strncmp(call->name, "nvme ", 5) && nvmf_record_uri(r, uri))
		out_text(call->out, "uri", "uri:     ", "%s", uri);
}

static void print_record(struct call *call, unsigned number, const struct nvmf_record *r)
{
	const char *trtype = nvmf_trtype_str(r->trtype);
	struct out *out = call->out;

	out_object(out, NULL);
	out_line(out, "=====Discovery Log Entry %u======", number);
	out_text(out, "trtype", "trtype:  ", "%s", trtype);
	out_text(out, "adrfam", "adrfam:  ", "%s", r->traddr[0] ? nvmf_adrfam_str(r->adrfam) : "");
	out_text(out, "subtype", "subtype: ", "%s", nvmf_subtype_str(r->subtype));
	out_text(out, "treq", "treq:    ", "%s", nvmf_treq_str(r->treq));
	out_u64(out, "portid", "portid:  ", r->portid);
	out_text(out, "trsvcid", "trsvcid: ", "%s", r->trsvcid);
	out_text(out, "subnqn", "subnqn:  ", "%s", r->subnqn);
	out_text(out, "traddr", "traddr:  ", "%s", r->traddr);
	out_text(out, "eflags", "eflags:  ", "%s", nvmf_eflags_str(r->eflags));
	if (!strcmp(trtype, "rdma")) {
		out_text(out, "rdma_prtype", "rdma_prtype: ", "%s",
			nvmf_prtype_str(r->tsas.rdma.prtype));
		out_text(out, "rdma_qptype", "rdma_qptype: ", "%s",
			nvmf_qptype_str(r->tsas.rdma.qptype));
		out_text(out, "rdma_cms", "rdma_cms:    ", "%s", nvmf_cms_str(r->tsas.rdma.cms));
		out_u64(out, "rdma_pkey", NULL, r->tsas.rdma.pkey);
		out_line(out, "rdma_pkey: 0x%04x", r->tsas.rdma.pkey);
	} else if (!strcmp(trtype, "tcp")) {
		out_text(out, "sectype", "sectype: ", "%s", nvmf_sectype_str(r->tsas.tcp.sectype));
	}
	if (r->hops)
		out_u64(out, "hops", NULL, r->hops);
	print_uri(call, r);
	out_end(out);
}

static void print_uris(struct out *out, const struct nvmf_log *log)
{
	char uri[URI_MAX];

	for (unsigned i = 0; i < log->count; i++)
		if (nvmf_record_uri(&log->record[i], uri))
			out_line(out, "%s", uri);
}

/* Print the records of the queried controllers, then those behind referrals. */
static void print_log(struct call *call, const struct nvmf_log *log)
{
	unsigned own = 0, number = 0;
	struct out *out = call->out;

	for (unsigned i = 0; i < log->count; i++)
		own += !log->record[i].hops;
	out_u64(out, "genctr", NULL, log->genctr);
	out_list(out, "records");
	out_line(out, "%s", "");
	out_line(out, "Discovery Log Number of Records %u, Generation counter %llu", own,
		(unsigned long long)log->genctr);
	for (unsigned i = 0; i < log->count; i++)
		if (!log->record[i].hops)
			print_record(call, number++, &log->record[i]);
	if (own < log->count) {
		out_line(out, "%s", "");
		out_line(out, "Records behind referrals: %u", log->count - own);
	}
	for (unsigned i = 0; i < log->count; i++)
		if (log->record[i].hops)
			print_record(call, number++, &log->record[i]);
	out_end(out);
}

static void print_failed(
	struct call *call, const char *uri, const struct diag *why, const struct diag *first)
{
	out_object(call->out, NULL);
	out_text(call->out, "uri", NULL, "%s", uri);
	out_error(call->out, "error", why);
	out_end(call->out);
	if (why != first) /* which is the command's failure: main prints it */
		call_note(call, "%s: %s", uri, why->text);
}

static int print_results(struct discovery *d)
{
	struct call *call = d->call;
	const struct discover_options *opts = call->opts;
	const struct nvmf_failure *failure = d->log.failure;
	const struct diag *first = d->fails || !d->log.failures ? NULL : &failure->why;

	if (opts->uris && !opts->common.json)
		print_uris(call->out, &d->log);
	else
		print_log(call, &d->log);
	if (d->log.failures)
		out_list(call->out, "failed_referrals");
	for (unsigned i = 0; i < d->log.failures; i++)
		print_failed(call, failure[i].uri, &failure[i].why, first);
	if (d->log.failures)
		out_end(call->out);
	if (first) {
		*call->diag = *first;
		snprintf(call->diag->object, sizeof(call->diag->object), "%.255s", failure->uri);
	}
	if (d->fails)
		out_list(call->out, "failed_controllers");
	for (unsigned i = 0; i < d->all.count && d->fails; i++) {
		const struct diag *why = &d->all.query[i].attach.why;

		if (!why->err)
			continue;
		first = first ? first : why;
		print_failed(call, d->all.query[i].shown, why, first);
	}
	if (d->fails)
		out_end(call->out);
	if (!d->log.count)
		call_note(call, "no subsystems for host NQN %s", d->hostnqn);
	return d->log.failures || d->fails ? EXIT_PARTLY : EXIT_DONE;
}

static void note_ignored(const struct call *call)
{
	const struct discover_options *opts = call->opts;

	for (int key = NVMF_QUEUE_SIZE; key <= NVMF_DISABLE_SQFLOW && call->loop.verbose; key++)
		if (key != NVMF_TOS && (opts->nvmf.value[key] || opts->nvmf.flag[key]))
			call_warn(call, "%s: ignored: no effect on discovery",
				kernel_nvmf_key_name(key));
}

static int discover(struct call *call)
{
	const struct discover_options *opts = call->opts;
	struct discovery d = { .call = call, .root = kernel_root() };
	const struct out_notes notes = call_notes(call);
	int err = d.root < 0 ? diag_sys(call->diag, errno, "open /")
			     : nvmf_queries_read(&notes, d.root,
				       call->operands ? call->operand[0] : NULL, &opts->nvmf,
				       opts->config, &d.all, call->diag);

	if (!err)
		err = loop_new(&d.loop, &call->loop, call->diag);
	if (!err) {
		note_ignored(call);
		err = query_all(&d);
	}
	if (!err)
		err = print_results(&d);
	loop_free(d.loop);
	nvmf_log_free(&d.log);
	nvmf_queries_free(&d.all);
	if (d.root >= 0)
		close(d.root);
	return err;
}

const struct applet applet_nvmf_discover = {
	.name = "nvmf-discover",
	.operands = "[HOST|URI]",
	.schemes = SCHEME_NVMF,
	.summary = "list the subsystems that NVMe-oF discovery controllers report",
	.examples = "  rdmastor nvmf-discover 10.0.0.1\n"
		    "  rdmastor nvmf-discover -t tcp -a 10.0.0.1 -s 8009\n"
		    "  rdmastor nvmf-discover nvme+rdma://10.0.0.1 --json | jq -r "
		    "'.records[].subnqn'\n",
	.opts = rows,
	.foreign = foreign,
	.defaults = &defaults,
	.opts_size = sizeof(struct discover_options),
	.max = 1,
	.own_letters = "oq",
	.run = discover,
};
