/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Turns of changes to one file. */
#include "file_turn.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLIO_ORDER 11   /* most of Linux: a large folio is dirty as a whole */
#define IDLE        1024 /* direct changes to register after the last one through the page cache */

enum { TURN_NONE, TURN_UNREGISTERED, TURN_DIRECT, TURN_CACHED, TURN_KINDS };

struct file_turns {
	dev_t dev;
	ino_t ino; /* 0 for a device, which `dev` identifies */
	unsigned refs;
	struct file_turns *next;

	unsigned direct; /* atomic: disks that use direct I/O */
	bool registers;  /* atomic: direct changes are registered */
	/* the rest is under the lock */
	pthread_mutex_t lock;
	bool drained; /* since `registers` was set, all unregistered changes have ended */
	unsigned idle;
	uint64_t folio, number;
	struct file_turn *first[TURN_KINDS];
	struct file_pace *pace;
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct file_turns *all;

static struct file_turns *find(const struct stat *st)
{
	const bool device = S_ISBLK(st->st_mode);
	const dev_t dev = device ? st->st_rdev : st->st_dev;
	const ino_t ino = device ? 0 : st->st_ino;
	struct file_turns *turns = all;

	while (turns && (turns->dev != dev || turns->ino != ino))
		turns = turns->next;
	return turns;
}

static struct file_turns *new_turns(const struct stat *st)
{
	const bool device = S_ISBLK(st->st_mode);
	struct file_turns *turns = calloc(1, sizeof(*turns));

	if (!turns)
		return NULL;
	turns->dev = device ? st->st_rdev : st->st_dev;
	turns->ino = device ? 0 : st->st_ino;
	turns->folio = (uint64_t)sysconf(_SC_PAGESIZE) << FOLIO_ORDER;
	pthread_mutex_init(&turns->lock, NULL);
	turns->next = all;
	all = turns;
	return turns;
}

struct file_turns *file_turns_get(const struct stat *st)
{
	struct file_turns *turns;

	pthread_mutex_lock(&all_lock);
	turns = find(st);
	if (!turns)
		turns = new_turns(st);
	if (turns)
		turns->refs++;
	pthread_mutex_unlock(&all_lock);
	return turns;
}

void file_turns_put(struct file_turns *turns)
{
	struct file_turns **at = &all;

	if (!turns)
		return;
	pthread_mutex_lock(&all_lock);
	if (!--turns->refs) {
		while (*at != turns)
			at = &(*at)->next;
		*at = turns->next;
		pthread_mutex_destroy(&turns->lock);
		free(turns);
	}
	pthread_mutex_unlock(&all_lock);
}

bool file_turns_known(const struct stat *st)
{
	bool known;

	pthread_mutex_lock(&all_lock);
	known = find(st);
	pthread_mutex_unlock(&all_lock);
	return known;
}

void file_turns_direct(struct file_turns *turns, bool add)
{
	__atomic_add_fetch(&turns->direct, add ? 1 : -1, __ATOMIC_RELAXED);
}

void file_pace_add(struct file_turns *turns, struct file_pace *pace)
{
	pthread_mutex_lock(&turns->lock);
	pace->next = turns->pace;
	turns->pace = pace;
	pthread_mutex_unlock(&turns->lock);
}

void file_pace_del(struct file_turns *turns, struct file_pace *pace)
{
	struct file_pace **at = &turns->pace;

	pthread_mutex_lock(&turns->lock);
	while (*at != pace)
		at = &(*at)->next;
	*at = pace->next;
	pthread_mutex_unlock(&turns->lock);
}

static bool is_drained(struct file_turns *turns)
{
	const struct file_pace *pace = turns->pace;

	while (pace && !__atomic_load_n(&pace->direct, __ATOMIC_SEQ_CST))
		pace = pace->next;
	turns->drained |= !pace;
	return turns->drained;
}

static bool has_turn(struct file_turns *turns, const struct file_turn *turn)
{
	const struct file_turn *other =
		turns->first[turn->kind == TURN_CACHED ? TURN_DIRECT : TURN_CACHED];

	for (; other; other = other->next)
		if (other->number < turn->number && other->from < turn->to &&
			turn->from < other->to)
			return false;
	return turn->kind == TURN_DIRECT || is_drained(turns);
}

static void expect_cached(struct file_turns *turns)
{
	turns->idle = 0;
	if (turns->registers)
		return;
	turns->drained = false;
	__atomic_store_n(&turns->registers, true, __ATOMIC_SEQ_CST);
}

static void expect_direct(struct file_turns *turns)
{
	if (!turns->first[TURN_CACHED] && ++turns->idle >= IDLE)
		__atomic_store_n(&turns->registers, false, __ATOMIC_SEQ_CST);
}

/* A change is either counted before a cached one looks at the counters, or sees `registers`. */
static bool count(struct file_turns *turns, struct file_pace *pace, struct file_turn *turn)
{
	__atomic_add_fetch(&pace->direct, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&turns->registers, __ATOMIC_SEQ_CST)) {
		turn->kind = TURN_UNREGISTERED;
		return true;
	}
	__atomic_sub_fetch(&pace->direct, 1, __ATOMIC_RELEASE);
	return false;
}

bool file_turn_take(struct file_turns *turns, struct file_pace *pace, struct file_turn *turn,
	bool cached, uint64_t off, uint64_t len)
{
	uint64_t mask = turns->folio - 1;
	struct file_turn **first;
	bool now;

	if (cached && !__atomic_load_n(&turns->direct, __ATOMIC_RELAXED))
		return true;
	if (!cached && count(turns, pace, turn))
		return true;
	pthread_mutex_lock(&turns->lock);
	if (cached)
		expect_cached(turns);
	else
		expect_direct(turns);
	turn->kind = cached ? TURN_CACHED : TURN_DIRECT;
	turn->number = turns->number++;
	turn->from = off & ~mask;
	turn->to = (off + len + mask) & ~mask;
	first = &turns->first[turn->kind];
	turn->next = *first;
	turn->at = first;
	if (*first)
		(*first)->at = &turn->next;
	*first = turn;
	now = has_turn(turns, turn);
	pthread_mutex_unlock(&turns->lock);
	return now;
}

bool file_turn_has(struct file_turns *turns, const struct file_turn *turn)
{
	bool now;

	pthread_mutex_lock(&turns->lock);
	now = has_turn(turns, turn);
	pthread_mutex_unlock(&turns->lock);
	return now;
}

void file_turn_end(struct file_turns *turns, struct file_pace *pace, struct file_turn *turn)
{
	if (turn->kind == TURN_UNREGISTERED) {
		__atomic_sub_fetch(&pace->direct, 1, __ATOMIC_RELEASE);
	} else if (turn->kind != TURN_NONE) {
		pthread_mutex_lock(&turns->lock);
		*turn->at = turn->next;
		if (turn->next)
			turn->next->at = turn->at;
		pthread_mutex_unlock(&turns->lock);
	}
	turn->kind = TURN_NONE;
}
