/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Encode and decode calls of the port mapper and of MOUNT. */
#include "codec.h"
#include "grow.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORTS_MAX 4096
#define CLIENTS_MAX 64 /* most clients stored per export */
#define UADDR_MAX   128

static int malformed(struct diag *diag, const char *what)
{
	return diag_set(diag, DIAG_PROTOCOL, EPROTO, "malformed reply from %s", what);
}

void portmap_getport_put(struct wr *w, uint32_t prog, uint32_t vers)
{
	xdr_put_u32(w, prog);
	xdr_put_u32(w, vers);
	xdr_put_u32(w, PORTMAP_TCP);
	xdr_put_u32(w, 0);
}

int portmap_getport_get(struct rd *r, uint16_t *port, struct diag *diag)
{
	uint32_t number = xdr_u32(r);

	if (r->bad || number > UINT16_MAX)
		return malformed(diag, "rpcbind");
	*port = (uint16_t)number;
	return 0;
}

void rpcbind_getaddr_put(struct wr *w, uint32_t prog, uint32_t vers, const char *netid)
{
	xdr_put_u32(w, prog);
	xdr_put_u32(w, vers);
	xdr_put_text(w, netid);
	xdr_put_text(w, ""); /* address and owner: unused */
	xdr_put_text(w, "");
}

/* The last two numbers of "::1.78.80" are the bytes of the port (RFC 5665, 5.2.3.3). */
static bool uaddr_port(char *text, uint16_t *port)
{
	unsigned value = 0;

	for (unsigned i = 0; i < 2; i++) {
		char *dot = strrchr(text, '.'), *end;
		unsigned long part = dot ? strtoul(dot + 1, &end, 10) : 256;

		if (part > 255 || end == dot + 1 || *end || dot[1] < '0' || dot[1] > '9')
			return false;
		value |= (unsigned)part << 8 * i;
		*dot = 0;
	}
	*port = (uint16_t)value;
	return true;
}

int rpcbind_getaddr_get(struct rd *r, uint16_t *port, struct diag *diag)
{
	char text[UADDR_MAX + 1];
	uint32_t len;
	const uint8_t *uaddr = xdr_opaque(r, UADDR_MAX, &len);

	*port = 0;
	if (r->bad)
		return malformed(diag, "rpcbind");
	if (!len)
		return 0;
	memcpy(text, uaddr, len);
	text[len] = 0;
	return strlen(text) == len && uaddr_port(text, port) ? 0 : malformed(diag, "rpcbind");
}

static char *parse_text(struct rd *r, uint32_t max)
{
	uint32_t len;
	const uint8_t *bytes = xdr_opaque(r, max, &len);
	char *text = r->bad ? NULL : malloc(len + 1);

	if (!text)
		return NULL;
	memcpy(text, bytes, len);
	text[len] = 0;
	return text;
}

/* Join the clients of one export as "a,b,c". */
static bool parse_clients(struct rd *r, struct nfs_export *e)
{
	char text[CLIENTS_MAX * (MOUNT_NAME_MAX + 1)] = "";
	size_t used = 0;

	while (xdr_bool(r)) {
		char *name = parse_text(r, MOUNT_NAME_MAX);

		if (!name)
			return false;
		if (e->clients < CLIENTS_MAX)
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s%s", used ? "," : "", name);
		e->clients++;
		free(name);
	}
	e->to = r->bad ? NULL : strdup(text);
	return e->to;
}

int mount_exports_get(struct rd *r, struct nfs_exports *list, struct diag *diag)
{
	*list = (struct nfs_exports){ 0 };
	while (xdr_bool(r)) {
		struct nfs_export *e;

		if (list->count == EXPORTS_MAX)
			return diag_set(diag, DIAG_PROTOCOL, EPROTO,
				"the export list has more than %d entries", EXPORTS_MAX);
		e = grow(list->item, list->count);
		if (!e)
			return diag_sys(diag, ENOMEM, "list of exports");
		e->path = parse_text(r, MOUNT_PATH_MAX);
		if (!e->path || !parse_clients(r, e))
			return malformed(diag, "mountd");
	}
	return r->bad ? malformed(diag, "mountd") : 0;
}

void nfs_exports_free(struct nfs_exports *list)
{
	for (unsigned i = 0; i < list->count; i++) {
		free(list->item[i].path);
		free(list->item[i].to);
	}
	free(list->item);
	*list = (struct nfs_exports){ 0 };
}
