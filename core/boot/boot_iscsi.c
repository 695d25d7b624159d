/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Boot from iSCSI: a URI, or what the kernel command line and the iBFT name. */
#include "boot_kind.h"
#include "iscsi_logins.h"
#include <errno.h>
#include <stdlib.h>

struct request {
	struct boot_request base;
	struct iscsi_logins logins;
	struct child_call load; /* of the firmware's modules */
	char *uri;              /* NULL: of the parameters */
};

static const struct iscsi_target *target_of(const struct attach_iscsi *one)
{
	return container_of(one->params.from, struct iscsi_target, credentials.from);
}

/* Return the next session after this one (NULL: the first), except those of dropped targets. */
static struct attach_iscsi *next_session(const struct boot_job *job, struct attach_iscsi *one)
{
	const struct request *r = job->request;
	const struct iscsi_logins *logins = &r->logins;

	for (one = one ? one + 1 : logins->attach; one < logins->attach + logins->count; one++)
		if (target_of(one)->count)
			return one;
	return NULL;
}

/* The first failure becomes that of the job, before those of the boot configuration. */
static void logins_done(struct iscsi_logins *logins)
{
	struct request *r = container_of(logins, struct request, logins);
	struct boot_job *job = r->base.job;

	for (struct attach_iscsi *one = NULL; (one = next_session(job, one));) {
		struct diag *why = &one->attach.why;

		diag_ctx(why, "%s", target_of(one)->spelling);
		if (why->err && !job->why.err)
			job->why = *why;
		if (!job->boot->dry_run && (one->existed || one->attach.users[0] || !why->err)) {
			job->boot->has_iscsi = true;
			job->boot->sid = one->sid;
		}
	}
	if (!job->why.err)
		job->why = logins->boot_config.why;
	boot_attempt_done(job);
}

static void warn_random(const struct request *r)
{
	for (unsigned i = 0; i < r->logins.targets.count; i++) {
		const struct kernel_initiator *name = &r->logins.targets.target[i].credentials.name;

		if (name->random)
			out_warn_once(&r->base.job->boot->notes,
				"random initiator name for this run: %s", name->name);
	}
}

static int log_in(struct boot_job *job)
{
	static const struct iscsi_login_options of_uri, of_params = { .from_cmdline = true };
	struct request *r = job->request;
	int err;

	r->uri = job->disk ? (char *)job->disk->uri : NULL;
	r->logins = (struct iscsi_logins){ .env = &r->base.env,
		.operand = &r->uri,
		.operands = job->disk ? 1 : 0,
		.options = job->disk ? &of_uri : &of_params,
		.root = job->boot->root,
		.until = job->until,
		.done = logins_done };
	err = iscsi_logins_read(&r->logins, &job->why);
	if (err) {
		r->logins.count = 0; /* none of them was started */
		return err;
	}
	warn_random(r);
	iscsi_logins_start(&r->logins, job->boot->loop);
	return 0;
}

static bool wants_firmware(const struct boot_job *job)
{
	struct iscsi_boot_config config;
	bool wants;

	if (job->disk || job->boot->dry_run)
		return false;
	kernel_iscsi_boot_read(job->boot->root, &config, NULL);
	wants = config.firmware || config.network;
	kernel_iscsi_boot_free(&config);
	return wants;
}

static int load(int root, const void *arg, void *out)
{
	(void)arg;
	(void)out;
	kernel_ibft_load(root);
	return 0;
}

/* Without its modules the firmware's table may be readable, too. */
static void loaded(struct child_call *call)
{
	struct boot_job *job = container_of(call, struct request, load)->base.job;

	if (log_in(job))
		boot_attempt_done(job);
}

static int start(struct boot_job *job)
{
	struct request *r = job->request;
	int err;

	if (!wants_firmware(job))
		return log_in(job);
	r->load = (struct child_call){ .fn = load, .until = job->until, .done = loaded };
	err = child_call_start(&r->load, job->boot->loop, &job->boot->root, 1);
	return err ? diag_sys(&job->why, -err, "fork") : 0;
}

static void cancel(struct boot_job *job)
{
	struct request *r = job->request;

	if (!r->load.pid) {
		iscsi_logins_cancel(&r->logins);
		return;
	}
	child_call_cancel(&r->load);
	diag_set(&job->why, DIAG_CLOSED, EINTR, "interrupted");
	boot_attempt_done(job);
}

static void free_request(struct boot_job *job)
{
	struct request *r = job->request;

	child_call_cancel(&r->load);
	iscsi_logins_free(&r->logins);
}

static void each_device(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	for (struct attach_iscsi *one = NULL; (one = next_session(job, one));)
		if (!one->attach.why.err)
			attach_luns_devices(&one->luns, each, arg);
}

static void each_uri(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	char uri[URI_MAX];

	for (struct attach_iscsi *one = NULL; (one = next_session(job, one));) {
		if (one->attach.why.err)
			continue;
		iscsi_attach_uri(one, uri);
		each(uri, arg);
	}
}

static void each_missing(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	struct kernel_iscsi_session *list = NULL;
	unsigned count = 0;

	kernel_iscsi_sessions(job->boot->root, &list, &count, NULL);
	for (struct attach_iscsi *one = NULL; (one = next_session(job, one));) {
		const struct iscsi_session_params *params = &one->params;
		const bool iser = params->carrier == ISCSI_ISER;

		if (!one->attach.why.err &&
			!kernel_iscsi_session_find(list, count, iscsi_own_name(params->from),
				iscsi_carrier_name(params->carrier), params->target,
				&params->portal))
			attach_each_missing(job->boot->root,
				(const char *[]){ iser ? "ib_iser" : "iscsi_tcp", NULL }, each,
				arg);
	}
	free(list);
}

static void each_failure(
	const struct boot_job *job, void (*each)(const struct diag *why, void *arg), void *arg)
{
	for (struct attach_iscsi *one = NULL; (one = next_session(job, one));)
		if (one->attach.why.err)
			each(&one->attach.why, arg);
}

static bool is_partly(const struct boot_job *job)
{
	for (struct attach_iscsi *one = NULL; (one = next_session(job, one));)
		if (!one->attach.why.err)
			return true;
	return false;
}

const struct boot_kind boot_iscsi = {
	.size = sizeof(struct request),
	.keys = iscsi_logins_keys,
	.start = start,
	.cancel = cancel,
	.free = free_request,
	.devices = each_device,
	.uris = each_uri,
	.missing = each_missing,
	.failures = each_failure,
	.partly = is_partly,
};
