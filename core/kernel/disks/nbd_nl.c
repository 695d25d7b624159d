/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages of the kernel's nbd driver (linux/nbd-netlink.h), over libnl; nbd.c uses them. The
 * kernel executes a command during the send call, one at a time for all of generic netlink. So a
 * child process sends it. */
#include "nbd_nl.h"
#include "child.h"
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/nbd-netlink.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdint.h>
#include <sys/socket.h>

_Static_assert(KERNEL_NBD_CONNECTIONS + 1 <= CHILD_FDS, "the netlink socket goes along");

struct answer {
	int attr; /* the attribute to extract */
	int err;  /* -errno; 1 = no answer yet */
	int value;
};

/* The child has the sockets as descriptors after the netlink socket. */
static int put_sockets(struct nl_msg *msg, const struct kernel_nbd *nbd)
{
	struct nlattr *list = nla_nest_start(msg, NBD_ATTR_SOCKETS);

	for (unsigned i = 0; list && i < nbd->nfds; i++) {
		struct nlattr *item = nla_nest_start(msg, NBD_SOCK_ITEM);

		if (!item || nla_put_u32(msg, NBD_SOCK_FD, i + 1))
			return -ENOMEM;
		nla_nest_end(msg, item);
	}
	return list ? nla_nest_end(msg, list) : -ENOMEM;
}

static int put(struct nl_msg *msg, unsigned parts, const struct kernel_nbd *nbd)
{
	int err = nbd->index >= 0 ? nla_put_u32(msg, NBD_ATTR_INDEX, (uint32_t)nbd->index) : 0;

	if (!err && nbd->id)
		err = nla_put_string(msg, NBD_ATTR_BACKEND_IDENTIFIER, nbd->id);
	if (!err && parts & NBD_NL_SIZE) {
		err = nla_put_u64(msg, NBD_ATTR_SIZE_BYTES, nbd->size);
		if (!err)
			err = nla_put_u64(msg, NBD_ATTR_BLOCK_SIZE_BYTES, nbd->block);
	}
	if (!err && parts & NBD_NL_POLICY) {
		err = nla_put_u64(msg, NBD_ATTR_SERVER_FLAGS, nbd->flags);
		if (!err)
			err = nla_put_u64(msg, NBD_ATTR_TIMEOUT, nbd->timeout_s);
		if (!err)
			err = nla_put_u64(msg, NBD_ATTR_DEAD_CONN_TIMEOUT, nbd->dead_s);
	}
	if (!err && parts & NBD_NL_SOCKETS)
		err = put_sockets(msg, nbd);
	return err ? -ENOMEM : 0;
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct answer *answer = arg;
	struct nlattr *attr = nlmsg_find_attr(nlmsg_hdr(msg), GENL_HDRLEN, answer->attr);

	if (attr)
		answer->value = nla_len(attr) == sizeof(uint16_t) ? nla_get_u16(attr)
								  : (int)nla_get_u32(attr);
	return NL_OK;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	(void)msg;
	((struct answer *)arg)->err = 0;
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *arg)
{
	(void)from;
	((struct answer *)arg)->err = error->error;
	return NL_STOP;
}

static int send_message(int sock, const void *arg, void *out)
{
	const struct nlmsghdr *msg = arg;

	(void)out;
	return send(sock, msg, msg->nlmsg_len, 0) < 0 ? errno : 0;
}

/* Returns the value of that attribute in the answer; 0 if absent. */
static int exchange(struct nl_sock *sock, struct nl_msg *msg, const int *fds, unsigned count,
	uint32_t timeout_ms, int attr)
{
	struct answer answer = { .attr = attr, .err = 1 };
	struct child_call call = { .fn = send_message,
		.until = timeout_ms ? loop_clock() + timeout_ms * MSEC : 0 };
	int err;

	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_message, &answer);
	nl_socket_modify_cb(sock, NL_CB_ACK, NL_CB_CUSTOM, on_ack, &answer);
	nl_socket_modify_err_cb(sock, NL_CB_CUSTOM, on_error, &answer);
	nl_complete_msg(sock, msg);
	call.arg = nlmsg_hdr(msg);
	err = child_call_run(&call, fds, count);
	if (err)
		return err;
	while (answer.err > 0)
		if (nl_recvmsgs_default(sock) < 0 && answer.err > 0)
			return -EIO;
	return answer.err ? answer.err : answer.value;
}

static int find_family(struct nl_sock *sock, uint32_t timeout_ms)
{
	struct nl_msg *msg = nlmsg_alloc();
	int fd = nl_socket_get_fd(sock), family = -ENOMEM;

	if (msg &&
		genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, GENL_ID_CTRL, 0, 0, CTRL_CMD_GETFAMILY,
			1) &&
		!nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, NBD_GENL_FAMILY_NAME))
		family = exchange(sock, msg, &fd, 1, timeout_ms, CTRL_ATTR_FAMILY_ID);
	nlmsg_free(msg);
	return family == -ENOENT || !family ? -ENOTSUP : family;
}

int kernel_nbd_nl_call(uint8_t cmd, unsigned parts, const struct kernel_nbd *nbd)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc();
	unsigned count = parts & NBD_NL_SOCKETS ? nbd->nfds : 0;
	int fds[1 + KERNEL_NBD_CONNECTIONS], err = -ENOMEM;

	if (!sock || !msg)
		goto out;
	err = -ENOTSUP;
	if (genl_connect(sock))
		goto out;
	err = find_family(sock, nbd->timeout_ms);
	if (err < 0)
		goto out;
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, err, 0, 0, cmd, NBD_GENL_VERSION) ||
		put(msg, parts, nbd)) {
		err = -ENOMEM;
		goto out;
	}
	fds[0] = nl_socket_get_fd(sock);
	for (unsigned i = 0; i < count; i++)
		fds[1 + i] = nbd->fds[i];
	err = exchange(sock, msg, fds, 1 + count, nbd->timeout_ms, NBD_ATTR_INDEX);
out:
	nlmsg_free(msg);
	nl_socket_free(sock);
	return err;
}
