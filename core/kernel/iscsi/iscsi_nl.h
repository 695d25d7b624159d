/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages of NETLINK_ISCSI as bytes, and the sockets they come over. */
#pragma once
#include "kernel_iscsi_nl.h"
#include <linux/netlink.h>
#include <stddef.h>

#define ISCSI_NL_HEAD (sizeof(struct nlmsghdr) + sizeof(struct iscsi_if_msg))
#define ISCSI_NL_MAX  (ISCSI_NL_HEAD + ISCSI_BHS + ISCSI_PDU_DATA + 4)

/* One that came: false: it is not to be handed on, as it is no event, or not whole. */
bool kernel_iscsi_nl_event(const uint8_t *bytes, size_t len, struct kernel_iscsi_event *);
/* The answer to a command, into the message. 0, or -errno as kernel_iscsi_command() says. */
int kernel_iscsi_nl_answer(
	const uint8_t *bytes, size_t len, enum iscsi_if_command, struct iscsi_if_msg *);

/* The real ones are in iscsi_socket.c. A socket for commands, or one that hears events; -errno. */
int kernel_iscsi_socket(bool events);
/* Sends and gives the answer, of at most ISCSI_NL_MAX bytes, in the place of what was sent: its
 * length, or -errno. */
ssize_t kernel_iscsi_socket_ask(int fd, uint8_t *bytes, size_t len);
/* The next event's bytes; 0: none is there, or it did not come from the kernel. -ENOBUFS: some were
 * lost; other -errno: the socket is dead. */
ssize_t kernel_iscsi_socket_take(int fd, uint8_t *bytes, size_t room);
