/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An SRP target with one disk for tests. */
#include "srp_peer.h"
#include <assert.h>
#include <stdlib.h>

static void request(struct ep_peer *peer, struct ep *ep, const uint8_t *priv, unsigned len)
{
	struct srp_peer *target = (struct srp_peer *)peer;
	const struct srp_login_cm *login = (const void *)priv;
	const struct srp_login_req *req = (const void *)priv;
	struct srp_login_cm same;
	struct srp_login_rej rej = { .opcode = SRP_LOGIN_REJ };
	struct srp_login_rsp rsp = { .opcode = SRP_LOGIN_RSP };
	uint32_t reason = target->reject;

	if (target->by_service) {
		assert(len == sizeof(*req));
		same = (struct srp_login_cm){ .opcode = req->opcode,
			.flags = req->flags,
			.formats = req->formats,
			.imm_offset = req->imm_offset,
			.it_iu_len = req->it_iu_len };
		memcpy(target->initiator, req->initiator, sizeof(req->initiator));
		memcpy(target->target, req->target, sizeof(req->target));
		login = &same;
		len = sizeof(same);
	}
	assert(len == sizeof(*login) && login->opcode == SRP_LOGIN_REQ);
	assert(get_be16(login->formats) & SRP_FORMAT_DIRECT);
	assert(get_be32(login->it_iu_len) >= 64);
	assert(!(login->flags & SRP_MULTI_CHANNEL) == !target->chans);
	if (target->long_rejects && get_be32(login->it_iu_len) > 320)
		reason = SRP_REJ_IU_TOO_LONG;
	if (reason) {
		rej.reason = put_be32(reason);
		ep_pair_reject(ep, 28, &rej, sizeof(rej));
		return;
	}
	assert(target->chans < SRP_CHANS);
	target->chan[target->chans++] = ep;
	rsp.delta = put_be32((uint32_t)target->limit);
	rsp.it_iu_len = put_be32(target->it_iu);
	rsp.ti_iu_len = login->it_iu_len;
	rsp.formats = login->formats;
	if (login->flags & SRP_IMMEDIATE && !target->no_imm)
		rsp.flags = SRP_IMMEDIATE;
	ep_pair_accept(ep, &rsp, sizeof(rsp));
}

/* Where the command's data is, and how much: behind it, or in the initiator's memory. */
static uint8_t *data_of(struct srp_peer *target, struct ep *ep, const struct srp_cmd *cmd,
	uint32_t len, uint32_t *have)
{
	const struct srp_direct *desc = (const void *)(cmd + 1);
	be32 imm;
	void *p;

	assert(len >= 64);
	*have = 0;
	if (cmd->format == SRP_IMM << 4) {
		memcpy(&imm, desc, sizeof(imm));
		*have = get_be32(imm);
		assert(len == 64 + *have && len <= target->it_iu);
		target->inside++;
		return (uint8_t *)(uintptr_t)cmd + 64;
	}
	assert(len == 64);
	if (!cmd->format)
		return NULL;
	assert(cmd->format == SRP_DIRECT || cmd->format == SRP_DIRECT << 4);
	*have = get_be32(desc->len);
	p = ep_pair_memory(ep, get_be32(desc->key), get_be64(desc->va), *have,
		cmd->format == SRP_DIRECT ? EP_REMOTE_WRITE : EP_REMOTE_READ);
	assert(p);
	target->keyed++;
	return p;
}

static uint32_t give(uint8_t *to, uint32_t have, const uint8_t *from, uint32_t len)
{
	if (len > have)
		len = have;
	memcpy(to, from, len);
	return len;
}

