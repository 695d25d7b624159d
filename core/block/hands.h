/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads for calls that may block. Each lane has its own, started when needed, so that a disk that
 * hangs does not use up those of another. */
#pragma once
#include "loop.h"

#define HANDS 8

struct hand_job { /* its owner's until `done`; jobs run at the same time, in any order */
	void (*run)(struct hand_job *);  /* on a thread */
	void (*done)(struct hand_job *); /* on the loop */
	struct hand_job *next;
};

struct hands;
struct hand {
	struct loop_msg msg; /* there and back */
	struct hands *hands;
	struct crew *crew;
	struct hand_job *job; /* NULL: idle */
};

struct hands {
	struct loop *home;
	unsigned count, most;
	struct hand hand[HANDS];
	struct hand_job *first, **last; /* waiting */
};

void hands_init(struct hands *, struct loop *home);
/* the first thread; hands_add() can't fail from then on */
int hands_start(struct hands *, struct diag *);
int hands_add(struct hands *, struct hand_job *); /* 0, or -errno where no thread can be started */
void hands_fini(struct hands *);                  /* needs: all done */
