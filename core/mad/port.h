/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A MAD device that is open: port.c sends and receives, port_look.c looks at the port. */
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
	int reports;             /* agent of those; -1 = none */
	int dir;                 /* the port in sysfs */
	unsigned pkey_at;        /* the next one to look at */
	struct ib_user_mad *buf; /* header and datagram; grows with the tables that come */
	size_t room;             /* for the datagram */
};
