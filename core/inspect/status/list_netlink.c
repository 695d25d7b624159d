/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Query RDMA netlink (rdma/rdma_netlink.h) for what sysfs lacks: the driver of a device, the
 * interfaces of iWARP, and the devices of the kernel's own connections. Without answers the list
 * has only the data of sysfs. */
#include "grow.h"
#include "list.h"
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 1000
#define ATTRS     (RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID + 1)

/* enum rdma_driver_id (rdma/ib_user_ioctl_verbs.h), named like the providers of rdma-core. */
static const char *const providers[] = { NULL, "mlx5", "mlx4", "cxgb3", "cxgb4", "mthca", "bnxt_re",
	"ocrdma", "nes", "irdma", "vmw_pvrdma", "qedr", "hns", "usnic", "rxe", "hfi1verbs",
	"ipathverbs", "efa", "siw", "erdma", "mana" };

static bool get_text(struct nlattr *const *attrs, unsigned type, char *text, size_t len)
{
	if (attrs[type])
		nla_strlcpy(text, attrs[type], len);
	return attrs[type];
}

static bool get_u32(struct nlattr *const *attrs, unsigned type, uint32_t *value)
{
	return attrs[type] && nla_len(attrs[type]) >= (int)sizeof(*value) &&
	       nla_memcpy(value, attrs[type], sizeof(*value));
}

static bool get_addr(struct nlattr *const *attrs, unsigned type, struct addr *addr)
{
	const int len = attrs[type] ? nla_len(attrs[type]) : 0;

	*addr = (struct addr){ 0 };
	if (len < (int)sizeof(struct sockaddr_in))
		return false;
	nla_memcpy(&addr->ss, attrs[type], sizeof(addr->ss));
	addr->len = addr->ss.ss_family == AF_INET ? sizeof(struct sockaddr_in)
						  : sizeof(struct sockaddr_in6);
	return addr->ss.ss_family == AF_INET ||
	       (addr->ss.ss_family == AF_INET6 && len >= (int)sizeof(struct sockaddr_in6));
}

static void parse_device(struct list_nl *nl, struct nlattr *const *attrs)
{
	if (nl->count == sizeof(nl->device) / sizeof(*nl->device) ||
		!get_u32(attrs, RDMA_NLDEV_ATTR_DEV_INDEX, &nl->device[nl->count].index) ||
		!get_text(attrs, RDMA_NLDEV_ATTR_DEV_NAME, nl->device[nl->count].name,
			sizeof(nl->device[0].name)))
		return;
	nl->count++;
}

static void parse_port(struct list_nl *nl, struct nlattr *const *attrs)
{
	char dev[64], netdev[16];
	uint32_t number;

	if (!get_text(attrs, RDMA_NLDEV_ATTR_DEV_NAME, dev, sizeof(dev)) ||
		!get_u32(attrs, RDMA_NLDEV_ATTR_PORT_INDEX, &number) ||
		!get_text(attrs, RDMA_NLDEV_ATTR_NDEV_NAME, netdev, sizeof(netdev)))
		return;
	for (unsigned i = 0; i < nl->list->to->ports; i++) {
		struct list_port *port = &nl->list->to->port[i];

		if (!strcmp(port->dev, dev) && port->port == number && !port->netdev[0])
			snprintf(port->netdev, sizeof(port->netdev), "%s", netdev);
	}
}

static void parse_driver(struct list_nl *nl, struct nlattr *const *attrs)
{
	uint32_t id;

	if (!nl->queried_dev || !get_u32(attrs, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, &id) ||
		id >= sizeof(providers) / sizeof(*providers) || !providers[id])
		return;
	for (unsigned i = 0; i < nl->list->to->ports; i++)
		if (!strcmp(nl->list->to->port[i].dev, nl->queried_dev))
			snprintf(nl->list->to->port[i].provider,
				sizeof(nl->list->to->port[i].provider), "%s", providers[id]);
}

static void parse_cm_id(struct list_nl *nl, const char *dev, struct nlattr *const *attrs)
{
	struct list_cm cm = { 0 }, *more;
	uint32_t port;

	if (!get_text(attrs, RDMA_NLDEV_ATTR_RES_KERN_NAME, cm.owner, sizeof(cm.owner)) ||
		!get_u32(attrs, RDMA_NLDEV_ATTR_PORT_INDEX, &port) ||
		!get_addr(attrs, RDMA_NLDEV_ATTR_RES_SRC_ADDR, &cm.source) ||
		!get_addr(attrs, RDMA_NLDEV_ATTR_RES_DST_ADDR, &cm.peer))
		return;
	snprintf(cm.dev, sizeof(cm.dev), "%s", dev);
	cm.port = port;
	more = grow(nl->list->cm, nl->list->cms);
	nl->list->failed |= !more;
	if (more)
		*more = cm;
}

