/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Accept connections over verbs. A listener has its own event channel; an incoming connection moves
 * to the channel of the loop that accepts it, possibly in another thread. */
#include "min.h"
#include "verbs.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define BACKLOG   INT_MAX /* the kernel cuts it to net.rdma_ucm.max_backlog */
#define ACCEPT_MS 5000    /* time between our reply and the peer's confirmation */

struct shared_channel { /* closing the channel would end ids that have not moved away yet */
	struct rdma_event_channel *channel;
	atomic_uint refs;
};

struct verbs_listener {
	struct ep_listener *owner;
	struct loop *loop;
	struct ep_listen conf;
	struct shared_channel *shared;
	struct loop_fd fd;
	struct rdma_cm_id *id;
	struct addr at;
};

struct incoming {
	struct ep_incoming in;
	struct rdma_cm_id *id;
	struct shared_channel *shared;
};

static void channel_put(struct shared_channel *shared)
{
	if (atomic_fetch_sub(&shared->refs, 1) > 1)
		return;
	rdma_destroy_event_channel(shared->channel);
	free(shared);
}

static void incoming_free(struct incoming *incoming)
{
	channel_put(incoming->shared);
	free(incoming);
}

static void reject(struct ep_incoming *in, const void *priv, uint8_t len)
{
	struct incoming *incoming = container_of(in, struct incoming, in);

	rdma_reject(incoming->id, priv, len);
	rdma_destroy_id(incoming->id);
	incoming_free(incoming);
}

/* Answer on the new owner's channel: device, queues, request(), reply. 0, or -errno with ve->ep.why
 * set. */
static int answer(struct verbs_ep *ve)
{
	uint8_t priv[EP_PRIV_MAX];
	struct rdma_conn_param param = { .private_data = priv, .rnr_retry_count = 7 };
	int len = verbs_prepare(ve, priv);

	if (len < 0 || ve->ep.state != EP_CONNECTING)
		return len < 0 ? len : 0;
	param.private_data_len = (uint8_t)len;
	param.responder_resources = (uint8_t)ve->ep.caps.ird;
	param.initiator_depth = (uint8_t)ve->ep.caps.ord;
	if (rdma_accept(ve->id, &param))
		return diag_sys(verbs_why(ve), errno, "accept the connection");
	loop_timer_set(ve->ep.loop, &ve->timer, loop_clock() + ACCEPT_MS * MSEC);
	return 0;
}

static int accept_(struct ep **out, struct loop *loop, struct ep_incoming *in,
	const struct ep_caps *caps, const struct ep_events *events, void *user, struct diag *diag)
{
	struct incoming *incoming = container_of(in, struct incoming, in);
	struct verbs_ep *ve = calloc(1, sizeof(*ve));
	int err = ve ? verbs_init(ve, loop, caps, events, user, diag)
		     : diag_sys(diag, ENOMEM, "RDMA connection");

	if (!err && rdma_migrate_id(incoming->id, ve->verbs->channel)) {
		err = diag_sys(diag, errno, "accept an RDMA connection");
		verbs_slot_release(ve);
	}
	if (err) {
		free(ve);
		reject(in, NULL, 0);
		return err;
	}
	ve->id = incoming->id;
	ve->id->context = ve;
	ve->passive = true;
	ve->step = VERBS_CONNECT;
	ve->timeout_ms = ACCEPT_MS;
	ve->dst = in->peer.ss;
	ve->ep.caps.ord = min_u32(caps->ord, in->ord);
	ve->ep.caps.ird = min_u32(caps->ird, in->ird);
	incoming_free(incoming);
	*out = &ve->ep;
	if (answer(ve) < 0) {
		rdma_reject(ve->id, NULL, 0);
		verbs_close(&ve->ep);
	}
	return 0;
}

static const struct ep_incoming_ops incoming_ops = { accept_, reject };

static void connect_request(struct verbs_listener *listener, struct rdma_cm_id *id,
	const struct rdma_conn_param *param, const uint8_t *priv)
{
	struct incoming *incoming = calloc(1, sizeof(*incoming));

	id->context = NULL;
	if (!incoming) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return;
	}
	incoming->id = id;
	incoming->shared = listener->shared;
	atomic_fetch_add(&listener->shared->refs, 1);
	incoming->in.ops = &incoming_ops;
	incoming->in.ord = param->initiator_depth;
	incoming->in.ird = param->responder_resources;
	incoming->in.priv_len =
		param->private_data_len < EP_PRIV_MAX ? param->private_data_len : EP_PRIV_MAX;
	memcpy(incoming->in.priv, priv, incoming->in.priv_len);
	incoming->in.peer = verbs_addr(rdma_get_peer_addr(id));
	incoming->in.local = verbs_addr(rdma_get_local_addr(id));
	listener->conf.incoming(&incoming->in, listener->conf.user);
}

