/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Software iWARP as an endpoint backend: RDMA over a TCP socket in userspace (RFC 5040, 5041, 5044,
 * 6581). Handles an established endpoint until its end; iwarp_cm.c establishes it. */
#include "iwarp.h"
#include "min.h"
#include "tcp.h"
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* wait that long for the peer to close its side, so that it reads all we sent */
#define CLOSE_MS      500
#define DISCARD_BYTES (1 << 20)
#define MSS_LEAST     536
#define NUDGE_MS      20 /* the first; each next one waits twice as long */
#define NUDGES        5

static const struct {
	unsigned term;
	const char *text;
} terms[] = {
	{ TERM_RDMAP_CATASTROPHE, "RDMAP: local catastrophic error" },
	{ TERM_RDMAP_STAG, "RDMAP: invalid STag" },
	{ TERM_RDMAP_BOUNDS, "RDMAP: base or bounds violation" },
	{ TERM_RDMAP_ACCESS, "RDMAP: access rights violation" },
	{ TERM_RDMAP_OWNER, "RDMAP: STag not associated with this connection" },
	{ TERM_RDMAP_WRAP, "RDMAP: tagged offset wrap" },
	{ TERM_RDMAP_INVALIDATE, "RDMAP: STag cannot be invalidated" },
	{ TERM_RDMAP_PROTECTION, "RDMAP: remote protection error" },
	{ TERM_RDMAP_VERSION, "RDMAP: invalid version" },
	{ TERM_RDMAP_OPCODE, "RDMAP: unexpected message" },
	{ TERM_RDMAP_STREAM, "RDMAP: catastrophic error of this connection" },
	{ TERM_RDMAP_GLOBAL, "RDMAP: catastrophic error of the whole adapter" },
	{ TERM_RDMAP_NO_INVALIDATE, "RDMAP: STag cannot be invalidated" },
	{ TERM_RDMAP_OTHER, "RDMAP: remote operation error" },
	{ TERM_DDP_CATASTROPHE, "DDP: local catastrophic error" },
	{ TERM_DDP_STAG, "DDP: invalid STag" },
	{ TERM_DDP_BOUNDS, "DDP: base or bounds violation" },
	{ TERM_DDP_OWNER, "DDP: STag not associated with this connection" },
	{ TERM_DDP_WRAP, "DDP: tagged offset wrap" },
	{ TERM_DDP_TAGGED_VERSION, "DDP: invalid version" },
	{ TERM_DDP_QN, "DDP: invalid queue number" },
	{ TERM_DDP_NO_BUFFER, "DDP: no receive was posted for a message" },
	{ TERM_DDP_MSN, "DDP: message sequence number out of range" },
	{ TERM_DDP_MO, "DDP: invalid message offset" },
	{ TERM_DDP_TOO_LONG, "DDP: message too long for its receive" },
	{ TERM_DDP_UNTAGGED_VERSION, "DDP: invalid version" },
	{ TERM_MPA_CLOSED, "MPA: connection lost" },
	{ TERM_MPA_CRC, "MPA: CRC error" },
	{ TERM_MPA_MARKER, "MPA: marker and length disagree" },
	{ TERM_MPA_FRAME, "MPA: invalid request or reply" },
	{ TERM_MPA_CATASTROPHE, "MPA: local catastrophic error" },
	{ TERM_MPA_IRD, "MPA: insufficient read depth" },
	{ TERM_MPA_RTR, "MPA: no matching ready-to-receive message" },
};

