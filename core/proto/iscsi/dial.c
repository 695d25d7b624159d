/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Drives every login, over our own carriers and the kernel's: connections, PDUs, redirects, time
 * limits and failure messages. */
#include "dial.h"
#include "login.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SPARE_MS 200 /* lets the carrier's own deadline fire first */

enum dial_state { CONNECT, LOGIN, FULL, OVER };

static void dial(struct iscsi_dial *);

void iscsi_dial_finish(struct iscsi_dial *d, const struct diag *why)
{
	const bool ends_redirect = d->redirected && why && why->err;

	if (d->state == OVER && !ends_redirect)
		return;
	d->state = OVER;
	if (why)
		d->why = *why;
	if (ends_redirect)
		d->redirected = false;
	loop_work_add(d->loop, &d->finish_work);
}

static void forget_login(struct iscsi_dial *d)
{
	if (d->login)
		iscsi_login_end(d->login);
	free(d->login);
	d->login = NULL;
}

static void hang_up(struct iscsi_dial *d)
{
	if (d->conn)
		d->conn->ops->connection_terminate(d->conn);
	d->conn = NULL;
	forget_login(d);
}

/* Return the time limit of the next connection with its login; 0: none. */
static uint32_t attempt_ms(const struct iscsi_dial *d)
{
	uint64_t now = loop_clock(), ms = d->limit_ms;

	if (d->until && (!ms || d->until < now + ms * MSEC))
		ms = d->until > now + MSEC ? (d->until - now) / MSEC : 1;
	return (uint32_t)ms;
}

static void bound_attempt(struct iscsi_dial *d, uint32_t ms)
{
	if (ms)
		loop_timer_set(d->loop, &d->timer, loop_clock() + (ms + SPARE_MS) * MSEC);
}

static void timed_out(struct loop_timer *timer)
{
	struct iscsi_dial *d = container_of(timer, struct iscsi_dial, timer);
	const char *pending_request = d->state == CONNECT ? "the connection request"
				      : d->state == LOGIN ? "the login"
							  : d->pending_request;
	struct diag why = { 0 };

	if (pending_request)
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "timed out waiting for the answer to %s",
			pending_request);
	iscsi_dial_finish(d, &why);
}

/* ---- Redirects, and the end. */

static void resolved(struct iscsi_redirects *redirects)
{
	struct iscsi_dial *d = container_of(redirects, struct iscsi_dial, redirects);

	if (redirects->why.err) {
		iscsi_dial_finish(d, &redirects->why);
		return;
	}
	d->result.at = redirects->visited[redirects->count];
	d->result.redirects = redirects->count;
	dial(d);
}

static void follow(struct iscsi_dial *d)
{
	uint32_t ms = attempt_ms(d);

	d->redirected = false;
	d->state = CONNECT;
	loop_trace(d->loop, "redirected to %s", d->login->redirect);
	iscsi_redirects_follow(&d->redirects, d->loop, d->login->redirect, d->numbers, ms);
	hang_up(d);
	bound_attempt(d, ms);
}

/* The owner only knows the portal where the login began. */
static void name_portal(struct iscsi_dial *d)
{
	char at[ADDR_TEXT], text[sizeof(d->why.text)];

	memcpy(text, d->why.text, sizeof(text));
	snprintf(d->why.text, sizeof(d->why.text), "redirected to %s: %.400s",
		addr_text(&d->result.at, at), text);
}

static void finish_work(struct loop_work *work)
{
	struct iscsi_dial *d = container_of(work, struct iscsi_dial, finish_work);

	if (d->redirected) {
		follow(d);
		return;
	}
	if (d->why.err && d->result.redirects)
		name_portal(d);
	iscsi_redirects_cancel(&d->redirects);
	loop_timer_del(d->loop, &d->timer);
	if (d->why.err || !d->keep_open)
		hang_up(d);
	forget_login(d);
	d->ops->done(d);
}

/* ---- The login. */

static void send_request(struct iscsi_dial *d)
{
	const struct iscsi_login_req *req = &d->login->req;
	struct diag why = { 0 };
	int err;

	loop_trace(d->loop, "> login request, stage %u%s", ISCSI_CSG(req->flags),
		req->flags & ISCSI_FINAL ? ", final" : "");
	err = d->conn->ops->send_control(d->conn, req, d->login->data, iscsi_login_len(d->login));
	if (!err)
		return;
	diag_sys(&why, -err, "send a login request");
	iscsi_dial_finish(d, &why);
}

