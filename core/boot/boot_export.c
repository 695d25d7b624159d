/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk that userspace serves as a block device: by `export --daemon`, a process of its own. */
#include "applet_run.h"
#include "boot_kind.h"
#include "disk_open.h"
#include <stdio.h>
#include <string.h>

struct request {
	struct boot_request base;
	struct applet_run run;
	char timeout[24];
	char *argv[9];
};

static void ended(struct applet_run *run)
{
	struct boot_job *job = container_of(run, struct request, run)->base.job;

	job->why = run->why;
	boot_attempt_done(job);
}

static int start(struct boot_job *job)
{
	const struct boot *boot = job->boot;
	struct request *r = job->request;
	int err;

	snprintf(r->timeout, sizeof(r->timeout), "%ums", r->base.env.timeout_ms);
	memcpy(r->argv,
		(char *[9]){ (char *)job->applet, (char *)job->disk->uri, "--daemon",
			job->disk->via == BOOT_UBLK ? "--ublk" : "--nbd-dev", "--json", "--timeout",
			r->timeout, boot->notes.verbose ? "--verbose" : NULL },
		sizeof(r->argv));
	r->run = (struct applet_run){ .loop = boot->loop,
		.run = boot->run,
		.argv = r->argv,
		.until = job->until,
		.messages = boot->notes.verbose,
		.done = ended };
	err = applet_run_start(&r->run);
	if (err)
		job->why = r->run.why;
	return err;
}

static void cancel(struct boot_job *job)
{
	struct request *r = job->request;

	applet_run_expire(&r->run);
}

static void free_request(struct boot_job *job)
{
	struct request *r = job->request;

	applet_run_free(&r->run);
}

static void each_device(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	const struct request *r = job->request;

	applet_run_texts(&r->run, "device", "/dev/", each, arg);
}

const struct boot_kind boot_export = {
	.size = sizeof(struct request),
	.keys = disk_keys,
	.start = start,
	.cancel = cancel,
	.free = free_request,
	.devices = each_device,
};
