/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach what this machine boots from. Retry an applet that fails each second, as links, addresses
 * and targets may appear late, unless waiting can't help. */
#include "attach_boot.h"
#include "wire/nvmf.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPT_MS 20000u
#define RETRY_MS   1000u

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

void boot_result_texts(const struct boot_job *job, const char *key, const char *start,
	void (*each)(const char *text, void *arg), void *arg)
{
	if (job->existing && !strcmp(key, "device"))
		each(job->existing, arg);
	applet_run_texts(&job->run, key, start, each, arg);
}

bool boot_partly(const struct boot_job *job)
{
	return job->why.err && applet_run_partly(&job->run);
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

	if (job->why.err)
		applet_run_failures(&job->run, put_other, &others);
}

/* ---- Attempts. */

static void finish_job(struct boot_job *job)
{
	job->done = true;
	if (!--job->boot->pending)
		loop_stop(job->boot->loop);
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

	if (job->why.err)
		applet_run_failures(&job->run, any_retryable, &again);
	return again;
}

static void ended(struct applet_run *run)
{
	struct boot_job *job = container_of(run, struct boot_job, run);
	struct boot *boot = job->boot;
	uint64_t next = loop_clock() + RETRY_MS * MSEC;
	struct diag before = job->why;

	job->why = run->why;
	/* an attempt that the deadline ends only times out */
	job->why_is_previous = job->cut_short && before.err && run->why.code == DIAG_TIMEOUT;
	if (job->why_is_previous) {
		job->why = before;
	} else if (job->why.err) {
		diag_ctx(&job->why, "%s", job->disk ? job->disk->uri : job->from);
		add_boot_hint(job, &job->why);
	}
	if (!should_retry(job) || boot->stopping || boot->dry_run ||
		(boot->deadline && next >= boot->deadline)) {
		finish_job(job);
		return;
	}
	if (!job->retry_reported)
		boot->on_retry(job);
	job->retry_reported = true;
	loop_timer_set(boot->loop, &job->retry_timer, next);
}

static void retry(struct loop_timer *timer)
{
	start_attempt(container_of(timer, struct boot_job, retry_timer));
}

static void start_attempt(struct boot_job *job)
{
	uint64_t now = loop_clock(), until = now + ATTEMPT_MS * MSEC;
	struct boot *boot = job->boot;

	job->cut_short = boot->deadline && boot->deadline < until;
	if (job->cut_short)
		until = boot->deadline > now ? boot->deadline : now;
	snprintf(job->timeout, sizeof(job->timeout), "%llums",
		(unsigned long long)((until - now) / MSEC) + 1);
	job->run.loop = boot->loop;
	job->run.run = boot->run;
	job->run.argv = job->argv;
	job->run.until = until;
	job->run.messages = boot->verbose;
	job->run.done = ended;
	if (!applet_run_start(&job->run))
		return;
	job->why = job->run.why;
	finish_job(job);
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
	for (unsigned i = 0; i < boot->jobs; i++) {
		struct boot_job *job = &boot->job[i];

		if (job->done)
			continue;
		if (job->retry_timer.on) {
			loop_timer_del(boot->loop, &job->retry_timer);
			finish_job(job);
		} else {
			applet_run_expire(&job->run);
		}
	}
}

/* ---- The plan. */

static struct boot_job *add_job(struct boot *boot, const char *from)
{
	struct boot_job *job = &boot->job[boot->jobs++];

	*job = (struct boot_job){ .boot = boot, .from = from, .retry_timer.fire = retry };
	return job;
}

static void set_argv(struct boot_job *job, const char *const *args)
{
	const struct boot *boot = job->boot;
	unsigned n = 0;

	for (; args[n]; n++)
		job->argv[n] = (char *)args[n];
	job->argv[n++] = "--json";
	job->argv[n++] = "--timeout";
	job->argv[n++] = job->timeout;
	if (boot->verbose)
		job->argv[n++] = "--verbose";
	if (boot->dry_run)
		job->argv[n++] = "--dry-run";
	job->argv[n] = NULL;
}

static bool is_discovery(const struct uri *uri)
{
	return !uri->path[0] || !strcmp(uri->path, NVMF_DISCOVERY_NQN);
}

static int find_scheme(const struct boot_disk *disk, struct uri *uri, const struct scheme **scheme,
	struct diag *diag)
{
	struct diag known = { 0 };
	int err = uri_parse(uri, disk->uri, diag);

	if (err) {
		if (diag && !*uri->scheme &&
			!uri_is_address(disk->uri)) { /* uri_parse() suggests to create a file */
			kernel_boot_unknown_scheme(disk->uri, &known);
			diag_hint(diag, "%s", known.hint);
			uri_hint_host(disk->uri, diag);
		}
		return err;
	}
	*scheme = scheme_find(uri->scheme);
	return *scheme ? 0 : kernel_boot_unknown_scheme(uri->scheme, diag);
}

/* The applet that attaches the URI through the kernel, or NULL. */
static const char *kernel_applet(const struct uri *uri, const struct scheme *scheme)
{
	if (scheme->uses & SCHEME_NVMF)
		return is_discovery(uri) ? "nvmf-connect-all" : "nvmf-connect";
	if (scheme->uses & SCHEME_ISCSI)
		return "iser-login";
	if (scheme->uses & SCHEME_SRP)
		return "srp-connect";
	return scheme->uses & SCHEME_NFS ? "nfsrdma-mount" : NULL;
}

