/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A load as a whole: threads, duration, end, and the sum of its jobs' counters. Each kind
 * implements its jobs: load_disk.c, load_tcp.c. */
#include "load_job.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TICK           (100 * MSEC)
#define SAMPLE         (500 * MSEC)
#define ABORT_DRAIN_MS 1000 /* drain_ms after an interrupt */

static uint64_t thread_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SEC + (uint64_t)t.tv_nsec;
}

void load_job_start_counting(struct load_job *job, uint64_t now)
{
	job->from_ns = now;
	job->cpu_ns = thread_cpu();
	job->spun_ns = loop_spin_ns(job->loop);
	job->wait_known = load_wait_read(job->wait_fd, &job->wait_ns);
}

static void add_run_delay(struct load_job *job)
{
	uint64_t now;

	job->wait_known =
		job->wait_known && load_wait_read(job->wait_fd, &now) && now >= job->wait_ns;
	if (job->wait_known)
		job->wait_ns = now - job->wait_ns;
}

static void one_finished(struct loop_msg *msg)
{
	struct load *load = container_of(msg, struct load_job, finished)->load;

	if (!--load->running)
		load->done = 1;
}

void load_job_finished(struct load_job *job)
{
	uint64_t now = loop_clock();

	if (job->from_ns && now > job->from_ns) {
		double cpu = (double)(thread_cpu() - job->cpu_ns) -
			     (double)(loop_spin_ns(job->loop) - job->spun_ns);
		job->busy = cpu > 0 ? cpu / (double)(now - job->from_ns) : 0;
		job->elapsed_ns = now - job->from_ns;
		add_run_delay(job);
	}
	if (job->wait_fd >= 0)
		close(job->wait_fd);
	job->wait_fd = -1;
	loop_timer_del(job->loop, &job->watch);
	job->finished.run = one_finished;
	loop_post(job->load->loop, &job->finished);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Added at the end, subtracted (sign -1) at the start. */
static void add_usage(struct load *load, double sign)
{
	struct load_result *result = load->result;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	result->user += sign * seconds_of(usage.ru_utime);
	result->system += sign * seconds_of(usage.ru_stime);
	result->switches += (uint64_t)(int64_t)sign * (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
	result->major_faults += (uint64_t)(int64_t)sign * (uint64_t)usage.ru_majflt;
	result->minor_faults += (uint64_t)(int64_t)sign * (uint64_t)usage.ru_minflt;
}

static uint64_t count_ios(const struct load *load, enum load_kind kind)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < load->opt->jobs; i++)
		sum += atomic_load_explicit(&load->job[i]->ios[kind], memory_order_relaxed);
	return sum;
}

static void add_sample(struct load *load, uint64_t now)
{
	double seconds = (double)(now - load->seen_at) / 1e9;

	for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++) {
		struct load_samples *samples = &load->result->kind[kind].iops;
		uint64_t ios = count_ios(load, kind);
		double rate = (double)(ios - load->seen[kind]) / seconds;

		load->seen[kind] = ios;
		if (!samples->count++ || rate < samples->min)
			samples->min = rate;
		if (rate > samples->max)
			samples->max = rate;
		samples->sum += rate;
		samples->squares += rate * rate;
	}
	load->seen_at = now;
}

static void report_progress(struct load *load, uint64_t now)
{
	struct load_progress progress = {
		.seconds = now > load->from ? (double)(now - load->from) / 1e9 : 0,
		.of = load->opt->runtime_ms / 1000.,
		.ramp = now < load->from,
	};
	uint64_t all = 0;

	for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++) {
		progress.ios[kind] = count_ios(load, kind);
		all += kind != LOAD_FLUSH ? progress.ios[kind] : 0;
	}
	for (unsigned i = 0; i < load->opt->jobs; i++)
		progress.verifying |=
			atomic_load_explicit(&load->job[i]->verifying, memory_order_relaxed);
	progress.iops = now > load->shown_at
				? (double)(all - load->shown) * 1e9 / (double)(now - load->shown_at)
				: 0;
	load->shown = all;
	load->shown_at = now;
	load->opt->progress(&progress, load->opt->arg);
}

static void end_period(struct load *load)
{
	uint64_t not_yet = 0;

	atomic_compare_exchange_strong(&load->ended_ns, &not_yet, loop_clock());
	atomic_store(&load->period_ended, true);
}

