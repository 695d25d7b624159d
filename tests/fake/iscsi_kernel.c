/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands carried out at once, events through a pair of sockets. */
#include "iscsi_kernel.h"
#include "../../core/kernel/iscsi/iscsi_nl.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct iscsi_kernel iscsi_kernel;
static int event_fd = -1;

void iscsi_kernel_start(void)
{
	iscsi_kernel_stop();
	iscsi_kernel = (struct iscsi_kernel){ .tpgt = 1, .code[ISCSI_IF_EP_POLL] = 1 };
}

void iscsi_kernel_stop(void)
{
	if (event_fd >= 0)
		close(event_fd);
	event_fd = -1;
}

int kernel_iscsi_socket(bool events)
{
	int pair[2];

	if (iscsi_kernel.no_socket)
		return -iscsi_kernel.no_socket;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	if (!events) {
		close(pair[1]);
		return pair[0];
	}
	iscsi_kernel_stop();
	event_fd = pair[1];
	return pair[0];
}

ssize_t kernel_iscsi_socket_read(int fd, uint8_t *bytes, size_t room)
{
	ssize_t got = recv(fd, bytes, room, MSG_DONTWAIT);

	return got < 0 ? (errno == EAGAIN ? 0 : -errno) : got;
}

void iscsi_kernel_raw(const uint8_t *bytes, size_t len)
{
	if (send(event_fd, bytes, len, MSG_DONTWAIT) < 0 && errno != EAGAIN)
		perror("event");
}

void iscsi_kernel_event(
	const struct iscsi_if_msg *msg, const struct iscsi_bhs *bhs, const void *data, uint32_t len)
{
	uint8_t bytes[ISCSI_NL_MAX] = { 0 };
	struct nlmsghdr head = {
		.nlmsg_len = (uint32_t)(ISCSI_NL_HEAD + (bhs ? ISCSI_BHS + NLMSG_ALIGN(len) : 0))
	};

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), msg, sizeof(*msg));
	if (bhs)
		memcpy(bytes + ISCSI_NL_HEAD, bhs, ISCSI_BHS);
	if (len)
		memcpy(bytes + ISCSI_NL_HEAD + ISCSI_BHS, data, len);
	iscsi_kernel_raw(bytes, head.nlmsg_len);
}

void iscsi_kernel_error(uint32_t sid, uint32_t reason)
{
	struct iscsi_if_msg msg = { .type = ISCSI_IF_CONN_ERROR };

	iscsi_kernel.ended = iscsi_kernel.bound && iscsi_kernel.eps && !iscsi_kernel.old;
	msg.r.state.conn.sid = sid;
	msg.r.state.value = reason;
	iscsi_kernel_event(&msg, NULL, NULL, 0);
}

static const char accepted[] = "AuthMethod=None\0TargetPortalGroupTag=";
static const char agreed[] = "HeaderDigest=None\0DataDigest=None\0DefaultTime2Wait="
			     "2\0DefaultTime2Retain=0\0ErrorRecoveryLevel=0\0MaxConnections=1\0"
			     "InitialR2T=Yes\0ImmediateData=Yes\0MaxBurstLength="
			     "131072\0FirstBurstLength=65536\0MaxOutstandingR2T=1\0"
			     "MaxRecvDataSegmentLength=32768";
static const char agreed_rdma[] = "HeaderDigest=None\0DataDigest=None\0DefaultTime2Wait="
				  "2\0DefaultTime2Retain=0\0ErrorRecoveryLevel=0\0"
				  "MaxConnections=1\0InitialR2T=Yes\0ImmediateData="
				  "Yes\0MaxBurstLength=131072\0FirstBurstLength=65536\0"
				  "MaxOutstandingR2T=1\0InitiatorRecvDataSegmentLength="
				  "8192\0TargetRecvDataSegmentLength=8192\0RDMAExtensions=Yes";
static const char agreed_no_rdma[] = "HeaderDigest=None\0DataDigest=None\0DefaultTime2Wait="
				     "2\0DefaultTime2Retain=0\0ErrorRecoveryLevel=0\0"
				     "MaxConnections=1\0InitialR2T=Yes\0ImmediateData="
				     "Yes\0MaxBurstLength=131072\0FirstBurstLength=65536\0"
				     "MaxOutstandingR2T=1\0InitiatorRecvDataSegmentLength="
				     "8192\0TargetRecvDataSegmentLength=8192\0RDMAExtensions=No";

