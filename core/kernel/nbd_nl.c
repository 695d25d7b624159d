/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The messages of the kernel's nbd driver (linux/nbd-netlink.h), over libnl. What they are for is nbd.c's. */
#include "nbd_nl.h"
#include <errno.h>
#include <linux/nbd-netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

struct answer {
	int err; /* -errno, 1 = none yet */
	int index;
};

static int put_sockets(struct nl_msg *msg, const struct kernel_nbd *nbd)
{
	struct nlattr *list = nla_nest_start(msg, NBD_ATTR_SOCKETS);

	for (unsigned i = 0; list && i < nbd->nfds; i++) {
		struct nlattr *item = nla_nest_start(msg, NBD_SOCK_ITEM);

		if (!item || nla_put_u32(msg, NBD_SOCK_FD, (uint32_t)nbd->fds[i]))
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
	struct nlattr *attr[NBD_ATTR_MAX + 1];

	if (!genlmsg_parse(nlmsg_hdr(msg), 0, attr, NBD_ATTR_MAX, NULL) && attr[NBD_ATTR_INDEX])
		answer->index = (int)nla_get_u32(attr[NBD_ATTR_INDEX]);
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

static int exchange(struct nl_sock *sock, struct nl_msg *msg, struct answer *answer)
{
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_message, answer);
	nl_socket_modify_cb(sock, NL_CB_ACK, NL_CB_CUSTOM, on_ack, answer);
	nl_socket_modify_err_cb(sock, NL_CB_CUSTOM, on_error, answer);
	if (nl_send_auto(sock, msg) < 0)
		return -EIO;
	while (answer->err > 0)
		if (nl_recvmsgs_default(sock) < 0 && answer->err > 0)
			return -EIO;
	return answer->err;
}

int nbd_nl_call(uint8_t cmd, unsigned parts, const struct kernel_nbd *nbd)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc();
	struct answer answer = { .err = 1 };
	int family, err = -ENOMEM;

	if (!sock || !msg)
		goto out;
	err = -ENOTSUP;
	if (genl_connect(sock))
		goto out;
	family = genl_ctrl_resolve(sock, NBD_GENL_FAMILY_NAME);
	if (family < 0)
		goto out;
	err = -ENOMEM;
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, 0, cmd, NBD_GENL_VERSION) || put(msg, parts, nbd))
		goto out;
	err = exchange(sock, msg, &answer);
out:
	nlmsg_free(msg);
	nl_socket_free(sock);
	return err ? err : answer.index;
}
