/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections over librdmacm: resolve, connect, reject, disconnect, and error texts. An event is
 * copied and acknowledged before it is handled, because destroying an id waits for the
 * acknowledgement. */
#include "verbs.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE_MS            500 /* time for the peer's answer to a disconnect */
#define KERNEL_MS           60000
#define REJ_INVALID_SERVICE 8
#define REJ_CONSUMER        28

struct cm_event {
	struct verbs_ep *ve;
	enum rdma_cm_event_type type;
	int status;
	uint8_t ord, ird, priv_len;
	uint8_t priv[EP_PRIV_MAX];
};

static const char *const step_names[] = {
	[VERBS_ADDR] = "address resolution",
	[VERBS_ROUTE] = "route resolution",
	[VERBS_CONNECT] = "connecting",
	[VERBS_LIVE] = "the connection",
};

/* InfiniBand Architecture 1.4, section 12.6.7.2 */
static const char *const reject_texts[] = {
	[1] = "no queue pair left",
	[2] = "no end-to-end context left",
	[3] = "no resources left",
	[4] = "time-out",
	[5] = "request not supported",
	[6] = "invalid communication id",
	[7] = "invalid communication instance",
	[9] = "transport type not supported",
	[10] = "stale connection: the peer still holds an older one of this host",
	[11] = "no such reliable datagram channel",
	[12] = "invalid GID",
	[13] = "invalid LID",
	[14] = "invalid service level",
	[15] = "invalid traffic class",
	[16] = "invalid hop limit",
	[17] = "invalid packet rate",
	[24] = "redirected to another connection manager",
	[25] = "redirected to another port",
	[26] = "path MTU not supported",
	[27] = "not enough responder resources",
	[REJ_CONSUMER] = "rejected by the upper layer",
	[29] = "invalid RNR retry count",
	[30] = "duplicate communication id",
	[31] = "class version not supported",
	[32] = "invalid flow label",
	[35] = "vendor option not supported",
};

static const char *sock_text(const struct sockaddr *sa, bool port, char out[ADDR_TEXT])
{
	struct addr addr = verbs_addr(sa);

	return port ? addr_text(&addr, out) : addr_host(&addr, out);
}

struct diag *verbs_why(struct verbs_ep *ve)
{
	if (ve->ep.why.err && !ve->vague)
		return NULL;
	ve->vague = false;
	ve->ep.why = (struct diag){ 0 };
	return &ve->ep.why;
}

/* Release everything that the device or the connection manager could still access; `down`
 * follows. */
static void release_ep(struct verbs_ep *ve)
{
	loop_timer_del(ve->ep.loop, &ve->timer);
	if (!ve->id)
		return;
	if (ve->step == VERBS_CONNECT && ve->dev && ve->dev->iwarp)
		verbs_cm_call_destroy(ve);
	verbs_cm_call_join(ve);
	verbs_queue_free(ve);
	verbs_slot_release(ve);
	if (ve->id)
		rdma_destroy_id(ve->id);
	ve->id = NULL;
	loop_work_add(ve->ep.loop, &ve->retire);
}

static void retire(struct loop_work *work)
{
	struct verbs_ep *ve = container_of(work, struct verbs_ep, retire);
	ve->ep.state = EP_DOWN;
	loop_trace(ve->ep.loop, "%s: down%s%s", ve->ep.route, ve->ep.why.err ? ": " : "",
		ve->ep.why.text);
	ve->ep.ev->down(&ve->ep);
}

static void disconnect(struct verbs_ep *ve)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	if (rdma_disconnect(ve->id))
		ibv_modify_qp(ve->id->qp, &attr, IBV_QP_STATE);
}

void verbs_close(struct ep *ep)
{
	struct verbs_ep *ve = verbs_ep(ep);
	bool was_up = ep->state == EP_UP;

	if (ep->state >= EP_CLOSING)
		return;
	ep->state = EP_CLOSING;
	if (!was_up) {
		release_ep(ve);
		return;
	}
	loop_timer_set(ep->loop, &ve->timer, loop_now(ep->loop) + CLOSE_MS * MSEC);
	disconnect(ve);
	verbs_drained(ve);
}

