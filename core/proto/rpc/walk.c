/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* List the file systems in the tree of an NFSv4 server. Exports are in pseudo directories, but the
 * root may be a real file system, so the walk is limited. */
#include "conn.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MSEC      1000000ull
#define DIRS      32 /* that are read */
#define DEPTH     6
#define CALLS     64
#define REPLY_MAX 32768

struct walk {
	struct nfs_paths *found;
	struct {
		char *path;
		unsigned depth;
	} dir[DIRS];
	unsigned dirs, at;     /* known, and the one that is read */
	struct nfs4_list list; /* of the one that is read */
	struct nfs4_fsid fsid; /* of the root */
	bool failed;
};

static bool is_root(const struct walk *walk, const struct nfs4_fsid *fsid)
{
	return fsid->major == walk->fsid.major && fsid->minor == walk->fsid.minor;
}

static void add(const struct nfs4_entry *entry, void *arg)
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

static int read_dir(struct rpc *rpc, struct walk *walk, unsigned *calls, struct diag *diag)
{
	const char *path = walk->dir[walk->at].path;
	/* The reply's other parts take less than 256 bytes and 12 for each directory on the way */
	uint32_t room =
		(rpc->reply_max < REPLY_MAX ? rpc->reply_max : REPLY_MAX) - 256 - 12 * DEPTH;
	struct rpc_said said;
	struct rd results;
	int err = 0;

	walk->list = (struct nfs4_list){ 0 };
	while (!err && !walk->list.eof && !walk->failed) {
		if (++*calls > CALLS) {
			walk->found->more = true;
			return 0;
		}
		nfs4_readdir_put(rpc_begin(rpc, NFS_PROG, NFS4_VERSION, NFS4_COMPOUND), path,
			&walk->list, room);
		err = rpc_end(rpc, &results, &said, diag);
		if (err)
			return err;
		err = nfs4_readdir_get(&results, path, &walk->list, add, walk, diag);
	}
	return err;
}

static int walk_all(struct rpc *rpc, struct walk *walk, struct diag *diag)
{
	unsigned calls = 0;
	int err = read_dir(rpc, walk, &calls, diag);

	for (walk->at = 1; !err && walk->at < walk->dirs; walk->at++) {
		struct diag why = { 0 };

		err = read_dir(rpc, walk, &calls, &why);
		if (err == -EMSGSIZE) /* a path longer than a call */
			walk->found->more = true;
		if (err == -EACCES || err == -ENOENT || err == -EMSGSIZE)
			err = 0;
		else if (err)
			*diag = why;
	}
	return !err && walk->failed ? diag_sys(diag, ENOMEM, "list of paths") : err;
}

int nfs_paths(struct loop *loop, const struct addr *addr, bool rdma, uint32_t timeout_ms,
	struct nfs_paths *found, struct diag *diag)
{
	struct walk walk = { .found = found, .dirs = 1 };
	struct rpc *rpc;
	int err;

	*found = (struct nfs_paths){ 0 };
	walk.dir[0].path = strdup("");
	if (!walk.dir[0].path)
		return diag_sys(diag, ENOMEM, "list of paths");
	err = rpc_open(
		&rpc, loop, addr, rdma, timeout_ms ? loop_clock() + timeout_ms * MSEC : 0, diag);
	if (!err) {
		err = walk_all(rpc, &walk, diag);
		rpc_close(rpc);
	}
	for (unsigned i = 0; i < walk.dirs; i++)
		free(walk.dir[i].path);
	if (err)
		nfs_paths_free(found);
	return err;
}

void nfs_paths_free(struct nfs_paths *found)
{
	for (unsigned i = 0; i < found->count; i++)
		free(found->path[i]);
	*found = (struct nfs_paths){ 0 };
}