int boot_choose_applet(const struct boot_disk *disk, const char **applet, struct diag *diag)
{
	const struct scheme *scheme;
	struct uri uri = { 0 };
	int err = find_scheme(disk, &uri, &scheme, diag);

	if (err)
		goto out;
	if (disk->via != BOOT_KERNEL) {
		*applet = "export";
		if (!(scheme->uses & SCHEME_DISK))
			err = diag_set(diag, DIAG_USAGE, EINVAL,
				"'%s:' URIs can't be served: expected via=kernel", uri.scheme);
	} else {
		*applet = kernel_applet(&uri, scheme);
		if (!*applet) {
			err = diag_set(diag, DIAG_USAGE, EINVAL,
				"the kernel can't attach '%s:' URIs", uri.scheme);
			diag_hint(diag, "append ,via=ublk or ,via=nbd to the URI");
			uri_hint_host(disk->uri, diag);
		}
	}
out:
	explicit_bzero(&uri, sizeof(uri));
	return err;
}

/* Find the block device of a running export of this disk, or NULL. */
static const char *existing(const struct boot_disk *disk, const struct kernel_serving *serving)
{
	const char *start = disk->via == BOOT_UBLK ? "/dev/ublkb" : "/dev/nbd";
	char uri[URI_MAX];

	strcpy(uri, disk->uri);
	uri_hide(uri);
	for (unsigned i = 0; serving && i < serving->processes; i++)
		for (unsigned j = 0; j < serving->process[i].fronts; j++) {
			const struct serving_front *front = &serving->process[i].front[j];

			for (unsigned k = 0; k < front->disks; k++)
				if (!strcmp(front->disk[k].uri, uri) &&
					!strncmp(front->disk[k].device, start, strlen(start)))
					return front->disk[k].device;
		}
	return NULL;
}

static int choose_words(struct boot_job *job, const struct kernel_serving *serving)
{
	const struct boot_disk *disk = job->disk;
	const char *applet, *dir = NULL;
	int err = boot_choose_applet(disk, &applet, &job->why);

	if (err)
		return err;
	if (disk->via != BOOT_KERNEL) {
		job->existing = existing(disk, serving);
		set_argv(job, (const char *[]){ applet, disk->uri, "--daemon",
				      disk->via == BOOT_UBLK ? "--ublk" : "--nbd-dev", NULL });
		return 0;
	}
	if (!strcmp(applet, "nfsrdma-mount")) {
		dir = job->boot->dir;
		if (!dir)
			return diag_set(&job->why, DIAG_USAGE, EINVAL,
				"no directory to mount it on: expected --mount DIR");
	}
	set_argv(job, (const char *[]){ applet, disk->uri, dir, NULL });
	return 0;
}

static void add_disk(
	struct boot *boot, const struct boot_disk *disk, const struct kernel_serving *serving)
{
	struct boot_job *job = add_job(boot, disk->from);

	job->disk = disk;
	job->why = disk->why;
	if (!job->why.err && choose_words(job, serving))
		diag_ctx(&job->why, "%s", disk->uri);
	/* export has no dry run of its own */
	job->done = job->why.err || job->existing || (boot->dry_run && disk->via != BOOT_KERNEL);
}

/* The kernel command line may repeat a parameter of dracut's files, without its password. */
static bool is_same(const struct boot_disk *a, const struct boot_disk *b)
{
	char one[URI_MAX], other[URI_MAX];

	uri_hide(strcpy(one, a->uri));
	uri_hide(strcpy(other, b->uri));
	return a->via == b->via && !a->why.err && !b->why.err && !strcmp(one, other);
}

static const struct boot_disk *disk_at(
	const struct boot_params *params, const struct boot_disk *operand, unsigned i)
{
	return i < params->disks ? &params->disk[i] : &operand[i - params->disks];
}

static void add_disks(struct boot *boot, const struct boot_params *params,
	const struct boot_disk *operand, unsigned operands, const struct kernel_serving *serving)
{
	unsigned count = params->disks + operands;

	for (unsigned i = 0; i < count; i++) {
		const struct boot_disk *disk = disk_at(params, operand, i);
		unsigned next_same = i + 1;

		while (next_same < count && !is_same(disk, disk_at(params, operand, next_same)))
			next_same++;
		if (next_same == count)
			add_disk(boot, disk, serving);
	}
}

static void add_cmdline_job(
	struct boot *boot, const char *from, const char *applet, const char *dir)
{
	set_argv(add_job(boot, from), (const char *[]){ applet, "--from-cmdline", dir, NULL });
}

int boot_plan(struct boot *boot, const struct boot_params *params, const struct boot_disk *operand,
	unsigned operands, const struct kernel_serving *serving, struct diag *diag)
{
	boot->job = calloc(params->disks + operands + 3, sizeof(*boot->job));
	if (!boot->job)
		return diag_sys(diag, ENOMEM, "disks to attach");
	add_disks(boot, params, operand, operands, serving);
	if (params->nvme && !boot->skip_nvmf)
		add_cmdline_job(boot, "rd.nvmf", "nvmf-connect-all", NULL);
	if (params->iscsi && !boot->skip_iscsi)
		add_cmdline_job(boot, "iscsi", "iser-login", NULL);
	if (params->nfs && !boot->skip_nfs && boot->dir)
		add_cmdline_job(boot, "nfs", "nfsrdma-mount", boot->dir);
	return 0;
}

void boot_free(struct boot *boot)
{
	for (unsigned i = 0; i < boot->jobs; i++)
		applet_run_free(&boot->job[i].run);
	free(boot->job);
	boot->job = NULL;
	boot->jobs = 0;
}
