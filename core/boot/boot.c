/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach what this machine boots from. Retry what fails each second, as links, addresses and
 * targets may appear late, unless waiting can't help. */
#include "boot_kind.h"
#include "resolve.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS   1000u
#define MONITOR_MS 15000u /* to start it */

static void start_attempt(struct boot_job *job);

/* Return true if userspace can attach the disk of the job. */
static bool can_export(const struct boot_job *job)
{
	struct uri uri;
	const struct scheme *scheme;
	bool can = false;

	if (job->disk && job->disk->via == BOOT_KERNEL && !uri_parse(&uri, job->disk->uri, NULL)) {
		scheme = scheme_find(uri.scheme);
		can = scheme && scheme->uses & SCHEME_DISK;
	}
	explicit_bzero(&uri, sizeof(uri));
	return can;
}

/* Add hints for a machine that is booting. */
static void add_boot_hint(const struct boot_job *job, struct diag *why)
{
	if (why->code == DIAG_NO_MODULE && why->err != ETIMEDOUT && can_export(job))
		diag_hint(why, "add the module to the initramfs, or append ,via=ublk or ,via=nbd "
			       "to the URI");
	else if (why->hint[0])
		return;
	else if (why->code == DIAG_NO_MODULE && why->err != ETIMEDOUT)
		diag_hint(why, "add the module to the initramfs");
	else if (why->code == DIAG_REFUSED || why->code == DIAG_UNREACHABLE ||
		 why->code == DIAG_TIMEOUT)
		diag_hint(why, "check the target, and the addresses of this machine: ip address");
}

void boot_devices(const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	if (job->existing)
		each(job->existing, arg);
	if (job->request && job->kind->devices)
		job->kind->devices(job, each, arg);
}

void boot_uris(const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	if (job->request && job->kind->uris)
		job->kind->uris(job, each, arg);
}

void boot_missing(const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	if (job->request && job->kind->missing)
		job->kind->missing(job, each, arg);
}

bool boot_partly(const struct boot_job *job)
{
	return job->why.err && job->request && job->kind->partly && job->kind->partly(job);
}

static void pass_failures(
	const struct boot_job *job, void (*each)(const struct diag *why, void *arg), void *arg)
{
	if (job->why.err && job->request && job->kind->failures)
		job->kind->failures(job, each, arg);
}

struct others {
	const struct boot_job *job;
	void (*each)(const struct diag *why, void *arg);
	void *arg;
	bool passed; /* the one that is the job's */
};

static void put_other(const struct diag *why, void *arg)
{
	struct others *others = arg;

	if (others->job->why_is_previous && why->code == DIAG_TIMEOUT)
		return;
	if (!others->passed && !strcmp(why->text, others->job->why.text))
		others->passed = true;
	else
		others->each(why, others->arg);
}

void boot_other_failures(
	const struct boot_job *job, void (*each)(const struct diag *why, void *arg), void *arg)
{
	struct others others = { .job = job, .each = each, .arg = arg };

	pass_failures(job, put_other, &others);
}

/* ---- Attempts. */

static void release(struct boot *boot)
{
	if (!--boot->pending)
		loop_stop(boot->loop);
}

static void finish_job(struct boot_job *job)
{
	job->done = true;
	release(job->boot);
}

static void monitor_started(struct applet_run *run)
{
	struct boot *boot = container_of(run, struct boot, monitor.run);

	boot->monitor.started = !run->why.err;
	boot->monitor.starting = false;
	applet_run_free(run);
	release(boot);
}

/* Other disks may never appear. By iser-login, which doesn't have the secrets of this process. */
static void start_monitor(struct boot *boot)
{
	struct boot_monitor *monitor = &boot->monitor;

	if (!boot->has_iscsi || !boot->pending || boot->stopping || monitor->started ||
		monitor->starting)
		return;
	snprintf(monitor->session, sizeof(monitor->session), "session%u", boot->sid);
	memcpy(monitor->argv, (char *[4]){ "iser-login", monitor->session, "--json" },
		sizeof(monitor->argv));
	monitor->run = (struct applet_run){ .loop = boot->loop,
		.run = boot->run,
		.argv = monitor->argv,
		.until = loop_clock() + MONITOR_MS * MSEC,
		.done = monitor_started };
	monitor->starting = !applet_run_start(&monitor->run);
	boot->pending += monitor->starting;
}

