/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Devices' events as a test says them, instead of core/net/verbs_events.c. */
#pragma once
#include "port_events.h"

struct fake_events {
	int open_err;  /* errno of opening a listener; 0: succeeds */
	unsigned open; /* listeners */
};
extern struct fake_events fake_events;

/* To all who listen to the device, now; PORT_EVENT_GONE is the last they hear. */
void fake_event(const char *dev, unsigned port, unsigned what);
