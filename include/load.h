/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load and what it takes: on a disk, on a TCP socket alone, on an RDMA connection alone. For the
 * last two the other side is load_listen(). Figures only; what they look like is the applet's. */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "loop.h"
#include "out.h"
#include "stats.h"
#include "uri.h"

#define LOAD_PORT      18516
#define LOAD_PING_PORT 7174 /* rping's */

enum load_kind { LOAD_READ, LOAD_WRITE, LOAD_KINDS };

struct load_progress {
	uint64_t ios[LOAD_KINDS]; /* so far; those of the ramp not counted once it is over */
	double iops;              /* of late */
	double seconds, of;       /* since the ramp, and planned; of 0 = not known */
	bool ramp, verifying;
};

struct load_options {
	uint8_t read_percent; /* 100 = only reads, 0 = only writes */
	/* random: each pass over the part visits every block once, in an order of its own for each
	 * job and pass. verify: every block written holds what it should when it is read, and all
	 * are read in the end. */
	bool random, verify;
	uint32_t bs, depth, jobs;
	uint64_t offset, size; /* the part of the disk that is used; size 0 = up to its end */
	uint64_t bytes;        /* each job ends after so many; 0 = without end */
	uint32_t runtime_ms, ramp_ms; /* 0 = without end; before it, not counted */
	uint32_t drain_ms;   /* at the end, give up requests after this time without an answer */
	uint32_t timeout_ms; /* to connect (a socket alone); 0 = none */
	volatile int *stop;  /* set by a signal: ends with the results so far */
	void (*progress)(const struct load_progress *, void *arg); /* about ten times a second */
	void *arg;
};

struct load_samples { /* requests per second, each over half a second */
	double min, max, sum, squares;
	unsigned count;
};

struct load_figures {
	struct stats latency; /* submit to done, ns; of unanswered requests, age when given up */
	struct load_samples iops;
	uint64_t requests, bytes; /* answered */
};

struct load_result {
	struct load_figures kind[LOAD_KINDS];
	/* From the end of the ramp to the last answer; where some never came, to the end of the
	 * runtime or until given up. */
	double seconds;
	double user, system; /* CPU seconds of this process meanwhile */
	uint64_t switches, major_faults, minor_faults;
	/* share of a CPU that the busiest job's thread had and did not spend waiting */
	double busiest;
	/* shares: of the jobs' time in which their threads waited for a CPU, of the machine's CPUs
	 * that its hypervisor took; negative = unknown */
	double waiting, stolen;
	uint64_t range;        /* bytes of the disk that were used */
	uint64_t verified;     /* bytes of it that were written, and read again in the end */
	uint64_t mapped, data; /* bytes of it that IO_MAP described before the load; not holes */
	uint32_t unanswered;   /* requests that were given up */
	bool stopped;
};

#define LOAD_JOBS_MAX  256
#define LOAD_DEPTH_MAX 1024 /* of one job */

/* Jobs run on threads of their own with a lane each. Each goes through the whole part; with verify
 * each has a share of it. The first request that fails ends the load. It also fails for requests
 * that were never answered, with errno and code of disk->why, or ETIMEDOUT where that is unset. The
 * result is filled in any case. The loop is the disk's own. */
int load_disk(struct loop *, struct bdev *, const struct load_options *, struct load_result *,
	struct diag *);
/* Whether this disk allows these options. DIAG_USAGE names the wrong one. */
int load_disk_check(const struct bdev *, const struct load_options *, struct diag *);

/* The same on a socket alone: 64 bytes each way to the server of load_listen(), which answers each
 * with `bs` bytes; what is due leaves in one send. Only reads; no offset, size or verify. A job has
 * a connection; with poll_us it spins on its socket. */
int load_tcp(struct loop *, const struct addr *, const struct load_options *, struct load_result *,
	struct diag *);

/* An RDMA connection alone. Latency: SEND is half the time until the like SEND has come back; WRITE
 * the same with a small SEND behind each WRITE that tells of it; READ is from post to data in
 * place. PING is as rping does it, with its server or ours: until data that the server has READ and
 * WRITTEN back is there again and was compared. */
enum load_way { LOAD_AUTO, LOAD_VERBS, LOAD_IWARP }; /* as enum ep_backend */
/* as enum bench_op, and rping */
enum load_op { LOAD_OP_SEND, LOAD_OP_WRITE, LOAD_OP_READ, LOAD_OP_PING };
struct load_rdma {
	struct addr dst, src;
	const char *dev; /* RDMA device name, NULL = by route */
	enum load_way way;
	bool no_crc, bandwidth; /* bandwidth: not of PING */
	enum load_op op;
	/* depth: in flight at once, for bandwidth; less where device or peer allow less */
	uint32_t size, depth;
	uint64_t iterations; /* 0 = without end */
	/* whichever end comes first; timeout_ms: to connect, 0 = none */
	uint32_t runtime_ms, timeout_ms;
	volatile int *stop;
};
struct load_rdma_result {
	struct stats latency; /* ns */
	uint64_t iterations;
	double seconds, peak; /* peak: most bytes per second over some hundred messages */
	uint32_t depth;
	const char *backend; /* "verbs", "iwarp" */
	char way[160];       /* for people */
};
int load_rdma(struct loop *, const struct load_rdma *, struct load_rdma_result *, struct diag *);

/* The other side of both, for as many clients as come. One TCP port serves sockets and software
 * iWARP together. */
struct load_listen {
	struct addr at;
	bool tcp, iwarp, verbs; /* verbs beside another: where there is an RDMA device */
	bool no_crc;
	bool ping; /* RDMA clients are rping's */
	/* connections are dealt to them; at least one; the first may be the caller's */
	struct loop *const *loops;
	unsigned nloops;
};
struct load_server;
/* An address or a device that is not there yet is waited for, at most timeout_ms (0 = as long as it
 * takes). */
int load_listen(struct load_server **, struct loop *, const struct load_listen *,
	uint32_t timeout_ms, struct diag *);
const struct addr *load_server_addr(const struct load_server *);
bool load_server_verbs(const struct load_server *); /* an RDMA device listens, too */
void load_server_stop(struct load_server *); /* ends all connections; runs the loop meanwhile */

/* The figures of a load as text, as JSON, and as fio's JSON, and what makes them unreliable. */

#define LOAD_WARNINGS 10

struct load_report {
	const char *target, *rw;   /* what was measured */
	const char *name;          /* of fio's job */
	const struct addr *socket; /* of a TCP socket alone, else NULL */
	const struct bdev *disk;   /* or NULL */
	struct load_options load;
	struct load_result result;
	bool timed_out, verbose;
	bool memory; /* a disk without storage */
	int error;   /* errno, when it failed */
	struct {
		const char *code;
		char text[160];
	} warning[LOAD_WARNINGS];
	unsigned warnings;
};

/* Collect the warnings. */
void load_report_judge(struct load_report *);
void load_report_text(struct out *, const struct load_report *);
void load_report_json(struct out *, const struct load_report *);
void load_report_fio(struct out *, const struct load_report *);

/* A row of RDMA figures: text as perftest prints it, under a heading, or a JSON object. */
extern const char *const load_op_name[]; /* enum load_op */
extern const char *const load_test_name[2];
void load_report_rdma(
	struct out *, const struct load_rdma *, const struct load_rdma_result *, bool heading);
