/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages of nf_tables and rtnetlink, laid out as the kernel does, and damaged ones. What nft
 * makes of rules is tested in tests/cli/doctor-firewall.sh. */
#include "net_parse.h"
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

static struct nl_msg *message(int kind)
{
	struct nl_msg *msg = nlmsg_alloc_simple(NFNL_SUBSYS_NFTABLES << 8 | kind, NLM_F_MULTI);
	struct nfgenmsg head = { .nfgen_family = NFPROTO_INET };

	cr_assert_not_null(msg);
	cr_assert_eq(nlmsg_append(msg, &head, sizeof(head), NLMSG_ALIGNTO), 0);
	return msg;
}

static void add_be32(struct nl_msg *msg, int type, uint32_t value)
{
	nla_put_u32(msg, type, htonl(value));
}

static struct nl_msg *chain(bool drops)
{
	struct nl_msg *msg = message(NFT_MSG_NEWCHAIN);
	struct nlattr *hook;

	nla_put_string(msg, NFTA_CHAIN_TABLE, "f");
	nla_put_string(msg, NFTA_CHAIN_NAME, "o");
	nla_put_string(msg, NFTA_CHAIN_TYPE, "filter");
	add_be32(msg, NFTA_CHAIN_POLICY, drops ? NF_DROP : NF_ACCEPT);
	hook = nla_nest_start(msg, NFTA_CHAIN_HOOK);
	add_be32(msg, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
	nla_nest_end(msg, hook);
	return msg;
}

static struct nlattr *open_expression(struct nl_msg *msg, struct nlattr *nests[2], const char *name)
{
	nests[0] = nla_nest_start(msg, NFTA_LIST_ELEM);
	nla_put_string(msg, NFTA_EXPR_NAME, name);
	nests[1] = nla_nest_start(msg, NFTA_EXPR_DATA);
	return nests[1];
}

static void close_expression(struct nl_msg *msg, struct nlattr *nests[2])
{
	nla_nest_end(msg, nests[1]);
	nla_nest_end(msg, nests[0]);
}

/* "dport PORT VERDICT" */
static struct nl_msg *rule(uint16_t port, uint32_t verdict)
{
	struct nl_msg *msg = message(NFT_MSG_NEWRULE);
	struct nlattr *list, *nests[2], *data, *code;
	uint16_t value = htons(port);

	nla_put_string(msg, NFTA_RULE_TABLE, "f");
	nla_put_string(msg, NFTA_RULE_CHAIN, "o");
	list = nla_nest_start(msg, NFTA_RULE_EXPRESSIONS);
	open_expression(msg, nests, "payload");
	add_be32(msg, NFTA_PAYLOAD_DREG, 1);
	add_be32(msg, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER);
	add_be32(msg, NFTA_PAYLOAD_OFFSET, 2);
	add_be32(msg, NFTA_PAYLOAD_LEN, 2);
	close_expression(msg, nests);
	open_expression(msg, nests, "cmp");
	add_be32(msg, NFTA_CMP_SREG, 1);
	add_be32(msg, NFTA_CMP_OP, NFT_CMP_EQ);
	data = nla_nest_start(msg, NFTA_CMP_DATA);
	nla_put(msg, NFTA_DATA_VALUE, 2, &value);
	nla_nest_end(msg, data);
	close_expression(msg, nests);
	open_expression(msg, nests, "immediate");
	add_be32(msg, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = nla_nest_start(msg, NFTA_IMMEDIATE_DATA);
	code = nla_nest_start(msg, NFTA_DATA_VERDICT);
	add_be32(msg, NFTA_VERDICT_CODE, verdict);
	nla_nest_end(msg, code);
	nla_nest_end(msg, data);
	close_expression(msg, nests);
	nla_nest_end(msg, list);
	return msg;
}

/* The kernel's messages follow each other. */
static size_t add(char *bytes, struct nl_msg *msg)
{
	const struct nlmsghdr *head = nlmsg_hdr(msg);
	size_t len = NLMSG_ALIGN(head->nlmsg_len);

	memcpy(bytes, head, head->nlmsg_len);
	nlmsg_free(msg);
	return len;
}

static enum firewall_fate fate(const struct firewall *firewall, uint16_t port)
{
	struct addr to;

