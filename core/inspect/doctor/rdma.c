/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RDMA devices: ports, GIDs, RoCE mode, MTU, subnet manager. */
#include "find.h"
#include "kernel_facts.h"
#include "listed.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MTU_LEAST 1024 /* bytes; less costs bandwidth, and no Ethernet needs it */

struct ports {
	struct doctor *doctor;
	const struct kernel_list *list;
	bool any_active;
};

static struct finding *add(struct doctor *doctor, const struct list_port *port, const char *check,
	enum doctor_state state, const char *text)
{
	char object[80];
	struct finding *finding;

	snprintf(object, sizeof(object), "%s port %u", port->dev, port->port);
	finding = doctor_add(doctor, DOCTOR_RDMA, check, state, object, "%s", text);
	doctor_text(finding, "rdma_device", port->dev);
	doctor_number(finding, "rdma_port", port->port);
	return finding;
}

/* On a device with several ports, one without a cable is normal. */
static void check_state(const struct ports *ports, const struct list_port *port)
{
	const bool active = !strcmp(port->state, "active");
	const enum doctor_state bad = ports->any_active || !doctor_needs_rdma(ports->doctor)
					      ? DOCTOR_WARNING
					      : DOCTOR_FAILURE;
	struct finding *finding;
	char text[200];

	snprintf(text, sizeof(text), "%s, %s%s%s%s%s", port->state[0] ? port->state : "unknown",
		port->kind[0] ? port->kind : "unknown link", port->rate[0] ? ", " : "", port->rate,
		active ? "" : ", physical state ", active ? "" : port->physical);
	finding = add(ports->doctor, port, "port-state", active ? DOCTOR_OK : bad, text);
	doctor_text(finding, "port_state", port->state);
	doctor_text(finding, "physical_state", port->physical);
	doctor_text(finding, "link", port->kind);
	doctor_text(finding, "rate", port->rate);
	doctor_text(finding, "netdev", port->netdev);
	doctor_text(finding, "firmware", port->firmware);
	if (!strcmp(port->state, "init") && !strcmp(port->kind, "ib"))
		doctor_hint(finding, "the port waits for a subnet manager: start opensm on one "
				     "machine of the fabric, or on the switch");
	else if (port->netdev[0])
		doctor_hint(finding, "check the cable, then: ip link set %s up", port->netdev);
	else
		doctor_hint(finding, "check the cable and the switch port");
}

static void check_manager(struct doctor *doctor, const struct list_port *port)
{
	struct finding *finding;

	if (strcmp(port->kind, "ib") || !strcmp(port->state, "down"))
		return;
	if (port->sm_lid) {
		finding = add(doctor, port, "subnet-manager", DOCTOR_OK, "has a subnet manager");
	} else {
		finding = add(doctor, port, "subnet-manager",
			doctor_is(doctor, "srp") ? DOCTOR_FAILURE : DOCTOR_WARNING,
			"no subnet manager has configured this port");
		doctor_hint(finding, "start opensm on one machine of the fabric, or on the switch");
	}
	doctor_number(finding, "lid", port->lid);
	doctor_number(finding, "sm_lid", port->sm_lid);
}

static bool is_link_local(const char *gid)
{
	return !strncmp(gid, "fe80:0000:0000:0000", 19);
}

static bool is_v2(const struct list_gid *gid)
{
	return !strcmp(gid->type, "RoCE v2");
}

static void check_gids(struct doctor *doctor, const struct list_port *port)
{
	unsigned v1 = 0, v2 = 0, routed = 0;
	struct finding *finding;
	char text[120];

	for (unsigned i = 0; i < port->gids; i++) {
		v2 += is_v2(&port->gid[i]);
		v1 += port->gid[i].type[0] && !is_v2(&port->gid[i]);
		routed += is_v2(&port->gid[i]) && !is_link_local(port->gid[i].gid);
		snprintf(text, sizeof(text), "GID %u %s%s%s%s%s", port->gid[i].index,
			port->gid[i].gid, port->gid[i].type[0] ? ", " : "", port->gid[i].type,
			port->gid[i].netdev[0] ? " on " : "", port->gid[i].netdev);
		finding = add(doctor, port, "gid", DOCTOR_OK, text);
		finding->detail = true;
		doctor_number(finding, "gid_index", port->gid[i].index);
		doctor_text(finding, "gid", port->gid[i].gid);
		doctor_text(finding, "gid_type", port->gid[i].type);
		doctor_text(finding, "netdev", port->gid[i].netdev);
	}
	snprintf(text, sizeof(text), "%u GID%s%s", port->gids, port->gids == 1 ? "" : "s",
		port->gids ? "" : ": the port has no address");
	if (!strcmp(port->kind, "roce") && port->gids)
		snprintf(text, sizeof(text), "%u GID%s: %u of RoCE v2, %u of RoCE v1%s", port->gids,
			port->gids == 1 ? "" : "s", v2, v1,
			!v2       ? ": RoCE v1 is not routed"
			: !routed ? ": no IP address but link-local ones"
				  : "");
	finding = add(doctor, port, "gids",
		!port->gids || (!strcmp(port->kind, "roce") && !routed) ? DOCTOR_WARNING
									: DOCTOR_OK,
		text);
	doctor_number(finding, "gid_count", port->gids);
	if (!strcmp(port->kind, "roce")) {
		doctor_number(finding, "gids_roce_v2", v2);
		doctor_number(finding, "gids_roce_v1", v1);
	}
	doctor_hint(finding, "give its network interface an IP address: ip addr add ADDRESS dev %s",
		port->netdev[0] ? port->netdev : "NETDEV");
}

