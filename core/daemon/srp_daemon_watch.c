/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the subnet administrator reports of the fabric, and what happens to the port itself, as
 * things to do. A notice is a hint that anybody could have sent: it is only ever a reason to ask.
 */
#include "srp_daemon_port.h"
#include <string.h>

static void noticed(struct mad_watch *watch, const struct mad_notice *notice)
{
	struct srp_port *port = container_of(watch, struct srp_port, watch);
	struct mad_named named = { 0 };

	port->notices++;
	loop_trace(port->daemon->loop, "%s port %u: notice %u: LID %u, mask 0x%08x, GUID %016llx",
		port->info.dev, port->info.port, notice->trap, notice->lid, notice->cap_mask,
		(unsigned long long)wire_be(notice->gid + 8, 8));
	switch (notice->trap) {
	case MAD_TRAP_IN_SERVICE:
		memcpy(named.gid, notice->gid, sizeof(named.gid));
		srp_daemon_port_ask(port, &named, false, 0, 0);
		break;
	case MAD_TRAP_OUT_OF_SERVICE:
		srp_daemon_targets_left(port, notice->gid);
		break;
	case MAD_TRAP_CAP_MASK:
		named.lid = notice->lid;
		if (notice->cap_mask & PORT_CAP_DM && notice->lid)
			srp_daemon_port_ask(port, &named, true, 0, 0);
		break;
	}
}

/* True: nothing can be asked through it. */
static bool is_waiting(const struct srp_port *port)
{
	struct diag diag = { 0 };

	if (!mad_port_usable(&port->info, &diag))
		return false;
	srp_daemon_port_say(port, "waiting: %s", diag.text);
	return true;
}

static void changed(struct mad_watch *watch, unsigned what)
{
	struct srp_port *port = container_of(watch, struct srp_port, watch);

	if (what & PORT_EVENT_GONE) {
		srp_daemon_port_say(port, "its device was removed");
		port->daemon->changed = true;
		srp_daemon_port_close(port);
		return;
	}
	port->info = *mad_port(port->mad);
	if (is_waiting(port))
		return;
	if (what & PORT_EVENT_STATE)
		srp_daemon_port_say(port, "ACTIVE, LID %u", port->info.lid);
	else if (what & (PORT_EVENT_LID | PORT_EVENT_SM))
		srp_daemon_port_say(port, "now LID %u, subnet manager LID %u", port->info.lid,
			port->info.sm_lid);
	port->whole_tries = 0;
	srp_daemon_port_whole(port, 0);
}

static void subscribed(struct mad_watch *watch, int err, struct diag *diag)
{
	struct srp_port *port = container_of(watch, struct srp_port, watch);
	bool again = port->missed && !err;

	port->subscribed = !err;
	port->missed |= err != 0;
	if (mad_port_usable(&port->info, NULL)) /* already reported */
		return;
	if (err) {
		srp_daemon_port_say(port, "no notices of new targets: %s%s", diag->text,
			port->daemon->opts.rescan_ms ? "" : "; find them with --rescan SECONDS");
		return;
	}
	/* Changes in between were not reported */
	if (again)
		srp_daemon_port_whole(port, 0);
	port->missed = false;
}

static void ended(struct mad_watch *watch)
{
	struct srp_port *port = container_of(watch, struct srp_port, watch);

	port->watching = false;
	port->watch_ended(port);
}

/* That a subnet manager was restarted and has forgotten who subscribed, only the kernel's events
 * tell. */
static void event(void *arg, unsigned number, unsigned what)
{
	struct srp_port *port = arg;

	if (number && number != port->info.port)
		return;
	if (what & PORT_EVENT_GONE) {
		port_events_close(port->kernel);
		port->kernel = NULL;
	}
	mad_port_event(port->mad, what);
}

int srp_daemon_watch_start(struct srp_port *port, struct diag *diag)
{
	int err;

	port->watch = (struct mad_watch){
		.notice = noticed, .changed = changed, .subscribed = subscribed
	};
	err = mad_watch(port->mad, &port->watch, diag);
	port->watching = !err;
	is_waiting(port);
	if (!err && port_events_open(
			    &port->kernel, port->daemon->loop, port->info.dev, event, port, NULL))
		port->kernel = NULL;
	return err;
}

bool srp_daemon_watch_stop(struct srp_port *port, void (*ended_fn)(struct srp_port *))
{
	if (!port->watching)
		return false;
	if (port->kernel)
		port_events_close(port->kernel);
	port->kernel = NULL;
	port->watch_ended = ended_fn;
	mad_unwatch(port->mad, &port->watch, ended);
	return true;
}
