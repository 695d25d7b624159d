/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fair sharing of data buffers. While there is another network on this worker, a network holds at
 * most half of them. The last quarter is a reserve: each network can have an equal part of it
 * and at least one buffer. So a network without a buffer gets one even if others hold all they may,
 * and before others get a second one of the reserve. The hosts of a network share its buffers by
 * the same rules. The reserve runs out only if many hosts stop responding at once; then their
 * connections are ended. An eighth is for hosts that have returned buffers quickly of late, half of
 * that also for the first buffer of a network. */
#include "buffers.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define TICK_MS (TARGET_STARVED_MS / 4)

static unsigned at_least_1(unsigned value)
{
	return value ? value : 1;
}

static unsigned quarter(unsigned count)
{
	return count > 1 ? (count + 3) / 4 : 0;
}

/* What a network, host or connection may still get. */
struct room {
	unsigned most; /* limit */
	unsigned left; /* free buffers below the limit */
	bool shared;   /* with others */
	bool few;      /* it holds less than its part of the reserve */
};

/* Apply the limits of one level if its parent has other members. False: no buffer for it. */
static bool enter(struct room *room, const struct target_quota *quota)
{
	const struct target_quota *up = quota->up;
	unsigned reserve = quarter(room->most), left;

	if (up->members == 1)
		return true;
	room->shared = true;
	room->few = quota->held < at_least_1(reserve / up->members);
	if (!room->few && (room->left <= reserve || room->left <= up->starved))
		return false;
	room->most = at_least_1(room->most / 2);
	left = room->most > quota->held ? room->most - quota->held : 0;
	room->left = left < room->left ? left : room->left;
	return room->left;
}

/* Limit of the buffers held by hosts not known to be quick. first: for a network without any. */
static unsigned unproven_most(const struct target_buffers *store, int quick, bool first)
{
	unsigned count = store->pool->count, kept = quarter(count) / (first ? 4 : 2);

	return count - kept * (unsigned)(TARGET_QUICK - (quick > 0 ? quick : 0)) / TARGET_QUICK;
}

static bool may_use(const struct target_buffers *store, const struct target_quota *host)
{
	bool first = store->all.members > 1 && !host->up->held;

	return host->quick == TARGET_QUICK ||
	       store->unproven < unproven_most(store, host->quick, first);
}

/* If a host has several connections, each leaves a quarter to the others, as its path may be
 * dead. */
static bool may_have(const struct target_conn_quota *conn_quota)
{
	const struct target_buffers *store = conn_quota->store;
	const struct target_quota *host = conn_quota->quota.up;
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
	return room.few || host->members == 1 || conn_quota->quota.held < room.most - room.most / 4;
}

/* now 0: not starved */
static void set_starved(struct target_quota *quota, uint64_t now)
{
	quota->up->starved += (now != 0) - (quota->starved_ns != 0);
	quota->starved_ns = now;
}

static void count_held(struct target_conn_quota *conn_quota, int more)
{
	for (struct target_quota *quota = &conn_quota->quota; quota; quota = quota->up)
		quota->held += (unsigned)more;
}

static void assign_buffer(
	struct target_conn_quota *conn_quota, struct target_buf_request *buf_request)
{
	struct target_buffers *store = conn_quota->store;
	unsigned i = store->stack[--store->free];

	buf_request->buf = pool_buf(store->pool, i);
	store->is_unproven[i] = conn_quota->quota.up->quick < TARGET_QUICK;
	store->unproven += store->is_unproven[i];
	count_held(conn_quota, 1);
	for (struct target_quota *quota = &conn_quota->quota; quota->up; quota = quota->up)
		set_starved(quota, 0);
}

/* Insert at the end of the ring, which is before its first item. */
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