static void check_mode(struct doctor *doctor, const struct list_port *port)
{
	struct finding *finding;
	char mode[24] = "";

	if (!strcmp(port->kind, "roce"))
		kernel_roce_mode(doctor->root, port->dev, port->port, mode);
	if (!mode[0])
		return;
	if (!strcmp(mode, "RoCE v2")) {
		finding = add(doctor, port, "roce-mode", DOCTOR_OK, "connections use RoCE v2");
	} else {
		finding = add(doctor, port, "roce-mode", DOCTOR_WARNING,
			"connections use RoCE v1 by default, which is not routed, and which a "
			"target of RoCE v2 does not answer");
		doctor_hint(finding,
			"echo 'RoCE v2' >/sys/kernel/config/rdma_cm/%s/ports/%u/"
			"default_roce_mode",
			port->dev, port->port);
	}
	doctor_text(finding, "roce_mode", mode);
}

static void check_mtu(struct doctor *doctor, const struct list_port *port)
{
	unsigned active, max;
	struct kernel_netdev netdev = { 0 };
	struct finding *finding;
	char text[160];

	if (!doctor->port_mtu || doctor->port_mtu(port->dev, port->port, &active, &max))
		return;
	if (port->netdev[0] && !strchr(port->netdev, ','))
		kernel_netdev(doctor->root, port->netdev, &netdev);
	snprintf(text, sizeof(text), "MTU %u of %u possible bytes%s%s", active, max,
		netdev.mtu ? ", interface " : "", netdev.mtu ? port->netdev : "");
	if (netdev.mtu)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %u", netdev.mtu);
	finding = add(doctor, port, "mtu", active < MTU_LEAST ? DOCTOR_WARNING : DOCTOR_OK, text);
	doctor_number(finding, "mtu", active);
	doctor_number(finding, "max_mtu", max);
	if (netdev.mtu)
		doctor_number(finding, "netdev_mtu", netdev.mtu);
	if (port->netdev[0])
		doctor_hint(finding,
			"raise the MTU here, on the switch and on the target: ip "
			"link set %s mtu 1500",
			port->netdev);
	else
		doctor_hint(finding, "raise the MTU of the partition in the subnet manager");
}

static void check_port(const struct ports *ports, const struct list_port *port)
{
	check_state(ports, port);
	check_manager(ports->doctor, port);
	if (strcmp(port->state, "active"))
		return;
	check_gids(ports->doctor, port);
	check_mode(ports->doctor, port);
	check_mtu(ports->doctor, port);
}

static void check_devices(struct doctor *doctor, const struct kernel_list *list)
{
	struct ports ports = { doctor, list, false };
	struct finding *finding;

	for (unsigned i = 0; i < list->ports; i++)
		ports.any_active |= !strcmp(list->port[i].state, "active");
	if (!list->ports && doctor->no_sysfs)
		return;
	if (list->ports) {
		finding = doctor_add(doctor, DOCTOR_RDMA, "devices", DOCTOR_OK, "",
			"%u RDMA port%s", list->ports, list->ports == 1 ? "" : "s");
		finding->detail = true;
	} else {
		finding = doctor_add(doctor, DOCTOR_RDMA, "devices",
			!doctor->uri                ? DOCTOR_INFO
			: doctor_needs_rdma(doctor) ? DOCTOR_FAILURE
						    : DOCTOR_WARNING,
			"", "no RDMA device");
		finding->missing = "RDMA device";
		doctor_hint(finding, "%s",
			doctor_is(doctor, "srp") ? "load the driver of an InfiniBand adapter"
						 : HINT_RDMA_DEVICE);
	}
	doctor_number(finding, "port_count", list->ports);
	for (unsigned i = 0; i < list->ports; i++)
		check_port(&ports, &list->port[i]);
}

void doctor_rdma(struct doctor *doctor)
{
	struct kernel_list list;
	struct diag diag = { 0 };

	if (!doctor_rdma_relevant(doctor))
		return;
	if (kernel_list(doctor->root, &list, &diag))
		doctor_add_diag(doctor, DOCTOR_RDMA, "devices", DOCTOR_WARNING, &diag);
	else
		check_devices(doctor, &list);
	kernel_list_clear(&list);
}
