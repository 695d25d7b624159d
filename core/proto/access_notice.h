/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From lanes of a disk to its own loop: a response suggests that the access of the path has
 * changed, so the target is to be asked. */
#pragma once
#include "loop.h"

struct access_notice {
	struct loop_msg msg;
	struct loop *loop;
	void (*ask)(struct access_notice *); /* on that loop */
	volatile int idle;                   /* atomic: the message is not posted */
};

static inline void access_notice_run(struct loop_msg *msg)
{
	struct access_notice *notice = container_of(msg, struct access_notice, msg);

	__atomic_store_n(&notice->idle, 1, __ATOMIC_SEQ_CST);
	notice->ask(notice);
}

static inline void access_notice_init(
	struct access_notice *notice, struct loop *loop, void (*ask)(struct access_notice *))
{
	*notice = (struct access_notice){
		.msg.run = access_notice_run, .loop = loop, .ask = ask, .idle = 1
	};
}

/* Any thread. */
static inline void access_notice_post(struct access_notice *notice)
{
	if (__atomic_exchange_n(&notice->idle, 0, __ATOMIC_SEQ_CST))
		loop_post(notice->loop, &notice->msg);
}

/* Before the memory is freed, once no lane uses it. It may run the loop. */
static inline void access_notice_fini(struct access_notice *notice)
{
	loop_wait(notice->loop, &notice->idle, 0);
}
