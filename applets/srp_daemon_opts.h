/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options of srp-daemon, for its two modes: srp_daemon_once.c and srp_daemon_run.c. */
#pragma once
#include "applet.h"
#include "srp_daemon.h"

struct srp_daemon_words {
	struct opt_common common;
	const char *dev, *umad, *dev_port, *rules, *log, *pid_file;
	uint32_t port, answer_ms, tries, rescan_ms, recheck_ms, login_ms, tl_retry_count, ready_fd;
	bool all, commands, execute, once, initiator_ext, debug, systemd, all_ports, background;
};

bool srp_daemon_is_old(const struct call *); /* it was called by the name of the tool it replaces */
int srp_daemon_once(struct call *, struct srp_daemon_options *);
int srp_daemon_run(struct call *, struct srp_daemon_options *);
