/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The client's side of the NBD handshake (newstyle): bytes in, bytes out. ini_link.c handles
 * descriptors and deadlines. */
#include "ini_handshake.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>

static void client_flags(struct nbd_ini_handshake *h, uint16_t flags)
{
	be32 mine = put_be32(flags & (NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES));

	memcpy(h->out, &mine, sizeof(mine));
	h->out_len = sizeof(mine);
}

/* Send the option of the current step. */
static void step_send(struct nbd_ini_handshake *h)
{
	static const uint32_t options[] = {
		[INI_STARTTLS] = NBD_OPT_STARTTLS,
		[INI_STRUCTURED] = NBD_OPT_STRUCTURED_REPLY,
		[INI_META] = NBD_OPT_SET_META_CONTEXT,
		[INI_GO] = NBD_OPT_GO,
		[INI_LIST] = NBD_OPT_LIST,
		[INI_EXPORT_NAME] = NBD_OPT_EXPORT_NAME,
	};
	uint32_t name_len = (uint32_t)strlen(h->name);
	struct wr wr = wr_init(h->out + h->out_len, sizeof(h->out) - h->out_len);
	struct nbd_opt *opt = wr_room(&wr, sizeof(*opt));
	const uint8_t *data = wr.p;

	switch ((enum nbd_ini_step)h->step) {
	case INI_META:
		nbd_meta_put(
			&wr, &(struct nbd_meta){
				     .name = h->name, .name_len = name_len, .allocation = true });
		break;
	case INI_GO:
		nbd_go_put(&wr, &(struct nbd_go){ .name = h->name,
					.name_len = name_len,
					.info_types = 1u << NBD_INFO_BLOCK_SIZE });
		break;
	case INI_EXPORT_NAME:
		wr_bytes(&wr, h->name, name_len);
		break;
	case INI_GREETING:
	case INI_STARTTLS:
	case INI_SECURING:
	case INI_STRUCTURED:
	case INI_LIST:
	case INI_DONE:
		break;
	}
	assert(!wr.bad);
	*opt = (struct nbd_opt){ put_be64(NBD_OPT_MAGIC), put_be32(options[h->step]),
		put_be32((uint32_t)(wr.p - data)) };
	h->out_len = (size_t)(wr.p - h->out);
}

static void step_to(struct nbd_ini_handshake *h, enum nbd_ini_step step)
{
	h->step = step;
	h->replies = 0;
	if (step != INI_DONE && step != INI_SECURING)
		step_send(h);
}

static enum nbd_ini_step first_step(const struct nbd_ini_handshake *h)
{
	return h->listed ? INI_LIST : INI_STRUCTURED;
}

void nbd_ini_handshake_secured(struct nbd_ini_handshake *h)
{
	step_to(h, first_step(h));
}

static int no_tls(struct nbd_ini_handshake *h, struct diag *diag, const char *quoted)
{
	h->tls = false;
	if (h->tls_optional)
		return 0;
	diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP, "the server does not offer TLS%s", quoted);
	return diag_hint(diag, "without encryption and authentication: use nbd instead of nbds");
}

static int greeting(struct nbd_ini_handshake *h, const uint8_t *p, size_t len, struct diag *diag)
{
	const struct nbd_greeting *hi = (const struct nbd_greeting *)(const void *)p;
	uint16_t flags;

	if (len >= sizeof(hi->magic) && get_be64(hi->magic) != NBD_GREETING_MAGIC)
		return diag_set(
			diag, DIAG_PROTOCOL, EPROTO, "no NBD greeting: is this an NBD port?");
	if (len < sizeof(*hi))
		return 0;
	if (get_be64(hi->opt_magic) == NBD_OLDSTYLE_MAGIC)
		return diag_set(diag, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
			"the server uses the oldstyle handshake, which is not supported");
	if (get_be64(hi->opt_magic) != NBD_OPT_MAGIC)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "unknown NBD greeting");
	flags = get_be16(hi->flags);
	h->zeroes = !(flags & NBD_FLAG_NO_ZEROES);
	client_flags(h, flags);
	if (h->tls && !(flags & NBD_FLAG_FIXED_NEWSTYLE) && no_tls(h, diag, ""))
		return -ENOTSUP;
	if (flags & NBD_FLAG_FIXED_NEWSTYLE)
		step_to(h, h->tls ? INI_STARTTLS : first_step(h));
	else if (h->listed)
		return diag_set(diag, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
			"the server cannot list its exports");
	else
		step_to(h, INI_EXPORT_NAME);
	return sizeof(*hi);
}

