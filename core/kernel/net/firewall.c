/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the rules of nf_tables that decide about the first packet of a connection, and judge them.
 * What a rule does beyond addresses and ports is not followed: then it may or may not apply. */
#include "grow.h"
#include "kernel_sys.h"
#include "net_parse.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 1000

/* ---- Messages. */

static uint32_t attr_be32(struct nlattr *attr, uint32_t other)
{
	return attr && nla_len(attr) >= 4 ? ntohl(nla_get_u32(attr)) : other;
}

static void get_text(struct nlattr *attr, char *text, size_t len)
{
	if (attr)
		nla_strlcpy(text, attr, len);
}

static const char *family_word(uint8_t family)
{
	return family == NFPROTO_INET   ? "inet"
	       : family == NFPROTO_IPV4 ? "ip"
	       : family == NFPROTO_IPV6 ? "ip6"
					: NULL;
}

/* Chains of other types, as for NAT, don't drop. */
static void parse_chain(struct firewall *firewall, const char *family, struct nlattr *const *attrs)
{
	struct nlattr *hook[NFTA_HOOK_MAX + 1] = { NULL };
	struct firewall_chain *chain;
	char type[16] = "";
	uint32_t number;

	get_text(attrs[NFTA_CHAIN_TYPE], type, sizeof(type));
	if (attrs[NFTA_CHAIN_HOOK] &&
		(strcmp(type, "filter") ||
			nla_parse_nested(hook, NFTA_HOOK_MAX, attrs[NFTA_CHAIN_HOOK], NULL)))
		return;
	chain = grow(firewall->chain, firewall->chains);
	firewall->failed |= !chain;
	if (!chain)
		return;
	number = attr_be32(hook[NFTA_HOOK_HOOKNUM], UINT32_MAX);
	chain->input = number == NF_INET_LOCAL_IN;
	chain->output = number == NF_INET_LOCAL_OUT;
	chain->drops = attr_be32(attrs[NFTA_CHAIN_POLICY], NF_ACCEPT) == NF_DROP;
	snprintf(chain->family, sizeof(chain->family), "%s", family);
	get_text(attrs[NFTA_CHAIN_TABLE], chain->table, sizeof(chain->table));
	get_text(attrs[NFTA_CHAIN_NAME], chain->name, sizeof(chain->name));
}

/* Content of a register while the expressions of a rule are evaluated. */
enum held {
	HELD_OTHER,
	HELD_FAMILY,
	HELD_L4PROTO,
	HELD_SADDR,
	HELD_DADDR,
	HELD_SPORT,
	HELD_PORT,
	HELD_NETDEV,
	HELD_STATE,  /* of connection tracking */
	HELD_STATES, /* and a mask */
};
#define STATE_NEW (1u << (IP_CT_NEW + 1))

struct reading {
	struct firewall_rule rule;
	enum held held;
	unsigned reg, held_len;
	uint32_t states;
	bool never;  /* does not match a packet that opens a connection */
	bool packet; /* the register holds a field of the packet's headers */
};

static void doubt(struct reading *r)
{
	r->rule.certain = false;
	r->rule.vague |= r->packet;
	r->held = HELD_OTHER;
}

static void parse_meta(struct reading *r, struct nlattr *data)
{
	static const struct {
		uint32_t key;
		enum held held;
		unsigned len;
	} rows[] = { { NFT_META_L4PROTO, HELD_L4PROTO, 1 }, { NFT_META_NFPROTO, HELD_FAMILY, 1 },
		{ NFT_META_IIF, HELD_NETDEV, 4 }, { NFT_META_OIF, HELD_NETDEV, 4 },
		{ NFT_META_IIFNAME, HELD_NETDEV, 16 }, { NFT_META_OIFNAME, HELD_NETDEV, 16 } };
	struct nlattr *attrs[NFTA_META_MAX + 1];
	uint32_t key;

	if (nla_parse_nested(attrs, NFTA_META_MAX, data, NULL) || !attrs[NFTA_META_DREG])
		return;
	key = attr_be32(attrs[NFTA_META_KEY], UINT32_MAX);
	r->reg = attr_be32(attrs[NFTA_META_DREG], 0);
	r->packet = false;
	r->held = HELD_OTHER;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].key == key)
			r->held = rows[i].held, r->held_len = rows[i].len;
}