static int begin_login(struct iscsi_dial *d, struct diag *why)
{
	struct iscsi_login_params params = { .initiator = d->from->initiator,
		.target = d->target,
		.auth = &d->from->auth,
		.rdma = d->carrier == ISCSI_ISER,
		.recv_max = d->offered ? d->offered->max_recv : d->conn->recv_limit,
		.offered = d->offered,
		.isid = d->isid,
		.tsih = d->tsih };
	uint8_t random[32];
	int err = iscsi_auth_check(&d->from->auth, why);

	if (err)
		return err;
	d->login = calloc(1, sizeof(*d->login));
	if (!d->login)
		return diag_sys(why, ENOMEM, "login");
	if (getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return diag_sys(why, EAGAIN, "read random numbers");
	iscsi_login_start(d->login, &params, random);
	explicit_bzero(random, sizeof(random));
	if (d->login->out.bad)
		return diag_set(why, DIAG_USAGE, EMSGSIZE, "names too long for one login request");
	return 0;
}

static void settle(struct iscsi_dial *d, const struct addr *peer)
{
	struct addr *at = &d->redirects.visited[d->redirects.count];

	addr_keep_peer(at, peer);
	d->result.at = *at;
	if (!d->redirects.count)
		d->portal = *at;
}

static void up(struct iscsi_carrier_conn *conn)
{
	struct iscsi_dial *d = conn->user;
	struct diag why = { 0 };
	int err;

	if (d->state != CONNECT)
		return;
	d->state = LOGIN;
	settle(d, &conn->peer);
	memcpy(d->result.route, conn->route, sizeof(d->result.route));
	loop_trace(d->loop, "%s: %s", iscsi_carrier_name(d->carrier), conn->route);
	err = d->ops->up ? d->ops->up(d, &why) : 0;
	if (!err)
		err = begin_login(d, &why);
	if (err)
		iscsi_dial_finish(d, &why);
	else
		send_request(d);
}

static void handle_login_response(
	struct iscsi_dial *d, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	struct iscsi_login_result *result = &d->result;
	struct diag why = { 0 };
	int next = iscsi_login_receive(d->login, bhs, data, len, &why);

	result->answers |= d->login->started;
	result->status = d->login->status;
	if (next == ISCSI_LOGIN_SEND) {
		send_request(d);
		return;
	}
	d->redirected = next == ISCSI_LOGIN_MOVED;
	if (next == ISCSI_LOGIN_DONE && d->target && d->carrier == ISCSI_ISER &&
		!d->login->keys.value[ISCSI_RDMA_EXTENSIONS]) {
		next = diag_set(&why, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"the target does not support iSER here (RDMAExtensions=No)");
	} else if (next == ISCSI_LOGIN_DONE) {
		d->state = FULL;
		iscsi_login_agreed(d->login, &result->agreed);
		loop_trace(d->loop, "logged in%s%s", *result->agreed.alg ? ", by CHAP with " : "",
			result->agreed.alg);
		next = d->ops->logged_in(d, &why);
	}
	if (next)
		iscsi_dial_finish(d, next < 0 ? &why : NULL);
}

static void control_notify(struct iscsi_carrier_conn *conn, const struct iscsi_bhs *bhs,
	const uint8_t *data, uint32_t len)
{
	struct iscsi_dial *d = conn->user;

	if (d->state == LOGIN)
		handle_login_response(d, bhs, data, len);
	else if (d->state == FULL && d->ops->pdu)
		d->ops->pdu(d, bhs, data, len);
}

static void connection_terminate_notify(struct iscsi_carrier_conn *conn)
{
	struct iscsi_dial *d = conn->user;
	bool mute = d->state == LOGIN && conn->why.err == ECONNRESET;

	if (d->state == OVER && d->keep_open && !d->redirected && !d->why.err)
		d->why = conn->why; /* lost right after the login: no other upcall reports it */
	if (mute && d->target)
		diag_set(&conn->why, DIAG_CLOSED, ECONNRESET,
			"the target closed the connection instead of answering the login");
	if (mute && !d->from->auth.user) /* as Linux 6.12 does */
		diag_hint(&conn->why, "is this an iSCSI port? If so, the target may require CHAP: "
				      "--user and --secret-file");
	else if (mute && d->target && d->carrier == ISCSI_ISER)
		diag_hint(&conn->why, "check the CHAP secret and the initiator name (--initiator): "
				      "over iSER Linux's target reports no reason");
	iscsi_dial_finish(d, d->state < FULL || d->pending_request ? &conn->why : NULL);
}

/* ---- What owners call. */

static void dial(struct iscsi_dial *d)
{
	static const struct iscsi_carrier_events events = { up, control_notify,
		connection_terminate_notify };
	uint32_t ms = attempt_ms(d);
	struct diag why = { 0 };

	d->state = CONNECT;
	if (d->ops->connect(d, ms, &events, &why)) {
		d->conn = NULL;
		iscsi_dial_finish(d, &why);
		return;
	}
	bound_attempt(d, ms);
}

void iscsi_dial_start(struct iscsi_dial *d)
{
	d->timer.fire = timed_out;
	d->finish_work.run = finish_work;
	d->why = (struct diag){ 0 };
	d->redirected = false;
	d->result = (struct iscsi_login_result){ .at = d->portal };
	iscsi_redirects_init(&d->redirects, &d->portal, resolved);
	dial(d);
}

void iscsi_dial_end(struct iscsi_dial *d)
{
	loop_work_del(d->loop, &d->finish_work);
	loop_timer_del(d->loop, &d->timer);
	iscsi_redirects_cancel(&d->redirects);
	hang_up(d);
}