static int check_terms(const struct nbd_terms *terms, struct diag *diag)
{
	if (!(terms->flags & NBD_FLAG_HAS_FLAGS))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the server sent invalid flags (NBD_FLAG_HAS_FLAGS is not set)");
	if (terms->size > INT64_MAX)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the server reports an invalid size of %llu bytes",
			(unsigned long long)terms->size);
	if (!terms->minimum && !terms->preferred && !terms->maximum)
		return 0;
	/* "Size constraints" */
	if (!terms->minimum || terms->minimum & (terms->minimum - 1) || terms->minimum > 65536)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the server reports an invalid minimum block size of %u bytes",
			terms->minimum);
	if (terms->preferred & (terms->preferred - 1) || terms->preferred < terms->minimum)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the server reports a preferred block size of %u and a minimum of %u",
			terms->preferred, terms->minimum);
	if (terms->maximum < terms->minimum || terms->maximum < 512)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the server reports a maximum request of %u bytes and a minimum block size "
			"of %u",
			terms->maximum, terms->minimum);
	return 0;
}

static int done(struct nbd_ini_handshake *h, struct diag *diag)
{
	step_to(h, INI_DONE);
	return check_terms(&h->negotiated.terms, diag);
}

static int export_name(struct nbd_ini_handshake *h, const uint8_t *p, size_t len, struct diag *diag)
{
	const struct nbd_export_name_rep *rep = (const struct nbd_export_name_rep *)(const void *)p;
	size_t need = h->zeroes ? sizeof(*rep) : offsetof(struct nbd_export_name_rep, zeroes);

	if (len < need)
		return 0;
	h->negotiated.terms =
		(struct nbd_terms){ .size = get_be64(rep->size), .flags = get_be16(rep->flags) };
	h->negotiated.meta = false; /* it was chosen for NBD_OPT_GO, which this server lacks */
	return done(h, diag) ? -EPROTO : (int)need;
}

static bool hopeless(uint32_t type)
{
	return type == NBD_REP_ERR_TLS_REQD || type == NBD_REP_ERR_SHUTDOWN;
}

/* Fail because of a refusal that leaves no alternative. */
static int refused(const struct nbd_ini_handshake *h, uint32_t type, const uint8_t *text,
	size_t len, struct diag *diag)
{
	char message[NBD_INI_TEXT], quoted[NBD_INI_TEXT + 5] = "";

	if (nbd_text_get(message, sizeof(message), text, len))
		snprintf(quoted, sizeof(quoted), ": '%s'", message);
	if (h->listed && type == NBD_REP_ERR_UNSUP)
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"the server cannot list its exports%s", quoted);
	if (h->listed && !hopeless(type))
		return diag_set(diag, DIAG_REFUSED, EACCES,
			"the server refused to list its exports (error %u)%s",
			type & ~NBD_REP_ERR(0), quoted);
	switch (type) {
	case NBD_REP_ERR_UNKNOWN:
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "the server has no export '%s'%s", h->name,
			quoted);
		return -ENOENT;
	case NBD_REP_ERR_TLS_REQD:
		diag_set(diag, DIAG_AUTH, EACCES, "the server requires TLS%s", quoted);
		return diag_hint(diag, "use nbds instead of nbd in the URI, with tls-psk-file= or "
				       "tls-certificates=");
	case NBD_REP_ERR_POLICY:
		return diag_set(diag, DIAG_REFUSED, EACCES,
			"export '%s' is forbidden by the server's policy%s", h->name, quoted);
	case NBD_REP_ERR_SHUTDOWN:
		return diag_set(
			diag, DIAG_REFUSED, ESHUTDOWN, "the server is shutting down%s", quoted);
	default:
		return diag_set(diag, DIAG_REFUSED, ECONNREFUSED,
			"the server refused export '%s' (error %u)%s", h->name,
			type & ~NBD_REP_ERR(0), quoted);
	}
}

