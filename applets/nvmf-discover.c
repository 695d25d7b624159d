/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-discover: query discovery controllers and those that they refer to, and print their logs as
 * nvme-cli does. The protocol is core/proto/nvme's. */
#include "disk_open.h"
#include "kernel_identity.h"
#include "kernel_rdma.h"
#include "loop.h"
#include "nvmf.h"
#include "nvmf_query.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOPS        8
#define TRTYPE_RDMA 1
#define TRTYPE_TCP  3
#define MSEC        1000000ull

struct discover_options {
	struct opt_common common;
	struct nvmf_options nvmf;
	const char *config;
	bool no_referrals;
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

#define NO_AUTH "discovery has no authentication; nvmf-connect-all passes secrets to the kernel"
#define NO_TLS  "discovery doesn't use TLS; nvmf-connect-all passes the key to the kernel"
static const struct opt_foreign foreign[] = {
	{ "nvme-cli", "-S", NO_AUTH },
	{ "nvme-cli", "--dhchap-secret", NO_AUTH },
	{ "nvme-cli", "-C", NO_AUTH },
	{ "nvme-cli", "--dhchap-ctrl-secret", NO_AUTH },
	{ "nvme-cli", "--tls", NO_TLS },
	{ "nvme-cli", "--tls-key", NO_TLS },
	{ "nvme-cli", "--tls-key-identity", NO_TLS },
	{ "nvme-cli", "--keyring", NO_TLS },
	{ "nvme-cli", "--concat", NO_TLS },
	{ "nvme-cli", "-p", NVMF_NO_PERSISTENT },
	{ "nvme-cli", "--persistent", NVMF_NO_PERSISTENT },
	{ "nvme-cli", "--force", NVMF_NO_PERSISTENT },
	NVMF_FOREIGN,
	{ 0 },
};

static const struct discover_options defaults;

struct discovery {
	struct call *call;
	struct loop *loop;
	int root;
	uint64_t until;      /* 0 = each query has its own limit */
	struct nvmf_log log; /* of all */
	unsigned logs;
	struct nvmf_trouble *failed; /* configured controllers */
	unsigned fails;
	bool either;       /* one host over both transports */
	char hostnqn[224]; /* of the last query */
};

/* The host's identity, and over RDMA what the kernel lacks (in rdma: it counts only if the
 * controller is not reached). */
static int read_system(struct discovery *d, const struct nvmf_query *query, bool over_rdma,
	struct bdev_env *env, struct diag *rdma)
{
	struct identity identity;
	int err = kernel_identity(d->root, query->hostnqn, query->hostid, &identity, d->call->diag);

	if (err)
		return err;
	if (over_rdma)
		kernel_rdma_ready(d->root, rdma);
	if (d->call->loop.verbose)
		call_note(d->call, "%s: host NQN %s (%s)", query->shown, identity.hostnqn,
			identity.nqn_from);
	if (identity.random)
		call_note(d->call, "random host NQN for this run: %s", identity.hostnqn);
	memcpy(env->hostnqn, identity.hostnqn, sizeof(env->hostnqn));
	memcpy(env->hostid, identity.hostid, sizeof(env->hostid));
	memcpy(d->hostnqn, identity.hostnqn, sizeof(d->hostnqn));
	return 0;
}

static bool same_record(const struct nvmf_record *a, const struct nvmf_record *b)
{
	return a->trtype == b->trtype && a->adrfam == b->adrfam && a->subtype == b->subtype &&
	       a->portid == b->portid && !strcmp(a->traddr, b->traddr) &&
	       !strcmp(a->trsvcid, b->trsvcid) && !strcmp(a->subnqn, b->subnqn);
}

/* Adds a log to the others'; a record that another controller had is left out. */
static int merge(struct nvmf_log *all, const struct nvmf_log *log, bool first, struct diag *diag)
{
	size_t records = all->count + log->count + 1, troubles = all->troubles + log->troubles + 1;
	struct nvmf_record *record = realloc(all->record, records * sizeof(*record));
	struct nvmf_trouble *trouble =
		record ? realloc(all->trouble, troubles * sizeof(*trouble)) : NULL;
	unsigned before = all->count;

	if (record)
		all->record = record;
	if (!trouble)
		return diag_sys(diag, ENOMEM, "discovery records");
	all->trouble = trouble;
	if (first)
		all->genctr = log->genctr;
	for (unsigned i = 0; i < log->count; i++) {
		unsigned at = 0;

		while (at < before && !same_record(&record[at], &log->record[i]))
			at++;
		if (at == before)
			record[all->count++] = log->record[i];
	}
	for (unsigned i = 0; i < log->troubles; i++)
		trouble[all->troubles++] = log->trouble[i];
	return 0;
}

static uint32_t time_for(const struct discovery *d, unsigned parts)
{
	uint64_t now = loop_clock();
	const struct opt_common *common = d->call->opts;

	if (common->never)
		return BDEV_NEVER;
	return !d->until         ? 0
	       : d->until <= now ? 1
				 : (uint32_t)((d->until - now) / MSEC / parts) + 1;
}

/* parts: for how many queries the time left is. */
static int run_query(
	struct discovery *d, const struct nvmf_query *query, unsigned parts, struct diag *why)
{
	const struct discover_options *opts = d->call->opts;
	const struct nvmf_discover_options how = { .referrals = !opts->no_referrals,
		.max_hops = HOPS };
	struct bdev_env env = { .timeout_ms = time_for(d, parts) };
	struct uri *uri = calloc(1, sizeof(*uri));
	struct nvmf_log log = { 0 };
	struct diag rdma = { 0 };
	uint64_t since;
	int err = uri ? uri_parse(uri, query->text, why) : diag_sys(why, ENOMEM, "discovery");

