/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What comes over NETLINK_ISCSI, any bytes: answers to commands, and events in the middle of a
 * login through the kernel. */
#include "../../core/kernel/iscsi/iscsi_nl.h"
#include "iscsi.h"
#include "iscsi_kernel.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENTS 40
#define SID    3

static struct iscsi_signin *signin;
static bool ended;

static void up(struct datamover *dm)
{
	(void)dm;
	abort(); /* it was so already */
}

static void notified(
	struct datamover *dm, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	struct diag why = { 0 };
	unsigned sum = 0;

	(void)dm;
	for (uint32_t i = 0; i < len; i++)
		sum += data[i];
	if (ended || sum > 255 * len)
		return;
	ended = iscsi_signin_take(signin, bhs, data, len, &why) != ISCSI_SIGNIN_MORE;
}

static void terminated(struct datamover *dm)
{
	if (!dm->why.err)
		abort();
	ended = true;
}

static const struct datamover_events events = { up, notified, terminated };

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
	static const struct iscsi_from from = { .initiator = "iqn.x:me" };
	static const struct iscsi_offer offer = { .first_burst = 512,
		.max_burst = 512,
		.max_recv = 512,
		.max_r2t = 1,
		.target_recv = 512 };
	static const uint8_t isid[6];
	struct kernel_iscsi_conn *conn;
	struct kernel_iscsi *nl;
	struct loop *loop;
	volatile int never = 0;

	check_answers(data, size);
	ended = false;
	iscsi_kernel_start();
	iscsi_kernel.mute = true;
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		kernel_iscsi_open(&nl, loop, NULL, NULL) ||
		kernel_iscsi_adopt(&conn, nl, KERNEL_ISCSI_ISER,
			(struct iscsi_if_conn){ .sid = SID }, &events, NULL, NULL) ||
		iscsi_signin_new(&signin, "iqn.x:t", size & 1 ? ISCSI_ISER : ISCSI_TCP, &from,
			&offer, isid, NULL) ||
		iscsi_signin_begin(signin, &conn->dm, NULL))
		abort();
	for (unsigned i = 0; i < EVENTS && size >= 2; i++) {
		size_t used = one_event(data, size);

		data += used;
		size -= used;
		loop_wait(loop, &never, loop_clock());
	}
	kernel_iscsi_leave(conn);
	iscsi_signin_free(signin);
	kernel_iscsi_close(nl);
	loop_free(loop);
	iscsi_kernel_stop();
	return 0;
}
