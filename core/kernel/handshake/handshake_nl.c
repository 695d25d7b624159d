/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build and read messages of generic netlink. */
#include "handshake_nl.h"
#include "uapi/handshake.h"
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>

#define HEAD (NLMSG_HDRLEN + GENL_HDRLEN)

/* --- commands */

static size_t begin(uint8_t *to, uint16_t family, uint8_t command, uint16_t flags, uint32_t seq)
{
	const struct nlmsghdr head = {
		.nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = seq
	};
	const struct genlmsghdr generic = { .cmd = command, .version = HANDSHAKE_NL_VERSION };

	memset(to, 0, HANDSHAKE_NL_COMMAND);
	memcpy(to, &head, sizeof(head));
	memcpy(to + NLMSG_HDRLEN, &generic, sizeof(generic));
	return HEAD;
}

static size_t put(uint8_t *to, size_t at, uint16_t type, const void *value, size_t len)
{
	const struct nlattr attr = { .nla_type = type, .nla_len = (uint16_t)(NLA_HDRLEN + len) };

	memcpy(to + at, &attr, sizeof(attr));
	memcpy(to + at + NLA_HDRLEN, value, len);
	return at + NLA_ALIGN(NLA_HDRLEN + len);
}

static size_t put_u32(uint8_t *to, size_t at, uint16_t type, uint32_t value)
{
	return put(to, at, type, &value, sizeof(value));
}

static size_t end(uint8_t *to, size_t len)
{
	const uint32_t all = (uint32_t)len;

	memcpy(to + offsetof(struct nlmsghdr, nlmsg_len), &all, sizeof(all));
	return len;
}

size_t handshake_nl_find(uint8_t *to, uint32_t seq)
{
	static const char name[] = HANDSHAKE_NL_FAMILY;
	size_t at = begin(to, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, seq);

	return end(to, put(to, at, CTRL_ATTR_FAMILY_NAME, name, sizeof(name)));
}

size_t handshake_nl_accept(uint8_t *to, uint16_t family, uint32_t seq)
{
	size_t at = begin(to, family, HANDSHAKE_NL_ACCEPT, 0, seq);

	return end(to, put_u32(to, at, HANDSHAKE_NL_ACCEPT_CLASS, HANDSHAKE_NL_TLS));
}

size_t handshake_nl_done(uint8_t *to, uint16_t family, uint32_t seq, int fd, int err, int32_t key)
{
	size_t at = begin(to, family, HANDSHAKE_NL_DONE, NLM_F_ACK, seq);

	at = put_u32(to, at, HANDSHAKE_NL_DONE_STATUS, (uint32_t)err);
	at = put_u32(to, at, HANDSHAKE_NL_DONE_FD, (uint32_t)fd);
	if (key)
		at = put_u32(to, at, HANDSHAKE_NL_DONE_PEER, (uint32_t)key);
	return end(to, at);
}

/* --- answers */

struct attrs { /* the rest of a list of attributes */
	const uint8_t *at;
	size_t len;
};

/* Returns the type without flags, and sets the value; 0: the end, or malformed. */
static uint16_t next(struct attrs *attrs, struct attrs *value)
{
	struct nlattr attr;
	size_t step;

	if (attrs->len < NLA_HDRLEN)
		return 0;
	memcpy(&attr, attrs->at, sizeof(attr));
	if (attr.nla_len < NLA_HDRLEN || attr.nla_len > attrs->len)
		return 0;
	*value = (struct attrs){ attrs->at + NLA_HDRLEN, attr.nla_len - NLA_HDRLEN };
	step = (size_t)NLA_ALIGN(attr.nla_len);
	step = step < attrs->len ? step : attrs->len;
	attrs->at += step;
	attrs->len -= step;
	return attr.nla_type & NLA_TYPE_MASK;
}

static uint32_t u32_of(const struct attrs *value)
{
	uint32_t number = 0;

	if (value->len >= sizeof(number))
		memcpy(&number, value->at, sizeof(number));
	return number;
}

static bool is_text(const struct attrs *value, const char *text)
{
	size_t len = strlen(text) + 1;

	return value->len == len && !memcmp(value->at, text, len);
}

