/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The life of an applet that offers disks until it is stopped or its command ends: start, status
 * and clean stop. Its fronts offer the disks: the rows of include/fronts.h. */
#pragma once
#include "applet.h"
#include "bdev.h"
#include "kernel_serving.h"

#define DAEMON_QUEUES 64
#define DAEMON_FRONTS 8

struct daemon_options { /* a member of the applet's option struct */
	bool ro, daemon, force;
	uint32_t queues, poll_us, stop_timeout_ms, ready_fd, retry_ms;
	const char *pid_file, *on_loss, *log;
};
#define DAEMON_DEFAULTS                                                                            \
	{                                                                                          \
		.poll_us = UINT32_MAX, .ready_fd = UINT32_MAX, .stop_timeout_ms = 10000            \
	}
#define DAEMON_ROWS(type, member)                                                                  \
	{ "ro", 0, OPT_FLAG, offsetof(type, member.ro), NULL, "open the disks read-only" },        \
		{ "force", 0, OPT_FLAG, offsetof(type, member.force), NULL,                        \
			"write even to a disk that is mounted, claimed or open for writing "       \
			"elsewhere" },                                                             \
		{ "queues", 0, OPT_U32, offsetof(type, member.queues), "N",                        \
			"threads, each with a queue to every disk; default one per CPU, up to 4",  \
			1, DAEMON_QUEUES },                                                        \
		{ "poll-us", 0, OPT_U32, offsetof(type, member.poll_us), "N",                      \
			"busy-poll this long before sleeping; default depends on the CPUs", 0,     \
			1000000 },                                                                 \
		{ "on-loss", 0, OPT_TEXT, offsetof(type, member.on_loss), "POLICY",                \
			OPT_ON_LOSS_HELP },                                                        \
		OPT_RETRY_ROW(type, member.retry_ms),                                              \
		{ "daemon", 0, OPT_FLAG, offsetof(type, member.daemon), NULL,                      \
			"run in the background once ready" },                                      \
		{ "log", 0, OPT_TEXT, offsetof(type, member.log), "FILE",                          \
			"write messages to FILE; SIGHUP reopens it" },                             \
		{ "pid-file", 0, OPT_TEXT, offsetof(type, member.pid_file), "FILE",                \
			"write the process ID to FILE once ready" },                               \
		{ "ready-fd", 0, OPT_U32, offsetof(type, member.ready_fd), "FD",                   \
			"write a line to descriptor FD once ready", 0, OPT_U32_MAX },              \
	{                                                                                          \
		"stop-timeout", 0, OPT_MSEC, offsetof(type, member.stop_timeout_ms), "SECONDS",    \
			"time limit of a clean stop; default 10", 1, OPT_MSEC_MAX                  \
	}

struct front;
struct disk_identity;
struct daemon {
	struct call *call;
	const struct daemon_options *opts;
	int root; /* descriptor of "/" */
	struct loop *loop;
	/* workers; with one queue the first is the daemon's own */
	struct loop *loops[DAEMON_QUEUES];
	unsigned nloops;
	struct bdev **disk; /* one an operand, in their order */
	unsigned disks;
	struct disk_identity *identity; /* of each disk, once a front has asked for it */
	struct front *front[DAEMON_FRONTS];
	unsigned fronts;
	volatile int over; /* whoever sets it ends the daemon the clean way */

	struct loop_signal signal;
	bool signals, ready, command, pid_written, own_mounts;
	struct crew *crew;
	struct kernel_report report;
	/* of what the fronts moved, for rates */
	struct loop_timer sampler;
	/* for the warning of open listeners */
	char open_at[1024], open_option[96];
	uint64_t ready_ns; /* since when it is, loop_clock() */
	uint64_t deadline; /* for getting ready, 0 = none */
	int parent;        /* that waits until we are ready */
	int stopped_by;    /* signal */
	pid_t child;       /* the command */
	int pid_file;      /* descriptor, once pid_written */
	int status;        /* of the command */
};