	cr_assert_eq(addr_numeric(&to, "10.0.0.1", port, NULL), 0);
	return kernel_firewall_fate(firewall, &firewall->chain[0], IPPROTO_TCP, &to, port);
}

Test(firewall, one_rule)
{
	_Alignas(8) char bytes[2048] = { 0 };
	struct firewall firewall = { 0 };
	size_t len = add(bytes, chain(true));

	len += add(bytes + len, rule(4420, NF_ACCEPT));
	kernel_firewall_parse(&firewall, bytes, len);
	cr_assert_eq(firewall.chains, 1);
	cr_assert(firewall.chain[0].output && firewall.chain[0].drops);
	cr_assert_eq(fate(&firewall, 4420), FIREWALL_PASSES);
	cr_assert_eq(fate(&firewall, 4421), FIREWALL_DROPS);
	kernel_firewall_free(&firewall);
	len = add(bytes, chain(false));
	len += add(bytes + len, rule(4420, NF_DROP));
	kernel_firewall_parse(&firewall, bytes, len);
	cr_assert_eq(fate(&firewall, 4420), FIREWALL_DROPS);
	cr_assert_eq(fate(&firewall, 4421), FIREWALL_PASSES);
	kernel_firewall_free(&firewall);
}

/* A chain that jumps to itself, as the kernel would not have it. */
Test(firewall, chains_without_end)
{
	struct firewall_rule jump = { .verdict = FIREWALL_JUMP, .certain = true, .v4 = true };
	struct firewall_chain own = { .family = "inet",
		.table = "f",
		.name = "o",
		.output = true,
		.rule = &jump,
		.rules = 1 };
	struct firewall firewall = { .chain = &own, .chains = 1 };

	strcpy(jump.to, "o");
	cr_assert_eq(fate(&firewall, 4420), FIREWALL_MAY_DROP);
	strcpy(jump.to, "none");
	cr_assert_eq(fate(&firewall, 4420), FIREWALL_MAY_DROP);
}

Test(firewall, damaged_messages)
{
	_Alignas(8) char whole[2048] = { 0 };
	size_t len = add(whole, chain(true));

	len += add(whole + len, rule(4420, NF_ACCEPT));
	for (size_t at = 0; at < len; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			char *bytes = malloc(len); /* so that a read beyond it is seen */
			struct firewall firewall = { 0 };

			memcpy(bytes, whole, len);
			bytes[at] ^= (char)(1 << bit);
			kernel_firewall_parse(&firewall, bytes, len);
			for (unsigned i = 0; i < firewall.chains; i++)
				fate(&firewall, 4420);
			kernel_firewall_free(&firewall);
			free(bytes);
		}
}

/* ---- Routes. */

static struct nl_msg *route(uint8_t type)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWROUTE, 0);
	struct rtmsg rt = { .rtm_family = AF_INET, .rtm_dst_len = 32, .rtm_type = type };
	const uint8_t source[] = { 10, 0, 0, 2 }, gateway[] = { 10, 0, 0, 254 };

	cr_assert_eq(nlmsg_append(msg, &rt, sizeof(rt), NLMSG_ALIGNTO), 0);
	nla_put_u32(msg, RTA_OIF, if_nametoindex("lo"));
	nla_put(msg, RTA_PREFSRC, 4, source);
	nla_put(msg, RTA_GATEWAY, 4, gateway);
	return msg;
}

Test(route, one)
{
	_Alignas(8) char bytes[512] = { 0 };
	struct kernel_route got;
	size_t len = add(bytes, route(RTN_UNICAST));

	cr_assert(kernel_route_parse(bytes, len, &got));
	cr_assert_str_eq(got.netdev, "lo");
	cr_assert_str_eq(got.source, "10.0.0.2");
	cr_assert_str_eq(got.gateway, "10.0.0.254");
	cr_assert(!got.local);
	len = add(bytes, route(RTN_LOCAL));
	cr_assert(kernel_route_parse(bytes, len, &got) && got.local);
	for (size_t at = 0; at < len; at++) {
		char *bad = malloc(len);

		memcpy(bad, bytes, len);
		bad[at] ^= 0x5a;
		kernel_route_parse(bad, len, &got);
		kernel_route_parse(bad, at, &got);
		free(bad);
	}
}

Test(route, of_this_machine)
{
	struct kernel_route got;
	struct diag diag = { 0 };
	struct addr to;

	cr_assert_eq(addr_numeric(&to, "127.0.0.1", 1, NULL), 0);
	cr_assert_eq(kernel_route(&to, &got, &diag), 0, "%s", diag.text);
	cr_assert_str_eq(got.netdev, "lo");
	cr_assert(got.local);
}
