/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An NFS server asked over both carriers: RDMA in memory, TCP on loopback; also one that answers
 * late, in pieces, wrongly, or not at all. */
/* Link: leap */
#include "nfs.h"
#include "../fake/nfs_server.h"
#include "ep_pair.h"
#include "says.h"
#include "wire/rpc.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static struct loop *loop;
static struct diag why;
static struct nfs_server_info got;
static struct nfs_server server = { .low = 3, .high = 4, .minors = 7 };

/* --- RDMA */

static struct ep_peer peer;
static uint32_t answer_xid; /* added to the right one */
static bool mute, twice, long_header;

static void accept_it(struct ep_peer *p, struct ep *ep, const uint8_t *priv, unsigned len)
{
	struct rpcrdma_private own = { .magic = put_be32(RPCRDMA_PRIVATE_MAGIC),
		.version = 1,
		.send_size = 3,
		.recv_size = 3 };

	(void)p;
	cr_assert_eq(len, sizeof(own));
	cr_assert_eq(memcmp(priv, &own, sizeof(own)), 0);
	ep_pair_accept(ep, &own, sizeof(own));
}

static void answer_it(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	uint8_t reply[4096];
	struct rpcrdma_hdr hdr;
	size_t n;

	(void)p;
	cr_assert_gt(len, sizeof(hdr));
	memcpy(&hdr, bytes, sizeof(hdr));
	cr_assert_eq(get_be32(hdr.vers), 1);
	cr_assert(get_be32(hdr.credits) > 0 && !get_be32(hdr.reads) && !get_be32(hdr.writes) &&
		  !get_be32(hdr.reply));
	n = nfs_server_reply(&server, bytes + sizeof(hdr), len - sizeof(hdr), reply + sizeof(hdr),
		sizeof(reply) - sizeof(hdr));
	cr_assert_gt(n, 0);
	hdr.xid = put_be32(get_be32(hdr.xid) + answer_xid);
	hdr.reads = put_be32(long_header);
	memcpy(reply, &hdr, sizeof(hdr));
	for (int i = 0; !mute && i <= twice; i++)
		ep_pair_deliver(ep, reply, (uint32_t)(sizeof(hdr) + n));
}

static void begin(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	peer = (struct ep_peer){ .request = accept_it, .message = answer_it };
	ep_pair_peer(loop, &peer);
}

static void end(void)
{
	loop_free(loop);
}

static struct addr somewhere(void)
{
	struct addr addr;

	cr_assert_eq(addr_parse(&addr, "10.0.0.1:20049", 0, NULL), 0);
	return addr;
}

static int ask_rdma(uint32_t ms)
{
	struct addr addr = somewhere();

	why = (struct diag){ 0 };
	return nfs_probe(loop, &addr, true, 0, ms, &got, &why);
}

Test(nfs, versions_over_rdma, .init = begin, .fini = end)
{
	char text[32];

	for (int delayed = 0; delayed < 2; delayed++) {
		peer.delayed_sent = delayed;
		cr_assert_eq(ask_rdma(2000), 0, "%s", why.text);
		cr_assert_eq(got.versions, NFS_ALL);
	}
	cr_assert_str_eq(nfs_versions_text(got.versions, text), "4.2, 4.1, 4.0, 3");
	server.minors = 2;
	server.low = 4;
	cr_assert_eq(ask_rdma(2000), 0);
	cr_assert_eq(got.versions, NFS_V41);
	server.low = 2;
	server.high = 3;
	cr_assert_eq(ask_rdma(2000), 0);
	cr_assert_eq(got.versions, NFS_V3);
	server.high = 2;
	cr_assert_eq(ask_rdma(2000), -EPROTONOSUPPORT);
	diag_says(&why, DIAG_UNSUPPORTED, "10.0.0.1:20049", "version 2");
	server.reject = RPC_PROG_UNAVAIL;
	cr_assert_eq(ask_rdma(2000), -ENOENT);
	diag_says(&why, DIAG_UNSUPPORTED, "10.0.0.1:20049", "RPC_program");
	cr_assert(text_missing(why.text, "version"), "%s", why.text);
}

Test(nfs, no_more_is_asked_than_is_wanted, .init = begin, .fini = end)
{
	struct addr addr = somewhere();

	cr_assert_eq(nfs_probe(loop, &addr, true, NFS_ALL, 2000, &got, &why), 0);
	cr_assert_eq(got.versions, NFS_V42);
	cr_assert_eq(server.calls, 1);
	cr_assert_eq(nfs_probe(loop, &addr, true, NFS_V3, 2000, &got, &why), 0);
	cr_assert_eq(got.versions, NFS_V3);
	cr_assert_eq(server.calls, 2);
	server.minors = 1;
	cr_assert_eq(nfs_probe(loop, &addr, true, NFS_V42 | NFS_V41, 2000, &got, &why), 0);
	cr_assert_eq(got.versions, NFS_V40 | NFS_V3, "what is served instead");
	cr_assert_eq(server.calls, 6);
}

