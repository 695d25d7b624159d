/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The history of the writes of one host. */
#include "history.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define WORDS (HISTORY_BLOCK / sizeof(uint64_t))
#define ALIVE 256

struct write {
	unsigned first, count;
	bool success;
	uint32_t begun, ended; /* 0: in flight */
	uint32_t
		stale[HISTORY_BLOCKS]; /* since then it must not be seen in that block; 0: it may */
};

static struct write writes[HISTORY_WRITES];
static unsigned count_of_writes;
static uint32_t now;
static unsigned alive[HISTORY_BLOCKS][ALIVE], count_alive[HISTORY_BLOCKS]; /* not stale there */
static char wrong[200];

uint32_t history_now(void)
{
	return ++now;
}

static void add(unsigned first, unsigned count)
{
	struct write *write = &writes[count_of_writes];

	cr_assert_lt(count_of_writes, HISTORY_WRITES);
	*write = (struct write){ .first = first, .count = count, .begun = ++now };
	for (unsigned block = first; block < first + count; block++) {
		cr_assert_lt(count_alive[block], ALIVE);
		alive[block][count_alive[block]++] = count_of_writes;
	}
	count_of_writes++;
}

void history_begin(void)
{
	count_of_writes = now = 0;
	memset(count_alive, 0, sizeof(count_alive));
	add(0, HISTORY_BLOCKS);
	writes[0].ended = ++now;
}

unsigned history_write(unsigned first, unsigned count)
{
	add(first, count);
	return count_of_writes - 1;
}

static uint64_t word_of(unsigned write, unsigned block)
{
	return (uint64_t)write << 32 | block;
}

void history_fill(unsigned write, unsigned first, unsigned count, void *data)
{
	uint64_t *word = data;

	for (unsigned block = first; block < first + count; block++)
		for (unsigned i = 0; i < WORDS; i++)
			*word++ = word_of(write, block);
}

/* In this block writes that ended before that time are older than the given one. */
static void retire(unsigned block, uint32_t before, unsigned except)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < count_alive[block]; i++) {
		struct write *write = &writes[alive[block][i]];

		if (alive[block][i] != except && write->ended && write->ended < before)
			write->stale[block] = now;
		else
			alive[block][kept++] = alive[block][i];
	}
	count_alive[block] = kept;
}

void history_write_done(unsigned number, bool success)
{
	struct write *write = &writes[number];

	cr_assert_not(write->ended);
	write->ended = ++now;
	write->success = success;
	for (unsigned i = 0; success && i < write->count; i++)
		retire(write->first + i, write->begun, number);
}

static bool covers(const struct write *write, unsigned block)
{
	return block >= write->first && block < write->first + write->count;
}

/* The write whose data is in the block. -1: of none, or of several */
static int find_write(unsigned block, const uint64_t *word)
{
	unsigned number = (unsigned)(word[0] >> 32);

	for (unsigned i = 0; i < WORDS; i++)
		if (word[i] != word_of(number, block))
			return -1;
	return number < count_of_writes && covers(&writes[number], block) ? (int)number : -1;
}

static const char *check_block(
	const char *what, unsigned block, const uint64_t *word, uint32_t begun, int *number)
{
	const struct write *write;

	*number = find_write(block, word);
	if (*number < 0) {
		snprintf(wrong, sizeof(wrong), "%s: block %u holds %#llx, no data of one write",
			what, block, (unsigned long long)word[0]);
		return wrong;
	}
	write = &writes[*number];
	if (!write->stale[block] || write->stale[block] > begun)
		return NULL;
	snprintf(wrong, sizeof(wrong),
		"%s: block %u: write %d (begun at %u, done at %u) was replaced at %u, before %u",
		what, block, *number, write->begun, write->ended, write->stale[block], begun);
	return wrong;
}

const char *history_read_done(uint32_t begun, unsigned first, unsigned count, const void *data)
{
	int number;

	now++;
	for (unsigned i = 0; i < count; i++) {
		const uint64_t *word = (const uint64_t *)data + i * WORDS;

		if (check_block("read", first + i, word, begun, &number))
			return wrong;
		retire(first + i, begun, (unsigned)number);
	}
	return NULL;
}

/* Whether a write that had succeeded by then is newer than that one. */
static bool is_replaced(unsigned block, const struct write *old, uint32_t by)
{
	for (const struct write *write = writes; write < writes + count_of_writes; write++)
		if (old->ended && write->success && covers(write, block) && write->ended < by &&
			write->begun > old->ended)
			return true;
	return false;
}

const char *history_flush_done(uint32_t begun, const void *stable)
{
	for (unsigned block = 0; block < HISTORY_BLOCKS; block++) {
		int number = find_write(block, (const uint64_t *)stable + block * WORDS);

		if (number >= 0 && !is_replaced(block, &writes[number], begun))
			continue;
		snprintf(wrong, sizeof(wrong),
			"flush of %u: block %u: write %d is on stable storage", begun, block,
			number);
		return wrong;
	}
	return NULL;
}

const char *history_landed(unsigned first, unsigned count, const void *data)
{
	int number;

	now++;
	for (unsigned i = 0; i < count; i++)
		if (check_block("late write", first + i, (const uint64_t *)data + i * WORDS, now,
			    &number))
			return wrong;
	return NULL;
}