static void parse_ct(struct reading *r, struct nlattr *data)
{
	struct nlattr *attrs[NFTA_CT_MAX + 1];

	if (nla_parse_nested(attrs, NFTA_CT_MAX, data, NULL) || !attrs[NFTA_CT_DREG])
		return;
	r->reg = attr_be32(attrs[NFTA_CT_DREG], 0);
	r->packet = false;
	r->held =
		attr_be32(attrs[NFTA_CT_KEY], UINT32_MAX) == NFT_CT_STATE ? HELD_STATE : HELD_OTHER;
	r->held_len = 4;
}

static void parse_payload(struct reading *r, struct nlattr *data)
{
	static const struct {
		uint32_t base, offset, len;
		enum held held;
	} rows[] = { { NFT_PAYLOAD_NETWORK_HEADER, 12, 4, HELD_SADDR },
		{ NFT_PAYLOAD_NETWORK_HEADER, 16, 4, HELD_DADDR },
		{ NFT_PAYLOAD_NETWORK_HEADER, 8, 16, HELD_SADDR },
		{ NFT_PAYLOAD_NETWORK_HEADER, 24, 16, HELD_DADDR },
		{ NFT_PAYLOAD_NETWORK_HEADER, 9, 1, HELD_L4PROTO },
		{ NFT_PAYLOAD_TRANSPORT_HEADER, 0, 2, HELD_SPORT },
		{ NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, HELD_PORT } };
	struct nlattr *attrs[NFTA_PAYLOAD_MAX + 1];
	uint32_t base, offset, len;

	if (nla_parse_nested(attrs, NFTA_PAYLOAD_MAX, data, NULL) || !attrs[NFTA_PAYLOAD_DREG])
		return;
	base = attr_be32(attrs[NFTA_PAYLOAD_BASE], UINT32_MAX);
	offset = attr_be32(attrs[NFTA_PAYLOAD_OFFSET], UINT32_MAX);
	len = attr_be32(attrs[NFTA_PAYLOAD_LEN], 0);
	r->reg = attr_be32(attrs[NFTA_PAYLOAD_DREG], 0);
	r->packet = base == NFT_PAYLOAD_NETWORK_HEADER || base == NFT_PAYLOAD_TRANSPORT_HEADER;
	r->held = HELD_OTHER;
	r->held_len = len;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].base == base && rows[i].offset == offset && rows[i].len == len)
			r->held = rows[i].held;
}

/* False: a value of another length. */
static bool value_of(struct nlattr *attr, void *to, unsigned len)
{
	struct nlattr *attrs[NFTA_DATA_MAX + 1];

	if (!attr || nla_parse_nested(attrs, NFTA_DATA_MAX, attr, NULL) ||
		!attrs[NFTA_DATA_VALUE] || nla_len(attrs[NFTA_DATA_VALUE]) != (int)len)
		return false;
	memcpy(to, nla_data(attrs[NFTA_DATA_VALUE]), len);
	return true;
}

