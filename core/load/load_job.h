/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Interface of a kind of load: a job is one thread's part of it. load.c handles duration, counters
 * and the end. */
#pragma once
#include "load.h"
#include "load_log.h"
#include "load_wait.h"
#include "stats.h"
#include <stdatomic.h>

struct load;

struct load_job { /* first member of the kind's struct; used only by its own thread, except for
		     atomics */
	struct load *load;
	struct loop *loop;
	unsigned index;
	struct stats latency[LOAD_KINDS], service[LOAD_KINDS];
	_Atomic uint64_t ios[LOAD_KINDS];
	atomic_bool verifying;
	uint64_t bytes[LOAD_KINDS], verified;
	uint64_t delayed, unstarted, wrong_blocks;
	uint64_t last_ns; /* time of the last answer that counts, or until which others had no
			     answer */
	uint64_t drain_start_ns; /* time of the end of the period, or of verifying; 0: not yet */
	uint64_t cpu_ns, spun_ns, from_ns; /* at the start of counting */
	double busy;
	int wait_fd;                  /* load_wait_open() */
	uint64_t wait_ns, elapsed_ns; /* wait_ns: at the start of counting, then since */
	bool wait_known;
	uint64_t oldest_ns; /* age of the oldest unanswered request */
	uint32_t unanswered;
	bool lost; /* some of them by the loss of the connection, which may be back */
	struct load_log_part *log; /* NULL: none */
	struct diag why;           /* err: the job failed */
	struct loop_timer watch;
	struct loop_msg finished;
};

struct load_kind_ops {
	size_t size; /* of the kind's struct */
	/* On the job's thread. close() undoes as much as open() did. */
	int (*open)(struct load_job *, struct diag *);
	void (*start)(struct load_job *); /* load_job_finished() follows */
	/* At the end, after drain_ms without an answer: cancel what is in flight, and call
	 * load_job_count_unanswered() for each. May be called again. */
	void (*give_up)(struct load_job *);
	void (*close)(struct load_job *);
	const void *arg;
};

struct load {
	struct loop *loop;
	const struct load_options *opt;
	struct load_result *result;
	struct diag *diag;
	const struct load_kind_ops *kind;
	const struct diag *lost; /* why no answers arrive; NULL or err 0 = unknown */
	struct workers *workers;
	struct load_job **job;
	uint64_t from, until; /* times between which requests count; until UINT64_MAX: no limit */
	atomic_bool period_ended;  /* further requests do not count */
	_Atomic uint64_t ended_ns; /* when that was set; 0: not yet */
	atomic_bool aborted;       /* no further requests */
	bool counting;
	struct load_steal steal_at_start; /* at the start of counting */
	bool steal_known;
	struct loop_timer tick;
	unsigned running;
	int done;                                            /* all jobs have ended */
	uint64_t seen[LOAD_KINDS], seen_at, shown, shown_at; /* for samples and progress */
};

int load_run(struct load *, const struct load_kind_ops *);
void load_job_finished(struct load_job *);
/* End the whole load with the failure that the caller has set in job->why. */
void load_job_failed(struct load_job *);
/* Count a request that will not be answered. Its age is a lower bound of its latency. The load
 * fails. */
void load_job_count_unanswered(struct load_job *, enum load_kind, uint64_t at_ns);
/* End the measured period for all jobs: further requests do not count. */
void load_job_end_period(struct load_job *);
/* Start counting for this job; called once, when `now` has reached load->from. */
void load_job_start_counting(struct load_job *, uint64_t now);

static inline bool load_ended_early(const struct load_job *job)
{
	return atomic_load_explicit(&job->load->period_ended, memory_order_relaxed);
}

static inline bool load_period_ended(const struct load_job *job, uint64_t now)
{
	return now >= job->load->until || load_ended_early(job);
}

/* Whether a job without a rate submits another request: until the period ends, and one in any case,
 * as on a busy machine the thread may not have run before that. */
static inline bool load_may_submit(const struct load_job *job, uint64_t now)
{
	return !load_period_ended(job, now) || (!job->from_ns && !load_ended_early(job));
}

/* The end of the period, but not after `now`. */
static inline uint64_t load_period_end(const struct load_job *job, uint64_t now)
{
	uint64_t ended = atomic_load_explicit(&job->load->ended_ns, memory_order_relaxed);

	now = job->load->until < now ? job->load->until : now;
	return ended && ended < now ? ended : now;
}

static inline bool load_aborted(const struct load_job *job)
{
	return atomic_load_explicit(&job->load->aborted, memory_order_relaxed);
}

/* Count one answer. */
static inline void load_count(
	struct load_job *job, enum load_kind kind, uint32_t bytes, uint64_t ns, uint64_t now)
{
	uint64_t ios;

	if (now < job->load->from)
		return;
	if (!job->from_ns)
		load_job_start_counting(job, now);
	ios = atomic_load_explicit(&job->ios[kind], memory_order_relaxed);
	atomic_store_explicit(&job->ios[kind], ios + 1, memory_order_relaxed);
	stats_add(&job->latency[kind], ns);
	job->bytes[kind] += bytes;
	job->last_ns = now;
}

/* The kind of a disk's request. */
static inline uint8_t load_io_kind(const struct load_options *opt, enum load_kind kind)
{
	static const uint8_t change[] = {
		[LOAD_DATA] = IO_WRITE, [LOAD_TRIM] = IO_TRIM, [LOAD_ZERO] = IO_ZERO
	};

	return kind == LOAD_READ ? IO_READ : kind == LOAD_FLUSH ? IO_FLUSH : change[opt->change];
}
