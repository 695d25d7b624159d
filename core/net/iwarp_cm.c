/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Set up software iWARP connections: TCP, then MPA's request and reply, on both sides. A peer that
 * knows only MPA revision 1 closes the connection on a request of revision 2 (RFC 6581 section 7):
 * retry with revision 1. */
#include "iwarp.h"
#include "tcp.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct incoming {
	struct ep_incoming in;
	int fd;
	struct mpa req;
	bool request_crc;
};

static void send_frame(struct iwarp *iw, const struct mpa *mpa, bool reply)
{
	uint8_t frame[MPA_FRAME_MAX];
	size_t len = mpa_put(frame, mpa, reply);
	ssize_t sent = send(iw->fd.fd, frame, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent == (ssize_t)len)
		return;
	/* The send buffer of a new socket has room for it. */
	tcp_failed(iwarp_why(iw), sent < 0 ? errno : ENOBUFS, &iw->peer, true);
	iwarp_end(iw);
}

static void send_request(struct iwarp *iw)
{
	iw->req = (struct mpa){ .revision = iw->req.revision,
		.enhanced = iw->req.revision >= 2,
		.crc = iw->request_crc,
		.large = true,
		.peer = true,
		.rtr = MPA_RTR_WRITE | (iw->ep.caps.ord ? MPA_RTR_READ : 0),
		.ird = (uint16_t)iw->ep.caps.ird,
		.ord = (uint16_t)iw->ep.caps.ord,
		.priv = iw->priv,
		.priv_len = iw->priv_len };
	iw->step = IWARP_REPLY;
	loop_fd_change(iw->ep.loop, &iw->fd, EPOLLIN);
	send_frame(iw, &iw->req, false);
}

static void connected(void *user, int fd, const struct addr *at, const struct diag *failed)
{
	struct iwarp *iw = user;
	char to[ADDR_TEXT];
	int priv_len;

	iw->connect = NULL;
	iw->fd.fd = fd;
	iw->fd.events = EPOLLIN;
	if (fd < 0)
		iw->ep.why = *failed;
	if (fd < 0 || loop_fd_add(iw->ep.loop, &iw->fd, &iw->ep.why)) {
		iwarp_end(iw);
		return;
	}
	iw->peer = iw->ep.peer = *at;
	snprintf(iw->ep.route, sizeof(iw->ep.route), "software iWARP to %s",
		addr_text(&iw->peer, to));
	if (iw->until)
		loop_timer_set(iw->ep.loop, &iw->timer, iw->until);
	if (!iw->req.revision) {
		iw->req.revision = 2;
		priv_len = iwarp_prepare(iw, iw->priv);
		if (iw->ep.state != EP_CONNECTING)
			return;
		if (priv_len < 0) {
			iwarp_end(iw);
			return;
		}
		iw->priv_len = (uint8_t)priv_len;
	}
	send_request(iw);
}

static void connect_start(struct iwarp *iw, uint32_t timeout_ms)
{
	struct stream_dial dial = {
		.dst = iw->peer, .src = iw->src, .tos = iw->tos, .timeout_ms = timeout_ms
	};

	iw->step = IWARP_TCP;
	iw->frame_got = 0;
	if (tcp_connect(&iw->connect, iw->ep.loop, &dial, connected, iw, iwarp_why(iw)))
		iwarp_end(iw);
}

/* Retry with MPA revision 1 if that may help. True: another attempt is under way. */
static bool retry_revision_1(struct iwarp *iw)
{
	if (iw->req.revision < 2)
		return false;
	loop_trace(iw->ep.loop, "%s: no answer to MPA revision 2, trying revision 1", iw->ep.route);
	iw->req.revision = 1;
	loop_fd_del(iw->ep.loop, &iw->fd);
	close(iw->fd.fd);
	iw->fd.fd = -1;
	connect_start(iw, 0);
	return true;
}

static void copy_priv(struct ep *ep, const struct mpa *mpa)
{
	ep->priv_len = mpa->priv_len < EP_PRIV_MAX ? (uint8_t)mpa->priv_len : EP_PRIV_MAX;
	memcpy(ep->priv, mpa->priv, ep->priv_len);
}

static void refused(struct iwarp *iw, const struct mpa *rep)
{
	iw->ep.rejected = rep->priv_len > 0;
	diag_set(iwarp_why(iw), DIAG_REFUSED, ECONNREFUSED, "the peer rejected the connection%s",
		rep->priv_len ? " in its upper layer" : "");
	iwarp_end(iw);
}