static const char *find_term(unsigned term)
{
	for (unsigned i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (terms[i].term == term)
			return terms[i].text;
	return NULL;
}

/* Linux siw (6.12) swaps layer and error type. */
const char *iwarp_term_text(unsigned term)
{
	const char *text = find_term(term);

	if (!text)
		text = find_term((term & 0xf000) >> 4 | (term & 0xf00) << 4 | (term & 0xff));
	return text ? text : "unknown Terminate code";
}

struct diag *iwarp_why(struct iwarp *iw)
{
	return iw->ep.why.err ? NULL : &iw->ep.why;
}

/* Close the socket at once, so that nothing accesses the owner's memory any more. */
void iwarp_end(struct iwarp *iw)
{
	struct loop *loop = iw->ep.loop;

	if (iw->socket_closed)
		return;
	iw->socket_closed = true;
	iw->ep.state = EP_CLOSING;
	tcp_connect_cancel(iw->connect);
	iw->connect = NULL;
	loop_timer_del(loop, &iw->timer);
	loop_fd_del(loop, &iw->fd);
	if (iw->fd.fd >= 0)
		close(iw->fd.fd);
	iw->fd.fd = -1;
	loop_work_add(loop, &iw->work);
}

/* Discard what the peer still sends until it has closed its side, too. */
static void linger(struct iwarp *iw)
{
	if (shutdown(iw->fd.fd, SHUT_WR)) {
		iwarp_end(iw);
		return;
	}
	loop_fd_change(iw->ep.loop, &iw->fd, EPOLLIN);
	loop_timer_set(iw->ep.loop, &iw->timer, loop_clock() + CLOSE_MS * MSEC);
}

static void discard(struct iwarp *iw)
{
	ssize_t got = recv(iw->fd.fd, NULL, DISCARD_BYTES, MSG_TRUNC | MSG_DONTWAIT);

	if (!got || (got < 0 && errno != EAGAIN && errno != EINTR))
		iwarp_end(iw);
}

void iwarp_close(struct ep *ep)
{
	struct iwarp *iw = iwarp_of(ep);
	bool live = iw->step == IWARP_LIVE;

	if (ep->state >= EP_CLOSING)
		return;
	if (!live) {
		iwarp_end(iw);
		return;
	}
	ddp_tx_last(iw);
	ep->state = EP_CLOSING;
	linger(iw);
}

void iwarp_fault(struct iwarp *iw, unsigned term, const char *fmt, ...)
{
	const struct ddp_common *c = (const void *)iw->rx.head;
	char text[256];
	uint32_t culprit;
	va_list args;

	if (iw->ep.state >= EP_CLOSING)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	diag_set(iwarp_why(iw), DIAG_PROTOCOL, EPROTO, "%s", text);
	/* RFC 5040 section 4.8: include headers only if they are known to be valid */
	culprit = iw->rx.head_len;
	if ((c->rdmap & RDMAP_OP_MASK) == RDMAP_TERMINATE || term >> 12 == 2)
		culprit = 0;
	else if (term >> 8 != 1 && culprit == sizeof(struct rdmap_read_req))
		culprit = sizeof(struct ddp_untagged);
	loop_trace(iw->ep.loop, "%s: sending Terminate %#x: %s", iw->ep.route, term,
		iwarp_term_text(term));
	ddp_tx_terminate(iw, term, iw->rx.head, culprit);
	iw->ep.state = EP_CLOSING;
	linger(iw);
}

static void idle(struct iwarp *iw)
{
	if (!iw->touched || iw->ep.state != EP_UP)
		return;
	iw->touched = false;
	iw->ep.ev->idle(&iw->ep);
}

static void come_up(struct iwarp *iw)
{
	struct diag *why = iwarp_why(iw);

	if (loop_fd_add(iw->ep.loop, &iw->fd, why)) {
		iwarp_end(iw);
		return;
	}
	iw->step = IWARP_LIVE;
	iw->ep.state = EP_UP;
	loop_trace(iw->ep.loop, "%s: up", iw->ep.route);
	iw->ep.ev->up(&iw->ep);
}

static void end_of_turn(struct loop_work *work)
{
	struct iwarp *iw = container_of(work, struct iwarp, work);

	if (iw->socket_closed) {
		iw->ep.state = EP_DOWN;
		loop_trace(iw->ep.loop, "%s: down%s%s", iw->ep.route, iw->ep.why.err ? ": " : "",
			iw->ep.why.text);
		iw->ep.ev->down(&iw->ep);
		return;
	}
	if (iw->step == IWARP_ACCEPTED)
		come_up(iw);
	if (iw->ep.state != EP_UP)
		return;
	ddp_rx_parse(iw);
	ddp_tx_flush(iw);
	idle(iw);
}

static void socket_ready(struct loop_fd *fd, uint32_t events)
{
	struct iwarp *iw = container_of(fd, struct iwarp, fd);

	if (iw->ep.state == EP_CLOSING) {
		discard(iw);
		return;
	}
	if (iw->step != IWARP_LIVE) {
		iwarp_connecting(iw);
		return;
	}
	if (events & EPOLLOUT) {
		iw->tx.blocked = false;
		loop_fd_change(iw->ep.loop, fd, EPOLLIN);
		loop_work_add(iw->ep.loop, &iw->work);
	}
	/* as tcp.c */
	if (iw->accepted && events & EPOLLERR)
		ddp_rx_ended(iw, tcp_error(fd->fd));
	else if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		ddp_rx_readable(iw);
	idle(iw);
}

static bool poll_socket(struct loop_fd *fd)
{
	struct iwarp *iw = container_of(fd, struct iwarp, fd);
	bool any = iw->step == IWARP_LIVE && iw->ep.state == EP_UP && ddp_rx_readable(iw);

	idle(iw);
	return any;
}

/* Linux siw (6.12) sends its reply before it installs the handler for the data after it: data that
 * arrives in between stays unnoticed until more arrives. So send empty Writes, with growing
 * intervals, until the peer has sent something. */
void iwarp_nudge(struct iwarp *iw)
{
	if (!iw->rx.first || iw->nudges > NUDGES)
		return;
	if (iw->nudges)
		ddp_tx_internal(iw, EP_WRITE);
	loop_timer_set(iw->ep.loop, &iw->timer, loop_clock() + (NUDGE_MS << iw->nudges++) * MSEC);
}

static void expired(struct loop_timer *timer)
{
	struct iwarp *iw = container_of(timer, struct iwarp, timer);
	char text[DIAG_SECONDS];

	if (iw->ep.state == EP_UP) {
		iwarp_nudge(iw);
		return;
	}
	if (iw->ep.state < EP_CLOSING)
		diag_set(iwarp_why(iw), DIAG_TIMEOUT, ETIMEDOUT,
			iw->step == IWARP_TCP ? "connect: no answer within %s"
					      : "TCP connected, but no iWARP (MPA) reply within %s",
			diag_seconds(iw->timeout_ms, text));
	tcp_reset_on_close(iw->fd.fd);
	iwarp_end(iw);
}

static void post(struct ep *ep, struct ep_op *chain)
{
	if (ep->state == EP_UP)
		ddp_tx_post(iwarp_of(ep), chain);
}

static void repost(struct ep *ep, struct ep_rx *chain)
{
	if (ep->state <= EP_UP)
		ddp_rx_post(iwarp_of(ep), chain);
}

static int reg(struct ep *ep, struct pool *pool, unsigned access, struct diag *diag)
{
	struct iwarp *iw = iwarp_of(ep);
	return stag_reg(iw->stags, &iw->holds, pool, access, diag);
}

static void unreg(struct ep *ep, struct pool *pool)
{
	struct iwarp *iw = iwarp_of(ep);
	uint32_t stag = pool->key[iw->stags->dom].rkey;
	bool reads, writes;
	uint8_t *p;

	stag_unreg(iw->stags, &iw->holds, pool);
	if (ep->state != EP_UP || !stag_find(iw->stags, &iw->holds, stag, 0, 0, 0, &p))
		return;
	/* The send layout or a segment received in part may point to the memory: neither may touch
	 * it any more. */
	reads = ddp_tx_uses(iw, stag);
	writes = ddp_rx_fills(iw, pool);
	if (reads || writes) {
		diag_set(iwarp_why(iw), DIAG_CLOSED, ECONNABORTED,
			"memory was released while the peer was still %s it",
			writes ? "writing" : "reading");
		iwarp_end(iw);
	}
}

void iwarp_fini(struct iwarp *iw)
{
	iwarp_end(iw);
	loop_work_del(iw->ep.loop, &iw->work);
	ddp_tx_fini(iw);
	ddp_rx_fini(iw);
	free(iw->holds.hold);
}

static void iwarp_free(struct ep *ep)
{
	struct iwarp *iw = iwarp_of(ep);

	iwarp_fini(iw);
	free(iw);
}

static void iwarp_reset(struct ep *ep)
{
	struct iwarp *iw = iwarp_of(ep);

	if (!iw->socket_closed && iw->fd.fd >= 0)
		tcp_reset_on_close(iw->fd.fd);
	iwarp_end(iw);
}

static void iwarp_abandon(struct ep *ep)
{
	if (ep->state < EP_CLOSING)
		iwarp_reset(ep);
}

static uint64_t iwarp_progress(const struct ep *ep)
{
	const struct iwarp *iw = container_of(ep, const struct iwarp, ep);

	return iw->socket_closed || iw->fd.fd < 0 ? iw->moved : tcp_progress(iw->fd.fd, iw->moved);
}

static bool iwarp_peer_closed(const struct ep *ep)
{
	const struct iwarp *iw = container_of(ep, const struct iwarp, ep);

	return iw->socket_closed ||
	       (iw->connect ? tcp_connect_peer_closed(iw->connect) : tcp_peer_closed(iw->fd.fd));
}

static const struct ep_ops ops = {
	.name = "iwarp",
	.post = post,
	.repost = repost,
	.reg = reg,
	.unreg = unreg,
	.close = iwarp_close,
	.reset = iwarp_reset,
	.abandon = iwarp_abandon,
	.progress = iwarp_progress,
	.peer_closed = iwarp_peer_closed,
	.free = iwarp_free,
};

int iwarp_init(struct iwarp *iw, struct loop *loop, const struct ep_caps *caps,
	const struct ep_events *events, void *user, struct diag *diag)
{
	iw->ep = (struct ep){ .ops = &ops,
		.ev = events,
		.loop = loop,
		.user = user,
		.dom = DOM_NONE,
		.caps = *caps };
	iw->fd = (struct loop_fd){
		.fd = -1, .events = EPOLLIN, .ready = socket_ready, .poll = poll_socket
	};
	iw->timer.fire = expired;
	iw->work.run = end_of_turn;
	iw->ep.caps.send = caps->send ? min_u32(caps->send, 0x4000) : 1;
	iw->ep.caps.recv = caps->recv ? min_u32(caps->recv, 0x4000) : 1;
	iw->ep.caps.sge = caps->sge ? min_u32(caps->sge, EP_SGE) : 1;
	iw->ep.caps.read_sge = 1;
	iw->ep.caps.inline_max = min_u32(caps->inline_max, IWARP_INLINE);
	iw->ep.caps.ord = min_u32(caps->ord, IWARP_READS);
	iw->ep.caps.ird = min_u32(caps->ird, IWARP_READS);
	iw->ep.caps.max_msg = 1u << 30;
	iw->ep.caps.priv_max = EP_PRIV_MAX;
	iw->ep.caps.software = true;
	return stags_of_loop(&iw->stags, loop, diag);
}

/* Allocate queues for the requested sizes. The peer's reply can only reduce them. */
int iwarp_prepare(struct iwarp *iw, uint8_t priv[EP_PRIV_MAX])
{
	int err = ddp_tx_init(iw, iwarp_why(iw));

	if (!err)
		err = ddp_rx_init(iw, iwarp_why(iw));
	if (err)
		return err;
	iw->ep.dom = iw->stags->dom;
	return ep_request(&iw->ep, priv);
}

static void write_route(struct iwarp *iw)
{
	struct addr from = { .len = sizeof(from.ss) };
	char text[ADDR_TEXT], to[ADDR_TEXT];

	getsockname(iw->fd.fd, (struct sockaddr *)&from.ss, &from.len);
	snprintf(iw->ep.route, sizeof(iw->ep.route), "software iWARP, %s to %s%s",
		addr_text(&from, text), addr_text(&iw->peer, to), iw->crc ? ", CRC" : "");
}

uint32_t iwarp_mss(const struct iwarp *iw)
{
	socklen_t len = sizeof(int);
	int mss = 0;

	if (getsockopt(iw->fd.fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &len) || mss < MSS_LEAST)
		mss = MSS_LEAST;
	return (uint32_t)mss;
}

/* Enter the connected state: both frames have been exchanged. */
void iwarp_live(struct iwarp *iw, const struct mpa *req, const struct mpa *rep, bool initiator)
{
	bool large = req->large && rep->large;

	iw->crc = req->crc || rep->crc;
	iw->tx.aligned = !large;
	iw->tx.ulpdu = mpa_ulpdu(iwarp_mss(iw), large);
	iw->tx.hold = !initiator;
	write_route(iw);
}