static uint32_t inquire(const struct srp_peer *target, const uint8_t *cdb, uint8_t page[256])
{
	static const uint8_t pages[] = { 0x00, 0x80, 0x83, 0xb0, 0xb2 };

	memset(page, 0, 256);
	page[1] = cdb[2];
	switch (cdb[1] ? cdb[2] : -1) {
	case -1:
		page[0] = target->type;
		page[1] = 0;
		memcpy(page + 8, "ACME    Anvil           1.0 ", 28);
		return 96;
	case 0x00:
		memcpy(page + 4, pages, sizeof(pages));
		page[3] = sizeof(pages);
		break;
	case 0x80:
		memcpy(page + 4, "  S3R1AL  ", 10);
		page[3] = 10;
		break;
	case 0x83: /* one of a port first, then NAA 6 */
		memcpy(page + 4, (uint8_t[]){ 0x61, 0x93, 0, 8, 0x50, 1, 2, 3, 4, 5, 6, 7 }, 12);
		memcpy(page + 16, (uint8_t[]){ 1, 3, 0, 16, 0x60, 1, 2, 3 }, 8);
		page[3] = 32;
		break;
	case 0xb0:
		wire_put_be(page + 8, 4, 1024);  /* blocks of a transfer */
		wire_put_be(page + 20, 4, 4096); /* UNMAP */
		wire_put_be(page + 24, 4, 1);    /* ranges of it */
		wire_put_be(page + 36, 8, 2048); /* WRITE SAME */
		page[3] = 60;
		break;
	case 0xb2:
		page[5] = 0xc4; /* UNMAP, WRITE SAME(16) with it; unmapped blocks are zeros */
		page[3] = 60;
		break;
	default:
		return 0;
	}
	return page[3] + 4u;
}

/* Status; sense in target->sense where it is CHECK CONDITION. */
static uint8_t execute(struct srp_peer *target, const struct srp_cmd *cmd, uint8_t *data,
	uint32_t have, uint32_t *moved)
{
	const uint8_t *cdb = cmd->cdb;
	uint8_t page[256] = { 0 };
	uint64_t lba = 0, count = 0;
	bool known = true;

	*moved = 0;
	switch (cdb[0]) {
	case 0x00: /* TEST UNIT READY */
		break;
	case 0x12:
		known = !target->old || !cdb[1];
		*moved = known ? give(data, have, page, inquire(target, cdb, page)) : 0;
		known = *moved;
		break;
	case 0xa0: /* REPORT LUNS */
		wire_put_be(page, 4, target->luns * 8u);
		for (unsigned i = 0; i < target->luns; i++)
			page[8 + i * 8 + 1] = (uint8_t)i;
		*moved = give(data, have, page, 8 + target->luns * 8u);
		break;
	case 0x25: /* READ CAPACITY(10), (16) */
		wire_put_be(page, 4, target->blocks - 1);
		wire_put_be(page + 4, 4, target->block);
		*moved = give(data, have, page, 8);
		break;
	case 0x9e:
		known = !target->old;
		wire_put_be(page, 8, target->blocks - 1);
		wire_put_be(page + 8, 4, target->block);
		page[13] = 3;
		page[14] = 0xc0; /* thin, and zeros where nothing is */
		*moved = known ? give(data, have, page, 32) : 0;
		break;
	case 0x1a: /* MODE SENSE(6) */
		known = !target->old;
		page[0] = 23;
		page[2] = 0x10 | (target->protected ? 0x80 : 0);
		page[4] = 0x08;
		page[5] = 18;
		page[6] = target->no_cache ? 0 : 4;
		*moved = known ? give(data, have, page, 24) : 0;
		break;
	case 0x28: /* READ, WRITE(10) */
	case 0x2a:
		lba = wire_be(cdb + 2, 4);
		count = wire_be(cdb + 7, 2);
		break;
	case 0x88: /* READ, WRITE(16), WRITE SAME(16) */
	case 0x8a:
	case 0x93:
		lba = wire_be(cdb + 2, 8);
		count = wire_be(cdb + 10, 4);
		break;
	case 0x42: /* UNMAP */
		assert(have == 24 && wire_be(cdb + 7, 2) == 24);
		assert(wire_be(data, 2) == 22 && wire_be(data + 2, 2) == 16);
		lba = wire_be(data + 8, 8);
		count = wire_be(data + 16, 4);
		break;
	case 0x35:
		target->flushes++;
		break;
	default:
		known = false;
	}
	if (!known) {
		memcpy(target->sense, (uint8_t[]){ 5, 0x20, 0 }, 3);
		return 2;
	}
	if (!count)
		return 0;
	assert(lba + count <= target->blocks);
	target->requests++;
	target->fuas += (cdb[0] == 0x2a || cdb[0] == 0x8a) && cdb[1] & 8;
	*moved = have;
	if (cdb[0] == 0x28 || cdb[0] == 0x88) {
		assert(have == count * target->block && cmd->format == SRP_DIRECT);
		memcpy(data, target->disk + lba * target->block, have);
	} else if (cdb[0] == 0x2a || cdb[0] == 0x8a) {
		assert(have == count * target->block);
		memcpy(target->disk + lba * target->block, data, have);
	} else {
		assert(cdb[0] == 0x42 || have == target->block);
		assert(count <= (cdb[0] == 0x42 ? 4096 : 2048));
		target->unmaps += cdb[0] == 0x42 || cdb[1] & 8;
		target->sames += cdb[0] == 0x93;
		memset(target->disk + lba * target->block, 0, count * target->block);
	}
	return 0;
}

