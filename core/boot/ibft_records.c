/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The targets of the iBFT as records of open-iscsi, and the setup of their network. */
#include "ibft.h"
#include <errno.h>
#include <string.h>

#define DHCP 3 /* origin of an address */

static void put(const struct ibft_view *view, const char *name, const char *value)
{
	if (*value)
		view->value(view->arg, name, value, 0);
}

static void put_target(const struct ibft_view *view, const struct ibft *ibft,
	const struct ibft_target_info *target)
{
	const struct ibft_nic_info *nic = kernel_ibft_nic(ibft, target);

	put(view, "iface.initiatorname", ibft->initiator);
	put(view, "iface.transport_name", "tcp");
	if (nic) {
		put(view, "iface.hwaddress", nic->mac);
		/* Firmware that reports no origin may still report its DHCP server; some report
		 * zeroes. */
		put(view, "iface.bootproto",
			nic->origin == DHCP || (nic->dhcp[0] && strcmp(nic->dhcp, "0.0.0.0"))
				? "DHCP"
				: "STATIC");
		put(view, "iface.ipaddress", nic->addr);
		if (nic->prefix)
			view->value(view->arg, "iface.prefix_len", NULL, nic->prefix);
		put(view, "iface.subnet_mask", nic->mask);
		put(view, "iface.gateway", nic->gateway);
		put(view, "iface.primary_dns", nic->dns[0]);
		put(view, "iface.secondary_dns", nic->dns[1]);
		put(view, "iface.vlan_id", nic->vlan);
		put(view, "iface.net_ifacename", nic->netdev);
	}
	put(view, "node.name", target->name);
	put(view, "node.conn[0].address", target->addr);
	view->value(view->arg, "node.conn[0].port", NULL, target->port);
	put(view, "node.session.auth.username", target->user[0]);
	put(view, "node.session.auth.password", target->secret[0][0] ? "********" : "");
	put(view, "node.session.auth.username_in", target->user[1]);
	put(view, "node.session.auth.password_in", target->secret[1][0] ? "********" : "");
	put(view, "node.boot_lun", target->lun);
}

static int set_up(int root, const struct ibft_view *view, bool dry_run,
	const struct ibft_nic_info *nic, const struct ibft_target_info *target, struct diag *diag)
{
	const char *name = nic ? nic->netdev : "";
	struct diag why = { 0 };

	view->nic(view->arg, name, false);
	if (dry_run)
		return 0;
	if (!nic)
		diag_set(&why, DIAG_PROTOCOL, EPROTO, "no NIC for %s in the iBFT", target->name);
	else
		kernel_ibft_network(root, nic, target, &why);
	if (!why.err)
		return 0;
	view->nic(view->arg, name, true);
	*diag = why;
	return 1;
}

/* Read the iBFT and pass each target to one of the functions above. */
static int each_target(
	int root, const struct ibft_view *view, bool network, bool dry_run, struct diag *diag)
{
	struct ibft ibft;
	int err = kernel_ibft_targets(root, &ibft, diag), failed = 0;

	for (unsigned i = 0; !err && i < ibft.targets; i++) {
		const struct ibft_target_info *target = &ibft.target[i];

		if (network) {
			failed |= set_up(
				root, view, dry_run, kernel_ibft_nic(&ibft, target), target, diag);
			continue;
		}
		view->record(view->arg, true);
		put_target(view, &ibft, target);
		view->record(view->arg, false);
	}
	for (unsigned i = 0; !err && i < ibft.damages; i++)
		view->damage(view->arg, ibft.damage[i]);
	explicit_bzero(&ibft, sizeof(ibft)); /* secrets */
	return err ? err : failed;
}

int kernel_ibft_records(int root, const struct ibft_view *view, struct diag *diag)
{
	return each_target(root, view, false, false, diag);
}

int kernel_ibft_set_up(int root, const struct ibft_view *view, bool dry_run, struct diag *diag)
{
	return each_target(root, view, true, dry_run, diag);
}
