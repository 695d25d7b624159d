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

#define ROW_MS 2000 /* of a row without limits */
#define DEPTH  128  /* for bandwidth */

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

static bool is_planned(const struct load_rdma_plan *plan, enum load_op op, unsigned test)
{
	if (plan->ping || op == LOAD_OP_PING)
		return plan->ping && op == LOAD_OP_PING && !test;
	return (!plan->op || !strcmp(plan->op, load_op_name[op])) &&
	       (!plan->test || !strcmp(plan->test, load_test_name[test]));
}

int load_rdma_run(struct loop *loop, const struct load_rdma_plan *plan,
	void (*row)(const struct load_rdma *, const struct load_rdma_result *, bool first, void *),
	void *arg, struct diag *diag)
{
	bool limited = plan->iterations || plan->runtime_ms;
	struct load_rdma conf = plan->common;
	struct load_rdma_result result;

	conf.runtime_ms = limited ? plan->runtime_ms : ROW_MS;
	for (unsigned test = 0; test < 2; test++)
		for (enum load_op op = LOAD_OP_SEND; op <= LOAD_OP_PING; op++)
			for (unsigned i = 0; i < plan->sizes && is_planned(plan, op, test); i++) {
				int err;

				conf.op = op;
				conf.bandwidth = test;
				conf.size = plan->size[i];
				conf.depth = !test ? 1 : plan->depth ? plan->depth : DEPTH;
				conf.iterations = limited ? plan->iterations : test ? 5000 : 1000;
				err = load_rdma(loop, &conf, &result, diag);
				if (err)
					return err;
				row(&conf, &result, !i, arg);
				if (*conf.stop)
					return -EINTR;
			}
	return 0;
}