static int malformed(struct diag *diag, const char *what)
{
	return diag_set(diag, DIAG_PROTOCOL, EPROTO, "%s", what);
}

static int handle_starttls(struct nbd_ini_handshake *h, uint32_t type, const uint8_t *text,
	size_t len, struct diag *diag)
{
	char message[NBD_INI_TEXT], quoted[NBD_INI_TEXT + 5] = "";

	if (type == NBD_REP_ACK) {
		step_to(h, INI_SECURING);
		return 0;
	}
	if (!(type & NBD_REP_ERR(0)))
		return malformed(diag, "unexpected reply to NBD_OPT_STARTTLS");
	if (nbd_text_get(message, sizeof(message), text, len))
		snprintf(quoted, sizeof(quoted), ": '%s'", message);
	if (no_tls(h, diag, quoted))
		return -ENOTSUP;
	step_to(h, first_step(h));
	return 0;
}

static int handle_structured_reply(struct nbd_ini_handshake *h, uint32_t type, struct diag *diag)
{
	if (type != NBD_REP_ACK && !(type & NBD_REP_ERR(0)))
		return malformed(diag, "unexpected reply to NBD_OPT_STRUCTURED_REPLY");
	h->negotiated.structured = type == NBD_REP_ACK;
	step_to(h, h->negotiated.structured ? INI_META : INI_GO);
	return 0;
}

static int handle_set_meta_context(struct nbd_ini_handshake *h, uint32_t type, const uint8_t *data,
	size_t len, struct diag *diag)
{
	size_t name_len = strlen(NBD_META_ALLOCATION);

	if (type == NBD_REP_META_CONTEXT) {
		if (h->negotiated.meta || len != sizeof(be32) + name_len ||
			memcmp(data + sizeof(be32), NBD_META_ALLOCATION, name_len))
			return malformed(diag,
				"the server selected a metadata context that was not requested");
		h->negotiated.meta = true;
		h->negotiated.context = (uint32_t)wire_be(data, sizeof(be32));
		return 0;
	}
	if (type != NBD_REP_ACK && !(type & NBD_REP_ERR(0)))
		return malformed(diag, "unexpected reply to NBD_OPT_SET_META_CONTEXT");
	if (type != NBD_REP_ACK)
		/* "NBD_OPT_SET_META_CONTEXT": contexts sent before an error are invalid */
		h->negotiated.meta = false;
	step_to(h, INI_GO);
	return 0;
}

static int handle_go(struct nbd_ini_handshake *h, uint32_t type, const uint8_t *data, size_t len,
	struct diag *diag)
{
	uint16_t item;

	if (type == NBD_REP_INFO) {
		if (!nbd_info_get(&h->negotiated.terms, &item, data, len))
			return malformed(diag, "malformed NBD_REP_INFO for the export");
		h->has_export |= item == NBD_INFO_EXPORT;
		return 0;
	}
	if (type == NBD_REP_ERR_UNSUP) {
		step_to(h, INI_EXPORT_NAME);
		return 0;
	}
	if (type & NBD_REP_ERR(0))
		return refused(h, type, data, len, diag);
	if (type != NBD_REP_ACK)
		return malformed(diag, "unexpected reply to NBD_OPT_GO");
	if (!h->has_export)
		return malformed(diag, "the server did not report the size of the export");
	return done(h, diag);
}

