/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One connection to an NBD server: connect, handshake within the deadline, disconnect. Its owner
 * handles requests. */
#include "ini.h"
#include <errno.h>

#define BEATS_DEAD 5

int nbd_ini_link_fail(struct nbd_ini_link *link, enum diag_code code, int err, const char *text)
{
	struct diag why = { 0 };

	diag_set(&why, code, err, "%s", text);
	nbd_ini_link_end(link, &why);
	return -err;
}

/* "Terminating the transmission phase", "Termination of the session during option haggling": send
 * the final message before closing. */
static void send_disconnect(struct nbd_ini_link *link)
{
	const struct nbd_request disc = { .magic = put_be32(NBD_REQUEST_MAGIC),
		.type = put_be16(NBD_CMD_DISC) };
	const struct nbd_opt abort = { put_be64(NBD_OPT_MAGIC), put_be32(NBD_OPT_ABORT),
		put_be32(0) };
	bool options = link->handshake.step > INI_GREETING && !link->sending &&
		       link->handshake.step != INI_SECURING &&
		       (link->handshake.step < INI_EXPORT_NAME || link->handshake.listed);

	if (!link->up && !options)
		return;
	if (link->up)
		link->bye.request = disc;
	else
		link->bye.opt = abort;
	link->out = (struct stream_out){ .niov = 1,
		.iov = { { &link->bye, link->up ? sizeof(disc) : sizeof(abort) } } };
	stream_send(link->stream, &link->out);
}

void nbd_ini_link_end(struct nbd_ini_link *link, const struct diag *why)
{
	if (link->closing)
		return;
	link->why = *why;
	link->closing = true;
	if (link->up) {
		/* requests in flight must not arrive later */
		stream_reset(link->stream);
		return;
	}
	if (why->code != DIAG_PROTOCOL)
		send_disconnect(link);
	stream_close(link->stream);
}

static void handshake_timeout(struct loop_timer *timer)
{
	struct nbd_ini_link *link = container_of(timer, struct nbd_ini_link, timer);
	char at[ADDR_TEXT];

	nbd_ini_link_fail(link, DIAG_TIMEOUT, ETIMEDOUT,
		link->handshake.step == INI_GREETING
			? "no greeting from the server: is this an NBD port?"
		: link->handshake.step == INI_SECURING
			? "the server did not finish the TLS handshake"
			: "the server did not finish the handshake");
	if (link->handshake.step == INI_GREETING)
		diag_hint(&link->why, HINT_OTHER_PROTOCOL, addr_text(&link->peer, at));
}

static void stream_up(struct stream *stream)
{
	struct nbd_ini_link *link = stream->user;

	link->peer = stream->peer;
	if (link->deadline_ns)
		loop_timer_set(link->loop, &link->timer, link->deadline_ns);
}

static void handshake_sent(struct nbd_ini_link *link)
{
	link->sending = false;
	link->handshake.out_len = 0;
}

static void stream_sent(struct stream *stream, struct stream_out *out)
{
	struct nbd_ini_link *link = stream->user;

	if (link->closing)
		return;
	if (out == &link->out)
		handshake_sent(link);
	else
		link->ev->sent(link, out);
}

static void beat_set(struct nbd_ini_link *link)
{
	loop_timer_set(link->loop, &link->timer,
		loop_now(link->loop) + link->conf->detect_ms * MSEC / BEATS_DEAD);
}

/* NBD has no keep-alive, so TCP has to tell whether the server's host is still there. What is
 * unacknowledged at the first silent beat may just have been sent. */
static void beat(struct loop_timer *timer)
{
	struct nbd_ini_link *link = container_of(timer, struct nbd_ini_link, timer);
	struct diag why = { 0 };
	char seconds[DIAG_SECONDS];

	if (!stream_is_unacknowledged(link->stream, link->conf->detect_ms / BEATS_DEAD)) {
		link->silent_beats = 0;
	} else if (++link->silent_beats == BEATS_DEAD) {
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "no TCP acknowledgement in %s",
			diag_seconds(link->conf->detect_ms, seconds));
		nbd_ini_link_end(link, &why);
		return;
	}
	beat_set(link);
}

