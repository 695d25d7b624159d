/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sockets of ibsim, as of 0.10: unix datagrams in the abstract name space. A client binds
 * BASE:ctlID and BASE:inID, talks to BASE:ctl, and after SIM_CONNECT to BASE:outN, N being the
 * number it was given. */
#pragma once
#include <stdint.h>

#define SIM_BASE  "sim"
#define SIM_MAGIC 0xdeadbeef

enum sim_ctl_type { /* each is answered with itself, or with SIM_ERROR */
	SIM_ERROR,
	SIM_CONNECT, /* struct sim_client */
	SIM_DISCONNECT,
	SIM_GET_PORT,
	SIM_GET_VENDOR,
	SIM_GET_GID,
	SIM_GET_GUID,
	SIM_GET_NODEINFO, /* in: nothing */
	SIM_GET_PORTINFO, /* in: one byte, the port; 0 = that of the client */
	SIM_SET_ISSM,     /* an int */
	SIM_GET_PKEYS,    /* 32 of 16 bits, network order */
};

struct sim_ctl {
	uint32_t magic, client, type, len;
	uint8_t data[64];
};

struct sim_client {
	uint32_t id;  /* in: ID of the sockets; out: number of the client */
	uint32_t qpn; /* > 1: requests to this queue pair of the port come here */
	/* requests to queue pairs 0 and 1 of the port come here; one client a node */
	uint32_t issm;
	char node[32];
};

struct sim_packet { /* all in network order */
	uint32_t dlid, slid, dqp, sqp, status /* not 0: returned, there is no receiver */;
	uint64_t length;
	uint8_t mad[256];
};