static void enqueue(struct target_conn_quota *conn_quota, struct target_buf_request *buf_request)
{
	uint64_t now = loop_now(conn_quota->store->loop);
	bool first = !conn_quota->quota.waiters++;

	buf_request->waiting = true;
	buf_request->next = NULL;
	buf_request->link = conn_quota->queue_end;
	*conn_quota->queue_end = buf_request;
	conn_quota->queue_end = &buf_request->next;
	for (struct target_quota *quota = &conn_quota->quota; quota->up; quota = quota->up) {
		if (first) {
			RING_ADD(quota->up->turn, quota);
			first = !quota->up->waiters++;
		}
		if (!quota->held && !quota->starved_ns)
			set_starved(quota, now);
	}
}

static void dequeue(struct target_buf_request *buf_request)
{
	struct target_conn_quota *conn_quota = buf_request->conn_quota;
	struct target_quota *quota = &conn_quota->quota;

	*buf_request->link = buf_request->next;
	*(buf_request->next ? &buf_request->next->link : &conn_quota->queue_end) =
		buf_request->link;
	buf_request->waiting = false;
	if (--quota->waiters)
		return;
	do {
		set_starved(quota, 0);
		RING_DEL(quota->up->turn, quota);
		quota = quota->up;
	} while (!--quota->waiters && quota->up);
}

/* Assign a buffer to its next command. False: it may not have one. */
static bool serve_host(struct target_quota *host)
{
	for (unsigned i = host->waiters; i; i--) {
		struct target_conn_quota *conn_quota =
			container_of(host->turn, struct target_conn_quota, quota);
		struct target_buf_request *buf_request = conn_quota->queue;

		host->turn = conn_quota->quota.next;
		if (!may_have(conn_quota))
			continue;
		dequeue(buf_request);
		assign_buffer(conn_quota, buf_request);
		buf_request->ready(buf_request);
		return true;
	}
	return false;
}

static bool serve_network(struct target_quota *network)
{
	for (unsigned i = network->waiters; i; i--) {
		struct target_quota *host = network->turn;

		network->turn = host->next;
		if (serve_host(host))
			return true;
	}
	return false;
}

static void relieve_starved(struct target_buffers *store, uint64_t now);

/* ready() may change everything: keep no state across it. */
static void serve_waiters(struct loop_work *work)
{
	struct target_buffers *store = container_of(work, struct target_buffers, work);
	unsigned refused = 0;

	store->serving = true;
	while (store->free && refused < store->all.waiters) {
		struct target_quota *network = store->all.turn;

		store->all.turn = network->next;
		refused = serve_network(network) ? 0 : refused + 1;
	}
	store->serving = false;
	if (store->all.turn && !store->watch.on) {
		store->watches++;
		relieve_starved(store, loop_now(store->loop));
	}
}

/* Record what the peer has moved. True: too little for too long. */
static bool stopped(struct target_conn_quota *conn_quota,
	const struct target_buf_request *buf_request, uint64_t now)
{
	struct target_buffers *store = conn_quota->store;
	bool fresh = conn_quota->watch != store->watches;
	uint64_t moved, since;

	if (fresh || conn_quota->seen_ns != now) {
		moved = store->moved(conn_quota);
		conn_quota->seen_ns = now;
		if (fresh || moved - conn_quota->moved >= TARGET_MOVED_LEAST) {
			conn_quota->watch = store->watches;
			conn_quota->moved = moved;
			conn_quota->still_ns = now;
		}
	}
	since = conn_quota->still_ns > buf_request->peer_ns ? conn_quota->still_ns
							    : buf_request->peer_ns;
	return now - since >= TARGET_STARVED_MS * MSEC;
}

/* Return whether the peer takes longer than the limit for a buffer, or completes nothing. */
static bool slow(const struct target_conn_quota *conn_quota,
	const struct target_buf_request *buf_request, uint64_t limit_ns, uint64_t now)
{
	uint64_t since = conn_quota->done_ns > buf_request->peer_ns ? conn_quota->done_ns
								    : buf_request->peer_ns;

	return now - buf_request->peer_ns >= limit_ns || now - since >= TARGET_PART_MS * MSEC;
}

static bool within(const struct target_conn_quota *conn_quota, const struct target_quota *quota)
{
	return !quota->up || conn_quota->quota.up->up == quota;
}

