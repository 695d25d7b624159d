/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which unit attentions mean that a disk may have lost writes, and which writes. */
#include "scsi/cache.h"
#include <criterion/criterion.h>

#define UA(asc, ascq) (2u | 6u << 8 | (uint32_t)(asc) << 16 | (uint32_t)(ascq) << 24)
#define POWER_ON      UA(0x29, 0x01)

#define W SCSI_CACHE_WRITE
#define F SCSI_CACHE_FLUSH
#define R SCSI_CACHE_NONE

static struct scsi_cache cache;
static struct scsi_cache_view view[3];
static struct scsi_cache_sent sent[3];

static void send(unsigned at, enum scsi_cache_use use)
{
	scsi_cache_sending(&cache, &view[at], use, &sent[at]);
}

static bool answer(unsigned at, uint32_t detail)
{
	return scsi_cache_answered(&cache, &view[at], &sent[at], detail);
}

static bool one(unsigned at, enum scsi_cache_use use, uint32_t detail)
{
	send(at, use);
	return answer(at, detail);
}

static void init(void)
{
	cache = (struct scsi_cache){ 0 };
	memset(view, 0, sizeof(view));
}
TestSuite(scsi_cache, .init = init);

Test(scsi_cache, only_what_loses_a_cache)
{
	static const struct {
		uint32_t detail;
		bool loses;
	} rows[] = { { UA(0x29, 0), true }, { UA(0x29, 1), true }, { UA(0x29, 2), false },
		{ UA(0x29, 3), false }, { UA(0x29, 4), true }, { UA(0x29, 7), false },
		{ UA(0x2a, 1), false }, { UA(0x3f, 0x0e), false },
		{ 2 | 5 << 8 | 0x29 << 16, false }, { 0x18 | 6 << 8 | 0x29 << 16, false } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		init();
		cr_assert(!one(0, W, 0));
		cr_assert_eq(one(0, R, rows[i].detail), rows[i].loses, "%08x", rows[i].detail);
	}
}

Test(scsi_cache, only_what_was_not_flushed)
{
	cr_assert(!one(0, R, 0));
	cr_assert(!one(0, R, POWER_ON), "nothing was written");
	cr_assert(!one(0, W, 0));
	cr_assert(!one(0, F, 0));
	cr_assert(!one(0, F, POWER_ON), "all was flushed");
	cr_assert(!one(0, W, 0));
	cr_assert(!one(0, F, 3), "a flush that fails");
	cr_assert(one(0, R, POWER_ON));
	init();
	cr_assert(!one(0, R, 0));
	send(0, F);
	cr_assert(!one(1, W, 0), "answered while the flush is at the disk");
	cr_assert(!answer(0, 0));
	cr_assert(one(1, R, POWER_ON));
}

Test(scsi_cache, attentions_of_a_new_session)
{
	struct scsi_cache_sent other;

	cr_assert(!one(0, W, 0));
	cr_assert(!one(1, R, POWER_ON));
	cr_assert(!one(1, W, 8), "busy");
	cr_assert(!one(1, W, POWER_ON));
	send(1, W);
	scsi_cache_sending(&cache, &view[1], W, &other);
	cr_assert(!answer(1, 0));
	cr_assert(
		!scsi_cache_answered(&cache, &view[1], &other, POWER_ON), "sent together with it");
	cr_assert(one(1, R, POWER_ON));
}

Test(scsi_cache, each_session_reports_the_same_reset)
{
	for (unsigned i = 0; i < 3; i++)
		cr_assert(!one(i, R, 0));
	cr_assert(!one(0, W, POWER_ON), "nothing was written");
	cr_assert(!one(0, W, 0));
	cr_assert(!one(1, W, POWER_ON), "what was written since is there");
	cr_assert(!one(1, W, 0));
	cr_assert(one(0, R, POWER_ON), "another one");
	cr_assert(one(1, R, POWER_ON), "its own");
	cr_assert(!one(2, R, POWER_ON));
}

Test(scsi_cache, an_answer_from_before_the_reset_is_delayed)
{
	cr_assert(!one(0, R, 0));
	cr_assert(!one(1, R, 0));
	send(0, W);
	cr_assert(!one(1, R, POWER_ON));
	cr_assert(!answer(0, 0));
	cr_assert(one(0, F, POWER_ON));
}

/* Linux's target: once for all sessions of an initiator. */
Test(scsi_cache, one_session_reports_for_all)
{
	cr_assert(!one(0, R, 0));
	cr_assert(!one(1, R, 0));
	cr_assert(!one(0, R, POWER_ON));
	cr_assert(!one(0, W, 0));
	cr_assert(!one(1, R, 0), "nothing from this one");
	cr_assert(one(1, R, POWER_ON), "so this is another one");
}

Test(scsi_cache, a_write_fails_after_its_answer)
{
	cr_assert(one(0, W, 2 | 0x8300), "medium error");
	cr_assert(!one(0, W, 2 | 0x8100), "recovered");
	cr_assert(!one(0, W, 2 | 0x0300), "of this one");
}

Test(scsi_cache, a_cache_may_be_turned_on)
{
	struct scsi_cache_sent fresh = { .fresh = true }, later = { 0 };

	cr_assert(scsi_cache_may_be_on(&later, UA(0x29, 3)));
	cr_assert(!scsi_cache_may_be_on(&fresh, UA(0x29, 0)));
	cr_assert(scsi_cache_may_be_on(&fresh, UA(0x2a, 1)));
	cr_assert(!scsi_cache_may_be_on(&later, UA(0x2a, 9)));
	cr_assert(!scsi_cache_may_be_on(&later, 0));
}
