/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What port mappers and mount daemons answer. */
#include "codec.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

static struct diag why;

static int uaddr(const char *text, uint16_t *port)
{
	uint8_t bytes[256];
	struct wr w = wr_init(bytes, sizeof(bytes));
	struct rd r;

	xdr_put_text(&w, text);
	r = rd_init(bytes, (size_t)(w.p - bytes));
	return rpcbind_getaddr_get(&r, port, &why);
}

Test(portmap, ports)
{
	uint8_t bytes[4];
	struct rd r = rd_init(bytes, sizeof(bytes));
	uint16_t port;

	wire_put_be(bytes, 4, 20048);
	cr_assert_eq(portmap_getport_get(&r, &port, &why), 0);
	cr_assert_eq(port, 20048);
	wire_put_be(bytes, 4, 65536);
	r = rd_init(bytes, sizeof(bytes));
	cr_assert_eq(portmap_getport_get(&r, &port, &why), -EPROTO);
	r = rd_init(bytes, 3);
	cr_assert_eq(portmap_getport_get(&r, &port, &why), -EPROTO);
}

Test(portmap, universal_addresses)
{
	uint16_t port;

	cr_assert_eq(uaddr("::.78.80", &port), 0);
	cr_assert_eq(port, 20048);
	cr_assert_eq(uaddr("10.0.0.1.255.255", &port), 0);
	cr_assert_eq(port, 65535);
	cr_assert_eq(uaddr("", &port), 0, "not there");
	cr_assert_eq(port, 0);
	cr_assert_eq(uaddr("::.78", &port), -EPROTO);
	cr_assert_eq(uaddr("::.256.1", &port), -EPROTO);
	cr_assert_eq(uaddr("::.-1.1", &port), -EPROTO);
	cr_assert_eq(uaddr("::.1.", &port), -EPROTO);
	cr_assert_eq(uaddr("::.1.2x", &port), -EPROTO);
	cr_assert_eq(uaddr("nonsense", &port), -EPROTO);
}

static size_t make(uint8_t *bytes, size_t room)
{
	struct wr w = wr_init(bytes, room);

	xdr_put_u32(&w, 1);
	xdr_put_text(&w, "/exp");
	xdr_put_u32(&w, 1);
	xdr_put_text(&w, "10.0.0.0/24");
	xdr_put_u32(&w, 1);
	xdr_put_text(&w, "@trusted");
	xdr_put_u32(&w, 0);
	xdr_put_u32(&w, 1);
	xdr_put_text(&w, "/all");
	xdr_put_u32(&w, 0);
	xdr_put_u32(&w, 0);
	return w.bad ? 0 : (size_t)(w.p - bytes);
}

Test(mount, exports)
{
	uint8_t bytes[256];
	size_t len = make(bytes, sizeof(bytes));
	struct rd r = rd_init(bytes, len);
	struct nfs_exports list;

	cr_assert_eq(mount_exports_get(&r, &list, &why), 0);
	cr_assert_eq(list.count, 2);
	cr_assert_str_eq(list.item[0].path, "/exp");
	cr_assert_str_eq(list.item[0].to, "10.0.0.0/24,@trusted");
	cr_assert_eq(list.item[0].clients, 2);
	cr_assert_str_eq(list.item[1].path, "/all");
	cr_assert_str_eq(list.item[1].to, "");
	nfs_exports_free(&list);
	for (size_t cut = 0; cut < len; cut++) {
		r = rd_init(bytes, cut);
		cr_assert_eq(mount_exports_get(&r, &list, &why), -EPROTO, "%zu bytes", cut);
		nfs_exports_free(&list);
	}
	for (size_t at = 0; at < len; at++) {
		bytes[at] ^= 0x80;
		r = rd_init(bytes, len);
		mount_exports_get(&r, &list, &why);
		nfs_exports_free(&list);
		bytes[at] ^= 0x80;
	}
}

Test(mount, more_exports_than_anybody_has)
{
	size_t len = 4097 * 16 + 4;
	uint8_t *bytes = calloc(1, len);
	struct wr w = wr_init(bytes, len);
	struct nfs_exports list;
	struct rd r;

	for (unsigned i = 0; i < 4097; i++) {
		xdr_put_u32(&w, 1);
		xdr_put_text(&w, "/");
		xdr_put_u32(&w, 0);
	}
	xdr_put_u32(&w, 0);
	r = rd_init(bytes, len);
	cr_assert_eq(mount_exports_get(&r, &list, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "export 4096");
	nfs_exports_free(&list);
	free(bytes);
}

Test(mount, more_clients_than_are_kept)
{
	uint8_t bytes[4096];
	struct wr w = wr_init(bytes, sizeof(bytes));
	struct nfs_exports list;
	struct rd r;

	xdr_put_u32(&w, 1);
	xdr_put_text(&w, "/");
	for (unsigned i = 0; i < 100; i++) {
		xdr_put_u32(&w, 1);
		xdr_put_text(&w, "host");
	}
	xdr_put_u32(&w, 0);
	xdr_put_u32(&w, 0);
	r = rd_init(bytes, (size_t)(w.p - bytes));
	cr_assert_eq(mount_exports_get(&r, &list, &why), 0);
	cr_assert_eq(list.item[0].clients, 100);
	cr_assert_eq(strlen(list.item[0].to), 64 * 5 - 1);
	nfs_exports_free(&list);
}
