/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/iscsi core/proto/scsi core/target core/net */
/* A discovery over iSER with a target whose PDUs are the input's, some with headers that are right
 * so that they get further. */
#include "../../core/proto/iscsi/dial.h"
#include "ep_pair.h"
#include "wire/iser.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REPLIES 300

struct script {
	struct ep_peer peer;
	const uint8_t *at;
	size_t left;
	unsigned replies;
};

/* What a target would put into the header of its answer. */
static void good_head(struct iscsi_bhs *to, const struct iscsi_bhs *req, uint32_t len, uint8_t more)
{
	uint8_t opcode = ISCSI_OPCODE(req->opcode);
	struct iscsi_login_rsp *login = (void *)to;
	struct iscsi_text_rsp *text = (void *)to;

	*to = (struct iscsi_bhs){ .opcode = opcode | 0x20,
		.flags = req->flags & ~ISCSI_CONTINUE,
		.data_len = put_be24(len),
		.itt = req->itt };
	if (opcode == ISCSI_LOGIN_REQ) {
		login->status_class = more & 8;
	} else {
		text->flags = more & 16 ? ISCSI_CONTINUE : ISCSI_FINAL;
		text->ttt = put_be32(more & 16 ? 1 : ISCSI_NO_TAG);
	}
}

static void answer(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	struct script *script = container_of(peer, struct script, peer);
	uint8_t reply[4096] = { ISER_CONTROL };
	size_t head = sizeof(struct iser_hdr) + ISCSI_BHS, n;
	uint8_t more;

	if (script->left < 2 || len < head || script->replies++ == REPLIES) {
		ep_pair_cut(ep);
		return;
	}
	more = script->at[1];
	n = (size_t)(script->at[0] | (more & 7) << 8);
	script->at += 2;
	script->left -= 2;
	n = n < script->left ? n : script->left;
	if (more & 0x80)
		head = 0;
	else
		good_head((void *)(reply + sizeof(struct iser_hdr)),
			(const void *)(bytes + sizeof(struct iser_hdr)), (uint32_t)n, more);
	memcpy(reply + head, script->at, n);
	script->at += n;
	script->left -= n;
	ep_pair_deliver(ep, reply, (uint32_t)(head + n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script script = { .peer.message = answer, .at = data, .left = size };
	struct iscsi_identity from = { .initiator = "iqn.x:me" };
	struct iscsi_target_list found;
	struct diag diag = { 0 };
	struct loop *loop;
	struct addr addr;

	if (size & 1)
		from.auth = (struct iscsi_auth){ .user = "joe", .secret = "longenoughsecret" };
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		addr_parse(&addr, "10.0.0.1:3260", 0, NULL))
		abort();
	ep_pair_peer(loop, &script.peer);
	if (iscsi_discover(loop, &addr, ISCSI_ISER, &from, 20, &found, &diag)
			? !diag.text[0] || found.record
			: diag.err)
		abort();
	iscsi_target_list_free(&found);
	loop_free(loop);
	return 0;
}
