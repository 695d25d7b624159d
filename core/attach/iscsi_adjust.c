/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What can be changed of a session while it lives. */
#include "iscsi_attach.h"
#include "kernel_iscsi_session.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	uint16_t at;
	enum iscsi_if_param param;
} params[] = {
	{ offsetof(struct iscsi_settings, noop_interval), ISCSI_IF_RECV_TMO },
	{ offsetof(struct iscsi_settings, noop_timeout), ISCSI_IF_PING_TMO },
	{ offsetof(struct iscsi_settings, abort_timeout), ISCSI_IF_ABORT_TMO },
	{ offsetof(struct iscsi_settings, lu_reset_timeout), ISCSI_IF_LU_RESET_TMO },
	{ offsetof(struct iscsi_settings, tgt_reset_timeout), ISCSI_IF_TGT_RESET_TMO },
	{ offsetof(struct iscsi_settings, fast_abort), ISCSI_IF_FAST_ABORT },
};

static int set_one(struct kernel_iscsi *nl, uint64_t transport, struct iscsi_if_conn id,
	const struct iscsi_setting *row, int32_t value, struct diag *diag)
{
	char text[16];
	int err = -ENOSYS;

	snprintf(text, sizeof(text), "%d", value);
	for (unsigned i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		if (params[i].at == row->at)
			err = kernel_iscsi_set(nl, transport, id, params[i].param, text);
	if (err == -ENOTCONN)
		return diag_set(diag, DIAG_BUSY, EBUSY,
			"session%u has lost its connection: --%s can't change before it is back",
			id.sid, row->option);
	return err ? diag_sys(diag, -err, "session%u: --%s", id.sid, row->option) : 0;
}

int iscsi_adjust(struct loop *loop, int root, enum iscsi_carrier carrier, struct iscsi_if_conn id,
	const struct iscsi_settings *set, uint32_t given, struct diag *diag)
{
	struct kernel_iscsi_transport transport;
	struct kernel_iscsi *nl;
	int err;

	for (unsigned i = 0; i < ISCSI_SETTINGS; i++)
		if (given & 1u << i && !iscsi_setting[i].live)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"session%u is logged in: --%s applies to new sessions only", id.sid,
				iscsi_setting[i].option);
	err = kernel_iscsi_transport_there(root,
		carrier == ISCSI_ISER ? KERNEL_ISCSI_ISER : KERNEL_ISCSI_TCP, &transport, diag);
	if (!err)
		err = kernel_iscsi_open(&nl, loop, NULL, diag);
	if (err)
		return err;
	for (unsigned i = 0; !err && i < ISCSI_SETTINGS; i++) {
		const struct iscsi_setting *row = &iscsi_setting[i];
		int32_t value;

		memcpy(&value, (const char *)set + row->at, sizeof(value));
		if (!(given & 1u << i))
			continue;
		if (row->at == offsetof(struct iscsi_settings, replacement_timeout))
			err = kernel_iscsi_recovery_set(root, id.sid, value, diag);
		else
			err = set_one(nl, transport.handle, id, row, value, diag);
	}
	kernel_iscsi_close(nl);
	return err;
}
