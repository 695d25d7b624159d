/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Plan a matrix of loads and run it: in each round every cell, in each cell every disk, in a random
 * order. */
#include "matrix.h"
#include "stats.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct run {
	struct matrix *matrix;
	struct loop *loop;
	uint64_t began;       /* loop_clock() */
	unsigned round, done; /* loads */
	unsigned seed, last;  /* of the orders; disk of the last load, or disks */
	bool server_known;    /* server_ns is set */
	uint64_t server_ns;   /* CPU time of the server when the load began to count */
	struct matrix_progress progress;
};

static int read_value(const char *word, const char *option, bool sizes, uint32_t least,
	uint32_t most, uint32_t *read, struct diag *diag)
{
	struct diag why = { 0 };
	uint64_t value = 0;
	int err = sizes ? parse_size(word, &value, &why)
			: parse_u64(word, 0, UINT64_MAX, &value, &why);

	if (err == -EINVAL)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s: %s", option, why.text);
	if (err || value < least || value > most)
		return diag_set(
			diag, DIAG_USAGE, ERANGE, "%s: must be %u to %u", option, least, most);
	*read = (uint32_t)value;
	return 0;
}

int matrix_list_read(struct matrix_list *list, const char *p, const char *option, bool sizes,
	uint32_t least, uint32_t most, struct diag *diag)
{
	*list = (struct matrix_list){ 0 };
	do {
		size_t len = strcspn(p, ",");
		uint32_t value;
		char word[32];
		int err;

		snprintf(word, sizeof(word), "%.*s", (int)len, p);
		err = read_value(word, option, sizes, least, most, &value, diag);
		if (err)
			return err;
		for (unsigned i = 0; i < list->count; i++)
			if (list->value[i] == value)
				return diag_set(diag, DIAG_USAGE, EINVAL, "%s: %s is given twice",
					option, word);
		if (list->count == MATRIX_LIST)
			return diag_set(diag, DIAG_USAGE, E2BIG, "%s: at most %d values", option,
				MATRIX_LIST);
		list->value[list->count++] = value;
		p += len;
	} while (*p++);
	return 0;
}

struct matrix_row *matrix_row(const struct matrix *matrix, unsigned cell, unsigned disk)
{
	return &matrix->row[cell * (matrix->disks + 1) + disk];
}

static bool is_usable(const struct matrix_disk *disk)
{
	return (disk->bdev || disk->socket || disk->rdma) && !disk->why.err;
}

unsigned matrix_failed(const struct matrix *matrix)
{
	unsigned count = 0;

	for (unsigned i = 0; i < matrix->disks; i++)
		count += !is_usable(&matrix->disk[i]);
	return count;
}

static bool has_load(const struct matrix *matrix, const struct matrix_cell *cell, unsigned disk)
{
	const struct matrix_disk *of = &matrix->disk[disk % matrix->disks];
	const struct load_options *load = &matrix->opt.load;

	return is_usable(of) && (of->bdev || (cell->read_percent == 100 && !(load->rate > 0))) &&
	       (!of->rdma || load->jobs == 1);
}

unsigned matrix_loads(const struct matrix *matrix)
{
	unsigned loads = 0;

	for (unsigned cell = 0; cell < matrix->cells; cell++)
		for (unsigned disk = 0; disk <= matrix->disks; disk++)
			loads += has_load(matrix, &matrix->cell[cell], disk);
	return loads * matrix->opt.rounds;
}

static struct load_options load_of(const struct matrix *matrix, const struct matrix_cell *cell)
{
	struct load_options load = matrix->opt.load;

	load.bs = cell->bs;
	load.depth = cell->depth;
	load.read_percent = cell->read_percent;
	return load;
}

static void plan_cells(struct matrix *matrix)
{
	const struct matrix_options *opt = &matrix->opt;
	struct matrix_cell *cell = matrix->cell;

	for (unsigned bs = 0; bs < opt->bs.count; bs++)
		for (unsigned mix = 0; mix < opt->reads.count; mix++)
			for (unsigned depth = 0; depth < opt->depth.count; depth++)
				*cell++ = (struct matrix_cell){ .bs = opt->bs.value[bs],
					.depth = opt->depth.value[depth],
					.read_percent = (uint8_t)opt->reads.value[mix] };
}