/* "NBD_REP_SERVER": length of the name, name, text for people. */
static int handle_list(struct nbd_ini_handshake *h, uint32_t type, const uint8_t *data, size_t len,
	struct diag *diag)
{
	uint32_t name_len = len < sizeof(be32) ? 0 : (uint32_t)wire_be(data, sizeof(be32));

	if (type & NBD_REP_ERR(0))
		return refused(h, type, data, len, diag);
	if (type == NBD_REP_ACK) {
		step_to(h, INI_DONE);
		return 0;
	}
	if (type != NBD_REP_SERVER || len < sizeof(be32) || name_len > len - sizeof(be32) ||
		name_len > NBD_STRING_MAX || memchr(data + sizeof(be32), 0, name_len))
		return malformed(diag, "malformed reply to NBD_OPT_LIST");
	h->listed(h, data + sizeof(be32), name_len);
	return 0;
}

static int reply(struct nbd_ini_handshake *h, const uint8_t *p, size_t len, struct diag *diag)
{
	static const uint32_t asked[] = { [INI_STARTTLS] = NBD_OPT_STARTTLS,
		[INI_STRUCTURED] = NBD_OPT_STRUCTURED_REPLY,
		[INI_META] = NBD_OPT_SET_META_CONTEXT,
		[INI_GO] = NBD_OPT_GO,
		[INI_LIST] = NBD_OPT_LIST };
	const struct nbd_rep *rep = (const struct nbd_rep *)(const void *)p;
	const uint8_t *data = p + sizeof(*rep);
	uint32_t type, data_len;
	int err = 0;

	if (len >= sizeof(rep->magic) && get_be64(rep->magic) != NBD_REP_MAGIC)
		return malformed(diag, "not a reply to an NBD option");
	if (len < sizeof(*rep))
		return 0;
	type = get_be32(rep->type);
	data_len = get_be32(rep->len);
	if (get_be32(rep->option) != asked[h->step])
		return malformed(diag, "reply to an NBD option that was not sent");
	if (data_len > NBD_INI_REPLY_MAX)
		return malformed(diag, "reply to an NBD option is too long");
	if (++h->replies > (h->listed ? NBD_INI_EXPORTS : NBD_INI_REPLIES))
		return malformed(diag, "too many replies to one NBD option");
	if (len - sizeof(*rep) < data_len) {
		h->replies--;
		return 0;
	}
	if (hopeless(type))
		return refused(h, type, data, data_len, diag);
	switch ((enum nbd_ini_step)h->step) {
	case INI_STARTTLS:
		err = handle_starttls(h, type, data, data_len, diag);
		break;
	case INI_STRUCTURED:
		err = handle_structured_reply(h, type, diag);
		break;
	case INI_META:
		err = handle_set_meta_context(h, type, data, data_len, diag);
		break;
	case INI_GO:
		err = handle_go(h, type, data, data_len, diag);
		break;
	case INI_LIST:
		err = handle_list(h, type, data, data_len, diag);
		break;
	case INI_GREETING:
	case INI_SECURING:
	case INI_EXPORT_NAME:
	case INI_DONE:
		break;
	}
	return err ? err : (int)(sizeof(*rep) + data_len);
}

int nbd_ini_handshake_feed(
	struct nbd_ini_handshake *h, const uint8_t *p, size_t len, struct diag *diag)
{
	switch ((enum nbd_ini_step)h->step) {
	case INI_GREETING:
		return greeting(h, p, len, diag);
	case INI_STARTTLS:
	case INI_STRUCTURED:
	case INI_META:
	case INI_GO:
	case INI_LIST:
		return reply(h, p, len, diag);
	case INI_EXPORT_NAME:
		return export_name(h, p, len, diag);
	case INI_SECURING:
	case INI_DONE:
		break;
	}
	return 0;
}
