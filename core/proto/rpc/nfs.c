/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Query an NFS server: versions, mount daemon, exports, and the file systems in the tree of version
 * 4. Exports are below pseudo directories there, but the root may be a real file system, so the
 * walk is limited. */
#include "conn.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOPBACK 0x7f000001

#define DIRS      32 /* most directories read */
#define DEPTH     6
#define CALLS     64
#define REPLY_MAX 32768

const char *nfs_version_name(unsigned version)
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
				nfs_version_name(version));
	if (!used)
		snprintf(text, 32, "none");
	return text;
}

/* --- A query uses one connection after another, and one call after another on each. `next` runs
 * when the connection is up, the call has its reply, or either has failed. */

static void call_done(struct rpc *rpc, int err, const struct diag *why)
{
	struct nfs_query *q = rpc->user;

	addr_keep_peer(&q->server, &rpc->peer);
	q->next(q, err, why);
}

static void report_open_error(struct loop_work *work)
{
	struct nfs_query *q = container_of(work, struct nfs_query, fail);
	struct diag why = q->why;

	q->why = (struct diag){ 0 };
	q->next(q, -why.err, &why);
}

static void disconnect(struct nfs_query *q)
{
	rpc_close(q->rpc);
	q->rpc = NULL;
}

static void connect_to(struct nfs_query *q, const struct addr *addr, bool rdma, uint64_t until,
	void (*next)(struct nfs_query *, int err, const struct diag *))
{
	q->next = next;
	q->fail.run = report_open_error;
	if (!rpc_open(&q->rpc, q->loop, addr, rdma, until, call_done, q, &q->why))
		return;
	q->rpc = NULL;
	loop_work_add(q->loop, &q->fail);
}

static void connect_port(struct nfs_query *q, uint16_t port, uint64_t until,
	void (*next)(struct nfs_query *, int err, const struct diag *))
{
	struct addr at = q->server;

	addr_set_port(&at, port);
	connect_to(q, &at, false, until, next);
}

static void send_call(
	struct nfs_query *q, void (*next)(struct nfs_query *, int err, const struct diag *))
{
	q->next = next;
	rpc_send(q->rpc);
}

static void finish_query(struct nfs_query *q, int err, const struct diag *why)
{
	disconnect(q);
	if (err)
		q->why = *why;
	q->done(q);
}

/* --- Versions */

static void finish_versions(struct nfs_query *q, int err, const struct diag *why)
{
	struct diag own = { 0 };
	char where[ADDR_TEXT];

	if (err) {
		own = *why;
		diag_ctx(&own, "%s", addr_text(&q->server, where));
	}
	finish_query(q, err, &own);
}

static unsigned highest(unsigned versions)
{
	unsigned version = NFS_V42;

	while (version && !(versions & version))
		version >>= 1;
	return version;
}

static void handle_version(struct nfs_query *, int err, const struct diag *);

/* Test NFS 4 by the empty COMPOUND. err: the error of the previous version. */
static void probe_version(struct nfs_query *q, int err, const struct diag *why)
{
	struct diag none = { 0 };

	if (q->versions.versions & q->preferred)
		q->untried = 0;
	q->version = highest(q->untried & q->preferred);
	if (!q->version)
		q->version = highest(q->untried);
	q->untried &= ~q->version;
	if (q->version == NFS_V3) {
		rpc_begin(q->rpc, NFS_PROG, NFS3_VERSION, 0);
	} else if (q->version) {
		nfs4_compound_put(rpc_begin(q->rpc, NFS_PROG, NFS4_VERSION, NFS4_COMPOUND),
			q->version == NFS_V42 ? 2 : q->version == NFS_V41, 0);
	} else if (q->versions.versions) {
		finish_versions(q, 0, NULL);
		return;
	} else {
		if (!err)
			err = diag_set(&none, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
				"the server supports neither NFS 3 nor NFS 4");
		finish_versions(q, err, none.err ? &none : why);
		return;
	}
	send_call(q, handle_version);
}

/* Any status but "minor version mismatch" means that the version may work: other calls may succeed
 * where one failed. */
