/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The work that iscsi_attach() has with its wants. */
#pragma once
#include "iscsi_attach.h"
#include "kernel_iscsi_session.h"

struct attach;
struct job {
	struct attach *attach;
	struct iscsi_want *want;
	struct job *first; /* whose session it shares; NULL: it has its own */
	struct iscsi_link link;
	struct child_call scan;
	struct loop_timer look;
	int keeper; /* process that logs in again to the session that was lost */
	uint64_t turn;
	bool open;  /* not over yet */
	bool waits; /* for another process to be done with the same target */
};
struct attach {
	struct loop *loop;
	int root;
	uint64_t until;
	struct kernel_iscsi *nl;
	struct kernel_iscsi_transport transport[ISCSI_CARRIERS];
	int turns;
	struct loop_timer deadline, again;
	struct loop_signal stop;
	int signo;
	unsigned left, count;
	volatile int over;
	struct job *job;
};

void iscsi_attach_interrupted(struct diag *);
void iscsi_attach_end(struct attach *); /* once no job is open */
