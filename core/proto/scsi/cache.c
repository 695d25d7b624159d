/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a disk's volatile write cache may have lost.
 *
 * A disk that was powered on or has reset itself reports POWER ON OCCURRED, DEVICE INTERNAL RESET
 * or, if it can't tell, the general code of all resets (SAM-5 6.2): writes that were answered and
 * not flushed may be gone. A reset by an initiator (BUS RESET, BUS DEVICE RESET FUNCTION) and a
 * lost nexus lose nothing, as a volatile cache is lost with power only (SBC-3 4.15).
 *
 * A new nexus gets the general code, too: the attention counts only for a command that was sent
 * after another one of its session was answered with GOOD. Each nexus gets it once, so that
 * another session may report a reset later that is known; by then there are writes that it did not
 * lose. Some targets report to one nexus of an initiator only: a session has nothing more to
 * report once it has answered a command with GOOD that was sent after the reset became known.
 *
 * A deferred error is about a command that was answered, such as a write that only the cache had.
 */
#include "ini.h"

enum key { RECOVERED = 1, ATTENTION = 6 };

static bool is_attention(uint32_t detail, uint8_t asc)
{
	return (detail & 0xffffff) == (SCSI_CHECK_CONDITION | ATTENTION << 8 | (uint32_t)asc << 16);
}

static bool lost_power(uint32_t detail)
{
	uint8_t ascq = detail >> 24;

	return is_attention(detail, 0x29) && (ascq == 0x00 || ascq == 0x01 || ascq == 0x04);
}

/* Mode parameters have changed, or unsaved ones were lost. */
bool scsi_cache_may_be_on(const struct scsi_cache_sent *sent, uint32_t detail)
{
	return (is_attention(detail, 0x29) && !sent->fresh) ||
	       (is_attention(detail, 0x2a) && detail >> 24 == 0x01);
}

static bool is_deferred(uint32_t detail)
{
	return (detail & 0xff) == SCSI_CHECK_CONDITION && detail & SCSI_INI_DEFERRED &&
	       (detail >> 8 & 0xf) != RECOVERED;
}

static void raise_to(uint64_t *at, uint64_t to)
{
	uint64_t is = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	while (is < to &&
		!__atomic_compare_exchange_n(at, &is, to, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
}

void scsi_cache_sending(struct scsi_cache *cache, const struct scsi_cache_view *view,
	enum scsi_cache_use use, struct scsi_cache_sent *sent)
{
	*sent = (struct scsi_cache_sent){ .use = (uint8_t)use,
		.fresh = !view->answered,
		.resets = __atomic_load_n(&cache->resets, __ATOMIC_ACQUIRE) };
	if (use == SCSI_CACHE_FLUSH)
		sent->since = __atomic_add_fetch(&cache->flushes, 1, __ATOMIC_ACQ_REL);
}

static bool is_unflushed(const struct scsi_cache *cache, const uint64_t *written)
{
	return __atomic_load_n(written, __ATOMIC_ACQUIRE) >
	       __atomic_load_n(&cache->flushed, __ATOMIC_ACQUIRE);
}

static bool was_reset(struct scsi_cache *cache, struct scsi_cache_view *view)
{
	uint32_t known = view->resets;

	if (__atomic_compare_exchange_n(
		    &cache->resets, &known, known + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		view->resets++;
		return is_unflushed(cache, &cache->written);
	}
	view->resets = known; /* another session has reported it */
	return is_unflushed(cache, &view->written);
}

bool scsi_cache_answered(struct scsi_cache *cache, struct scsi_cache_view *view,
	const struct scsi_cache_sent *sent, uint32_t detail)
{
	uint64_t now;

	if (detail)
		return is_deferred(detail) ||
		       (!sent->fresh && lost_power(detail) && was_reset(cache, view));
	if (!view->answered || (int32_t)(sent->resets - view->resets) > 0)
		view->resets = sent->resets;
	view->answered = true;
	if (sent->use == SCSI_CACHE_FLUSH) {
		raise_to(&cache->flushed, sent->since);
	} else if (sent->use == SCSI_CACHE_WRITE) {
		now = __atomic_load_n(&cache->flushes, __ATOMIC_ACQUIRE) + 1;
		view->written = now;
		raise_to(&cache->written, now);
	}
	return false;
}
