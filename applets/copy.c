/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* copy: image, restore or move a disk. Open both ends and report the progress; the checks before
 * and the copying are core/block's. */
#include "copy.h"
#include "applet.h"
#include "disk_open.h"
#include "names.h"
#include "retry_row.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST (32u << 20)

struct copy_opts {
	struct opt_common common;
	uint32_t depth, retry_ms;
	uint64_t request;
	bool verify, sparse, no_sparse, keep_going, force;
	const char *resume, *progress, *on_loss, *hash;
};

#define AT(field) offsetof(struct copy_opts, field)
static const struct opt rows[] = {
	{ "depth", 0, OPT_U32, AT(depth), "N", "requests in flight; default 16", 1, 1024 },
	{ "request", 0, OPT_SIZE, AT(request), "SIZE",
		"size of a request, a multiple of 512; default 256K or the disks' preferred size",
		512, LONGEST },
	{ "verify", 0, OPT_FLAG, AT(verify), NULL, "read both disks again and compare them" },
	{ "sparse", 0, OPT_FLAG, AT(sparse), NULL,
		"leave holes where the source has holes or zeroes (default)" },
	{ "no-sparse", 0, OPT_FLAG, AT(no_sparse), NULL, "write every byte" },
	{ "resume", 0, OPT_TEXT, AT(resume), "FILE",
		"record progress in this map, and continue from it if it exists" },
	{ "hash", 0, OPT_TEXT, AT(hash), "sha256|blkhash",
		"print a hash of the source, computed while copying; blkhash as nbdcopy's" },
	{ "keep-going", 0, OPT_FLAG, AT(keep_going), NULL,
		"skip unreadable areas; the exit status is then 3" },
	{ "force", 0, OPT_FLAG, AT(force), NULL,
		"write to a disk that is mounted, claimed or open for writing elsewhere" },
	{ "progress", 0, OPT_TEXT, AT(progress), "bar|json|none",
		"progress on stderr; default bar on a terminal, else none" },
	{ "on-loss", 0, OPT_TEXT, AT(on_loss), "POLICY", OPT_ON_LOSS_HELP },
	OPT_RETRY_ROW(struct copy_opts, retry_ms),
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	{ "nbdcopy", "-p", "progress is shown on a terminal; elsewhere use --progress bar" },
	{ "nbdcopy", "-C|--connections", "use queues=N in the URI" },
	{ "nbdcopy", "-R|--requests", "use --depth" },
	{ "nbdcopy", "--request-size", "use --request" },
	{ "nbdcopy", "--queue-size", "use --depth and --request" },
	{ "nbdcopy", "--synchronous", "use --depth 1" },
	{ "nbdcopy", "--allocated|--no-extents", "use --no-sparse" },
	{ "nbdcopy", "--destination-is-zero|--target-is-zero",
		"not needed: a new file is known to be zero" },
	{ "nbdcopy", "--blkhash", "use --hash blkhash" },
	{ "nbdcopy", "--flush", "not needed: the destination is always flushed" },
	{ "nbdcopy", "-T|--threads", "not needed: requests are in flight in parallel" },
	{ "nbdcopy", "-S", "zeroes become holes by default; --no-sparse writes them" },
	{ "qemu-img convert", "-f|-O",
		"disks are raw; for other formats: qemu-nbd -t -f FORMAT -k SOCKET FILE" },
	{ "qemu-img convert", "-m|-W", "use --depth" },
	{ "qemu-img convert", "-n", "not needed: a file that exists is written in place" },
	{ "qemu-img convert", "-t", "not needed: the destination is always flushed" },
	{ "ddrescue", "-r|--retry-passes",
		"run the same command again: --resume retries bad areas" },
	{ "ddrescue", "-d", "not needed: a block device is read without the page cache" },
	{ "ddrescue", "--force", "use --force" },
	{ 0 },
};

