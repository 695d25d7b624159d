/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From what the user typed to what is measured: addresses, sizes, the rows of an RDMA measurement;
 * and fio's job files, which are recognized but not read. */
#include "load.h"
#include "uri.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROW_MS  2000 /* of a row without limits */
#define DEPTH   128  /* for bandwidth */
#define ALL_MAX (8u << 20)

bool load_is_fio_job(const char *path)
{
	char text[4096], *rest = text, *line;
	struct stat st;
	ssize_t len;
	int fd;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? len : 0] = 0;
	while ((line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t\r");
		if (*line && *line != ';' && *line != '#')
			break;
	}
	return line && *line == '[' && strchr(line, ']');
}

int load_addr_read(const char *text, uint16_t port, bool listen, struct addr *addr,
	enum load_backend *backend, bool *no_crc, struct diag *diag)
{
	struct addr_rdma rdma;
	struct stat st;
	char host[URI_MAX];

	if (snprintf(host, sizeof(host), "%s", text) >= (int)sizeof(host))
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG, "the address is too long");
	/* don't look up a file as a host: a disk is measured without --rdma and --tcp */
	if (!stat(text, &st) && !S_ISDIR(st.st_mode)) {
		diag_set(diag, DIAG_USAGE, EINVAL,
			"is a file, but --rdma, --tcp and --listen expect HOST[:PORT]");
		diag_hint(diag, "rdmastor bench %s", text);
		return diag_ctx(diag, "%s", text);
	}
	if (addr_rdma(&rdma, host, diag))
		return diag_ctx(diag, "%s", text);
	if (!*host || !strcmp(host, ":")) {
		if (!listen)
			return diag_set(diag, DIAG_USAGE, EINVAL, "no HOST given");
		snprintf(host, sizeof(host), ":%u", port); /* all addresses */
	}
	if (addr_parse(addr, host, port, diag))
		return diag_ctx(diag, "%s", text);
	if (addr->ss.ss_family == AF_UNIX) {
		diag_set(diag, DIAG_USAGE, EINVAL, "expected HOST[:PORT], not a unix socket");
		return diag_ctx(diag, "%s", text);
	}
	*backend = rdma.verbs && rdma.iwarp ? LOAD_AUTO : rdma.verbs ? LOAD_VERBS : LOAD_IWARP;
	*no_crc = rdma.no_crc;
	return 0;
}

static int read_size(const char *text, uint32_t *size, struct diag *diag)
{
	uint64_t value;

	if (parse_size(text, &value, diag))
		return diag_ctx(diag, "--bs");
	if (!value || value > UINT32_MAX)
		return diag_set(diag, DIAG_USAGE, ERANGE, "--bs: must be 1 to %u", UINT32_MAX);
	*size = (uint32_t)value;
	return 0;
}

int load_sizes_read(struct load_rdma_plan *plan, const char *p, struct diag *diag)
{
	int err = 0;

	p = p ? p : plan->ping ? "64" : "64,4K,64K,1M";
	for (plan->sizes = 0; !err && *p; plan->sizes++) {
		size_t len = strcspn(p, ",");
		char word[32];

		snprintf(word, sizeof(word), "%.*s", (int)len, p);
		if (plan->sizes == LOAD_SIZES)
			return diag_set(diag, DIAG_USAGE, E2BIG, "--bs: must be at most %d sizes",
				LOAD_SIZES);
		err = read_size(word, &plan->size[plan->sizes], diag);
		p += len + (p[len] == ',');
	}
	return err;
}

void load_sizes_all(struct load_rdma_plan *plan)
{
	plan->sizes = 0;
	for (uint32_t size = 2; size <= ALL_MAX; size *= 2)
		plan->size[plan->sizes++] = size;
}

const char *load_kind_text(const struct load_options *opt, enum load_kind kind)
{
	static const char *const change[] = {
		[LOAD_DATA] = "write", [LOAD_TRIM] = "trim", [LOAD_ZERO] = "zero"
	};

	return kind == LOAD_READ ? "read" : kind == LOAD_FLUSH ? "flush" : change[opt->change];
}

double load_mean_size(const struct load_options *opt)
{
	double sum = 0;

	for (unsigned i = 0; i < opt->splits; i++)
		sum += opt->split[i].bs * (opt->split[i].percent / 100.);
	return opt->splits ? sum : opt->bs;
}

