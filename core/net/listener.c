/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listen at an address over each requested transport, with a tcp_listener (tcp_listen.c) and an
 * ep_listener (verbs_listen.c). The owner handles the connections. */
#include "listener.h"
#include "tcp.h"
#include <errno.h>
#include <string.h>

#define RETRY_MS 1000

static void change(struct listener *listener, unsigned up)
{
	__atomic_store_n(&listener->up, up, __ATOMIC_RELEASE);
	if (listener->changed)
		listener->changed(listener);
	if (up)
		listener->first->settled = 1;
}

static void retry_later(struct listener *listener)
{
	loop_timer_set(listener->loop, &listener->retry, loop_clock() + RETRY_MS * MSEC);
}

static void incoming_rdma(struct ep_incoming *incoming, void *user)
{
	struct listener *listener = user;

	listener->rdma(incoming, listener->user);
}

static void lost(struct ep_listener *verbs, const struct diag *why, void *user)
{
	struct listener *listener = user;

	loop_trace(listener->loop, "RDMA listener lost: %s", why->text);
	ep_listener_free(verbs);
	listener->verbs = NULL;
	change(listener, listener->up & ~(unsigned)TRANSPORT_VERBS);
	retry_later(listener);
}

/* Whether the address or device may still appear. The directory of a unix socket will not. */
static bool may_appear(const struct listener *listener, int err)
{
	if (listener->at.ss.ss_family == AF_UNIX)
		return false;
	return err == -EADDRNOTAVAIL || err == -ENODEV || err == -ENOENT || err == -ENETDOWN ||
	       err == -ENETUNREACH;
}

static int try_tcp(struct listener *listener, struct diag *why)
{
	unsigned transports = listener->transports & (TRANSPORT_IWARP | TRANSPORT_TCP);
	const struct tcp_listen conf = { .at = listener->at,
		.user = listener->user,
		.timeout_ms = listener->timeout_ms,
		.no_crc = listener->no_crc,
		.freebind = listener->freebind,
		.mode = listener->mode,
		.stream = transports & TRANSPORT_TCP ? listener->stream : NULL,
		.iwarp = transports & TRANSPORT_IWARP ? listener->rdma : NULL,
		.starved = listener->starved,
		.dropped = listener->dropped };
	int err;

	if (!transports || listener->tcp)
		return 0;
	err = tcp_listen(&listener->tcp, listener->loop, &conf, why);
	if (err)
		return err;
	listener->bound = *tcp_listener_addr(listener->tcp);
	change(listener, listener->up | transports);
	return 0;
}

static int try_verbs(struct listener *listener, struct diag *why)
{
	const struct ep_listen conf = { .at = listener->tcp ? listener->bound : listener->at,
		.backend = EP_VERBS,
		.incoming = incoming_rdma,
		.lost = lost,
		.user = listener };
	int err;

	if (!(listener->transports & TRANSPORT_VERBS) || listener->verbs || listener->iwarp_device)
		return 0;
	err = ep_listen(&listener->verbs, listener->loop, &conf, why);
	/* The device is iWARP itself: our TCP listener uses its port. */
	if (err == -EADDRINUSE && listener->tcp) {
		listener->iwarp_device = true;
		loop_trace(listener->loop,
			"software iWARP only: the iWARP device shares the port with TCP");
		return 0;
	}
	if (err)
		return err;
	if (!listener->tcp)
		listener->bound = *ep_listener_addr(listener->verbs);
	change(listener, listener->up | TRANSPORT_VERBS);
	return 0;
}

static void try_all(struct listener *listener)
{
	struct diag tcp = { 0 }, verbs = { 0 };
	int err = try_tcp(listener, &tcp), verbs_err = err ? err : try_verbs(listener, &verbs);
	const struct diag *why = err ? &tcp : &verbs;

	if (!err && !verbs_err)
		return;
	if (strcmp(listener->why.text, why->text))
		loop_trace(listener->loop, "not listening: %s", why->text);
	listener->why = *why;
	/* fail if the only requested transport failed and can't appear later; else retry */
	listener->failed = err ? !may_appear(listener, err)
			       : !listener->tcp && !may_appear(listener, verbs_err);
	if (listener->failed)
		listener->first->settled = 1;
	retry_later(listener);
}

static void retry(struct loop_timer *timer)
{
	try_all(container_of(timer, struct listener, retry));
}

static int fail(const struct listener *listener, struct diag *diag)
{
	char text[ADDR_TEXT];

	*diag = listener->why;
	return diag_ctx(diag, "%s", addr_text(&listener->at, text));
}

int listeners_open(struct listener *listener, unsigned count, struct loop *loop,
	uint32_t timeout_ms, struct diag *diag)
{
	int err = 0;

	listener->settled = 0;
	for (unsigned i = 0; i < count; i++) {
		listener[i].first = listener;
		listener[i].loop = loop;
		listener[i].retry.fire = retry;
		try_all(&listener[i]);
	}
	if (!listener->settled && diag)
		fail(listener, diag); /* the reason to wait */
	if (!loop_wait(loop, &listener->settled, timeout_ms ? loop_clock() + timeout_ms * MSEC : 0))
		err = fail(listener, diag);
	for (unsigned i = 0; i < count && !err; i++)
		if (listener[i].failed)
			err = fail(&listener[i], diag);
	if (err)
		listeners_close(listener, count);
	else if (diag)
		*diag = (struct diag){ 0 };
	return err;
}

void listeners_close(struct listener *listener, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (!listener[i].loop)
			continue;
		loop_timer_del(listener[i].loop, &listener[i].retry);
		if (listener[i].tcp)
			tcp_listener_free(listener[i].tcp);
		if (listener[i].verbs)
			ep_listener_free(listener[i].verbs);
		listener[i].tcp = NULL;
		listener[i].verbs = NULL;
	}
}
