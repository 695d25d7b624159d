/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listen on an address with each requested transport. listen.c and the backends implement the
 * listeners; their owner handles the connections. */
#include "ways.h"
#include "tcp.h"
#include <errno.h>
#include <string.h>

#define MSEC     1000000ull
#define RETRY_MS 1000

static void change(struct ways *ways, unsigned up)
{
	__atomic_store_n(&ways->up, up, __ATOMIC_RELEASE);
	if (ways->changed)
		ways->changed(ways);
	if (up)
		ways->first->settled = 1;
}

static void retry_later(struct ways *ways)
{
	loop_timer_set(ways->loop, &ways->retry, loop_clock() + RETRY_MS * MSEC);
}

static void incoming_rdma(struct ep_incoming *incoming, void *user)
{
	struct ways *ways = user;

	ways->rdma(incoming, ways->user);
}

static void lost(struct ep_listener *listener, const struct diag *why, void *user)
{
	struct ways *ways = user;

	loop_trace(ways->loop, "RDMA listener lost: %s", why->text);
	ep_listener_free(listener);
	ways->verbs = NULL;
	change(ways, ways->up & ~(unsigned)WAY_VERBS);
	retry_later(ways);
}

/* Whether the address or device may still appear. The directory of a unix socket will not. */
static bool may_come(const struct ways *ways, int err)
{
	if (ways->at.ss.ss_family == AF_UNIX)
		return false;
	return err == -EADDRNOTAVAIL || err == -ENODEV || err == -ENOENT || err == -ENETDOWN ||
	       err == -ENETUNREACH;
}

static int try_tcp(struct ways *ways, struct diag *why)
{
	unsigned want = ways->want & (WAY_IWARP | WAY_TCP);
	const struct tcp_listen conf = { .at = ways->at,
		.user = ways->user,
		.timeout_ms = ways->timeout_ms,
		.no_crc = ways->no_crc,
		.freebind = ways->freebind,
		.mode = ways->mode,
		.stream = want & WAY_TCP ? ways->stream : NULL,
		.iwarp = want & WAY_IWARP ? ways->rdma : NULL,
		.starved = ways->starved,
		.dropped = ways->dropped };
	int err;

	if (!want || ways->tcp)
		return 0;
	err = tcp_listen(&ways->tcp, ways->loop, &conf, why);
	if (err)
		return err;
	ways->bound = *tcp_listener_addr(ways->tcp);
	change(ways, ways->up | want);
	return 0;
}

static int try_verbs(struct ways *ways, struct diag *why)
{
	const struct ep_listen conf = { .at = ways->tcp ? ways->bound : ways->at,
		.backend = EP_VERBS,
		.incoming = incoming_rdma,
		.lost = lost,
		.user = ways };
	int err;

	if (!(ways->want & WAY_VERBS) || ways->verbs || ways->shared)
		return 0;
	err = ep_listen(&ways->verbs, ways->loop, &conf, why);
	/* The device is iWARP itself: our TCP listener uses its port. */
	if (err == -EADDRINUSE && ways->tcp) {
		ways->shared = true;
		loop_trace(ways->loop,
			"software iWARP only: the iWARP device shares the port with TCP");
		return 0;
	}
	if (err)
		return err;
	if (!ways->tcp)
		ways->bound = *ep_listener_addr(ways->verbs);
	change(ways, ways->up | WAY_VERBS);
	return 0;
}

static void try_all(struct ways *ways)
{
	struct diag tcp = { 0 }, verbs = { 0 };
	int err = try_tcp(ways, &tcp), verbs_err = err ? err : try_verbs(ways, &verbs);
	const struct diag *why = err ? &tcp : &verbs;

	if (!err && !verbs_err)
		return;
	if (strcmp(ways->why.text, why->text))
		loop_trace(ways->loop, "not listening: %s", why->text);
	ways->why = *why;
	/* fail if the only requested transport failed and can't appear later; else retry */
	ways->failed = err ? !may_come(ways, err) : !ways->tcp && !may_come(ways, verbs_err);
	if (ways->failed)
		ways->first->settled = 1;
	retry_later(ways);
}

static void retry(struct loop_timer *timer)
{
	try_all(container_of(timer, struct ways, retry));
}

static int fail(const struct ways *ways, struct diag *diag)
{
	char text[ADDR_TEXT];

	*diag = ways->why;
	return diag_ctx(diag, "%s", addr_text(&ways->at, text));
}

int ways_open(struct ways *ways, unsigned count, struct loop *loop, uint32_t timeout_ms,
	struct diag *diag)
{
	int err = 0;

	ways->settled = 0;
	for (unsigned i = 0; i < count; i++) {
		ways[i].first = ways;
		ways[i].loop = loop;
		ways[i].retry.fire = retry;
		try_all(&ways[i]);
	}
	if (!ways->settled && diag)
		fail(ways, diag); /* what the wait is for */
	if (!loop_wait(loop, &ways->settled, timeout_ms ? loop_clock() + timeout_ms * MSEC : 0))
		err = fail(ways, diag);
	for (unsigned i = 0; i < count && !err; i++)
		if (ways[i].failed)
			err = fail(&ways[i], diag);
	if (err)
		ways_close(ways, count);
	else if (diag)
		*diag = (struct diag){ 0 };
	return err;
}

void ways_close(struct ways *ways, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (!ways[i].loop)
			continue;
		loop_timer_del(ways[i].loop, &ways[i].retry);
		if (ways[i].tcp)
			tcp_listener_free(ways[i].tcp);
		if (ways[i].verbs)
			ep_listener_free(ways[i].verbs);
		ways[i].tcp = NULL;
		ways[i].verbs = NULL;
	}
}
