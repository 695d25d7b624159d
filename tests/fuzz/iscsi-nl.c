/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/kernel/iscsi */
/* Any bytes from NETLINK_ISCSI: answers to commands, and events during a login by the kernel. */
#include "../../core/kernel/iscsi/iscsi_nl.h"
#include "iscsi.h"
#include "iscsi_kernel.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENTS 40
#define SID    3

static struct kernel_iscsi *nl;
static struct iscsi_dial login;
static unsigned sum;

/* A connection that is up already. */
static int adopt(struct iscsi_dial *dial, uint32_t timeout_ms,
	const struct iscsi_carrier_events *events, struct diag *diag)
{
	struct kernel_iscsi_conn *conn;

	(void)timeout_ms;
	if (kernel_iscsi_adopt(&conn, nl, ISCSI_ISER, (struct iscsi_if_conn){ .sid = SID }, events,
		    dial, diag))
		abort();
	dial->conn = &conn->dm;
	return 0;
}

static int logged_in(struct iscsi_dial *dial, struct diag *diag)
{
	(void)diag;
	sum += dial->result.agreed.max_burst;
	return 0;
}

static void take(
	struct iscsi_dial *dial, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)dial;
	(void)bhs;
	for (uint32_t i = 0; i < len; i++)
		sum += data[i];
}

static void done(struct iscsi_dial *dial)
{
	if (dial->conn)
		abort();
}

static const struct iscsi_dial_ops ops = {
	.connect = adopt, .logged_in = logged_in, .pdu = take, .done = done
};

static void check_answers(const uint8_t *data, size_t size)
{
	for (unsigned command = ISCSI_IF_CREATE_SESSION; command <= ISCSI_IF_CREATE_BOUND_SESSION;
		command++) {
		struct iscsi_if_msg msg;

		if (kernel_iscsi_nl_answer(data, size, command, &msg) > 0)
			abort();
	}
}

/* One event: with heads that are right, or of nothing but the input's bytes. */
static size_t one_event(const uint8_t *data, size_t size)
{
	size_t len = data[1] < size - 2 ? data[1] : size - 2;
	struct iscsi_login_rsp rsp = { .opcode = ISCSI_LOGIN_RSP,
		.flags = data[0] & 0xcf,
		.data_len = put_be24((uint32_t)len) };
	struct iscsi_if_msg msg = { .type = data[0] & 16 ? ISCSI_IF_RECV_PDU
							 : 100u + (data[0] & 15) };

	msg.r.state.conn.sid = SID;
	msg.r.state.value = data[1] + 1000u;
	if (data[0] & 32)
		iscsi_kernel_raw(data + 2, len);
	else
		iscsi_kernel_event(&msg, msg.type == ISCSI_IF_RECV_PDU ? (const void *)&rsp : NULL,
			data + 2, msg.type == ISCSI_IF_RECV_PDU ? (uint32_t)len : 0);
	return 2 + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct iscsi_identity from = { .initiator = "iqn.x:me" };
	static const struct iscsi_offered_params offer = { .first_burst = 512,
		.max_burst = 512,
		.max_recv = 512,
		.max_r2t = 1,
		.target_recv = 512 };
	static const uint8_t isid[6];
	struct loop *loop;
	volatile int never = 0;

	check_answers(data, size);
	iscsi_kernel_start();
	iscsi_kernel.mute = true;
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		kernel_iscsi_open(&nl, loop, NULL, NULL))
		abort();
	login = (struct iscsi_dial){ .ops = &ops,
		.loop = loop,
		.target = "iqn.x:t",
		.from = &from,
		.offered = &offer,
		.isid = isid,
		.carrier = size & 1 ? ISCSI_ISER : ISCSI_TCP,
		.numbers = true };
	addr_parse(&login.portal, "10.0.0.1:3260", 0, NULL);
	iscsi_dial_start(&login);
	login.conn->ev->up(login.conn);
	for (unsigned i = 0; i < EVENTS && size >= 2; i++) {
		size_t used = one_event(data, size);

		data += used;
		size -= used;
		loop_wait(loop, &never, loop_clock());
	}
	iscsi_dial_end(&login);
	kernel_iscsi_close(nl);
	loop_free(loop);
	iscsi_kernel_stop();
	return 0;
}