uint32_t srp_peer_do(struct srp_peer *target, struct ep *ep, const struct srp_cmd *cmd,
	uint32_t len, uint8_t out[96])
{
	struct srp_rsp *rsp = (void *)out;
	uint32_t have, moved = 0, lun = cmd->lun[1];
	uint8_t *data = data_of(target, ep, cmd, len, &have);

	*rsp = (struct srp_rsp){
		.opcode = SRP_RSP, .delta = put_be32((uint32_t)target->delta), .tag = cmd->tag
	};
	target->commands++;
	if (target->failing && (!target->only || target->only == cmd->cdb[0] + 1u)) {
		target->failing--;
		rsp->status = target->status;
	} else if (lun >= target->luns && cmd->cdb[0] != 0x12 && cmd->cdb[0] != 0xa0) {
		rsp->status = 2;
		memcpy(target->sense, (uint8_t[]){ 5, 0x25, 0 }, 3);
	} else {
		rsp->status = execute(target, cmd, data, have, &moved);
		if (lun >= target->luns && cmd->cdb[0] == 0x12)
			data[0] = 0x7f;
	}
	if (moved < have) {
		rsp->flags = cmd->format == SRP_DIRECT ? SRP_RSP_IN_UNDER : SRP_RSP_OUT_UNDER;
		rsp->in_residual = rsp->out_residual = put_be32(have - moved);
	}
	if (rsp->status != 2)
		return sizeof(*rsp);
	rsp->flags |= SRP_RSP_SENSE;
	rsp->sense_len = put_be32(SRP_SENSED);
	memset(out + sizeof(*rsp), 0, SRP_SENSED);
	out[36] = 0x70;
	out[36 + 2] = target->sense[0];
	out[36 + 12] = target->sense[1];
	out[36 + 13] = target->sense[2];
	return sizeof(*rsp) + SRP_SENSED;
}

static void message(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	struct srp_peer *target = (struct srp_peer *)peer;
	const struct srp_cmd *cmd = (const void *)bytes;
	uint8_t out[96];
	unsigned n = 0;

	while (target->chan[n] != ep)
		assert(++n < target->chans);
	if (target->script && !target->script(target, n, cmd, len))
		return;
	if (cmd->opcode == SRP_CMD)
		len = srp_peer_do(target, ep, cmd, len, out), ep_pair_deliver(ep, out, len);
}

void srp_peer_init(struct srp_peer *target, struct loop *loop)
{
	*target = (struct srp_peer){ .peer = { .request = request, .message = message },
		.disk = calloc(1, SRP_DISK),
		.limit = 64,
		.delta = 1,
		.it_iu = 8256,
		.block = 512,
		.blocks = SRP_DISK / 512,
		.luns = 1 };
	assert(target->disk);
	ep_pair_peer(loop, &target->peer);
}

void srp_peer_fini(struct srp_peer *target)
{
	free(target->disk);
	target->disk = NULL;
}
