/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a front is, and what the daemon does for its fronts. */
#pragma once
#include "access.h"
#include "child.h"
#include "daemon.h"
#include "kernel_serving.h"
#include "serve.h"

#define DAEMON_FRONTS 8

struct front;
struct disk_identity;
struct daemon {
	struct call *call;
	const struct daemon_options *opts;
	int root; /* descriptor of "/" */
	struct loop *loop;
	/* of the workers; with one queue it is `loop` */
	struct loop *loops[DAEMON_QUEUES];
	unsigned nloops;
	struct bdev **disk; /* one per operand, in order */
	unsigned disks;
	struct disk_identity *identity; /* array; allocated by daemon_identify() */
	struct front *front[DAEMON_FRONTS];
	unsigned fronts;
	volatile int stop_requested; /* set it to stop cleanly */

	struct loop_signal signal;
	bool signals, ready, command, pid_written, own_mounts;
	struct workers *workers;
	struct reservation_state *state; /* NULL: none */
	struct kernel_report report;
	/* samples io_count of the fronts, for rates */
	struct loop_timer sample_timer;
	/* addresses and options of the warning about open listeners */
	char open_at[1024], open_option[96];
	uint64_t ready_ns;        /* loop_clock() when it became ready */
	uint64_t deadline;        /* to become ready; 0: none */
	int parent;               /* descriptor of child_daemon() */
	int stopped_by;           /* signal */
	pid_t child;              /* the command */
	int pid_file;             /* descriptor, once pid_written */
	int status;               /* of the command */
	struct child_command run; /* the command before it runs */
	struct rights rights;
	struct bdev_env env; /* for its disks */
};

struct front_sample {
	uint64_t ns; /* loop_clock() */
	struct io_count count;
};

/* First member of the struct of a front. */
struct front {
	const struct front_kind *kind;
	struct daemon *daemon;
	const void *options;           /* struct export_front_options or serve_front_options */
	struct front_sample sample[2]; /* private: the last two, older first */
};

/* A kind of front, with its functions in the order in which they are called. Those that return int
 * return 0, or -errno with the diag set (call->diag, unless it is an argument). */
struct front_kind {
	const char *serving; /* for the service manager: "serving NBD clients" */
	/* it offers local block devices, so the process calls kernel_survive() */
	bool local;
	size_t size;                 /* of its struct, which is zeroed initially */
	int (*read)(struct front *); /* check options; no disk is open yet */
	/* Set what it needs (struct rights). May be NULL. */
	void (*rights)(const struct front *, struct rights *);
	/* Let the helper open its files (helper.h). 0 or -ENOMEM. May be NULL. */
	int (*allow)(const struct front *);
	int (*start)(struct front *);                     /* within daemon_time_left() */
	void (*show)(const struct front *, struct out *); /* addresses or devices */
	/* $uri for --run; NULL: the applet has no --run */
	void (*uri)(const struct front *, char text[URI_MAX]);
	/* totals since start() */
	void (*count)(const struct front *, struct io_count *);
	/* print its members of the status document (doc/schema/status.json, serving) */
	void (*status)(const struct front *, struct out *);
	/* Set the access through the listeners of a group; *before: the previous one. -ENOENT: no
	 * listener has the group. NULL: it has no groups. */
	int (*set_access)(struct front *, unsigned group, enum access, enum access *before);
	/* bdev->changed of a disk; perhaps before start(). May be NULL. */
	void (*changed)(struct front *, struct bdev *);
	/* SIGHUP: read files again, and warn if that fails. False: it has none. May be NULL. */
	bool (*reload)(struct front *);
	/* At a stop: remove devices. -EBUSY: in use; serving continues and it is called again. Any
	 * other failure ends the process. May be NULL. */
	int (*release)(struct front *, uint32_t timeout_ms, struct diag *);
	/* The process ends at once: remove what would outlive it. May be NULL. */
	void (*quit)(const struct front *);
	/* Complete and flush requests, then free everything but the struct; also after a failed
	 * read() or start(). -EINPROGRESS: a disk holds requests and cannot be closed. */
	int (*stop)(struct front *, uint32_t timeout_ms, struct diag *);
};

/* Choose the user to become, fork the command of --run and start the helper. Call it after read()
 * of all fronts. */
int daemon_read_rights(struct daemon *);
/* Give up rights, once all disks that are files are open. */
int daemon_drop_rights(struct daemon *);
void daemon_stop_command(struct daemon *); /* send it SIGTERM */
/* Get the time left to become ready; 0: no limit. */
int daemon_time_left(const struct daemon *, uint32_t *ms);
/* Add the address, which any host can reach, to the one warning about open listeners; this option
 * limits access. No effect for a local address. */
void daemon_warn_open(struct daemon *, const struct addr *, const char *option);
/* Parse --allow. */
int daemon_read_allow(const struct daemon *, const struct opt_list *, struct target_allows *);
/* Get the identity of disk i, the same for all fronts. The daemon owns it. */
int daemon_identify(struct daemon *, unsigned i, const struct disk_identity **);
/* The `full` callback of servers. */
void daemon_full(const struct diag *why, void *front);
/* For a status: print io_count, and in JSON the rates of the last seconds. */
void daemon_show_count(struct out *, const struct front *);
/* Print members of disk i in JSON: uri, size, block_size, read_only, state, paths. */
void daemon_show_disk(struct out *, const struct daemon *, unsigned i);
/* The same for a local block device, with a line of text. The JSON object stays open. */
void daemon_show_device(struct out *, const struct daemon *, unsigned i, const char *path,
	uint64_t size, bool recovered);
/* The same for a status, with the processes that hold the device; users: their text. */
void daemon_show_held(
	struct out *, const struct daemon *, unsigned i, const char *path, char *users, size_t len);
/* Print how many of these are more than SERVING_HOSTS. */
void daemon_show_more(struct out *, const char *key, unsigned count, const char *what);
/* Format as "64 MiB (67108864 bytes)". */
const char *daemon_size_text(uint64_t bytes, char text[48]);
