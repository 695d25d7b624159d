/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Encode and decode NFS version 4 COMPOUNDs: the empty one, and reading a directory by its path. */
#include "codec.h"
#include <errno.h>
#include <stdio.h>

#define BITMAP_WORDS 8
#define COMPONENTS   32

static int malformed(struct diag *diag)
{
	return diag_set(diag, DIAG_PROTOCOL, EPROTO, "malformed reply from the NFS server");
}

const char *nfs4_status_text(uint32_t status, char text[24])
{
	switch (status) {
	case NFS4ERR_PERM:
		return "not permitted";
	case NFS4ERR_NOENT:
		return "no such file or directory";
	case NFS4ERR_ACCESS:
		return "access denied";
	case NFS4ERR_WRONGSEC:
		return "another security flavor is required";
	case NFS4ERR_MINOR_VERS_MISMATCH:
		return "minor version not supported";
	default:
		snprintf(text, 24, "status %u", status);
		return text;
	}
}

void nfs4_compound_put(struct wr *w, uint32_t minor, uint32_t ops)
{
	xdr_put_text(w, "");
	xdr_put_u32(w, minor);
	xdr_put_u32(w, ops);
}

int nfs4_compound_get(struct rd *r, uint32_t *status, uint32_t *ops, struct diag *diag)
{
	uint32_t len;

	*status = xdr_u32(r);
	xdr_opaque(r, NFS4_TAG_MAX, &len);
	*ops = xdr_u32(r);
	return r->bad ? malformed(diag) : 0;
}

/* Get the next component of a path and advance *path; NULL at the end. */
static const char *component(const char **path, uint32_t *len)
{
	const char *at = *path + strspn(*path, "/");

	*len = (uint32_t)strcspn(at, "/");
	*path = at + *len;
	return *len ? at : NULL;
}

static uint32_t components(const char *path)
{
	uint32_t count = 0, len;

	while (component(&path, &len))
		count++;
	return count;
}

static void put_bitmap(struct wr *w, uint32_t word)
{
	xdr_put_u32(w, 1);
	xdr_put_u32(w, word);
}

void nfs4_readdir_put(
	struct wr *w, const char *path, const struct nfs4_list *list, uint32_t max_bytes)
{
	uint32_t count = components(path), len;
	const char *name;

	if (count > COMPONENTS)
		w->bad = true;
	nfs4_compound_put(w, 0, 3 + count);
	xdr_put_u32(w, NFS4_OP_PUTROOTFH);
	while ((name = component(&path, &len))) {
		xdr_put_u32(w, NFS4_OP_LOOKUP);
		xdr_put_opaque(w, name, len);
	}
	xdr_put_u32(w, NFS4_OP_GETATTR);
	put_bitmap(w, 1u << NFS4_ATTR_FSID);
	xdr_put_u32(w, NFS4_OP_READDIR);
	xdr_put_u64(w, list->cookie);
	wr_bytes(w, list->verifier, NFS4_VERIFIER);
	xdr_put_u32(w, max_bytes);
	xdr_put_u32(w, max_bytes);
	put_bitmap(w, 1u << NFS4_ATTR_TYPE | 1u << NFS4_ATTR_FSID | 1u << NFS4_ATTR_RDATTR_ERROR);
}

/* RFC 7530, 3.3.7: a bitmap, then the values of the attributes whose bits are set, in the order of
 * their numbers. */
static bool parse_attrs(struct rd *r, struct nfs4_entry *entry)
{
	uint32_t words = xdr_u32(r), first = 0, len;
	const uint8_t *values;
	struct rd v;

	if (words > BITMAP_WORDS)
		r->bad = true;
	for (uint32_t i = 0; i < words && !r->bad; i++) {
		uint32_t word = xdr_u32(r);

		if (!i)
			first = word;
		else if (word)
			r->bad = true; /* not requested */
	}
	values = xdr_opaque(r, NFS4_ATTRS_MAX, &len);
	if (r->bad || first & ~(1u << NFS4_ATTR_TYPE | 1u << NFS4_ATTR_FSID |
				      1u << NFS4_ATTR_RDATTR_ERROR))
		return false;
	v = rd_init(values, len);
	entry->dir = first & 1u << NFS4_ATTR_TYPE && xdr_u32(&v) == NFS4_DIR;
	entry->has_fsid = first & 1u << NFS4_ATTR_FSID;
	if (entry->has_fsid) {
		entry->fsid.major = xdr_u64(&v);
		entry->fsid.minor = xdr_u64(&v);
	}
	return !v.bad;
}

static bool is_name(const uint8_t *bytes, uint32_t len)
{
	if (!len || memchr(bytes, 0, len) || memchr(bytes, '/', len))
		return false;
	return bytes[0] != '.' || (len > 1 && (bytes[1] != '.' || len > 2));
}

static int parse_entries(struct rd *r, struct nfs4_list *list,
	void (*each)(const struct nfs4_entry *, void *arg), void *arg, struct diag *diag)
{
	const uint8_t *verifier = rd_take(r, NFS4_VERIFIER), *name;
	struct nfs4_entry entry;
	uint32_t len;

	if (verifier)
		memcpy(list->verifier, verifier, NFS4_VERIFIER);
	while (xdr_bool(r)) {
		entry = (struct nfs4_entry){ .cookie = xdr_u64(r) };
		name = xdr_opaque(r, NFS4_NAME_MAX, &len);
		if (!parse_attrs(r, &entry) || r->bad)
			return malformed(diag);
		list->cookie = entry.cookie;
		memcpy(entry.name, name, len);
		if (is_name(name, len))
			each(&entry, arg);
	}
	list->eof = xdr_bool(r);
	return r->bad ? malformed(diag) : 0;
}

static int refused(uint32_t status, struct diag *diag)
{
	char text[24];

	switch (status) {
	case NFS4ERR_NOENT:
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT, "%s", nfs4_status_text(status, text));
	case NFS4ERR_PERM:
	case NFS4ERR_ACCESS:
	case NFS4ERR_WRONGSEC:
		return diag_set(diag, DIAG_AUTH, EACCES, "%s", nfs4_status_text(status, text));
	default:
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "READDIR failed: %s",
			nfs4_status_text(status, text));
	}
}

int nfs4_readdir_get(struct rd *r, const char *path, struct nfs4_list *list,
	void (*each)(const struct nfs4_entry *, void *arg), void *arg, struct diag *diag)
{
	uint32_t status, ops, lookups = components(path);
	struct nfs4_entry own = { 0 };
	int err = nfs4_compound_get(r, &status, &ops, diag);

	if (err)
		return err;
	if (status != NFS4_OK)
		return refused(status, diag);
	if (ops != 3 + lookups)
		return malformed(diag);
	for (uint32_t i = 0; i < ops; i++) {
		uint32_t op = xdr_u32(r), result = xdr_u32(r);
		uint32_t expected = !i                 ? NFS4_OP_PUTROOTFH
				    : i <= lookups     ? NFS4_OP_LOOKUP
				    : i == lookups + 1 ? NFS4_OP_GETATTR
						       : NFS4_OP_READDIR;

		if (r->bad || op != expected || result != NFS4_OK ||
			(op == NFS4_OP_GETATTR && !parse_attrs(r, &own)))
			return malformed(diag);
	}
	list->fsid = own.fsid;
	return parse_entries(r, list, each, arg, diag);
}
