/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages of the family "handshake", and of the one that finds families. */
#pragma once
#include "kernel_handshake.h"

#define HANDSHAKE_NL_COMMAND 128 /* room for a command */
#define HANDSHAKE_NL_GROUPS  32  /* whose members /proc/net/netlink shows */

struct handshake_nl {
	uint16_t family;
	uint32_t group; /* of READY, from 1 */
};
/* Build a command; they return its length. */
size_t handshake_nl_find(uint8_t *to, uint32_t seq);
size_t handshake_nl_accept(uint8_t *to, uint16_t family, uint32_t seq);
size_t handshake_nl_done(uint8_t *to, uint16_t family, uint32_t seq, int fd, int err, int32_t key);

/* Read the answer to the command `seq`: 0, or the kernel's -errno. -EINPROGRESS: it is another
 * message. -EPROTO: malformed. */
int handshake_nl_found(const uint8_t *, size_t len, uint32_t seq, struct handshake_nl *);
int handshake_nl_accepted(const uint8_t *, size_t len, uint32_t seq, struct kernel_handshake *);
int handshake_nl_acked(const uint8_t *, size_t len, uint32_t seq);
/* Whether a socket of /proc/net/netlink is in the group. */
bool handshake_nl_has_member(const char *proc_net_netlink, uint32_t group);