struct copy_run {
	struct call *call;
	const struct copy_opts *opts;
	struct task task;
	struct bdev *src, *dst;
	struct bdev_env env;
	struct copy_ends ends;
	struct copy_options copy;
	struct copy_progress progress;
	struct copy_disk src_is, dst_is; /* for the map */
	uint64_t done;                   /* by the map */
	bool opening;                    /* the destination, which may have been created */
	bool from_pipe, to_pipe, bar, json;
};

static int usage(struct copy_run *run, const char *fmt, const char *word)
{
	diag_set(run->call->diag, DIAG_USAGE, EINVAL, fmt, word);
	return -EINVAL;
}

/* The value of dd's operand, "if=": NULL unless it is given. */
static const char *dd_value(const struct call *call, const char *key)
{
	for (unsigned i = 0; i < call->operands; i++)
		if (!strncmp(call->operand[i], key, strlen(key)))
			return call->operand[i] + strlen(key);
	return NULL;
}

static int check_operands(struct copy_run *run)
{
	struct call *call = run->call;
	const char *in = dd_value(call, "if="), *out = dd_value(call, "of=");
	char src[160], dst[160];

	if (in || out) {
		usage(run, "if= and of= are dd's operands%s", "");
		return diag_hint(call->diag, "rdmastor copy %s %s",
			out_shell(in ? in : "-", src, sizeof(src)),
			out_shell(out ? out : "-", dst, sizeof(dst)));
	}
	if (call->operands > 2) {
		usage(run, "unexpected operand '%s'", call->operand[2]);
		return diag_hint(call->diag, "give ddrescue's map as: --resume MAP");
	}
	return 0;
}

static int read_options(struct copy_run *run)
{
	const struct copy_opts *opts = run->opts;
	struct call *call = run->call;
	int err = check_operands(run);

	if (err)
		return err;
	run->from_pipe = !strcmp(call->operand[0], "-");
	run->to_pipe = !strcmp(call->operand[1], "-");
	if (opts->sparse && opts->no_sparse)
		return usage(run, "--sparse and --no-sparse can't be combined%s", "");
	if (opts->request % 512)
		return usage(run, "--request: must be a multiple of 512%s", "");
	if (opts->hash && strcmp(opts->hash, "sha256") && strcmp(opts->hash, "blkhash"))
		return usage(run, "--hash %s: expected sha256 or blkhash", opts->hash);
	if (opts->hash && opts->keep_going)
		return usage(run, "--hash and --keep-going can't be combined%s", "");
	if (run->from_pipe && run->to_pipe)
		return usage(run, "no disk given: standard input to standard output%s", "");
	if (run->from_pipe && (opts->verify || opts->resume || opts->keep_going))
		return usage(run, "%s: standard input can be read only once",
			opts->verify   ? "--verify"
			: opts->resume ? "--resume"
				       : "--keep-going");
	if (run->to_pipe && (opts->verify || opts->resume))
		return usage(run, "%s: standard output can't be read back",
			opts->verify ? "--verify" : "--resume");
	for (unsigned i = 0; i < 2; i++)
		if (opts->resume && bdev_uri_in_memory(call->operand[i]))
			return usage(run, "--resume: %s doesn't keep its data", call->operand[i]);
	if (run->to_pipe && opts->common.json)
		return usage(run, "--json: standard output carries the copied data%s", "");
	run->bar = opts->progress ? !strcmp(opts->progress, "bar")
				  : isatty(STDERR_FILENO) && !opts->common.quiet;
	run->json = opts->progress && !strcmp(opts->progress, "json");
	run->ends = (struct copy_ends){
		.src = call->operand[0], .dst = call->operand[1], .map = opts->resume
	};
	run->copy = (struct copy_options){
		.depth = opts->depth,
		.request = (uint32_t)opts->request,
		.sparse = !opts->no_sparse,
		.verify = opts->verify,
		.hash = !opts->hash                    ? COPY_NO_HASH
			: strcmp(opts->hash, "sha256") ? COPY_BLKHASH
						       : COPY_SHA256,
		.keep_going = opts->keep_going,
		.stream = run->from_pipe,
		.fill_bad = run->to_pipe,
		.map = opts->resume,
		.stop = &run->task.stop,
		.arg = run,
	};
	return 0;
}

