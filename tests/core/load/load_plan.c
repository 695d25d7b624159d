/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The input of bench: addresses, sizes, and files that are jobs of fio; the rows of a series. */
/* Link: load_rdma */
#include "load.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(load_plan, addresses_have_a_port_and_a_backend)
{
	static const struct {
		const char *text, *address;
		bool listen, no_crc;
		int backend; /* negative: -errno */
	} rows[] = {
		{ "127.0.0.1", "127.0.0.1:18516", false, false, LOAD_AUTO },
		{ "127.0.0.1:7", "127.0.0.1:7", false, false, LOAD_AUTO },
		{ "[::1]:7?rdma=iwarp", "[::1]:7", false, false, LOAD_IWARP },
		{ "[::1]:7?rdma=verbs", "[::1]:7", false, false, LOAD_VERBS },
		{ "[::1]:7?rdma=iwarp&crc=0", "[::1]:7", false, true, LOAD_IWARP },
		{ "", NULL, true, false, LOAD_AUTO },
		{ ":", NULL, true, false, LOAD_AUTO },
		{ "?rdma=iwarp", NULL, true, false, LOAD_IWARP },
		{ "", NULL, false, false, -EINVAL },
		{ ":", NULL, false, false, -EINVAL },
		{ "127.0.0.1?rdma=roce", NULL, false, false, -EINVAL },
		{ "unix:/tmp/socket", NULL, false, false, -EINVAL },
		{ "/dev/null", NULL, false, false, -EINVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum load_backend backend = LOAD_AUTO;
		struct diag diag = { 0 };
		struct addr addr = { 0 };
		char text[ADDR_TEXT];
		bool no_crc = false;
		int err = load_addr_read(
			rows[i].text, LOAD_PORT, rows[i].listen, &addr, &backend, &no_crc, &diag);

		cr_assert_eq(err ? err : (int)backend, rows[i].backend, "%s: %s", rows[i].text,
			diag.text);
		if (err)
			continue;
		cr_assert_eq(no_crc, rows[i].no_crc);
		if (rows[i].address)
			cr_assert_str_eq(addr_text(&addr, text), rows[i].address);
		else
			cr_assert(addr_is_any(&addr) && addr_port(&addr) == LOAD_PORT);
	}
}

Test(load_plan, sizes_are_a_list)
{
	struct load_rdma_plan plan = { 0 }, ping = { .ping = true };
	struct diag diag = { 0 };
	char list[2 * (LOAD_SIZES + 1) + 1] = "";

	cr_assert_eq(load_sizes_read(&plan, NULL, NULL), 0);
	cr_assert(plan.sizes == 4 && plan.size[0] == 64 && plan.size[3] == 1 << 20);
	cr_assert_eq(load_sizes_read(&ping, NULL, NULL), 0);
	cr_assert(ping.sizes == 1 && ping.size[0] == 64);
	cr_assert_eq(load_sizes_read(&plan, "1,2K,", NULL), 0);
	cr_assert(plan.sizes == 2 && plan.size[0] == 1 && plan.size[1] == 2048);
	for (unsigned i = 0; i < LOAD_SIZES; i++)
		strcat(list, "1,");
	cr_assert_eq(load_sizes_read(&plan, list, NULL), 0);
	cr_assert_eq(plan.sizes, LOAD_SIZES);
	cr_assert_eq(load_sizes_read(&plan, strcat(list, "1,"), NULL), -E2BIG);
	cr_assert_eq(load_sizes_read(&plan, "1,0", NULL), -ERANGE);
	cr_assert_eq(load_sizes_read(&plan, "4G", NULL), -ERANGE);
	cr_assert_eq(load_sizes_read(&plan, "1,,2", &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, "--bs", "");
	load_sizes_all(&plan);
	cr_assert(plan.sizes == 23 && plan.size[0] == 2 && plan.size[22] == 8 << 20);
	for (unsigned i = 1; i < plan.sizes; i++)
		cr_assert_eq(plan.size[i], 2 * plan.size[i - 1]);
}

Test(load_plan, shares_of_sizes)
{
	static const struct {
		const char *text;
		unsigned splits;
		uint32_t bs, bytes[3], percent[3];
	} rows[] = {
		{ "4K/60:64K/40", 2, 65536, { 4096, 65536 }, { 60, 40 } },
		{ "4k/100", 1, 4096, { 4096 }, { 100 } },
		{ "512:1K:2K", 3, 2048, { 512, 1024, 2048 }, { 33, 33, 34 } },
		{ "8K/50:4K/:1K/", 3, 8192, { 8192, 4096, 1024 }, { 50, 25, 25 } },
	};
	static const char *const wrong[] = { "", "4K/60", "4K/60:8K/60", "4K/100:8K", "4K/0:8K/100",
		"4K/101", "4K/99:8K:16K", "4K/x", "/50:4K", "x/50:4K/50", "0/50:4K/50",
		"8G/50:4K/50", "1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1", "4K/50/50" };
	struct load_options opt;
	struct diag diag;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		opt = (struct load_options){ 0 };
		cr_assert_eq(load_split_read(&opt, rows[i].text, &diag), 0, "%s: %s", rows[i].text,
			diag.text);
		cr_assert_eq(opt.splits, rows[i].splits);
		cr_assert_eq(opt.bs, rows[i].bs);
		for (unsigned n = 0; n < opt.splits; n++) {
			cr_assert_eq(opt.split[n].bs, rows[i].bytes[n]);
			cr_assert_eq(opt.split[n].percent, rows[i].percent[n]);
		}
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		diag = (struct diag){ 0 };
		cr_assert_lt(load_split_read(&opt, wrong[i], &diag), 0, "%s", wrong[i]);
		diag_says(&diag, DIAG_USAGE, "--bssplit", "");
	}
}

int __wrap_load_rdma(
	struct loop *, const struct load_rdma *, struct load_rdma_result *, struct diag *);

static char measured[512]; /* "OP TEST SIZE xDEPTH," of each row */
static unsigned firsts;
static volatile int stop;

int __wrap_load_rdma(struct loop *loop, const struct load_rdma *conf,
	struct load_rdma_result *result, struct diag *diag)
{
	(void)loop;
	(void)diag;
	*result = (struct load_rdma_result){ .depth = conf->depth };
	sprintf(measured + strlen(measured), "%s %s %u x%u,", load_op_name[conf->op],
		load_test_name[conf->bandwidth], conf->size, conf->depth);
	return conf->size == 13 ? -ECONNRESET : 0;
}

static void count_row(
	const struct load_rdma *conf, const struct load_rdma_result *result, bool first, void *arg)
{
	cr_assert_eq(conf->depth, result->depth);
	firsts += first;
	stop = *(int *)arg;
}

/* Returns the result of the series. */
static int run(struct load_rdma_plan plan, int stop_at_first)
{
	measured[0] = 0;
	firsts = 0;
	stop = 0;
	plan.common.stop = &stop;
	return load_rdma_run(NULL, &plan, count_row, &stop_at_first, NULL);
}

Test(load_plan, a_series_has_a_row_for_each_test_operation_and_size)
{
	struct load_rdma_plan plan = { .sizes = 2, .size = { 64, 4096 }, .op = "read" };

	cr_assert_eq(run(plan, 0), 0);
	cr_assert_str_eq(measured, "read latency 64 x1,read latency 4096 x1,read bandwidth 64 x128,"
				   "read bandwidth 4096 x128,");
	cr_assert_eq(firsts, 2);
	plan.sizes = 1;
	plan.op = NULL;
	plan.test = "bandwidth";
	plan.depth = 7;
	cr_assert_eq(run(plan, 0), 0);
	cr_assert_str_eq(
		measured, "send bandwidth 64 x7,write bandwidth 64 x7,read bandwidth 64 x7,");
	plan.ping = true;
	cr_assert_eq(run(plan, 0), 0);
	cr_assert_str_eq(measured, "ping latency 64 x1,");
}

Test(load_plan, a_series_ends_when_stopped_and_at_a_failure)
{
	struct load_rdma_plan plan = { .sizes = 2, .size = { 64, 13 } };

	cr_assert_eq(run(plan, 1), -EINTR);
	cr_assert_str_eq(measured, "send latency 64 x1,");
	cr_assert_eq(run(plan, 0), -ECONNRESET);
	cr_assert_str_eq(measured, "send latency 64 x1,send latency 13 x1,");
}

Test(load_plan, job_files_of_fio_begin_with_a_section)
{
	static const struct {
		const char *text;
		bool job;
	} rows[] = {
		{ "[global]\nrw=read\n", true },
		{ "\n; comment\n# comment\n \t[job]\n", true },
		{ "[job", false },
		{ "text\n[job]\n", false },
		{ "# comment\n", false },
		{ "", false },
	};
	char path[] = "/tmp/load_plan.XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(ftruncate(fd, 0), 0);
		cr_assert_eq(pwrite(fd, rows[i].text, strlen(rows[i].text), 0),
			(ssize_t)strlen(rows[i].text));
		cr_assert_eq(load_is_fio_job(path), rows[i].job, "%s", rows[i].text);
	}
	close(fd);
	unlink(path);
	cr_assert(!load_is_fio_job(path));
	cr_assert(!load_is_fio_job("/dev/zero"));
	cr_assert(!load_is_fio_job("/"));
}
