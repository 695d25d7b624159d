/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of a session: disks, then the target, then the kernel's own. */
#include "iscsi_attach.h"
#include "kernel_iscsi_session.h"
#include <errno.h>
#include <string.h>

#define MSEC      1000000ull
#define LOGOUT_MS 5000

struct detach {
	struct kernel_iscsi_conn *conn;
	volatile int step; /* what was waited for has come */
	bool gone;
};

static void gone(struct detach *detach)
{
	detach->gone = true;
	detach->step = 1;
}

static void up(struct datamover *dm)
{
	(void)dm;
}

static void notified(
	struct datamover *dm, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	(void)data;
	(void)len;
	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_LOGOUT_RSP)
		gone(dm->user);
}

static void terminated(struct datamover *dm)
{
	gone(dm->user);
}

static void unbound(struct kernel_iscsi_conn *conn)
{
	((struct detach *)conn->dm.user)->step = 1;
}

static const struct datamover_events events = { up, notified, terminated };

static void log_out(struct loop *loop, struct detach *detach, uint64_t until)
{
	struct iscsi_logout_req req = { .opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.cid = put_be16((uint16_t)detach->conn->id.cid) };
	uint64_t bound = loop_clock() + LOGOUT_MS * MSEC;

	loop_trace(loop, "> logout request, session%u", detach->conn->id.sid);
	detach->step = 0;
	if (!detach->conn->dm.ops->send_control(&detach->conn->dm, &req, NULL, 0))
		loop_wait(loop, &detach->step, until && until < bound ? until : bound);
}

int iscsi_detach(struct loop *loop, int root, enum iscsi_carrier carrier, struct iscsi_if_conn id,
	uint64_t until, struct diag *diag)
{
	struct kernel_iscsi_transport transport;
	struct kernel_iscsi_session session;
	struct detach detach = { 0 };
	struct kernel_iscsi *nl;
	bool live = !kernel_iscsi_session(root, id.sid, &session) &&
		    !strcmp(session.state, "LOGGED_IN");
	int err = kernel_iscsi_transport_there(root,
		carrier == ISCSI_ISER ? KERNEL_ISCSI_ISER : KERNEL_ISCSI_TCP, &transport, diag);

	if (!err)
		err = kernel_iscsi_open(&nl, loop, NULL, diag);
	if (err)
		return err;
	err = kernel_iscsi_adopt(&detach.conn, nl, transport.handle, id, &events, &detach, diag);
	if (!err) {
		detach.conn->on_unbound = unbound;
		if (live && !kernel_iscsi_unbind(detach.conn))
			loop_wait(loop, &detach.step, until);
		if (live && !detach.gone)
			log_out(loop, &detach, until);
		detach.conn->dm.ops->connection_terminate(&detach.conn->dm);
		if (!kernel_iscsi_session(root, id.sid, &session))
			err = diag_set(diag, DIAG_BUSY, EBUSY,
				"the kernel refuses to remove session%u", id.sid);
	}
	kernel_iscsi_close(nl);
	return err;
}
