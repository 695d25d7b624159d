/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's iSCSI connections as a carrier of the Datamover Interface: create, bind and destroy
 * them, and pass login PDUs through them. */
#include "iscsi_conn.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* one each millisecond, until the kernel is done with the previous request */
#define TRIES 200

static int command(struct iscsi_conn *conn, enum iscsi_if_command what, struct iscsi_if_msg *msg)
{
	msg->transport = conn->pub.transport;
	return kernel_iscsi_command(conn->nl, what, msg, NULL, 0);
}

void kernel_iscsi_conn_failed(struct iscsi_conn *conn, const struct diag *why)
{
	if (conn->terminated)
		return;
	conn->terminated = true;
	loop_timer_del(conn->pub.dm.loop, &conn->timer);
	conn->pub.dm.why = *why;
	conn->pub.dm.ev->connection_terminate_notify(&conn->pub.dm);
}

/* A response carries the kernel's own tag: restore ours. */
static void deliver_pdu(struct iscsi_conn *conn, const struct kernel_iscsi_event *event)
{
	struct iscsi_bhs bhs = *event->bhs;
	uint8_t opcode = ISCSI_OPCODE(bhs.opcode);

	if (opcode == ISCSI_LOGIN_RSP || opcode == ISCSI_TEXT_RSP || opcode == ISCSI_LOGOUT_RSP)
		bhs.itt = conn->itt;
	conn->pub.dm.ev->control_notify(&conn->pub.dm, &bhs, event->data, event->len);
}

static void on_event(struct kernel_iscsi_hook *hook, const struct kernel_iscsi_event *event)
{
	struct iscsi_conn *conn = container_of(hook, struct iscsi_conn, hook);
	struct diag why = { 0 };

	if (conn->terminated || (conn->removing && event->type != ISCSI_IF_SESSION_DESTROYED))
		return;
	if (event->type == ISCSI_IF_RECV_PDU && event->cid == conn->pub.id.cid) {
		deliver_pdu(conn, event);
	} else if (event->type == ISCSI_IF_CONN_ERROR && event->cid == conn->pub.id.cid) {
		diag_set(&why, DIAG_CLOSED, ECONNRESET, "%s", kernel_iscsi_reason(event->value));
		kernel_iscsi_conn_failed(conn, &why);
	} else if (event->type == ISCSI_IF_SESSION_UNBOUND) {
		conn->pub.unbound = true;
		if (conn->pub.on_unbound)
			conn->pub.on_unbound(&conn->pub);
	} else if (event->type == ISCSI_IF_SESSION_DESTROYED) {
		conn->has_session = conn->has_conn = conn->bound = false;
		diag_set(&why, DIAG_CLOSED, ENODEV, "another process ended the session");
		kernel_iscsi_conn_failed(conn, &why);
	}
}

static void hook(struct iscsi_conn *conn)
{
	conn->hook.sid = conn->pub.id.sid;
	conn->hook.event = on_event;
	kernel_iscsi_hook(conn->nl, &conn->hook);
	conn->hooked = true;
}

static int create_session(struct iscsi_conn *conn, struct diag *diag)
{
	struct iscsi_if_msg msg = { 0 };
	bool bound = conn->params.carrier == ISCSI_ISER;
	int err;

	if (bound) {
		msg.u.create_bound.ep = conn->ep;
		msg.u.create_bound.cmdsn = 1;
		msg.u.create_bound.cmds_max = conn->params.cmds_max;
		msg.u.create_bound.queue_depth = conn->params.queue_depth;
	} else {
		msg.u.create.cmdsn = 1;
		msg.u.create.cmds_max = conn->params.cmds_max;
		msg.u.create.queue_depth = conn->params.queue_depth;
	}
	err = command(conn, bound ? ISCSI_IF_CREATE_BOUND_SESSION : ISCSI_IF_CREATE_SESSION, &msg);
	if (err == -EPERM)
		return diag_set(diag, DIAG_PERMISSION, EPERM,
			"only root can use the kernel's iSCSI initiator");
	if (err)
		return diag_sys(diag, -err, "create an iSCSI session");
	conn->has_session = true;
	conn->pub.id = (struct iscsi_if_conn){ .sid = msg.r.session.sid };
	conn->pub.host = msg.r.session.host;
	hook(conn);
	msg = (struct iscsi_if_msg){ 0 };
	msg.u.conn = conn->pub.id;
	err = command(conn, ISCSI_IF_CREATE_CONN, &msg);
	if (err)
		return diag_sys(diag, -err, "create an iSCSI connection");
	conn->has_conn = true;
	return 0;
}

static int bind_conn(struct iscsi_conn *conn, struct diag *diag)
{
	struct iscsi_if_msg msg = { 0 };
	int err;

	msg.u.bind.conn = conn->pub.id;
	msg.u.bind.ep = conn->has_ep ? conn->ep : (uint64_t)conn->sock.fd;
	msg.u.bind.leading = 1;
	err = command(conn, ISCSI_IF_BIND_CONN, &msg);
	if (err)
		return diag_sys(diag, -err, "bind session%u to its connection", conn->pub.id.sid);
	conn->bound = true;
	return 0;
}

