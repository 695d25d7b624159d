/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fair sharing of data buffers. Of N buffers, one host holds at most half while there is another
 * host on this worker. The last quarter is a reserve: each host can have an equal part of it, at
 * least one buffer. So a host that holds nothing gets one although others hold all they may, and
 * none gets a second one that a host without any waits for. The reserve runs out only if many hosts
 * stop answering at once; then connections that have stopped are ended. */
#include "buffers.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define MSEC    1000000ull
#define TICK_MS (TARGET_HUNGRY_MS / 2)

static unsigned at_least_1(unsigned value)
{
	return value ? value : 1;
}

/* If a host has several connections, one leaves a quarter to the others: its network path may be
 * dead. */
static bool may_have(const struct target_holder *holder)
{
	const struct target_buffers *store = holder->store;
	const struct target_share *share = holder->share;
	unsigned count = store->pool->count, most;

	if (!store->free)
		return false;
	if (share->held < at_least_1(store->reserve / at_least_1(store->shares)))
		return true;
	most = store->shares > 1 ? at_least_1(count / 2) : count - store->reserve;
	return store->free > store->reserve && store->free > store->hungry && share->held < most &&
	       holder->held < (share->conns > 1 ? most - most / 4 : most);
}

static void set_hungry(struct target_buffers *store, struct target_share *share, uint64_t now)
{
	store->hungry += (now != 0) - (share->hungry_ns != 0);
	share->hungry_ns = now;
}

static void hand_out(struct target_holder *holder, struct target_claim *claim)
{
	struct target_buffers *store = holder->store;

	claim->buf = pool_buf(store->pool, store->stack[--store->free]);
	holder->held++;
	holder->share->held++;
	set_hungry(store, holder->share, 0);
}

/* Insert at the end, which is before the item whose turn it is. */
#define RING_ADD(turn_, item)                                                                      \
	do {                                                                                       \
		(item)->next = (turn_) ? (turn_) : (item);                                         \
		(item)->prev = (turn_) ? (turn_)->prev : (item);                                   \
		(item)->prev->next = (item)->next->prev = (item);                                  \
		if (!(turn_))                                                                      \
			(turn_) = (item);                                                          \
	} while (0)
#define RING_DEL(turn_, item)                                                                      \
	do {                                                                                       \
		if ((turn_) == (item))                                                             \
			(turn_) = (item)->next == (item) ? NULL : (item)->next;                    \
		(item)->prev->next = (item)->next;                                                 \
		(item)->next->prev = (item)->prev;                                                 \
	} while (0)

static void line_join(struct target_holder *holder, struct target_claim *claim)
{
	struct target_buffers *store = holder->store;
	struct target_share *share = holder->share;

	if (!holder->line) {
		if (!share->lines++) {
			RING_ADD(store->turn, share);
			store->lines++;
		}
		RING_ADD(share->turn, holder);
	}
	claim->waiting = true;
	claim->next = NULL;
	claim->link = holder->line_end;
	*holder->line_end = claim;
	holder->line_end = &claim->next;
	if (!share->held && !share->hungry_ns)
		set_hungry(store, share, loop_now(store->loop));
}

static void line_leave(struct target_claim *claim)
{
	struct target_holder *holder = claim->holder;
	struct target_buffers *store = holder->store;
	struct target_share *share = holder->share;

	*claim->link = claim->next;
	*(claim->next ? &claim->next->link : &holder->line_end) = claim->link;
	claim->waiting = false;
	if (holder->line)
		return;
	RING_DEL(share->turn, holder);
	if (--share->lines)
		return;
	RING_DEL(store->turn, share);
	store->lines--;
	set_hungry(store, share, 0);
}

/* Serve the next of the host's commands; false: it may not have a buffer. */
static bool share_serve(struct target_share *share)
{
	for (unsigned i = share->lines; i; i--) {
		struct target_holder *holder = share->turn;
		struct target_claim *claim = holder->line;

		share->turn = holder->next;
		if (!may_have(holder))
			continue;
		line_leave(claim);
		hand_out(holder, claim);
		claim->ready(claim);
		return true;
	}
	return false;
}

