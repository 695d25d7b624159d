/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The path to the host of the URI: address, route, interface, and RDMA device. */
#include "find.h"
#include "kernel_facts.h"
#include "kernel_net.h"
#include "listed.h"
#include <stdio.h>
#include <string.h>

static bool find_address(struct doctor *doctor)
{
	const char *host = doctor->parsed->host;
	struct finding *finding;
	struct diag diag = { 0 };
	char text[ADDR_TEXT];
	bool literal = !addr_numeric(&doctor->address, host, doctor_port(doctor), NULL);

	if (!literal && loop_clock() >= doctor->deadline) {
		finding = doctor_add(doctor, DOCTOR_NETWORK, "address", DOCTOR_WARNING, host,
			"not looked up: no time is left");
		doctor_hint(finding, "allow more time: --timeout SECONDS");
		return false;
	}
	if (!literal && addr_resolve(&doctor->address, host, doctor_port(doctor),
				doctor_remaining_ms(doctor, 1), &diag)) {
		doctor->address = (struct addr){ 0 };
		finding = doctor_add_diag(doctor, DOCTOR_NETWORK, "address", DOCTOR_FAILURE, &diag);
		snprintf(finding->object, sizeof(finding->object), "%s", host);
		if (!finding->hint[0])
			doctor_hint(finding, "use its address instead of the name, or correct "
					     "/etc/hosts or /etc/resolv.conf");
		return false;
	}
	addr_host(&doctor->address, text);
	finding =
		doctor_add(doctor, DOCTOR_NETWORK, "address", DOCTOR_OK, host, "address %s", text);
	finding->detail = literal;
	doctor_text(finding, "traddr", text);
	return true;
}

static bool check_route(struct doctor *doctor, struct kernel_route *route)
{
	struct finding *finding;
	struct diag diag = { 0 };
	char host[ADDR_TEXT];

	addr_host(&doctor->address, host);
	if (kernel_route(&doctor->address, route, &diag)) {
		finding = doctor_add_diag(doctor, DOCTOR_NETWORK, "route", DOCTOR_FAILURE, &diag);
		snprintf(finding->object, sizeof(finding->object), "%s", host);
		return false;
	}
	finding = doctor_add(doctor, DOCTOR_NETWORK, "route", DOCTOR_OK, host,
		"route via %s%s%s%s%s%s", route->netdev, route->source[0] ? ", source " : "",
		route->source, route->gateway[0] ? ", gateway " : "", route->gateway,
		route->local ? " (this machine)" : "");
	doctor->local = route->local;
	doctor_text(finding, "netdev", route->netdev);
	doctor_text(finding, "host_traddr", route->source);
	doctor_text(finding, "gateway", route->gateway);
	return route->netdev[0];
}

static void check_link(struct doctor *doctor, const char *name)
{
	struct kernel_netdev netdev;
	struct finding *finding;
	bool down;

	if (kernel_netdev(doctor->root, name, &netdev)) {
		finding = doctor_add(doctor, DOCTOR_NETWORK, "link", DOCTOR_WARNING, name,
			"the state of the interface is unknown");
		doctor_hint(finding, "mount -t sysfs sysfs /sys");
		return;
	}
	down = netdev.carrier == 0 ||
	       (strcmp(netdev.state, "up") && strcmp(netdev.state, "unknown"));
	finding = doctor_add(doctor, DOCTOR_NETWORK, "link", down ? DOCTOR_FAILURE : DOCTOR_OK,
		name, "%s%s, MTU %u", down ? "down" : "up",
		netdev.carrier == 0 ? ", no carrier" : "", netdev.mtu);
	doctor_text(finding, "link_state", netdev.state);
	doctor_number(finding, "netdev_mtu", netdev.mtu);
	doctor_hint(finding, "check the cable, then: ip link set %s up", name);
}

static const struct list_port *port_on(const struct kernel_list *list, const char *netdev)
{
	for (unsigned i = 0; i < list->ports; i++) {
		const struct list_port *port = &list->port[i];

		if (!strcmp(port->netdev, netdev))
			return port;
		for (unsigned j = 0; j < port->gids; j++)
			if (!strcmp(port->gid[j].netdev, netdev))
				return port;
	}
	return NULL;
}

static void check_device(struct doctor *doctor, const struct kernel_route *route)
{
	struct kernel_list list;
	const struct list_port *port;
	const enum doctor_state bad = doctor_needs_rdma(doctor) ? DOCTOR_FAILURE : DOCTOR_WARNING;
	struct finding *finding;

	if (kernel_list(doctor->root, &list, NULL))
		return;
	port = port_on(&list, route->netdev);
	if (port) {
		bool active = !strcmp(port->state, "active");

		finding = doctor_add(doctor, DOCTOR_NETWORK, "rdma-device",
			active ? DOCTOR_OK : bad, route->netdev, "RDMA device %s port %u, %s",
			port->dev, port->port, port->state);
		doctor_text(finding, "rdma_device", port->dev);
		doctor_number(finding, "rdma_port", port->port);
		doctor_hint(finding, "ip link set %s up", route->netdev);
	} else {
		finding = doctor_add(doctor, DOCTOR_NETWORK, "rdma-device", bad, route->netdev,
			"no RDMA device on this interface");
		doctor_hint(finding, "rdma link add rxe0 type rxe netdev %s", route->netdev);
	}
	kernel_list_clear(&list);
}

void doctor_network(struct doctor *doctor)
{
	struct kernel_route route;

	if (!doctor->parsed || !doctor->parsed->host[0] || doctor_is(doctor, "srp") ||
		!find_address(doctor) || !check_route(doctor, &route))
		return;
	check_link(doctor, route.netdev);
	if (doctor_rdma_relevant(doctor) && !route.local)
		check_device(doctor, &route);
}