static uint32_t answer_text(const struct iscsi_login_req *req, bool rdma, char *text, size_t room)
{
	const char *keys = !rdma ? agreed : iscsi_kernel.no_rdma ? agreed_no_rdma : agreed_rdma;
	size_t len = !rdma                  ? sizeof(agreed)
		     : iscsi_kernel.no_rdma ? sizeof(agreed_no_rdma)
					    : sizeof(agreed_rdma);

	if (iscsi_kernel.moved)
		return (uint32_t)snprintf(text, room, "TargetAddress=%s", iscsi_kernel.moved) + 1;
	if (iscsi_kernel.status)
		return 0;
	if (ISCSI_CSG(req->flags) == ISCSI_STAGE_OPERATIONAL) {
		memcpy(text, keys, len);
		return (uint32_t)len;
	}
	if (iscsi_kernel.responded)
		return 0;
	iscsi_kernel.responded = true;
	memcpy(text, accepted, sizeof(accepted));
	return (uint32_t)sizeof(accepted) - 1 +
	       (uint32_t)snprintf(text + sizeof(accepted) - 1, room - sizeof(accepted), "%d",
		       iscsi_kernel.tpgt) +
	       1;
}

/* With a task tag that is the kernel's own. */
static void answer_login(uint32_t sid, const struct iscsi_login_req *req, bool rdma)
{
	uint8_t next = ISCSI_CSG(req->flags) ? ISCSI_STAGE_FULL : ISCSI_STAGE_OPERATIONAL;
	uint16_t status = iscsi_kernel.moved ? 0x0101 : iscsi_kernel.status;
	struct iscsi_login_rsp rsp = { .opcode = ISCSI_LOGIN_RSP,
		.flags = status ? 0
			 : req->flags & ISCSI_FINAL
				 ? ISCSI_FINAL | ISCSI_STAGES(ISCSI_CSG(req->flags), next)
				 : ISCSI_STAGES(ISCSI_CSG(req->flags), 0),
		.itt = put_be32(0x7700),
		.statsn = put_be32(41),
		.tsih = put_be16(3),
		.status_class = (uint8_t)(status >> 8),
		.status_detail = (uint8_t)status };
	struct iscsi_if_msg msg = { .type = ISCSI_IF_RECV_PDU };
	char text[2048];
	uint32_t len;

	memcpy(iscsi_kernel.isid, req->isid, sizeof(req->isid));
	if (iscsi_kernel.mute)
		return;
	if (iscsi_kernel.hangs_up) {
		iscsi_kernel_error(sid, ISCSI_IF_CONN_CLOSED);
		return;
	}
	len = answer_text(req, rdma, text, sizeof(text));
	rsp.data_len = put_be24(len);
	msg.r.recv.conn.sid = sid;
	iscsi_kernel_event(&msg, (const void *)&rsp, text, len);
}

static void answer_pdu(const struct iscsi_if_msg *msg, const struct iscsi_bhs *bhs)
{
	struct iscsi_if_msg event = { .type = ISCSI_IF_RECV_PDU };
	struct iscsi_bhs rsp = { .opcode = ISCSI_LOGOUT_RSP, .flags = ISCSI_FINAL };

	event.r.recv.conn = msg->u.pdu.conn;
	iscsi_kernel.logouts += ISCSI_OPCODE(bhs->opcode) == ISCSI_LOGOUT_REQ;
	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_LOGIN_REQ)
		answer_login(msg->u.pdu.conn.sid, (const void *)bhs, msg->transport == ISCSI_ISER);
	else if (ISCSI_OPCODE(bhs->opcode) == ISCSI_LOGOUT_REQ && !iscsi_kernel.mute)
		iscsi_kernel_event(&event, &rsp, NULL, 0);
}

static void set(const struct iscsi_if_msg *msg, const char *text)
{
	if (msg->u.set.param < ISCSI_KERNEL_PARAMS)
		snprintf(iscsi_kernel.set[msg->u.set.param], sizeof(iscsi_kernel.set[0]), "%s",
			text);
}