static void parse_cm_ids(struct list_nl *nl, struct nlattr *const *attrs)
{
	struct nlattr *table = attrs[RDMA_NLDEV_ATTR_RES_CM_ID], *entry, *one[ATTRS];
	char dev[64];
	int left;

	if (!table || !get_text(attrs, RDMA_NLDEV_ATTR_DEV_NAME, dev, sizeof(dev)))
		return;
	nla_for_each_nested(entry, table, left) if (!nla_parse_nested(one, ATTRS - 1, entry, NULL))
		parse_cm_id(nl, dev, one);
}

static void parse_message(struct list_nl *nl, struct nlmsghdr *msg)
{
	struct nlattr *attrs[ATTRS];

	nl->ended |= msg->nlmsg_type == NLMSG_DONE || msg->nlmsg_type == NLMSG_ERROR ||
		     !(msg->nlmsg_flags & NLM_F_MULTI);
	if (RDMA_NL_GET_CLIENT(msg->nlmsg_type) != RDMA_NL_NLDEV ||
		nlmsg_parse(msg, 0, attrs, ATTRS - 1, NULL))
		return;
	switch (RDMA_NL_GET_OP(msg->nlmsg_type)) {
	case RDMA_NLDEV_CMD_GET:
		parse_device(nl, attrs);
		break;
	case RDMA_NLDEV_CMD_PORT_GET:
		parse_port(nl, attrs);
		break;
	case RDMA_NLDEV_CMD_GET_CHARDEV:
		parse_driver(nl, attrs);
		break;
	case RDMA_NLDEV_CMD_RES_CM_ID_GET:
		parse_cm_ids(nl, attrs);
		break;
	}
}

void kernel_list_netlink_parse(struct list_nl *nl, void *messages, size_t len)
{
	struct nlmsghdr *msg = messages;

	for (int left = (int)len; left > 0 && nlmsg_ok(msg, left); msg = nlmsg_next(msg, &left))
		parse_message(nl, msg);
}

/* Query one device, or all: device NULL. */
static void query_devices(
	struct list_nl *nl, struct nl_sock *sock, int op, int flags, const uint32_t *device)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op), flags);
	struct pollfd wait = { .fd = nl_socket_get_fd(sock), .events = POLLIN };

	nl->ended = !msg || (device && nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, *device)) ||
		    (op == RDMA_NLDEV_CMD_GET_CHARDEV &&
			    nla_put_string(msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs")) ||
		    nl_send_auto(sock, msg) < 0;
	nlmsg_free(msg);
	while (!nl->ended && poll(&wait, 1, ANSWER_MS) > 0) {
		struct sockaddr_nl from;
		unsigned char *answer = NULL;
		int got = nl_recv(sock, &from, &answer, NULL);

		if (got <= 0)
			break;
		if (from.nl_pid) /* not from the kernel */
			nl->ended = true;
		else
			kernel_list_netlink_parse(nl, answer, (size_t)got);
		free(answer);
	}
}

void kernel_list_netlink(struct listing *list)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct list_nl nl = { .list = list };

	if (sock && !nl_connect(sock, NETLINK_RDMA) && !nl_socket_set_nonblocking(sock)) {
		nl_socket_disable_auto_ack(sock);
		query_devices(&nl, sock, RDMA_NLDEV_CMD_GET, NLM_F_DUMP, NULL);
		for (unsigned i = 0; i < nl.count; i++) {
			query_devices(&nl, sock, RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP,
				&nl.device[i].index);
			query_devices(&nl, sock, RDMA_NLDEV_CMD_RES_CM_ID_GET, NLM_F_DUMP,
				&nl.device[i].index);
			nl.queried_dev = nl.device[i].name;
			query_devices(
				&nl, sock, RDMA_NLDEV_CMD_GET_CHARDEV, 0, &nl.device[i].index);
			nl.queried_dev = NULL;
		}
	}
	nl_socket_free(sock);
}