/* Requests are held because no path works. */
static bool waits(const struct bdev *bdev)
{
	return bdev->state == BDEV_UP &&
	       (bdev->why.code == DIAG_UNREACHABLE || bdev->why.code == DIAG_TIMEOUT);
}

static void progressed(const struct copy_progress *progress, void *arg)
{
	const struct copy_run *run = arg;
	bool waiting = waits(run->src) || waits(run->dst);
	char line[COPY_LINE];

	if (run->json)
		copy_progress_json(progress, waiting);
	else if (run->bar)
		out_bar(copy_bar(progress, waiting, out_columns(), line));
}

/* bdev may be NULL for a file that is not open, or missing. */
static void name_disk(
	struct copy_disk *disk, const char *operand, const struct bdev *bdev, uint64_t size)
{
	char key[DISK_KEY];

	disk->by_uri = !disk_key(operand, bdev, key);
	copy_disk_name(disk, operand, key, size);
}

static int start_over(struct copy_run *run)
{
	const char *map = run->opts->resume;
	char word[320];

	if (OUT_SHELL(strlen(map)) > sizeof(word))
		return -run->call->diag->err;
	out_shell(map, word, sizeof(word));
	return diag_hint(run->call->diag, "to copy everything: rm %s", word);
}

static int check_map(struct copy_run *run)
{
	char **operand = run->call->operand;
	int rc;

	if (!run->opts->resume)
		return 0;
	name_disk(&run->src_is, operand[0], run->src, run->src->lim.size);
	run->copy.src_is = &run->src_is;
	if (run->dst)
		name_disk(&run->dst_is, operand[1], run->dst, run->dst->lim.size);
	else if (run->ends.regular)
		name_disk(&run->dst_is, operand[1], NULL, bdev_whole_blocks(run->ends.length, 512));
	if (run->dst || run->ends.regular)
		run->copy.dst_is = &run->dst_is;
	rc = copy_check_map(run->task.loop, run->src, &run->copy, &run->done, run->call->diag);
	return rc == -ESTALE && !run->call->diag->hint[0] ? start_over(run) : rc;
}

static int open_source(struct copy_run *run)
{
	struct bdev_env env = run->env;
	char **operand = run->call->operand, path[URI_MAX], word[320];
	struct stat st;
	int rc;

	/* one more: too long is noticed */
	env.create = run->from_pipe ? run->dst->lim.size + 1 : 0;
	disk_warn_writers(run->call, operand[0]);
	rc = disk_open(run->call, &run->src, run->task.loop, operand[0], &env);
	if (rc && bdev_uri_path(operand[0], path, sizeof(path)) && !stat(path, &st) &&
		S_ISFIFO(st.st_mode))
		diag_hint(run->call->diag, "to copy a pipe: COMMAND | rdmastor copy - %s",
			out_shell(operand[1], word, sizeof(word)));
	return rc;
}

static int open_destination(struct copy_run *run)
{
	struct bdev_env env = run->env;
	int rc;

	run->opening = true;
	env.write = env.replace = true;
	env.force = run->opts->force;
	if (!run->from_pipe && !(run->ends.regular && run->opts->common.dry_run))
		env.create = run->src->lim.size;
	rc = disk_open(run->call, &run->dst, run->task.loop, run->ends.dst, &env);
	if (rc || !run->src)
		return rc;
	return copy_ends_differ(&run->ends, &run->src->id, &run->dst->id, run->call->diag);
}

static void say_size(struct copy_run *run)
{
	char a[16], b[16], rest[16];

	if (!run->from_pipe && run->dst && run->dst->lim.size > run->src->lim.size && !run->to_pipe)
		call_warn(run->call,
			"%s: larger (%s) than the source (%s): its last %s keep their content",
			run->dst->uri, out_human(run->dst->lim.size, a),
			out_human(run->src->lim.size, b),
			out_human(run->dst->lim.size - run->src->lim.size, rest));
}