void kernel_iscsi_conn_connected(struct iscsi_conn *conn)
{
	struct diag why = { 0 };
	char to[ADDR_TEXT];
	int err = conn->params.recover ? 0 : create_session(conn, &why);

	if (!err)
		err = bind_conn(conn, &why);
	if (err) {
		kernel_iscsi_conn_failed(conn, &why);
		return;
	}
	snprintf(conn->pub.dm.route, sizeof(conn->pub.dm.route), "the kernel's %s to %s",
		conn->params.carrier == ISCSI_ISER ? "iSER" : "iSCSI over TCP",
		addr_text(&conn->params.to, to));
	conn->pub.dm.ev->up(&conn->pub.dm);
}

static int send_pdu(struct iscsi_conn *conn)
{
	struct iscsi_if_msg msg = { .transport = conn->pub.transport };

	msg.u.pdu.conn = conn->pub.id;
	msg.u.pdu.header = ISCSI_BHS;
	msg.u.pdu.data = conn->len;
	return kernel_iscsi_command(
		conn->nl, ISCSI_IF_SEND_PDU, &msg, conn->pdu, ISCSI_BHS + conn->len);
}

/* Retry in a moment: a response can arrive before the kernel is done with its request, and until
 * then it takes no other. */
static void retry_send(struct loop_timer *timer)
{
	struct iscsi_conn *conn = container_of(timer, struct iscsi_conn, timer);
	struct diag why = { 0 };
	int err = send_pdu(conn);

	if (err == -EPERM && ++conn->tries < TRIES) {
		loop_timer_set(conn->pub.dm.loop, timer, loop_clock() + MSEC);
		return;
	}
	explicit_bzero(conn->pdu, sizeof(conn->pdu));
	if (!err)
		return;
	diag_sys(&why, -err, "send a PDU through the kernel");
	kernel_iscsi_conn_failed(conn, &why);
}

static int send_control(
	struct iscsi_carrier_conn *dm, const void *bhs, const void *data, uint32_t len)
{
	struct iscsi_conn *conn = (struct iscsi_conn *)dm;
	struct iscsi_bhs head = *(const struct iscsi_bhs *)bhs;
	int err;

	if (len > ISCSI_PDU_DATA)
		return -EMSGSIZE;
	if (conn->timer.on)
		return -ENOBUFS;
	head.ahs_len = 0;
	head.data_len = put_be24(len);
	memcpy(conn->pdu, &head, sizeof(head));
	conn->itt = head.itt;
	conn->len = len;
	if (len)
		memcpy(conn->pdu + ISCSI_BHS, data, len);
	err = send_pdu(conn);
	if (err == -EPERM) {
		conn->tries = 0;
		conn->timer.fire = retry_send;
		loop_timer_set(dm->loop, &conn->timer, loop_clock() + MSEC);
		return 0;
	}
	explicit_bzero(conn->pdu, sizeof(conn->pdu));
	return err;
}

static void enable_full_feature(struct iscsi_carrier_conn *dm, uint32_t recv_max)
{
	kernel_iscsi_conn_set((struct kernel_iscsi_conn *)dm, ISCSI_IF_MAX_RECV, "%u", recv_max);
}

static void stop_conn(struct iscsi_conn *conn, enum iscsi_if_stop flag)
{
	struct iscsi_if_msg msg = { 0 };

	msg.u.stop.conn = conn->pub.id;
	msg.u.stop.flag = flag;
	command(conn, ISCSI_IF_STOP_CONN, &msg);
}

/* Call before STOP_CONN, which ends a bound endpoint since Linux 5.13, after which another process
 * may get its handle. After a connection error the kernel frees what the handle refers to, but
 * keeps the handle until this command. EP_POLL would use the freed memory then (Linux 6.12,
 * iscsi_iser_ep_poll()): the kernel crashes, or spins on a lock and executes no other command. */
static void drop_ep(struct iscsi_conn *conn)
{
	struct iscsi_if_msg msg = { 0 };

	msg.u.ep = conn->ep;
	if (conn->has_ep)
		command(conn, ISCSI_IF_EP_DISCONNECT, &msg);
	conn->has_ep = false;
}

static void destroy_conn(struct iscsi_conn *conn)
{
	struct iscsi_if_msg msg = { 0 };

	msg.u.conn = conn->pub.id;
	if (conn->has_conn)
		command(conn, ISCSI_IF_DESTROY_CONN, &msg);
	conn->has_conn = false;
}

static int destroy_session(struct iscsi_conn *conn, enum iscsi_if_command cmd)
{
	struct iscsi_if_msg msg = { 0 };

	msg.u.sid = conn->pub.id.sid;
	return conn->has_session ? command(conn, cmd, &msg) : 0;
}

static void free_conn(struct iscsi_conn *conn)
{
	if (conn->hooked)
		kernel_iscsi_unhook(conn->nl, &conn->hook);
	kernel_iscsi_conn_disconnect(conn);
	explicit_bzero(conn->pdu, sizeof(conn->pdu));
	free(conn);
}