/* Count buffers of connections that wait for their peers: all of such a connection, as a protocol
 * may wait for one reply at a time. */
static unsigned with_peers(struct target_buffers *store, const struct target_quota *quota)
{
	unsigned count = 0;

	store->counts++;
	for (struct target_buf_request *buf_request = store->peer; buf_request;
		buf_request = buf_request->next) {
		struct target_conn_quota *conn_quota = buf_request->conn_quota;

		if (!within(conn_quota, quota) || conn_quota->counted == store->counts)
			continue;
		conn_quota->counted = store->counts;
		count += conn_quota->quota.held;
	}
	return count;
}

/* Choose the connection to end: of those that have stopped responding, in the network that holds
 * most, the one waited for longest. Without such a one, and if limit_ns is not 0: a slow one. */
static struct target_conn_quota *worst(struct target_buffers *store,
	const struct target_quota *quota, uint64_t limit_ns, uint64_t now)
{
	struct target_conn_quota *found[2] = { NULL, NULL };

	for (struct target_buf_request *buf_request = store->peer; buf_request;
		buf_request = buf_request->next) {
		struct target_conn_quota *conn_quota = buf_request->conn_quota, **at;

		if (conn_quota->conn_ended || !within(conn_quota, quota))
			continue;
		if (stopped(conn_quota, buf_request, now))
			at = &found[0];
		else if (limit_ns && slow(conn_quota, buf_request, limit_ns, now))
			at = &found[1];
		else
			continue;
		if (!*at || conn_quota->quota.up->up->held > (*at)->quota.up->up->held)
			*at = conn_quota;
	}
	return found[0] ? found[0] : found[1];
}

