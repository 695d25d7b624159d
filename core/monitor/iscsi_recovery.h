/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decisions of the session monitor: which session to log in again, and when. No I/O: the kernel is
 * reached through struct recovery_ops, and `now` is loop_clock(). Single-threaded. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECOVERY_LINE 640

enum recovery_state {
	RECOVERY_NEW,       /* being created by another process */
	RECOVERY_LOGGED_IN, /* nothing to do */
	RECOVERY_WAIT,      /* connection lost; next login at due_at */
	RECOVERY_LOGIN,     /* login in progress */
	RECOVERY_LOGOUT,    /* logout sent at the target's request; limit: due_at */
	RECOVERY_UNBOUND,   /* being logged out by another process */
};

struct session_state { /* as the kernel reports it */
	bool logged_in;
	bool expired;       /* replacement timeout expired: I/O fails */
	bool unbinding;     /* its disks are being removed */
	bool creator_alive; /* the process that created it is running */
};

struct recovery_session { /* embedded in its owner's */
	unsigned sid;
	uint8_t state;      /* enum recovery_state */
	bool established;   /* was logged in once, or its creator has exited */
	bool orphan;        /* found without a connection */
	bool loss_reported; /* by an event; sysfs may still show it as logged in */
	bool expired;       /* as logged */
	uint32_t wait_s;    /* Time2Wait: minimum before the next login */
	unsigned tries;
	uint64_t due_at, lost_at, logged_at; /* 0: never */
	char why[RECOVERY_LINE];             /* last login error, as logged */
	struct recovery_session *next;
};

struct recovery;
struct recovery_ops {
	/* Allocate a zeroed session with its sid set. NULL: out of memory. */
	struct recovery_session *(*create)(struct recovery *, unsigned sid);
	void (*destroy)(struct recovery *, struct recovery_session *); /* no login in progress */
	/* -ENOENT: the session was removed */
	int (*get_state)(struct recovery *, struct recovery_session *, struct session_state *);
	int (*iscsid_pid)(struct recovery *); /* 0 = not running */
	/* Start a login. On 0, iscsi_recovery_login_done() follows, never from inside. */
	int (*start_login)(
		struct recovery *, struct recovery_session *, uint32_t limit_ms, struct diag *);
	/* Cancel it; iscsi_recovery_login_done() is not called. */
	void (*cancel_login)(struct recovery *, struct recovery_session *);
	int (*send_logout)(struct recovery *, struct recovery_session *);
	void (*log)(struct recovery *, const char *line);
};
struct recovery {
	const struct recovery_ops *ops; /* set by the owner */
	struct recovery_session *first;
	int iscsid_pid; /* private: as last reported */
};

/* Events. After each, call iscsi_recovery_run(): logins start only there. Sessions may be freed
 * inside any of these; unknown ones are ignored. */
/* A session was created, or listed: add it unless known. */
void iscsi_recovery_add(struct recovery *, unsigned sid, uint64_t now);
void iscsi_recovery_remove(struct recovery *, unsigned sid);
/* Events were lost: remove the sessions that no longer exist. The caller then lists the others and
 * adds them. */
void iscsi_recovery_drop_missing(struct recovery *);
void iscsi_recovery_unbound(struct recovery *, unsigned sid); /* a logout has begun */
void iscsi_recovery_lost(struct recovery *, unsigned sid, const char *why, uint64_t now);
/* The target announced that it drops the connection (RFC 7143, 11.9.1): minimum pause. */
void iscsi_recovery_set_wait(struct recovery *, unsigned sid, uint32_t wait_s);
/* The target requested a logout within that time, 0 = unknown. */
void iscsi_recovery_logout_requested(
	struct recovery *, unsigned sid, uint32_t within_s, uint64_t now);
/* The logout response has arrived; wait_s: its Time2Wait. */
void iscsi_recovery_logged_out(struct recovery *, unsigned sid, uint32_t wait_s, uint64_t now);
/* A login has ended: 0 or -errno with diag. */
void iscsi_recovery_login_done(
	struct recovery *, struct recovery_session *, int err, const struct diag *, uint64_t now);
/* Do what is due. */
void iscsi_recovery_run(struct recovery *, uint64_t now);
/* Return when iscsi_recovery_run() is due next; 0 = never. May change with each event. */
uint64_t iscsi_recovery_next(const struct recovery *);
void iscsi_recovery_free(struct recovery *); /* destroy all sessions, cancel their logins */
