/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connect to the target on behalf of the kernel: by a TCP socket of ours, or by an endpoint that
 * ib_iser connects. */
#include "iscsi_conn.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP_MAX 20

static void tcp_failed(struct iscsi_conn *conn, int err)
{
	struct diag why = { 0 };

	diag_connect(&why, err);
	kernel_iscsi_conn_failed(conn, &why);
}

static void ep_failed(struct iscsi_conn *conn, int err)
{
	struct diag why = { 0 };
	char to[ADDR_TEXT];

	addr_text(&conn->params.to, to);
	if (err == ETIMEDOUT)
		diag_set(&why, DIAG_TIMEOUT, err, "%s does not answer over RDMA", to);
	else
		diag_set(&why, DIAG_REFUSED, ECONNREFUSED, "connection to %s over RDMA failed", to);
	kernel_iscsi_conn_failed(conn, &why);
}

static void socket_ready(struct loop_fd *sock, uint32_t events)
{
	struct iscsi_conn *conn = container_of(sock, struct iscsi_conn, sock);
	socklen_t len = sizeof(int);
	int err = 0;

	(void)events;
	if (getsockopt(sock->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	loop_fd_del(conn->pub.dm.loop, sock);
	loop_timer_del(conn->pub.dm.loop, &conn->timer);
	if (err) {
		tcp_failed(conn, err);
		return;
	}
	kernel_iscsi_conn_connected(conn);
}

static void connect_timed_out(struct loop_timer *timer)
{
	struct iscsi_conn *conn = container_of(timer, struct iscsi_conn, timer);

	loop_fd_del(conn->pub.dm.loop, &conn->sock);
	tcp_failed(conn, ETIMEDOUT);
}

static int configure(const struct kernel_iscsi_conn_params *params, int fd, struct diag *diag)
{
	char text[ADDR_TEXT];
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (params->netdev && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, params->netdev,
				      (socklen_t)strlen(params->netdev)))
		return errno == ENODEV
			       ? diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no network interface '%s'",
					 params->netdev)
			       : diag_sys(diag, errno, "network interface %s", params->netdev);
	if (params->src.ss.ss_family &&
		bind(fd, (const struct sockaddr *)&params->src.ss, params->src.len))
		return diag_sys(diag, errno, "source address %s", addr_host(&params->src, text));
	return 0;
}

static int connect_tcp(struct iscsi_conn *conn, struct diag *diag)
{
	const struct kernel_iscsi_conn_params *params = &conn->params;
	int err;

	conn->sock.fd = socket(
		params->to.ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	if (conn->sock.fd < 0)
		return diag_sys(diag, errno, "TCP socket");
	err = configure(params, conn->sock.fd, diag);
	if (err)
		return err;
	if (connect(conn->sock.fd, (const struct sockaddr *)&params->to.ss, params->to.len) &&
		errno != EINPROGRESS)
		return diag_connect(diag, errno);
	conn->sock.events = EPOLLOUT;
	conn->sock.ready = socket_ready;
	conn->timer.fire = connect_timed_out;
	if (conn->until)
		loop_timer_set(conn->pub.dm.loop, &conn->timer, conn->until);
	return loop_fd_add(conn->pub.dm.loop, &conn->sock, diag);
}

/* The kernel reports the state of an endpoint only when polled. */
static void poll_endpoint(struct loop_timer *timer)
{
	struct iscsi_conn *conn = container_of(timer, struct iscsi_conn, timer);
	struct iscsi_if_msg msg = { .transport = conn->params.transport };
	uint64_t now = loop_clock();
	int err;

	msg.u.ep_poll.ep = conn->ep;
	err = kernel_iscsi_command(conn->nl, ISCSI_IF_EP_POLL, &msg, NULL, 0);
	if (err || msg.r.code < 0) {
		ep_failed(conn, ECONNREFUSED);
	} else if (msg.r.code) {
		kernel_iscsi_conn_connected(conn);
	} else if (conn->until && now >= conn->until) {
		ep_failed(conn, ETIMEDOUT);
	} else {
		loop_timer_set(conn->pub.dm.loop, timer, now + conn->step_ms * MSEC);
		conn->step_ms = conn->step_ms * 2 < STEP_MAX ? conn->step_ms * 2 : STEP_MAX;
	}
}

static int connect_endpoint(struct iscsi_conn *conn, struct diag *diag)
{
	struct iscsi_if_msg msg = { .transport = conn->params.transport };
	char to[ADDR_TEXT];
	int err;

	msg.u.ep_nonblocking = 1;
	err = kernel_iscsi_command(conn->nl, ISCSI_IF_EP_CONNECT, &msg, &conn->params.to.ss,
		sizeof(conn->params.to.ss));
	if (err == -EPERM)
		return diag_set(diag, DIAG_PERMISSION, EPERM,
			"only root can use the kernel's iSCSI initiator");
	if (err)
		return diag_set(diag, err == -ENODEV ? DIAG_NO_DEVICE : DIAG_UNREACHABLE, -err,
			"no RDMA device has a route to %s: %s", addr_text(&conn->params.to, to),
			diag_errno_text(-err));
	conn->ep = msg.r.ep;
	conn->has_ep = true;
	conn->step_ms = 1;
	conn->timer.fire = poll_endpoint;
	loop_timer_set(conn->pub.dm.loop, &conn->timer, loop_clock() + MSEC);
	return 0;
}

int kernel_iscsi_conn_connect(struct iscsi_conn *conn, struct diag *diag)
{
	conn->until = conn->params.timeout_ms ? loop_clock() + conn->params.timeout_ms * MSEC : 0;
	return conn->params.carrier == ISCSI_TCP ? connect_tcp(conn, diag)
						 : connect_endpoint(conn, diag);
}

void kernel_iscsi_conn_disconnect(struct iscsi_conn *conn)
{
	loop_timer_del(conn->pub.dm.loop, &conn->timer);
	loop_fd_del(conn->pub.dm.loop, &conn->sock);
	if (conn->sock.fd >= 0)
		close(conn->sock.fd);
	conn->sock.fd = -1;
}