static void relieve_hungry(struct target_buffers *store, uint64_t now);

/* ready() may change everything, so nothing is kept across it. */
static void serve_lines(struct loop_work *work)
{
	struct target_buffers *store = container_of(work, struct target_buffers, work);
	unsigned refused = 0;

	store->serving = true;
	while (store->free && refused < store->lines) {
		struct target_share *share = store->turn;

		store->turn = share->next;
		refused = share_serve(share) ? 0 : refused + 1;
	}
	store->serving = false;
	if (store->turn && !store->watch.on) {
		store->watches++;
		relieve_hungry(store, loop_now(store->loop));
	}
}

/* Record what the holder's peer has moved; true: too little for too long. */
static bool stopped(struct target_holder *holder, const struct target_claim *claim, uint64_t now)
{
	struct target_buffers *store = holder->store;
	bool fresh = holder->watch != store->watches;
	uint64_t moved, since;

	if (fresh || holder->seen_ns != now) {
		moved = store->moved(holder);
		holder->seen_ns = now;
		if (fresh || moved - holder->moved >= TARGET_MOVED_LEAST) {
			holder->watch = store->watches;
			holder->moved = moved;
			holder->still_ns = now;
		}
	}
	since = holder->still_ns > claim->peer_ns ? holder->still_ns : claim->peer_ns;
	return now - since >= TARGET_HUNGRY_MS * MSEC;
}

/* Count buffers of connections that wait for their peers. All of a connection's count, as a
 * protocol may wait for one reply at a time. */
static unsigned with_peers(struct target_buffers *store, uint64_t now)
{
	unsigned count = 0;

	for (struct target_claim *claim = store->peer; claim; claim = claim->next) {
		struct target_holder *holder = claim->holder;

		count += holder->counted_ns == now ? 0 : holder->held;
		holder->counted_ns = now;
	}
	return count;
}

/* Choose the connection to end: of those that have stopped, the one that was waited for longest. If
 * hosts rather than disks hold most buffers, also one that is only slow. */
static struct target_holder *worst(struct target_buffers *store, bool by_hosts, uint64_t now)
{
	struct target_holder *found = NULL, *slow = NULL;

	for (struct target_claim *claim = store->peer; claim; claim = claim->next) {
		struct target_holder *holder = claim->holder;
		bool still = !holder->ended && stopped(holder, claim, now);

		if (still && !found)
			found = holder;
		if (!holder->ended && !slow && by_hosts &&
			now - claim->peer_ns >= TARGET_SLOW_MS * MSEC)
			slow = holder;
	}
	return found ? found : slow;
}

/* Whether a host has waited too long without a buffer. */
static bool starving(const struct target_buffers *store, uint64_t now)
{
	const struct target_share *share = store->turn;

	for (unsigned i = 0; i < store->lines; i++, share = share->next)
		if (share->hungry_ns && now - share->hungry_ns >= TARGET_HUNGRY_MS * MSEC)
			return true;
	return false;
}

/* When a host has waited too long, end connections until a buffer will return for each that waits
 * without one: they are served in turn. */
static void relieve_hungry(struct target_buffers *store, uint64_t now)
{
	unsigned need = starving(store, now) ? store->hungry : 0, coming = 0;
	bool by_hosts;

	if (!store->hungry)
		return;
	by_hosts = with_peers(store, now) * 2 >= store->pool->count;
	for (struct target_claim *claim = store->peer; claim; claim = claim->next)
		coming += claim->holder->ended;
	for (;;) {
		struct target_holder *holder = worst(store, by_hosts, now);

		if (!holder || coming >= need)
			break;
		holder->ended = true;
		coming += holder->held;
		store->end(holder);
	}
	loop_timer_set(store->loop, &store->watch, now + TICK_MS * MSEC);
}

