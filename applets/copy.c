/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* copy: image, restore or move a disk. */
#include "copy.h"
#include "applet.h"
#include "disk_open.h"
#include "retry_row.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
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

struct copying {
	struct copy_job job;
	struct call *call;
	struct task task;
	struct bdev_env env;
};

static int usage(struct call *call, const char *fmt, const char *word)
{
	return diag_set(call->diag, DIAG_USAGE, EINVAL, fmt, word);
}

/* The value of dd's operand, "if=": NULL unless it is given. */
static const char *dd_value(const struct call *call, const char *key)
{
	for (unsigned i = 0; i < call->operands; i++)
		if (!strncmp(call->operand[i], key, strlen(key)))
			return call->operand[i] + strlen(key);
	return NULL;
}

static int check_operands(struct call *call)
{
	const char *in = dd_value(call, "if="), *out = dd_value(call, "of=");
	char src[160], dst[160];

	if (in || out) {
		usage(call, "if= and of= are dd's operands%s", "");
		return diag_hint(call->diag, "rdmastor copy %s %s",
			out_shell(in ? in : "-", src, sizeof(src)),
			out_shell(out ? out : "-", dst, sizeof(dst)));
	}
	if (call->operands > 2) {
		usage(call, "unexpected operand '%s'", call->operand[2]);
		return diag_hint(call->diag, "give ddrescue's map as: --resume MAP");
	}
	return 0;
}

static int check_options(struct call *call)
{
	const struct copy_opts *opts = call->opts;

	if (opts->sparse && opts->no_sparse)
		return usage(call, "--sparse and --no-sparse can't be combined%s", "");
	if (opts->request % 512)
		return usage(call, "--request: must be a multiple of 512%s", "");
	if (opts->hash && strcmp(opts->hash, "sha256") && strcmp(opts->hash, "blkhash"))
		return usage(call, "--hash %s: expected sha256 or blkhash", opts->hash);
	if (opts->hash && opts->keep_going)
		return usage(call, "--hash and --keep-going can't be combined%s", "");
	return 0;
}

static int open_disk(struct copy_job *job, const char *uri, bool write, uint64_t length,
	struct bdev **disk, struct diag *diag)
{
	struct copying *run = container_of(job, struct copying, job);
	const struct copy_opts *opts = run->call->opts;
	struct bdev_env env = run->env;

	(void)diag; /* the call's */
	env.create = length;
	env.write = env.replace = write;
	env.force = write && opts->force;
	if (!write)
		disk_warn_writers(run->call, uri);
	return disk_open(run->call, disk, job->loop, uri, &env);
}

/* Was it a signal, --timeout, or the reader of our output? */
static int failed(struct copy_job *job, int rc, struct diag *diag)
{
	struct copying *run = container_of(job, struct copying, job);
	struct diag why = *diag;

	job->timed_out = run->task.timed_out;
	if (rc == -EINTR && run->task.timed_out) {
		rc = task_timed_out(run->call);
		if (why.object[0])
			diag_ctx(diag, "%s", why.object);
	} else if (rc == -EINTR) {
		run->call->signo = run->task.signo;
	} else if (!strcmp(job->dst, "-") && diag->err == EPIPE && !run->call->sigpipe_ignored) {
		run->call->signo = SIGPIPE;
	}
	return rc;
}

static void set_job(struct copying *run)
{
	const struct copy_opts *opts = run->call->opts;

	run->job = (struct copy_job){
		.src = run->call->operand[0],
		.dst = run->call->operand[1],
		.map = opts->resume,
		.depth = opts->depth,
		.request = (uint32_t)opts->request,
		.sparse = !opts->no_sparse,
		.verify = opts->verify,
		.hash = !opts->hash                    ? COPY_NO_HASH
			: strcmp(opts->hash, "sha256") ? COPY_BLKHASH
						       : COPY_SHA256,
		.keep_going = opts->keep_going,
		.dry_run = opts->common.dry_run,
		.show_bar = opts->progress ? !strcmp(opts->progress, "bar")
					   : isatty(STDERR_FILENO) && !opts->common.quiet,
		.show_lines = opts->progress && !strcmp(opts->progress, "json"),
		.loop = run->task.loop,
		.out = run->call->out,
		.notes = &run->call->notes,
		.stop = &run->task.stop,
		.running = &run->task.running,
		.open = open_disk,
		.key = disk_key,
		.failed = failed,
	};
}

static int run_copy(struct call *call)
{
	const struct copy_opts *opts = call->opts;
	struct copying run = { .call = call };
	int rc = check_operands(call);

	if (!rc)
		rc = check_options(call);
	if (!rc)
		rc = disk_env(call, &run.env, opts->on_loss);
	run.env.retry_ms = opts->retry_ms;
	if (!rc)
		rc = task_begin(&run.task, call, &call->loop);
	if (rc)
		return rc;
	set_job(&run);
	rc = copy_job_run(&run.job, call->diag);
	task_end(&run.task);
	return !rc && run.job.progress.bad ? EXIT_PARTLY : rc;
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
