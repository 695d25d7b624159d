/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print a target of the iBFT as open-iscsi's tools do. */
#include "kernel_iscsi_conf.h"
#include "out.h"
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

void kernel_ibft_show(struct out *out, const struct ibft *ibft,
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
