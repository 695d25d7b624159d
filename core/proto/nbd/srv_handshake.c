/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The server's side of the NBD handshake (fixed newstyle): bytes in, bytes out. srv_conn.c handles
 * descriptors, deadlines and the allocation of slots. */
#include "srv_handshake.h"
#include <errno.h>
#include <stdio.h>

static void put(struct nbd_srv_handshake *h, const void *from, size_t len)
{
	assert(len <= sizeof(h->out) - h->out_len);
	if (len)
		memcpy(h->out + h->out_len, from, len);
	h->out_len += len;
}

static void reply(struct nbd_srv_handshake *h, uint32_t option, uint32_t type, size_t len)
{
	struct nbd_rep rep = { put_be64(NBD_REP_MAGIC), put_be32(option), put_be32(type),
		put_be32((uint32_t)len) };

	put(h, &rep, sizeof(rep));
}

static void ack(struct nbd_srv_handshake *h, uint32_t option)
{
	reply(h, option, NBD_REP_ACK, 0);
}

static void refuse(struct nbd_srv_handshake *h, uint32_t option, uint32_t type, const char *why)
{
	reply(h, option, type, strlen(why));
	put(h, why, strlen(why));
}

void nbd_srv_handshake_start(struct nbd_srv_handshake *h)
{
	struct nbd_greeting greeting = { put_be64(NBD_GREETING_MAGIC), put_be64(NBD_OPT_MAGIC),
		put_be16(NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES) };

	h->state = NBD_HANDSHAKE_FLAGS;
	put(h, &greeting, sizeof(greeting));
}

uint16_t nbd_srv_flags(const struct nbd_export *export, bool structured)
{
	const struct bdev_limits *lim = &export->bdev->lim;
	uint16_t flags = NBD_FLAG_HAS_FLAGS | NBD_FLAG_CAN_MULTI_CONN;

	if (structured)
		flags |= NBD_FLAG_SEND_DF;
	if (export->ro || lim->ro || !lim->max[IO_WRITE])
		return flags | NBD_FLAG_READ_ONLY;
	if (lim->max[IO_FLUSH])
		flags |= NBD_FLAG_SEND_FLUSH;
	if (lim->fua)
		flags |= NBD_FLAG_SEND_FUA;
	if (lim->max[IO_TRIM])
		flags |= NBD_FLAG_SEND_TRIM;
	if (lim->max[IO_ZERO])
		flags |= NBD_FLAG_SEND_WRITE_ZEROES | NBD_FLAG_SEND_FAST_ZERO;
	return flags;
}

/* Index of the export with that name, -1 = none. "" is the first one (section
 * "NBD_OPT_EXPORT_NAME"). */
static int find_export(const struct nbd_srv_handshake *h, const void *name, size_t len)
{
	for (unsigned i = 0; i < h->exports; i++)
		if (strlen(h->export[i].name) == len &&
			(!len || !memcmp(h->export[i].name, name, len)))
			return (int)i;
	return len || !h->exports ? -1 : 0;
}

static void export_name(struct nbd_srv_handshake *h, const void *name, size_t len)
{
	struct nbd_export_name_rep rep = { 0 };
	int i = find_export(h, name, len);

	if (i < 0 || h->enter(h, (unsigned)i, NULL)) {
		h->state = NBD_HANDSHAKE_END; /* this option has no error reply */
		return;
	}
	rep.size = put_be64(h->export[i].bdev->lim.size);
	rep.flags = put_be16(nbd_srv_flags(&h->export[i], h -> structured));
	put(h, &rep, h->no_zeroes ? offsetof(struct nbd_export_name_rep, zeroes) : sizeof(rep));
	h->chosen = (unsigned)i;
	h->state = NBD_HANDSHAKE_DONE;
}

static void list(struct nbd_srv_handshake *h)
{
	for (unsigned i = 0; i < h->exports; i++) {
		const struct nbd_export *export = &h->export[i];
		const char *about = export->description ? export->description : "";
		be32 len = put_be32((uint32_t)strlen(export->name));

		reply(h, NBD_OPT_LIST, NBD_REP_SERVER,
			sizeof(len) + strlen(export->name) + strlen(about));
		put(h, &len, sizeof(len));
		put(h, export->name, strlen(export->name));
		put(h, about, strlen(about));
	}
	ack(h, NBD_OPT_LIST);
}

static void info_text(struct nbd_srv_handshake *h, uint32_t option, uint16_t type, const char *text)
{
	be16 t = put_be16(type);

	reply(h, option, NBD_REP_INFO, sizeof(t) + strlen(text));
	put(h, &t, sizeof(t));
	put(h, text, strlen(text));
}

static void info_block_size(
	struct nbd_srv_handshake *h, uint32_t option, const struct bdev_limits *lim)
{
	uint32_t best = lim->best > lim->block ? lim->best : lim->block;
	struct nbd_info_block_size info;