void verbs_drained(struct verbs_ep *ve)
{
	if (ve->disconnected && !ve->rx && !ve->sent && !ve->read)
		release_ep(ve);
}

void verbs_end(struct verbs_ep *ve)
{
	if (ve->ep.state == EP_UP)
		disconnect(ve);
	release_ep(ve);
	loop_work_del(ve->ep.loop, &ve->retire);
	if (ve->dev)
		verbs_dev_put(ve->dev);
}

static void verbs_free(struct ep *ep)
{
	struct verbs_ep *ve = verbs_ep(ep);

	verbs_end(ve);
	free(ve);
}

static void expired(struct loop_timer *timer)
{
	struct verbs_ep *ve = container_of(timer, struct verbs_ep, timer);
	char text[DIAG_SECONDS];

	if (ve->ep.state == EP_CLOSING) {
		release_ep(ve);
		return;
	}
	diag_set(verbs_why(ve), DIAG_TIMEOUT, ETIMEDOUT, "%s timed out: no answer within %s",
		step_names[ve->step], diag_seconds(ve->timeout_ms, text));
	verbs_close(&ve->ep);
}

/* "rxe0 port 1, GID ::ffff:10.0.0.1 (RoCE v2), 10.0.0.1 to 10.0.0.2:4420"; and the MTU */
static void write_route(struct verbs_ep *ve)
{
	static const char *const types[] = {
		[IBV_GID_TYPE_IB] = "InfiniBand",
		[IBV_GID_TYPE_ROCE_V1] = "RoCE v1",
		[IBV_GID_TYPE_ROCE_V2] = "RoCE v2",
	};
	char gid[INET6_ADDRSTRLEN] = "", from[ADDR_TEXT], to[ADDR_TEXT], link[64] = " (iWARP)";
	struct ibv_qp_init_attr init;
	struct ibv_gid_entry entry;
	struct ibv_qp_attr attr;

	if (!ve->dev->iwarp) {
		link[0] = 0;
		bool known = ve->ep.state == EP_UP &&
			     !ibv_query_qp(ve->id->qp, &attr,
				     IBV_QP_AV | IBV_QP_PORT | IBV_QP_PATH_MTU, &init);

		if (known)
			ve->ep.mtu = 128u << attr.path_mtu; /* enum ibv_mtu: 1 is 256 bytes */
		if (known &&
			!ibv_query_gid_ex(ve->dev->context, ve->id->port_num,
				attr.ah_attr.grh.sgid_index, &entry, 0) &&
			entry.gid_type < sizeof(types) / sizeof(types[0]))
			snprintf(link, sizeof(link), ", GID %s (%s)",
				inet_ntop(AF_INET6, &entry.gid, gid, sizeof(gid)),
				types[entry.gid_type]);
	}
	snprintf(ve->ep.route, sizeof(ve->ep.route), "%s port %u%s, %s to %s",
		verbs_dev_name(ve->dev), ve->id->port_num, link,
		sock_text(rdma_get_local_addr(ve->id), false, from),
		sock_text(rdma_get_peer_addr(ve->id), true, to));
}

static void no_listener(struct verbs_ep *ve)
{
	const struct addr dst = verbs_addr((struct sockaddr *)&ve->dst);

	if (addr_service(&dst))
		diag_set(verbs_why(ve), DIAG_REFUSED, ECONNREFUSED,
			"connection refused: no listener for service ID %016" PRIx64,
			addr_service(&dst));
	else
		diag_set(verbs_why(ve), DIAG_REFUSED, ECONNREFUSED,
			"connection refused: no RDMA listener on port %u", addr_port(&dst));
	verbs_close(&ve->ep);
}

