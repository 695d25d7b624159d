/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* COMPOUNDs: the empty one, and directories. */
#include "codec.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct diag why;
static struct nfs4_list list;
static unsigned count;
static struct nfs4_entry last;

static void each(const struct nfs4_entry *entry, void *arg)
{
	(void)arg;
	count++;
	last = *entry;
}

Test(nfs4, the_empty_compound)
{
	static const uint8_t expected[] = { 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0 };
	uint8_t bytes[64];
	struct wr w = wr_init(bytes, sizeof(bytes));
	uint32_t status, ops;
	struct rd r;

	nfs4_compound_put(&w, 2, 0);
	cr_assert_eq((size_t)(w.p - bytes), sizeof(expected));
	cr_assert_eq(memcmp(bytes, expected, sizeof(expected)), 0);
	w = wr_init(bytes, sizeof(bytes));
	xdr_put_u32(&w, NFS4ERR_MINOR_VERS_MISMATCH);
	xdr_put_text(&w, "tag");
	xdr_put_u32(&w, 0);
	r = rd_init(bytes, (size_t)(w.p - bytes));
	cr_assert_eq(nfs4_compound_get(&r, &status, &ops, &why), 0);
	cr_assert_eq(status, NFS4ERR_MINOR_VERS_MISMATCH);
	cr_assert_eq(ops, 0);
	for (size_t cut = 0; cut < (size_t)(w.p - bytes); cut++) {
		r = rd_init(bytes, cut);
		cr_assert_eq(nfs4_compound_get(&r, &status, &ops, &why), -EPROTO);
	}
}

Test(nfs4, a_directory_is_asked_for_by_its_path)
{
	uint8_t bytes[256];
	struct wr w = wr_init(bytes, sizeof(bytes));
	struct rd r;
	uint32_t len;

	nfs4_readdir_put(&w, "/srv//data/", &(struct nfs4_list){ .cookie = 5 }, 4096);
	cr_assert_not(w.bad);
	r = rd_init(bytes, (size_t)(w.p - bytes));
	xdr_opaque(&r, 0, &len);
	cr_assert_eq(xdr_u32(&r), 0, "minor version");
	cr_assert_eq(xdr_u32(&r), 5, "operations");
	cr_assert_eq(xdr_u32(&r), NFS4_OP_PUTROOTFH);
	cr_assert_eq(xdr_u32(&r), NFS4_OP_LOOKUP);
	cr_assert_eq(memcmp(xdr_opaque(&r, 9, &len), "srv", 3), 0);
	cr_assert_eq(xdr_u32(&r), NFS4_OP_LOOKUP);
	cr_assert_eq(memcmp(xdr_opaque(&r, 9, &len), "data", 4), 0);
	cr_assert_eq(xdr_u32(&r), NFS4_OP_GETATTR);
	xdr_u64(&r);
	cr_assert_eq(xdr_u32(&r), NFS4_OP_READDIR);
	cr_assert_eq(xdr_u64(&r), 5);
	w = wr_init(bytes, sizeof(bytes));
	nfs4_readdir_put(&w,
		"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/"
		"31/32/33",
		&list, 4096);
	cr_assert(w.bad);
}

