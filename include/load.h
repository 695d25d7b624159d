/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load generators: for a disk, a TCP socket without a protocol, and an RDMA connection without a
 * protocol. The peer of the latter two is load_listen(). Calls block and run the caller's loop. */
#pragma once
#include "bdev.h"
#include "out.h"

#define LOAD_PORT      18516
#define LOAD_PING_PORT 7174 /* rping's */

enum load_kind { LOAD_READ, LOAD_WRITE, LOAD_FLUSH, LOAD_KINDS };
enum load_change { LOAD_DATA, LOAD_TRIM, LOAD_ZERO }; /* what LOAD_WRITE does */

struct load_progress {
	uint64_t ios[LOAD_KINDS]; /* so far; without those of the ramp once it has ended */
	double iops;              /* since the last report, without flushes */
	double seconds, of;       /* since the ramp; planned, 0: unknown */
	bool ramp, verifying;
};

#define LOAD_SPLITS 16
struct load_options {
	uint8_t read_percent; /* 100: only reads, 0: only writes */
	enum load_change change;
	uint32_t flush_every; /* writes of a job; 0: no flush. Disks only */
	bool random; /* each pass visits every block once, in an order of its own per job */
	bool verify; /* check the data of written blocks when they are read, and all at the end */
	/* With verify, files or NULL. At the end, even of a load that failed, write down which
	 * blocks were written and answered; submit no requests but to check those of such a file.
	 */
	const char *verify_state, *verify_only;
	/* With verify_only: bytes and block size of the disk that the file is about. */
	uint64_t state_disk_size;
	uint32_t state_disk_block;
	uint32_t bs, depth, jobs; /* bytes per request; requests in flight per job; threads */
	/* Shares of requests with fewer bytes, in percent, 100 in sum; each begins at a multiple of
	 * bs. Disks only, without verify. */
	struct load_split {
		uint32_t bs, percent;
	} split[LOAD_SPLITS];
	unsigned splits; /* 0: all have bs bytes */
	/* Requests to start per second and job, whether earlier ones are answered or not, as far as
	 * `depth` allows; 0: whenever one is answered. Disks only, without verify. */
	double rate;
	bool poisson; /* with a rate: as many independent clients start them; else at equal times */
	uint64_t offset, size;        /* the part of the disk to use, bytes; size 0: to its end */
	uint64_t bytes;               /* limit per job; 0: none */
	uint32_t runtime_ms, ramp_ms; /* 0: no limit; time before it that does not count */
	uint32_t drain_ms;   /* at the end, give up requests after this time without an answer */
	uint32_t timeout_ms; /* to connect (TCP socket); 0: none */
	/* NULL, or set by a signal or, atomically, by any thread: end with the results so far */
	volatile int *stop;
	struct load_log *log; /* of a disk's requests; NULL: none */
	void (*progress)(const struct load_progress *, void *arg); /* ten times a second */
	void *arg;
};

/* A histogram of times with 64 linear steps per power of two, so results are less than 1 % off. */
#define STATS_BITS  6
#define STATS_STEPS (1u << STATS_BITS)
/* up to 2^40 ns, 18 minutes; longer times count in the last bucket */
#define STATS_BUCKETS (STATS_STEPS * 35)
struct stats {
	uint64_t total, min, max; /* exact; min 0 if empty */
	double sum, squares;
	uint64_t count[STATS_BUCKETS];
};

struct load_samples { /* requests per second, each over half a second */
	double min, max, sum, squares;
	unsigned count;
};

struct load_figures {
	/* ns from submission, with a rate from when it should have been, to the answer; of
	 * unanswered requests: age at the end */
	struct stats latency;
	struct stats service; /* with a rate: ns from submission to the answer */
	struct load_samples iops;
	uint64_t requests, bytes; /* answered */
};

struct load_result {
	struct load_figures kind[LOAD_KINDS];
	/* from the end of the ramp to the last answer; with unanswered requests, to the end of the
	 * runtime or until they were given up */
	double seconds;
	double user, system; /* CPU seconds of this process in that time */
	uint64_t switches, major_faults, minor_faults;
	double busiest; /* CPU share of the busiest job's thread, without spinning */
	/* shares, negative: unknown. Of the jobs' time, waiting for a CPU; of the CPUs' time, used
	 * by the hypervisor for others */
	double run_delay, steal;
	uint64_t range;        /* bytes of the disk that were used */
	uint64_t verified;     /* bytes of it that were written, then read and checked at the end */
	uint64_t wrong_blocks; /* found by verify; with verify_only all, else the first ones */
	uint64_t mapped, data; /* bytes of it that IO_MAP described before the load; not holes */
	uint32_t unanswered;   /* requests given up */
	/* with a rate: requests that had to wait for another's answer, and that never started */
	uint64_t delayed, unstarted;
	bool stopped;
};