static void step_failed(struct verbs_ep *ve, int err)
{
	char host[ADDR_TEXT];

	sock_text((struct sockaddr *)(err == EADDRNOTAVAIL && ve->src.ss_family ? &ve->src
										: &ve->dst),
		false, host);
	/* siw returns EINVAL for addresses it cannot reach, such as loopback (Linux 6.12) */
	if (ve->step <= VERBS_ROUTE && (err == ENODEV || (err == EINVAL && !ve->src.ss_family)))
		diag_set(
			verbs_why(ve), DIAG_NO_DEVICE, ENODEV, "no RDMA device routes to %s", host);
	else if (err == EADDRNOTAVAIL && ve->src.ss_family)
		diag_sys(verbs_why(ve), err, "source address %s", host);
	else if (err == ETIMEDOUT)
		diag_set(verbs_why(ve), DIAG_UNREACHABLE, err, "%s: no answer from %s",
			step_names[ve->step], host);
	else
		diag_sys(verbs_why(ve), err, "%s to %s", step_names[ve->step], host);
	verbs_close(&ve->ep);
}

/* Let the kernel's timeout expire after ours, whose message says more. */
static int kernel_timeout(const struct verbs_ep *ve)
{
	return ve->timeout_ms && ve->timeout_ms < KERNEL_MS ? (int)ve->timeout_ms + 1000
							    : KERNEL_MS;
}

static void addr_resolved(struct verbs_ep *ve)
{
	const char *name = ibv_get_device_name(ve->id->verbs->device);

	if (ve->dev_name[0] && strcmp(name, ve->dev_name)) {
		diag_set(verbs_why(ve), DIAG_NO_DEVICE, ENODEV,
			"the route uses RDMA device %s, not '%s'", name, ve->dev_name);
		verbs_close(&ve->ep);
		return;
	}
	ve->step = VERBS_ROUTE;
	if (rdma_resolve_route(ve->id, kernel_timeout(ve)))
		step_failed(ve, errno);
}

int verbs_prepare(struct verbs_ep *ve, uint8_t priv[EP_PRIV_MAX])
{
	struct ep *ep = &ve->ep;
	int err = verbs_dev_get(&ve->dev, ve->verbs, ve->id->verbs, verbs_why(ve));

	if (err)
		return err;
	ep->dom = ve->dev->dom;
	err = verbs_queue_new(ve, verbs_why(ve));
	if (err)
		return err;
	write_route(ve);
	return ep_request(ep, priv);
}

void verbs_connect_failed(struct verbs_ep *ve, int err)
{
	if (ve->ep.state != EP_CONNECTING)
		return;
	if (err == ECONNREFUSED) /* the TCP connection of siw was refused */
		no_listener(ve);
	else
		step_failed(ve, err);
}

static void route_resolved(struct verbs_ep *ve)
{
	uint8_t priv[EP_PRIV_MAX];
	struct rdma_conn_param param = {
		.private_data = priv, .retry_count = 7, .rnr_retry_count = 7
	};
	int len, err;

	ve->step = VERBS_CONNECT;
	len = verbs_prepare(ve, priv);
	if (ve->ep.state != EP_CONNECTING)
		return;
	if (len < 0) {
		verbs_close(&ve->ep);
		return;
	}
	param.private_data_len = (uint8_t)len;
	param.initiator_depth = (uint8_t)ve->ep.caps.ord;
	param.responder_resources = (uint8_t)ve->ep.caps.ird;
	if (ve->dev->iwarp)
		err = verbs_cm_call_connect(ve, &param);
	else
		err = rdma_connect(ve->id, &param) ? errno : 0;
	if (err)
		verbs_connect_failed(ve, err);
}

/* Linux also rejects as the upper layer, but with zeroes for data, if all listeners on this port
 * are at other addresses. */
static int reject_errno(const struct cm_event *event)
{
	static const uint8_t none[EP_PRIV_MAX];

	return event->status == REJ_CONSUMER && !memcmp(event->priv, none, event->priv_len)
		       ? ECONNREFUSED
		       : ECONNRESET;
}