static void begin_transmission(struct nbd_ini_link *link)
{
	link->up = true;
	if (!link->conf->detect_ms || link->conf->dst.ss.ss_family == AF_UNIX)
		return;
	link->timer.fire = beat;
	stream_probe(link->stream, link->conf->detect_ms / 2);
	beat_set(link);
}

static void handshake_done(struct nbd_ini_link *link, bool more)
{
	loop_timer_del(link->loop, &link->timer);
	if (!link->handshake.listed)
		loop_trace(link->loop, "nbd: %s: export '%s', %llu bytes%s%s", link->conf->where,
			link->conf->name, (unsigned long long)link->handshake.negotiated.terms.size,
			link->handshake.negotiated.structured ? ", structured replies" : "",
			link->handshake.negotiated.meta ? ", " NBD_META_ALLOCATION : "");
	if (more) {
		nbd_ini_link_fail(
			link, DIAG_PROTOCOL, EPROTO, "unexpected data after the handshake");
		return;
	}
	if (!link->handshake.listed)
		begin_transmission(link);
	link->cutter.ev = link->ev->replies;
	cutter_stop(&link->cutter);
	link->ev->up(link);
}

static void handshake_send(struct nbd_ini_link *link)
{
	struct nbd_ini_handshake *h = &link->handshake;

	link->sending = true;
	link->out = (struct stream_out){ .niov = 1, .iov = { { h->out, h->out_len } } };
	stream_send(link->stream, &link->out);
}

/* What was received behind the reply could have been inserted by anyone. */
static void start_tls(struct nbd_ini_link *link, bool more)
{
	const struct nbd_ini_conf *conf = link->conf;
	struct stream_tls tls = { .creds = conf->tls,
		.hostname = conf->tls_hostname[0] ? conf->tls_hostname : NULL };
	struct diag why = { 0 };

	if (more)
		diag_set(&why, DIAG_PROTOCOL, EPROTO, "data before the TLS handshake");
	else
		stream_start_tls(link->stream, &tls, &why);
	cutter_stop(&link->cutter);
	if (why.err)
		nbd_ini_link_end(link, &why);
}

static void stream_secured(struct stream *stream)
{
	struct nbd_ini_link *link = stream->user;

	if (link->closing)
		return;
	nbd_ini_handshake_secured(&link->handshake);
	handshake_send(link);
}

/* Handle one message of the handshake. */
static int handshake_step(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	struct nbd_ini_link *link = container_of(cutter, struct nbd_ini_link, cutter);
	struct nbd_ini_handshake *h = &link->handshake;
	struct diag why = { 0 };
	int used;

	if (link->sending) {
		nbd_ini_link_fail(link, DIAG_PROTOCOL, EPROTO, "reply before the request");
		return CUTTER_STOP;
	}
	used = nbd_ini_handshake_feed(h, p, have, &why);
	if (used < 0)
		nbd_ini_link_end(link, &why);
	if (used <= 0)
		return used ? CUTTER_STOP : 0;
	if (h->out_len)
		handshake_send(link);
	if (h->step == INI_SECURING)
		start_tls(link, (uint32_t)used < have);
	if (h->step == INI_DONE)
		handshake_done(link, (uint32_t)used < have);
	return link->closing ? CUTTER_STOP : used;
}

static void stream_readable(struct stream *stream)
{
	struct nbd_ini_link *link = stream->user;

	if (link->closing || !link->cutter.ev)
		return;
	if (cutter_receive(&link->cutter, stream) && !link->closing) {
		link->closing = true; /* the stream reports why */
		stream_close(stream);
	}
}

/* Many servers close without a word if they don't accept the client; those that check its
 * certificate may do so after the client's part of the handshake. */
static void explain_tls_end(struct nbd_ini_link *link)
{
	const struct nbd_ini_handshake *h = &link->handshake;
	const char *kind = tls_creds_kind(link->conf->tls);

	if (h->step > INI_SECURING && link->conf->psk)
		return;
	diag_set(&link->why, DIAG_CLOSED, ECONNRESET,
		"the server closed the connection during TLS, with %s", kind);
	diag_hint(&link->why, link->conf->psk ? "the server may have another key for this user"
					      : "the server may require a certificate of a client "
						"that it trusts, or a key (tls-psk-file=)");
}

