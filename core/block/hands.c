/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads for calls that may block. The loop keeps the queue and gives a thread one job at a time,
 * so no lock is needed. */
#include "hands.h"

static void back(struct loop_msg *msg);

static void there(struct loop_msg *msg)
{
	struct hand *hand = container_of(msg, struct hand, msg);

	hand->job->run(hand->job);
	msg->run = back;
	loop_post(hand->hands->home, msg);
}

static void give(struct hand *hand, struct hand_job *job)
{
	hand->job = job;
	hand->msg.run = there;
	loop_post(crew_loop(hand->crew, 0), &hand->msg);
}

static void back(struct loop_msg *msg)
{
	struct hand *hand = container_of(msg, struct hand, msg);
	struct hand_job *job = hand->job, *next = hand->hands->first;

	hand->job = NULL;
	if (next) {
		hand->hands->first = next->next;
		if (!next->next)
			hand->hands->last = &hand->hands->first;
		give(hand, next);
	}
	job->done(job);
}

static int start(struct hands *hands, struct diag *diag)
{
	const struct loop_options options = { .name = loop_options(hands->home)->name };
	struct hand *hand = &hands->hand[hands->count];
	int err = crew_start(&hand->crew, 1, &options, diag);

	if (err)
		return err;
	hand->hands = hands;
	hands->count++;
	return 0;
}

static struct hand *idle(struct hands *hands)
{
	for (unsigned i = 0; i < hands->count; i++)
		if (!hands->hand[i].job)
			return &hands->hand[i];
	return NULL;
}

void hands_init(struct hands *hands, struct loop *home)
{
	*hands = (struct hands){ .home = home, .most = HANDS, .last = &hands->first };
}

int hands_start(struct hands *hands, struct diag *diag)
{
	return hands->count ? 0 : start(hands, diag);
}

int hands_add(struct hands *hands, struct hand_job *job)
{
	struct hand *hand = idle(hands);
	int err = 0;

	if (!hand && hands->count < hands->most) {
		err = start(hands, NULL);
		hand = idle(hands);
	}
	if (hand) {
		give(hand, job);
		return 0;
	}
	if (!hands->count)
		return err;
	hands->most = hands->count;
	job->next = NULL;
	*hands->last = job;
	hands->last = &job->next;
	return 0;
}

void hands_fini(struct hands *hands)
{
	for (unsigned i = 0; i < hands->count; i++)
		crew_stop(hands->hand[i].crew);
	hands->count = 0;
}
