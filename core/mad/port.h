/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An open MAD device: port.c sends and receives, port_poll.c polls the port's state. */
#pragma once
#include "dev.h"

#define PORT_CLASSES 4

struct mad_dev {
	int fd;
	struct {
		uint8_t mgmt_class;
		int agent;
	} class[PORT_CLASSES];
	unsigned classes;
	int reports;             /* agent for Reports; -1 = none */
	int dir;                 /* the port's directory in sysfs */
	unsigned pkey_at;        /* the next entry to read */
	struct ib_user_mad *buf; /* header and datagram; grows with received tables */
	size_t room;             /* for the datagram, bytes */
};
