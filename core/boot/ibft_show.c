/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print the targets of the iBFT, and set up their network, as open-iscsi's tools do. */
#include "ibft.h"
#include "out.h"
#include <errno.h>
#include <string.h>

#define DHCP 3 /* origin of an address */

static void row(struct out *out, const char *name, const char *value)
{
	if (!*value)
		return;
	out_line(out, "%s = %s", name, value);
	out_text(out, name, NULL, "%s", value);
}

static void row_number(struct out *out, const char *name, unsigned value)
{
	out_line(out, "%s = %u", name, value);
	out_u64(out, name, NULL, value);
}

static void show_target(struct out *out, const struct ibft *ibft,
	const struct ibft_target_info *target, const char *version)
{
	const struct ibft_nic_info *nic = kernel_ibft_nic(ibft, target);

	out_object(out, NULL);
	out_line(out, "# BEGIN RECORD %s", version);
	row(out, "iface.initiatorname", ibft->initiator);
	row(out, "iface.transport_name", "tcp");
	if (nic) {
		row(out, "iface.hwaddress", nic->mac);
		/* Firmware that reports no origin may still report its DHCP server; some report
		 * zeroes. */
		row(out, "iface.bootproto",
			nic->origin == DHCP || (nic->dhcp[0] && strcmp(nic->dhcp, "0.0.0.0"))
				? "DHCP"
				: "STATIC");
		row(out, "iface.ipaddress", nic->addr);
		if (nic->prefix)
			row_number(out, "iface.prefix_len", nic->prefix);
		row(out, "iface.subnet_mask", nic->mask);
		row(out, "iface.gateway", nic->gateway);
		row(out, "iface.primary_dns", nic->dns[0]);
		row(out, "iface.secondary_dns", nic->dns[1]);
		row(out, "iface.vlan_id", nic->vlan);
		row(out, "iface.net_ifacename", nic->netdev);
	}
	row(out, "node.name", target->name);
	row(out, "node.conn[0].address", target->addr);
	row_number(out, "node.conn[0].port", target->port);
	row(out, "node.session.auth.username", target->user[0]);
	row(out, "node.session.auth.password", target->secret[0][0] ? "********" : "");
	row(out, "node.session.auth.username_in", target->user[1]);
	row(out, "node.session.auth.password_in", target->secret[1][0] ? "********" : "");
	row(out, "node.boot_lun", target->lun);
	out_line(out, "# END RECORD");
	out_end(out);
}

static void note_damages(
	const struct ibft *ibft, void (*note)(const char *text, void *arg), void *arg)
{
	for (unsigned i = 0; i < ibft->damages; i++)
		note(ibft->damage[i], arg);
}

int kernel_ibft_show(int root, struct out *out, const char *version,
	void (*note)(const char *text, void *arg), void *arg, struct diag *diag)
{
	struct ibft ibft;
	int err = kernel_ibft_targets(root, &ibft, diag);

	if (!err) {
		out_list(out, "records");
		for (unsigned i = 0; i < ibft.targets; i++)
			show_target(out, &ibft, &ibft.target[i], version);
		out_end(out);
		note_damages(&ibft, note, arg);
	}
	explicit_bzero(&ibft, sizeof(ibft)); /* secrets */
	return err;
}

static int set_up(int root, struct out *out, bool dry_run, const struct ibft_nic_info *nic,
	const struct ibft_target_info *target, struct diag *diag)
{
	const char *name = nic ? nic->netdev : "";
	struct diag why = { 0 };

	out_line(out, "Setting up software interface %s", name);
	if (dry_run)
		return 0;
	if (!nic)
		diag_set(&why, DIAG_PROTOCOL, EPROTO, "no NIC for %s in the iBFT", target->name);
	else
		kernel_ibft_network(root, nic, target, &why);
	if (!why.err)
		return 0;
	out_line(out, "Setting up software interface %s failed", name);
	*diag = why;
	return 1;
}

int kernel_ibft_set_up(int root, struct out *out, bool dry_run,
	void (*note)(const char *text, void *arg), void *arg, struct diag *diag)
{
	struct ibft ibft;
	int err = kernel_ibft_targets(root, &ibft, diag), failed = 0;

	for (unsigned i = 0; !err && i < ibft.targets; i++)
		failed |= set_up(root, out, dry_run, kernel_ibft_nic(&ibft, &ibft.target[i]),
			&ibft.target[i], diag);
	if (!err)
		note_damages(&ibft, note, arg);
	explicit_bzero(&ibft, sizeof(ibft)); /* secrets */
	return err ? err : failed;
}
