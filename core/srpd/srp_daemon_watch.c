/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* React to notices of the subnet administrator and to changes of the port. Anyone could have sent a
 * notice, so it only causes a query. */
#include "srp_daemon_port.h"
#include <string.h>

static void noticed(struct mad_watch *watch, const struct mad_notice *notice)
{
	struct srp_port *port = container_of(watch, struct srp_port, watch);
	struct mad_port_id named = { 0 };

	port->notices++;
	loop_trace(port->daemon->loop, "%s port %u: notice %u: LID %u, mask 0x%08x, GUID %016llx",
		port->info.dev, port->info.port, notice->trap, notice->lid, notice->cap_mask,
		(unsigned long long)wire_be(notice->gid + 8, 8));
	switch (notice->trap) {
	case MAD_TRAP_IN_SERVICE:
		memcpy(named.gid, notice->gid, sizeof(named.gid));
		srp_daemon_port_query(port, &named, false, 0, 0);
		break;
	case MAD_TRAP_OUT_OF_SERVICE:
		srp_daemon_targets_remove(port, notice->gid);
		break;
	case MAD_TRAP_CAP_MASK:
		named.lid = notice->lid;
		if (notice->cap_mask & PORT_CAP_DM && notice->lid)
			srp_daemon_port_query(port, &named, true, 0, 0);
		break;
	}
}

/* Whether the port can't be used; log why. */
static bool is_waiting(const struct srp_port *port)
{
	struct diag diag = { 0 };

	if (!mad_port_usable(&port->info, &diag))
		return false;
	srp_daemon_port_log(port, "waiting: %s", diag.text);
	return true;
}

static void changed(struct mad_watch *watch, unsigned what)
{
	struct srp_port *port = container_of(watch, struct srp_port, watch);

	if (what & PORT_EVENT_GONE) {
		srp_daemon_port_log(port, "its device was removed");
		port->daemon->changed = true;
		srp_daemon_port_close(port);
		return;
	}
	port->info = *mad_port(port->mad);
	if (is_waiting(port))
		return;
	if (what & PORT_EVENT_STATE)
		srp_daemon_port_log(port, "ACTIVE, LID %u", port->info.lid);
	else if (what & (PORT_EVENT_LID | PORT_EVENT_SM))
		srp_daemon_port_log(port, "now LID %u, subnet manager LID %u", port->info.lid,
			port->info.sm_lid);
	port->full_tries = 0;
	srp_daemon_port_scan_all(port, 0);
}

static void subscribed(struct mad_watch *watch, int err, struct diag *diag)
{
	struct srp_port *port = container_of(watch, struct srp_port, watch);
	bool rescan = port->missed && !err;

	port->subscribed = !err;
	port->missed |= err != 0;
	if (mad_port_usable(&port->info, NULL)) /* already reported */
		return;
	if (err) {
		srp_daemon_port_log(port, "no notices of new targets: %s%s", diag->text,
			port->daemon->params.rescan_ms ? "" : "; find them with --rescan SECONDS");
		return;
	}
	/* find changes that were not reported in between */
	if (rescan)
		srp_daemon_port_scan_all(port, 0);
	port->missed = false;
}

static void ended(struct mad_watch *watch)
{
	struct srp_port *port = container_of(watch, struct srp_port, watch);

	port->watching = false;
	port->watch_ended(port);
}

/* Only the kernel's events report that a restarted subnet manager has lost the subscriptions. */
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
	mad_unwatch(port->mad, ended);
	return true;
}
