/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-discover: query discovery controllers and their referrals, and print the log pages as
 * nvme-cli does. */
#include "disk_open.h"
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
	NVME_OUTPUT_ROWS,
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

static void show_identities(struct call *call, const struct nvmf_queries *all)
{
	for (unsigned i = 0; i < all->count; i++) {
		const struct nvmf_query *query = &all->query[i];

		if (query->attach.why.err)
			continue;
		if (call->loop.verbose)
			call_note(call, "%s: host NQN %s (%s)", query->shown,
				query->identity.hostnqn, query->identity.nqn_from);
		if (query->identity.random)
			call_warn_once(
				call, "random host NQN for this run: %s", query->identity.hostnqn);
	}
}

static int query_all(struct call *call, struct loop *loop, int root, struct nvmf_queries *all)
{
	const struct discover_options *opts = call->opts;
	const struct opt_common *common = &opts->common;
	int err;

	nvmf_queries_init(
		all, loop, root, !opts->no_referrals, common->timeout_ms, common->no_timeout);
	show_identities(call, all);
	err = nvmf_queries_run(all, loop, call->diag);
	for (unsigned i = 0; i < all->count && !err && !all->fails && call->loop.verbose; i++)
		if (all->query[i].attach.why.err)
			call_note(
				call, "%s: %s", all->query[i].shown, all->query[i].attach.why.text);
	return err;
}

/* Of several controllers it is not known which one has reported a record. */
static bool make_uri(const struct nvmf_queries *all, const struct nvmf_record *r, char uri[URI_MAX])
{
	if (!nvmf_record_uri(r, uri))
		return false;
	if (all->count == 1)
		nvmf_record_add_keys(r, uri, &all->query->uri);
	return true;
}

/* nvme-cli has no such line. */
static void print_uri(
	struct call *call, const struct nvmf_queries *all, const struct nvmf_record *r)
{
	char uri[URI_MAX];

	if (strncmp(call->name, "nvme ", 5) && make_uri(all, r, uri))
		out_text(call->out, "uri", "uri:     ", "%s", uri);
}

static void print_record(struct call *call, const struct nvmf_queries *all, unsigned number,
	const struct nvmf_record *r)
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
	print_uri(call, all, r);
	out_end(out);
}

static void print_uris(struct out *out, const struct nvmf_queries *all)
{
	const struct nvmf_log *log = &all->log;
	char uri[URI_MAX];

	for (unsigned i = 0; i < log->count; i++)
		if (make_uri(all, &log->record[i], uri))
			out_line(out, "%s", uri);
}

/* Print the records of the queried controllers, then those behind referrals. */
static void print_log(struct call *call, const struct nvmf_queries *all)
{
	const struct nvmf_log *log = &all->log;
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
			print_record(call, all, number++, &log->record[i]);
	if (own < log->count) {
		out_line(out, "%s", "");
		out_line(out, "Records behind referrals: %u", log->count - own);
	}
	for (unsigned i = 0; i < log->count; i++)
		if (log->record[i].hops)
			print_record(call, all, number++, &log->record[i]);
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

static int print_results(struct call *call, const struct nvmf_queries *all)
{
	const struct discover_options *opts = call->opts;
	const struct nvmf_failure *failure = all->log.failure;
	const char *hostnqn = NULL; /* of the last query */
	const struct diag *first = all->fails || !all->log.failures ? NULL : &failure->why;

	if (opts->uris && !opts->common.json)
		print_uris(call->out, all);
	else
		print_log(call, all);
	if (all->log.failures)
		out_list(call->out, "failed_referrals");
	for (unsigned i = 0; i < all->log.failures; i++)
		print_failed(call, failure[i].uri, &failure[i].why, first);
	if (all->log.failures)
		out_end(call->out);
	if (first) {
		*call->diag = *first;
		snprintf(call->diag->object, sizeof(call->diag->object), "%.255s", failure->uri);
	}
	if (all->fails)
		out_list(call->out, "failed_controllers");
	for (unsigned i = 0; i < all->count && all->fails; i++) {
		const struct diag *why = &all->query[i].attach.why;

		if (!why->err)
			continue;
		first = first ? first : why;
		print_failed(call, all->query[i].shown, why, first);
	}
	if (all->fails)
		out_end(call->out);
	for (unsigned i = 0; i < all->count; i++)
		if (all->query[i].identity.hostnqn[0])
			hostnqn = all->query[i].identity.hostnqn;
	if (!all->log.count)
		call_note(call, "no subsystems for host NQN %s", hostnqn);
	return all->log.failures || all->fails ? EXIT_PARTLY : EXIT_DONE;
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
	struct nvmf_queries all = { 0 };
	struct loop *loop = NULL;
	int root = kernel_root();
	int err = root < 0 ? diag_sys(call->diag, errno, "open /")
			   : nvmf_queries_read(&call->notes, root,
				     call->operands ? call->operand[0] : NULL, &opts->nvmf,
				     opts->config, &all, call->diag);

	if (!err)
		err = loop_new(&loop, &call->loop, call->diag);
	if (!err) {
		note_ignored(call);
		if (call->operands)
			disk_check_secrets(call, call->operand[0]);
		err = query_all(call, loop, root, &all);
	}
	if (!err)
		err = print_results(call, &all);
	loop_free(loop);
	nvmf_queries_free(&all);
	if (root >= 0)
		close(root);
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
