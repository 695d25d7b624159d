/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listeners to devices' events. */
#include "events.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_events fake_events;

struct port_events {
	struct port_events *next;
	char dev[64];
	bool notified, gone;
	void (*event)(void *arg, unsigned port, unsigned what);
	void *arg;
};
static struct port_events *listeners;

int port_events_open(struct port_events **out, struct loop *loop, const char *dev,
	void (*event)(void *arg, unsigned port, unsigned what), void *arg, struct diag *diag)
{
	struct port_events *events;

	(void)loop;
	if (fake_events.open_err)
		return diag_sys(diag, fake_events.open_err, "open it for its events");
	events = calloc(1, sizeof(*events));
	snprintf(events->dev, sizeof(events->dev), "%s", dev);
	events->event = event;
	events->arg = arg;
	events->notified = true; /* an event in progress is not for it */
	events->next = listeners;
	listeners = events;
	fake_events.open++;
	*out = events;
	return 0;
}

void port_events_close(struct port_events *events)
{
	for (struct port_events **at = &listeners; *at; at = &(*at)->next) {
		if (*at != events)
			continue;
		*at = events->next;
		fake_events.open--;
		break;
	}
	free(events);
}

static struct port_events *next_unseen(const char *dev)
{
	for (struct port_events *events = listeners; events; events = events->next)
		if (!events->notified && !events->gone && !strcmp(events->dev, dev))
			return events;
	return NULL;
}

/* Search from the start each time: a callback may close its listener and open others. */
void fake_event(const char *dev, unsigned port, unsigned what)
{
	for (struct port_events *events = listeners; events; events = events->next)
		events->notified = false;
	for (struct port_events *events; (events = next_unseen(dev));) {
		events->notified = true;
		events->gone = what & PORT_EVENT_GONE;
		events->event(events->arg, port, what);
	}
}
