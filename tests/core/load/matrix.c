/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A matrix: every disk has its turn in every cell of every round, in a random order, and a disk
 * that fails ends its own row only. */
#include "matrix.h"
#include "disk.h"
#include "matrix_show.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE  (1u << 20)
#define DISKS 3
#define LOADS 200

static struct loop *loop;
static struct fake_disk *fake[DISKS];
static struct matrix_disk disk[DISKS];
static struct matrix_options opt;
static struct matrix *matrix;
static struct diag why;
static int stop;
/* each load as "round.cell.disk" in the order of the loads */
static char order[LOADS][16];
static unsigned loads;
static void (*at_load)(void);

static void note(const struct matrix_progress *progress, void *arg)
{
	char text[16];

	(void)arg;
	snprintf(text, sizeof(text), "%u.%u.%s", progress->round,
		(unsigned)(progress->cell - matrix->cell), progress->disk->name);
	if (loads && !strcmp(order[loads - 1], text))
		return;
	cr_assert_lt(loads, LOADS);
	strcpy(order[loads++], text);
	if (at_load)
		at_load();
}

static void begin(void)
{
	static const char *const name[] = { "a", "b", "c" };

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &why), 0);
	for (unsigned i = 0; i < DISKS; i++) {
		fake[i] = fake_disk_new(loop, SIZE << i, 512);
		disk[i] = (struct matrix_disk){
			.name = name[i], .uri = name[i], .bdev = &fake[i]->bdev
		};
	}
	opt = (struct matrix_options){ .bs = { { 4096 }, 1 },
		.depth = { { 1, 4 }, 2 },
		.reads = { { 100 }, 1 },
		.rw = "randread",
		.rounds = 5,
		.load = { .random = true,
			.jobs = 1,
			.bytes = 16 * 4096,
			.drain_ms = NO_LIMIT_MS,
			.stop = &stop },
		.progress = note };
	at_load = NULL;
	loads = 0;
	stop = 0;
}

static void end(void)
{
	matrix_free(matrix);
	for (unsigned i = 0; i < DISKS; i++)
		fake_disk_free(fake[i]);
	loop_free(loop);
}

static void run(void)
{
	cr_assert_eq(matrix_new(&matrix, &opt, disk, DISKS, &why), 0, "%s", why.text);
	matrix_run(matrix, loop);
}

/* Consecutive loads of a disk are one entry: then there are fewer than four per cell. */
Test(matrix, no_load_follows_one_of_its_own_disk, .init = begin, .fini = end)
{
	unsigned follows[DISKS][DISKS] = { { 0 } };

	opt.rounds = 20;
	run();
	cr_assert_eq(loads, 20 * 2 * (DISKS + 1));
	for (unsigned i = 1; i < loads; i++)
		follows[strrchr(order[i], '.')[1] - 'a'][strrchr(order[i - 1], '.')[1] - 'a']++;
	for (unsigned i = 0; i < DISKS; i++)
		cr_assert_eq(follows[i][i], 0, "%c follows itself", 'a' + (int)i);
	cr_assert(follows[0][1] && follows[0][2], "a always follows the same disk");
	for (unsigned cell = 0; cell < 2; cell++)
		cr_assert_eq(matrix->cell[cell].rounds, 20);
}

/* With two disks only the first one can begin and end a cell. */
Test(matrix, second_of_two_disks_is_between, .init = begin, .fini = end)
{
	disk[2].bdev = NULL;
	opt.depth.count = 1;
	run();
	for (unsigned i = 0, cell = 0; i < loads; i++)
		if (!strcmp(strrchr(order[i], '.') + 1, "b"))
			cr_assert_eq(i, cell++ * 3 + 1);
	cr_assert_eq(loads, 5 * 3);
}

Test(matrix, each_row_has_the_figures_of_all_rounds, .init = begin, .fini = end)
{
	opt.load.bytes = 100 * 4096;
	run();
	for (unsigned cell = 0; cell < 2; cell++)
		for (unsigned i = 0; i <= DISKS; i++) {
			const struct matrix_row *row = matrix_row(matrix, cell, i);

			cr_assert_eq(row->loads, 5);
			cr_assert_eq(row->sum.kind[LOAD_READ].requests, 5 * 100);
			cr_assert_eq(row->sum.kind[LOAD_READ].latency.total, 5 * 100);
			for (unsigned round = 0; round < 5; round++) {
				cr_assert_gt(row->figure[MATRIX_IOPS][round], 0);
				cr_assert_gt(row->figure[MATRIX_P99][round], 0);
				cr_assert_leq(row->figure[MATRIX_P50][round],
					row->figure[MATRIX_P99][round]);
			}
		}
	cr_assert_eq(matrix_failed(matrix), 0);
	cr_assert_not(matrix->stopped);
}

