/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RDMA netlink (rdma/rdma_netlink.h), for what /sys does not tell of RDMA devices: who drives them,
 * the interfaces of iWARP, and over which of them the kernel's own connections go. Without answers
 * the list is as /sys has it. */
#include "grow.h"
#include "list.h"
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS 1000
#define ATTRS     (RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID + 1)
#define ROOM      65536 /* a dump's messages are of up to 32 KiB */

struct attrs {
	const struct nlattr *at[ATTRS];
};

/* enum rdma_driver_id (rdma/ib_user_ioctl_verbs.h), as the parts of rdma-core are called. */
static const char *const providers[] = { NULL, "mlx5", "mlx4", "cxgb3", "cxgb4", "mthca", "bnxt_re",
	"ocrdma", "nes", "irdma", "vmw_pvrdma", "qedr", "hns", "usnic", "rxe", "hfi1verbs",
	"ipathverbs", "efa", "siw", "erdma", "mana" };

static size_t payload(const struct nlattr *attr)
{
	return attr->nla_len - NLA_HDRLEN;
}

static const void *data(const struct nlattr *attr)
{
	return (const char *)attr + NLA_HDRLEN;
}

/* The next attribute; NULL: that was all. What does not fit ends it. */
static const struct nlattr *next(const char **at, const char *end)
{
	const struct nlattr *attr = (const void *)*at;
	size_t left = (size_t)(end - *at);

	if (left < NLA_HDRLEN || attr->nla_len < NLA_HDRLEN || attr->nla_len > left)
		return NULL;
	*at += (size_t)NLA_ALIGN(attr->nla_len) < left ? (size_t)NLA_ALIGN(attr->nla_len) : left;
	return attr;
}

static void read_attrs(struct attrs *attrs, const void *from, size_t len)
{
	const char *at = from, *end = at + len;
	const struct nlattr *attr;

	*attrs = (struct attrs){ 0 };
	while ((attr = next(&at, end)))
		if ((attr->nla_type & NLA_TYPE_MASK) < ATTRS)
			attrs->at[attr->nla_type & NLA_TYPE_MASK] = attr;
}

static bool get_text(const struct attrs *attrs, unsigned type, char *text, size_t len)
{
	const struct nlattr *attr = attrs->at[type];

	if (attr)
		snprintf(text, len, "%.*s", (int)payload(attr), (const char *)data(attr));
	return attr;
}

static bool get_u32(const struct attrs *attrs, unsigned type, uint32_t *value)
{
	const struct nlattr *attr = attrs->at[type];

	if (attr && payload(attr) >= sizeof(*value))
		memcpy(value, data(attr), sizeof(*value));
	return attr && payload(attr) >= sizeof(*value);
}

static bool get_addr(const struct attrs *attrs, unsigned type, struct addr *addr)
{
	const struct nlattr *attr = attrs->at[type];

	*addr = (struct addr){ 0 };
	if (!attr || payload(attr) < sizeof(struct sockaddr_in))
		return false;
	memcpy(&addr->ss, data(attr),
		payload(attr) < sizeof(addr->ss) ? payload(attr) : sizeof(addr->ss));
	addr->len = addr->ss.ss_family == AF_INET ? sizeof(struct sockaddr_in)
						  : sizeof(struct sockaddr_in6);
	return addr->ss.ss_family == AF_INET ||
	       (addr->ss.ss_family == AF_INET6 && payload(attr) >= sizeof(struct sockaddr_in6));
}

static void take_device(struct list_nl *nl, const struct attrs *attrs)
{
	if (nl->count == sizeof(nl->device) / sizeof(*nl->device) ||
		!get_u32(attrs, RDMA_NLDEV_ATTR_DEV_INDEX, &nl->device[nl->count].index) ||
		!get_text(attrs, RDMA_NLDEV_ATTR_DEV_NAME, nl->device[nl->count].name,
			sizeof(nl->device[0].name)))
		return;
	nl->count++;
}

static void take_port(struct list_nl *nl, const struct attrs *attrs)
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

static void take_driver(struct list_nl *nl, const struct attrs *attrs)
{
	uint32_t id;

	if (!nl->asked || !get_u32(attrs, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, &id) ||
		id >= sizeof(providers) / sizeof(*providers) || !providers[id])
		return;
	for (unsigned i = 0; i < nl->list->to->ports; i++)
		if (!strcmp(nl->list->to->port[i].dev, nl->asked))
			snprintf(nl->list->to->port[i].provider,
				sizeof(nl->list->to->port[i].provider), "%s", providers[id]);
}

static void take_cm_id(struct list_nl *nl, const char *dev, const struct attrs *attrs)
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

