/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Send commands to the kernel's iSCSI transport class, and dispatch its events to their
 * connections. */
#include "iscsi_nl.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 64 /* events per turn */

struct kernel_iscsi {
	struct loop *loop;
	struct kernel_iscsi_watch *watch;
	struct kernel_iscsi_hook *hooks;
	struct loop_fd events;
	int commands;
	uint8_t bytes[ISCSI_NL_MAX];
};

static bool get_head(
	const uint8_t *bytes, size_t len, struct nlmsghdr *head, struct iscsi_if_msg *msg)
{
	if (len < ISCSI_NL_HEAD)
		return false;
	memcpy(head, bytes, sizeof(*head));
	memcpy(msg, bytes + sizeof(*head), sizeof(*msg));
	return head->nlmsg_len >= ISCSI_NL_HEAD && head->nlmsg_len <= len;
}

/* The data behind the header is padded: the length of the PDU is the data's. */
static bool get_pdu(const uint8_t *bytes, size_t len, struct kernel_iscsi_event *event)
{
	if (len < ISCSI_NL_HEAD + ISCSI_BHS)
		return false;
	event->bhs = (const void *)(bytes + ISCSI_NL_HEAD);
	event->data = bytes + ISCSI_NL_HEAD + ISCSI_BHS;
	event->len = get_be24(event->bhs->data_len);
	return event->len <= len - ISCSI_NL_HEAD - ISCSI_BHS && !event->bhs->ahs_len;
}

bool kernel_iscsi_nl_event(const uint8_t *bytes, size_t len, struct kernel_iscsi_event *event)
{
	struct iscsi_if_msg msg;
	struct nlmsghdr head;

	if (!get_head(bytes, len, &head, &msg))
		return false;
	*event = (struct kernel_iscsi_event){
		.type = msg.type, .sid = msg.r.conn.sid, .cid = msg.r.conn.cid
	};
	switch (msg.type) {
	case ISCSI_IF_RECV_PDU:
		return get_pdu(bytes, head.nlmsg_len, event);
	case ISCSI_IF_CONN_ERROR:
	case ISCSI_IF_CONN_LOGIN_STATE:
		event->value = msg.r.state.value;
		return true;
	case ISCSI_IF_SESSION_CREATED:
	case ISCSI_IF_SESSION_UNBOUND:
		event->cid = 0;
		event->value = msg.r.session.host;
		return true;
	case ISCSI_IF_SESSION_DESTROYED:
		event->sid = msg.r.gone.sid;
		event->cid = 0;
		event->value = msg.r.gone.host;
		return true;
	default:
		return false;
	}
}

static bool has_code(enum iscsi_if_command command)
{
	return command == ISCSI_IF_BIND_CONN || command == ISCSI_IF_START_CONN ||
	       command == ISCSI_IF_SEND_PDU;
}

int kernel_iscsi_nl_answer(
	const uint8_t *bytes, size_t len, enum iscsi_if_command command, struct iscsi_if_msg *msg)
{
	struct nlmsghdr head;
	int err;

	if (!get_head(bytes, len, &head, msg) || head.nlmsg_type != command)
		return -EPROTO;
	if (msg->type != ISCSI_IF_ERROR && msg->type != command)
		return -EPROTO;
	err = msg->type == ISCSI_IF_ERROR ? (int)msg->iferror : has_code(command) ? msg->r.code : 0;
	if (msg->type == ISCSI_IF_ERROR && !err)
		return -EPROTO;
	return err > 0 || err < -4095 ? -EPROTO : err;
}

int kernel_iscsi_command(struct kernel_iscsi *nl, enum iscsi_if_command command,
	struct iscsi_if_msg *msg, const void *more, uint32_t len)
{
	struct nlmsghdr head = { .nlmsg_len = (uint32_t)ISCSI_NL_HEAD + len,
		.nlmsg_type = (uint16_t)command };
	uint8_t bytes[ISCSI_NL_MAX];
	ssize_t got;