struct front_sample {
	uint64_t ns; /* loop_clock() */
	struct io_count count;
};

/* One way to offer the disks: first member of what the front keeps. */
struct front {
	const struct front_kind *kind;
	struct daemon *daemon;
	const void *want;              /* struct export_want or serve_want, include/fronts.h */
	struct front_sample sample[2]; /* the daemon's: the last two, the older first */
};

/* In the order they are called. All return 0, or -errno with call->diag set. */
struct front_kind {
	const char *serving; /* for the service manager: "serving NBD clients" */
	/* block devices of this machine: the process does what kernel_survive() is for */
	bool local;
	size_t size;                  /* of the struct around struct front; it begins as zeroes */
	int (*read)(struct front *);  /* check the options before any disk is opened */
	int (*start)(struct front *); /* disks and loops are there; daemon_time_left() bounds it */
	void (*show)(const struct front *, struct out *); /* where the disks are to be had */
	/* what --run puts into $uri; NULL: the applet has no --run */
	void (*uri)(const struct front *, char text[URI_MAX]);
	/* What it has moved so far; the front has been started. */
	void (*count)(const struct front *, struct io_count *);
	/* Its members of the status document (doc/schema/status.json, serving), for SIGUSR1 and
	 * `rdmastor status`. */
	void (*status)(const struct front *, struct out *);
	/* as bdev->changed, from when the disk is open, before start() too; may be NULL */
	void (*changed)(struct front *, struct bdev *);
	/* At a stop: takes back what others use. -EBUSY: they still use it; it is served further
	 * and released later. The process ends with any other failure. May be NULL. */
	int (*release)(struct front *, uint32_t timeout_ms, struct diag *);
	/* the process ends at once: removes what would outlive it; may be NULL */
	void (*quit)(const struct front *);
	/* However far it came: what is in flight is answered and flushed, then all is freed but the
	 * struct itself. -EINPROGRESS: a disk holds requests and cannot be closed. */
	int (*stop)(struct front *, uint32_t timeout_ms, struct diag *);
};

/* What the command line asks of one kind of front. */
struct front_want {
	const struct front_kind *kind;
	bool on;
	const void *want; /* struct front.want */
};

/* Run the applet: exit status or -errno. The fronts that are on live until it is stopped; the first
 * gives --run its $uri. */
int daemon_run(struct call *, const struct daemon_options *, const struct front_want *, unsigned);

/* For fronts. */
/* Time left to get ready, 0 = no limit. */
int daemon_time_left(const struct daemon *, uint32_t *ms);
/* Any host can reach the address; this option limits access. All of them get one warning. */
void daemon_warn_open(struct daemon *, const struct addr *, const char *option);
/* The identity of disk i, the same for all fronts; stays with the daemon. */
int daemon_identify(struct daemon *, unsigned i, const struct disk_identity **);
/* The `full` callback of a server; user is its struct front. */
void daemon_full(const struct diag *why, void *front);
/* Of a status: what was read and written, and in JSON the rates of the last seconds. */
void daemon_show_count(struct out *, const struct front *);
/* JSON of disk i: uri, size, block_size, read_only, state, paths. */
void daemon_show_disk(struct out *, const struct daemon *, unsigned i);
/* The same for a block device of this machine, whose object stays open, and its line of text. */
void daemon_show_device(struct out *, const struct daemon *, unsigned i, const char *path,
	uint64_t size, bool recovered);
/* For a status: an object as well, with the holders of the device, which go to `who`. */
void daemon_show_held(
	struct out *, const struct daemon *, unsigned i, const char *path, char *who, size_t len);
/* "64 MiB (67108864 bytes)" */
const char *daemon_size_text(uint64_t bytes, char text[48]);

/* A note with the reason in the diag of the call if nothing can be listened on for a second. */
struct daemon_wait {
	struct loop_timer timer;
	const struct call *call;
};
void daemon_wait_begin(struct daemon_wait *, const struct call *, struct loop *);
void daemon_wait_end(struct daemon_wait *, struct loop *);
