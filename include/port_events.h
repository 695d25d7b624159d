/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's asynchronous events about the ports of an RDMA device: what looking at a port once a
 * second sees late, or, as client reregistration and a subnet manager restarted at the same LID,
 * not at all. Needs verbs; optional. */
#pragma once
#include "diag.h"
#include "loop.h"

enum {                        /* what has, or may have, changed at a port */
	PORT_EVENT_STATE = 1, /* active or no longer */
	PORT_EVENT_LID = 2,
	PORT_EVENT_SM = 4, /* its LID or service level */
	PORT_EVENT_PKEYS = 8,
	PORT_EVENT_REREGISTER = 16, /* the subnet manager has forgotten who subscribed */
	/* The device is gone: no event follows. Close port_events, mad_watch and mad. */
	PORT_EVENT_GONE = 32,
	PORT_EVENT_GID = 64, /* the prefix or GUID of GID 0 */
};

struct port_events;
/* `event` comes from the loop, port 0 meaning every port of the device; it may close. -ENODEV:
 * there is no such device, or verbs do not reach it; else -errno of opening it. */
int port_events_open(struct port_events **, struct loop *, const char *dev,
	void (*event)(void *arg, unsigned port, unsigned what), void *arg, struct diag *);
void port_events_close(struct port_events *);
