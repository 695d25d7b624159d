/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages of NETLINK_ISCSI in wire form, and their sockets. */
#pragma once
#include "kernel_iscsi_nl.h"
#include <linux/netlink.h>
#include <stddef.h>

#define ISCSI_NL_HEAD (sizeof(struct nlmsghdr) + sizeof(struct iscsi_if_msg))
#define ISCSI_NL_MAX  (ISCSI_NL_HEAD + ISCSI_BHS + ISCSI_PDU_DATA + 4)

/* Decode a received message. False: not an event, or incomplete. */
bool kernel_iscsi_nl_event(const uint8_t *bytes, size_t len, struct kernel_iscsi_event *);
/* Decode the answer to a command into the message. 0, or -errno as kernel_iscsi_command() returns
 * it. */
int kernel_iscsi_nl_answer(
	const uint8_t *bytes, size_t len, enum iscsi_if_command, struct iscsi_if_msg *);

/* Tests replace these functions of iscsi_socket.c. Open a socket for commands or one for events;
 * -errno. */
int kernel_iscsi_socket(bool events);
/* Send the command and replace it by the answer, of at most ISCSI_NL_MAX bytes. Returns its length
 * or -errno. */
ssize_t kernel_iscsi_socket_call(int fd, uint8_t *bytes, size_t len);
/* Read the next event; 0: none, or it is not from the kernel. -ENOBUFS: events were lost; other
 * -errno: the socket is dead. */
ssize_t kernel_iscsi_socket_read(int fd, uint8_t *bytes, size_t room);

struct kernel_iscsi_hook { /* receives the events of one session; embedded in its owner */
	uint32_t sid;
	/* may remove its own and any other hook */
	void (*event)(struct kernel_iscsi_hook *, const struct kernel_iscsi_event *);
	struct kernel_iscsi_hook *next;
};
void kernel_iscsi_hook(struct kernel_iscsi *, struct kernel_iscsi_hook *);
void kernel_iscsi_unhook(struct kernel_iscsi *, struct kernel_iscsi_hook *); /* may be unhooked */
