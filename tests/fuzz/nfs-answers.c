/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/rpc core/net */
/* What NFS servers, port mappers and mount daemons answer: the codecs under any bytes, and a server
 * asked over RDMA whose replies are the input's, with headers that are right so that they get that
 * far. */
#include "../../core/proto/rpc/codec.h"
#include "ep_pair.h"
#include "nfs.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REPLIES 200

struct script {
	struct ep_peer peer;
	const uint8_t *at;
	size_t left;
	unsigned replies;
};

static void must_end(const char *text, size_t room)
{
	if (strnlen(text, room) == room)
		abort();
}

static void each(const struct nfs4_entry *entry, void *arg)
{
	unsigned *count = arg;

	must_end(entry->name, sizeof(entry->name));
	if (!entry->name[0] || strchr(entry->name, '/'))
		abort();
	++*count;
}

static void check_codecs(const uint8_t *data, size_t size)
{
	struct nfs4_list list = { 0 };
	struct nfs_exports exports;
	struct rpc_mismatch_info mismatch;
	struct diag diag = { 0 };
	uint32_t send, recv, status, ops;
	unsigned count = 0;
	uint16_t port;
	struct rd r = rd_init(data, size);

	if (rpc_reply_get(&r, 1, &mismatch, &diag) && !diag.text[0])
		abort();
	r = rd_init(data, size);
	rpcrdma_hdr_get(&r, 1, &diag);
	rpcrdma_private_get(data, size, &send, &recv);
	if (send < RPCRDMA_INLINE || recv < RPCRDMA_INLINE || send > 262144 || recv > 262144)
		abort();
	r = rd_init(data, size);
	portmap_getport_get(&r, &port, &diag);
	r = rd_init(data, size);
	rpcbind_getaddr_get(&r, &port, &diag);
	r = rd_init(data, size);
	mount_exports_get(&r, &exports, &diag);
	nfs_exports_free(&exports);
	r = rd_init(data, size);
	nfs4_compound_get(&r, &status, &ops, &diag);
	r = rd_init(data, size);
	nfs4_readdir_get(&r, "", &list, each, &count, &diag);
	if (count > size / 16)
		abort();
}

/* Two bytes say how long the next reply is, and whether its head is the input's too. */
static void answer(struct ep_peer *peer, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	struct script *script = container_of(peer, struct script, peer);
	uint8_t reply[4096] = { 0 };
	size_t head = sizeof(struct rpcrdma_hdr) + 24, n;

	if (script->left < 2 || len < head || script->replies++ == REPLIES) {
		ep_pair_cut(ep);
		return;
	}
	n = (size_t)(script->at[0] | (script->at[1] & 7) << 8);
	if (script->at[1] & 0x80)
		head = 0;
	script->at += 2;
	script->left -= 2;
	n = n < script->left ? n : script->left;
	if (head) {
		memcpy(reply, bytes, sizeof(struct rpcrdma_hdr));
		memcpy(reply + sizeof(struct rpcrdma_hdr), bytes, 4);
		reply[sizeof(struct rpcrdma_hdr) + 7] = RPC_REPLY;
	}
	memcpy(reply + head, script->at, n);
	script->at += n;
	script->left -= n;
	ep_pair_deliver(ep, reply, (uint32_t)(head + n));
}

static void ask(const uint8_t *data, size_t size)
{
	struct script script = { .peer.message = answer, .at = data, .left = size };
	struct nfs_server_info got;
	struct nfs_paths paths;
	struct diag diag = { 0 };
	struct loop *loop;
	struct addr addr;
	int err;

	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		addr_parse(&addr, "10.0.0.1:20049", 0, NULL))
		abort();
	ep_pair_peer(loop, &script.peer);
	err = nfs_probe(loop, &addr, true, size & 1 ? NFS_ALL : 0, 2000, &got, &diag);
	if (err ? !diag.text[0] : !got.versions || got.versions & ~(unsigned)NFS_ALL)
		abort();
	err = nfs_paths(loop, &addr, true, 2000, &paths, &diag);
	if (paths.count > NFS_PATHS || (err && (paths.count || !diag.text[0])))
		abort();
	nfs_paths_free(&paths);
	loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_codecs(data, size);
	ask(data, size);
	return 0;
}
