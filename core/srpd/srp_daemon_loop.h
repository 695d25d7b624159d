/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP daemon on a loop, without the applet: scans, logins, its state as text, its log. */
#pragma once
#include "kernel_srp.h"
#include "loop.h"
#include "srp_daemon.h"

struct srp_scan { /* the result of one scan of one port */
	const struct mad_port_info *port;
	const struct mad_scan_result *found;
	const struct kernel_srp *hosts; /* the kernel's connections at the start of the scan */
	unsigned nhosts;
	bool full; /* a scan of the whole fabric */
};

struct srp_login { /* the result of one login */
	const struct mad_port_info *port;
	const struct mad_srp *srp;
	const char *line, *host; /* the line for add_target; "host6" */
	int err;                 /* 0: connected */
	struct diag *diag;
};

struct srp_daemon;
struct srp_daemon_events { /* called from the loop; arguments are valid until they return */
	void *arg;
	/* A line for a log; may be repeated often. May be NULL. */
	void (*log)(void *arg, const char *line);
	/* A scan has succeeded; logins to its targets may be in progress. May be NULL. */
	void (*scanned)(void *arg, const struct srp_scan *);
	void (*login)(void *arg, const struct srp_login *); /* a login has ended; may be NULL */
	/* With `once`: the scan of a port has failed. May be NULL. */
	void (*failed)(void *arg, const struct mad_port_info *, int err, struct diag *);
	/* Called once: all is done (`once`), or all ports are closed after srp_daemon_stop(). */
	void (*finished)(void *arg);
};
/* Start the daemon. Without all_ports and `once` the port must exist, open, and not be locked by
 * another process (-EBUSY). With all_ports, failures of ports are logged and retried; -ENODEV: no
 * InfiniBand port, with `once`. */
int srp_daemon_start(struct srp_daemon **, struct loop *, const struct srp_daemon_params *,
	const struct srp_daemon_events *, struct diag *);
/* Replace the rules, and scan every port again. The previous ones are no longer used on return. */
void srp_daemon_rules(struct srp_daemon *, const struct srp_rules *);
/* Stop: unsubscribe and abandon logins in progress. finished() is called from the loop within
 * about a second, or before this returns. */
void srp_daemon_stop(struct srp_daemon *);
/* Free, not inside a callback. Without `once` only after finished(); with it, scans and logins in
 * progress are dropped. */
void srp_daemon_free(struct srp_daemon *);

/* Print the list of ports with their targets; ready: only name and state of each port. */
void srp_daemon_show(const struct srp_daemon *, struct out *, bool ready);
/* Write "1 of 2 ports up, 12 targets connected, 0 failed". Returns text. */
const char *srp_daemon_summary(const struct srp_daemon *, char text[128]);

/* A log that writes a repeated line once per `each_ms`, then with a count, and at most SRP_LOG_MOST
 * lines in that time. */
#define SRP_LOG_MOST  2000
#define SRP_LOG_LINES 512 /* different lines that are counted; beyond, the oldest is replaced */
#define SRP_LOG_LEN   400
struct srp_log { /* the owner zeroes it and sets the first part */
	struct loop *loop;
	uint32_t each_ms;
	void (*write)(struct srp_log *, const char *line);
	/* private */
	struct loop_timer timer;
	uint64_t begun_ns; /* start of the period for: */
	unsigned written, suppressed;
	struct srp_log_line {
		char text[SRP_LOG_LEN];
		uint64_t begun_ns; /* 0: free */
		unsigned more;     /* repetitions not written */
	} line[SRP_LOG_LINES];
};
void srp_daemon_log_add(struct srp_log *, const char *line);
void srp_daemon_log_end(struct srp_log *); /* write the pending counts */