	if (len > sizeof(bytes) - ISCSI_NL_HEAD - 4)
		return -EMSGSIZE;
	msg->type = command;
	memset(bytes, 0, ISCSI_NL_HEAD + 4 + len); /* zero the padding that the kernel includes */
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), msg, sizeof(*msg));
	if (len)
		memcpy(bytes + ISCSI_NL_HEAD, more, len);
	got = kernel_iscsi_socket_call(nl->commands, bytes, NLMSG_ALIGN(ISCSI_NL_HEAD + len));
	if (got >= 0)
		got = kernel_iscsi_nl_answer(bytes, (size_t)got, command, msg);
	explicit_bzero(bytes, sizeof(bytes)); /* they may contain secrets */
	return (int)got;
}

int kernel_iscsi_set(struct kernel_iscsi *nl, uint64_t transport, struct iscsi_if_conn conn,
	enum iscsi_if_param param, const char *text)
{
	struct iscsi_if_msg msg = { .transport = transport };

	msg.u.set.conn = conn;
	msg.u.set.param = param;
	msg.u.set.len = (uint32_t)strlen(text) + 1;
	return kernel_iscsi_command(nl, ISCSI_IF_SET_PARAM, &msg, text, msg.u.set.len);
}

static void dispatch(struct kernel_iscsi *nl, const struct kernel_iscsi_event *event)
{
	struct kernel_iscsi_hook *hook = nl->hooks;

	while (hook && hook->sid != event->sid)
		hook = hook->next;
	if (hook)
		hook->event(hook, event);
	else if (nl->watch)
		nl->watch->event(nl->watch, event);
}

static void readable(struct loop_fd *fd, uint32_t events)
{
	struct kernel_iscsi *nl = container_of(fd, struct kernel_iscsi, events);
	struct kernel_iscsi_event event;

	(void)events;
	for (unsigned i = 0; i < EVENTS_MAX; i++) {
		ssize_t got = kernel_iscsi_socket_read(fd->fd, nl->bytes, sizeof(nl->bytes));

		if (got == -ENOBUFS && nl->watch)
			nl->watch->lost(nl->watch);
		if (got <= 0)
			return;
		if (kernel_iscsi_nl_event(nl->bytes, (size_t)got, &event))
			dispatch(nl, &event);
	}
}

int kernel_iscsi_open(struct kernel_iscsi **out, struct loop *loop,
	struct kernel_iscsi_watch *watch, struct diag *diag)
{
	struct kernel_iscsi *nl = calloc(1, sizeof(*nl));
	int err;

	if (!nl)
		return diag_sys(diag, ENOMEM, "iSCSI netlink");
	nl->loop = loop;
	nl->watch = watch;
	nl->commands = kernel_iscsi_socket(false);
	nl->events =
		(struct loop_fd){ .fd = nl->commands < 0 ? nl->commands : kernel_iscsi_socket(true),
			.events = EPOLLIN,
			.ready = readable };
	err = nl->events.fd < 0 ? nl->events.fd : 0;
	if (err == -EPROTONOSUPPORT)
		err = diag_set(diag, DIAG_NO_MODULE, EPROTONOSUPPORT,
			"kernel module scsi_transport_iscsi is not loaded");
	else if (err)
		err = diag_sys(diag, -err, "iSCSI netlink socket");
	else
		err = loop_fd_add(loop, &nl->events, diag);
	if (err) {
		kernel_iscsi_close(nl);
		return err;
	}
	*out = nl;
	return 0;
}

struct loop *kernel_iscsi_loop(const struct kernel_iscsi *nl)
{
	return nl->loop;
}

void kernel_iscsi_close(struct kernel_iscsi *nl)
{
	loop_fd_del(nl->loop, &nl->events);
	if (nl->events.fd >= 0)
		close(nl->events.fd);
	if (nl->commands >= 0)
		close(nl->commands);
	free(nl);
}

void kernel_iscsi_hook(struct kernel_iscsi *nl, struct kernel_iscsi_hook *hook)
{
	hook->next = nl->hooks;
	nl->hooks = hook;
}

void kernel_iscsi_unhook(struct kernel_iscsi *nl, struct kernel_iscsi_hook *hook)
{
	for (struct kernel_iscsi_hook **at = &nl->hooks; *at; at = &(*at)->next)
		if (*at == hook) {
			*at = hook->next;
			return;
		}
}