	best = best < 4096 ? 4096 : best;
	best = best > NBD_PAYLOAD_MAX ? NBD_PAYLOAD_MAX : best;
	while (best & (best - 1)) /* "Block size constraints": a power of 2 */
		best &= best - 1;
	info = (struct nbd_info_block_size){ put_be16(NBD_INFO_BLOCK_SIZE), put_be32(lim->block),
		put_be32(best), put_be32(NBD_PAYLOAD_MAX) };
	reply(h, option, NBD_REP_INFO, sizeof(info));
	put(h, &info, sizeof(info));
}

static void info_export(
	struct nbd_srv_handshake *h, uint32_t option, const struct nbd_export *export)
{
	struct nbd_info_export info = { put_be16(NBD_INFO_EXPORT), put_be64(export->bdev->lim.size),
		put_be16(nbd_srv_flags(export, h->structured)) };

	reply(h, option, NBD_REP_INFO, sizeof(info));
	put(h, &info, sizeof(info));
}

/* Sections "NBD_OPT_INFO", "NBD_OPT_GO". */
static void info_or_go(struct nbd_srv_handshake *h, uint32_t option, const void *data, size_t len)
{
	struct diag why = { 0 };
	struct nbd_go go;
	int i;

	if (!nbd_go_get(&go, data, len)) {
		refuse(h, option, NBD_REP_ERR_INVALID, "malformed option");
		return;
	}
	i = find_export(h, go.name, go.name_len);
	if (i < 0) {
		refuse(h, option, NBD_REP_ERR_UNKNOWN, "no export of that name");
		return;
	}
	if (option == NBD_OPT_GO && h->export[i].bdev->lim.block > 512 &&
		!(go.info_types & 1u << NBD_INFO_BLOCK_SIZE)) {
		refuse(h, option, NBD_REP_ERR_BLOCK_SIZE_REQD,
			"blocks larger than 512 bytes: the client must request the block size");
		return;
	}
	if (option == NBD_OPT_GO && h->enter(h, (unsigned)i, &why)) {
		refuse(h, option, NBD_REP_ERR_POLICY, why.text);
		return;
	}
	info_export(h, option, &h->export[i]);
	if (go.info_types & 1u << NBD_INFO_NAME)
		info_text(h, option, NBD_INFO_NAME, h->export[i].name);
	if (go.info_types & 1u << NBD_INFO_DESCRIPTION && h->export[i].description)
		info_text(h, option, NBD_INFO_DESCRIPTION, h->export[i].description);
	if (go.info_types & 1u << NBD_INFO_BLOCK_SIZE)
		info_block_size(h, option, &h->export[i].bdev->lim);
	ack(h, option);
	if (option == NBD_OPT_GO) {
		h->chosen = (unsigned)i;
		h->state = NBD_HANDSHAKE_DONE;
	}
}

/* Sections "NBD_OPT_LIST_META_CONTEXT", "NBD_OPT_SET_META_CONTEXT". */
static void meta_context(struct nbd_srv_handshake *h, uint32_t option, const void *data, size_t len)
{
	bool set = option == NBD_OPT_SET_META_CONTEXT, fits;
	be32 id = put_be32(set);
	struct nbd_meta meta;
	int i;

	if (set)
		h->meta = 0;
	if (!nbd_meta_get(&meta, data, len)) {
		refuse(h, option, NBD_REP_ERR_INVALID, "malformed option");
		return;
	}
	/* a namespace alone, or no query at all, lists everything but sets nothing */
	fits = meta.allocation || (!set && (meta.base || !meta.queries));
	if (!h->structured) {
		refuse(h, option, NBD_REP_ERR_INVALID,
			"structured replies must be negotiated first");
		return;
	}
	i = find_export(h, meta.name, meta.name_len);
	if (i < 0) {
		refuse(h, option, NBD_REP_ERR_UNKNOWN, "no export of that name");
		return;
	}
	if (fits) {
		reply(h, option, NBD_REP_META_CONTEXT, sizeof(id) + strlen(NBD_META_ALLOCATION));
		put(h, &id, sizeof(id));
		put(h, NBD_META_ALLOCATION, strlen(NBD_META_ALLOCATION));
		if (set)
			h->meta = 1 + (unsigned)i;
	}
	ack(h, option);
}

static void option_without_data(struct nbd_srv_handshake *h, uint32_t option, size_t len)
{
	if (len && option != NBD_OPT_ABORT) {
		refuse(h, option, NBD_REP_ERR_INVALID, "this option takes no data");
		return;
	}
	switch (option) {
	case NBD_OPT_ABORT:
		ack(h, option);
		h->state = NBD_HANDSHAKE_END;
		return;
	case NBD_OPT_LIST:
		list(h);
		return;
	case NBD_OPT_STRUCTURED_REPLY:
		h->structured = true;
		ack(h, option);
		return;
	}
}