/* One entry of that name and attributes, in the directory "/a". */
static size_t answer(uint8_t *bytes, size_t room, const char *name, uint32_t attrs, unsigned words)
{
	struct wr w = wr_init(bytes, room);

	xdr_put_u32(&w, NFS4_OK);
	xdr_put_text(&w, "");
	xdr_put_u32(&w, 4);
	xdr_put_u32(&w, NFS4_OP_PUTROOTFH);
	xdr_put_u32(&w, NFS4_OK);
	xdr_put_u32(&w, NFS4_OP_LOOKUP);
	xdr_put_u32(&w, NFS4_OK);
	xdr_put_u32(&w, NFS4_OP_GETATTR);
	xdr_put_u32(&w, NFS4_OK);
	xdr_put_u32(&w, 1);
	xdr_put_u32(&w, 1u << NFS4_ATTR_FSID);
	xdr_put_u32(&w, 16);
	xdr_put_u64(&w, 11);
	xdr_put_u64(&w, 12);
	xdr_put_u32(&w, NFS4_OP_READDIR);
	xdr_put_u32(&w, NFS4_OK);
	wr_bytes(&w, "VERIFIER", 8);
	xdr_put_u32(&w, 1);
	xdr_put_u64(&w, 99);
	xdr_put_text(&w, name);
	xdr_put_u32(&w, 1);
	xdr_put_u32(&w, attrs);
	xdr_put_u32(&w, 4 * words);
	for (unsigned i = 0; i < words; i++)
		xdr_put_u32(&w, i ? 20 + i : NFS4_DIR);
	xdr_put_u32(&w, 0);
	xdr_put_u32(&w, 1);
	return w.bad ? 0 : (size_t)(w.p - bytes);
}

static int get(const uint8_t *bytes, size_t len)
{
	struct rd r = rd_init(bytes, len);

	count = 0;
	list = (struct nfs4_list){ 0 };
	return nfs4_readdir_get(&r, "/a", &list, each, NULL, &why);
}

Test(nfs4, a_directory)
{
	const uint32_t both = 1u << NFS4_ATTR_TYPE | 1u << NFS4_ATTR_FSID;
	uint8_t bytes[512];
	size_t len = answer(bytes, sizeof(bytes), "data", both, 5);

	cr_assert_eq(get(bytes, len), 0, "%s", why.text);
	cr_assert_eq(count, 1);
	cr_assert_str_eq(last.name, "data");
	cr_assert(last.dir && last.has_fsid);
	cr_assert_eq(last.fsid.major, (uint64_t)21 << 32 | 22);
	cr_assert_eq(last.fsid.minor, (uint64_t)23 << 32 | 24);
	cr_assert(list.eof && list.cookie == 99 && list.fsid.major == 11 && list.fsid.minor == 12);
	cr_assert_eq(memcmp(list.verifier, "VERIFIER", 8), 0);
	for (size_t cut = 0; cut < len; cut++)
		cr_assert_eq(get(bytes, cut), -EPROTO, "%zu bytes", cut);
	for (size_t at = 0; at < len; at++) {
		bytes[at] ^= 0x81;
		get(bytes, len);
		bytes[at] ^= 0x81;
	}
	cr_assert_eq(get(bytes, answer(bytes, sizeof(bytes), "data", both, 4)), -EPROTO,
		"attributes without their values");
	cr_assert_eq(get(bytes, answer(bytes, sizeof(bytes), "data", both | 1, 5)), -EPROTO,
		"an attribute that was not asked for");
	cr_assert_eq(
		get(bytes, answer(bytes, sizeof(bytes), "data", 1u << NFS4_ATTR_RDATTR_ERROR, 1)),
		0);
	cr_assert_not(last.dir || last.has_fsid);
}

Test(nfs4, names_that_are_no_part_of_a_path)
{
	static const char *const names[] = { "", ".", "..", "a/b", "/" };
	uint8_t bytes[512];

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		cr_assert_eq(get(bytes, answer(bytes, sizeof(bytes), names[i], 0, 0)), 0);
		cr_assert_eq(count, 0, "'%s'", names[i]);
	}
	cr_assert_eq(get(bytes, answer(bytes, sizeof(bytes), "...", 0, 0)), 0);
	cr_assert_eq(count, 1);
}

Test(nfs4, refusals)
{
	uint8_t bytes[512];
	size_t len = answer(bytes, sizeof(bytes), "data", 0, 0);

	wire_put_be(bytes, 4, NFS4ERR_NOENT);
	cr_assert_eq(get(bytes, len), -ENOENT);
	wire_put_be(bytes, 4, NFS4ERR_ACCESS);
	cr_assert_eq(get(bytes, len), -EACCES);
	wire_put_be(bytes, 4, 10008);
	cr_assert_eq(get(bytes, len), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "READDIR 10008");
}
