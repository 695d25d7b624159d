/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Query the kernel for the route to an address. */
#include "net_parse.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 1000

static const void *address_of(const struct addr *addr, int *len)
{
	*len = addr->ss.ss_family == AF_INET ? 4 : 16;
	return addr->ss.ss_family == AF_INET
		       ? (const void *)&((const struct sockaddr_in *)(const void *)&addr->ss)
				 ->sin_addr
		       : &((const struct sockaddr_in6 *)(const void *)&addr->ss)->sin6_addr;
}

static void get_addr(struct nlattr *attr, int family, char text[ADDR_TEXT])
{
	if (attr && nla_len(attr) >= (family == AF_INET ? 4 : 16))
		inet_ntop(family, nla_data(attr), text, ADDR_TEXT);
}

bool kernel_route_parse(void *message, size_t len, struct kernel_route *route)
{
	struct nlmsghdr *msg = message;
	struct nlattr *attrs[RTA_MAX + 1];
	const struct rtmsg *rt;

	*route = (struct kernel_route){ 0 };
	if (!nlmsg_ok(msg, (int)len) || msg->nlmsg_type != RTM_NEWROUTE ||
		nlmsg_parse(msg, sizeof(*rt), attrs, RTA_MAX, NULL))
		return false;
	rt = nlmsg_data(msg);
	route->local = rt->rtm_type == RTN_LOCAL;
	if (attrs[RTA_OIF] && nla_len(attrs[RTA_OIF]) >= 4) {
		char name[IF_NAMESIZE];

		if (if_indextoname(nla_get_u32(attrs[RTA_OIF]), name))
			strcpy(route->netdev, name);
	}
	get_addr(attrs[RTA_PREFSRC], rt->rtm_family, route->source);
	get_addr(attrs[RTA_GATEWAY], rt->rtm_family, route->gateway);
	return true;
}

static int unreachable(int err, struct diag *diag)
{
	if (err != ENETUNREACH && err != EHOSTUNREACH && err != EACCES && err != EINVAL)
		return diag_sys(diag, err, "route");
	diag_set(diag, DIAG_UNREACHABLE, err == EINVAL ? EHOSTUNREACH : err,
		err == EACCES || err == EINVAL ? "the route to it is prohibited or a black hole"
					       : "no route to it");
	return diag_hint(diag, "check the interfaces and routes: ip addr; ip route");
}

static int receive_answer(struct nl_sock *sock, struct kernel_route *route, struct diag *diag)
{
	struct sockaddr_nl from;
	unsigned char *answer = NULL;
	struct nlmsghdr *msg;
	int got = nl_recv(sock, &from, &answer, NULL), err = 0;

	if (got <= 0)
		return diag_sys(diag, EIO, "route");
	msg = (void *)answer;
	if (from.nl_pid || !nlmsg_ok(msg, got))
		err = diag_sys(diag, EPROTO, "route");
	else if (msg->nlmsg_type == NLMSG_ERROR &&
		 msg->nlmsg_len >= (uint32_t)nlmsg_size(sizeof(struct nlmsgerr)))
		err = unreachable(-((struct nlmsgerr *)nlmsg_data(msg))->error, diag);
	else if (!kernel_route_parse(answer, (size_t)got, route))
		err = diag_sys(diag, EPROTO, "route");
	free(answer);
	return err;
}

int kernel_route(const struct addr *to, struct kernel_route *route, struct diag *diag)
{
	const struct sockaddr_in6 *sin6 = (const void *)&to->ss;
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETROUTE, NLM_F_REQUEST);
	struct nl_sock *sock = nl_socket_alloc();
	struct rtmsg rt = { .rtm_family = (unsigned char)to->ss.ss_family };
	struct pollfd wait = { .events = POLLIN };
	const void *bytes;
	int len, err = 0;

	bytes = address_of(to, &len);
	rt.rtm_dst_len = (unsigned char)(8 * len);
	if (!msg || !sock || nlmsg_append(msg, &rt, sizeof(rt), NLMSG_ALIGNTO) ||
		nla_put(msg, RTA_DST, len, bytes) ||
		(len == 16 && sin6->sin6_scope_id &&
			nla_put_u32(msg, RTA_OIF, sin6->sin6_scope_id)))
		err = diag_sys(diag, ENOMEM, "route");
	else if (nl_connect(sock, NETLINK_ROUTE) || nl_socket_set_nonblocking(sock))
		err = diag_sys(diag, EPROTONOSUPPORT, "open rtnetlink");
	if (!err) {
		nl_socket_disable_auto_ack(sock);
		wait.fd = nl_socket_get_fd(sock);
		if (nl_send_auto(sock, msg) < 0 || poll(&wait, 1, ANSWER_MS) <= 0)
			err = diag_sys(diag, EIO, "route");
		else
			err = receive_answer(sock, route, diag);
	}
	nlmsg_free(msg);
	nl_socket_free(sock);
	return err;
}
