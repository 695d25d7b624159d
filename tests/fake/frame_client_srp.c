/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our SRP target and its initiators. */
#include "frame_client_rdma.h"
#include "wire/srp.h"
#include <stdlib.h>
#include <string.h>

static int request(struct rdma_frame_client *rdma, uint8_t priv[EP_PRIV_MAX])
{
	struct srp_login_cm login = { .opcode = SRP_LOGIN_REQ,
		.formats = put_be16(SRP_FORMAT_DIRECT | SRP_FORMAT_INDIRECT),
		.it_iu_len = put_be32(128),
		.target[7] = 9,
		.target[15] = 9 };

	wire_put_be(login.initiator + 8, 8, rdma->client.host + 1);
	memcpy(priv, &login, sizeof(login));
	return sizeof(login);
}

static void read_data(struct rdma_frame_client *rdma, const uint8_t *message, uint32_t len)
{
	const struct srp_rsp *rsp = (const void *)message;

	if (rsp->opcode == SRP_T_LOGOUT)
		return;
	if (rsp->opcode != SRP_RSP || len < sizeof(*rsp))
		abort();
	rdma_answered(rdma, get_be64(rsp->tag), rsp->status);
}

static uint32_t command(struct rdma_frame_client *rdma, unsigned slot, const uint8_t cdb[16],
	const uint8_t *data, uint32_t len)
{
	struct srp_cmd *cmd = (void *)rdma_message(rdma, slot);
	struct srp_direct *desc = (void *)(cmd + 1);

	cmd->opcode = SRP_CMD;
	cmd->tag = put_be64(slot);
	memcpy(cmd->cdb, cdb, 16);
	if (!data)
		return sizeof(*cmd);
	cmd->format = rdma->reads[slot] ? SRP_DIRECT : SRP_DIRECT << 4;
	*desc = (struct srp_direct){ put_be64(rdma_address(rdma, data)), put_be32(rdma_key(rdma)),
		put_be32(len) };
	return sizeof(*cmd) + sizeof(*desc);
}

static const struct rdma_proto proto = {
	.serve = srp_serve,
	.disk = { .uuid[7] = 9, .serial = "S1" },
	.request = request,
	.up = rdma_test,
	.read_data = read_data,
	.command = command,
};

const struct frame_kind frame_kind_srp = { RDMA_ROW, .name = "SRP", .own = &proto };