static void replied(struct iwarp *iw)
{
	struct diag *why = iwarp_why(iw);
	unsigned term = TERM_MPA_FRAME;
	struct mpa rep;

	if (mpa_get(&rep, iw->frame, iw->frame_got, true, why)) {
		iwarp_end(iw);
		return;
	}
	copy_priv(&iw->ep, &rep);
	if (rep.reject) {
		refused(iw, &rep);
		return;
	}
	if (iw->req.revision == 2 && rep.revision == 1) {
		retry_revision_1(iw);
		return;
	}
	iwarp_live(iw, &iw->req, &rep, true);
	if (mpa_apply_reply(&iw->req, &rep, &iw->ep.caps.ird, &iw->ep.caps.ord, &term, why)) {
		ddp_tx_terminate(iw, term, NULL, 0);
		iwarp_end(iw);
		return;
	}
	loop_timer_del(iw->ep.loop, &iw->timer);
	iw->step = IWARP_LIVE;
	iw->ep.state = EP_UP;
	if (rep.rtr & MPA_RTR_WRITE)
		ddp_tx_internal(iw, EP_WRITE);
	else if (rep.rtr & MPA_RTR_READ)
		ddp_tx_internal(iw, EP_READ);
	iwarp_nudge(iw);
	loop_trace(iw->ep.loop,
		"%s: up, MPA revision %u, reads %u out, %u in, segments of %u bytes", iw->ep.route,
		rep.revision, iw->ep.caps.ord, iw->ep.caps.ird, iw->tx.ulpdu);
	iw->ep.ev->up(&iw->ep);
}

/* Read not one byte beyond the frame: FPDUs follow. */
static void read_reply(struct iwarp *iw)
{
	for (;;) {
		uint32_t own = sizeof(struct mpa_frame);
		ssize_t got;
		int len = 0;

		if (iw->frame_got >= own) {
			len = mpa_len(iw->frame, iw->frame_got, true, iwarp_why(iw));
			if (len < 0) {
				iwarp_end(iw);
				return;
			}
			own = (uint32_t)len;
		}
		if (iw->frame_got == own) {
			replied(iw);
			return;
		}
		got = recv(iw->fd.fd, iw->frame + iw->frame_got, own - iw->frame_got, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			int err = got ? errno : 0;
			if (!iw->frame_got && (!err || err == ECONNRESET) && retry_revision_1(iw))
				return;
			if (err)
				tcp_failed(iwarp_why(iw), err, &iw->peer, true);
			else
				diag_set(iwarp_why(iw), DIAG_PROTOCOL, EPROTO,
					"the peer closed the connection after the MPA request: is "
					"this an iWARP port?");
			iwarp_end(iw);
			return;
		}
		iw->frame_got += (uint32_t)got;
	}
}

void iwarp_connecting(struct iwarp *iw)
{
	read_reply(iw);
}

int iwarp_start(struct iwarp *iw, struct loop *loop, const struct ep_dial *dial,
	const struct ep_events *events, void *user, struct diag *diag)
{
	char to[ADDR_TEXT];
	int err = iwarp_init(iw, loop, &dial->caps, events, user, diag);

	if (err)
		return err;
	iw->peer = dial->dst;
	iw->src = dial->src;
	iw->tos = dial->tos;
	iw->request_crc = !dial->no_crc;
	iw->timeout_ms = dial->timeout_ms;
	snprintf(iw->ep.route, sizeof(iw->ep.route), "software iWARP to %s",
		addr_text(&iw->peer, to));
	if (dial->timeout_ms)
		iw->until = loop_clock() + dial->timeout_ms * MSEC;
	connect_start(iw, dial->timeout_ms);
	return 0;
}

int iwarp_dial(struct ep **out, struct loop *loop, const struct ep_dial *dial,
	const struct ep_events *events, void *user, struct diag *diag)
{
	struct iwarp *iw = calloc(1, sizeof(*iw));
	int err = iw ? iwarp_start(iw, loop, dial, events, user, diag)
		     : diag_sys(diag, ENOMEM, "RDMA connection");

	if (err) {
		free(iw);
		return err;
	}
	*out = &iw->ep;
	return 0;
}

static void incoming_free(struct incoming *incoming)
{
	if (incoming->fd >= 0)
		close(incoming->fd);
	free(incoming);
}

