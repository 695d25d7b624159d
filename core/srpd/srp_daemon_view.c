/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print the state of the SRP daemon. */
#include "srp_daemon_port.h"
#include <stdio.h>

struct counts {
	unsigned state[SRP_FAILED + 1];
};

static void count(const struct srp_port *port, struct counts *counts)
{
	for (unsigned i = 0; i < SRP_BUCKETS; i++)
		for (const struct srp_daemon_target *known = port->known[i]; known;
			known = known->next)
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
		*word = port->locked_elsewhere ? "busy" : "waiting";
		*text = port->locked_elsewhere ? "waiting: another process serves this port"
					       : "waiting: its MAD device can't be opened";
	} else if (mad_port_usable(mad_port(port->mad), NULL)) {
		*word = unusable(mad_port(port->mad)->state);
		*text = mad_port_state_text(mad_port(port->mad)->state);
	} else {
		*word = "serving";
	}
	if (!*text)
		*text = *word;
}

static void show_target(struct out *out, const struct srp_daemon_target *known)
{
	static const char *const states[] = {
		[SRP_DENIED] = "denied",
		[SRP_FOUND] = "found",
		[SRP_WAITING] = "waiting",
		[SRP_BUSY] = "connecting",
		[SRP_UP] = "connected",
		[SRP_FAILED] = "failed",
	};
	const struct mad_srp *srp = &known->srp;
	const char *state = states[known->state], *host = known->state == SRP_UP ? known->host : "";
	uint64_t now = loop_clock();
	char text[MAD_SRP_TEXT];
	struct diag why = { 0 };

	if (known->state == SRP_FAILED)
		diag_set(&why, known->why_code, known->why_err, "%s", known->why);
	out_object(out, NULL);
	out_line(out, "    %s: %s%s%s%s%s", mad_srp_text(srp, text), state, host[0] ? " as " : "",
		host, why.text[0] ? ": " : "", why.text);
	out_text(out, "id_ext", NULL, "%s", srp->id_ext);
	out_text(out, "ioc_guid", NULL, "%016llx", (unsigned long long)srp->ioc_guid);
	out_text(out, "dgid", NULL, "%016llx%016llx", (unsigned long long)srp->prefix,
		(unsigned long long)srp->guid);
	out_text(out, "service_id", NULL, "%016llx", (unsigned long long)srp->service_id);
	out_text(out, "pkey", NULL, "%04x", srp->pkey);
	out_text(out, "state", NULL, "%s", state);
	if (host[0])
		out_text(out, "host", NULL, "%s", host);
	out_error(out, "error", &why);
	if (known->tries)
		out_u64(out, "tries", NULL, known->tries);
	if (known->state == SRP_FAILED || known->state == SRP_WAITING)
		out_real(out, "retry_seconds", NULL,
			known->due_ns > now ? (double)((known->due_ns - now) / MSEC) / 1e3 : 0, 3);
	out_end(out);
}

static void show_port(struct out *out, const struct srp_port *port, bool ready)
{
	struct counts counts = { 0 };
	const char *word, *text;

	port_state(port, &word, &text);
	count(port, &counts);
	out_object(out, NULL);
	out_line(out, "%s port %u: %s", port->info.dev, port->info.port, text);
	out_text(out, "rdma_device", NULL, "%s", port->info.dev);
	out_u64(out, "rdma_port", NULL, port->info.port);
	out_text(out, "state", NULL, "%s", word);
	if (ready) {
		out_end(out);
		return;
	}
	out_u64(out, "lid", "    LID:         ", port->info.lid);
	out_bool(out, "subscribed", "    notices:     ", port->subscribed);
	out_u64(out, "notices", NULL, port->notices);
	out_u64(out, "scans", "    scans:       ", port->scans);
	if (port->scanned_ns)
		out_real(out, "scan_age_seconds", "    seconds ago: ",
			(double)((loop_clock() - port->scanned_ns) / MSEC) / 1e3, 1);
	out_u64(out, "login_attempts", "    logins:      ", port->logins);
	out_u64(out, "targets_connected", "    connected:   ", counts.state[SRP_UP]);
	out_u64(out, "targets_failed", "    failed:      ", counts.state[SRP_FAILED]);
	out_u64(out, "targets_waiting", "    waiting:     ",
		counts.state[SRP_WAITING] + counts.state[SRP_BUSY] + counts.state[SRP_FOUND]);
	out_u64(out, "targets_denied", "    denied:      ", counts.state[SRP_DENIED]);
	out_list(out, "targets");
	for (unsigned i = 0; i < SRP_BUCKETS; i++)
		for (const struct srp_daemon_target *known = port->known[i]; known;
			known = known->next)
			show_target(out, known);
	out_end(out);
	out_end(out);
}

void srp_daemon_show(const struct srp_daemon *d, struct out *out, bool ready)
{
	out_list(out, "ports");
	for (const struct srp_port *port = d->ports; port; port = port->next)
		show_port(out, port, ready);
	out_end(out);
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