static void terminate(struct iscsi_carrier_conn *dm)
{
	struct iscsi_conn *conn = (struct iscsi_conn *)dm;

	drop_ep(conn);
	if (conn->bound)
		stop_conn(conn, conn->params.recover ? ISCSI_IF_RECOVER : ISCSI_IF_TERM);
	if (!conn->params.recover) {
		destroy_conn(conn);
		destroy_session(conn, ISCSI_IF_DESTROY_SESSION);
	}
	free_conn(conn);
}

int kernel_iscsi_remove(struct kernel_iscsi_conn *pub)
{
	struct iscsi_conn *conn = (struct iscsi_conn *)pub;
	int err;

	conn->removing = true;
	conn->terminated = false;
	loop_timer_del(conn->pub.dm.loop, &conn->timer); /* a logout that was not sent yet */
	stop_conn(conn, ISCSI_IF_TERM);
	destroy_conn(conn);
	err = destroy_session(conn, ISCSI_IF_DESTROY_SESSION_ASYNC);
	return err == -ENOSYS ? destroy_session(conn, ISCSI_IF_DESTROY_SESSION) : err;
}

void kernel_iscsi_conn_free(struct kernel_iscsi_conn *conn)
{
	free_conn((struct iscsi_conn *)conn);
}

static const struct iscsi_carrier_ops ops = { send_control, enable_full_feature, terminate };

static struct iscsi_conn *new_conn(struct kernel_iscsi *nl, struct loop *loop,
	const struct iscsi_carrier_events *ev, void *user)
{
	struct iscsi_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->nl = nl;
	conn->sock.fd = -1;
	conn->pub.dm = (struct iscsi_carrier_conn){
		.ops = &ops, .ev = ev, .loop = loop, .user = user, .recv_limit = 0xffffff
	};
	return conn;
}

int kernel_iscsi_connect(struct kernel_iscsi_conn **out, struct kernel_iscsi *nl,
	const struct kernel_iscsi_conn_params *params, const struct iscsi_carrier_events *ev,
	void *user, struct diag *diag)
{
	struct iscsi_conn *conn = new_conn(nl, kernel_iscsi_loop(nl), ev, user);
	int err;

	if (!conn)
		return diag_sys(diag, ENOMEM, "iSCSI connection");
	conn->params = *params;
	conn->pub.transport = params->transport;
	if (params->recover) {
		conn->pub.id = params->conn;
		hook(conn);
		stop_conn(conn, ISCSI_IF_RECOVER);
	}
	err = kernel_iscsi_conn_connect(conn, diag);
	if (err) {
		terminate(&conn->pub.dm);
		return err;
	}
	*out = &conn->pub;
	return 0;
}

int kernel_iscsi_adopt(struct kernel_iscsi_conn **out, struct kernel_iscsi *nl, uint64_t transport,
	struct iscsi_if_conn id, const struct iscsi_carrier_events *ev, void *user,
	struct diag *diag)
{
	struct iscsi_conn *conn = new_conn(nl, kernel_iscsi_loop(nl), ev, user);

	if (!conn)
		return diag_sys(diag, ENOMEM, "iSCSI connection");
	conn->pub.transport = transport;
	conn->pub.id = id;
	conn->has_session = conn->has_conn = conn->bound = true;
	hook(conn);
	*out = &conn->pub;
	return 0;
}

int kernel_iscsi_conn_set(
	struct kernel_iscsi_conn *conn, enum iscsi_if_param param, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	int n, err;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text))
		return -EMSGSIZE;
	err = kernel_iscsi_set(
		((struct iscsi_conn *)conn)->nl, conn->transport, conn->id, param, text);
	explicit_bzero(text, sizeof(text));
	return err;
}

void kernel_iscsi_conn_netdev(struct kernel_iscsi_conn *pub, const char *netdev)
{
	struct iscsi_if_msg msg = { .transport = pub->transport };

	msg.u.set_host.host = pub->host;
	msg.u.set_host.param = ISCSI_IF_HOST_NETDEV;
	msg.u.set_host.len = (uint32_t)strlen(netdev) + 1;
	kernel_iscsi_command(((struct iscsi_conn *)pub)->nl, ISCSI_IF_SET_HOST_PARAM, &msg, netdev,
		msg.u.set_host.len);
}

int kernel_iscsi_unbind(struct kernel_iscsi_conn *pub)
{
	struct iscsi_if_msg msg = { 0 };

	msg.u.sid = pub->id.sid;
	return command((struct iscsi_conn *)pub, ISCSI_IF_UNBIND_SESSION, &msg);
}

int kernel_iscsi_start(struct kernel_iscsi_conn *pub, struct diag *diag)
{
	struct iscsi_if_msg msg = { 0 };
	int err;

	msg.u.conn = pub->id;
	err = command((struct iscsi_conn *)pub, ISCSI_IF_START_CONN, &msg);
	return err ? diag_sys(diag, -err, "start session%u", pub->id.sid) : 0;
}