static bool lost(const struct diag *why)
{
	return why->code == DIAG_CLOSED || why->err == ECONNRESET;
}

static void stream_down(struct stream *stream)
{
	struct nbd_ini_link *link = stream->user;

	if (!link->why.err)
		link->why = stream->why;
	/* "NBD_OPT_EXPORT_NAME": such a server rejects a name by closing */
	if (!link->up && link->handshake.step == INI_EXPORT_NAME && link->why.code == DIAG_CLOSED)
		diag_set(&link->why, DIAG_NOT_FOUND, ENOENT,
			"the server has no export '%s': it closed the connection",
			link->conf->name);
	if (link->handshake.tls && !link->up && !link->handshake.replies && lost(&link->why) &&
		(link->handshake.step == INI_SECURING || link->handshake.step == INI_STRUCTURED ||
			link->handshake.step == INI_LIST))
		explain_tls_end(link);
	diag_ctx(&link->why, "%s", link->conf->where);
	link->closing = true;
	loop_timer_del(link->loop, &link->timer);
	link->ev->down(link);
}

static const struct stream_events events = { .up = stream_up,
	.readable = stream_readable,
	.sent = stream_sent,
	.secured = stream_secured,
	.down = stream_down };

static void init(struct nbd_ini_link *link, struct loop *loop, const struct nbd_ini_conf *conf,
	const struct nbd_ini_link_events *ev)
{
	static const struct cutter_events messages = { .part = handshake_step };

	link->ev = ev;
	cutter_init(&link->cutter, &messages, link->stage, sizeof(link->stage));
	link->conf = conf;
	link->loop = loop;
	link->timer.fire = handshake_timeout;
	link->handshake.name = conf->name;
	link->handshake.tls = conf->tls;
	link->handshake.tls_optional = conf->tls_optional;
}

int nbd_ini_link_dial(struct nbd_ini_link *link, struct loop *loop, const struct nbd_ini_conf *conf,
	uint64_t deadline_ns, const struct nbd_ini_link_events *ev, struct diag *diag)
{
	struct stream_dial dial = {
		.dst = conf->dst, .src = conf->src, .iface = conf->iface[0] ? conf->iface : NULL
	};
	uint64_t now = loop_clock();
	int err;

	init(link, loop, conf, ev);
	link->deadline_ns = deadline_ns;
	if (deadline_ns)
		dial.timeout_ms =
			deadline_ns > now ? (uint32_t)((deadline_ns - now) / MSEC) + 1 : 1;
	err = stream_dial(&link->stream, loop, &dial, &events, link, diag);
	if (err)
		link->stream = NULL;
	return err;
}

int nbd_ini_link_adopt(struct nbd_ini_link *link, struct loop *loop,
	const struct nbd_ini_conf *conf, const struct stream_detached *from,
	const struct nbd_ini_link_events *ev, struct diag *diag)
{
	int err;

	init(link, loop, conf, ev);
	link->handshake.step = INI_DONE;
	link->cutter.ev = ev->replies;
	err = stream_attach(&link->stream, loop, from, &conf->dst, &events, link, diag);
	if (err)
		link->stream = NULL;
	else
		begin_transmission(link);
	return err;
}

struct stream_detached nbd_ini_link_detach(struct nbd_ini_link *link)
{
	struct stream_detached detached;

	loop_timer_del(link->loop, &link->timer);
	detached = stream_detach(link->stream);
	link->stream = NULL;
	return detached;
}

void nbd_ini_link_fini(struct nbd_ini_link *link)
{
	if (!link->stream)
		return;
	loop_timer_del(link->loop, &link->timer);
	if (!link->closing) {
		link->closing = true;
		send_disconnect(link);
		stream_close(link->stream);
	}
	stream_free(link->stream);
	link->stream = NULL;
}