static int check_size(const struct matrix *matrix, const struct bdev *bdev, struct diag *diag)
{
	const struct load_options *load = &matrix->opt.load;

	for (unsigned cell = 0; cell < matrix->cells; cell++)
		if (!load->size && bdev->lim.size - load->offset < matrix->cell[cell].bs) {
			diag_set(diag, DIAG_USAGE, ENOSPC,
				"has %" PRIu64 " bytes%s, less than --bs %u",
				bdev->lim.size - load->offset,
				load->offset ? " behind --offset" : "", matrix->cell[cell].bs);
			diag_ctx(diag, "%s", bdev->uri);
			return -ENOSPC;
		}
	return 0;
}

/* The same bytes of each disk: as many as the smallest one has. */
static int plan_size(struct matrix *matrix, struct diag *diag)
{
	struct load_options *load = &matrix->opt.load;
	uint64_t least = UINT64_MAX;
	int err = 0;

	for (unsigned i = 0; !err && i < matrix->disks; i++) {
		const struct bdev *bdev = matrix->disk[i].bdev;

		if (!bdev || bdev->lim.size <= load->offset)
			continue;
		err = check_size(matrix, bdev, diag);
		if (bdev->lim.size - load->offset < least)
			least = bdev->lim.size - load->offset;
	}
	if (!load->size && least != UINT64_MAX)
		load->size = least;
	return err;
}

static int check(const struct matrix *matrix, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; i < matrix->disks; i++)
		for (unsigned c = 0; !err && matrix->disk[i].bdev && c < matrix->cells; c++) {
			struct load_options load = load_of(matrix, &matrix->cell[c]);

			err = load_disk_check(matrix->disk[i].bdev, &load, diag);
		}
	return err;
}

int matrix_new(struct matrix **created, const struct matrix_options *opt, struct matrix_disk *disk,
	unsigned disks, struct diag *diag)
{
	unsigned cells = opt->bs.count * opt->depth.count * opt->reads.count;
	struct matrix *matrix;
	int err;

	*created = NULL;
	if (cells > MATRIX_CELLS)
		return diag_set(diag, DIAG_USAGE, E2BIG,
			"%u combinations of --bs, --iodepth and --rwmixread: at most %d", cells,
			MATRIX_CELLS);
	matrix = calloc(1, sizeof(*matrix));
	if (!matrix)
		return diag_sys(diag, ENOMEM, "matrix");
	*matrix = (struct matrix){ .opt = *opt, .disk = disk, .disks = disks, .cells = cells };
	matrix->cell = calloc(cells, sizeof(*matrix->cell));
	matrix->row = calloc((size_t)cells * (disks + 1), sizeof(*matrix->row));
	matrix->result = calloc(disks + 1, sizeof(*matrix->result));
	if (!matrix->cell || !matrix->row || !matrix->result) {
		err = diag_sys(diag, ENOMEM, "matrix");
	} else {
		plan_cells(matrix);
		err = plan_size(matrix, diag);
		if (!err)
			err = check(matrix, diag);
	}
	if (err)
		matrix_free(matrix);
	else
		*created = matrix;
	return err;
}

void matrix_free(struct matrix *matrix)
{
	if (!matrix)
		return;
	free(matrix->cell);
	free(matrix->row);
	free(matrix->result);
	free(matrix);
}

static bool read_server(const struct matrix_disk *disk, uint64_t *ns)
{
	struct timespec time;
	clockid_t clock;

	if (!disk->server || clock_getcpuclockid(disk->server, &clock) ||
		clock_gettime(clock, &time))
		return false;
	*ns = (uint64_t)time.tv_sec * SEC + (uint64_t)time.tv_nsec;
	return true;
}

