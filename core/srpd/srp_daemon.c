/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP daemon as a whole: the list of its ports, start and stop. srp_daemon_port.c handles one
 * port. */
#include "kernel_rdma.h"
#include "srp_daemon_port.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define POLL_MS 1000 /* of the names of devices */
/* list the ports at least this rarely, even if the names are the same */
#define POLLS_PER_LIST 10

static struct srp_port *find(struct srp_daemon *d, const struct mad_port_info *info)
{
	struct srp_port *port;

	for (port = d->ports;
		port && (strcmp(port->info.dev, info->dev) || port->info.port != info->port);
		port = port->next)
		;
	return port;
}

static struct srp_port *add(struct srp_daemon *d, const struct mad_port_info *info)
{
	struct srp_port *port = malloc(sizeof(*port)), **last = &d->ports;

	if (!port)
		return NULL;
	srp_daemon_port_init(port, d, info);
	while (*last)
		last = &(*last)->next;
	*last = port;
	return port;
}

static void log_skipped(const struct srp_port *port)
{
	srp_daemon_port_log(
		port, "skipped: its link layer is %s, not InfiniBand", port->info.link_layer);
}

/* A listed port: open it if it has come back. */
static void listed(struct srp_daemon *d, const struct mad_port_info *info)
{
	struct srp_port *port = find(d, info);
	bool is_new = !port;

	if (!port && d->params.all_ports)
		port = add(d, info);
	if (!port)
		return;
	port->listed = true;
	if (is_new || info->infiniband != port->info.infiniband) {
		port->info = *info;
		port->skipped = !info->infiniband;
		if (port->skipped && port->mad)
			srp_daemon_port_close(port);
		if (port->skipped)
			log_skipped(port);
	}
	if (port->mad || port->closing || port->skipped)
		return;
	port->info = *info;
	srp_daemon_port_turn(port);
}

static void not_listed(struct srp_port *port)
{
	srp_daemon_port_log(port, "removed");
	port->open_tries = 0;
	if (port->mad)
		srp_daemon_port_close(port);
}

static int poll_ports(struct srp_daemon *d, struct diag *diag)
{
	struct mad_port_info *list;
	unsigned count;
	int err = mad_dev_list(&list, &count, diag);

	if (err)
		return err;
	for (struct srp_port *port = d->ports; port; port = port->next) {
		port->was_listed = port->listed;
		port->listed = false;
	}
	for (unsigned i = 0; i < count; i++)
		listed(d, &list[i]);
	for (struct srp_port *port = d->ports; port; port = port->next)
		if (!port->listed && port->was_listed)
			not_listed(port);
	free(list);
	return 0;
}

static void fire(struct loop_timer *timer)
{
	struct srp_daemon *d = container_of(timer, struct srp_daemon, poll);
	uint64_t names = kernel_umad_names(d->params.root);

	if (names != d->names || d->changed || ++d->polls % POLLS_PER_LIST == 0)
		poll_ports(d, NULL);
	d->names = names;
	d->changed = false;
	loop_timer_set(d->loop, timer, loop_clock() + POLL_MS * MSEC);
}

/* With `once` don't wait for a port. */
static int start_all(struct srp_daemon *d, struct diag *diag)
{
	bool some = false;
	int err = poll_ports(d, diag);

	for (const struct srp_port *port = d->ports; port; port = port->next)
		some |= !port->skipped;
	if (err || some || !d->params.once)
		return err;
	return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no InfiniBand port");
}

static int start_named(struct srp_daemon *d, struct diag *diag)
{
	struct srp_port *port = add(d, &d->params.port);

	if (!port)
		return diag_sys(diag, ENOMEM, "port");
	if (!srp_daemon_port_begin(port, diag))
		return 0;
	return diag_ctx(diag, "%s port %u", port->info.dev, port->info.port);
}

int srp_daemon_start(struct srp_daemon **out, struct loop *loop,
	const struct srp_daemon_params *params, const struct srp_daemon_events *events,
	struct diag *diag)
{
	struct srp_daemon *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return diag_sys(diag, ENOMEM, "daemon");
	d->loop = loop;
	d->params = *params;
	d->events = *events;
	d->poll.fire = fire;
	err = params->all_ports ? start_all(d, diag) : start_named(d, diag);
	if (err) {
		srp_daemon_free(d);
		return err;
	}
	if (!params->once)
		loop_timer_set(loop, &d->poll, loop_clock() + POLL_MS * MSEC);
	*out = d;
	return 0;
}

void srp_daemon_rules(struct srp_daemon *d, const struct srp_rules *rules)
{
	d->params.policy.rules = rules;
	for (struct srp_port *port = d->ports; port; port = port->next)
		if (port->mad && !port->closing)
			srp_daemon_port_scan_all(port, loop_clock());
}

void srp_daemon_check_finished(struct srp_daemon *d)
{
	for (const struct srp_port *port = d->ports; port; port = port->next)
		if (!port->finished && (!port->skipped || port->mad))
			return;
	if (d->finished)
		return;
	d->finished = true;
	d->events.finished(d->events.arg);
}

void srp_daemon_stop(struct srp_daemon *d)
{
	if (d->stopping)
		return;
	d->stopping = true;
	loop_timer_del(d->loop, &d->poll);
	for (struct srp_port *port = d->ports; port; port = port->next)
		srp_daemon_port_close(port);
	srp_daemon_check_finished(d); /* without ports */
}

void srp_daemon_free(struct srp_daemon *d)
{
	loop_timer_del(d->loop, &d->poll);
	for (struct srp_port *port = d->ports, *next; port; port = next) {
		next = port->next;
		srp_daemon_port_fini(port);
		free(port);
	}
	free(d);
}
