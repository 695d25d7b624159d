/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One discovery session from connecting to logout, driven by its events; redirects are followed. */
#pragma once
#include "carrier.h"
#include "iscsi.h"
#include "login.h"

enum iscsi_ask_state {
	ISCSI_ASK_CONNECT,
	ISCSI_ASK_LOGIN,
	ISCSI_ASK_TEXT,
	ISCSI_ASK_LOGOUT,
	ISCSI_ASK_OVER
};

struct iscsi_ask { /* zeroed but for the first part; stays where it is until it is over */
	struct loop *loop;
	const struct iscsi_from *from;
	struct addr at;                   /* whom to ask; moves with redirects */
	uint8_t carrier;                  /* enum iscsi_carrier */
	bool list;                        /* SendTargets */
	uint64_t until;                   /* loop_clock, 0 = no end */
	void (*done)(struct iscsi_ask *); /* NULL, or: it is over */
	void *user;

	/* Filled in */
	volatile int over;
	struct diag why;
	bool answers; /* a login response has come */
	char way[160];
	char alg[16];           /* of CHAP; "" = let in without */
	struct iscsi_text text; /* of SendTargets; iscsi_ask_end() frees it */
	struct iscsi_hops hops;

	/* Its own */
	uint8_t state;
	bool moved;
	struct datamover *dm;
	struct iscsi_login login;
	uint32_t itt, exp_statsn;
	struct loop_timer timer;
	struct loop_work later;
};
void iscsi_ask_start(struct iscsi_ask *);
void iscsi_ask_end(struct iscsi_ask *); /* any time, over or not */