/* modprobe may time out once on a busy machine. A damaged firmware table will not change. */
static bool is_retryable(const struct diag *why)
{
	if (why->err == ETIMEDOUT)
		return true;
	if (why->err == EBADMSG)
		return false;
	return why->code != DIAG_USAGE && why->code != DIAG_AUTH && why->code != DIAG_NO_MODULE &&
	       why->code != DIAG_UNSUPPORTED && why->code != DIAG_PERMISSION &&
	       why->code != DIAG_MISMATCH;
}

static void any_retryable(const struct diag *why, void *again)
{
	*(bool *)again |= is_retryable(why);
}

/* Retry if any disk of the job may succeed, even if another one can't. */
static bool should_retry(const struct boot_job *job)
{
	bool again = job->why.err && is_retryable(&job->why);

	pass_failures(job, any_retryable, &again);
	return again;
}

static void free_request(struct boot_job *job)
{
	if (job->request && job->kind->free)
		job->kind->free(job);
	free(job->request);
	job->request = NULL;
}

void boot_attempt_done(struct boot_job *job)
{
	struct boot *boot = job->boot;
	uint64_t now = loop_clock(), next = now + RETRY_MS * MSEC;

	job->cut_short |= boot->deadline && now >= boot->deadline;
	/* an attempt that the deadline ends only times out */
	job->why_is_previous = job->cut_short && job->previous.err && job->why.code == DIAG_TIMEOUT;
	if (job->why_is_previous) {
		job->why = job->previous;
	} else if (job->why.err) {
		diag_ctx(&job->why, "%s", job->disk ? job->disk->uri : job->from);
		add_boot_hint(job, &job->why);
	}
	if (!should_retry(job) || boot->stopping || boot->dry_run ||
		(boot->deadline && next >= boot->deadline)) {
		finish_job(job);
	} else {
		if (!job->retry_reported)
			boot->on_retry(job);
		job->retry_reported = true;
		loop_timer_set(boot->loop, &job->retry_timer, next);
	}
	start_monitor(boot);
}

/* The address of a name may be wrong, or of a target that has moved since. */
static void retry(struct loop_timer *timer)
{
	resolve_mark_stale(NULL);
	start_attempt(container_of(timer, struct boot_job, retry_timer));
}

static int make_request(struct boot_job *job, uint32_t timeout_ms)
{
	const struct boot *boot = job->boot;
	struct boot_request *request = calloc(1, job->kind->size);

	job->request = request;
	if (!request)
		return diag_sys(&job->why, ENOMEM, "request");
	request->job = job;
	request->env = (struct attach_env){ .notes = { .name = boot->notes.name,
						    .quiet = !boot->notes.verbose,
						    .verbose = boot->notes.verbose },
		.timeout_ms = timeout_ms,
		.dry_run = boot->dry_run,
		.keep_keys = true }; /* for the next attempt, and for other disks */
	return 0;
}

static void start_attempt(struct boot_job *job)
{
	uint64_t now = loop_clock();
	struct boot *boot = job->boot;

	job->until = now + BOOT_ATTEMPT_MS * MSEC;
	job->cut_short = boot->deadline && boot->deadline < job->until;
	if (job->cut_short)
		job->until = boot->deadline > now ? boot->deadline : now;
	job->previous = job->why;
	job->why = (struct diag){ 0 };
	job->retry_timer.fire = retry;
	free_request(job);
	if (make_request(job, (uint32_t)((job->until - now) / MSEC) + 1) || job->kind->start(job))
		boot_attempt_done(job);
}

void boot_start(struct boot *boot)
{
	boot->pending = 1; /* so that a job that fails at once does not stop the loop */
	for (unsigned i = 0; i < boot->jobs; i++) {
		struct boot_job *job = &boot->job[i];

		if (job->done)
			continue;
		boot->pending++;
		start_attempt(job);
	}
	boot->pending--;
}

void boot_stop(struct boot *boot)
{
	boot->stopping = true;
	if (boot->monitor.starting)
		applet_run_expire(&boot->monitor.run);
	for (unsigned i = 0; i < boot->jobs; i++) {
		struct boot_job *job = &boot->job[i];

		if (job->done)
			continue;
		if (job->retry_timer.on) {
			loop_timer_del(boot->loop, &job->retry_timer);
			finish_job(job);
		} else {
			job->kind->cancel(job);
		}
	}
}

void boot_free(struct boot *boot)
{
	for (unsigned i = 0; i < boot->jobs; i++)
		free_request(&boot->job[i]);
	free(boot->job);
	boot->job = NULL;
	boot->jobs = 0;
}