static uint16_t be16_at(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static void equals(struct reading *r, const uint8_t *value)
{
	struct firewall_rule *rule = &r->rule;

	switch (r->held) {
	case HELD_FAMILY:
		rule->v4 &= value[0] == NFPROTO_IPV4;
		rule->v6 &= value[0] == NFPROTO_IPV6;
		break;
	case HELD_L4PROTO:
		rule->l4proto = value[0];
		break;
	case HELD_SADDR:
		rule->has_saddr = true;
		break;
	case HELD_DADDR:
		rule->has_daddr = true;
		rule->addr_len = (uint8_t)r->held_len;
		memcpy(rule->daddr, value, r->held_len);
		break;
	case HELD_SPORT:
		rule->has_sport = true;
		break;
	case HELD_PORT:
		rule->port = rule->port_end = be16_at(value);
		break;
	case HELD_NETDEV: /* by number, in host order, or name */
		if (r->held_len == 4 ? !memcmp(value, &(uint32_t){ 1 }, 4)
				     : !strcmp((const char *)value, "lo"))
			rule->loopback = true;
		else
			doubt(r);
		break;
	case HELD_STATE:
	case HELD_STATES:
	case HELD_OTHER:
		doubt(r);
		break;
	}
}

/* A state and a mask: "ct state new". */
static void parse_bitwise(struct reading *r, struct nlattr *data)
{
	struct nlattr *attrs[NFTA_BITWISE_MAX + 1];

	if (r->held != HELD_STATE || nla_parse_nested(attrs, NFTA_BITWISE_MAX, data, NULL) ||
		!value_of(attrs[NFTA_BITWISE_MASK], &r->states, 4)) {
		doubt(r);
		return;
	}
	r->reg = attr_be32(attrs[NFTA_BITWISE_DREG], 0);
	r->held = HELD_STATES;
}

static void parse_cmp(struct reading *r, struct nlattr *data)
{
	struct nlattr *attrs[NFTA_CMP_MAX + 1];
	uint8_t value[16];
	uint32_t op;

	if (nla_parse_nested(attrs, NFTA_CMP_MAX, data, NULL) || r->held == HELD_OTHER ||
		r->held_len > sizeof(value) || attr_be32(attrs[NFTA_CMP_SREG], 0) != r->reg ||
		!value_of(attrs[NFTA_CMP_DATA], value, r->held_len)) {
		doubt(r);
		return;
	}
	op = attr_be32(attrs[NFTA_CMP_OP], UINT32_MAX);
	if (op == NFT_CMP_NEQ && r->held == HELD_STATES)
		r->never |= !(r->states & STATE_NEW);
	else if (op == NFT_CMP_EQ)
		equals(r, value);
	else if (op == NFT_CMP_GTE && r->held == HELD_PORT)
		r->rule.port = be16_at(value), r->rule.port_end = UINT16_MAX;
	else if (op == NFT_CMP_LTE && r->held == HELD_PORT && r->rule.port)
		r->rule.port_end = be16_at(value);
	else
		doubt(r);
}

static void parse_range(struct reading *r, struct nlattr *data)
{
	struct nlattr *attrs[NFTA_RANGE_MAX + 1];
	uint8_t from[2], to[2];

	if (!nla_parse_nested(attrs, NFTA_RANGE_MAX, data, NULL) && r->held == HELD_PORT &&
		attr_be32(attrs[NFTA_RANGE_OP], UINT32_MAX) == NFT_RANGE_EQ &&
		value_of(attrs[NFTA_RANGE_FROM_DATA], from, 2) &&
		value_of(attrs[NFTA_RANGE_TO_DATA], to, 2))
		r->rule.port = be16_at(from), r->rule.port_end = be16_at(to);
	else
		doubt(r);
}

static void parse_verdict(struct reading *r, struct nlattr *data)
{
	struct nlattr *attrs[NFTA_IMMEDIATE_MAX + 1], *value[NFTA_DATA_MAX + 1],
		*verdict[NFTA_VERDICT_MAX + 1];
	uint32_t code;

	if (nla_parse_nested(attrs, NFTA_IMMEDIATE_MAX, data, NULL) ||
		!attrs[NFTA_IMMEDIATE_DATA] ||
		nla_parse_nested(value, NFTA_DATA_MAX, attrs[NFTA_IMMEDIATE_DATA], NULL) ||
		!value[NFTA_DATA_VERDICT] ||
		nla_parse_nested(verdict, NFTA_VERDICT_MAX, value[NFTA_DATA_VERDICT], NULL))
		return;
	code = attr_be32(verdict[NFTA_VERDICT_CODE], UINT32_MAX);
	r->rule.verdict = code == NF_DROP                ? FIREWALL_DROP
			  : code == NF_ACCEPT            ? FIREWALL_ACCEPT
			  : code == (uint32_t)NFT_RETURN ? FIREWALL_RETURN
			  : code == (uint32_t)NFT_JUMP   ? FIREWALL_JUMP
			  : code == (uint32_t)NFT_GOTO   ? FIREWALL_GOTO
							 : FIREWALL_NEXT;
	get_text(verdict[NFTA_VERDICT_CHAIN], r->rule.to, sizeof(r->rule.to));
}

/* Extensions of iptables; NFTA_TARGET_NAME has the same number. */
static bool extension_is(struct nlattr *data, const char *names)
{
	struct nlattr *attrs[NFTA_MATCH_MAX + 1];
	char name[32] = "";

	if (!nla_parse_nested(attrs, NFTA_MATCH_MAX, data, NULL))
		get_text(attrs[NFTA_MATCH_NAME], name, sizeof(name));
	return name[0] && strstr(names, name);
}

static void parse_expression(struct reading *r, const char *name, struct nlattr *data)
{
	static const struct {
		const char *name;
		void (*parse)(struct reading *, struct nlattr *);
	} rows[] = { { "meta", parse_meta }, { "payload", parse_payload }, { "cmp", parse_cmp },
		{ "range", parse_range }, { "ct", parse_ct }, { "bitwise", parse_bitwise },
		{ "immediate", parse_verdict } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (data && !strcmp(name, rows[i].name)) {
			rows[i].parse(r, data);
			return;
		}
	if (!strcmp(name, "reject") ||
		(data && !strcmp(name, "target") && extension_is(data, "REJECT"))) {
		r->rule.verdict = FIREWALL_DROP;
		return;
	}
	if (!strcmp(name, "counter") || !strcmp(name, "log"))
		return;
	if (!strcmp(name, "match"))
		r->packet = data && extension_is(data, "tcp multiport set");
	doubt(r);
}

static struct firewall_chain *find_chain(
	const struct firewall *firewall, const char *family, const char *table, const char *name)
{
	for (unsigned i = 0; i < firewall->chains; i++) {
		struct firewall_chain *chain = &firewall->chain[i];

		if (!strcmp(chain->family, family) && !strcmp(chain->table, table) &&
			!strcmp(chain->name, name))
			return chain;
	}
	return NULL;
}

static void parse_rule(struct firewall *firewall, const char *family, struct nlattr *const *attrs)
{
	char table[64] = "", name[64] = "";
	struct firewall_chain *chain;
	struct reading r = { .rule = { .certain = true,
				     .v4 = strcmp(family, "ip6") != 0,
				     .v6 = strcmp(family, "ip") != 0 } };
	struct nlattr *entry, *one[NFTA_EXPR_MAX + 1];
	struct firewall_rule *more;
	int left;

	get_text(attrs[NFTA_RULE_TABLE], table, sizeof(table));
	get_text(attrs[NFTA_RULE_CHAIN], name, sizeof(name));
	chain = find_chain(firewall, family, table, name);
	if (!chain || !attrs[NFTA_RULE_EXPRESSIONS])
		return;
	nla_for_each_nested(entry, attrs[NFTA_RULE_EXPRESSIONS], left)
	{
		if (nla_parse_nested(one, NFTA_EXPR_MAX, entry, NULL))
			continue;
		name[0] = 0;
		get_text(one[NFTA_EXPR_NAME], name, sizeof(name));
		parse_expression(&r, name, one[NFTA_EXPR_DATA]);
	}
	if (r.never)
		return;
	more = grow(chain->rule, chain->rules);
	firewall->failed |= !more;
	if (more)
		*more = r.rule;
}

void kernel_firewall_parse(struct firewall *firewall, void *messages, size_t len)
{
	struct nlmsghdr *msg = messages;

	for (int left = (int)len; left > 0 && nlmsg_ok(msg, left); msg = nlmsg_next(msg, &left)) {
		struct nlattr *chain[NFTA_CHAIN_MAX + 1], *rule[NFTA_RULE_MAX + 1];
		const char *family;

		if (msg->nlmsg_len < (uint32_t)nlmsg_size(sizeof(struct nfgenmsg)))
			continue;
		family = family_word(((struct nfgenmsg *)nlmsg_data(msg))->nfgen_family);
		if (!family)
			continue;
		if (msg->nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN) &&
			!nlmsg_parse(msg, sizeof(struct nfgenmsg), chain, NFTA_CHAIN_MAX, NULL))
			parse_chain(firewall, family, chain);
		else if (msg->nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE) &&
			 !nlmsg_parse(msg, sizeof(struct nfgenmsg), rule, NFTA_RULE_MAX, NULL))
			parse_rule(firewall, family, rule);
	}
}