static void watch_fired(struct loop_timer *timer)
{
	struct target_buffers *store = container_of(timer, struct target_buffers, watch);

	relieve_hungry(store, loop_now(store->loop));
}

int target_buffers_init(
	struct target_buffers *store, uint32_t each, uint16_t count, struct diag *diag)
{
	int err = pool_new(&store->pool, each, count, diag);

	if (err)
		return err;
	store->stack = calloc(count, sizeof(*store->stack));
	if (!store->stack) {
		pool_free(store->pool);
		store->pool = NULL;
		return diag_sys(diag, ENOMEM, "%u data buffers", count);
	}
	store->reserve = count > 1 ? (count + 3u) / 4 : 0;
	store->peer_end = &store->peer;
	store->work.run = serve_lines;
	store->watch.fire = watch_fired;
	for (store->free = 0; store->free < count; store->free++)
		store->stack[store->free] = (uint16_t)(count - 1 - store->free);
	return 0;
}

void target_buffers_fini(struct target_buffers *store)
{
	if (!store->pool)
		return;
	assert(store->free == store->pool->count && !store->turn && !store->shares);
	loop_work_del(store->loop, &store->work);
	loop_timer_del(store->loop, &store->watch);
	pool_free(store->pool);
	free(store->stack);
	store->pool = NULL;
}

static void serve_later(struct target_buffers *store)
{
	if (store->turn)
		loop_work_add(store->loop, &store->work);
}

void target_buffers_join(
	struct target_buffers *store, struct target_holder *holder, struct target_share *share)
{
	*holder = (struct target_holder){ .store = store, .share = share };
	holder->line_end = &holder->line;
	store->shares += !share->conns++;
	serve_later(store);
}

void target_buffers_leave(struct target_holder *holder)
{
	struct target_buffers *store = holder->store;

	if (!store)
		return;
	assert(!holder->held && !holder->line);
	store->shares -= !--holder->share->conns;
	holder->store = NULL;
	serve_later(store);
}

/* Unless a round is due, no waiting holder may have a buffer, so a newcomer overtakes none. */
bool target_buffers_take(struct target_holder *holder, struct target_claim *claim)
{
	struct target_buffers *store = holder->store;

	claim->holder = holder;
	if (!store->serving && !store->work.on && !holder->share->lines && may_have(holder)) {
		hand_out(holder, claim);
		return true;
	}
	line_join(holder, claim);
	if (may_have(holder) || holder->share->hungry_ns)
		loop_work_add(store->loop, &store->work);
	return false;
}

void target_buffers_give(struct target_claim *claim)
{
	struct target_holder *holder = claim->holder;
	struct target_share *share;
	struct target_buffers *store;

	if (claim->waiting) {
		line_leave(claim);
		claim->holder = NULL;
	}
	if (!claim->buf.p)
		return;
	target_buffers_peer_done(claim);
	store = holder->store;
	share = holder->share;
	store->stack[store->free++] =
		(uint16_t)((size_t)(claim->buf.p - store->pool->base) / store->pool->each);
	claim->buf.p = NULL;
	claim->holder = NULL;
	holder->held--;
	if (!--share->held && share->lines)
		set_hungry(store, share, loop_now(store->loop));
	serve_later(store);
}

void target_buffers_peer(struct target_claim *claim)
{
	struct target_buffers *store;

	if (!claim->holder)
		return;
	assert(claim->buf.p && !claim->peer_ns);
	store = claim->holder->store;
	claim->peer_ns = loop_now(store->loop);
	claim->next = NULL;
	claim->link = store->peer_end;
	*store->peer_end = claim;
	store->peer_end = &claim->next;
}

void target_buffers_peer_done(struct target_claim *claim)
{
	struct target_buffers *store;

	if (!claim->peer_ns)
		return;
	store = claim->holder->store;
	*claim->link = claim->next;
	*(claim->next ? &claim->next->link : &store->peer_end) = claim->link;
	claim->peer_ns = 0;
}
