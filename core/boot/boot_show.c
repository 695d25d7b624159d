/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print the results of a boot, or the plan of a dry run. */
#include "attach.h"
#include "attach_boot.h"
#include <string.h>

static const char *name_of(const struct boot_job *job)
{
	return job->disk ? job->disk->uri : job->from;
}

struct listed {
	const struct boot *boot;
	struct out *out;
	const struct boot_job *job;
	unsigned plans;
};

static void put_text(const char *text, void *arg)
{
	const struct listed *listed = arg;

	out_text(listed->out, NULL, NULL, "%s", text);
}

static void put_device(const char *path, void *arg)
{
	if (!strncmp(path, "/dev/", 5))
		put_text(path, arg);
}

static void put_line(const char *text, void *arg)
{
	const struct listed *listed = arg;

	out_line(listed->out, "%s: %s", name_of(listed->job), text);
}

static void put_plan(const char *uri, void *arg)
{
	struct listed *listed = arg;

	out_line(listed->out, "%s: %s: would be attached by %s", listed->job->from, uri,
		listed->job->applet);
	listed->plans++;
}

static void put_missing(const char *module, void *arg)
{
	const struct listed *listed = arg;

	put_text(module, arg);
	attach_warn_missing(&listed->boot->notes, module);
}

static void show_plan(struct out *out, const struct boot_job *job)
{
	struct listed listed = { job->boot, out, job, 0 };

	if (!job->disk && (!job->why.err || boot_partly(job))) {
		out_list(out, "uris");
		boot_uris(job, put_text, &listed);
		out_end(out);
		boot_uris(job, put_plan, &listed);
	}
	out_list(out, "missing_modules");
	boot_missing(job, put_missing, &listed);
	out_end(out);
	if (!listed.plans && !job->why.err)
		out_line(out, "%s: would be attached by %s", name_of(job), job->applet);
}

static void show_job(struct out *out, const struct boot_job *job)
{
	struct listed listed = { job->boot, out, job, 0 };

	out_object(out, NULL);
	if (job->disk)
		out_text(out, "uri", NULL, "%s", job->disk->uri);
	out_text(out, "from", NULL, "%s", job->from);
	out_text(out, "via", NULL, "%s", kernel_boot_via_name(job->disk ? job->disk->via : 0));
	if (job->applet)
		out_text(out, "applet", NULL, "%s", job->applet);
	if (!job->boot->dry_run) {
		out_list(out, "devices");
		boot_devices(job, put_device, &listed);
		out_end(out);
		boot_devices(job, put_line, &listed);
	} else {
		show_plan(out, job);
	}
	out_error(out, "error", &job->why);
	out_end(out);
}

struct failures {
	const char *name;
	struct diag *last;
};

static void add_failure(const struct diag *why, void *arg)
{
	struct failures *to = arg;

	if (to->last->err)
		out_failure(to->name, to->last);
	*to->last = *why;
}

unsigned boot_show(const struct boot *boot, struct out *out, struct diag *diag)
{
	struct failures to = { boot->notes.name, diag };
	unsigned failed = 0;

	out_list(out, "results");
	for (unsigned i = 0; i < boot->jobs; i++) {
		const struct boot_job *job = &boot->job[i];

		show_job(out, job);
		if (!job->why.err)
			continue;
		failed += !boot_partly(job);
		boot_other_failures(job, add_failure, &to);
		add_failure(&job->why, &to);
	}
	out_end(out);
	return failed;
}
