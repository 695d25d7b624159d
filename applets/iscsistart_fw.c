/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print the iBFT as records of open-iscsi, and set up the network by it. */
#include "iscsistart_fw.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DHCP 3 /* origin of an address */

static void row(struct call *call, const char *name, const char *value)
{
	if (!*value)
		return;
	out_line(call->out, "%s = %s", name, value);
	out_text(call->out, name, NULL, "%s", value);
}

static void row_number(struct call *call, const char *name, unsigned value)
{
	out_line(call->out, "%s = %u", name, value);
	out_u64(call->out, name, NULL, value);
}

/* Firmware that reports no origin may still name its DHCP server; some write zeroes there. */
static bool by_dhcp(const struct ibft_nic_info *nic)
{
	return nic->origin == DHCP || (nic->dhcp[0] && strcmp(nic->dhcp, "0.0.0.0"));
}

static void print_nic(struct call *call, const struct ibft_nic_info *nic)
{
	row(call, "iface.hwaddress", nic->mac);
	row(call, "iface.bootproto", by_dhcp(nic) ? "DHCP" : "STATIC");
	row(call, "iface.ipaddress", nic->addr);
	if (nic->prefix)
		row_number(call, "iface.prefix_len", nic->prefix);
	row(call, "iface.subnet_mask", nic->mask);
	row(call, "iface.gateway", nic->gateway);
	row(call, "iface.primary_dns", nic->dns[0]);
	row(call, "iface.secondary_dns", nic->dns[1]);
	row(call, "iface.vlan_id", nic->vlan);
	row(call, "iface.net_ifacename", nic->netdev);
}

static void print_target(struct call *call, const struct ibft_target_info *target)
{
	row(call, "node.name", target->name);
	row(call, "node.conn[0].address", target->addr);
	row_number(call, "node.conn[0].port", target->port);
	row(call, "node.session.auth.username", target->user[0]);
	row(call, "node.session.auth.password", target->secret[0][0] ? "********" : "");
	row(call, "node.session.auth.username_in", target->user[1]);
	row(call, "node.session.auth.password_in", target->secret[1][0] ? "********" : "");
	row(call, "node.boot_lun", target->lun);
}

static int print_all(struct call *call, const struct ibft *ibft)
{
	out_list(call->out, "records");
	for (unsigned i = 0; i < ibft->targets; i++) {
		const struct ibft_nic_info *nic = kernel_ibft_nic(ibft, &ibft->target[i]);

		out_object(call->out, NULL);
		out_line(call->out, "# BEGIN RECORD " START_VERSION);
		row(call, "iface.initiatorname", ibft->initiator);
		row(call, "iface.transport_name", "tcp");
		if (nic)
			print_nic(call, nic);
		print_target(call, &ibft->target[i]);
		out_line(call->out, "# END RECORD");
		out_end(call->out);
	}
	out_end(call->out);
	return EXIT_DONE;
}

static int set_up(struct call *call, int root, const struct ibft *ibft)
{
	const struct start_options *opts = call->opts;
	int rc = EXIT_DONE;

	for (unsigned i = 0; i < ibft->targets; i++) {
		const struct ibft_target_info *target = &ibft->target[i];
		const struct ibft_nic_info *nic = kernel_ibft_nic(ibft, target);
		const char *name = nic ? nic->netdev : "";
		struct diag why = { 0 };

		out_line(call->out, "Setting up software interface %s", name);
		if (opts->common.dry_run)
			continue;
		if (!nic)
			diag_set(&why, DIAG_PROTOCOL, EPROTO, "no NIC for %s in the iBFT",
				target->name);
		if (!why.err)
			kernel_ibft_network(root, nic, target, &why);
		if (!why.err)
			continue;
		out_line(call->out, "Setting up software interface %s failed", name);
		*call->diag = why;
		rc = EXIT_FAILED;
	}
	return rc;
}

static int with_table(struct call *call, int root, const char *missing,
	int (*use)(struct call *, int root, const struct ibft *))
{
	struct ibft *ibft = calloc(1, sizeof(*ibft));
	struct diag *why = call->diag;
	int rc = START_NOTHING;

	if (!ibft)
		return diag_sys(why, ENOMEM, "iBFT"), EXIT_FAILED;
	if (!kernel_ibft(root, ibft, why) && !ibft->targets)
		diag_set(why, DIAG_NOT_FOUND, ENOENT, "no target in the iBFT");
	if (why->err)
		out_line(call->out, "%s", missing);
	else
		rc = use(call, root, ibft);
	explicit_bzero(ibft, sizeof(*ibft));
	free(ibft);
	return rc;
}

static int print_table(struct call *call, int root, const struct ibft *ibft)
{
	(void)root;
	return print_all(call, ibft);
}

int start_print(struct call *call, int root)
{
	return with_table(call, root, "Could not get list of targets from firmware.", print_table);
}

int start_network(struct call *call, int root)
{
	return with_table(call, root, "Could not setup fw entries.", set_up);
}