	if (!err && read_system(d, query, !strcmp(uri->scheme, "nvme+rdma"), &env, &rdma)) {
		*why = *d->call->diag;
		err = -why->err;
	}
	since = loop_clock();
	if (!err) {
		err = nvmf_discover(d->loop, uri, &env, &how, &log, why);
		if (err && why->code != DIAG_USAGE) {
			err = disk_blame_rdma(why, &rdma);
			if (!d->either)
				bdev_suggest(d->loop, uri->spelling, &env, since, why);
		}
	}
	if (!err)
		err = merge(&d->log, &log, !d->logs++, why);
	if (err && !strncmp(why->object, "transport=", 10))
		snprintf(why->object, sizeof(why->object), "%.255s", uri->host);
	nvmf_log_free(&log);
	free(uri);
	return err;
}

/* One host over both transports. */
static int query_either(struct discovery *d, const struct nvmf_queries *all)
{
	struct diag rdma = { 0 }, tcp = { 0 };
	char text[sizeof(tcp.text)];

	d->either = true;
	if (!d->until && !((const struct opt_common *)d->call->opts)->never)
		d->until = loop_clock() + BDEV_TIMEOUT_MS * MSEC;
	if (run_query(d, &all->query[0], 2, &rdma) && rdma.code == DIAG_NOT_FOUND)
		tcp = rdma; /* the name is unknown */
	else
		run_query(d, &all->query[1], 1, &tcp);
	if (d->logs && d->call->loop.verbose)
		for (unsigned i = 0; i < 2; i++)
			if ((i ? &tcp : &rdma)->err)
				call_note(d->call, "%s: %s", all->query[i].shown,
					(i ? &tcp : &rdma)->text);
	if (d->logs)
		return 0;
	if (strcmp(rdma.text, tcp.text)) {
		snprintf(text, sizeof(text), "TCP: %.245s; RDMA: %.245s", tcp.text, rdma.text);
		memcpy(tcp.text, text, sizeof(text));
	}
	*d->call->diag = tcp;
	return -tcp.err;
}

static int query_all(struct discovery *d, const struct nvmf_queries *all)
{
	d->failed = calloc(all->count, sizeof(*d->failed));
	if (!d->failed)
		return diag_sys(d->call->diag, ENOMEM, "discovery");
	for (unsigned i = 0; i < all->count; i++) {
		struct diag why = { 0 };

		if (!run_query(d, &all->query[i], all->count - i, &why))
			continue;
		if (!d->fails)
			*d->call->diag = why;
		snprintf(d->failed[d->fails].uri, sizeof(d->failed->uri), "%.290s",
			all->query[i].shown);
		d->failed[d->fails++].why = why;
	}
	return d->logs ? 0 : -d->call->diag->err;
}

static void print_record(struct out *out, unsigned number, const struct nvmf_record *r)
{
	out_object(out, NULL);
	out_line(out, "=====Discovery Log Entry %u======", number);
	out_text(out, "trtype", "trtype:  ", "%s", nvmf_trtype_word(r->trtype));
	out_text(out, "adrfam", "adrfam:  ", "%s", r->traddr[0] ? nvmf_adrfam_word(r->adrfam) : "");
	out_text(out, "subtype", "subtype: ", "%s", nvmf_subtype_word(r->subtype));
	out_text(out, "treq", "treq:    ", "%s", nvmf_treq_word(r->treq));
	out_u64(out, "portid", "portid:  ", r->portid);
	out_text(out, "trsvcid", "trsvcid: ", "%s", r->trsvcid);
	out_text(out, "subnqn", "subnqn:  ", "%s", r->subnqn);
	out_text(out, "traddr", "traddr:  ", "%s", r->traddr);
	out_text(out, "eflags", "eflags:  ", "%s", nvmf_eflags_word(r->eflags));
	if (r->trtype == TRTYPE_RDMA) {
		out_text(out, "rdma_prtype", "rdma_prtype: ", "%s",
			nvmf_prtype_word(r->tsas.rdma.prtype));
		out_text(out, "rdma_qptype", "rdma_qptype: ", "%s",
			nvmf_qptype_word(r->tsas.rdma.qptype));
		out_text(out, "rdma_cms", "rdma_cms:    ", "%s", nvmf_cms_word(r->tsas.rdma.cms));
		out_u64(out, "rdma_pkey", NULL, r->tsas.rdma.pkey);
		out_line(out, "rdma_pkey: 0x%04x", r->tsas.rdma.pkey);
	} else if (r->trtype == TRTYPE_TCP) {
		out_text(out, "sectype", "sectype: ", "%s", nvmf_sectype_word(r->tsas.tcp.sectype));
	}
	if (r->hops)
		out_u64(out, "hops", NULL, r->hops);
	out_end(out);
}

static unsigned count_own(const struct nvmf_log *log)
{
	unsigned own = 0;

	for (unsigned i = 0; i < log->count; i++)
		own += !log->record[i].hops;
	return own;
}

/* Records of the controllers that were asked first, then those behind referrals. */
static void print_log(struct out *out, const struct nvmf_log *log)
{
	unsigned own = count_own(log), number = 0;

	out_u64(out, "genctr", NULL, log->genctr);
	out_list(out, "records");
	out_line(out, "%s", "");
	out_line(out, "Discovery Log Number of Records %u, Generation counter %llu", own,
		(unsigned long long)log->genctr);
	for (unsigned i = 0; i < log->count; i++)
		if (!log->record[i].hops)
			print_record(out, number++, &log->record[i]);
	if (own < log->count) {
		out_line(out, "%s", "");
		out_line(out, "Records behind referrals: %u", log->count - own);
	}
	for (unsigned i = 0; i < log->count; i++)
		if (log->record[i].hops)
			print_record(out, number++, &log->record[i]);
	out_end(out);
}

/* from: what failed before is the command's failure, which main prints. */
static void print_failed(struct call *call, const char *key, const struct nvmf_trouble *failed,
	unsigned count, unsigned from)
{
	if (!count)
		return;
	out_list(call->out, key);
	for (unsigned i = 0; i < count; i++) {
		out_object(call->out, NULL);
		out_text(call->out, "uri", NULL, "%s", failed[i].uri);
		out_error(call->out, "error", &failed[i].why);
		out_end(call->out);
		if (i >= from)
			call_note(call, "%s: %s", failed[i].uri, failed[i].why.text);
	}
	out_end(call->out);
}

static int print_results(struct discovery *d)
{
	struct call *call = d->call;

	print_log(call->out, &d->log);
	print_failed(call, "failed_referrals", d->log.trouble, d->log.troubles, d->fails ? 0 : 1);
	print_failed(call, "failed_controllers", d->failed, d->fails, 1);
	if (!d->log.count)
		call_note(call, "no subsystems for host NQN %s", d->hostnqn);
	if (!d->log.troubles && !d->fails)
		return EXIT_DONE;
	if (!d->fails) {
		*call->diag = d->log.trouble[0].why;
		snprintf(call->diag->object, sizeof(call->diag->object), "%.255s",
			d->log.trouble[0].uri);
	}
	return EXIT_PARTLY;
}

static void note_ignored(const struct call *call)
{
	const struct discover_options *opts = call->opts;

	for (int key = NVMF_QUEUE_SIZE; key <= NVMF_DISABLE_SQFLOW && call->loop.verbose; key++)
		if (key != NVMF_TOS && (opts->nvmf.value[key] || opts->nvmf.flag[key]))
			call_note(call, "%s: ignored: no effect on discovery",
				kernel_nvmf_key_name(key));
}

static int discover(struct call *call)
{
	const struct discover_options *opts = call->opts;
	struct discovery d = { .call = call, .root = kernel_root() };
	struct nvmf_queries all = { 0 };
	int err = d.root < 0 ? diag_sys(call->diag, errno, "open /")
			     : nvmf_queries_read(call, d.root, &opts->nvmf, opts->config, &all);

	if (!err)
		err = loop_new(&d.loop, &call->loop, call->diag);
	if (!err) {
		note_ignored(call);
		d.until =
			opts->common.timeout_ms ? loop_clock() + opts->common.timeout_ms * MSEC : 0;
		if (all.count == 1)
			err = run_query(&d, &all.query[0], 1, call->diag);
		else
			err = all.either ? query_either(&d, &all) : query_all(&d, &all);
		if (!err)
			err = print_results(&d);
		loop_free(d.loop);
	}
	nvmf_log_free(&d.log);
	free(d.failed);
	nvmf_queries_free(&all);
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
