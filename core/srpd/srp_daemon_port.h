/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One port of the SRP daemon: _port.c decides what to do next, _query.c runs scans, _targets.c
 * stores what they found, _login.c logs in, _watch.c handles notices and port events. */
#pragma once
#include "attach_srp.h"
#include "port_events.h"
#include "srp_daemon_loop.h"
#include "wire.h"
#include <stdlib.h>

#define NEVER       UINT64_MAX
#define SRP_QUERIES 64 /* ports to query one by one; for more, scan the whole fabric */
#define SRP_JOBS    8  /* concurrent scans */
#define SRP_BUCKETS 256
/* per local port: limits the memory that a peer with many services can allocate */
#define SRP_TARGETS 16384

enum srp_state {
	SRP_DENIED,  /* by a rule */
	SRP_FOUND,   /* no login required */
	SRP_WAITING, /* for its login */
	SRP_BUSY,
	SRP_UP,
	SRP_FAILED,
};

struct srp_daemon_target { /* one path to a target */
	struct srp_daemon_target *next;
	struct mad_srp srp;
	uint8_t state;         /* enum srp_state */
	uint64_t seen_ns;      /* by the latest scan */
	unsigned tries;        /* consecutive failures */
	uint64_t due_ns, turn; /* WAITING, FAILED: when to log in, and the order */
	char host[24], why[200];
	uint8_t why_code; /* enum diag_code */
	int why_err;      /* positive errno */
};

enum srp_query_state { SRP_QUERY_FREE, SRP_QUERY_PENDING, SRP_QUERY_RUNNING, SRP_QUERY_DONE };

struct srp_query {     /* a port of the fabric to query, or queried recently */
	uint8_t state; /* enum srp_query_state */
	struct mad_port_id named;
	bool trust;     /* it has announced device management */
	bool repeat;    /* RUNNING: requested again */
	uint8_t job;    /* RUNNING: its index */
	unsigned tries; /* failures */
	uint64_t due_ns, began_ns;
};

struct srp_job { /* a scan */
	struct srp_port *port;
	struct mad_scan_job *scan; /* NULL: none */
	bool full, retry;          /* full: the whole fabric; retry: ports that did not answer */
	uint64_t began_ns;
	struct kernel_srp *hosts; /* the connections at began_ns */
	unsigned nhosts;
};

struct srp_port {
	struct srp_daemon *daemon;
	struct srp_port *next;
	struct mad_port_info info;
	struct mad *mad;
	int lock;                /* descriptor, or -1 */
	bool listed, was_listed; /* among the ports of this host, now and at the poll before */
	bool skipped;            /* not on InfiniBand */
	bool locked_elsewhere;   /* another process has the lock */
	bool finished;           /* all done (once), or closed for the last time */
	uint64_t open_ns;        /* if not open: when to retry */
	unsigned open_tries;

	struct mad_watch watch;
	struct port_events *kernel; /* NULL without verbs */
	bool watching, closing, subscribed;
	bool missed; /* a subscription failed: notices may be lost */
	void (*watch_ended)(struct srp_port *);

	struct srp_job job[SRP_JOBS];
	uint64_t full_ns, scanned_ns; /* full scan: due (or NEVER), and last done (or 0) */
	unsigned full_tries;          /* consecutive failures */
	struct srp_query query[SRP_QUERIES];

	struct srp_daemon_target *known[SRP_BUCKETS];
	unsigned targets;
	uint64_t recheck_ns, turns;
	struct attach_srp login;        /* the login to `busy` */
	struct srp_params login_params; /* of that login */
	struct srp_daemon_target *busy;
	char line[MAD_SRP_LINE];

	struct loop_work work;
	struct loop_timer timer;
	uint64_t scans, notices, logins;
};

struct srp_daemon {
	struct loop *loop;
	struct srp_daemon_params params;
	struct srp_daemon_events events;
	struct srp_port *ports;
	struct loop_timer poll; /* of the list of ports */
	uint64_t names;         /* hash of the device names at the last poll */
	unsigned polls;
	bool changed; /* a device was removed: list the ports at the next poll */
	bool stopping, finished;
};

/* Log a line, prefixed with "mlx5_0 port 1: ". */
void srp_daemon_port_log(const struct srp_port *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Something has changed: do what is due at the end of this turn. */
void srp_daemon_port_turn(struct srp_port *);
void srp_daemon_port_init(struct srp_port *, struct srp_daemon *, const struct mad_port_info *);
/* Lock and open the port that the user named; -EBUSY: locked by another process. */
int srp_daemon_port_begin(struct srp_port *, struct diag *);
/* Close asynchronously. Afterwards the port is reopened if it is listed, unless the daemon stops.
 */
void srp_daemon_port_close(struct srp_port *);
/* Release all but the struct. Needs: no watch. */
void srp_daemon_port_fini(struct srp_port *);
/* Call events.finished() once all ports are finished. */
void srp_daemon_check_finished(struct srp_daemon *);

/* Watch for notices of the subnet administrator, and for changes of the port. */
int srp_daemon_watch_start(struct srp_port *, struct diag *);
/* False: not watching; ended() is not called. */
bool srp_daemon_watch_stop(struct srp_port *, void (*ended)(struct srp_port *));

/* Return the delay after `tries` failures, in ns. */
uint64_t srp_daemon_backoff(const struct srp_daemon *, unsigned tries);

/* Query a port of the fabric at due_ns, but at most once a second. tries: previous failures. */
void srp_daemon_port_query(
	struct srp_port *, const struct mad_port_id *, bool trust, unsigned tries, uint64_t due_ns);
/* Scan the whole fabric at due_ns, unless a scan is due earlier. */
void srp_daemon_port_scan_all(struct srp_port *, uint64_t due_ns);

/* Start the scans that are due; lowers *due_ns to the time of the next one. */
void srp_daemon_query_next(struct srp_port *, uint64_t now, uint64_t *due_ns);
bool srp_daemon_query_busy(const struct srp_port *);
void srp_daemon_query_stop(struct srp_port *);

/* Add the targets of a port that was queried. */
void srp_daemon_targets_add(struct srp_job *, const struct mad_target *);
/* Remove targets that the scan should have found, but did not. */
void srp_daemon_targets_prune(struct srp_job *, const struct mad_scan_result *);
/* Schedule a login for targets whose connection is gone. */
void srp_daemon_targets_recheck(struct srp_port *);
/* Remove the targets of a port that has left the fabric. */
void srp_daemon_targets_remove(struct srp_port *, const uint8_t gid[16]);
void srp_daemon_targets_free(struct srp_port *);
/* Return the next target to log in to, NULL: none is due; then lowers *due_ns as above. */
struct srp_daemon_target *srp_daemon_targets_next(
	struct srp_port *, uint64_t now, uint64_t *due_ns);
void srp_daemon_target_up(struct srp_daemon_target *, const char *host);

/* Start the next login that is due; *due_ns as above. */
void srp_daemon_login_next(struct srp_port *, uint64_t now, uint64_t *due_ns);
void srp_daemon_login_stop(struct srp_port *);