static void show(const struct load_progress *load, void *arg)
{
	struct run *run = arg;
	const struct matrix *matrix = run->matrix;
	unsigned all = matrix_loads(matrix);
	double each = run->done ? (double)(loop_clock() - run->began) / 1e9 / run->done : 0;

	if (!load->ramp && !run->server_known)
		run->server_known = read_server(run->progress.disk, &run->server_ns);
	run->progress.iops = load->iops;
	run->progress.left = all > run->done ? each * (all - run->done) : 0;
	if (matrix->opt.progress)
		matrix->opt.progress(&run->progress, matrix->opt.arg);
}

/* disk == matrix->disks: the first one again. */
static void load_one(struct run *run, const struct matrix_cell *cell, unsigned disk)
{
	struct matrix *matrix = run->matrix;
	struct matrix_disk *of = &matrix->disk[disk % matrix->disks];
	struct load_options load = load_of(matrix, cell);
	struct load_result *result = &matrix->result[disk];
	struct diag why = { 0 };
	uint64_t ns = 0;
	int err;

	run->progress.disk = of;
	run->server_known = false;
	load.progress = show;
	load.arg = run;
	if (of->socket)
		load.size = load.offset = 0;
	if (of->rdma) /* shows no progress */
		run->server_known = read_server(of, &run->server_ns);
	err = of->rdma     ? load_rdma_reads(run->loop, of->rdma, &load, result, &why)
	      : of->socket ? load_tcp(run->loop, of->socket, &load, result, &why)
			   : load_disk(run->loop, of->bdev, &load, result, &why);
	run->last = disk % matrix->disks;
	matrix->server_ns[disk] =
		run->server_known && read_server(of, &ns) ? ns - run->server_ns : 0;
	if (err && !result->stopped) {
		diag_ctx(&why, "%s", of->uri);
		of->why = why;
	}
	run->done++;
	matrix->stopped |= result->stopped || (load.stop && *load.stop);
}

/* Set the mean of a share over the loads that know it. */
static void add_share(double *mean, double share, unsigned *known)
{
	if (share < 0)
		return;
	++*known;
	*mean = *known == 1 ? share : *mean + (share - *mean) / *known;
}

static void add_figures(struct load_figures *into, const struct load_figures *from)
{
	stats_merge(&into->latency, &from->latency);
	stats_merge(&into->service, &from->service);
	into->requests += from->requests;
	into->bytes += from->bytes;
}

static void add_result(struct matrix_row *row, const struct load_result *from)
{
	struct load_result *sum = &row->sum;

	for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++)
		add_figures(&sum->kind[kind], &from->kind[kind]);
	add_share(&sum->busiest, from->busiest, &row->known[0]);
	add_share(&sum->run_delay, from->run_delay, &row->known[1]);
	add_share(&sum->steal, from->steal, &row->known[2]);
	sum->seconds += from->seconds;
	sum->user += from->user;
	sum->system += from->system;
	sum->delayed += from->delayed;
	sum->unstarted += from->unstarted;
	sum->switches += from->switches;
	sum->major_faults += from->major_faults;
	sum->minor_faults += from->minor_faults;
	sum->range = from->range;
	if (from->mapped - from->data >= sum->mapped - sum->data) {
		sum->mapped = from->mapped;
		sum->data = from->data;
	}
	row->loads++;
}

static void add_round(struct matrix_row *row, unsigned round, const struct load_result *result,
	uint64_t server_ns)
{
	uint64_t requests = 0;
	struct stats all = { 0 };

	for (enum load_kind kind = LOAD_READ; kind <= LOAD_WRITE; kind++) {
		stats_merge(&all, &result->kind[kind].latency);
		requests += result->kind[kind].requests;
	}
	if (!row->loads)
		row->sum.run_delay = row->sum.steal = -1;
	if (!requests || result->seconds <= 0)
		return;
	row->figure[MATRIX_IOPS][round] = (double)requests / result->seconds;
	row->figure[MATRIX_P50][round] = (double)stats_percentile(&all, 50);
	if (stats_resolves(&all, 99))
		row->figure[MATRIX_P99][round] = (double)stats_percentile(&all, 99);
	row->figure[MATRIX_CPU][round] = (result->user + result->system) * 1e9 / (double)requests;
	row->figure[MATRIX_SERVER_CPU][round] = (double)server_ns / (double)requests;
	add_result(row, result);
}