#define LOAD_JOBS_MAX  256
#define LOAD_DEPTH_MAX 1024 /* per job */

/* Load a disk; the loop is the disk's own. Each job has a thread and a lane, and goes through the
 * whole part; with verify, through a share of it. The first request that fails ends the load.
 * Unanswered requests fail it with errno and code of disk->why, or -ETIMEDOUT if that is unset. The
 * result is set unless options are refused, a verify_only file included, or memory is short. */
int load_disk(struct loop *, struct bdev *, const struct load_options *, struct load_result *,
	struct diag *);
/* Check the options against the disk. DIAG_USAGE names the invalid one. */
int load_disk_check(const struct bdev *, const struct load_options *, struct diag *);

/* A log of requests, kept in memory until the load has ended. */
#define LOAD_LOG_ENTRIES (16u << 20) /* most of a job */
/* Call load_log_free() also on failure. */
int load_log_new(struct load_log **, unsigned jobs, struct diag *);
void load_log_free(struct load_log *);              /* may be NULL */
uint64_t load_log_dropped(const struct load_log *); /* requests beyond LOAD_LOG_ENTRIES */
/* Write it in order of time, as fio writes logs of latencies with offsets: "MS, NS, 0|1|2, BYTES,
 * OFFSET, 0" for an answered read, write, or trim. */
int load_log_write(const struct load_log *, const char *path, struct diag *);

/* Load a TCP socket: 64-byte requests to load_listen(), answered with `bs` bytes each. Only reads;
 * no offset, size or verify. Each job has a connection, and with poll_us spins on its socket. */
int load_tcp(struct loop *, const struct addr *, const struct load_options *, struct load_result *,
	struct diag *);

/* Load an RDMA connection. Latency: half the round trip of a SEND; WRITE is followed by a small
 * SEND that reports it; READ is measured from post until the data is in place. PING is rping's
 * test, with its server or ours: the server READs the data, WRITEs it back, and it is compared. */
enum load_backend { LOAD_AUTO, LOAD_VERBS, LOAD_IWARP }; /* as enum ep_backend */
/* as enum bench_op; PING: rping's */
enum load_op { LOAD_OP_SEND, LOAD_OP_WRITE, LOAD_OP_READ, LOAD_OP_PING };
struct load_rdma {
	struct addr dst, src;
	const char *dev; /* RDMA device name; NULL: by route */
	/* options of size and depth, for errors; NULL: --bs, --iodepth */
	const char *size_option, *depth_option;
	enum load_backend backend;
	bool no_crc, bandwidth; /* bandwidth: not with PING */
	bool timed;             /* READ: latencies of bandwidth, too */
	bool both;              /* bandwidth: the server does the same at once */
	enum load_op op;
	/* bytes; in flight on each connection for bandwidth, less if device or peer limit it */
	uint32_t size, depth;
	uint32_t qps;        /* connections at once, 0: one; several with bandwidth only */
	uint32_t mtu;        /* fail unless the path has this MTU, bytes; 0: any */
	uint64_t iterations; /* of each connection; 0: no limit */
	uint32_t runtime_ms; /* 0: no limit */
	uint32_t timeout_ms; /* to connect; 0: none */
	volatile int *stop;  /* may be NULL */
};
#define LOAD_QPS_MAX 128
struct load_rdma_result {
	struct stats latency; /* ns */
	uint64_t iterations;  /* of all connections */
	uint64_t reverse;     /* with `both`: messages of the server in the same time */
	double seconds, peak; /* peak: most bytes per second over some hundred messages */
	double user, system;  /* CPU seconds of this process in that time */
	uint32_t depth;       /* of each connection */
	const char *backend;  /* "verbs", "iwarp" */
	char route[160];      /* as of struct ep */
};
int load_rdma(struct loop *, const struct load_rdma *, struct load_rdma_result *, struct diag *);
/* Check its size, depth and qps, without connecting; load_rdma() does so, too. DIAG_USAGE: out of
 * range, or more than the server has memory for. */
int load_rdma_check(const struct load_rdma *, struct diag *);
/* Load it with READs, as a disk: bs, depth, runtime_ms and stop of the options, one job. dst, dev,
 * backend and no_crc are those of `to`. */
int load_rdma_reads(struct loop *, const struct load_rdma *to, const struct load_options *,
	struct load_result *, struct diag *);

