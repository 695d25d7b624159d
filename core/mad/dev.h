/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A device for management datagrams: port.c over libibumad. Tests link tests/fake/mad_port.c
 * instead. */
#pragma once
#include "mad.h"

struct mad_dev;
/* Device and port of "umad0"; -ENOENT. */
int mad_dev_of_umad(const char *umad, char dev[MAD_DEV_LEN], unsigned *port);
/* RoCE: the index of the own GID from which the one given is reached; -EADDRNOTAVAIL: there is none
 * of its kind. */
int mad_dev_gid_index(const struct mad_port_info *, const uint8_t gid[16]);
int mad_dev_open(struct mad_dev **, const char *dev, unsigned port, struct diag *);
void mad_dev_close(struct mad_dev *);
int mad_dev_fd(const struct mad_dev *); /* readable when something has come */
/* before the first of a class is sent */
int mad_dev_class(struct mad_dev *, uint8_t mgmt_class, struct diag *);
/* Reports of class SA come to us from now on, or no longer. -EBUSY: another program has them; the
 * kernel gives them to one. */
int mad_dev_reports(struct mad_dev *, bool on, struct diag *);
/* Reads state, LID, subnet manager, GID 0, and the next so many entries of the partition table,
 * which it goes round. Gives PORT_EVENT_* bits of what differs from *info, which it changes;
 * -ENODEV: the port is gone. */
int mad_dev_look(struct mad_dev *, struct mad_port_info *, unsigned pkeys);
/* 0 or -errno. The answer is wanted for timeout_ms; 0: there is none. More than MAD_LEN bytes, of
 * class SA only, go in segments. */
int mad_dev_send(struct mad_dev *, const struct mad_addr *, const void *mad, size_t len,
	uint32_t timeout_ms);
/* One datagram, reassembled: its length, its place (valid until the next call) and sender. 0: not a
 * datagram. -EAGAIN: nothing received. -ENOSPC: longer than *room, which is now its length; call
 * again with that much. Anything else: the device is gone. */
ssize_t mad_dev_recv(struct mad_dev *, size_t *room, const uint8_t **mad, struct mad_addr *from);