Test(nfs, a_server_that_refuses_credentials, .init = begin, .fini = end)
{
	server.deny = true;
	cr_assert_eq(ask_rdma(2000), -EACCES);
}

Test(nfs, wrong_answers_over_rdma, .init = begin, .fini = end)
{
	answer_xid = 1;
	cr_assert_eq(ask_rdma(2000), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, "10.0.0.1:20049", "RPC-over-RDMA reply transaction");
	answer_xid = 0;
	long_header = true;
	cr_assert_eq(ask_rdma(2000), -EPROTO);
	long_header = false;
	twice = true;
	cr_assert_eq(ask_rdma(2000), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, "10.0.0.1:20049", "second reply");
	twice = false;
	mute = true;
	cr_assert_eq(ask_rdma(50), -ETIMEDOUT);
	diag_says(&why, DIAG_TIMEOUT, "10.0.0.1:20049", "reply");
	mute = false;
	peer.messages = 0;
	peer.cut_at = 3;
	cr_assert_neq(ask_rdma(2000), 0);
}

static void reject_it(struct ep_peer *p, struct ep *ep, const uint8_t *priv, unsigned len)
{
	(void)p;
	(void)priv;
	(void)len;
	ep_pair_reject(ep, 28, NULL, 0);
}

Test(nfs, a_connection_that_is_rejected, .init = begin, .fini = end)
{
	peer.request = reject_it;
	cr_assert_eq(ask_rdma(2000), -ECONNREFUSED);
}

Test(nfs, the_tree_over_rdma, .init = begin, .fini = end)
{
	static const struct nfs_server_dir dirs[] = { { "/srv", 0, false }, { "/srv/a", 7, false },
		{ "/srv/b", 8, false }, { "/srv/a/own", 7, false }, { "/notes", 0, true } };
	struct addr addr = somewhere();
	struct nfs_paths found;

	memcpy(server.dir, dirs, sizeof(dirs));
	cr_assert_eq(nfs_paths(loop, &addr, true, 2000, &found, &why), 0, "%s", why.text);
	cr_assert_eq(found.count, 2);
	cr_assert_str_eq(found.path[0], "/srv/a");
	cr_assert_str_eq(found.path[1], "/srv/b");
	cr_assert_not(found.more);
	nfs_paths_free(&found);
}

Test(nfs, a_tree_too_deep_for_a_call, .init = begin, .fini = end)
{
	static char names[5][1300];
	struct addr addr = somewhere();
	struct nfs_paths found;

	for (unsigned i = 0; i < 5; i++) {
		snprintf(names[i], sizeof(names[i]), "%s/%0250u", i ? names[i - 1] : "", i);
		server.dir[i].path = names[i];
	}
	server.dir[5] = (struct nfs_server_dir){ "/exp", 7, false };
	peer.request = NULL;
	cr_assert_eq(nfs_paths(loop, &addr, true, 5000, &found, &why), 0, "%s", why.text);
	cr_assert_eq(found.count, 1);
	cr_assert_str_eq(found.path[0], "/exp");
	cr_assert(found.more);
	nfs_paths_free(&found);
}

Test(nfs, a_tree_without_end, .init = begin, .fini = end)
{
	struct addr addr = somewhere();
	struct nfs_paths found;
	static char names[63][256];

	for (unsigned i = 0; i < 63; i++) {
		snprintf(names[i], sizeof(names[i]), "/%0*u", i % 2 ? 200 : 3, i);
		server.dir[i].path = names[i];
	}
	cr_assert_eq(nfs_paths(loop, &addr, true, 5000, &found, &why), 0, "%s", why.text);
	cr_assert_eq(found.count, 0);
	cr_assert(found.more);
	nfs_paths_free(&found);
}

/* --- TCP */

