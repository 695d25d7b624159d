/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Boot from an SRP target that a URI names. */
#include "attach_srp.h"
#include "boot_kind.h"

struct request {
	struct boot_request base;
	struct srp_target target;
};

static struct request *request_of(struct attach *attach)
{
	return container_of(attach, struct request, target.srp.attach);
}

static void print_note(struct attach *attach, const char *text)
{
	out_note(&request_of(attach)->base.env.notes, "%s", text);
}

static void attached(struct attach *attach)
{
	struct request *r = request_of(attach);

	r->base.job->why = attach->why;
	if (attach->why.err)
		srp_target_ctx(&r->target, &r->base.job->why);
	boot_attempt_done(r->base.job);
}

static int start(struct boot_job *job)
{
	static const struct srp_options options;
	struct request *r = job->request;
	struct attach *attach;

	r->target.word = job->disk->uri;
	r->target.timeout_ms = r->base.env.timeout_ms;
	r->target.srp.owner = job;
	attach = &r->target.srp.attach;
	attach->root = job->boot->root;
	if (srp_target_prepare(&r->target, attach->root, &options)) {
		job->why = attach->why;
		return -job->why.err;
	}
	attach->proto = &attach_srp_row;
	attach->loop = job->boot->loop;
	attach->deadline = job->boot->deadline;
	attach->limit_ms =
		r->target.timeout_ms < BOOT_ATTEMPT_MS ? r->target.timeout_ms : BOOT_ATTEMPT_MS;
	attach->find_only = job->boot->dry_run;
	attach->done = attached;
	attach->note = print_note;
	attach_start(attach);
	return 0;
}

static void cancel(struct boot_job *job)
{
	struct request *r = job->request;

	attach_cancel(&r->target.srp.attach);
}

static void free_request(struct boot_job *job)
{
	struct request *r = job->request;

	attach_luns_free(&r->target.srp.luns);
}

static void each_device(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	const struct request *r = job->request;

	if (!job->why.err)
		attach_luns_devices(&r->target.srp.luns, each, arg);
}

static void each_missing(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	const struct request *r = job->request;
	const struct attach_srp *srp = &r->target.srp;
	struct srp_local local;
	struct kernel_srp there;
	char others[200];

	if (!job->why.err && !srp_target_find(srp, &local, others, &there, NULL, NULL) &&
		!local.dev[0])
		attach_each_missing(
			srp->attach.root, (const char *[]){ "ib_srp", NULL }, each, arg);
}

const struct boot_kind boot_srp = {
	.size = sizeof(struct request),
	.keys = srp_target_keys,
	.start = start,
	.cancel = cancel,
	.free = free_request,
	.devices = each_device,
	.missing = each_missing,
};
