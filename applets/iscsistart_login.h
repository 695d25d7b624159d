/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sessions of iscsistart. */
#pragma once
#include "iscsi_attach.h"
#include "iscsistart_words.h"
#include "kernel_iscsi_conf.h"

struct start_session { /* one that is wanted */
	struct iscsi_wish wish;
	struct iscsi_want want;
	char nic[16], target[16]; /* of iBFT, for the kernel to keep */
	bool over, resolved;
};
struct start { /* one run */
	struct call *call;
	const struct start_options *opts;
	int root;
	struct loop *loop;
	struct iscsi_settings set;
	char initiator[ISCSI_NAME_MAX + 1], netdev[16];
	bool iser;
	uint32_t retry_max;
	unsigned algs;
	struct iscsi_from *from; /* one a session */
	struct start_session *session;
	unsigned sessions;
};
/* on stderr, with the name that it was called by */
void start_tell(const struct call *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Read -c, then -P. Positive: an exit status, with the reason in call->diag. */
int start_settings(struct start *);
/* All of them, with retries. Each has its result in want.why. */
int start_login(struct start *);
/* open-iscsi's error number and text */
unsigned start_error(const struct start_session *, const char **text);