static void abort_load(struct load *load)
{
	end_period(load);
	atomic_store(&load->aborted, true);
}

void load_job_end_period(struct load_job *job)
{
	end_period(job->load);
}

void load_job_count_unanswered(struct load_job *job, enum load_kind kind, uint64_t at_ns)
{
	const struct load *load = job->load;
	uint64_t now = loop_clock(), end = now < load->until ? now : load->until;

	job->unanswered++;
	if (now - at_ns > job->oldest_ns)
		job->oldest_ns = now - at_ns;
	if (now < load->from || atomic_load_explicit(&job->verifying, memory_order_relaxed))
		return;
	stats_add(&job->latency[kind], now - at_ns);
	if (end > job->last_ns)
		job->last_ns = end;
}

void load_job_failed(struct load_job *job)
{
	abort_load(job->load);
}

static bool is_stopped(const struct load *load)
{
	return load->opt->stop && __atomic_load_n(load->opt->stop, __ATOMIC_RELAXED);
}

static void tick(struct loop_timer *timer)
{
	struct load *load = container_of(timer, struct load, tick);
	uint64_t now = loop_clock(), next = now + TICK;

	if (!load->counting && now >= load->from) {
		load->counting = true;
		load->seen_at = now;
		add_usage(load, -1);
		load->steal_known = load_steal_read(&load->steal_at_start);
	}
	if (is_stopped(load)) {
		load->result->stopped = true;
		abort_load(load);
	}
	if (load->counting && now <= load->until && now - load->seen_at >= SAMPLE)
		add_sample(load, now);
	if (load->opt->progress)
		report_progress(load, now);
	if (!load->counting && next > load->from)
		next = load->from;
	loop_timer_set(load->loop, timer, next);
}

static int open_job(struct loop *loop, void *arg)
{
	struct load_job *job = arg;

	(void)loop;
	return job->load->kind->open(job, &job->why);
}

static void watch(struct loop_timer *timer)
{
	struct load_job *job = container_of(timer, struct load_job, watch);
	bool verifying = atomic_load_explicit(&job->verifying, memory_order_relaxed);
	bool aborted = load_aborted(job);
	uint64_t now = loop_clock(), ms = job->load->opt->drain_ms, since;

	loop_timer_set(job->loop, timer, now + TICK);
	if (verifying ? !aborted : !load_period_ended(job, now)) {
		job->drain_start_ns = 0;
		return;
	}
	if (!job->drain_start_ns)
		job->drain_start_ns = now;
	since = job->last_ns > job->drain_start_ns ? job->last_ns : job->drain_start_ns;
	if (aborted && ms > ABORT_DRAIN_MS)
		ms = ABORT_DRAIN_MS;
	if (now - since >= ms * MSEC)
		job->load->kind->give_up(job);
}

static int start_job(struct loop *loop, void *arg)
{
	struct load_job *job = arg;

	job->wait_fd = load_wait_open();
	job->watch.fire = watch;
	loop_timer_set(loop, &job->watch, loop_clock() + TICK);
	job->load->kind->start(job);
	return 0;
}

static int close_job(struct loop *loop, void *arg)
{
	struct load_job *job = arg;

	(void)loop;
	job->load->kind->close(job);
	return 0;
}

static int open_jobs(struct load *load)
{
	int err = 0;

	load->job = calloc(load->opt->jobs, sizeof(struct load_job *));
	if (!load->job)
		return diag_sys(load->diag, ENOMEM, "jobs");
	err = workers_start(&load->workers, load->opt->jobs, loop_options(load->loop), load->diag);
	for (unsigned i = 0; !err && i < load->opt->jobs; i++) {
		struct load_job *job = calloc(1, load->kind->size);

		load->job[i] = job;
		if (!job)
			return diag_sys(load->diag, ENOMEM, "jobs");
		job->load = load;
		job->loop = workers_loop(load->workers, i);
		job->index = i;
		err = loop_call(load->loop, job->loop, open_job, job);
		if (err)
			*load->diag = job->why;
	}
	return err;
}

static void read_steal(struct load *load)
{
	struct load_steal now;

	if (load->steal_known && load_steal_read(&now) && now.all > load->steal_at_start.all &&
		now.steal >= load->steal_at_start.steal)
		load->result->steal = (double)(now.steal - load->steal_at_start.steal) /
				      (double)(now.all - load->steal_at_start.all);
}