static void print_ends(struct copy_run *run, bool already)
{
	struct out *out = run->call->out;

	out_text(out, "source", NULL, "%s", run->src->uri);
	out_text(out, "destination", NULL, "%s", run->call->operand[1]);
	if (!run->from_pipe || run->progress.done)
		out_u64(out, "size", NULL, run->src->lim.size);
	out_bool(out, "created", NULL, run->ends.missing);
	if (run->opts->resume)
		out_bool(out, "already_copied", NULL, already);
}

static void print_line(struct copy_run *run, const char *line)
{
	if (run->to_pipe)
		call_note(run->call, "%s", line);
	else
		out_line(run->call->out, "%s", line);
}

static int rehearse(struct copy_run *run)
{
	bool already = run->opts->resume && run->done == run->src->lim.size;
	const char *to = run->to_pipe ? "standard output" : run->call->operand[1];
	struct out *out = run->call->out;
	uint64_t remaining = run->src->lim.size - run->done;
	char size[16], line[2 * URI_MAX + 64];
	int rc = 0;

	if (run->dst)
		rc = copy_check_ends(run->src, run->dst,
			run->ends.regular ? UINT64_MAX : run->dst->lim.size, run->from_pipe,
			run->call->diag);
	if (rc)
		return rc;
	print_ends(run, already);
	if (!run->from_pipe)
		out_u64(out, "remaining_bytes", NULL, remaining);
	out_bool(out, "verify", NULL, run->opts->verify);
	if (already)
		snprintf(line, sizeof(line), "already complete according to the map %s",
			run->opts->resume);
	else if (run->from_pipe)
		snprintf(line, sizeof(line), "would copy standard input to %s", to);
	else
		snprintf(line, sizeof(line), "would copy %s from %s to %s%s",
			out_human(remaining, size), run->src->uri, to,
			run->ends.missing ? ", a new file" : "");
	print_line(run, line);
	say_size(run);
	return EXIT_DONE;
}

static void say_result(struct copy_run *run)
{
	const struct copy_progress *p = &run->progress;
	char line[URI_MAX + 128], text[COPY_LINE], hash[2 * sizeof(p->hash) + 1];
	const struct copy_opts *opts = run->opts;
	struct out *out = run->call->out;

	if (p->already)
		snprintf(line, sizeof(line), "already complete according to the map %s%s",
			opts->resume, opts->verify ? "; verified again" : "");
	print_line(run, p->already ? line : copy_result_text(p, opts->verify, text));
	if (opts->hash) {
		hex_text(hash, p->hash, sizeof(p->hash));
		snprintf(line, sizeof(line), "%s: %s", opts->hash, hash);
		print_line(run, line);
	}
	if (run->to_pipe)
		return;
	print_ends(run, p->already);
	if (opts->hash)
		out_text(out, opts->hash, NULL, "%s", hash);
	copy_show_counts(out, p, opts->resume);
	out_real(out, "bytes_per_second", NULL, copy_average(p), 0);
}

/* A copy to or from it can be continued. */
static bool resumable(const char *uri)
{
	return strcmp(uri, "-") && !bdev_uri_in_memory(uri);
}

static int failed(struct copy_run *run, int rc)
{
	const char *longer = "; --on-loss SECONDS waits longer";
	bool waited = run->progress.lost || rc == -EHOSTUNREACH || rc == -EAGAIN;
	bool doubt = run->src_is.by_uri || run->dst_is.by_uri;
	struct diag *diag = run->call->diag, why = *diag;
	char **operand = run->call->operand;

	if (rc == -EINTR && run->task.timed_out) {
		rc = task_timed_out(run->call);
		if (why.object[0])
			diag_ctx(diag, "%s", why.object);
	} else if (rc == -EINTR) {
		run->call->signo = run->task.signo;
	} else if (run->to_pipe && diag->err == EPIPE && !run->call->sigpipe_ignored) {
		run->call->signo = SIGPIPE;
	}
	if (rc == -EILSEQ && diag->code == DIAG_MISMATCH && run->opts->resume)
		return start_over(run);
	if (diag->hint[0] || diag->code == DIAG_USAGE || diag->code == DIAG_MISMATCH)
		return rc;
	if (!waited || run->task.timed_out)
		longer = "";
	if (run->progress.saved)
		diag_hint(diag, "the same command%s continues the copy from the map %s%s",
			doubt && !run->opts->verify ? " with --verify" : "", run->opts->resume,
			longer);
	else if (!run->opts->resume && run->progress.done && resumable(operand[0]) &&
		 resumable(operand[1]))
		diag_hint(
			diag, "to be able to continue an interrupted copy: --resume MAP%s", longer);
	else if (*longer)
		diag_hint(diag, "%s", longer + 2);
	return rc;
}