/* The attributes of the answer. */
static int read_head(
	const uint8_t *bytes, size_t len, uint32_t seq, uint8_t command, struct attrs *attrs)
{
	struct nlmsghdr head;
	struct genlmsghdr generic;
	int error;

	if (len < NLMSG_HDRLEN)
		return -EPROTO;
	memcpy(&head, bytes, sizeof(head));
	if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > len)
		return -EPROTO;
	if (head.nlmsg_seq != seq)
		return -EINPROGRESS;
	if (head.nlmsg_len < HEAD)
		return -EPROTO;
	if (head.nlmsg_type == NLMSG_ERROR) {
		memcpy(&error, bytes + NLMSG_HDRLEN, sizeof(error));
		*attrs = (struct attrs){ 0 };
		return error > 0 ? -EPROTO : error;
	}
	memcpy(&generic, bytes + NLMSG_HDRLEN, sizeof(generic));
	*attrs = (struct attrs){ bytes + HEAD, head.nlmsg_len - HEAD };
	return generic.cmd == command ? 0 : -EINPROGRESS;
}

static uint32_t group_of(struct attrs groups)
{
	struct attrs group, value;

	while (next(&groups, &group)) {
		bool ours = false;
		uint32_t id = 0;
		uint16_t type;

		while ((type = next(&group, &value)))
			if (type == CTRL_ATTR_MCAST_GRP_ID)
				id = u32_of(&value);
			else if (type == CTRL_ATTR_MCAST_GRP_NAME)
				ours = is_text(&value, HANDSHAKE_NL_GROUP);
		if (ours)
			return id;
	}
	return 0;
}

int handshake_nl_found(const uint8_t *bytes, size_t len, uint32_t seq, struct handshake_nl *nl)
{
	struct attrs attrs, value;
	uint16_t type;
	int err = read_head(bytes, len, seq, CTRL_CMD_NEWFAMILY, &attrs);

	*nl = (struct handshake_nl){ 0 };
	if (err)
		return err;
	while ((type = next(&attrs, &value)))
		if (type == CTRL_ATTR_FAMILY_ID && value.len >= sizeof(nl->family))
			memcpy(&nl->family, value.at, sizeof(nl->family));
		else if (type == CTRL_ATTR_MCAST_GROUPS)
			nl->group = group_of(value);
	return nl->family && nl->group ? 0 : -EPROTO;
}

int handshake_nl_accepted(
	const uint8_t *bytes, size_t len, uint32_t seq, struct kernel_handshake *request)
{
	struct attrs attrs, value;
	uint32_t kind = 0;
	uint16_t type;
	int err = read_head(bytes, len, seq, HANDSHAKE_NL_ACCEPT, &attrs);

	*request = (struct kernel_handshake){ .fd = -1 };
	if (err)
		return err;
	while ((type = next(&attrs, &value)))
		switch (type) {
		case HANDSHAKE_NL_ACCEPT_FD:
			request->fd = value.len == sizeof(uint32_t) ? (int)u32_of(&value) : -1;
			break;
		case HANDSHAKE_NL_ACCEPT_TYPE:
			kind = u32_of(&value);
			break;
		case HANDSHAKE_NL_ACCEPT_TIMEOUT:
			request->timeout_ms = u32_of(&value);
			break;
		case HANDSHAKE_NL_ACCEPT_AUTH:
			request->psk = u32_of(&value) == HANDSHAKE_NL_PSK;
			break;
		case HANDSHAKE_NL_ACCEPT_PEER:
			if (!request->key)
				request->key = (int32_t)u32_of(&value);
			break;
		default:
			break;
		}
	request->server = kind == HANDSHAKE_NL_SERVER;
	return request->fd >= 0 && (kind == HANDSHAKE_NL_CLIENT || request->server) ? 0 : -EPROTO;
}

int handshake_nl_acked(const uint8_t *bytes, size_t len, uint32_t seq)
{
	struct attrs attrs;

	return read_head(bytes, len, seq, HANDSHAKE_NL_DONE, &attrs);
}

/* "00000000e8e0cf2b 16  812        00002000 0 …": protocol, then the port and the first 32 groups.
 */
bool handshake_nl_has_member(const char *text, uint32_t group)
{
	unsigned protocol, groups;

	if (!group || group > HANDSHAKE_NL_GROUPS)
		return false;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%*x %u %*u %x ", &protocol, &groups) == 2 &&
			protocol == NETLINK_GENERIC && groups >> (group - 1) & 1)
			return true;
	}
	return false;
}