/* Return whether a member has waited too long without a buffer. */
static bool starving(const struct target_quota *quota, uint64_t now)
{
	const struct target_quota *member = quota->turn;

	for (unsigned i = 0; i < quota->waiters; i++, member = member->next)
		if (member->starved_ns && now - member->starved_ns >= TARGET_STARVED_MS * MSEC)
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

/* If a member has waited too long, end connections until a buffer will return for each member that
 * waits without one. If peers rather than disks hold most buffers, end slow ones, too. */
static void relieve(struct target_buffers *store, const struct target_quota *quota, unsigned hosts,
	uint64_t now)
{
	unsigned buffers = quota->up ? quota->held : store->pool->count, coming = 0;
	unsigned need = 0, most = unproven_most(store, 0, !quota->up);
	uint64_t limit = with_peers(store, quota) * 2 < buffers ? 0 : slow_limit(buffers, hosts);

	if (starving(quota, now))
		need = quota->starved + (store->unproven > most ? store->unproven - most : 0);
	for (struct target_buf_request *buf_request = store->peer; buf_request;
		buf_request = buf_request->next)
		coming += buf_request->conn_quota->conn_ended &&
			  within(buf_request->conn_quota, quota);
	for (;;) {
		struct target_conn_quota *conn_quota = worst(store, quota, limit, now);

		if (!conn_quota || coming >= need)
			break;
		conn_quota->conn_ended = true;
		conn_quota->quota.up->quick = TARGET_QUICK - TARGET_QUICK_AGAIN;
		coming += conn_quota->quota.held;
		store->end(conn_quota);
	}
}

/* A network without a buffer can get one of any other network, a host one of its own network. */
static void relieve_starved(struct target_buffers *store, uint64_t now)
{
	const struct target_quota *network = store->all.turn;
	unsigned hosts = 0;

	for (unsigned i = 0; i < store->all.waiters; i++, network = network->next)
		hosts += network->starved;
	if (!hosts)
		return;
	relieve(store, &store->all, hosts, now);
	for (unsigned i = 0; i < store->all.waiters; i++, network = network->next)
		if (network->held)
			relieve(store, network, network->starved, now);
	loop_timer_set(store->loop, &store->watch, now + TICK_MS * MSEC);
}

static void watch_fired(struct loop_timer *timer)
{
	struct target_buffers *store = container_of(timer, struct target_buffers, watch);

	relieve_starved(store, loop_now(store->loop));
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
	store->work.run = serve_waiters;
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

void target_buffers_join(struct target_buffers *store, struct target_conn_quota *conn_quota,
	struct target_quota *host)
{
	*conn_quota = (struct target_conn_quota){ .store = store, .quota.up = host };
	conn_quota->queue_end = &conn_quota->queue;
	host->up->up = &store->all;
	if (!host->members++ && !host->up->members++)
		store->all.members++;
	serve_later(store);
}

void target_buffers_leave(struct target_conn_quota *conn_quota)
{
	struct target_buffers *store = conn_quota->store;
	struct target_quota *host = conn_quota->quota.up;

	if (!store)
		return;
	assert(!conn_quota->quota.held && !conn_quota->quota.waiters);
	if (!--host->members && !--host->up->members)
		store->all.members--;
	conn_quota->store = NULL;
	serve_later(store);
}

/* Unless work is scheduled, no waiting connection may have a buffer, so none is overtaken. */
bool target_buffers_take(
	struct target_conn_quota *conn_quota, struct target_buf_request *buf_request)
{
	struct target_buffers *store = conn_quota->store;

	buf_request->conn_quota = conn_quota;
	if (!store->serving && !store->work.on && !conn_quota->quota.up->waiters &&
		may_have(conn_quota)) {
		assign_buffer(conn_quota, buf_request);
		return true;
	}
	enqueue(conn_quota, buf_request);
	if (may_have(conn_quota) || conn_quota->quota.up->starved_ns)
		loop_work_add(store->loop, &store->work);
	return false;
}

void target_buffers_release(struct target_buf_request *buf_request)
{
	struct target_conn_quota *conn_quota = buf_request->conn_quota;
	struct target_buffers *store;
	uint64_t now;
	unsigned i;

	if (buf_request->waiting) {
		dequeue(buf_request);
		buf_request->conn_quota = NULL;
	}
	if (!buf_request->buf.p)
		return;
	target_buffers_end_peer_wait(buf_request);
	store = conn_quota->store;
	i = (unsigned)((size_t)(buf_request->buf.p - store->pool->base) / store->pool->each);
	store->stack[store->free++] = (uint16_t)i;
	store->unproven -= store->is_unproven[i];
	buf_request->buf.p = NULL;
	buf_request->conn_quota = NULL;
	count_held(conn_quota, -1);
	if (!store->all.turn)
		return;
	now = loop_now(store->loop);
	for (struct target_quota *quota = &conn_quota->quota; quota->up; quota = quota->up)
		if (!quota->held && quota->waiters)
			set_starved(quota, now);
	serve_later(store);
}

void target_buffers_begin_peer_wait(struct target_buf_request *buf_request)
{
	struct target_buffers *store;

	if (!buf_request->conn_quota)
		return;
	assert(buf_request->buf.p && !buf_request->peer_ns);
	store = buf_request->conn_quota->store;
	buf_request->peer_ns = loop_now(store->loop);
	buf_request->next = NULL;
	buf_request->link = store->peer_end;
	*store->peer_end = buf_request;
	store->peer_end = &buf_request->next;
}

void target_buffers_end_peer_wait(struct target_buf_request *buf_request)
{
	struct target_buffers *store;
	struct target_quota *host;

	if (!buf_request->peer_ns)
		return;
	store = buf_request->conn_quota->store;
	host = buf_request->conn_quota->quota.up;
	buf_request->conn_quota->done_ns = loop_now(store->loop);
	if (buf_request->conn_quota->done_ns - buf_request->peer_ns > TARGET_STARVED_MS * MSEC)
		host->quick = TARGET_QUICK - TARGET_QUICK_AGAIN;
	else if (host->quick < TARGET_QUICK)
		host->quick++;
	*buf_request->link = buf_request->next;
	*(buf_request->next ? &buf_request->next->link : &store->peer_end) = buf_request->link;
	buf_request->peer_ns = 0;
}
