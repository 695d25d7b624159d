/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One port of the SRP daemon: _port.c decides what to do next, _ask.c asks the fabric, _targets.c
 * keeps what was found, _login.c connects, _watch.c listens. */
#pragma once
#include "attach_srp.h"
#include "port_events.h"
#include "srp_daemon.h"
#include "wire.h"
#include <stdlib.h>

#define MSEC        1000000ull
#define NEVER       UINT64_MAX
#define SRP_ASKS    64 /* ports to ask again; more of them: the whole fabric */
#define SRP_JOBS    8  /* scans at a time */
#define SRP_BUCKETS 256
/* per local port: limits the memory that a peer with many services can use */
#define SRP_TARGETS 16384

enum srp_state {
	SRP_DENIED,  /* by a rule */
	SRP_FOUND,   /* nothing is to be done with it */
	SRP_WAITING, /* for its turn */
	SRP_BUSY,
	SRP_UP,
	SRP_FAILED,
};

struct srp_known { /* a target */
	struct srp_known *next;
	struct mad_srp srp;
	uint8_t state;         /* enum srp_state */
	uint64_t seen_ns;      /* last, by a scan */
	unsigned tries;        /* that failed, in a row */
	uint64_t due_ns, turn; /* WAITING, FAILED: when to log in, and the order */
	char host[24], why[200];
	uint8_t why_code; /* enum diag_code */
	int why_err;      /* positive errno */
};

enum srp_ask_state { SRP_ASK_FREE, SRP_ASK_PENDING, SRP_ASK_RUNNING, SRP_ASK_DONE };

struct srp_ask {       /* a port of the fabric to ask, or that was asked of late */
	uint8_t state; /* enum srp_ask_state */
	struct mad_named named;
	bool trust;     /* that it has device management */
	bool again;     /* RUNNING: it was wanted once more */
	uint8_t job;    /* RUNNING: which */
	unsigned tries; /* that failed */
	uint64_t due_ns, began_ns;
};

struct srp_job { /* a scan */
	struct srp_port *port;
	struct mad_scan_job *scan; /* NULL: none */
	bool whole, retry;         /* of the whole fabric; of ports that did not answer before */
	uint64_t began_ns;
	struct kernel_srp *hosts; /* that there were then */
	unsigned nhosts;
};

struct srp_port {
	struct srp_daemon *daemon;
	struct srp_port *next;
	struct mad_port_info info;
	struct mad *mad;
	int lock;                /* descriptor, or -1 */
	bool listed, was_listed; /* it is among the ports there are */
	bool skipped;            /* not on InfiniBand */
	bool busy_elsewhere;     /* another process has the lock */
	bool over;               /* once: all is done; else: it has been closed for good */
	uint64_t open_ns;        /* not open: when to try again */
	unsigned open_tries;

	struct mad_watch watch;
	struct port_events *kernel; /* NULL without verbs */
	bool watching, closing, subscribed;
	bool missed; /* notices, without a subscription */
	void (*watch_ended)(struct srp_port *);

	struct srp_job job[SRP_JOBS];
	uint64_t whole_ns, scanned_ns; /* when the whole fabric is due, and was done; NEVER, 0 */
	unsigned whole_tries;          /* that failed, in a row */
	struct srp_ask ask[SRP_ASKS];

	struct srp_known *known[SRP_BUCKETS];
	unsigned targets;
	uint64_t recheck_ns, turns;
	struct attach_srp login; /* to `busy` */
	struct srp_want want;    /* for it */
	struct srp_known *busy;
	char line[MAD_SRP_LINE];

	struct loop_work work;
	struct loop_timer timer;
	uint64_t scans, notices, logins;
};

struct srp_daemon {
	struct loop *loop;
	struct srp_daemon_options opts;
	struct srp_daemon_events events;
	struct srp_port *ports;
	struct loop_timer look; /* at what ports there are */
	uint64_t names;         /* of devices, when it last looked */
	unsigned looks;
	bool changed; /* what devices there are, perhaps */
	bool stopping, over;
};

/* "mlx5_0 port 1: …" */
void srp_daemon_port_say(const struct srp_port *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* something has changed: looks for what to do, at the end of this turn */
void srp_daemon_port_turn(struct srp_port *);
void srp_daemon_port_init(struct srp_port *, struct srp_daemon *, const struct mad_port_info *);
/* the one that was named: it must be free, and open */
int srp_daemon_port_begin(struct srp_port *, struct diag *);
/* takes its time; then it is opened again, if it is listed and the daemon is not stopping */
void srp_daemon_port_close(struct srp_port *);
void srp_daemon_port_fini(struct srp_port *); /* all but the struct, at once; needs: no watch */
void srp_daemon_port_over(struct srp_daemon *);

/* What the subnet administrator reports, and the port's own state. */
int srp_daemon_watch_start(struct srp_port *, struct diag *);
/* false: not watching, `ended` does not come */
bool srp_daemon_watch_stop(struct srp_port *, void (*ended)(struct srp_port *));

/* in nanoseconds, after this many failures */
uint64_t srp_daemon_backoff(const struct srp_daemon *, unsigned tries);

/* A port of the fabric is to be asked; not again within a second, however often it is wanted. */
void srp_daemon_port_ask(
	struct srp_port *, const struct mad_named *, bool trust, unsigned tries, uint64_t due_ns);
void srp_daemon_port_whole(
	struct srp_port *, uint64_t due_ns); /* the whole fabric, if not due before */

/* Starts what is due; *due_ns: when something is. */
void srp_daemon_ask_next(struct srp_port *, uint64_t now, uint64_t *due_ns);
bool srp_daemon_ask_busy(const struct srp_port *);
void srp_daemon_ask_stop(struct srp_port *);

/* What a scan finds becomes targets, each as soon as it is found. */
void srp_daemon_targets_take(struct srp_job *, const struct mad_target *);
/* those that were not found again go */
void srp_daemon_targets_end(struct srp_job *, const struct mad_found *);
/* what is connected no more is to be logged in to again */
void srp_daemon_targets_recheck(struct srp_port *);
void srp_daemon_targets_left(
	struct srp_port *, const uint8_t gid[16]); /* a port has left the fabric */
void srp_daemon_targets_free(struct srp_port *);
/* The next to log in to, NULL = none is due; *due_ns: when one is. */
struct srp_known *srp_daemon_targets_next(struct srp_port *, uint64_t now, uint64_t *due_ns);
void srp_daemon_target_up(struct srp_known *, const char *host);

/* starts what is due, as above */
void srp_daemon_login_next(struct srp_port *, uint64_t now, uint64_t *due_ns);
void srp_daemon_login_stop(struct srp_port *);