/* "4K/60", "4K/" or "4K"; *left_out: without the share. */
static int read_split(const char *text, struct load_split *split, bool *left_out, struct diag *diag)
{
	const char *slash = strchr(text, '/');
	uint64_t size = 0, percent = 0;
	char word[32];
	int err;

	snprintf(word, sizeof(word), "%.*s", (int)(slash ? slash - text : 31), text);
	err = parse_size(word, &size, diag);
	*left_out = !slash || !slash[1];
	if (!err && !*left_out)
		err = parse_u64(slash + 1, 1, 100, &percent, diag);
	if (!err && (!size || size > UINT32_MAX))
		err = diag_set(diag, DIAG_USAGE, ERANGE, "must be 1 to %u", UINT32_MAX);
	*split = (struct load_split){ (uint32_t)size, (uint32_t)percent };
	return err;
}

/* Equal parts of what the others leave; the last one has what this division leaves. */
static void fill_shares(struct load_options *opt, const bool *left_out, uint32_t rest)
{
	uint32_t some = 0;

	for (unsigned i = 0; i < opt->splits; i++)
		some += left_out[i];
	for (unsigned i = 0; i < opt->splits; i++)
		if (left_out[i]) {
			opt->split[i].percent = rest / some--;
			rest -= opt->split[i].percent;
		}
}

static int read_splits(struct load_options *opt, const char *p, struct diag *diag)
{
	bool left_out[LOAD_SPLITS], any = false;
	uint32_t sum = 0, left = 0;
	int err;

	opt->bs = 0;
	for (opt->splits = 0; *p; opt->splits++) {
		struct load_split *split = &opt->split[opt->splits];
		size_t len = strcspn(p, ":");
		char word[64];

		if (opt->splits == LOAD_SPLITS)
			return diag_set(
				diag, DIAG_USAGE, E2BIG, "must be at most %d sizes", LOAD_SPLITS);
		snprintf(word, sizeof(word), "%.*s", (int)len, p);
		err = read_split(word, split, &left_out[opt->splits], diag);
		if (err)
			return err;
		any |= left_out[opt->splits];
		left += left_out[opt->splits];
		sum += split->percent;
		opt->bs = split->bs > opt->bs ? split->bs : opt->bs;
		p += len + (p[len] == ':');
	}
	if (any ? sum + left > 100 : sum != 100)
		return diag_set(diag, DIAG_USAGE, ERANGE, "the shares are %u %% in sum%s", sum,
			any ? ", which leaves too little for the others" : ", not 100 %");
	fill_shares(opt, left_out, 100 - sum);
	return 0;
}

int load_split_read(struct load_options *opt, const char *text, struct diag *diag)
{
	int err = read_splits(opt, text, diag);

	return err ? diag_ctx(diag, "--bssplit") : 0;
}

static bool is_planned(const struct load_rdma_plan *plan, enum load_op op, unsigned test)
{
	if (plan->ping || op == LOAD_OP_PING)
		return plan->ping && op == LOAD_OP_PING && !test;
	return (!plan->op || !strcmp(plan->op, load_op_name[op])) &&
	       (!plan->test || !strcmp(plan->test, load_test_name[test]));
}

static struct load_rdma plan_row(
	const struct load_rdma_plan *plan, enum load_op op, unsigned test, uint32_t size)
{
	bool limited = plan->iterations || plan->runtime_ms;
	struct load_rdma conf = plan->common;

	conf.op = op;
	conf.bandwidth = test;
	conf.size = size;
	conf.depth = !test ? 1 : plan->depth ? plan->depth : DEPTH;
	conf.runtime_ms = limited ? plan->runtime_ms : ROW_MS;
	conf.iterations = limited ? plan->iterations : test ? 5000 : 1000;
	return conf;
}

/* Measure all rows, or without row() only check them. */
static int run_rows(struct loop *loop, const struct load_rdma_plan *plan,
	void (*row)(const struct load_rdma *, const struct load_rdma_result *, bool first, void *),
	void *arg, struct diag *diag)
{
	struct load_rdma_result result;

	for (unsigned test = 0; test < 2; test++)
		for (enum load_op op = LOAD_OP_SEND; op <= LOAD_OP_PING; op++)
			for (unsigned i = 0; i < plan->sizes && is_planned(plan, op, test); i++) {
				struct load_rdma conf = plan_row(plan, op, test, plan->size[i]);
				int err = row ? load_rdma(loop, &conf, &result, diag)
					      : load_rdma_check(&conf, diag);

				if (err)
					return err;
				if (!row)
					continue;
				row(&conf, &result, !i, arg);
				if (conf.stop && *conf.stop)
					return -EINTR;
			}
	return 0;
}

int load_rdma_run(struct loop *loop, const struct load_rdma_plan *plan,
	void (*row)(const struct load_rdma *, const struct load_rdma_result *, bool first, void *),
	void *arg, struct diag *diag)
{
	int err = run_rows(loop, plan, NULL, NULL, diag);

	return err ? err : run_rows(loop, plan, row, arg, diag);
}
