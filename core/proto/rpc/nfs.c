/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What an NFS server has: versions, mount daemon, exports. */
#include "conn.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#define MSEC     1000000ull
#define LOOPBACK 0x7f000001

const char *nfs_version_word(unsigned version)
{
	return version == NFS_V42   ? "4.2"
	       : version == NFS_V41 ? "4.1"
	       : version == NFS_V40 ? "4.0"
				    : "3";
}

char *nfs_versions_text(unsigned versions, char text[32])
{
	unsigned used = 0;

	for (unsigned version = NFS_V42; version; version >>= 1)
		if (versions & version)
			used += (unsigned)snprintf(text + used, 32 - used, "%s%s", used ? ", " : "",
				nfs_version_word(version));
	if (!used)
		snprintf(text, 32, "none");
	return text;
}

static uint64_t deadline(uint32_t timeout_ms)
{
	return timeout_ms ? loop_clock() + timeout_ms * MSEC : 0;
}

/* A call without arguments and results; 0, or as rpc_reply_get(). */
static int null_call(struct rpc *rpc, uint32_t prog, uint32_t vers, struct diag *diag)
{
	struct rpc_said said;
	struct rd results;

	rpc_begin(rpc, prog, vers, 0);
	return rpc_end(rpc, &results, &said, diag);
}

/* The empty COMPOUND; any status but "minor version mismatch" means that the version is worth
 * trying. */
static int ask_minor(struct rpc *rpc, unsigned version, unsigned *versions, struct diag *diag)
{
	uint32_t status = NFS4_OK, ops, minor = version == NFS_V42 ? 2 : version == NFS_V41;
	struct rpc_said said;
	struct rd results;
	int err;

	nfs4_compound_put(rpc_begin(rpc, NFS_PROG, NFS4_VERSION, NFS4_COMPOUND), minor, 0);
	err = rpc_end(rpc, &results, &said, diag);
	if (err)
		return err;
	err = nfs4_compound_get(&results, &status, &ops, diag);
	if (!err && status != NFS4ERR_MINOR_VERS_MISMATCH)
		*versions |= version;
	return err;
}

static int ask_version(struct rpc *rpc, unsigned version, unsigned *versions, struct diag *diag)
{
	int err;

	if (version != NFS_V3)
		return ask_minor(rpc, version, versions, diag);
	err = null_call(rpc, NFS_PROG, NFS3_VERSION, diag);
	if (!err)
		*versions |= NFS_V3;
	return err;
}

/* Of these, from the highest down; enough: until one is served. What one call was refused another
 * may not be. */
static int ask_versions(
	struct rpc *rpc, unsigned wanted, bool enough, unsigned *versions, struct diag *diag)
{
	int err = 0;

	for (unsigned version = NFS_V42; version && !(enough && *versions); version >>= 1) {
		if (!(wanted & version))
			continue;
		err = ask_version(rpc, version, versions, diag);
		if (rpc->down || err == -ETIMEDOUT)
			return err;
	}
	return *versions || !err ? 0 : err;
}

int nfs_ask(struct loop *loop, const struct addr *addr, bool rdma, unsigned wanted,
	uint32_t timeout_ms, struct nfs_answer *answer, struct diag *diag)
{
	struct diag why = { 0 };
	char where[ADDR_TEXT];
	struct rpc *rpc;
	int err;

	*answer = (struct nfs_answer){ 0 };
	err = rpc_open(&rpc, loop, addr, rdma, deadline(timeout_ms), &why);
	if (!err) {
		memcpy(answer->way, rpc->way, sizeof(answer->way));
		if (wanted)
			err = ask_versions(rpc, wanted, true, &answer->versions, &why);
		if (!answer->versions && NFS_ALL & ~wanted && !rpc->down && err != -ETIMEDOUT)
			err = ask_versions(rpc, NFS_ALL & ~wanted, false, &answer->versions, &why);
		if (!err && !answer->versions)
			err = diag_set(&why, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
				"the server supports neither NFS 3 nor NFS 4");
		rpc_close(rpc);
	}
	if (!err)
		return 0;
	if (diag)
		*diag = why;
	diag_ctx(diag, "%s", addr_text(addr, where));
	return err;
}

