/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-discover: asks a discovery controller what it knows, and those it refers to; prints it as nvme-cli does. Talking
 * to controllers is left to core/proto/nvme. */
#include "disk.h"
#include "kernel.h"
#include "nvmf.h"
#include "nvmf_want.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define HOPS        8
#define TRTYPE_RDMA 1
#define TRTYPE_TCP  3

struct discover_options {
	struct opt_common common;
	const char *transport, *traddr, *trsvcid, *host_traddr, *host_iface, *hostnqn, *hostid;
	bool no_referrals;
};

#define AT(field) offsetof(struct discover_options, field)
static const struct opt rows[] = {
	{ "transport", 't', OPT_TEXT, AT(transport), "rdma|tcp", "transport, when no URI is given" },
	{ "traddr", 'a', OPT_TEXT, AT(traddr), "ADDRESS", "address of the discovery controller" },
	{ "trsvcid", 's', OPT_TEXT, AT(trsvcid), "PORT", "its port; default 4420 over RDMA, 8009 then 4420 over TCP" },
	{ "host-traddr", 'w', OPT_TEXT, AT(host_traddr), "ADDRESS", "our own address" },
	{ "host-iface", 'f', OPT_TEXT, AT(host_iface), "NETDEV", "our own network interface (TCP)" },
	{ "hostnqn", 'q', OPT_TEXT, AT(hostnqn), "NQN", "who we are" },
	{ "hostid", 'I', OPT_TEXT, AT(hostid), "UUID", "host identifier" },
	{ "no-referrals", 0, OPT_FLAG, AT(no_referrals), NULL, "ask this controller only" },
	{ "output", 'o', OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal", "form of the output; normal is text" },
	{ "output-format", 0, OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal", "the same as --output" },
	{ 0 },
};
#undef AT

static const struct discover_options defaults;

/* Appends "NAME=VALUE;" of the kernel's spelling, which the URI parser reads too. */
static int add(char text[URI_MAX], const char *name, const char *value, struct diag *diag)
{
	size_t at = strlen(text);

	if (!value)
		return 0;
	if (!*value || strpbrk(value, " \t\n;,"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'%s' is no %s", value, name);
	if ((size_t)snprintf(text + at, URI_MAX - at, "%s=%s;", name, value) >= URI_MAX - at)
		return diag_set(diag, DIAG_USAGE, E2BIG, "the address is too long");
	return 0;
}

/* Options are read as the URI that they make; the address is what the user typed of it. */
static void name_typed(const struct call *call)
{
	const struct discover_options *opts = call->opts;

	if (!strncmp(call->diag->object, "transport=", 10))
		snprintf(call->diag->object, sizeof(call->diag->object), "%s", opts->traddr);
}

static int read_address(struct call *call, struct uri *uri)
{
	const struct discover_options *opts = call->opts;
	char text[URI_MAX] = "";
	struct diag why = { 0 };
	uint64_t port;
	int err;

	if (call->operands && (opts->transport || opts->traddr || opts->trsvcid || opts->host_traddr || opts->host_iface))
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "a URI and -t, -a, -s, -w, -f say the same thing: give one of both");
	if (call->operands) {
		err = uri_parse(uri, call->operand[0], call->diag);
		if (!err && strcmp(uri->scheme, "nvme+rdma") && strcmp(uri->scheme, "nvme+tcp"))
			return diag_set(call->diag, DIAG_USAGE, EINVAL, "'%s' is not an nvme+rdma: or nvme+tcp: URI", call->operand[0]);
		return err;
	}
	err = nvmf_target_named(opts->transport, opts->traddr, call->diag);
	if (!err && opts->trsvcid && parse_u64(opts->trsvcid, 1, 65535, &port, &why))
		err = diag_set(call->diag, DIAG_USAGE, why.err, "--trsvcid: %s", why.text);
	if (!err)
		err = add(text, "transport", opts->transport, call->diag);
	if (!err)
		err = add(text, "traddr", opts->traddr, call->diag);
	if (!err)
		err = add(text, "trsvcid", opts->trsvcid, call->diag);
	if (!err)
		err = add(text, "host_traddr", opts->host_traddr, call->diag);
	if (!err)
		err = add(text, "host_iface", opts->host_iface, call->diag);
	if (!err)
		err = uri_parse(uri, text, call->diag);
	name_typed(call);
	return err;
}

/* Who we are, and over RDMA what the kernel lacks for it (in rdma: it counts only when the controller is not reached). */
static int read_system(struct call *call, const struct uri *uri, struct bdev_env *env, struct diag *rdma)
{
	const struct discover_options *opts = call->opts;
	struct identity identity;
	int root = kernel_root(), err;

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = kernel_identity(root, opts->hostnqn, opts->hostid, &identity, call->diag);
	if (!err && !strcmp(uri->scheme, "nvme+rdma"))
		kernel_rdma_ready(root, rdma);
	close(root);
	if (err)
		return err;
	if (call->loop.verbose)
		call_note(call, "host NQN %s (%s)", identity.hostnqn, identity.nqn_from);
	if (identity.random)
		call_note(call, "host NQN made up for this run: %s", identity.hostnqn);
	memcpy(env->hostnqn, identity.hostnqn, sizeof(env->hostnqn));
	memcpy(env->hostid, identity.hostid, sizeof(env->hostid));
	return 0;
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
		out_text(out, "rdma_prtype", "rdma_prtype: ", "%s", nvmf_prtype_word(r->tsas.rdma.prtype));
		out_text(out, "rdma_qptype", "rdma_qptype: ", "%s", nvmf_qptype_word(r->tsas.rdma.qptype));
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

static void print_log(struct out *out, const struct nvmf_log *log)
{
	unsigned own = 0;

	while (own < log->count && !log->record[own].hops)
		own++;
	out_u64(out, "genctr", NULL, log->genctr);
	out_list(out, "records");
	out_line(out, "%s", "");
	out_line(out, "Discovery Log Number of Records %u, Generation counter %llu", own, (unsigned long long)log->genctr);
	for (unsigned i = 0; i < log->count; i++) {
		if (i == own) {
			out_line(out, "%s", "");
			out_line(out, "Records behind referrals: %u", log->count - own);
		}
		print_record(out, i, &log->record[i]);
	}
	out_end(out);
}

static void print_troubles(struct call *call, const struct nvmf_log *log)
{
	if (!log->troubles)
		return;
	out_list(call->out, "failed_referrals");
	for (unsigned i = 0; i < log->troubles; i++) {
		const struct nvmf_trouble *trouble = &log->trouble[i];

		out_object(call->out, NULL);
		out_text(call->out, "object", NULL, "%s", trouble->uri);
		out_text(call->out, "code", NULL, "%s", diag_code_word(trouble->why.code));
		out_text(call->out, "text", NULL, "%s", trouble->why.text);
		out_end(call->out);
		call_note(call, "%s: %s", trouble->uri, trouble->why.text);
	}
	out_end(call->out);
}

static int discover(struct call *call)
{
	const struct discover_options *opts = call->opts;
	const struct nvmf_discover_options how = { .referrals = !opts->no_referrals, .max_hops = HOPS };
	struct bdev_env env = { .timeout_ms = opts->common.never ? BDEV_NEVER : opts->common.timeout_ms };
	struct nvmf_log log = { 0 };
	struct diag rdma = { 0 };
	struct loop *loop;
	struct uri uri;
	uint64_t since;
	int err = read_address(call, &uri);

	if (!err)
		err = read_system(call, &uri, &env, &rdma);
	if (!err)
		err = loop_new(&loop, &call->loop, call->diag);
	if (err)
		return err;
	since = loop_clock();
	err = nvmf_discover(loop, &uri, &env, &how, &log, call->diag);
	if (!err) {
		print_log(call->out, &log);
		print_troubles(call, &log);
		if (!log.count)
			call_note(call, "no subsystems for host NQN %s", env.hostnqn);
		err = log.troubles ? EXIT_PARTLY : EXIT_DONE;
	} else {
		err = disk_blame_rdma(call->diag, &rdma);
		bdev_suggest(loop, uri.spelling, &env, since, call->diag);
		name_typed(call);
	}
	nvmf_log_free(&log);
	loop_free(loop);
	return err;
}

const struct applet applet_nvmf_discover = {
	.name = "nvmf-discover",
	.operands = "[URI]",
	.schemes = SCHEME_NVMF,
	.summary = "list what an NVMe-oF discovery controller offers",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct discover_options),
	.max = 1,
	.own_letters = "oq",
	.run = discover,
};
