/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A matrix of loads: each cell is a block size, a queue depth and a share of reads, and is measured
 * on several disks in interleaved rounds, so that whatever disturbs the machine disturbs all of
 * them. Calls block and run the caller's loop. */
#pragma once
#include "load.h"
#include <sys/types.h>

#define MATRIX_DISKS   17
#define MATRIX_LIST    16 /* values of a list */
#define MATRIX_CELLS   256
#define MATRIX_ROUNDS  99
#define MATRIX_VERDICT 5 /* rounds that a verdict needs */

struct matrix_list {
	uint32_t value[MATRIX_LIST];
	unsigned count;
};
/* Parse "4K,64K" (sizes) or "1,8,32": each value once, within the range. `option` is named in
 * failures. */
int matrix_list_read(struct matrix_list *, const char *text, const char *option, bool sizes,
	uint32_t least, uint32_t most, struct diag *);

struct matrix_progress {
	unsigned round, rounds; /* from 1 */
	const struct matrix_cell *cell;
	const struct matrix_disk *disk;
	double iops;
	double left; /* seconds until the end, as the loads so far took; 0: unknown */
};

struct matrix_options {
	struct matrix_list bs, depth, reads; /* reads: percent */
	const char *rw;                      /* access pattern, for reports */
	unsigned rounds;                     /* 1 to MATRIX_ROUNDS */
	/* Of each load; bs, depth and read_percent come from the lists. size 0: as much as every
	 * disk has; stop must be set. */
	struct load_options load;
	void (*progress)(const struct matrix_progress *, void *arg); /* ten times a second */
	void *arg;
};

struct matrix_disk {
	const char *name;  /* short and unique, for reports */
	const char *uri;   /* without secrets */
	struct bdev *bdev; /* NULL: could not be opened */
	/* instead of bdev, load_listen()'s: what a TCP socket or RDMA without a protocol can do;
	 * reads only, RDMA with one job only */
	const struct addr *socket;
	const struct load_rdma *rdma;
	pid_t server; /* process whose CPU time is the server's; 0: unknown */
	bool memory;  /* without storage */
	struct diag
		why; /* why it was not opened, or the failure that ended its rows; err 0: none */
};

struct matrix_cell {
	uint32_t bs, depth;
	uint8_t read_percent;
	unsigned rounds; /* in which every disk was measured */
};

enum matrix_figure {
	MATRIX_IOPS,
	MATRIX_P50,        /* ns, as struct load_figures.latency, of all requests of the round */
	MATRIX_P99,        /* the same; 0: too few requests */
	MATRIX_CPU,        /* ns of this process per request */
	MATRIX_SERVER_CPU, /* ns of the server's process per request; 0: unknown */
	MATRIX_FIGURES
};

struct matrix_row { /* a disk in a cell */
	/* by round; 0: it failed */
	double figure[MATRIX_FIGURES][MATRIX_ROUNDS];
	struct load_result sum; /* counters and histograms of all rounds; shares are their means */
	unsigned loads;         /* in the sum */
	unsigned known[3];      /* private: loads in the means of shares */
};

struct matrix {
	struct matrix_options opt;
	struct matrix_disk *disk; /* the caller's */
	unsigned disks, cells;
	struct matrix_cell *cell;
	/* disks + 1 rows per cell; the last one is the first disk again, whose difference to its
	 * other row is the noise of the machine */
	struct matrix_row *row;
	/* private: of the disks in the current cell and round */
	struct load_result *result;
	uint64_t server_ns[MATRIX_DISKS + 1];
	bool stopped;
};

/* Plan a matrix. At least one disk is open. Check all cells against those that are.
 * DIAG_USAGE names an impossible one. Options and disks must outlive the matrix. */
int matrix_new(struct matrix **, const struct matrix_options *, struct matrix_disk *,
	unsigned disks, struct diag *);
void matrix_free(struct matrix *);
/* Return how many loads matrix_run() makes if no disk fails from now on. */
unsigned matrix_loads(const struct matrix *);
/* Measure. A disk that fails gets `why` and is left out from then on; the load of a cell that *stop
 * interrupts is left out, too. At the end a disk that has a row without any figure gets `why`. */
void matrix_run(struct matrix *, struct loop *);
/* Return a row; disk == matrix->disks: the first disk again. */
struct matrix_row *matrix_row(const struct matrix *, unsigned cell, unsigned disk);
/* Return the number of disks that failed or could not be opened. */
unsigned matrix_failed(const struct matrix *);

/* Reports. A row's figures are medians of rounds with their bounds; percentiles are those of all
 * requests of all rounds. */
void matrix_report_text(struct out *, const struct matrix *);
void matrix_report_json(struct out *, const struct matrix *);
/* Check that a file is a table of matrix_report_csv(), empty, or missing. DIAG_USAGE: it is not. */
int matrix_check_csv(const char *path, struct diag *);
/* Append a line per load, after a heading if the file is empty. */
int matrix_report_csv(const char *path, const struct matrix *, struct diag *);
/* Draw a picture per block size and share of reads. If there are several, their names have the
 * combination in them, "path-64K-r70.svg". Calls wrote() for each. */
int matrix_report_svg(const char *path, const struct matrix *,
	void (*wrote)(const char *path, void *arg), void *arg, struct diag *);
/* Set the text to the name of the picture with the cell's block size and share of reads: of the
 * options only these lists count. */
void matrix_svg_path(const struct matrix_options *, const struct matrix_cell *, const char *path,
	char *text, size_t len);

/* An earlier measurement, from the JSON document of matrix_report_json(). */
struct matrix_baseline;
/* DIAG_USAGE: not such a document, without a measurement, or measured with another access pattern,
 * offset or number of jobs. The path must outlive the baseline, which is to be freed also after a
 * failure. */
int matrix_baseline_read(struct matrix_baseline **, const char *path, const char *rw,
	const struct load_options *, struct diag *);
/* Check that it is about the same part of the disks. DIAG_USAGE: it is not. */
int matrix_baseline_check(const struct matrix_baseline *, const struct matrix *, struct diag *);
void matrix_baseline_free(struct matrix_baseline *);
/* Print, for each row that both have, how its IOPS changed and whether by more than chance (a
 * Mann-Whitney test of the rounds, corrected for the number of rows). Returns by how many percent
 * the row with the greatest loss beyond chance is slower; 0: none. *compared: every row has a
 * verdict. */
double matrix_report_baseline(
	struct out *, const struct matrix *, const struct matrix_baseline *, bool *compared);
