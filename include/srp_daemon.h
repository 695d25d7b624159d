/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Finding SRP targets through InfiniBand ports and having the kernel connect to them: once, or for
 * as long as it runs. One loop serves all ports; what blocks runs in processes of its own. */
#pragma once
#include "applet.h"
#include "diag.h"
#include "kernel_identity.h"
#include "kernel_srp.h"
#include "loop.h"
#include "mad.h"
#include "srp_show.h"
#include <stdbool.h>
#include <stdint.h>

struct srp_daemon_options {
	int root;                 /* kernel_root(); its owner closes it */
	struct srp_policy policy; /* the rules stay until others are given */
	struct mad_limits limits;
	bool once;      /* scan, log in, end: no lock, no subscription, no second try */
	bool execute;   /* log in to what is allowed and not connected */
	bool all_ports; /* on InfiniBand, as they come and go; else `port` */
	struct mad_port_info port;
	uint32_t rescan_ms; /* between scans of the whole fabric, 0 = when something happens only */
	uint32_t recheck_ms; /* between looks at whether what is connected still is, 0 = none */
	uint32_t login_ms;   /* one login may take */
	uint32_t retry_ms, retry_max_ms; /* after a failure: from … to, doubling */
};

struct srp_scan { /* what one scan of one port found */
	const struct mad_port_info *port;
	const struct mad_found *found;
	const struct kernel_srp *hosts; /* what the kernel was connected to when it began */
	unsigned nhosts;
	bool whole; /* of the fabric; else of a few ports of it */
};

struct srp_login { /* how one login went */
	const struct mad_port_info *port;
	const struct mad_srp *srp;
	const char *line, *host; /* what was written; "host6" */
	int err;                 /* 0: connected, perhaps already before */
	struct diag *diag;
};

struct srp_daemon;
struct srp_daemon_events { /* from the loop */
	void *arg;
	/* what happens, for a log; the same thing often */
	void (*say)(void *arg, const char *line);
	/* while or before its logins run; may be NULL */
	void (*scanned)(void *arg, const struct srp_scan *);
	void (*login)(void *arg, const struct srp_login *); /* may be NULL */
	/* once: the port's scan; may be NULL */
	void (*failed)(void *arg, const struct mad_port_info *, int err, struct diag *);
	void (*over)(void *arg); /* once: all is done. Else: it has stopped */
};
/* Once: begins at once. Else a port that is named must be there and free; of all ports those that
 * cannot be served are said, and tried again. */
int srp_daemon_start(struct srp_daemon **, struct loop *, const struct srp_daemon_options *,
	const struct srp_daemon_events *, struct diag *);
/* Other rules; every port is scanned again. The ones before are not used any more. */
void srp_daemon_rules(struct srp_daemon *, const struct srp_rules *);
/* Takes the subscriptions back: `over` comes from the loop, after a second or so at the latest.
 * Logins under way are given up. */
void srp_daemon_stop(struct srp_daemon *);
void srp_daemon_free(struct srp_daemon *); /* stopped, once and over, or never started */

/* What it knows: the list of ports, with their targets, or only to say that it is ready. */
void srp_daemon_show(const struct srp_daemon *, struct out *, bool ready);
/* "serving 2 ports, 12 targets connected" */
const char *srp_daemon_summary(const struct srp_daemon *, char text[128]);

/* Log lines. A repeated one is written once per `each_ms`, with a count; in that time at most
 * SRP_LOG_MOST are written. */
#define SRP_LOG_MOST  2000
#define SRP_LOG_LINES 512 /* that differ are counted; of more the oldest are forgotten */
#define SRP_LOG_LEN   400
struct srp_log { /* its owner sets the first part, and zeroes the rest */
	struct loop *loop;
	uint32_t each_ms;
	void (*write)(struct srp_log *, const char *line);
	/* log's own */
	struct loop_timer timer;
	uint64_t begun_ns; /* to count these: */
	unsigned written, left_out;
	struct srp_log_line {
		char text[SRP_LOG_LEN];
		uint64_t begun_ns; /* 0 = free */
		unsigned more;     /* not written */
	} line[SRP_LOG_LINES];
};
void srp_daemon_log_say(struct srp_log *, const char *line);
void srp_daemon_log_end(struct srp_log *); /* writes what is kept back */

/* The applet's two modes; its options, and call->opts. */
struct srp_daemon_words {
	struct opt_common common;
	const char *dev, *umad, *dev_port, *rules, *log, *pid_file;
	uint32_t port, answer_ms, tries, rescan_ms, recheck_ms, login_ms, tl_retry_count, ready_fd;
	bool all, commands, execute, once, initiator_ext, debug, systemd, all_ports, background;
};

#define SRP_DAEMON_OLD "srp_daemon"
bool srp_daemon_is_old(const struct call *); /* it was called by the name of the tool it replaces */
int srp_daemon_once(struct call *, struct srp_daemon_options *);
int srp_daemon_run(struct call *, struct srp_daemon_options *);