static void reject(struct ep_incoming *in, const void *priv, uint8_t len)
{
	struct incoming *incoming = container_of(in, struct incoming, in);
	struct mpa rep = mpa_make_reply(&incoming->req, &(struct mpa){ 0 });
	uint8_t frame[MPA_FRAME_MAX];

	rep.reject = true;
	rep.priv = priv;
	rep.priv_len = len;
	send(incoming->fd, frame, mpa_put(frame, &rep, true), MSG_NOSIGNAL | MSG_DONTWAIT);
	incoming_free(incoming);
}

/* Allocate queues, call request(), send the reply. `up` follows at the end of the turn. */
static int answer(struct iwarp *iw, const struct incoming *incoming)
{
	struct mpa own = { .crc = incoming->request_crc, .large = true }, rep;
	struct ep_caps *caps = &iw->ep.caps;
	uint8_t priv[EP_PRIV_MAX];
	int len;

	own.ird = (uint16_t)caps->ird;
	own.ord = (uint16_t)caps->ord;
	rep = mpa_make_reply(&incoming->req, &own);
	caps->ird = rep.ird;
	caps->ord = rep.ord;
	len = iwarp_prepare(iw, priv);
	if (iw->ep.state != EP_CONNECTING)
		return 0;
	if (len < 0)
		return len;
	rep.priv = priv;
	rep.priv_len = (uint16_t)len;
	iwarp_live(iw, &incoming->req, &rep, false);
	send_frame(iw, &rep, true);
	if (iw->socket_closed)
		return 0;
	iw->step = IWARP_ACCEPTED;
	loop_work_add(iw->ep.loop, &iw->work);
	return 0;
}

static int accept_(struct ep **out, struct loop *loop, struct ep_incoming *in,
	const struct ep_caps *caps, const struct ep_events *events, void *user, struct diag *diag)
{
	struct incoming *incoming = container_of(in, struct incoming, in);
	struct iwarp *iw = calloc(1, sizeof(*iw));
	int err = iw ? iwarp_init(iw, loop, caps, events, user, diag)
		     : diag_sys(diag, ENOMEM, "RDMA connection");

	if (err) {
		free(iw);
		reject(in, NULL, 0);
		return err;
	}
	iw->peer = in->peer;
	iw->fd.fd = incoming->fd;
	iw->accepted = true;
	*out = &iw->ep;
	err = answer(iw, incoming);
	if (err < 0) {
		iw->fd.fd = -1;
		if (!iw->ep.why.err)
			diag_sys(&iw->ep.why, -err, "accept");
		iwarp_end(iw);
		reject(in, NULL, 0);
		return 0;
	}
	incoming->fd = -1;
	incoming_free(incoming);
	return 0;
}

static const struct ep_incoming_ops incoming_ops = { accept_, reject };

struct ep_incoming *iwarp_incoming(int fd, const struct addr *peer, const uint8_t *frame,
	size_t len, bool request_crc, struct diag *diag)
{
	struct incoming *incoming = calloc(1, sizeof(*incoming));

	if (!incoming) {
		diag_sys(diag, ENOMEM, "RDMA connection");
		close(fd);
		return NULL;
	}
	incoming->fd = fd;
	incoming->request_crc = request_crc;
	incoming->in.peer = *peer;
	incoming->in.local.len = sizeof(incoming->in.local.ss);
	if (getsockname(fd, (struct sockaddr *)&incoming->in.local.ss, &incoming->in.local.len))
		incoming->in.local = (struct addr){ 0 };
	incoming->in.ops = &incoming_ops;
	if (mpa_get(&incoming->req, frame, len, false, diag)) {
		incoming_free(incoming);
		return NULL;
	}
	if (mpa_acceptable(&incoming->req, diag)) {
		reject(&incoming->in, NULL, 0);
		return NULL;
	}
	incoming->in.priv_len = incoming->req.priv_len < EP_PRIV_MAX
					? (uint8_t)incoming->req.priv_len
					: EP_PRIV_MAX;
	memcpy(incoming->in.priv, incoming->req.priv, incoming->in.priv_len);
	incoming->req.priv = NULL;
	incoming->req.priv_len = 0;
	incoming->in.ord = incoming->req.ird == MPA_LIMIT_ANY ? IWARP_READS : incoming->req.ird;
	incoming->in.ird = incoming->req.ord == MPA_LIMIT_ANY ? IWARP_READS : incoming->req.ord;
	return &incoming->in;
}