static void removed(struct verbs_listener *listener)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_NO_DEVICE, ENODEV, "the RDMA device was removed");
	loop_fd_del(listener->loop, &listener->fd);
	rdma_destroy_id(listener->id);
	listener->id = NULL;
	listener->conf.lost(listener->owner, &why, listener->conf.user);
}

/* One event per turn, as the upcall may free the listener. */
static void readable(struct loop_fd *fd, uint32_t events)
{
	struct verbs_listener *listener = container_of(fd, struct verbs_listener, fd);
	struct rdma_conn_param param;
	uint8_t priv[EP_PRIV_MAX] = { 0 };
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	(void)events;
	if (rdma_get_cm_event(listener->shared->channel, &event))
		return;
	type = event->event;
	id = event->id;
	param = event->param.conn;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST && param.private_data)
		memcpy(priv, param.private_data,
			param.private_data_len < EP_PRIV_MAX ? param.private_data_len
							     : EP_PRIV_MAX);
	rdma_ack_cm_event(event);
	loop_trace(listener->loop, "rdma cm: %s on a listener", rdma_event_str(type));
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		connect_request(listener, id, &param, priv);
	else if (type == RDMA_CM_EVENT_DEVICE_REMOVAL && id == listener->id)
		removed(listener);
}

static int bind_and_listen(struct verbs_listener *listener, struct diag *diag)
{
	struct rdma_cm_id *id = listener->id;
	const char *dev = listener->conf.dev;
	char host[ADDR_TEXT];
	int on = 1;

	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on));
	if (rdma_bind_addr(id, (struct sockaddr *)&listener->conf.at.ss))
		return errno == ENODEV || errno == EADDRNOTAVAIL
			       ? diag_set(diag, DIAG_NO_DEVICE, errno,
					 "no RDMA device has the address %s",
					 addr_host(&listener->conf.at, host))
			       : diag_sys(diag, errno, "bind");
	if (dev && (!id->verbs || strcmp(ibv_get_device_name(id->verbs->device), dev)))
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV,
			"the address belongs to %s, not to '%s'",
			id->verbs ? ibv_get_device_name(id->verbs->device) : "no single device",
			dev);
	if (rdma_listen(id, BACKLOG))
		return errno == EADDRINUSE && id->verbs &&
				       id->verbs->device->transport_type == IBV_TRANSPORT_IWARP
			       ? diag_set(diag, DIAG_BUSY, errno,
					 "port in use: iWARP device %s shares its ports with TCP",
					 ibv_get_device_name(id->verbs->device))
			       : diag_sys(diag, errno, "listen");
	listener->at = verbs_addr(rdma_get_local_addr(id));
	return 0;
}

int verbs_listen(struct verbs_listener **out, struct ep_listener *owner, struct loop *loop,
	const struct ep_listen *conf, struct diag *diag)
{
	struct verbs_listener *listener = calloc(1, sizeof(*listener));
	struct shared_channel *shared = calloc(1, sizeof(*shared));
	struct verbs *verbs;
	int err = listener && shared ? verbs_of_loop(&verbs, loop, diag)
				     : diag_sys(diag, ENOMEM, "listener");

	if (!err) {
		shared->channel = rdma_create_event_channel();
		err = shared->channel ? 0
				      : diag_sys(diag, errno, "open the RDMA connection manager");
	}
	if (err) {
		free(shared);
		free(listener);
		return err;
	}
	atomic_store(&shared->refs, 1);
	*listener = (struct verbs_listener){ .owner = owner,
		.loop = loop,
		.conf = *conf,
		.shared = shared,
		.fd = { .fd = shared->channel->fd, .events = EPOLLIN, .ready = readable } };
	fcntl(shared->channel->fd, F_SETFL, fcntl(shared->channel->fd, F_GETFL) | O_NONBLOCK);
	if (rdma_create_id(shared->channel, &listener->id, listener, verbs_space(&conf->at)))
		err = diag_sys(diag, errno, "listener");
	if (!err)
		err = bind_and_listen(listener, diag);
	if (!err)
		err = loop_fd_add(loop, &listener->fd, diag);
	if (err) {
		verbs_listener_free(listener);
		return err;
	}
	*out = listener;
	return 0;
}

const struct addr *verbs_listener_addr(const struct verbs_listener *listener)
{
	return &listener->at;
}

void verbs_listener_free(struct verbs_listener *listener)
{
	loop_fd_del(listener->loop, &listener->fd);
	if (listener->id)
		rdma_destroy_id(listener->id);
	channel_put(listener->shared);
	free(listener);
}