static void handle_version(struct nfs_query *q, int err, const struct diag *why)
{
	uint32_t status = NFS4_OK, ops;
	struct diag own = { 0 };

	if (!err && q->version != NFS_V3) {
		err = nfs4_compound_get(&q->rpc->reply, &status, &ops, &own);
		why = &own;
	}
	if (!err && status != NFS4ERR_MINOR_VERS_MISMATCH)
		q->versions.versions |= q->version;
	if (q->rpc->down)
		finish_versions(q, err, why);
	else
		probe_version(q, err, why);
}

static void versions_up(struct nfs_query *q, int err, const struct diag *why)
{
	if (err) {
		finish_versions(q, err, why);
		return;
	}
	q->versions.at = q->server;
	memcpy(q->versions.route, q->rpc->route, sizeof(q->versions.route));
	probe_version(q, 0, NULL);
}

void nfs_query_versions(struct nfs_query *q, bool rdma, unsigned preferred)
{
	q->preferred = preferred;
	q->untried = NFS_ALL;
	connect_to(q, &q->server, rdma, q->until, versions_up);
}

/* --- The port of a service, and whether it answers */

static bool is_v6(const struct nfs_query *q)
{
	return q->server.ss.ss_family == AF_INET6;
}

static void finish_service(struct nfs_query *q, int err, const struct diag *why)
{
	bool registered = !q->mapper.err;
	struct addr mapper = q->server;
	struct diag own = { 0 };
	char where[ADDR_TEXT];

	if (!err || q->program != MOUNT_PROG) {
		finish_query(q, err, why);
		return;
	}
	addr_set_port(&mapper, PORTMAP_PORT);
	addr_text(&mapper, where);
	if (registered)
		diag_set(&own, DIAG_NOT_FOUND, ENOENT,
			"mountd is not registered with rpcbind at %s: NFSv3 is unavailable", where);
	else
		diag_set(&own, (enum diag_code)q->mapper.code, q->mapper.err,
			"mountd not found, NFSv3 is unavailable: %.200s", q->mapper.text);
	diag_hint(&own, "if the port of mountd is known, mount with: -o mountport=PORT");
	finish_query(q, -own.err, &own);
}

static void service_up(struct nfs_query *q, int err, const struct diag *why)
{
	if (err) {
		finish_service(q, err, why);
		return;
	}
	rpc_begin(q->rpc, q->program, q->program_version, 0);
	send_call(q, finish_service);
}

/* A registered mount daemon is not probed; without one, try the default port. */
static void handle_port(struct nfs_query *q, int err, const struct diag *why)
{
	struct diag own = { 0 };

	if (!err) {
		err = is_v6(q) ? rpcbind_getaddr_get(&q->rpc->reply, &q->port, &own)
			       : portmap_getport_get(&q->rpc->reply, &q->port, &own);
		why = &own;
	}
	if (!err && q->port && q->program == MOUNT_PROG) {
		finish_query(q, 0, NULL);
		return;
	}
	if (!err && !q->port && q->program != MOUNT_PROG)
		err = diag_set(&own, DIAG_NOT_FOUND, ENOENT, "not registered with rpcbind");
	if (err && q->program != MOUNT_PROG) {
		finish_query(q, err, why);
		return;
	}
	disconnect(q);
	if (err)
		q->mapper = *why;
	if (q->program == MOUNT_PROG)
		q->port = NFS_MOUNT_PORT;
	connect_port(q, q->port, q->until, service_up);
}

/* Version 2 of the port mapper does not support IPv6. */
static void mapper_up(struct nfs_query *q, int err, const struct diag *why)
{
	if (err) {
		handle_port(q, err, why);
		return;
	}
	if (is_v6(q))
		rpcbind_getaddr_put(
			rpc_begin(q->rpc, PORTMAP_PROG, RPCBIND_VERSION, RPCBIND_GETADDR),
			q->program, q->program_version, "tcp6");
	else
		portmap_getport_put(
			rpc_begin(q->rpc, PORTMAP_PROG, PORTMAP_VERSION, PORTMAP_GETPORT),
			q->program, q->program_version);
	send_call(q, handle_port);
}

