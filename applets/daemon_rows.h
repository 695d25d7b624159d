/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options of export and serve, in struct daemon_options. */
#pragma once
#include "daemon.h"
#include "retry_row.h"

#define DAEMON_DEFAULTS                                                                            \
	{                                                                                          \
		.poll_us = UINT32_MAX, .ready_fd = UINT32_MAX, .stop_timeout_ms = 10000            \
	}
#define DAEMON_ROWS(type, member)                                                                  \
	{ "ro", 0, OPT_FLAG, offsetof(type, member.ro), NULL, "open the disks read-only" },        \
		{ "anonymous", 0, OPT_FLAG, offsetof(type, member.anonymous), NULL, NULL },        \
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
		{ "user", 0, OPT_TEXT, offsetof(type, member.user), "NAME",                        \
			"user to run as when started as root; default nobody" },                   \
		{ "pid-file", 0, OPT_TEXT, offsetof(type, member.pid_file), "FILE",                \
			"write the process ID to FILE once ready" },                               \
		{ "ready-fd", 0, OPT_U32, offsetof(type, member.ready_fd), "FD",                   \
			"write a line to descriptor FD once ready", 0, OPT_U32_MAX },              \
	{                                                                                          \
		"stop-timeout", 0, OPT_MSEC, offsetof(type, member.stop_timeout_ms), "SECONDS",    \
			"time limit of a clean stop; default 10", 1, OPT_MSEC_MAX                  \
	}
