/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asynchronous events of the kernel about the ports of an RDMA device. They report at once what
 * polling finds up to a second later, and what it can't find: client reregistration, and a subnet
 * manager restarted at the same LID. Needs verbs; optional. */
#pragma once
#include "loop.h"

enum {                        /* what may have changed at a port, as bits */
	PORT_EVENT_STATE = 1, /* active or not */
	PORT_EVENT_LID = 2,
	PORT_EVENT_SM = 4, /* LID or service level of the subnet manager */
	PORT_EVENT_PKEYS = 8,
	PORT_EVENT_REREGISTER = 16, /* the subnet manager lost all subscriptions */
	/* The device was removed; no event follows. Close port_events, mad_watch and mad. */
	PORT_EVENT_GONE = 32,
	PORT_EVENT_GID = 64, /* prefix or GUID of GID 0 */
};

struct port_events;
/* Open the events of a device. event() is called from the loop with PORT_EVENT_* bits; port 0 means
 * all ports. It may call port_events_close(). Returns 0; -ENODEV: no such device, or verbs do not
 * support it; or another -errno. */
int port_events_open(struct port_events **, struct loop *, const char *dev,
	void (*event)(void *arg, unsigned port, unsigned what), void *arg, struct diag *);
void port_events_close(struct port_events *);
