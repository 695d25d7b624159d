/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A device for management datagrams, implemented by port.c over libibumad. Tests link
 * tests/fake/mad_port.c instead. */
#pragma once
#include "mad.h"

struct mad_addr {           /* of a queue pair: 0, 1, or the target of a redirection */
	uint32_t qpn, qkey; /* qkey 0: that of queue pair 1 */
	uint16_t lid, pkey_index;
	uint8_t sl, path_bits; /* path_bits: of the own LID */
	bool grh;              /* by GID: routers, RoCE */
	uint8_t gid_index, gid[16];
};

struct mad_dev;
/* Get device and port of "umad0"; -ENOENT. */
int mad_dev_of_umad(const char *umad, char dev[MAD_DEV_LEN], unsigned *port);
/* RoCE: index of our GID that reaches the given one; -EADDRNOTAVAIL: none of its kind. */
int mad_dev_gid_index(const struct mad_port_info *, const uint8_t gid[16]);
int mad_dev_open(struct mad_dev **, const char *dev, unsigned port, struct diag *);
void mad_dev_close(struct mad_dev *);
int mad_dev_fd(const struct mad_dev *); /* readable when a datagram was received */
/* call before sending the first datagram of a class */
int mad_dev_register_class(struct mad_dev *, uint8_t mgmt_class, struct diag *);
/* Receive the requests of a class (Get, Set), and answer them. -EBUSY: another agent does. */
int mad_dev_serve(struct mad_dev *, uint8_t mgmt_class, struct diag *);
/* Start or stop receiving Reports of class SA. -EBUSY: another program receives them; the kernel
 * delivers them to one only. */
int mad_dev_reports(struct mad_dev *, bool on, struct diag *);
/* Read state, LID, subnet manager, GID 0, and the next `pkeys` entries of the partition table, in
 * turn. Updates *info and returns PORT_EVENT_* bits of what changed; -ENODEV: the port is gone. */
int mad_dev_poll(struct mad_dev *, struct mad_port_info *, unsigned pkeys);
/* 0 or -errno. timeout_ms: how long to accept an answer; 0: none expected. More than MAD_LEN bytes,
 * for class SA only, are sent in segments. */
int mad_dev_send(struct mad_dev *, const struct mad_addr *, const void *mad, size_t len,
	uint32_t timeout_ms);
/* Receive one reassembled datagram: returns its length, sets its place (valid until the next call)
 * and sender. 0: not a datagram. -EAGAIN: nothing received. -ENOSPC: longer than *room, which is
 * now its length; call again with that much. Other errors: the device is gone. */
ssize_t mad_dev_recv(struct mad_dev *, size_t *room, const uint8_t **mad, struct mad_addr *from);
