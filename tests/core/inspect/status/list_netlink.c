/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Answers of the RDMA netlink, laid out as the kernel does (Linux 6.12,
 * drivers/infiniband/core/nldev.c), and damaged ones. */
/* Link: nl_connect nl_socket_set_nonblocking nl_send_auto nl_recv poll */
#include "list.h"
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/netlink.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct answer {
	_Alignas(8) char bytes[1024];
	size_t len;
};

static size_t open_message(struct answer *a, uint16_t type, uint16_t flags)
{
	struct nlmsghdr head = { .nlmsg_type = type, .nlmsg_flags = flags };
	size_t at = a->len;

	memcpy(a->bytes + at, &head, sizeof(head));
	a->len += NLMSG_HDRLEN;
	return at;
}

static void close_message(struct answer *a, size_t at)
{
	uint32_t len = (uint32_t)(a->len - at);

	memcpy(a->bytes + at, &len, sizeof(len));
}

static size_t put(struct answer *a, uint16_t type, const void *data, size_t len)
{
	struct nlattr attr = { .nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type };
	size_t at = a->len;

	memcpy(a->bytes + at, &attr, sizeof(attr));
	if (len)
		memcpy(a->bytes + at + NLA_HDRLEN, data, len);
	a->len += NLA_ALIGN(NLA_HDRLEN + len);
	return at;
}

static void put_u32(struct answer *a, uint16_t type, uint32_t value)
{
	put(a, type, &value, sizeof(value));
}

static void put_text(struct answer *a, uint16_t type, const char *text)
{
	put(a, type, text, strlen(text) + 1);
}

static void close_nest(struct answer *a, size_t at)
{
	uint16_t len = (uint16_t)(a->len - at);

	memcpy(a->bytes + at, &len, sizeof(len));
}

static void put_address(struct answer *a, uint16_t type, const char *text, uint16_t port)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	cr_assert_eq(inet_pton(AF_INET, text, &in->sin_addr), 1);
	put(a, type, &ss, sizeof(ss));
}

static void put_cm(struct answer *a, const char *owner, const char *peer)
{
	size_t entry = put(a, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY | NLA_F_NESTED, NULL, 0);

	put_u32(a, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	put_address(a, RDMA_NLDEV_ATTR_RES_SRC_ADDR, "10.0.0.9", 33000);
	put_address(a, RDMA_NLDEV_ATTR_RES_DST_ADDR, peer, 4420);
	if (owner)
		put_text(a, RDMA_NLDEV_ATTR_RES_KERN_NAME, owner);
	else
		put_u32(a, RDMA_NLDEV_ATTR_RES_PID, 7);
	close_nest(a, entry);
}

static struct answer cm_ids(const char *dev)
{
	struct answer a = { 0 };
	size_t msg = open_message(&a, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_CM_ID_GET),
		       NLM_F_MULTI),
	       table;

	put_u32(&a, RDMA_NLDEV_ATTR_DEV_INDEX, 3);
	put_text(&a, RDMA_NLDEV_ATTR_DEV_NAME, dev);
	table = put(&a, RDMA_NLDEV_ATTR_RES_CM_ID | NLA_F_NESTED, NULL, 0);
	put_cm(&a, "nvme_rdma", "10.0.0.1");
	put_cm(&a, NULL, "10.0.0.2");
	put_cm(&a, "rpcrdma", "10.0.0.3");
	close_nest(&a, table);
	close_message(&a, msg);
	return a;
}

/* A socket to which a foreign process never stops sending. */
static unsigned received;

int __wrap_nl_connect(struct nl_sock *, int);
int __wrap_nl_socket_set_nonblocking(const struct nl_sock *);
int __wrap_nl_send_auto(struct nl_sock *, struct nl_msg *);
int __wrap_nl_recv(struct nl_sock *, struct sockaddr_nl *, unsigned char **, struct ucred **);
int __wrap_poll(struct pollfd *, nfds_t, int);

int __wrap_nl_connect(struct nl_sock *sock, int protocol)
{
	(void)sock;
	(void)protocol;
	return 0;
}

int __wrap_nl_socket_set_nonblocking(const struct nl_sock *sock)
{
	(void)sock;
	return 0;
}

int __wrap_nl_send_auto(struct nl_sock *sock, struct nl_msg *msg)
{
	(void)sock;
	(void)msg;
	return 1;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int ms)
{
	(void)fds;
	(void)count;
	(void)ms;
	return 1;
}

int __wrap_nl_recv(
	struct nl_sock *sock, struct sockaddr_nl *from, unsigned char **to, struct ucred **who)
{
	const struct answer a = cm_ids("rxe0");

	(void)sock;
	(void)who;
	cr_assert_lt(received, 100, "the wait does not end");
	received++;
	*from = (struct sockaddr_nl){ .nl_family = AF_NETLINK, .nl_pid = 7 };
	*to = malloc(a.len);
	cr_assert(*to);
	memcpy(*to, a.bytes, a.len);
	return (int)a.len;
}

Test(kernel_list_netlink, foreign_senders)
{
	struct kernel_list to = { 0 };
	struct listing list = { .to = &to };

	kernel_list_netlink(&list);
	cr_assert_eq(received, 1, "%u", received);
	cr_assert_eq(list.cms, 0);
}

