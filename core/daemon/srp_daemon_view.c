/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The state of the SRP daemon. */
#include "srp_daemon_port.h"
#include <stdio.h>

struct counts {
	unsigned state[SRP_FAILED + 1];
};

static void count(const struct srp_port *port, struct counts *counts)
{
	for (unsigned i = 0; i < SRP_BUCKETS; i++)
		for (const struct srp_known *known = port->known[i]; known; known = known->next)
			counts->state[known->state]++;
}

static const char *unusable(uint8_t state)
{
	switch (state) {
	case PORT_DOWN:
		return "down";
	case PORT_INIT:
		return "init";
	case PORT_ARMED:
		return "armed";
	default:
		return "no-lid";
	}
}

static void port_state(const struct srp_port *port, const char **word, const char **text)
{
	*text = NULL;
	if (port->skipped) {
		*word = "not-infiniband";
		*text = "skipped: not an InfiniBand port";
	} else if (!port->listed) {
		*word = "gone";
	} else if (port->closing) {
		*word = "closing";
	} else if (!port->mad && !port->open_tries) {
		*word = "starting";
	} else if (!port->mad) {
		*word = port->busy_elsewhere ? "busy" : "waiting";
		*text = port->busy_elsewhere ? "waiting: another process serves this port"
					     : "waiting: its MAD device can't be opened";
	} else if (mad_port_usable(mad_port(port->mad), NULL)) {
		*word = unusable(mad_port(port->mad)->state);
		*text = mad_state_why(mad_port(port->mad)->state);
	} else {
		*word = "serving";
	}
	if (!*text)
		*text = *word;
}

static void view_port(const struct srp_port *port, struct srp_port_view *view)
{
	struct counts counts = { 0 };

	count(port, &counts);
	*view = (struct srp_port_view){
		.port = &port->info,
		.subscribed = port->subscribed,
		.scanning = srp_daemon_ask_busy(port),
		.connected = counts.state[SRP_UP],
		.waiting = counts.state[SRP_WAITING] + counts.state[SRP_BUSY] +
			   counts.state[SRP_FOUND],
		.failed = counts.state[SRP_FAILED],
		.denied = counts.state[SRP_DENIED],
		.scans = port->scans,
		.notices = port->notices,
		.logins = port->logins,
		.scanned_ms =
			port->scanned_ns ? (loop_clock() - port->scanned_ns) / MSEC : UINT64_MAX,
	};
	port_state(port, &view->state, &view->text);
}

static void view_target(const struct srp_known *known, struct srp_target_view *view)
{
	static const char *const states[] = {
		[SRP_DENIED] = "denied",
		[SRP_FOUND] = "found",
		[SRP_WAITING] = "waiting",
		[SRP_BUSY] = "connecting",
		[SRP_UP] = "connected",
		[SRP_FAILED] = "failed",
	};
	uint64_t now = loop_clock();
	bool up = known->state == SRP_UP,
	     waits = known->state == SRP_FAILED || known->state == SRP_WAITING;

	*view = (struct srp_target_view){
		.srp = &known->srp,
		.state = states[known->state],
		.host = up ? known->host : "",
		.why = known->state == SRP_FAILED ? known->why : "",
		.why_code = known->why_code,
		.why_err = known->state == SRP_FAILED ? known->why_err : 0,
		.tries = known->tries,
		.next_ms = !waits                ? UINT64_MAX
			   : known->due_ns > now ? (known->due_ns - now) / MSEC
						 : 0,
	};
}

void srp_daemon_look(const struct srp_daemon *d, void *arg,
	void (*port)(void *arg, const struct srp_port_view *),
	void (*target)(void *arg, const struct srp_target_view *), void (*end)(void *arg))
{
	struct srp_target_view target_view;
	struct srp_port_view port_view;

	for (const struct srp_port *p = d->ports; p; p = p->next) {
		view_port(p, &port_view);
		port(arg, &port_view);
		for (unsigned i = 0; i < SRP_BUCKETS; i++)
			for (const struct srp_known *known = p->known[i]; known;
				known = known->next) {
				view_target(known, &target_view);
				target(arg, &target_view);
			}
		end(arg);
	}
}

const char *srp_daemon_summary(const struct srp_daemon *d, char text[128])
{
	unsigned ports = 0, serving = 0;
	struct counts counts = { 0 };

	for (const struct srp_port *port = d->ports; port; port = port->next) {
		if (port->skipped || !port->listed)
			continue;
		ports++;
		serving += port->mad && !mad_port_usable(mad_port(port->mad), NULL);
		count(port, &counts);
	}
	snprintf(text, 128, "%u of %u ports up, %u targets connected, %u failed", serving, ports,
		counts.state[SRP_UP], counts.state[SRP_FAILED]);
	return text;
}
