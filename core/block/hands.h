/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads for calls that may block. Each lane starts its own on demand, so that a hanging disk does
 * not use up those of another. */
#pragma once
#include "loop.h"

#define HANDS 8

struct hand_job { /* belongs to the threads until `done`; jobs run concurrently, in any order */
	void (*run)(struct hand_job *);  /* in a thread */
	void (*done)(struct hand_job *); /* on the loop */
	struct hand_job *next;
};

struct hands;
struct hand {
	struct loop_msg msg; /* to the thread and back */
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
/* start the first thread; after that hands_add() can't fail */
int hands_start(struct hands *, struct diag *);
int hands_add(struct hands *, struct hand_job *); /* 0, or -errno if no thread can be started */
void hands_fini(struct hands *);                  /* needs: all jobs done */