static void take_cm_ids(struct list_nl *nl, const struct attrs *attrs)
{
	const struct nlattr *table = attrs->at[RDMA_NLDEV_ATTR_RES_CM_ID], *entry;
	const char *at, *end;
	char dev[64];

	if (!table || !get_text(attrs, RDMA_NLDEV_ATTR_DEV_NAME, dev, sizeof(dev)))
		return;
	at = data(table);
	end = at + payload(table);
	while ((entry = next(&at, end))) {
		struct attrs one;

		read_attrs(&one, data(entry), payload(entry));
		take_cm_id(nl, dev, &one);
	}
}

static void take(struct list_nl *nl, const struct nlmsghdr *msg)
{
	struct attrs attrs;

	nl->ended |= msg->nlmsg_type == NLMSG_DONE || msg->nlmsg_type == NLMSG_ERROR ||
		     !(msg->nlmsg_flags & NLM_F_MULTI);
	if (RDMA_NL_GET_CLIENT(msg->nlmsg_type) != RDMA_NL_NLDEV)
		return;
	read_attrs(&attrs, NLMSG_DATA(msg), msg->nlmsg_len - NLMSG_HDRLEN);
	switch (RDMA_NL_GET_OP(msg->nlmsg_type)) {
	case RDMA_NLDEV_CMD_GET:
		take_device(nl, &attrs);
		break;
	case RDMA_NLDEV_CMD_PORT_GET:
		take_port(nl, &attrs);
		break;
	case RDMA_NLDEV_CMD_GET_CHARDEV:
		take_driver(nl, &attrs);
		break;
	case RDMA_NLDEV_CMD_RES_CM_ID_GET:
		take_cm_ids(nl, &attrs);
		break;
	}
}

void kernel_list_netlink_take(struct list_nl *nl, const void *messages, size_t len)
{
	const char *at = messages;
	size_t step;

	for (; len >= NLMSG_HDRLEN; at += step, len -= step) {
		const struct nlmsghdr *msg = (const void *)at;

		if (msg->nlmsg_len < NLMSG_HDRLEN || msg->nlmsg_len > len)
			return;
		take(nl, msg);
		step = NLMSG_ALIGN(msg->nlmsg_len) < len ? NLMSG_ALIGN(msg->nlmsg_len) : len;
	}
}

/* About one device, or all: device NULL. */
static void ask(struct list_nl *nl, int fd, uint16_t op, uint16_t flags, const uint32_t *device)
{
	struct {
		struct nlmsghdr head;
		struct nlattr index;
		uint32_t device;
		struct nlattr kind;
		char uverbs[8];
	} msg = { .head = { .nlmsg_len = NLMSG_HDRLEN,
			  .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op),
			  .nlmsg_flags = NLM_F_REQUEST | flags },
		.index = { NLA_HDRLEN + sizeof(uint32_t), RDMA_NLDEV_ATTR_DEV_INDEX },
		.device = device ? *device : 0,
		.kind = { NLA_HDRLEN + sizeof("uverbs"), RDMA_NLDEV_ATTR_CHARDEV_TYPE },
		.uverbs = "uverbs" };
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char *answer = malloc(ROOM);

	if (device)
		msg.head.nlmsg_len += NLA_HDRLEN + sizeof(msg.device);
	if (op == RDMA_NLDEV_CMD_GET_CHARDEV)
		msg.head.nlmsg_len += NLA_HDRLEN + sizeof(msg.uverbs);
	nl->ended = !answer || send(fd, &msg, msg.head.nlmsg_len, 0) < 0;
	while (!nl->ended && poll(&wait, 1, ANSWER_MS) > 0) {
		ssize_t got = recv(fd, answer, ROOM, MSG_DONTWAIT);

		if (got <= 0)
			break;
		kernel_list_netlink_take(nl, answer, (size_t)got);
	}
	free(answer);
}

void kernel_list_netlink(struct listing *list)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	struct list_nl nl = { .list = list };

	if (fd >= 0 && !connect(fd, (struct sockaddr *)&kernel, sizeof(kernel))) {
		ask(&nl, fd, RDMA_NLDEV_CMD_GET, NLM_F_DUMP, NULL);
		for (unsigned i = 0; i < nl.count; i++) {
			ask(&nl, fd, RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP, &nl.device[i].index);
			ask(&nl, fd, RDMA_NLDEV_CMD_RES_CM_ID_GET, NLM_F_DUMP, &nl.device[i].index);
			nl.asked = nl.device[i].name;
			ask(&nl, fd, RDMA_NLDEV_CMD_GET_CHARDEV, 0, &nl.device[i].index);
			nl.asked = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
}
