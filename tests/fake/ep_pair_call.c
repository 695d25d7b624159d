/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Creating in-memory endpoints: dialled, or accepted by a listener. */
#include "../../core/net/iwarp.h"
#include "ep_pair_in.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ep_listener {
	struct ep_peer *peer;
	struct loop *loop;
	struct ep_listen conf;
};

static int accept_call(struct ep **out, struct loop *loop, struct ep_incoming *in,
	const struct ep_caps *local_caps, const struct ep_events *events, void *user,
	struct diag *diag)
{
	struct caller *caller = container_of(in, struct caller, in);
	struct ep_peer *peer = caller->peer;
	struct pair *pair = pair_new(peer, loop, local_caps, events, user),
		    *dialler = caller->dialler;
	int len;

	if (!pair) {
		free(caller);
		return diag_sys(diag, ENOMEM, "endpoint");
	}
	if (in->ord < pair->ep.caps.ord)
		pair->ep.caps.ord = in->ord;
	free(caller);
	if (dialler)
		dialler->call = NULL;
	pair->requested = pair->accepted = true;
	*out = &pair->ep;
	len = ep_request(&pair->ep, peer->reply);
	if (len < 0) {
		if (dialler)
			ep_pair_reject(&dialler->ep, 0, NULL, 0);
		peer->rejected = true;
		assert(pair->ep.why.err);
		pair_end(pair);
		return 0;
	}
	peer->reply_len = (unsigned)len;
	peer->called = &pair->ep;
	loop_work_add(loop, &pair->work);
	if (dialler) {
		pair->other = dialler;
		dialler->other = pair;
		ep_pair_accept(&dialler->ep, peer->reply, (unsigned)len);
	} else if (peer->linked) {
		pair_lost(pair);
	}
	return 0;
}

static void reject_call(struct ep_incoming *in, const void *priv, uint8_t len)
{
	struct caller *caller = container_of(in, struct caller, in);

	if (len)
		memcpy(caller->peer->reply, priv, len);
	caller->peer->reply_len = len;
	caller->peer->rejected = true;
	if (caller->dialler) {
		caller->dialler->call = NULL;
		ep_pair_reject(&caller->dialler->ep, 28, priv, len);
	}
	free(caller);
}

static void call(struct ep_peer *peer, struct pair *dialler, const void *priv, unsigned len,
	uint32_t ord, uint32_t ird)
{
	static const struct ep_incoming_ops call_ops = { accept_call, reject_call };
	struct caller *caller = calloc(1, sizeof(*caller));

	assert(caller && len <= EP_PRIV_MAX);
	caller->in = (struct ep_incoming){
		.priv_len = (uint8_t)len, .ord = ord, .ird = ird, .ops = &call_ops
	};
	if (peer->listener->conf.at.ss.ss_family == ADDR_IB)
		caller->in.local = peer->listener->conf.at;
	caller->peer = peer;
	caller->dialler = dialler;
	if (dialler)
		dialler->call = caller;
	if (len)
		memcpy(caller->in.priv, priv, len);
	peer->called = NULL;
	peer->rejected = false;
	peer->listener->conf.incoming(&caller->in, peer->listener->conf.user);
}

bool ep_pair_call(struct ep_peer *peer, const void *priv, unsigned len, uint32_t ird)
{
	if (!peer->listener)
		return false;
	call(peer, NULL, priv, len, ird, 16);
	return true;
}

void pair_call_other(struct pair *pair, unsigned len)
{
	if (pair->peer->listener)
		call(pair->peer, pair, pair->priv, len, pair->ep.caps.ird, pair->ep.caps.ord);
	else
		ep_pair_reject(&pair->ep, 8, NULL, 0);
}

void ep_pair_lose(struct ep_peer *peer)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_NO_DEVICE, ENODEV, "the RDMA device is gone");
	peer->listener->conf.lost(peer->listener, &why, peer->listener->conf.user);
}

int ep_listen(struct ep_listener **out, struct loop *loop, const struct ep_listen *conf,
	struct diag *diag)
{
	struct loop_local *local = loop_local_find(loop, &ep_pair_key);
	struct ep_peer *peer = local ? container_of(local, struct ep_peer, local) : NULL;
	struct ep_listener *listener = peer ? calloc(1, sizeof(*listener)) : NULL;

	if (!listener)
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "this machine has no RDMA device");
	*listener = (struct ep_listener){ peer, loop, *conf };
	peer->listener = *out = listener;
	return 0;
}

const struct addr *ep_listener_addr(const struct ep_listener *listener)
{
	return &listener->conf.at;
}

void ep_listener_free(struct ep_listener *listener)
{
	listener->peer->listener = NULL;
	free(listener);
}

int ep_dial(struct ep **out, struct loop *loop, const struct ep_dial *dial,
	const struct ep_events *events, void *user, struct diag *diag)
{
	struct loop_local *local = loop_local_find(loop, &ep_pair_key);
	struct ep_peer *peer = local ? container_of(local, struct ep_peer, local) : NULL;
	struct pair *pair;

	if (dial->backend == EP_IWARP) /* needs no device, so it is the real one */
		return iwarp_dial(out, loop, dial, events, user, diag);
	pair = peer ? pair_new(peer, loop, &dial->caps, events, user) : NULL;
	if (!pair)
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "this machine has no RDMA device");
	pair->timeout_ms = dial->timeout_ms;
	/* the least there is: of the RDMA CM over InfiniBand, and of its CM */
	pair->ep.caps.priv_max = dial->dst.ss.ss_family == ADDR_IB ? 92 : 56;
	peer->dials++;
	peer->dst = dial->dst;
	if (dial->timeout_ms)
		loop_timer_set(loop, &pair->deadline, loop_clock() + dial->timeout_ms * 1000000ull);
	loop_work_add(loop, &pair->work);
	*out = &pair->ep;
	return 0;
}
