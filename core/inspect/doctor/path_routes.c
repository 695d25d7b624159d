/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the paths of one disk have in common: a remote address or an interface, so that they fail
 * together; or not, such as the MTU. */
#include "find.h"
#include "kernel_facts.h"
#include "kernel_net.h"
#include <stdio.h>
#include <string.h>

void doctor_path_route(struct doctor *doctor, struct doctor_path *path, const struct addr *to)
{
	struct kernel_route route;
	struct kernel_netdev netdev;

	if (!path->netdev[0]) {
		if (!to || kernel_route(to, &route, NULL) || route.local)
			return;
		snprintf(path->netdev, sizeof(path->netdev), "%s", route.netdev);
	}
	if (!kernel_netdev(doctor->root, path->netdev, &netdev))
		path->mtu = netdev.mtu;
}

static void check_addresses(
	struct doctor *doctor, const char *object, const struct doctor_path *path, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
		for (unsigned j = 0; j < i; j++) {
			struct finding *finding;

			if (!path[i].address[0] || strcmp(path[i].address, path[j].address))
				continue;
			finding = doctor_add(doctor, DOCTOR_PATHS, "path-address", DOCTOR_WARNING,
				object,
				"%s and %s have the same remote address, %s: they fail "
				"together",
				path[j].name, path[i].name, path[i].address);
			doctor_text(finding, "traddr", path[i].address);
			doctor_hint(finding, "connect one of them to another port of the target");
			return;
		}
}

static void check_interfaces(
	struct doctor *doctor, const char *object, const struct doctor_path *path, unsigned count)
{
	struct finding *finding;

	for (unsigned i = 0; i < count; i++)
		if (!path[i].netdev[0] || strcmp(path[i].netdev, path[0].netdev))
			return;
	finding = doctor_add(doctor, DOCTOR_PATHS, "path-interface", DOCTOR_WARNING, object,
		"all paths leave through %s: they fail together", path[0].netdev);
	doctor_text(finding, "netdev", path[0].netdev);
	doctor_hint(finding, "add a path to an address that is reached through another interface: "
			     "ip route get ADDRESS");
}

static void check_mtu(
	struct doctor *doctor, const char *object, const struct doctor_path *path, unsigned count)
{
	for (unsigned i = 1; i < count; i++) {
		const struct doctor_path *low = &path[i], *high = &path[0];
		struct finding *finding;

		if (!low->mtu || !high->mtu || low->mtu == high->mtu)
			continue;
		if (low->mtu > high->mtu) {
			low = &path[0];
			high = &path[i];
		}
		finding = doctor_add(doctor, DOCTOR_PATHS, "path-mtu", DOCTOR_WARNING, object,
			"MTU %u on %s, but %u on %s: the paths differ in speed, or one is wrong",
			low->mtu, low->netdev, high->mtu, high->netdev);
		doctor_text(finding, "netdev", low->netdev);
		doctor_number(finding, "netdev_mtu", low->mtu);
		doctor_hint(finding, "if its switch and target allow it: ip link set %s mtu %u",
			low->netdev, high->mtu);
		return;
	}
}

void doctor_independence(
	struct doctor *doctor, const char *object, const struct doctor_path *path, unsigned count)
{
	const unsigned before = doctor->findings;
	struct finding *finding;

	if (count < 2)
		return;
	check_addresses(doctor, object, path, count);
	check_interfaces(doctor, object, path, count);
	check_mtu(doctor, object, path, count);
	if (doctor->findings > before)
		return;
	finding = doctor_add(doctor, DOCTOR_PATHS, "path-address", DOCTOR_OK, object,
		"%u paths with addresses of their own", count);
	finding->detail = true;
}
