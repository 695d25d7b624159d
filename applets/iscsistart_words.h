/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The options of iscsistart. */
#pragma once
#include "applet.h"

#define START_NAME    "iscsistart"
#define START_VERSION "2.1.8" /* of open-iscsi, whose output and words these are */
#define START_INVALID 7       /* its statuses: ISCSI_ERR_INVAL, ISCSI_ERR_NO_OBJS_FOUND */
#define START_NOTHING 21

struct start_options {
	struct opt_common common;
	const char *config, *initiator, *target, *tgpt, *address, *port, *debug, *keeper;
	const char *user[2], *secret[2]; /* [0] ours, [1] the target's */
	struct opt_list params;
	bool connect, network, print, version, help;
};

int start_words(struct call *, int argc, char **argv, void *opts); /* applet's words, hide */
void start_hide(int argc, char **argv);