static struct kernel_list one_port(void)
{
	struct kernel_list list = { .port = calloc(1, sizeof(struct list_port)), .ports = 1 };

	strcpy(list.port->dev, "siw0");
	list.port->port = 1;
	return list;
}

Test(kernel_list_netlink, connections_of_the_kernel)
{
	struct kernel_list to = { 0 };
	struct listing list = { .to = &to };
	struct list_nl nl = { .list = &list };
	struct list_link link = kernel_list_link_new("nvme0", "nvme", "rdma");
	struct answer a = cm_ids("rxe0");

	kernel_list_netlink_parse(&nl, a.bytes, a.len);
	cr_assert_eq(list.cms, 2, "not those of processes");
	cr_assert_not(nl.ended, "there is more to come");
	strcpy(link.address, "10.0.0.1");
	kernel_list_find_device(&list, "nvme_rdma", &link);
	cr_assert_str_eq(link.rdma_dev, "rxe0");
	cr_assert_eq(link.rdma_port, 1);
	cr_assert_str_eq(link.source, "10.0.0.9");
	strcpy(link.address, "10.0.0.3");
	link.rdma_dev[0] = 0;
	kernel_list_find_device(&list, "nvme_rdma", &link);
	cr_assert_str_eq(link.rdma_dev, "", "that is NFS's");
	a = cm_ids("rxe1");
	kernel_list_netlink_parse(&nl, a.bytes, a.len);
	strcpy(link.address, "10.0.0.1");
	kernel_list_find_device(&list, "nvme_rdma", &link);
	cr_assert_str_eq(link.rdma_dev, "", "over both: which one it is, is not known");
	free(list.cm);
}

Test(kernel_list_netlink, interface_driver_and_end)
{
	struct kernel_list to = one_port();
	struct listing list = { .to = &to };
	struct list_nl nl = { .list = &list };
	struct answer a = { 0 };
	size_t msg =
		open_message(&a, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), NLM_F_MULTI);

	put_u32(&a, RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	put_text(&a, RDMA_NLDEV_ATTR_DEV_NAME, "siw0");
	close_message(&a, msg);
	msg = open_message(
		&a, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET), NLM_F_MULTI);
	put_text(&a, RDMA_NLDEV_ATTR_DEV_NAME, "siw0");
	put_u32(&a, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	put_text(&a, RDMA_NLDEV_ATTR_NDEV_NAME, "eth0");
	close_message(&a, msg);
	close_message(&a, open_message(&a, NLMSG_DONE, NLM_F_MULTI));
	kernel_list_netlink_parse(&nl, a.bytes, a.len);
	cr_assert_eq(nl.count, 1);
	cr_assert_eq(nl.device[0].index, 5);
	cr_assert_str_eq(to.port->netdev, "eth0");
	cr_assert(nl.ended);

	a = (struct answer){ 0 };
	nl.ended = false;
	nl.queried_dev = "siw0";
	msg = open_message(&a, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET_CHARDEV), 0);
	put_u32(&a, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, 18); /* RDMA_DRIVER_SIW */
	close_message(&a, msg);
	kernel_list_netlink_parse(&nl, a.bytes, a.len);
	cr_assert_str_eq(to.port->provider, "siw");
	cr_assert(nl.ended, "one answer is all");
	kernel_list_clear(&to);
}

/* Before memory that can't be read: libnl is not built with sanitizers. */
static void take_guarded(struct list_nl *nl, const void *bytes, size_t len)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *map = mmap(
		     NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *at = map + page - NLMSG_ALIGN(len);

	cr_assert_neq(map, MAP_FAILED);
	cr_assert_eq(mprotect(map + page, page, PROT_NONE), 0);
	memcpy(at, bytes, len);
	kernel_list_netlink_parse(nl, at, len);
	munmap(map, 2 * page);
}

Test(kernel_list_netlink, a_message_of_others_with_an_odd_end)
{
	struct listing list = { .to = &(struct kernel_list){ 0 } };
	struct list_nl nl = { .list = &list };
	struct nlmsghdr head = { .nlmsg_len = NLMSG_HDRLEN + 1, .nlmsg_type = NLMSG_ERROR };
	char bytes[NLMSG_HDRLEN + 1] = { 0 };

	memcpy(bytes, &head, sizeof(head));
	take_guarded(&nl, bytes, head.nlmsg_len);
	cr_assert(nl.ended);
}

/* Cut anywhere, and with any one length wrong: nothing outside is read. */
Test(kernel_list_netlink, damaged)
{
	const struct answer whole = cm_ids("rxe0");

	for (size_t len = 0; len <= whole.len; len++) {
		for (unsigned value = 0; value < 256; value += 51) {
			struct kernel_list to = { 0 };
			struct listing list = { .to = &to };
			struct list_nl nl = { .list = &list };
			struct answer wrong = whole;

			if (len < whole.len)
				wrong.bytes[len] = (char)value;
			take_guarded(&nl, wrong.bytes, whole.len);
			take_guarded(&nl, whole.bytes, len);
			cr_assert_leq(list.cms, 4);
			free(list.cm);
		}
	}
}