/* Which port a program has; 0: none. Port mappers of version 2 know no IPv6. */
static int ask_port(struct loop *loop, const struct addr *addr, uint32_t prog, uint32_t vers,
	uint64_t until, uint16_t *port, struct diag *diag)
{
	bool v6 = addr->ss.ss_family == AF_INET6;
	struct addr mapper = *addr;
	struct rpc_said said;
	struct rd results;
	struct rpc *rpc;
	int err;

	addr_set_port(&mapper, PORTMAP_PORT);
	err = rpc_open(&rpc, loop, &mapper, false, until, diag);
	if (err)
		return err;
	if (v6)
		rpcbind_getaddr_put(rpc_begin(rpc, PORTMAP_PROG, RPCBIND_VERSION, RPCBIND_GETADDR),
			prog, vers, "tcp6");
	else
		portmap_getport_put(
			rpc_begin(rpc, PORTMAP_PROG, PORTMAP_VERSION, PORTMAP_GETPORT), prog, vers);
	err = rpc_end(rpc, &results, &said, diag);
	if (!err)
		err = v6 ? rpcbind_getaddr_get(&results, port, diag)
			 : portmap_getport_get(&results, port, diag);
	rpc_close(rpc);
	return err;
}

static int try_port(struct loop *loop, const struct addr *addr, uint16_t port, uint32_t prog,
	uint32_t vers, uint64_t until, struct diag *diag)
{
	struct addr at = *addr;
	struct rpc *rpc;
	int err;

	addr_set_port(&at, port);
	err = rpc_open(&rpc, loop, &at, false, until, diag);
	if (err)
		return err;
	err = null_call(rpc, prog, vers, diag);
	rpc_close(rpc);
	return err;
}

int nfs_mountd(struct loop *loop, const struct addr *addr, uint32_t timeout_ms, uint16_t *port,
	struct diag *diag)
{
	uint64_t until = deadline(timeout_ms), half = deadline(timeout_ms ? timeout_ms / 2 + 1 : 0);
	struct addr mapper = *addr;
	char where[ADDR_TEXT];
	struct diag why = { 0 };
	int err = ask_port(loop, addr, MOUNT_PROG, MOUNT_VERSION, half, port, &why);

	addr_set_port(&mapper, PORTMAP_PORT);
	addr_text(&mapper, where);
	if (!err && *port)
		return 0;
	*port = NFS_MOUNT_PORT;
	if (!try_port(loop, addr, NFS_MOUNT_PORT, MOUNT_PROG, MOUNT_VERSION, until, NULL))
		return 0;
	if (!err)
		diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"mountd is not registered with rpcbind at %s: NFSv3 is unavailable", where);
	else
		diag_set(diag, why.code, why.err, "mountd not found, NFSv3 is unavailable: %.200s",
			why.text);
	return diag_hint(diag, "if the port of mountd is known, mount with: -o mountport=PORT");
}

int nfs_exports(struct loop *loop, const struct addr *addr, uint16_t mountd_port,
	uint32_t timeout_ms, struct nfs_exports *list, struct diag *diag)
{
	struct addr at = *addr;
	struct rpc_said said;
	struct rd results;
	struct rpc *rpc;
	int err;

	*list = (struct nfs_exports){ 0 };
	addr_set_port(&at, mountd_port);
	err = rpc_open(&rpc, loop, &at, false, deadline(timeout_ms), diag);
	if (err)
		return err;
	rpc_begin(rpc, MOUNT_PROG, MOUNT_VERSION, MOUNT_EXPORT);
	err = rpc_end(rpc, &results, &said, diag);
	if (!err)
		err = mount_exports_get(&results, list, diag);
	rpc_close(rpc);
	if (err)
		nfs_exports_free(list);
	return err;
}

bool nfs_statd(struct loop *loop, uint32_t timeout_ms)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(LOOPBACK) } };
	struct addr addr = { .len = sizeof(here) };
	uint64_t until = deadline(timeout_ms);
	uint16_t port;

	memcpy(&addr.ss, &here, sizeof(here));
	return !ask_port(loop, &addr, STATUS_PROG, STATUS_VERSION, until, &port, NULL) && port &&
	       !try_port(loop, &addr, port, STATUS_PROG, STATUS_VERSION, until, NULL);
}
