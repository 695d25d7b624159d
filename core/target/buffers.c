/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fair sharing of data buffers. Of N buffers, one network holds at most half while there is another
 * network on this worker. The last quarter is a reserve: each network can have an equal part of it,
 * at least one buffer. So a network that holds nothing gets one although others hold all they may,
 * and none gets a second one that a network without any waits for. The hosts of a network share its
 * part by the same rules. The reserve runs out only if many hosts stop answering at once; then
 * connections that have stopped are ended. An eighth is for hosts that have returned buffers
 * quickly of late, but half of that also for the first one of a network. */
#include "buffers.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define MSEC    1000000ull
#define TICK_MS (TARGET_HUNGRY_MS / 4)

static unsigned at_least_1(unsigned value)
{
	return value ? value : 1;
}

static unsigned quarter(unsigned count)
{
	return count > 1 ? (count + 3) / 4 : 0;
}

/* What a share can have, from the store down to a connection. */
struct room {
	unsigned most; /* it may hold */
	unsigned left; /* of these are free */
	bool shared;   /* with others */
	bool few;      /* it holds less than its part of the reserve */
};

/* Go down to a member that shares with others; false: it may have no buffer. */
static bool enter(struct room *room, const struct target_share *share)
{
	const struct target_share *up = share->up;
	unsigned reserve = quarter(room->most), left;

	if (up->members == 1)
		return true;
	room->shared = true;
	room->few = share->held < at_least_1(reserve / up->members);
	if (!room->few && (room->left <= reserve || room->left <= up->hungry))
		return false;
	room->most = at_least_1(room->most / 2);
	left = room->most > share->held ? room->most - share->held : 0;
	room->left = left < room->left ? left : room->left;
	return room->left;
}

/* What hosts that are not known to be quick may hold together. first: a network that holds
 * nothing. */
static unsigned unproven_most(const struct target_buffers *store, int quick, bool first)
{
	unsigned count = store->pool->count, kept = quarter(count) / (first ? 4 : 2);

	return count - kept * (unsigned)(TARGET_QUICK - (quick > 0 ? quick : 0)) / TARGET_QUICK;
}

static bool may_use(const struct target_buffers *store, const struct target_share *host)
{
	bool first = store->all.members > 1 && !host->up->held;

	return host->quick == TARGET_QUICK ||
	       store->unproven < unproven_most(store, host->quick, first);
}

/* If a host has several connections, one leaves a quarter to the others: its network path may be
 * dead. */
static bool may_have(const struct target_holder *holder)
{
	const struct target_buffers *store = holder->store;
	const struct target_share *host = holder->part.up;
	struct room room = { .most = store->pool->count, .left = store->free };
	unsigned reserve = quarter(room.most);

	if (!store->free || !may_use(store, host) || !enter(&room, host->up) || !enter(&room, host))
		return false;
	if (!room.shared) {
		room.few = host->held < at_least_1(reserve);
		if (!room.few && room.left <= reserve)
			return false;
		room.most -= reserve;
	}
	return room.few || host->members == 1 || holder->part.held < room.most - room.most / 4;
}

/* now 0: it is not hungry */
static void set_hungry(struct target_share *share, uint64_t now)
{
	share->up->hungry += (now != 0) - (share->hungry_ns != 0);
	share->hungry_ns = now;
}

static void count_held(struct target_holder *holder, int more)
{
	for (struct target_share *share = &holder->part; share; share = share->up)
		share->held += (unsigned)more;
}

static void hand_out(struct target_holder *holder, struct target_claim *claim)
{
	struct target_buffers *store = holder->store;
	unsigned i = store->stack[--store->free];

	claim->buf = pool_buf(store->pool, i);
	store->is_unproven[i] = holder->part.up->quick < TARGET_QUICK;
	store->unproven += store->is_unproven[i];
	count_held(holder, 1);
	for (struct target_share *share = &holder->part; share->up; share = share->up)
		set_hungry(share, 0);
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
	uint64_t now = loop_now(holder->store->loop);
	bool first = !holder->part.lines++;

	claim->waiting = true;
	claim->next = NULL;
	claim->link = holder->line_end;
	*holder->line_end = claim;
	holder->line_end = &claim->next;
	for (struct target_share *share = &holder->part; share->up; share = share->up) {
		if (first) {
			RING_ADD(share->up->turn, share);
			first = !share->up->lines++;
		}
		if (!share->held && !share->hungry_ns)
			set_hungry(share, now);
	}
}

