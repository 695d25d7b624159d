/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Port mapper, MOUNT and NFS 4 as a server plays them. */
#include "nfs_server.h"
#include "wire/nfs.h"
#include "wire/rpc.h"
#include <stdio.h>

static uint32_t take(struct rd *r)
{
	const be32 *word = rd_take(r, 4);

	return word ? get_be32(*word) : 0;
}

static void skip_opaque(struct rd *r)
{
	uint32_t len = take(r);

	rd_take(r, (len + 3) & ~3u);
}

static void put(struct wr *w, uint32_t value)
{
	const be32 word = put_be32(value);

	wr_bytes(w, &word, 4);
}

static void put_text(struct wr *w, const char *text)
{
	size_t len = strlen(text);

	put(w, (uint32_t)len);
	wr_bytes(w, text, len);
	wr_bytes(w, "\0\0\0", (4 - len % 4) % 4);
}

static void put_fsid(struct wr *w, uint64_t fsid)
{
	put(w, 0);
	put(w, (uint32_t)fsid);
	put(w, 0);
	put(w, 0);
}

static void exports(const struct nfs_server *s, struct wr *w)
{
	for (unsigned i = 0; i < 64 && s->export[i].path; i++) {
		put(w, 1);
		put_text(w, s->export[i].path);
		for (unsigned j = 0; j < 4 && s->export[i].to[j]; j++) {
			put(w, 1);
			put_text(w, s->export[i].to[j]);
		}
		put(w, 0);
	}
	put(w, 0);
}

static bool child_of(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && path[len] == '/' && !strchr(path + len + 1, '/');
}

static void entries(
	const struct nfs_server *s, const char *dir, uint64_t cookie, uint32_t room, struct wr *w)
{
	const uint8_t *start = w->p;

	wr_bytes(w, "verifier", 8);
	for (unsigned i = (unsigned)cookie; i < 64 && s->dir[i].path; i++) {
		const struct nfs_server_dir *d = &s->dir[i];

		if (!child_of(dir, d->path))
			continue;
		if ((size_t)(w->p - start) + strlen(d->path) + 64 > room) {
			put(w, 0);
			put(w, 0);
			return;
		}
		put(w, 1);
		put(w, 0);
		put(w, i + 1);
		put_text(w, strrchr(d->path, '/') + 1);
		put(w, 1);
		put(w, 1u << NFS4_ATTR_TYPE | 1u << NFS4_ATTR_FSID);
		put(w, 20);
		put(w, d->file ? 1 : NFS4_DIR);
		put_fsid(w, d->fsid);
	}
	put(w, 0);
	put(w, 1);
}

static const struct nfs_server_dir *find(const struct nfs_server *s, const char *path)
{
	static const struct nfs_server_dir root = { "", 0, false };

	for (unsigned i = 0; i < 64 && s->dir[i].path; i++)
		if (!strcmp(s->dir[i].path, path))
			return &s->dir[i];
	return *path ? NULL : &root;
}

static void compound(const struct nfs_server *s, struct rd *r, struct wr *w)
{
	char path[8192] = "";
	struct wr ops;
	uint32_t count, minor;
	uint8_t body[32768];

	skip_opaque(r);
	minor = take(r);
	count = take(r);
	if (minor > 31 || !(s->minors >> minor & 1)) {
		put(w, NFS4ERR_MINOR_VERS_MISMATCH);
		put(w, 0);
		put(w, 0);
		return;
	}
	ops = wr_init(body, sizeof(body));
	for (uint32_t i = 0; i < count && !r->bad; i++) {
		uint32_t op = take(r), len;

		put(&ops, op);
		put(&ops, NFS4_OK);
		if (op == NFS4_OP_LOOKUP) {
			len = take(r);
			strcat(path, "/");
			strncat(path, rd_take(r, (len + 3) & ~3u), len);
			if (!find(s, path)) {
				put(w, NFS4ERR_NOENT);
				put(w, 0);
				put(w, 0);
				return;
			}
		} else if (op == NFS4_OP_GETATTR) {
			take(r);
			take(r);
			put(&ops, 1);
			put(&ops, 1u << NFS4_ATTR_FSID);
			put(&ops, 16);
			put_fsid(&ops, find(s, path)->fsid);
		} else if (op == NFS4_OP_READDIR) {
			uint64_t cookie = (uint64_t)take(r) << 32;
			uint32_t room;

			cookie |= take(r);
			rd_take(r, 8);
			take(r);
			room = take(r);
			entries(s, path, cookie, room, &ops);
		}
	}
	put(w, NFS4_OK);
	put(w, 0);
	put(w, count);
	wr_bytes(w, body, (size_t)(ops.p - body));
}

size_t nfs_server_reply(
	struct nfs_server *s, const uint8_t *call, size_t len, uint8_t *reply, size_t room)
{
	struct rd r = rd_init(call, len);
	struct wr w = wr_init(reply, room);
	uint32_t word[6], stat = s->reject, low = s->low, high = s->high;
	bool nfs;

	for (int i = 0; i < 6; i++)
		word[i] = take(&r);
	take(&r);
	skip_opaque(&r);
	take(&r);
	skip_opaque(&r);
	if (r.bad || word[1] != RPC_CALL)
		return 0;
	s->calls++;
	nfs = word[3] == NFS_PROG;
	put(&w, word[0]);
	put(&w, RPC_REPLY);
	put(&w, s->deny ? RPC_DENIED : RPC_ACCEPTED);
	if (s->deny) {
		put(&w, RPC_AUTH_ERROR);
		put(&w, 5);
		return (size_t)(w.p - reply);
	}
	put(&w, RPC_AUTH_NONE);
	put(&w, 0);
	if (!stat && nfs && (word[4] < low || word[4] > high))
		stat = RPC_PROG_MISMATCH;
	put(&w, stat);
	if (stat == RPC_PROG_MISMATCH) {
		put(&w, low);
		put(&w, high);
	} else if (!stat && word[5]) {
		if (nfs)
			compound(s, &r, &w);
		else if (word[3] == MOUNT_PROG)
			exports(s, &w);
		else if (word[3] == PORTMAP_PROG)
			put(&w, s->mount_port);
	}
	return w.bad ? 0 : (size_t)(w.p - reply);
}