/* ---- Queries. */

/* 1: there is more; 0: the end; -errno. */
static int end_of(void *messages, int len)
{
	struct nlmsghdr *msg = messages;

	for (; len > 0 && nlmsg_ok(msg, len); msg = nlmsg_next(msg, &len)) {
		if (msg->nlmsg_type == NLMSG_DONE)
			return 0;
		if (msg->nlmsg_type == NLMSG_ERROR &&
			msg->nlmsg_len >= (uint32_t)nlmsg_size(sizeof(struct nlmsgerr)))
			return ((struct nlmsgerr *)nlmsg_data(msg))->error;
	}
	return 1;
}

static int dump(struct nl_sock *sock, unsigned kind, struct firewall *firewall)
{
	struct nl_msg *msg = nlmsg_alloc_simple(
		NFNL_SUBSYS_NFTABLES << 8 | (int)kind, NLM_F_REQUEST | NLM_F_DUMP);
	const struct nfgenmsg all = { .nfgen_family = NFPROTO_UNSPEC, .version = NFNETLINK_V0 };
	struct pollfd wait = { .fd = nl_socket_get_fd(sock), .events = POLLIN };
	int err = msg && !nlmsg_append(msg, (void *)&all, sizeof(all), NLMSG_ALIGNTO) ? 1 : -ENOMEM;

	if (err > 0 && nl_send_auto(sock, msg) < 0)
		err = -EIO;
	nlmsg_free(msg);
	while (err > 0) {
		struct sockaddr_nl from;
		unsigned char *answer = NULL;
		int got = poll(&wait, 1, ANSWER_MS) > 0 ? nl_recv(sock, &from, &answer, NULL) : 0;

		if (got <= 0)
			return -EIO;
		if (!from.nl_pid) {
			kernel_firewall_parse(firewall, answer, (size_t)got);
			err = end_of(answer, got);
		}
		free(answer);
	}
	return err;
}