static void line_leave(struct target_claim *claim)
{
	struct target_holder *holder = claim->holder;
	struct target_share *share = &holder->part;

	*claim->link = claim->next;
	*(claim->next ? &claim->next->link : &holder->line_end) = claim->link;
	claim->waiting = false;
	if (--share->lines)
		return;
	do {
		set_hungry(share, 0);
		RING_DEL(share->up->turn, share);
		share = share->up;
	} while (!--share->lines && share->up);
}

/* Serve the next of its commands; false: it may not have a buffer. */
static bool serve_host(struct target_share *host)
{
	for (unsigned i = host->lines; i; i--) {
		struct target_holder *holder = container_of(host->turn, struct target_holder, part);
		struct target_claim *claim = holder->line;

		host->turn = holder->part.next;
		if (!may_have(holder))
			continue;
		line_leave(claim);
		hand_out(holder, claim);
		claim->ready(claim);
		return true;
	}
	return false;
}

static bool serve_network(struct target_share *network)
{
	for (unsigned i = network->lines; i; i--) {
		struct target_share *host = network->turn;

		network->turn = host->next;
		if (serve_host(host))
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
	while (store->free && refused < store->all.lines) {
		struct target_share *network = store->all.turn;

		store->all.turn = network->next;
		refused = serve_network(network) ? 0 : refused + 1;
	}
	store->serving = false;
	if (store->all.turn && !store->watch.on) {
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

/* Whether the holder's peer takes longer than that for a buffer, or completes nothing. */
static bool slow(const struct target_holder *holder, const struct target_claim *claim,
	uint64_t limit_ns, uint64_t now)
{
	uint64_t since = holder->done_ns > claim->peer_ns ? holder->done_ns : claim->peer_ns;

	return now - claim->peer_ns >= limit_ns || now - since >= TARGET_PART_MS * MSEC;
}

static bool within(const struct target_holder *holder, const struct target_share *share)
{
	return !share->up || holder->part.up->up == share;
}

/* Count buffers of the share's connections that wait for their peers. All of a connection's count,
 * as a protocol may wait for one reply at a time. */
static unsigned with_peers(struct target_buffers *store, const struct target_share *share)
{
	unsigned count = 0;

	store->counts++;
	for (struct target_claim *claim = store->peer; claim; claim = claim->next) {
		struct target_holder *holder = claim->holder;

		if (!within(holder, share) || holder->counted == store->counts)
			continue;
		holder->counted = store->counts;
		count += holder->part.held;
	}
	return count;
}

/* Choose the connection to end: of those that have stopped, one of the network that holds most,
 * which was waited for longest. limit_ns is not 0: else also one that is only slow. */
static struct target_holder *worst(struct target_buffers *store, const struct target_share *share,
	uint64_t limit_ns, uint64_t now)
{
	struct target_holder *found[2] = { NULL, NULL };

	for (struct target_claim *claim = store->peer; claim; claim = claim->next) {
		struct target_holder *holder = claim->holder, **at;

		if (holder->ended || !within(holder, share))
			continue;
		if (stopped(holder, claim, now))
			at = &found[0];
		else if (limit_ns && slow(holder, claim, limit_ns, now))
			at = &found[1];
		else
			continue;
		if (!*at || holder->part.up->up->held > (*at)->part.up->up->held)
			*at = holder;
	}
	return found[0] ? found[0] : found[1];
}

/* Whether a member has waited too long without a buffer. */
static bool starving(const struct target_share *share, uint64_t now)
{
	const struct target_share *member = share->turn;

	for (unsigned i = 0; i < share->lines; i++, member = member->next)
		if (member->hungry_ns && now - member->hungry_ns >= TARGET_HUNGRY_MS * MSEC)
			return true;
	return false;
}

static uint64_t slow_limit(unsigned buffers, unsigned hosts)
{
	uint64_t limit = TARGET_SLOW_MS * MSEC, least = TARGET_SLOW_LEAST_MS * MSEC;

	if (hosts > buffers)
		limit = limit * buffers / hosts;
	return limit > least ? limit : least;
}

/* When a member has waited too long, end connections of the share until a buffer will return for
 * each member that waits without one: they are served in turn. If hosts rather than disks hold most
 * buffers, the slow ones go, too. */
static void relieve(struct target_buffers *store, const struct target_share *share, unsigned hosts,
	uint64_t now)
{
	unsigned buffers = share->up ? share->held : store->pool->count, coming = 0;
	unsigned need = 0, most = unproven_most(store, 0, !share->up);
	uint64_t limit = with_peers(store, share) * 2 < buffers ? 0 : slow_limit(buffers, hosts);

	if (starving(share, now))
		need = share->hungry + (store->unproven > most ? store->unproven - most : 0);
	for (struct target_claim *claim = store->peer; claim; claim = claim->next)
		coming += claim->holder->ended && within(claim->holder, share);
	for (;;) {
		struct target_holder *holder = worst(store, share, limit, now);

		if (!holder || coming >= need)
			break;
		holder->ended = true;
		holder->part.up->quick = TARGET_QUICK - TARGET_QUICK_AGAIN;
		coming += holder->part.held;
		store->end(holder);
	}
}

/* A network that holds nothing gets what any other returns, a host what others of its network
 * do. */
static void relieve_hungry(struct target_buffers *store, uint64_t now)
{
	const struct target_share *network = store->all.turn;
	unsigned hosts = 0;

	for (unsigned i = 0; i < store->all.lines; i++, network = network->next)
		hosts += network->hungry;
	if (!hosts)
		return;
	relieve(store, &store->all, hosts, now);
	for (unsigned i = 0; i < store->all.lines; i++, network = network->next)
		if (network->held)
			relieve(store, network, network->hungry, now);
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
	store->is_unproven = calloc(count, sizeof(*store->is_unproven));
	if (!store->stack || !store->is_unproven) {
		free(store->stack);
		free(store->is_unproven);
		pool_free(store->pool);
		store->pool = NULL;
		return diag_sys(diag, ENOMEM, "%u data buffers", count);
	}
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
	assert(store->free == store->pool->count && !store->all.turn && !store->all.members);
	loop_work_del(store->loop, &store->work);
	loop_timer_del(store->loop, &store->watch);
	pool_free(store->pool);
	free(store->stack);
	free(store->is_unproven);
	store->pool = NULL;
}

static void serve_later(struct target_buffers *store)
{
	if (store->all.turn)
		loop_work_add(store->loop, &store->work);
}

void target_buffers_join(
	struct target_buffers *store, struct target_holder *holder, struct target_share *host)
{
	*holder = (struct target_holder){ .store = store, .part.up = host };
	holder->line_end = &holder->line;
	host->up->up = &store->all;
	if (!host->members++ && !host->up->members++)
		store->all.members++;
	serve_later(store);
}

void target_buffers_leave(struct target_holder *holder)
{
	struct target_buffers *store = holder->store;
	struct target_share *host = holder->part.up;

	if (!store)
		return;
	assert(!holder->part.held && !holder->part.lines);
	if (!--host->members && !--host->up->members)
		store->all.members--;
	holder->store = NULL;
	serve_later(store);
}

/* Unless a round is due, no waiting holder may have a buffer, so a newcomer overtakes none. */
bool target_buffers_take(struct target_holder *holder, struct target_claim *claim)
{
	struct target_buffers *store = holder->store;

	claim->holder = holder;
	if (!store->serving && !store->work.on && !holder->part.up->lines && may_have(holder)) {
		hand_out(holder, claim);
		return true;
	}
	line_join(holder, claim);
	if (may_have(holder) || holder->part.up->hungry_ns)
		loop_work_add(store->loop, &store->work);
	return false;
}

void target_buffers_give(struct target_claim *claim)
{
	struct target_holder *holder = claim->holder;
	struct target_buffers *store;
	uint64_t now;
	unsigned i;

	if (claim->waiting) {
		line_leave(claim);
		claim->holder = NULL;
	}
	if (!claim->buf.p)
		return;
	target_buffers_peer_done(claim);
	store = holder->store;
	i = (unsigned)((size_t)(claim->buf.p - store->pool->base) / store->pool->each);
	store->stack[store->free++] = (uint16_t)i;
	store->unproven -= store->is_unproven[i];
	claim->buf.p = NULL;
	claim->holder = NULL;
	count_held(holder, -1);
	if (!store->all.turn)
		return;
	now = loop_now(store->loop);
	for (struct target_share *share = &holder->part; share->up; share = share->up)
		if (!share->held && share->lines)
			set_hungry(share, now);
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
	struct target_share *host;

	if (!claim->peer_ns)
		return;
	store = claim->holder->store;
	host = claim->holder->part.up;
	claim->holder->done_ns = loop_now(store->loop);
	if (claim->holder->done_ns - claim->peer_ns > TARGET_HUNGRY_MS * MSEC)
		host->quick = TARGET_QUICK - TARGET_QUICK_AGAIN;
	else if (host->quick < TARGET_QUICK)
		host->quick++;
	*claim->link = claim->next;
	*(claim->next ? &claim->next->link : &store->peer_end) = claim->link;
	claim->peer_ns = 0;
}
