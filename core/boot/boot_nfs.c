/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Boot from NFS over RDMA: mount what a URI or the kernel command line names. */
#include "attach_nfs.h"
#include "boot_kind.h"

struct request {
	struct boot_request base;
	struct nfs_mount mount;
};

static void print_note(void *arg, const char *text)
{
	const struct request *r = arg;

	out_note(&r->base.env.notes, "%s: %s", r->mount.source.name, text);
}

static void mounted(struct attach *attach)
{
	struct request *r = container_of(attach, struct request, mount.attach);

	r->base.job->why = attach->why;
	if (attach->why.err)
		diag_ctx(&r->base.job->why, "%s", r->mount.source.name);
	boot_attempt_done(r->base.job);
}

static bool is_concurrent(const struct boot_job *job)
{
	const struct boot *boot = job->boot;

	for (unsigned i = 0; i < boot->jobs; i++)
		if (&boot->job[i] != job && boot->job[i].kind == &boot_nfs)
			return true;
	return false;
}

static int start(struct boot_job *job)
{
	static const struct nfs_cli_options options;
	struct request *r = job->request;
	uint32_t timeout_ms;
	uint64_t until;
	int err;

	timeout_ms = r->base.env.timeout_ms;
	r->mount = (struct nfs_mount){ .typed = job->boot->dir,
		.dry_run = job->boot->dry_run,
		.concurrent = is_concurrent(job),
		.note = print_note,
		.arg = r };
	err = nfs_mount_read(&r->base.env.notes, job->disk ? job->disk->uri : NULL, &options,
		&r->mount, &timeout_ms, &job->why);
	if (err)
		return err;
	until = loop_clock() + timeout_ms * MSEC;
	r->mount.attach = (struct attach){ .proto = &nfs_attach,
		.loop = job->boot->loop,
		.root = job->boot->root,
		.deadline = until < job->until ? until : job->until,
		.done = mounted };
	attach_start(&r->mount.attach);
	return 0;
}

static void cancel(struct boot_job *job)
{
	struct request *r = job->request;

	attach_cancel(&r->mount.attach);
}

static void each_directory(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	const struct request *r = job->request;

	if (!job->why.err)
		each(r->mount.dir, arg);
}

static void each_uri(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	const struct request *r = job->request;
	char uri[URI_MAX];

	if (job->why.err)
		return;
	nfs_mount_uri(&r->mount, uri);
	each(uri, arg);
}

static void each_missing(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	const struct request *r = job->request;
	const char *modules[NFS_MODULES];

	if (job->why.err || r->mount.existed)
		return;
	nfs_mount_modules(&r->mount, modules);
	attach_each_missing(job->boot->root, modules, each, arg);
}

const struct boot_kind boot_nfs = {
	.size = sizeof(struct request),
	.keys = kernel_nfs_source_keys,
	.start = start,
	.cancel = cancel,
	.devices = each_directory,
	.uris = each_uri,
	.missing = each_missing,
};
