/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calculations too long for a loop. One thread per process, of low priority, runs them, one after
 * another. Clients take turns, so that one with many calculations delays another one by a single
 * one. */
#pragma once
#include "loop.h"

/* One calculation, allocated by its owner, who sets the first part and zeroes the rest. */
struct offload {
	/* On the thread. Uses nothing but the struct that it is part of. */
	void (*work)(struct offload *);
	/* On the loop, never from inside offload_start(). The owner frees the struct. */
	void (*done)(struct offload *);
	/* Free the struct after offload_cancel(). On any thread. */
	void (*free)(struct offload *);
	const void *client; /* only compared */
	/* private */
	struct offload *next;
	struct loop *loop;
	struct loop_msg msg;
	uint64_t round;
	uint8_t state;
};
/* Queue it; `done` follows. Fails, without `done`, if no thread can be started. Any thread. */
int offload_start(struct offload *, struct loop *, struct diag *);
/* Cancel `done`; the struct may not be accessed afterwards. On the loop. */
void offload_cancel(struct offload *);