static void rejected(struct verbs_ep *ve, const struct cm_event *event)
{
	struct ep *ep = &ve->ep;
	bool iwarp = ve->dev && ve->dev->iwarp;
	unsigned code = (unsigned)event->status;
	const char *text =
		code < sizeof(reject_texts) / sizeof(reject_texts[0]) ? reject_texts[code] : NULL;

	ep->rej_code = event->status;
	ep->rejected = iwarp ? event->priv_len > 0 : event->status == REJ_CONSUMER;
	if (iwarp ? event->status == -ECONNREFUSED && !event->priv_len
		  : event->status == REJ_INVALID_SERVICE) {
		no_listener(ve);
		return;
	}
	if (iwarp)
		text = event->priv_len ? reject_texts[REJ_CONSUMER]
				       : diag_errno_text(-event->status);
	if (text)
		diag_set(verbs_why(ve), DIAG_REFUSED, reject_errno(event),
			"the peer rejected the connection: %s", text);
	else
		diag_set(verbs_why(ve), DIAG_REFUSED, reject_errno(event),
			"the peer rejected the connection: reason %d", event->status);
	verbs_close(ep);
}

void verbs_established(struct verbs_ep *ve)
{
	const struct ep_caps *caps = &ve->ep.caps;

	loop_timer_del(ve->ep.loop, &ve->timer);
	ve->step = VERBS_LIVE;
	ve->ep.state = EP_UP;
	if (!ve->passive)
		ve->ep.peer = verbs_addr((struct sockaddr *)&ve->dst);
	write_route(ve);
	loop_trace(ve->ep.loop, "%s: up, %u sends, %u receives, %u bytes inline", ve->ep.route,
		caps->send, caps->recv, caps->inline_max);
	ve->ep.ev->up(&ve->ep);
}

/* Handle the messages that the peer sent before it disconnected first: they may still be in the
 * queue. */
static void disconnected(struct verbs_ep *ve)
{
	struct verbs *verbs = ve->verbs;
	uint32_t slot = ve->slot, serial = ve->serial;

	if (ve->ep.state == EP_UP)
		verbs_dev_poll(ve->dev);
	if (verbs->slot[slot] != ve || ve->serial != serial)
		return;
	ve->disconnected = true;
	if (ve->ep.state != EP_CLOSING || ve->vague)
		diag_set(verbs_why(ve), DIAG_CLOSED, ECONNRESET, "connection closed by the peer");
	verbs_close(&ve->ep);
	if (verbs->slot[slot] == ve && ve->serial == serial)
		verbs_drained(ve);
}

static void removed(struct verbs_ep *ve)
{
	diag_set(verbs_why(ve), DIAG_NO_DEVICE, ENODEV, "the RDMA device was removed");
	ve->ep.state = EP_CLOSING;
	release_ep(ve); /* destroy the id at once, as the kernel waits for that */
}

