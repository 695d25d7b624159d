/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-connect-all: connect everything that URIs, configuration or the kernel command line name,
 * and all that the discovery controllers among them report. */
#include "nvmf_rows.h"
#include "out.h"
#include "tls_monitor.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 60000

struct all_options {
	struct opt_common common;
	struct nvmf_options nvmf;
	const char *config, *monitor;
	bool from_cmdline, nbft, no_wait, no_referrals, retry;
};

#define AT(field) offsetof(struct all_options, field)
static const struct opt rows[] = {
	NVMF_ROWS,
	{ "nqn", 'n', OPT_TEXT, AT(nvmf.value[NVMF_NQN]), "NQN",
		"subsystem NQN of the discovery controller; default the well-known NQN" },
	{ "config", 'J', OPT_TEXT, AT(config), "FILE",
		"configuration file to read; default the files in /etc/nvme" },
	{ "from-cmdline", 0, OPT_FLAG, AT(from_cmdline), NULL,
		"read the kernel command line (rd.nvmf.discover=) and the NBFT" },
	{ "nbft", 0, OPT_FLAG, AT(nbft), NULL, "read the firmware's boot table (NBFT)" },
	{ "no-referrals", 0, OPT_FLAG, AT(no_referrals), NULL, "do not follow referrals" },
	{ "no-wait", 0, OPT_FLAG, AT(no_wait), NULL,
		"return without waiting for the block devices" },
	{ "retry", 0, OPT_FLAG, AT(retry), NULL, "retry failed targets until --timeout" },
	NVMF_MONITOR_ROW(struct all_options, monitor),
	NVME_OUTPUT_ROWS,
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	NVMF_FOREIGN,
	{ "nvme-cli", "-p|--persistent|--force", NVMF_NO_PERSISTENT },
	{ 0 },
};

static const struct all_options defaults = { .common.timeout_ms = WAIT_MS };

struct showing {
	struct nvmf_all all;
	struct nvmf_results sum;
};

static void show(struct nvmf_all *all, struct nvmf_job *job)
{
	struct nvmf_results *sum = &container_of(all, struct showing, all)->sum;
	struct out *out = sum->out;

	out_object(out, NULL);
	out_text(out, "uri", NULL, "%s", job->uri);
	out_text(out, "from", NULL, "%s", job->from);
	if (job->discovery)
		out_text(out, "discovery", NULL, "%s", job->discovery);
	if (job->target_valid && all->plan)
		attach_nvme_plan(out, all->root, &job->target, &job->why);
	else if (job->target_valid && !job->why.err)
		attach_nvme_show(out, &job->nvme, NULL);
	nvmf_result_end(sum, job->uri, &job->why);
}

static int nothing(const struct call *call, bool off)
{
	const struct all_options *opts = call->opts;

	if (opts->from_cmdline && !off)
		call_note(call,
			"nothing to connect: no rd.nvmf.discover= on the kernel command line, and "
			"no target in an NBFT");
	else if (opts->nbft)
		call_note(call, "nothing to connect: no target in the firmware's NBFT");
	else if (opts->config)
		call_note(call, "nothing to connect: no target in %s", opts->config);
	if (opts->config || opts->from_cmdline || opts->nbft)
		return 0;
	diag_set(call->diag, DIAG_USAGE, ENOENT,
		"nothing to connect: no URI given, and no target in /etc/nvme");
	return diag_hint(call->diag, "give a URI, or list targets in /etc/nvme/discovery.conf");
}

static int run(struct call *call)
{
	const struct all_options *opts = call->opts;
	const struct attach_env env = attach_env_of(call);
	struct showing s = { .all = { .env = &env,
				     .operand = call->operand,
				     .operands = call->operands,
				     .options = &opts->nvmf,
				     .config = opts->config,
				     .from_cmdline = opts->from_cmdline,
				     .nbft = opts->nbft,
				     .no_wait = opts->no_wait,
				     .referrals = !opts->no_referrals,
				     .retry = opts->retry,
				     .plan = opts->common.dry_run,
				     .root = kernel_root(),
				     .on_result = show },
		.sum = { .out = call->out, .notes = &env.notes } };
	bool any = false;
	int err = s.all.root < 0 ? diag_sys(call->diag, errno, "open /")
				 : nvmf_all_read(&s.all, &any, call->diag);

	nvmf_warn_secrets(&env.notes, &opts->nvmf);
	if (!err && !any)
		err = nothing(call, s.all.conf.off);
	if (!err)
		out_list(call->out, "results");
	if (!err)
		err = loop_new(&s.all.loop, &call->loop, call->diag);
	if (!err)
		err = nvmf_all_run(&s.all, call->diag);
	if (!err) {
		err = nvmf_results_end(&s.sum, call->diag);
		err = err && s.sum.succeeded ? EXIT_PARTLY : err;
	}
	nvmf_all_free(&s.all);
	loop_free(s.all.loop);
	for (unsigned i = 0; i < call->operands; i++)
		uri_hide(call->operand[i]); /* the TLS monitor is a fork of this process */
	if (s.all.root >= 0 && !opts->common.dry_run)
		tls_monitor_start(call, s.all.root, opts->monitor);
	if (s.all.root >= 0)
		close(s.all.root);
	return err;
}

const struct applet applet_nvmf_connect_all = {
	.name = "nvmf-connect-all",
	.operands = "[URI...]",
	.schemes = SCHEME_NVMF,
	.summary = "connect all subsystems of NVMe-oF targets or configuration files",
	.examples = "  rdmastor nvmf-connect-all nvme+rdma://10.0.0.1 nvme+tcp://10.0.1.1\n"
		    "  rdmastor nvmf-connect-all --config /etc/nvme/discovery.conf --dry-run\n",
	.foreign = foreign,
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct all_options),
	.max = UINT8_MAX,
	.has_dry_run = true,
	.own_letters = "q",
	.run = run,
};
