/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Encode and decode RPC calls and replies, and RPC-over-RDMA headers. */
#include "codec.h"
#include <errno.h>

#define MACHINE "rdmastor"

void rpc_call_put(struct wr *w, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc)
{
	const struct rpc_call call = { put_be32(xid), put_be32(RPC_CALL), put_be32(RPC_VERSION),
		put_be32(prog), put_be32(vers), put_be32(proc) };

	wr_bytes(w, &call, sizeof(call));
	/* RFC 5531, appendix A: stamp, host name, uid, gid, further gids */
	xdr_put_u32(w, RPC_AUTH_SYS);
	xdr_put_u32(w, 4 + 4 + sizeof(MACHINE) - 1 + 12);
	_Static_assert((sizeof(MACHINE) - 1) % 4 == 0, "without padding");
	xdr_put_u32(w, 0);
	xdr_put_text(w, MACHINE);
	xdr_put_u32(w, 0);
	xdr_put_u32(w, 0);
	xdr_put_u32(w, 0);
	xdr_put_u32(w, RPC_AUTH_NONE);
	xdr_put_u32(w, 0);
}

static int malformed(struct diag *diag, const char *what)
{
	return diag_set(diag, DIAG_PROTOCOL, EPROTO, "malformed %s", what);
}

static int denied(struct rd *r, struct diag *diag)
{
	uint32_t why = xdr_u32(r), first = xdr_u32(r);

	if (r->bad || why > RPC_AUTH_ERROR)
		return malformed(diag, "RPC reply");
	if (why == RPC_MISMATCH)
		return diag_set(diag, DIAG_UNSUPPORTED, EPROTO,
			"the server supports RPC versions %u to %u, not 2", first, xdr_u32(r));
	return diag_set(diag, DIAG_AUTH, EACCES,
		"AUTH_SYS credentials refused by the server (reason %u)", first);
}

int rpc_reply_get(struct rd *r, uint32_t xid, struct rpc_mismatch_info *info, struct diag *diag)
{
	uint32_t got = xdr_u32(r), type = xdr_u32(r), stat = xdr_u32(r), len;

	*info = (struct rpc_mismatch_info){ 0 };
	if (r->bad || type != RPC_REPLY || stat > RPC_DENIED)
		return malformed(diag, "RPC reply");
	if (got != xid)
		return diag_set(
			diag, DIAG_PROTOCOL, EPROTO, "RPC reply with an unknown transaction ID");
	if (stat == RPC_DENIED)
		return denied(r, diag);
	xdr_u32(r); /* verifier */
	xdr_opaque(r, RPC_AUTH_MAX, &len);
	stat = xdr_u32(r);
	if (r->bad)
		return malformed(diag, "RPC reply");
	switch (stat) {
	case RPC_SUCCESS:
		return 0;
	case RPC_PROG_UNAVAIL:
		return diag_set(diag, DIAG_UNSUPPORTED, ENOENT,
			"the server does not offer this RPC program");
	case RPC_PROG_MISMATCH:
		info->low = xdr_u32(r);
		info->high = xdr_u32(r);
		if (r->bad)
			return malformed(diag, "RPC reply");
		return diag_set(diag, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
			"the server supports versions %u to %u of this RPC program", info->low,
			info->high);
	case RPC_PROC_UNAVAIL:
		return diag_set(diag, DIAG_UNSUPPORTED, ENOSYS,
			"the server does not support this RPC procedure");
	case RPC_GARBAGE_ARGS:
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the server rejects the RPC call as malformed");
	case RPC_SYSTEM_ERR:
		return diag_set(
			diag, DIAG_IO, EREMOTEIO, "the server reports an internal RPC error");
	default:
		return malformed(diag, "RPC reply");
	}
}

void rpcrdma_hdr_put(struct rpcrdma_hdr *hdr, uint32_t xid, uint32_t credits)
{
	*hdr = (struct rpcrdma_hdr){ .xid = put_be32(xid),
		.vers = put_be32(RPCRDMA_VERSION),
		.credits = put_be32(credits),
		.proc = put_be32(RPCRDMA_MSG) };
}

static int hdr_error(struct rd *r, struct diag *diag)
{
	uint32_t what = xdr_u32(r), low, high;

	if (what == RPCRDMA_ERR_CHUNK && !r->bad)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the server rejects the RPC-over-RDMA header as malformed");
	low = xdr_u32(r);
	high = xdr_u32(r);
	if (what != RPCRDMA_ERR_VERS || r->bad)
		return malformed(diag, "RPC-over-RDMA header");
	return diag_set(diag, DIAG_UNSUPPORTED, EPROTO,
		"the server supports RPC-over-RDMA versions %u to %u, not 1", low, high);
}

int rpcrdma_hdr_get(struct rd *r, uint32_t xid, struct diag *diag)
{
	uint32_t got = xdr_u32(r), vers = xdr_u32(r), credits = xdr_u32(r), proc = xdr_u32(r),
		 chunks;

	if (r->bad || (vers != RPCRDMA_VERSION && proc != RPCRDMA_ERROR))
		return malformed(diag, "RPC-over-RDMA header");
	if (got != xid)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"RPC-over-RDMA reply with an unknown transaction ID");
	if (proc == RPCRDMA_ERROR)
		return hdr_error(r, diag);
	chunks = xdr_u32(r);
	chunks |= xdr_u32(r);
	chunks |= xdr_u32(r);
	if (r->bad || proc != RPCRDMA_MSG || chunks || !credits)
		return malformed(diag, "RPC-over-RDMA header");
	return 0;
}

void rpcrdma_private_put(struct rpcrdma_private *priv, uint32_t send, uint32_t recv)
{
	*priv = (struct rpcrdma_private){ .magic = put_be32(RPCRDMA_PRIVATE_MAGIC),
		.version = 1,
		.send_size = (uint8_t)(send / 1024 - 1),
		.recv_size = (uint8_t)(recv / 1024 - 1) };
}

/* Other layers may have put data before it (RFC 8797, 5.1), but not InfiniBand and RoCE. */
void rpcrdma_private_get(const uint8_t *priv, size_t len, uint32_t *send, uint32_t *recv)
{
	const struct rpcrdma_private *info = (const void *)priv;

	*send = *recv = RPCRDMA_INLINE;
	if (len < sizeof(*info) || get_be32(info->magic) != RPCRDMA_PRIVATE_MAGIC ||
		info->version != 1)
		return;
	*send = (info->send_size + 1u) * 1024;
	*recv = (info->recv_size + 1u) * 1024;
}
