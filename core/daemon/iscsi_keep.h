/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the keeper decides: which session to log in again, when, and when to leave it alone. It
 * looks, logs in and talks through a seam and is told the time, in loop_clock()'s nanoseconds. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEEP_LINE 640

enum keep_state {
	KEEP_NEW,     /* whoever makes it is at it */
	KEEP_FINE,    /* logged in */
	KEEP_WAIT,    /* lost; until `at` */
	KEEP_TRY,     /* a login is under way */
	KEEP_LOGOUT,  /* the target wants it to log out, and has been told so; until `at` */
	KEEP_LEAVING, /* somebody logs out */
};

struct keep_look {    /* how a session stands with the kernel */
	bool live;    /* logged in */
	bool expired; /* lost for so long that requests fail */
	bool leaving; /* its disks are let go */
	bool making;  /* the process that made it lives */
};

struct keep_session { /* embedded in its owner's */
	unsigned sid;
	uint8_t state;   /* enum keep_state */
	bool known;      /* it was logged in once, or its maker has gone */
	bool orphan;     /* found lost, with nobody to log in again */
	bool heard;      /* that it is lost: what the kernel shows may be older */
	bool expired;    /* requests fail, and that was said */
	uint32_t wait_s; /* what the target asked for before the next login */
	unsigned tries;
	uint64_t at, lost_at, said_at; /* `at` 0: never */
	char why[KEEP_LINE];           /* the last login's failure, as it was said */
	struct keep_session *next;
};

struct keep;
struct keep_ops {
	/* zeroes but for its number; NULL: no memory */
	struct keep_session *(*made)(struct keep *, unsigned sid);
	void (*gone)(struct keep *, struct keep_session *); /* frees it; no login is under way */
	/* -ENOENT: it is gone */
	int (*look)(struct keep *, struct keep_session *, struct keep_look *);
	int (*iscsid)(struct keep *); /* its process, 0 = none */
	/* Begins a login, whose end iscsi_keep_tried() hears, not from inside. -errno: there is
	 * none. */
	int (*begin)(struct keep *, struct keep_session *, uint32_t limit_ms, struct diag *);
	/* gives it up; iscsi_keep_tried() does not hear of it */
	void (*end)(struct keep *, struct keep_session *);
	int (*logout)(struct keep *, struct keep_session *); /* sends the request */
	void (*say)(struct keep *, const char *line);
};
struct keep {
	const struct keep_ops *ops;
	struct keep_session *first;
	int iscsid; /* in charge as of the last look */
};

/* it is there: made, or seen in a look at all */
void iscsi_keep_found(struct keep *, unsigned sid, uint64_t now);
void iscsi_keep_gone(struct keep *, unsigned sid);
/* some may have gone; those that are there are to be found again */
void iscsi_keep_missed(struct keep *);
void iscsi_keep_leaving(struct keep *, unsigned sid);
void iscsi_keep_lost(struct keep *, unsigned sid, const char *why, uint64_t now);
/* the target is about to end the connection, and wants that much time then */
void iscsi_keep_drop(struct keep *, unsigned sid, uint32_t wait_s);
void iscsi_keep_asked_out(struct keep *, unsigned sid, uint32_t within_s, uint64_t now);
/* the answer to `logout` */
void iscsi_keep_logged_out(struct keep *, unsigned sid, uint32_t wait_s, uint64_t now);
void iscsi_keep_tried(
	struct keep *, struct keep_session *, int err, const struct diag *, uint64_t now);
/* What is due is done here alone: after each of the others iscsi_keep_next() may be another. */
void iscsi_keep_time(struct keep *, uint64_t now);
uint64_t iscsi_keep_next(const struct keep *); /* when iscsi_keep_time() is due; 0 = never */
void iscsi_keep_free(struct keep *);           /* all of them, logins under way given up */