static void say_resumed(const struct copy_run *run)
{
	uint64_t total = run->src->lim.size;
	char done[16], size[16], rest[16];

	if (run->done && run->done < total && !run->json)
		call_note(run->call, "map %s: %s of %s already copied, %s remaining",
			run->opts->resume, out_human(run->done, done), out_human(total, size),
			out_human(total - run->done, rest));
}

static int copy(struct copy_run *run)
{
	char bad[16];
	int rc;

	say_size(run);
	say_resumed(run);
	run->copy.progress = progressed;
	run->task.running = true;
	rc = copy_run(
		run->task.loop, run->src, run->dst, &run->copy, &run->progress, run->call->diag);
	run->task.running = false;
	out_bar("");
	if (rc) {
		copy_show_counts(run->call->out, &run->progress, run->opts->resume);
		return failed(run, rc);
	}
	say_result(run);
	if (!run->progress.bad)
		return EXIT_DONE;
	call_warn(run->call, "%s could not be read and %s", out_human(run->progress.bad, bad),
		run->to_pipe ? "was replaced by zeroes" : "was skipped");
	return EXIT_PARTLY;
}

static int open_and_copy(struct copy_run *run)
{
	bool dry_run = run->opts->common.dry_run;
	struct diag *diag = run->call->diag;
	int rc = copy_ends_check(&run->ends, diag);

	run->copy.dst_zero = run->ends.empty;
	if (!rc && !run->from_pipe)
		rc = open_source(run);
	if (!rc)
		rc = check_map(run);
	if (!rc && dry_run && run->ends.empty && !run->from_pipe)
		rc = copy_ends_writable(&run->ends, diag);
	else if (!rc)
		rc = open_destination(run);
	if (!rc && run->from_pipe)
		rc = open_source(run);
	if (!rc && run->dst)
		rc = check_map(run);
	if (!rc)
		rc = dry_run ? rehearse(run) : copy(run);
	if (rc < 0 && !dry_run && run->opening)
		copy_ends_remove(&run->ends, &run->progress, run->dst ? NULL : diag);
	bdev_close(run->dst);
	bdev_close(run->src);
	return rc;
}

static int run_copy(struct call *call)
{
	struct copy_run run = { .call = call, .opts = call->opts };
	int rc = read_options(&run);

	if (!rc)
		rc = disk_env(call, &run.env, run.opts->on_loss);
	run.env.retry_ms = run.opts->retry_ms;
	if (!rc)
		rc = task_begin(&run.task, call, &call->loop);
	if (rc)
		return rc;
	rc = open_and_copy(&run);
	task_end(&run.task);
	return rc;
}

const struct applet applet_copy = {
	.name = "copy",
	.operands = "SRC DST",
	.schemes = SCHEME_DISK,
	.keys = disk_keys,
	.summary = "image or restore a disk",
	.opts = rows,
	.foreign = foreign,
	.examples = "  rdmastor copy --resume disk.map nbd://10.0.0.7/vm1 vm1.img\n"
		    "  rdmastor copy --verify disk.img /dev/sdX\n"
		    "  rdmastor copy nvme+tcp://10.0.0.1/nqn.2024-01.com.example:d1 - | zstd "
		    ">d1.zst\n",
	.opts_size = sizeof(struct copy_opts),
	.min = 2,
	.max = 3, /* for the hint */
	.has_dry_run = true,
	.run = run_copy,
};