static void run_jobs(struct load *load)
{
	uint64_t now = loop_clock();

	load->from = now + load->opt->ramp_ms * MSEC;
	load->until =
		load->opt->runtime_ms ? load->from + load->opt->runtime_ms * MSEC : UINT64_MAX;
	load->shown_at = load->seen_at = now;
	load->running = load->opt->jobs;
	load->tick.fire = tick;
	tick(&load->tick);
	for (unsigned i = 0; i < load->opt->jobs; i++)
		loop_call(load->loop, load->job[i]->loop, start_job, load->job[i]);
	loop_wait(load->loop, &load->done, 0);
	loop_timer_del(load->loop, &load->tick);
	if (load->counting) {
		add_usage(load, 1);
		read_steal(load);
	}
}

static void add_up(struct load *load)
{
	struct load_result *result = load->result;
	uint64_t last = load->from, waited = 0, elapsed = 0;

	for (unsigned i = 0; i < load->opt->jobs; i++) {
		const struct load_job *job = load->job[i];

		for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++) {
			stats_merge(&result->kind[kind].latency, &job->latency[kind]);
			stats_merge(&result->kind[kind].service, &job->service[kind]);
			result->kind[kind].requests += atomic_load(&job->ios[kind]);
			result->kind[kind].bytes += job->bytes[kind];
		}
		result->verified += job->verified;
		result->unanswered += job->unanswered;
		result->delayed += job->delayed;
		result->unstarted += job->unstarted;
		result->wrong_blocks += job->wrong_blocks;
		if (job->busy > result->busiest)
			result->busiest = job->busy;
		if (job->last_ns > last)
			last = job->last_ns;
		if (job->wait_known) {
			waited += job->wait_ns;
			elapsed += job->elapsed_ns;
		}
	}
	if (load->opt->rate > 0) {
		uint64_t end = load_period_end(load->job[0], loop_clock());

		last = end > last ? end : last;
	}
	if (elapsed)
		result->run_delay = (double)waited / (double)elapsed;
	result->seconds = (double)(last - load->from) / 1e9;
}

static int lost(struct load *load)
{
	const struct diag *why = load->lost && load->lost->err ? load->lost : NULL;
	uint32_t count = load->result->unanswered;
	struct diag gone = { 0 };
	uint64_t oldest = 0;
	bool back = false;

	for (unsigned i = 0; i < load->opt->jobs; i++) {
		if (load->job[i]->oldest_ns > oldest)
			oldest = load->job[i]->oldest_ns;
		back |= !why && load->job[i]->lost;
	}
	if (back) {
		diag_set(&gone, DIAG_UNREACHABLE, EHOSTUNREACH, "the connection was lost");
		why = &gone;
	}
	diag_set(load->diag, why ? why->code : DIAG_TIMEOUT, why ? why->err : ETIMEDOUT,
		"%u request%s had no answer within %.3g s%s%s", count, count == 1 ? "" : "s",
		(double)oldest / 1e9, why ? ": " : "", why ? why->text : "");
	if (why && why->hint[0])
		diag_hint(load->diag, "%s", why->hint);
	else if (why)
		diag_hint(load->diag, "to wait longer for the connection: --on-loss SECONDS");
	return -load->diag->err;
}

static int first_failure(struct load *load)
{
	for (unsigned i = 0; i < load->opt->jobs; i++)
		if (load->job[i]->why.err) {
			*load->diag = load->job[i]->why;
			return -load->diag->err;
		}
	return load->result->unanswered ? lost(load) : 0;
}

int load_run(struct load *load, const struct load_kind_ops *kind)
{
	int err;

	*load->result = (struct load_result){ .run_delay = -1, .steal = -1 };
	load->kind = kind;
	err = open_jobs(load);
	if (err == -EINTR && is_stopped(load)) { /* while it connected */
		load->result->stopped = true;
		*load->diag = (struct diag){ 0 };
		err = 0;
	} else if (!err) {
		run_jobs(load);
		add_up(load);
		err = first_failure(load);
	}
	for (unsigned i = 0; load->job && i < load->opt->jobs && load->job[i]; i++)
		loop_call(load->loop, load->job[i]->loop, close_job, load->job[i]);
	workers_stop(load->workers);
	for (unsigned i = 0; load->job && i < load->opt->jobs; i++)
		free(load->job[i]);
	free(load->job);
	return err;
}