Test(matrix, fewer_than_100_requests_have_no_p99, .init = begin, .fini = end)
{
	opt.load.bytes = 99 * 4096;
	run();
	for (unsigned i = 0; i <= DISKS; i++) {
		cr_assert_gt(matrix_row(matrix, 0, i)->figure[MATRIX_P50][0], 0);
		cr_assert_eq(matrix_row(matrix, 0, i)->figure[MATRIX_P99][0], 0);
	}
}

Test(matrix, too_small_disk_is_named, .init = begin, .fini = end)
{
	fake[1]->bdev.lim.size = 2048;
	cr_assert_eq(matrix_new(&matrix, &opt, disk, DISKS, &why), -ENOSPC);
	cr_assert_null(matrix);
	cr_assert_str_eq(why.object, fake[1]->bdev.uri);
	cr_assert_str_eq(why.text, "has 2048 bytes, less than --bs 4096");
}

Test(matrix, all_disks_use_as_much_as_the_smallest_has, .init = begin, .fini = end)
{
	opt.load.bytes = 2 * SIZE;
	run();
	for (unsigned i = 0; i < DISKS; i++)
		for (unsigned block = SIZE / 512; block < (SIZE << i) / 512; block++)
			cr_assert_eq(fake[i]->hits[block], 0);
}

static void lose_b_in_round_3(void)
{
	if (!strcmp(order[loads - 1], "3.0.a"))
		fake[1]->bad_len = SIZE;
}

Test(matrix, disk_that_fails_ends_its_own_row, .init = begin, .fini = end)
{
	fake[1]->bad_status = -EIO;
	at_load = lose_b_in_round_3;
	run();
	cr_assert_eq(disk[1].why.err, EIO);
	cr_assert_eq(matrix_failed(matrix), 1);
	cr_assert_eq(matrix_row(matrix, 1, 1)->loads, 2);
	cr_assert_eq(matrix_row(matrix, 1, 1)->figure[MATRIX_IOPS][2], 0);
	for (unsigned i = 0; i <= DISKS; i++)
		if (i != 1)
			cr_assert_eq(matrix_row(matrix, 1, i)->loads, 5);
	cr_assert_eq(matrix->cell[0].rounds, 5);
}

Test(matrix, ends_when_all_disks_have_failed, .init = begin, .fini = end)
{
	for (unsigned i = 0; i < DISKS; i++) {
		fake[i]->bad_status = -EIO;
		fake[i]->bad_len = SIZE;
	}
	run();
	cr_assert_eq(matrix_failed(matrix), DISKS);
	cr_assert_eq(loads, DISKS, "a disk was used after it had failed");
	cr_assert_eq(matrix_row(matrix, 0, 0)->loads, 0);
}

static void stop_in_round_2(void)
{
	stop |= !strcmp(order[loads - 1], "2.1.c");
}

Test(matrix, cell_that_is_interrupted_does_not_count, .init = begin, .fini = end)
{
	at_load = stop_in_round_2;
	run();
	cr_assert(matrix->stopped);
	cr_assert_eq(matrix_failed(matrix), 0);
	cr_assert_eq(matrix->cell[0].rounds, 2);
	cr_assert_eq(matrix->cell[1].rounds, 1);
	for (unsigned i = 0; i <= DISKS; i++) {
		cr_assert_eq(matrix_row(matrix, 0, i)->loads, 2);
		cr_assert_eq(matrix_row(matrix, 1, i)->loads, 1);
	}
	cr_assert_str_eq(order[loads - 1], "2.1.c");
}

Test(matrix, closed_disk_has_no_rows, .init = begin, .fini = end)
{
	disk[2].bdev = NULL;
	run();
	cr_assert_eq(matrix_failed(matrix), 1);
	cr_assert_eq(matrix_row(matrix, 0, 2)->loads, 0);
	cr_assert_eq(matrix_row(matrix, 0, 1)->loads, 5);
}

/* A rate of less than one request per load. */
Test(matrix, row_without_a_request_is_a_failure, .init = begin, .fini = end)
{
	opt.load.rate = 0.01;
	opt.load.bytes = 0;
	opt.load.runtime_ms = 20;
	opt.load.ramp_ms = 10;
	opt.depth.count = opt.rounds = 1;
	cr_assert_eq(matrix_new(&matrix, &opt, disk, DISKS, &why), 0, "%s", why.text);
	cr_assert_eq(matrix_loads(matrix), DISKS + 1);
	matrix_run(matrix, loop);
	cr_assert_eq(matrix_failed(matrix), DISKS);
	cr_assert_eq(matrix_loads(matrix), 0);
	for (unsigned i = 0; i < DISKS; i++) {
		cr_assert_eq(disk[i].why.err, ETIMEDOUT);
		cr_assert(strstr(disk[i].why.text, "no request started in 0.02 s"));
		cr_assert_str_eq(disk[i].why.object, disk[i].uri);
	}
}