/* A series of RDMA measurements: operations, tests and sizes, one row each. */
#define LOAD_SIZES 32
struct load_rdma_plan {
	/* dst, dev, backend, no_crc, qps, both, mtu, timeout_ms, stop: of all rows */
	struct load_rdma common;
	const char *op, *test;           /* only this one, by its name below; NULL: all but PING */
	bool ping;                       /* only PING */
	uint32_t depth;                  /* for bandwidth; 0: 128 */
	uint32_t iterations, runtime_ms; /* limits of a row; both 0: a default */
	uint32_t size[LOAD_SIZES];       /* bytes */
	unsigned sizes;
};
/* Set the sizes from "64,4K"; NULL: the default. Set plan->ping before. */
int load_sizes_read(struct load_rdma_plan *, const char *list, struct diag *);
/* Set the sizes of perftest's -a: all powers of two from 2 bytes to 8 MiB. */
void load_sizes_all(struct load_rdma_plan *);
/* Call row() for each result; first: of an operation and test. Checks all rows before it connects.
 * -EINTR: *stop was set. */
int load_rdma_run(struct loop *, const struct load_rdma_plan *,
	void (*row)(const struct load_rdma *, const struct load_rdma_result *, bool first, void *),
	void *arg, struct diag *);

/* Input of bench. */
/* Set split, splits and bs from "4K/60:64K/40"; shares that are left out are equal parts of the
 * rest. */
int load_split_read(struct load_options *, const char *text, struct diag *);
/* Set what a file of verify_state says for verify_only: verify, bs, offset, size, disk; only reads.
 */
int load_state_options(struct load_options *, const char *path, struct diag *);
double load_mean_size(const struct load_options *);                      /* bytes per request */
const char *load_kind_text(const struct load_options *, enum load_kind); /* "read", "trim" */
/* Parse "HOST[:PORT][?rdma=verbs|iwarp|auto][&crc=0]"; listen: without HOST all addresses. May
 * resolve a name. */
int load_addr_read(const char *text, uint16_t port, bool listen, struct addr *, enum load_backend *,
	bool *no_crc, struct diag *);
/* Return whether the first line of the file that is neither blank nor a comment is "[section]". */
bool load_is_fio_job(const char *path);

/* The server for load_tcp() and load_rdma(). One TCP port serves sockets and software iWARP. */
struct load_listen {
	struct addr at;
	bool tcp, iwarp, verbs; /* verbs with another: only if there is an RDMA device */
	bool no_crc;
	bool ping; /* RDMA clients are rping's */
	/* for the connections, in turn; at least one; the first may be the caller's */
	struct loop *const *loops;
	unsigned nloops;
};
struct load_server;
/* Start the server. Waits at most timeout_ms (0: no limit) for an address or device that does not
 * exist yet. */
int load_listen(struct load_server **, struct loop *, const struct load_listen *,
	uint32_t timeout_ms, struct diag *);
const struct addr *load_server_addr(const struct load_server *);
bool load_server_verbs(const struct load_server *); /* listens on an RDMA device, too */
/* End all connections and free the server. Runs the loop until then. */
void load_server_stop(struct load_server *);

/* Reports: the figures as text, JSON and fio's JSON, with warnings about unreliable ones. */

#define LOAD_WARNINGS 11

struct load_report {
	const char *target, *rw;
	const char *bssplit;       /* as typed, or NULL */
	const char *name;          /* of fio's job */
	const struct addr *socket; /* of load_tcp(), or NULL */
	const struct bdev *disk;   /* of load_disk(), or NULL */
	struct load_options load;
	struct load_result result;
	bool timed_out, verbose;
	bool memory; /* a disk without storage */
	int error;   /* errno of the load */
	struct load_warning {
		const char *code;
		char text[160];
	} warning[LOAD_WARNINGS];
	unsigned warnings;
};

/* Add the warnings. */
void load_report_check(struct load_report *);
void load_report_text(struct out *, const struct load_report *);
void load_report_json(struct out *, const struct load_report *);
void load_report_fio(struct out *, const struct load_report *);
/* Write the latencies of all requests as HdrHistogram's percentile table, in microseconds. */
int load_report_hgrm(const char *path, const struct load_result *, struct diag *);

/* Emit RDMA figures: a row as perftest prints it, after a heading, or a JSON object. gbits: the
 * text has 10^9 bits per second instead of 2^20 bytes. */
extern const char *const load_op_name[]; /* enum load_op */
extern const char *const load_test_name[2];
void load_report_rdma(struct out *, const struct load_rdma *, const struct load_rdma_result *,
	bool heading, bool gbits);