static void unbound(uint32_t sid)
{
	struct iscsi_if_msg event = { .type = ISCSI_IF_SESSION_UNBOUND };

	event.r.session.sid = sid;
	iscsi_kernel_event(&event, NULL, NULL, 0);
}

static void destroyed(uint32_t sid)
{
	struct iscsi_if_msg event = { .type = ISCSI_IF_SESSION_DESTROYED };

	event.r.gone.sid = sid;
	iscsi_kernel_event(&event, NULL, NULL, 0);
}

static void carry_out(uint16_t type, struct iscsi_if_msg *msg, const uint8_t *more)
{
	struct iscsi_kernel *k = &iscsi_kernel;

	switch (type) {
	case ISCSI_IF_CREATE_SESSION:
	case ISCSI_IF_CREATE_BOUND_SESSION:
		k->sessions++;
		msg->r.session.sid = ++k->sid;
		msg->r.session.host = 6;
		break;
	case ISCSI_IF_CREATE_CONN:
		k->conns++;
		break;
	case ISCSI_IF_BIND_CONN:
		k->bound = true;
		k->responded = false;
		msg->r.code = 0;
		break;
	case ISCSI_IF_START_CONN:
		k->started = true;
		if (k->leaves)
			iscsi_kernel_error(msg->u.conn.sid, ISCSI_IF_CONN_CLOSED);
		msg->r.code = 0;
		break;
	case ISCSI_IF_STOP_CONN:
		k->stop = msg->u.stop.flag;
		k->eps -= k->bound && k->eps && !k->old && !k->ended;
		k->bound = k->started = false;
		break;
	case ISCSI_IF_DESTROY_CONN:
		k->conns--;
		break;
	case ISCSI_IF_DESTROY_SESSION:
	case ISCSI_IF_DESTROY_SESSION_ASYNC:
		if (type == ISCSI_IF_DESTROY_SESSION_ASYNC && k->flushes)
			break;
		k->sessions--;
		destroyed(msg->u.sid);
		break;
	case ISCSI_IF_UNBIND_SESSION:
		unbound(msg->u.sid);
		break;
	case ISCSI_IF_EP_CONNECT:
		k->eps++;
		msg->r.ep = 9;
		break;
	case ISCSI_IF_EP_POLL:
		k->misuse += k->ended;
		msg->r.code = k->code[ISCSI_IF_EP_POLL];
		break;
	case ISCSI_IF_EP_DISCONNECT:
		k->misuse += !k->eps;
		k->eps -= k->eps > 0;
		k->ended = false;
		break;
	case ISCSI_IF_SET_PARAM:
		set(msg, (const char *)more);
		break;
	case ISCSI_IF_SEND_PDU:
		msg->r.code = 0;
		answer_pdu(msg, (const void *)more);
		break;
	}
}

ssize_t kernel_iscsi_socket_call(int fd, uint8_t *bytes, size_t len)
{
	struct iscsi_kernel *k = &iscsi_kernel;
	struct nlmsghdr head;
	struct iscsi_if_msg msg;

	(void)fd;
	if (len < ISCSI_NL_HEAD)
		return -EINVAL;
	memcpy(&head, bytes, sizeof(head));
	memcpy(&msg, bytes + sizeof(head), sizeof(msg));
	if (head.nlmsg_type >= ISCSI_KERNEL_COMMANDS || head.nlmsg_len > len ||
		msg.type != head.nlmsg_type)
		return -EINVAL;
	k->count[head.nlmsg_type]++;
	if (k->refuse[head.nlmsg_type] || (head.nlmsg_type == ISCSI_IF_EP_POLL && !k->eps)) {
		msg.type = ISCSI_IF_ERROR;
		msg.iferror = (uint32_t) -
			      (k->refuse[head.nlmsg_type] ? k->refuse[head.nlmsg_type] : EINVAL);
	} else if (head.nlmsg_type != ISCSI_IF_EP_POLL && k->code[head.nlmsg_type] && k->times) {
		k->times--;
		msg.r.code = k->code[head.nlmsg_type];
	} else {
		carry_out(head.nlmsg_type, &msg, bytes + ISCSI_NL_HEAD);
	}
	head.nlmsg_len = ISCSI_NL_HEAD;
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), &msg, sizeof(msg));
	return ISCSI_NL_HEAD;
}
