/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A copy by the names of its disks: check them and the map, open both, copy, and advise how to
 * continue after a failure. */
#include "copy_show.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct run {
	struct copy_job *job;
	struct copy_state state;
	struct copy_options options;
	struct copy_disk src_is, dst_is; /* for the map */
	bool opening;                    /* the destination, which may have been created */
};

static int usage(struct diag *diag, const char *fmt, const char *word)
{
	return diag_set(diag, DIAG_USAGE, EINVAL, fmt, word);
}

/* Refuse what can't be done with a pipe, or a disk in memory. */
static int check_options(const struct run *run, struct diag *diag)
{
	bool from_pipe = run->state.from_pipe, to_pipe = run->state.to_pipe;
	const struct copy_job *job = run->job;
	const char *const uri[] = { job->src, job->dst };

	if (from_pipe && to_pipe)
		return usage(diag, "no disk given: standard input to standard output%s", "");
	if (from_pipe && (job->verify || job->map || job->keep_going))
		return usage(diag, "%s: standard input can be read only once",
			job->verify ? "--verify"
			: job->map  ? "--resume"
				    : "--keep-going");
	if (to_pipe && (job->verify || job->map))
		return usage(diag, "%s: standard output can't be read back",
			job->verify ? "--verify" : "--resume");
	for (unsigned i = 0; i < 2; i++)
		if (job->map && bdev_uri_in_memory(uri[i]))
			return usage(diag, "--resume: %s doesn't keep its data", uri[i]);
	if (to_pipe && job->out->json)
		return usage(diag, "--json: standard output carries the copied data%s", "");
	return 0;
}

static void progressed(const struct copy_progress *progress, void *arg)
{
	const struct run *run = arg;

	copy_show_progress(&run->state, progress);
}

static void set_options(struct run *run)
{
	const struct copy_job *job = run->job;

	run->options = (struct copy_options){
		.depth = job->depth,
		.request = job->request,
		.sparse = job->sparse,
		.dst_zero = run->state.ends.empty,
		.verify = job->verify,
		.hash = job->hash,
		.keep_going = job->keep_going,
		.stream = run->state.from_pipe,
		.fill_bad = run->state.to_pipe,
		.map = job->map,
		.stop = job->stop,
		.progress = progressed,
		.arg = run,
	};
}

/* ---- The map. */

/* bdev may be NULL for a file that is not open, or missing. */
static void name_disk(const struct run *run, struct copy_disk *disk, const char *uri,
	const struct bdev *bdev, uint64_t size)
{
	char key[COPY_ID];

	disk->by_uri = !run->job->key(uri, bdev, key);
	copy_disk_name(disk, uri, key, size);
}

static int advise_new_map(const struct run *run, struct diag *diag)
{
	const char *map = run->job->map;
	char word[320];

	if (OUT_SHELL(strlen(map)) > sizeof(word))
		return -diag->err;
	return diag_hint(diag, "to copy everything: rm %s", out_shell(map, word, sizeof(word)));
}

static int check_map(struct run *run, struct diag *diag)
{
	const struct copy_state *state = &run->state;
	const struct copy_ends *ends = &state->ends;
	int rc;

	if (!run->job->map)
		return 0;
	name_disk(run, &run->src_is, ends->src, state->src, state->src->lim.size);
	run->options.src_is = &run->src_is;
	if (state->dst)
		name_disk(run, &run->dst_is, ends->dst, state->dst, state->dst->lim.size);
	else if (ends->regular)
		name_disk(run, &run->dst_is, ends->dst, NULL, bdev_whole_blocks(ends->length, 512));
	if (state->dst || ends->regular)
		run->options.dst_is = &run->dst_is;
	rc = copy_check_map(run->job->loop, state->src, &run->options, &run->state.finished, diag);
	return rc == -ESTALE && !diag->hint[0] ? advise_new_map(run, diag) : rc;
}

/* ---- The ends. */

static int open_source(struct run *run, struct diag *diag)
{
	char path[URI_MAX], word[320];
	struct copy_job *job = run->job;
	struct stat st;
	/* one more: too long is noticed */
	uint64_t length = run->state.from_pipe ? run->state.dst->lim.size + 1 : 0;
	int rc = job->open(job, job->src, false, length, &run->state.src, diag);

	if (rc && bdev_uri_path(job->src, path, sizeof(path)) && !stat(path, &st) &&
		S_ISFIFO(st.st_mode))
		diag_hint(diag, "to copy a pipe: COMMAND | rdmastor copy - %s",
			out_shell(job->dst, word, sizeof(word)));
	return rc;
}

