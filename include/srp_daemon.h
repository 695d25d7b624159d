/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP daemon: find SRP targets through InfiniBand ports and let the kernel log in to them, once
 * or until stopped. One loop serves all ports; blocking calls run in child processes. */
#pragma once
#include "applet.h"
#include "mad.h"
#include "srp_show.h"

struct srp_daemon_params {
	int root;                 /* kernel_root(); the owner closes it */
	struct srp_policy policy; /* its rules must stay valid until they are replaced */
	struct mad_limits limits;
	bool once;      /* scan, log in, end: no lock, no subscription, no retry */
	bool execute;   /* log in to allowed targets that are not connected */
	bool all_ports; /* all InfiniBand ports, also ones added later; otherwise `port` */
	struct mad_port_info port;
	uint32_t rescan_ms;  /* between scans of the whole fabric; 0: only after events */
	uint32_t recheck_ms; /* between checks of the connections; 0: none */
	uint32_t login_ms;   /* limit of one login */
	uint32_t retry_ms, retry_max_ms; /* first and longest delay after failures; doubles */
};

/* The options of the applet (call->opts), and its two modes. */
struct srp_daemon_options {
	struct opt_common common;
	const char *dev, *umad, *dev_port, *rules, *log, *pid_file;
	uint32_t port, answer_ms, tries, rescan_ms, recheck_ms, login_ms, tl_retry_count, ready_fd;
	bool all, commands, execute, once, initiator_ext, debug, systemd, all_ports, background;
};

#define SRP_DAEMON_OLD "srp_daemon"
/* Whether it was called by the name of the tool that it replaces. */
bool srp_daemon_is_old(const struct call *);
/* Run with these parameters and srp_daemon_options, once or until SIGTERM, on a loop of its own.
 * Return an exit status, or -errno with call->diag set. */
int srp_daemon_once(struct call *, struct srp_daemon_params *);
int srp_daemon_run(struct call *, struct srp_daemon_params *);