static void shuffle(unsigned *order, unsigned count, unsigned *seed)
{
	for (unsigned left = count; left > 1; left--) {
		unsigned other = (unsigned)rand_r(seed) % left, swapped = order[left - 1];

		order[left - 1] = order[other];
		order[other] = swapped;
	}
}

/* Find loads of the same disk in succession, with more than three loads also after the last cell:
 * fewer have no order without any. */
static bool repeats_disk(const struct run *run, const unsigned *order, unsigned count)
{
	unsigned disks = run->matrix->disks, last = count > 3 ? run->last : disks;

	for (unsigned i = 0; i < count; i++) {
		if (order[i] % disks == last)
			return true;
		last = order[i] % disks;
	}
	return false;
}

/* What a load leaves behind, in caches and in its server, changes the next one: then it makes a
 * difference if a disk follows itself. */
static unsigned order_cell(struct run *run, const struct matrix_cell *cell, unsigned *order)
{
	const struct matrix *matrix = run->matrix;
	unsigned count = 0;

	for (unsigned disk = 0; disk <= matrix->disks; disk++)
		if (has_load(matrix, cell, disk))
			order[count++] = disk;
	do
		shuffle(order, count, &run->seed);
	while (count > 2 && repeats_disk(run, order, count));
	return count;
}

/* Measure all disks in a cell. Figures count only if all of them had their turn. */
static void run_cell(struct run *run, unsigned nth)
{
	struct matrix *matrix = run->matrix;
	struct matrix_cell *cell = &matrix->cell[nth];
	unsigned order[MATRIX_DISKS + 1], count = order_cell(run, cell, order);

	run->progress.cell = cell;
	for (unsigned i = 0; i < count && !matrix->stopped; i++)
		if (has_load(matrix, cell, order[i]))
			load_one(run, cell, order[i]);
	if (matrix->stopped)
		return;
	for (unsigned i = 0; i < count; i++)
		if (has_load(matrix, cell, order[i]))
			add_round(matrix_row(matrix, nth, order[i]), cell->rounds,
				&matrix->result[order[i]], matrix->server_ns[order[i]]);
	cell->rounds++;
}

/* A row without any figure is a failure of its disk. */
static void fail_empty(struct matrix *matrix)
{
	for (unsigned nth = 0; nth < matrix->cells; nth++)
		for (unsigned disk = 0; disk <= matrix->disks; disk++) {
			struct diag *why = &matrix->disk[disk % matrix->disks].why;

			if (!matrix->cell[nth].rounds || matrix_row(matrix, nth, disk)->loads ||
				!has_load(matrix, &matrix->cell[nth], disk))
				continue;
			diag_set(why, DIAG_TIMEOUT, ETIMEDOUT, "no request started in %.3g s",
				matrix->opt.load.runtime_ms / 1000.);
			diag_hint(why, "use a longer --runtime%s",
				matrix->opt.load.rate > 0 ? " or a higher rate" : "");
			diag_ctx(why, "%s", matrix->disk[disk % matrix->disks].uri);
		}
}

void matrix_run(struct matrix *matrix, struct loop *loop)
{
	struct run run = { .matrix = matrix,
		.loop = loop,
		.began = loop_clock(),
		.seed = (unsigned)loop_clock(),
		.last = matrix->disks,
		.progress.rounds = matrix->opt.rounds };

	for (; run.round < matrix->opt.rounds; run.round++) {
		run.progress.round = run.round + 1;
		for (unsigned cell = 0; cell < matrix->cells && !matrix->stopped; cell++)
			run_cell(&run, cell);
		if (matrix->stopped || matrix_failed(matrix) == matrix->disks)
			break;
	}
	fail_empty(matrix);
}