static void start_tls(struct nbd_srv_handshake *h, size_t len)
{
	if (!h->tls) {
		refuse(h, NBD_OPT_STARTTLS, NBD_REP_ERR_POLICY, "this server does not use TLS");
	} else if (h->secured || len) {
		refuse(h, NBD_OPT_STARTTLS, NBD_REP_ERR_INVALID,
			len ? "this option takes no data" : "TLS is already in use");
	} else {
		ack(h, NBD_OPT_STARTTLS);
		h->state = NBD_HANDSHAKE_STARTTLS;
	}
}

void nbd_srv_handshake_secured(struct nbd_srv_handshake *h)
{
	h->secured = true;
	h->structured = false;
	h->meta = 0;
	h->state = NBD_HANDSHAKE_OPTIONS;
}

/* Section "FORCEDTLS mode". True: the option was answered. */
static bool requires_tls(struct nbd_srv_handshake *h, uint32_t option)
{
	if (!h->tls || h->secured || option == NBD_OPT_STARTTLS || option == NBD_OPT_ABORT)
		return false;
	h->plain = true;
	if (option == NBD_OPT_EXPORT_NAME)
		h->state = NBD_HANDSHAKE_END; /* this option has no error reply */
	else
		refuse(h, option, NBD_REP_ERR_TLS_REQD, "this server requires TLS");
	return true;
}

static void option_run(struct nbd_srv_handshake *h, uint32_t option, const void *data, size_t len)
{
	switch (option) {
	case NBD_OPT_EXPORT_NAME:
		export_name(h, data, len);
		return;
	case NBD_OPT_ABORT:
	case NBD_OPT_LIST:
	case NBD_OPT_STRUCTURED_REPLY:
		option_without_data(h, option, len);
		return;
	case NBD_OPT_INFO:
	case NBD_OPT_GO:
		info_or_go(h, option, data, len);
		return;
	case NBD_OPT_LIST_META_CONTEXT:
	case NBD_OPT_SET_META_CONTEXT:
		meta_context(h, option, data, len);
		return;
	case NBD_OPT_STARTTLS:
		start_tls(h, len);
		return;
	default:
		refuse(h, option, NBD_REP_ERR_UNSUP, "unknown option");
	}
}

static size_t client_flags(struct nbd_srv_handshake *h, const uint8_t *p, size_t len)
{
	uint64_t flags;

	if (len < sizeof(be32))
		return 0;
	flags = wire_be(p, sizeof(be32));
	h->fixed = flags & NBD_FLAG_FIXED_NEWSTYLE;
	h->no_zeroes = flags & NBD_FLAG_NO_ZEROES;
	h->state = flags & ~(uint64_t)(NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES)
			   ? NBD_HANDSHAKE_END
			   : NBD_HANDSHAKE_OPTIONS;
	return sizeof(be32);
}

static size_t option(struct nbd_srv_handshake *h, const uint8_t *p, size_t len)
{
	const struct nbd_opt *opt = (const struct nbd_opt *)(const void *)p;
	uint32_t code, data;

	if (len < sizeof(*opt))
		return 0;
	code = get_be32(opt->option);
	data = get_be32(opt->len);
	if (get_be64(opt->magic) != NBD_OPT_MAGIC || h->options == NBD_OPTIONS ||
		data > NBD_OPTION_SKIP || (!h->fixed && code != NBD_OPT_EXPORT_NAME) ||
		(code == NBD_OPT_EXPORT_NAME && data > NBD_STRING_MAX)) {
		h->state = NBD_HANDSHAKE_END;
		return len;
	}
	if (data > NBD_OPTION_MAX) {
		h->options++;
		if (!requires_tls(h, code))
			refuse(h, code, NBD_REP_ERR_TOO_BIG, "option too long");
		h->skip = data;
		h->state = NBD_HANDSHAKE_SKIP;
		return sizeof(*opt);
	}
	if (len - sizeof(*opt) < data)
		return 0;
	h->options++;
	if (!requires_tls(h, code))
		option_run(h, code, p + sizeof(*opt), data);
	return sizeof(*opt) + data;
}

size_t nbd_srv_handshake_feed(struct nbd_srv_handshake *h, const uint8_t *p, size_t len)
{
	switch ((enum nbd_srv_handshake_state)h->state) {
	case NBD_HANDSHAKE_FLAGS:
		return client_flags(h, p, len);
	case NBD_HANDSHAKE_OPTIONS:
		return option(h, p, len);
	case NBD_HANDSHAKE_SKIP:
		if (len > h->skip)
			len = h->skip;
		h->skip -= (uint32_t)len;
		if (!h->skip)
			h->state = NBD_HANDSHAKE_OPTIONS;
		return len;
	case NBD_HANDSHAKE_STARTTLS:
	case NBD_HANDSHAKE_DONE:
	case NBD_HANDSHAKE_END:
		break;
	}
	return 0;
}