void nfs_query_mountd(struct nfs_query *q)
{
	uint64_t now = loop_clock(), left = q->until > now ? q->until - now : 0;

	q->program = MOUNT_PROG;
	q->program_version = MOUNT_VERSION;
	connect_port(q, PORTMAP_PORT, q->until ? now + left / 2 + MSEC : 0, mapper_up);
}

void nfs_query_statd(struct nfs_query *q)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(LOOPBACK) } };

	q->server = (struct addr){ .len = sizeof(here) };
	memcpy(&q->server.ss, &here, sizeof(here));
	q->program = STATUS_PROG;
	q->program_version = STATUS_VERSION;
	connect_port(q, PORTMAP_PORT, q->until, mapper_up);
}

/* --- Exports */

static void handle_exports(struct nfs_query *q, int err, const struct diag *why)
{
	struct diag own = { 0 };

	if (!err) {
		err = mount_exports_get(&q->rpc->reply, &q->exports, &own);
		why = &own;
	}
	if (err)
		nfs_exports_free(&q->exports);
	finish_query(q, err, why);
}

static void exports_up(struct nfs_query *q, int err, const struct diag *why)
{
	if (err) {
		finish_query(q, err, why);
		return;
	}
	rpc_begin(q->rpc, MOUNT_PROG, MOUNT_VERSION, MOUNT_EXPORT);
	send_call(q, handle_exports);
}

void nfs_query_exports(struct nfs_query *q, uint16_t mountd_port)
{
	connect_port(q, mountd_port, q->until, exports_up);
}

/* --- The tree of version 4 */

struct walk {
	struct nfs_query query;
	struct nfs_paths *found;
	struct {
		char *path;
		unsigned depth;
	} dir[DIRS];
	unsigned dirs, at; /* known directories, and the current one */
	unsigned calls;
	struct nfs4_list list; /* of the current one */
	struct nfs4_fsid fsid; /* of the root */
	bool failed;
};

static bool is_root(const struct walk *walk, const struct nfs4_fsid *fsid)
{
	return fsid->major == walk->fsid.major && fsid->minor == walk->fsid.minor;
}

static void add_entry(const struct nfs4_entry *entry, void *arg)
{
	struct walk *walk = arg;
	unsigned depth = walk->dir[walk->at].depth + 1;
	bool own;
	char *path;

	if (!entry->dir)
		return;
	if (!walk->at)
		walk->fsid = walk->list.fsid;
	own = entry->has_fsid && !is_root(walk, &entry->fsid);
	if (own ? walk->found->count == NFS_PATHS : walk->dirs == DIRS || depth > DEPTH) {
		walk->found->more = true;
		return;
	}
	if (asprintf(&path, "%s/%s", walk->dir[walk->at].path, entry->name) < 0) {
		walk->failed = true;
		return;
	}
	if (own) {
		walk->found->path[walk->found->count++] = path;
		return;
	}
	walk->dir[walk->dirs].path = path;
	walk->dir[walk->dirs++].depth = depth;
}

static void handle_entries(struct nfs_query *, int err, const struct diag *);

static void read_dir(struct walk *walk)
{
	struct rpc *rpc = walk->query.rpc;
	/* The reply's other parts take less than 256 bytes, and 12 for each directory of the path
	 */
	uint32_t room =
		(rpc->reply_max < REPLY_MAX ? rpc->reply_max : REPLY_MAX) - 256 - 12 * DEPTH;

	nfs4_readdir_put(rpc_begin(rpc, NFS_PROG, NFS4_VERSION, NFS4_COMPOUND),
		walk->dir[walk->at].path, &walk->list, room);
	send_call(&walk->query, handle_entries);
}