/* Set the rounds of a row of the first cell. */
static void set_row(unsigned row, const double *iops, unsigned rounds)
{
	matrix_row(matrix, 0, row)->loads = rounds;
	for (unsigned i = 0; i < rounds; i++)
		matrix_row(matrix, 0, row)->figure[MATRIX_IOPS][i] = iops[i];
}

static char *report_text(void)
{
	struct out out;
	char *text;
	size_t len;

	out_init(&out, "test", false);
	out.to = open_memstream(&text, &len);
	matrix_report_text(&out, matrix);
	fclose(out.to);
	return text;
}

Test(matrix, noise_and_missing_rounds_are_reported, .init = begin, .fini = end)
{
	static const double alike[] = { 100, 101, 99, 100, 100 },
			    apart[] = { 96, 104, 100, 99, 100 };
	char *text;

	opt.depth.count = 1;
	cr_assert_eq(matrix_new(&matrix, &opt, disk, DISKS, &why), 0, "%s", why.text);
	cr_assert_eq(matrix_coverage(matrix), 0);
	matrix->cell[0].rounds = 5;
	for (unsigned i = 0; i < DISKS; i++)
		set_row(i, (const double[]){ 100, 100, 100, 100, 100 }, 5);
	set_row(DISKS, alike, 5);
	text = report_text();
	cr_assert_not(strstr(text, "not quiet"), "%s", text);
	cr_assert(strstr(text, "no difference"), "%s", text);
	cr_assert_not(strstr(text, "of 5 rounds"), "%s", text);
	free(text);

	memset(matrix_row(matrix, 0, 1)->figure, 0, sizeof(matrix_row(matrix, 0, 1)->figure));
	set_row(1, alike, 2);
	set_row(DISKS, apart, 5);
	text = report_text();
	cr_assert(strstr(text, "not quiet: a differs from itself, 0.96 to 1.04"), "%s", text);
	cr_assert(strstr(text, "! b: 2 of 5 rounds"), "%s", text);
	cr_assert(strstr(text, "undecided"), "%s", text);
	cr_assert_float_eq(matrix_coverage(matrix), 0.9375, 1e-9, "the row of two rounds counts");
	free(text);
}

Test(matrix, impossible_cell_is_refused, .init = begin, .fini = end)
{
	opt.bs = (struct matrix_list){ { 4096, 1000 }, 2 };
	cr_assert_eq(matrix_new(&matrix, &opt, disk, DISKS, &why), -EINVAL);
	cr_assert_null(matrix);
	cr_assert_eq(why.code, DIAG_USAGE);
	cr_assert(strstr(why.text, "--bs"));
	cr_assert_eq(fake[0]->submitted, 0);

	opt.bs = (struct matrix_list){ .count = 16 };
	opt.depth.count = opt.reads.count = 16;
	why = (struct diag){ 0 };
	cr_assert_eq(matrix_new(&matrix, &opt, disk, DISKS, &why), -E2BIG);
	cr_assert_eq(why.code, DIAG_USAGE);
}

Test(matrix, lists)
{
	struct matrix_list list;

	cr_assert_eq(matrix_list_read(&list, "4K,1M,512", "--bs", true, 1, UINT32_MAX, &why), 0);
	cr_assert_eq(list.count, 3);
	cr_assert_eq(list.value[1], 1 << 20);
	cr_assert_eq(matrix_list_read(&list, "0", "--x", false, 0, 100, &why), 0);
	cr_assert_eq(list.count, 1);

	static const struct {
		const char *text;
		int err;
	} wrong[] = { { "", EINVAL }, { "4,", EINVAL }, { ",4", EINVAL }, { "4,x", EINVAL },
		{ "4,4", EINVAL }, { "1K", EINVAL }, { "4,101", ERANGE }, { "0", ERANGE },
		{ "99999999999999999999", ERANGE },
		{ "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", E2BIG } };

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		why = (struct diag){ 0 };
		cr_assert_eq(
			matrix_list_read(&list, wrong[i].text, "--iodepth", false, 1, 100, &why),
			-wrong[i].err, "%s", wrong[i].text);
		cr_assert_eq(why.code, DIAG_USAGE);
		cr_assert(strstr(why.text, "--iodepth"), "%s", why.text);
	}
}