static void handle(struct cm_event *event)
{
	struct verbs_ep *ve = event->ve;

	switch (event->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		addr_resolved(ve);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		route_resolved(ve);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		step_failed(ve, event->status < 0 ? -event->status
				: event->status   ? event->status
						  : EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_REJECTED:
		ve->ep.priv_len = event->priv_len;
		memcpy(ve->ep.priv, event->priv, event->priv_len);
		rejected(ve, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (ve->ep.state != EP_CONNECTING)
			break;
		if (!ve->passive) {
			ve->ep.priv_len = event->priv_len;
			memcpy(ve->ep.priv, event->priv, event->priv_len);
		}
		if (!ve->passive && !ve->dev->iwarp) {
			ve->ep.caps.ord =
				event->ord < ve->ep.caps.ord ? event->ord : ve->ep.caps.ord;
			ve->ep.caps.ird =
				event->ird < ve->ep.caps.ird ? event->ird : ve->ep.caps.ird;
		}
		verbs_established(ve);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		disconnected(ve);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		removed(ve);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	}
}

void verbs_cm_readable(struct loop_fd *fd, uint32_t events)
{
	struct verbs *verbs = container_of(fd, struct verbs, channel_fd);
	struct rdma_cm_event *cm;

	(void)events;
	for (errno = 0; !rdma_get_cm_event(verbs->channel, &cm); errno = 0) {
		const struct rdma_conn_param *param = &cm->param.conn;
		struct cm_event event = {
			.ve = cm->id->context,
			.type = cm->event,
			/* failures in librdmacm itself are reported as -1 and errno */
			.status = cm->status == -1 && errno ? -errno : cm->status,
			.ord = param->initiator_depth,
			.ird = param->responder_resources,
			.priv_len = param->private_data_len < EP_PRIV_MAX ? param->private_data_len
									  : EP_PRIV_MAX,
		};
		if (event.priv_len && param->private_data)
			memcpy(event.priv, param->private_data, event.priv_len);
		rdma_ack_cm_event(cm);
		loop_trace(verbs->loop, "rdma cm: %s, status %d", rdma_event_str(event.type),
			event.status);
		if (event.ve)
			handle(&event);
	}
}

static void verbs_reset(struct ep *ep)
{
	struct verbs_ep *ve = verbs_ep(ep);

	if (ep->state == EP_UP)
		disconnect(ve);
	if (ep->state < EP_DOWN) {
		ep->state = EP_CLOSING;
		release_ep(ve);
	}
}

static const struct ep_ops verbs_ops = {
	.name = "verbs",
	.post = verbs_post,
	.repost = verbs_repost,
	.reg = verbs_reg,
	.unreg = verbs_unreg,
	.close = verbs_close,
	.reset = verbs_reset,
	.free = verbs_free,
};

static void start(struct verbs_ep *ve, uint8_t tos)
{
	struct sockaddr *src;

	if (ve->dev_name[0] && ve->dst.ss_family != ADDR_IB &&
		verbs_dev_find(ve->dev_name, ve->dst.ss_family, &ve->src, verbs_why(ve))) {
		verbs_close(&ve->ep);
		return;
	}
	if (tos)
		rdma_set_option(ve->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos));
	if (ve->dst.ss_family == ADDR_IB && ve->src.ss_family == AF_INET6) { /* our port's GID */
		struct addr_ib to;
		struct addr from;

		memcpy(&to, &ve->dst, sizeof(to));
		addr_set_ib(&from, ((struct sockaddr_in6 *)&ve->src)->sin6_addr.s6_addr,
			get_be16(to.pkey), 0);
		ve->src = from.ss;
	}
	src = ve->src.ss_family ? (struct sockaddr *)&ve->src : NULL;
	if (rdma_resolve_addr(ve->id, src, (struct sockaddr *)&ve->dst, kernel_timeout(ve)))
		step_failed(ve, errno);
}

int verbs_init(struct verbs_ep *ve, struct loop *loop, const struct ep_caps *caps,
	const struct ep_events *events, void *user, struct diag *diag)
{
	struct verbs *verbs;
	int err = verbs_of_loop(&verbs, loop, diag);

	if (err)
		return err;
	ve->ep = (struct ep){ .ops = &verbs_ops,
		.ev = events,
		.loop = loop,
		.user = user,
		.dom = DOM_NONE,
		.caps = *caps };
	ve->verbs = verbs;
	ve->timer.fire = expired;
	ve->retire.run = retire;
	ve->sent_end = &ve->sent;
	ve->read_end = &ve->read;
	ve->held_end = &ve->held;
	ve->rx_end = &ve->rx;
	return verbs_slot_alloc(verbs, ve, diag);
}

int verbs_start(struct verbs_ep *ve, struct loop *loop, const struct ep_dial *dial,
	const struct ep_events *events, void *user, struct diag *diag)
{
	int err = verbs_init(ve, loop, &dial->caps, events, user, diag);

	if (err)
		return err;
	ve->dst = dial->dst.ss;
	ve->src = dial->src.ss;
	ve->timeout_ms = dial->timeout_ms;
	snprintf(ve->dev_name, sizeof(ve->dev_name), "%s", dial->dev ? dial->dev : "");
	if (rdma_create_id(ve->verbs->channel, &ve->id, ve, verbs_space(&dial->dst))) {
		err = diag_sys(diag, errno, "RDMA connection");
		verbs_slot_release(ve);
		return err;
	}
	if (dial->timeout_ms)
		loop_timer_set(loop, &ve->timer, loop_clock() + dial->timeout_ms * MSEC);
	start(ve, dial->tos);
	return 0;
}