static int open_destination(struct run *run, struct diag *diag)
{
	struct copy_state *state = &run->state;
	struct copy_job *job = run->job;
	bool keep_length = state->from_pipe || (state->ends.regular && job->dry_run);
	int rc;

	run->opening = true;
	rc = job->open(
		job, job->dst, true, keep_length ? 0 : state->src->lim.size, &state->dst, diag);
	if (rc || !state->src)
		return rc;
	return copy_ends_differ(&state->ends, &state->src->id, &state->dst->id, diag);
}

/* In a dry run no file is created. */
static int open_both(struct run *run, struct diag *diag)
{
	struct copy_state *state = &run->state;
	int rc = state->from_pipe ? 0 : open_source(run, diag);

	if (!rc)
		rc = check_map(run, diag);
	if (!rc && run->job->dry_run && state->ends.empty && !state->from_pipe)
		return copy_ends_writable(&state->ends, diag);
	if (!rc)
		rc = open_destination(run, diag);
	if (!rc && state->from_pipe)
		rc = open_source(run, diag);
	return rc ? rc : check_map(run, diag);
}

/* ---- The copy. */

/* A copy to or from it can be continued. */
static bool resumable(const char *uri)
{
	return strcmp(uri, "-") && !bdev_uri_in_memory(uri);
}

/* Advise how to continue, or how to avoid the failure. */
static int fail(struct run *run, int rc, struct diag *diag)
{
	bool doubt = run->src_is.by_uri || run->dst_is.by_uri;
	struct copy_job *job = run->job;
	const struct copy_progress *p = &job->progress;
	const char *longer = p->lost || rc == -EHOSTUNREACH || rc == -EAGAIN
				     ? "; --on-loss SECONDS waits longer"
				     : "";

	rc = job->failed(job, rc, diag);
	if (rc == -EILSEQ && diag->code == DIAG_MISMATCH && job->map)
		return advise_new_map(run, diag);
	if (diag->hint[0] || diag->code == DIAG_USAGE || diag->code == DIAG_MISMATCH)
		return rc;
	if (job->timed_out)
		longer = "";
	if (p->saved)
		diag_hint(diag, "the same command%s continues the copy from the map %s%s",
			doubt && !job->verify ? " with --verify" : "", job->map, longer);
	else if (!job->map && p->done && resumable(job->src) && resumable(job->dst))
		diag_hint(
			diag, "to be able to continue an interrupted copy: --resume MAP%s", longer);
	else if (*longer)
		diag_hint(diag, "%s", longer + 2);
	return rc;
}

static int copy(struct run *run, struct diag *diag)
{
	struct copy_state *state = &run->state;
	struct copy_job *job = run->job;
	int rc;

	copy_show_begin(state);
	*job->running = true;
	rc = copy_run(job->loop, state->src, state->dst, &run->options, &job->progress, diag);
	*job->running = false;
	out_bar("");
	if (!rc) {
		copy_show_result(state);
		return 0;
	}
	copy_show_counts(state);
	return fail(run, rc, diag);
}

static int rehearse(const struct copy_state *state, struct diag *diag)
{
	int rc = 0;

	if (state->dst)
		rc = copy_check_ends(state->src, state->dst,
			state->ends.regular ? UINT64_MAX : state->dst->lim.size, state->from_pipe,
			diag);
	if (!rc)
		copy_show_plan(state);
	return rc;
}

int copy_job_run(struct copy_job *job, struct diag *diag)
{
	struct run run = { .job = job,
		.state = { .job = job,
			.ends = { .src = job->src, .dst = job->dst, .map = job->map },
			.from_pipe = !strcmp(job->src, "-"),
			.to_pipe = !strcmp(job->dst, "-") } };
	struct copy_state *state = &run.state;
	int rc = check_options(&run, diag);

	if (!rc)
		rc = copy_ends_check(&state->ends, diag);
	set_options(&run);
	if (!rc)
		rc = open_both(&run, diag);
	if (!rc)
		rc = job->dry_run ? rehearse(state, diag) : copy(&run, diag);
	if (rc < 0 && !job->dry_run && run.opening)
		copy_ends_remove(&state->ends, &job->progress, state->dst ? NULL : diag);
	bdev_close(state->dst);
	bdev_close(state->src);
	return rc;
}