/* Directories below the root may be inaccessible, or have a path longer than a call allows. */
static void handle_entries(struct nfs_query *q, int err, const struct diag *why)
{
	struct walk *walk = container_of(q, struct walk, query);
	struct diag own = { 0 };

	if (!err) {
		err = nfs4_readdir_get(&q->rpc->reply, walk->dir[walk->at].path, &walk->list,
			add_entry, walk, &own);
		why = &own;
	}
	if (walk->at && err == -EMSGSIZE)
		walk->found->more = true;
	if (walk->at && (err == -EACCES || err == -ENOENT || err == -EMSGSIZE)) {
		err = 0;
		walk->list.eof = true;
	}
	if (!err && walk->failed) {
		err = diag_sys(&own, ENOMEM, "list of paths");
		why = &own;
	}
	if (!err && walk->list.eof) {
		walk->list = (struct nfs4_list){ 0 };
		walk->at++;
	}
	if (!err && walk->at < walk->dirs && ++walk->calls > CALLS)
		walk->found->more = true;
	else if (!err && walk->at < walk->dirs) {
		read_dir(walk);
		return;
	}
	finish_query(q, err, why);
}

static void tree_up(struct nfs_query *q, int err, const struct diag *why)
{
	struct walk *walk = container_of(q, struct walk, query);

	if (err)
		finish_query(q, err, why);
	else
		read_dir(walk);
}

void nfs_paths_free(struct nfs_paths *found)
{
	for (unsigned i = 0; i < found->count; i++)
		free(found->path[i]);
	*found = (struct nfs_paths){ 0 };
}

/* --- Blocking queries */

void nfs_query_cancel(struct nfs_query *q)
{
	if (!q->loop)
		return;
	disconnect(q);
	loop_work_del(q->loop, &q->fail);
}

static void stop_waiting(struct nfs_query *q)
{
	q->finished = 1;
}

static struct nfs_query new_query(struct loop *loop, const struct addr *addr, uint32_t timeout_ms)
{
	return (struct nfs_query){ .loop = loop,
		.server = *addr,
		.until = timeout_ms ? loop_clock() + timeout_ms * MSEC : 0,
		.done = stop_waiting };
}

static int wait_query(struct nfs_query *q, struct diag *diag)
{
	loop_wait(q->loop, &q->finished, 0);
	if (q->why.err && diag)
		*diag = q->why;
	return -q->why.err;
}

int nfs_probe(struct loop *loop, const struct addr *addr, bool rdma, unsigned preferred,
	uint32_t timeout_ms, struct nfs_server_info *answer, struct diag *diag)
{
	struct nfs_query q = new_query(loop, addr, timeout_ms);
	int err;

	nfs_query_versions(&q, rdma, preferred);
	err = wait_query(&q, diag);
	*answer = q.versions;
	return err;
}

int nfs_mountd(struct loop *loop, const struct addr *addr, uint32_t timeout_ms, uint16_t *port,
	struct diag *diag)
{
	struct nfs_query q = new_query(loop, addr, timeout_ms);
	int err;

	nfs_query_mountd(&q);
	err = wait_query(&q, diag);
	*port = q.port;
	return err;
}

int nfs_exports(struct loop *loop, const struct addr *addr, uint16_t mountd_port,
	uint32_t timeout_ms, struct nfs_exports *list, struct diag *diag)
{
	struct nfs_query q = new_query(loop, addr, timeout_ms);
	int err;

	nfs_query_exports(&q, mountd_port);
	err = wait_query(&q, diag);
	*list = q.exports;
	return err;
}

int nfs_paths(struct loop *loop, const struct addr *addr, bool rdma, uint32_t timeout_ms,
	struct nfs_paths *found, struct diag *diag)
{
	struct walk walk = {
		.query = new_query(loop, addr, timeout_ms), .found = found, .dirs = 1, .calls = 1
	};
	int err;

	*found = (struct nfs_paths){ 0 };
	walk.dir[0].path = strdup("");
	if (!walk.dir[0].path)
		return diag_sys(diag, ENOMEM, "list of paths");
	connect_to(&walk.query, addr, rdma, walk.query.until, tree_up);
	err = wait_query(&walk.query, diag);
	for (unsigned i = 0; i < walk.dirs; i++)
		free(walk.dir[i].path);
	if (err)
		nfs_paths_free(found);
	return err;
}