int kernel_firewall(struct firewall *firewall, struct diag *diag)
{
	struct nl_sock *sock = nl_socket_alloc();
	int err = 0;

	*firewall = (struct firewall){ 0 };
	if (!sock)
		return diag_sys(diag, ENOMEM, "firewall");
	if (nl_connect(sock, NETLINK_NETFILTER) || nl_socket_set_nonblocking(sock))
		err = -EOPNOTSUPP;
	nl_socket_disable_auto_ack(sock);
	if (!err)
		err = dump(sock, NFT_MSG_GETCHAIN, firewall);
	if (!err)
		err = dump(sock, NFT_MSG_GETRULE, firewall);
	nl_socket_free(sock);
	if (!err && firewall->failed)
		err = -ENOMEM;
	if (err == -EINVAL) /* nfnetlink without nf_tables */
		err = -EOPNOTSUPP;
	if (!err)
		return 0;
	kernel_firewall_free(firewall);
	return diag_sys(diag, -err, "rules of nf_tables"), err;
}

void kernel_firewall_free(struct firewall *firewall)
{
	for (unsigned i = 0; i < firewall->chains; i++)
		free(firewall->chain[i].rule);
	free(firewall->chain);
	*firewall = (struct firewall){ 0 };
}

int kernel_firewall_legacy(int root, bool v6, char *text, size_t len)
{
	ssize_t got =
		kernel_sys_read(root, text, len, "proc/net/%s_tables_names", v6 ? "ip6" : "ip");

	return got == -EACCES ? -EACCES : 0;
}

/* ---- Evaluation. */

#define DEPTH_MAX 16 /* of chains; NFT_JUMP_STACK_SIZE */

struct packet {
	const struct firewall *firewall;
	const struct addr *to;
	uint8_t l4proto;
	uint16_t port;
	bool may_pass, may_drop; /* due to rules that can't be evaluated */
};

