/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Boot from NVMe-oF: a URI of a subsystem or a discovery controller, or what rd.nvmf.* and the NBFT
 * name. */
#include "attach_nvme.h"
#include "boot_kind.h"
#include <stdio.h>

struct request {
	struct boot_request base;
	struct nvmf_all all;
	char *uri; /* NULL: of the parameters */
};

/* The first failure becomes that of the job. */
static void add_result(struct nvmf_all *all, struct nvmf_job *result)
{
	struct request *r = container_of(all, struct request, all);
	const struct nvmf_params *params = &result->target.params;
	char known[NVMF_SUPPORTED], line[NVMF_LINE], left_out[NVMF_LEFT_OUT], text[512];
	struct diag *why = &result->why;

	if (all->plan && result->target_valid && !why->err) {
		kernel_nvmf_supported_options(all->root, known);
		kernel_nvmf_line(params, known, true, line, left_out, why);
	}
	if (!why->err)
		return;
	if (!r->uri || result->discover || result->discovery)
		diag_ctx(why, "%s", result->uri);
	else if (result->target_valid)
		diag_ctx(why, "%s", nvmf_target_text(&result->target, text, sizeof(text)));
	if (!r->base.job->why.err)
		r->base.job->why = *why;
}

static void all_done(struct nvmf_all *all)
{
	boot_attempt_done(container_of(all, struct request, all)->base.job);
}

static void warn_random(const struct request *r)
{
	for (const struct nvmf_job *at = r->all.job; at; at = at->next)
		if (at->target.identity.random)
			out_warn_once(&r->base.job->boot->notes, "random host NQN for this run: %s",
				at->target.identity.hostnqn);
}

static int start(struct boot_job *job)
{
	static const struct nvmf_options options;
	const struct boot *boot = job->boot;
	struct request *r = job->request;
	bool any = false;
	int err;

	if (!boot->deadline) /* wait for other connections, which the kernel makes one by one */
		r->base.env.timeout_ms = 0;
	else if (boot->deadline > job->until)
		r->base.env.timeout_ms += (uint32_t)((boot->deadline - job->until) / MSEC);
	r->uri = job->disk ? (char *)job->disk->uri : NULL;
	r->all = (struct nvmf_all){ .env = &r->base.env,
		.loop = boot->loop,
		.operand = &r->uri,
		.operands = job->disk ? 1 : 0,
		.options = &options,
		.from_cmdline = !job->disk,
		.referrals = true,
		.plan = boot->dry_run,
		.limit_ms = BOOT_ATTEMPT_MS,
		.root = boot->root,
		.on_result = add_result,
		.done = all_done };
	err = nvmf_all_read(&r->all, &any, &job->why);
	if (!err)
		err = nvmf_all_start(&r->all, &job->why);
	if (!err)
		warn_random(r);
	return err;
}

static void cancel(struct boot_job *job)
{
	struct request *r = job->request;

	nvmf_all_cancel(&r->all);
}

static void free_request(struct boot_job *job)
{
	struct request *r = job->request;

	nvmf_all_free(&r->all);
}

static void each_device(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	const struct request *r = job->request;
	char text[64];

	for (const struct nvmf_job *at = r->all.job; at; at = at->next)
		for (unsigned i = 0; !at->why.err && i < at->nvme.disks; i++) {
			snprintf(text, sizeof(text), "/dev/%s", at->nvme.disk[i].name);
			each(text, arg);
		}
}

static void each_uri(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	const struct request *r = job->request;

	for (const struct nvmf_job *at = r->all.job; at; at = at->next)
		if (!at->hidden && !at->why.err)
			each(at->uri, arg);
}

static void each_missing(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	const struct request *r = job->request;
	struct nvmf_ctrl ctrl;
	char module[32];

	for (const struct nvmf_job *at = r->all.job; at; at = at->next) {
		const struct nvmf_params *params = &at->target.params;

		if (at->hidden || at->why.err || !at->target_valid ||
			(!params->value[NVMF_DUPLICATE_CONNECT] &&
				!kernel_nvmf_find(r->all.root, params, &ctrl)))
			continue;
		snprintf(module, sizeof(module), "nvme_%s", params->value[NVMF_TRANSPORT]);
		attach_each_missing(r->all.root, (const char *[]){ module, NULL }, each, arg);
	}
}

static void each_failure(
	const struct boot_job *job, void (*each)(const struct diag *why, void *arg), void *arg)
{
	const struct request *r = job->request;

	for (const struct nvmf_job *at = r->all.job; at; at = at->next)
		if (!at->hidden && at->why.err)
			each(&at->why, arg);
}

static bool is_partly(const struct boot_job *job)
{
	const struct request *r = job->request;

	for (const struct nvmf_job *at = r->all.job; at; at = at->next)
		if (!at->hidden && !at->why.err)
			return true;
	return false;
}

const struct boot_kind boot_nvme = {
	.size = sizeof(struct request),
	.keys = nvmf_target_keys,
	.start = start,
	.cancel = cancel,
	.free = free_request,
	.devices = each_device,
	.uris = each_uri,
	.missing = each_missing,
	.failures = each_failure,
	.partly = is_partly,
};