Test(nfs, versions_over_tcp, .init = begin, .fini = end)
{
	struct addr addr = nfs_server_start(&server);
	char text[ADDR_TEXT];

	for (server.manner = NFS_SERVER_WHOLE; server.manner <= NFS_SERVER_FRAGMENTS;
		server.manner++) {
		cr_assert_eq(nfs_probe(loop, &addr, false, 0, 5000, &got, &why), 0, "%s", why.text);
		cr_assert_eq(got.versions, NFS_ALL);
	}
	server.manner = NFS_SERVER_HUGE;
	cr_assert_eq(nfs_probe(loop, &addr, false, 0, 5000, &got, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, addr_text(&addr, text), "reply 1_MiB");
	server.manner = NFS_SERVER_EMPTY;
	cr_assert_eq(nfs_probe(loop, &addr, false, 0, 5000, &got, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, addr_text(&addr, text), "reply empty");
	server.manner = NFS_SERVER_MUTE;
	cr_assert_eq(nfs_probe(loop, &addr, false, 0, 50, &got, &why), -ETIMEDOUT);
	nfs_server_stop();
	cr_assert_eq(nfs_probe(loop, &addr, false, 0, 500, &got, &why), -ECONNREFUSED);
}

Test(nfs, exports, .init = begin, .fini = end)
{
	struct addr addr = nfs_server_start(&server);
	struct nfs_exports list;
	struct sockaddr_in *in = (void *)&addr.ss;

	server.export[0] = (struct nfs_server_export){ "/exp", { "*" } };
	server.export[1] = (struct nfs_server_export){ "/only", { "10.0.0.7", "@friends" } };
	cr_assert_eq(nfs_exports(loop, &addr, ntohs(in->sin_port), 5000, &list, &why), 0, "%s",
		why.text);
	cr_assert_eq(list.count, 2);
	cr_assert_str_eq(list.item[1].to, "10.0.0.7,@friends");
	nfs_exports_free(&list);
	nfs_server_stop();
}

/* Root's own port is below 1024; if none is free, any other does. */
Test(nfs, own_ports_in_use, .init = begin, .fini = end)
{
	struct addr addr = nfs_server_start(&server);
	struct sockaddr_in own = { .sin_family = AF_INET };
	int fd[1024];

	for (unsigned port = 665; port < 1024; port++) {
		own.sin_port = htons((uint16_t)port);
		fd[port] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		(void)!bind(fd[port], (struct sockaddr *)&own, sizeof(own));
	}
	cr_assert_eq(nfs_probe(loop, &addr, false, 0, 5000, &got, &why), 0, "%s", why.text);
	cr_assert_eq(got.versions, NFS_ALL);
	for (unsigned port = 665; port < 1024; port++)
		close(fd[port]);
	nfs_server_stop();
}

/* --- Several questions on one loop */

static struct nfs_query query[3];
static volatile int answers;

static void count_answer(struct nfs_query *q)
{
	(void)q;
	answers++;
}

static struct nfs_query *ask_aside(unsigned i, struct addr to, uint32_t ms)
{
	query[i] = (struct nfs_query){ .loop = loop,
		.server = to,
		.until = loop_clock() + ms * 1000000ull,
		.done = count_answer };
	return &query[i];
}

/* What waits for one that never answers delays no other; what is cancelled never reports. */
Test(nfs, several_at_once, .init = begin, .fini = end)
{
	/* Not `server`, which this thread answers for over RDMA. */
	static struct nfs_server silent = { .manner = NFS_SERVER_MUTE };
	struct addr addr = nfs_server_start(&silent);
	volatile int never = 0;

	nfs_query_versions(ask_aside(0, addr, 60000), false, 0);
	nfs_query_versions(ask_aside(1, somewhere(), 5000), true, 0);
	nfs_query_versions(ask_aside(2, somewhere(), 5000), true, NFS_V41);
	cr_assert_eq(answers, 0, "never from inside");
	while (answers < 2)
		loop_wait(loop, &never, loop_clock() + 1000000);
	cr_assert_eq(query[1].why.err, 0, "%s", query[1].why.text);
	cr_assert_eq(query[1].versions.versions, NFS_ALL);
	cr_assert_eq(query[2].versions.versions, NFS_V41);
	nfs_query_cancel(&query[0]);
	nfs_query_cancel(&query[0]);
	nfs_server_stop();
	loop_wait(loop, &never, loop_clock() + 100 * 1000000ull);
	cr_assert_eq(answers, 2);
}

/* Without a server, the reason comes from the loop too. */
Test(nfs, one_that_cannot_begin, .init = begin, .fini = end)
{
	volatile int never = 0;
	struct addr nowhere;

	cr_assert_eq(addr_parse(&nowhere, "[fe80::1%lo]:2049", 0, NULL), 0);
	nfs_query_versions(ask_aside(0, nowhere, 500), false, 0);
	cr_assert_eq(answers, 0);
	while (!answers)
		loop_wait(loop, &never, loop_clock() + 1000000);
	cr_assert_neq(query[0].why.err, 0);
	nfs_query_versions(ask_aside(1, nowhere, 500), false, 0);
	nfs_query_cancel(&query[1]);
	loop_wait(loop, &never, loop_clock() + 100 * 1000000ull);
	cr_assert_eq(answers, 1);
}