/* Whether the known conditions of the rule match. */
static bool applies(const struct firewall_rule *rule, const struct packet *packet)
{
	const struct sockaddr_in *sin = (const void *)&packet->to->ss;
	const struct sockaddr_in6 *sin6 = (const void *)&packet->to->ss;
	const int family = packet->to->ss.ss_family;

	if ((rule->l4proto && rule->l4proto != packet->l4proto) ||
		(family == AF_INET && !rule->v4) || (family == AF_INET6 && !rule->v6))
		return false;
	if (rule->loopback && !(family && addr_is_local(packet->to)))
		return false;
	if (rule->port && (packet->port < rule->port || packet->port > rule->port_end))
		return false;
	if (!rule->has_daddr || !family)
		return true;
	if (family == AF_INET)
		return rule->addr_len == 4 && !memcmp(rule->daddr, &sin->sin_addr, 4);
	return rule->addr_len == 16 && !memcmp(rule->daddr, &sin6->sin6_addr, 16);
}

static enum firewall_verdict walk(
	struct packet *packet, const struct firewall_chain *chain, unsigned depth);

/* Return the verdict of a matching rule: RETURN ends its chain. */
static enum firewall_verdict follow(struct packet *packet, const struct firewall_chain *chain,
	const struct firewall_rule *rule, unsigned depth)
{
	const struct firewall_chain *next;
	enum firewall_verdict verdict;

	if (rule->verdict != FIREWALL_JUMP && rule->verdict != FIREWALL_GOTO)
		return rule->verdict;
	next = find_chain(packet->firewall, chain->family, chain->table, rule->to);
	if (!next || depth == DEPTH_MAX) {
		packet->may_pass = packet->may_drop = true;
		return FIREWALL_NEXT;
	}
	verdict = walk(packet, next, depth + 1);
	return verdict == FIREWALL_NEXT && rule->verdict == FIREWALL_GOTO ? FIREWALL_RETURN
									  : verdict;
}

static enum firewall_verdict walk(
	struct packet *packet, const struct firewall_chain *chain, unsigned depth)
{
	for (unsigned i = 0; i < chain->rules; i++) {
		const struct firewall_rule *rule = &chain->rule[i];
		/* the peer's address and port are unknown */
		bool vague = rule->has_saddr || rule->has_sport ||
			     (rule->has_daddr && !packet->to->ss.ss_family);
		enum firewall_verdict verdict;

		if (!applies(rule, packet))
			continue;
		verdict = follow(packet, chain, rule, depth);
		if (rule->certain && !vague && verdict == FIREWALL_RETURN)
			return FIREWALL_NEXT;
		if (rule->certain && !vague && verdict != FIREWALL_NEXT)
			return verdict;
		/* Rules that drop for other reasons than addresses or ports match few packets. */
		packet->may_drop |= verdict == FIREWALL_DROP && (vague || rule->vague);
		packet->may_pass |= verdict == FIREWALL_ACCEPT || verdict == FIREWALL_RETURN ||
				    (verdict == FIREWALL_NEXT && !rule->certain);
	}
	return FIREWALL_NEXT;
}

enum firewall_fate kernel_firewall_fate(const struct firewall *firewall,
	const struct firewall_chain *chain, uint8_t l4proto, const struct addr *to, uint16_t port)
{
	struct packet packet = { firewall, to, l4proto, port, false, false };
	enum firewall_verdict verdict;

	if (!strcmp(chain->family, to->ss.ss_family == AF_INET    ? "ip6"
				   : to->ss.ss_family == AF_INET6 ? "ip"
								  : ""))
		return FIREWALL_PASSES; /* the chain does not see it */
	verdict = walk(&packet, chain, 0);
	if (verdict == FIREWALL_NEXT)
		verdict = chain->drops ? FIREWALL_DROP : FIREWALL_ACCEPT;
	if (verdict == FIREWALL_DROP)
		return packet.may_pass ? FIREWALL_MAY_DROP : FIREWALL_DROPS;
	return packet.may_drop ? FIREWALL_MAY_DROP : FIREWALL_PASSES;
}
